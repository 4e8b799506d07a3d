//! Statements 1, 2, 3 and 7: commands, buckets and their number.

use crate::bucket::Entries;
use crate::buckets::BUCKETS;
use crate::tests::world::{World, everywhere, real, simulated};
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;

#[test]
fn kv_1_each_command_has_its_answer() {
    everywhere(2, |world| {
        let mut client = world.connect();
        for (command, answer) in [
            ("GET shopping milk", &["NOT FOUND"][..]),
            ("PUT shopping milk 1", &["NOT FOUND"]),
            ("DELETE shopping milk", &["NOT FOUND"]),
            ("CREATE shopping", &["OK"]),
            ("GET shopping milk", &["", "OK"]),
            ("DELETE shopping milk", &["OK"]),
            ("PUT shopping milk 1", &["OK"]),
            ("GET shopping milk", &["1", "OK"]),
            ("PUT shopping milk OK", &["OK"]),
            ("GET shopping milk", &["OK", "OK"]),
            ("GET shopping Milk", &["", "OK"]),
            ("PUT shopping m\u{fc}sli \u{1f963}", &["OK"]),
            ("GET shopping m\u{fc}sli", &["\u{1f963}", "OK"]),
            ("DELETE shopping milk", &["OK"]),
            ("GET shopping milk", &["", "OK"]),
            ("", &["UNKNOWN COMMAND"]),
            ("PUT shopping milk", &["UNKNOWN COMMAND"]),
            ("get shopping milk", &["UNKNOWN COMMAND"]),
            ("CREATE", &["UNKNOWN COMMAND"]),
            ("GET shopping m\u{fc}sli", &["\u{1f963}", "OK"]),
        ] {
            assert_eq!(client.ask(command), answer, "{command}");
        }
        // As `telnet` ends a line.
        client.send(b"GET shopping milk\r\n");
        assert_eq!(client.answer("GET shopping milk"), ["", "OK"]);
    });
}

#[test]
fn kv_1_commands_that_are_sent_at_once_are_answered_in_their_order() {
    everywhere(2, |world| {
        let mut client = world.connect();
        let puts = (0..100).map(|n| format!("PUT b k{n} v{n}\nGET b k{n}\n"));
        let all = format!("CREATE b\n{}", puts.collect::<String>());
        client.send(all.as_bytes());
        // What was sent before is answered, although nothing more comes.
        client.finish();
        assert_eq!(client.line().as_deref(), Some("OK"));
        for n in 0..100 {
            assert_eq!(client.line().as_deref(), Some("OK"));
            assert_eq!(client.answer("GET b k"), [format!("v{n}"), "OK".to_owned()]);
        }
        client.expect_end();
    });
}

#[test]
fn kv_1_a_line_is_as_long_as_it_may_be_in_a_command_and_in_an_answer() {
    everywhere(2, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE b"), ["OK"]);
        let value = "v".repeat(crate::protocol::LONGEST_LINE - "PUT b k ".len());
        assert_eq!(client.ask(&format!("PUT b k {value}")), ["OK"]);
        assert_eq!(client.ask("GET b k"), [value.as_str(), "OK"]);
    });
}

#[test]
fn kv_2_a_bucket_is_a_temporary_child_found_by_its_name() {
    everywhere(9, |world| {
        let mut client = world.connect();
        assert!(world.bucket("shopping").is_none());
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        assert_eq!(client.ask("PUT shopping milk 1"), ["OK"]);
        let bucket = world.bucket("shopping").expect("a bucket");
        // It is an agent: its value is what the client has put there.
        let milk = bucket.get(|entries| entries.get("milk").cloned()).wait();
        assert_eq!(milk, Ok(Some("1".to_owned())));
        bucket.cast(Entries::clear).expect("a living bucket");
        assert_eq!(client.ask("GET shopping milk"), ["", "OK"]);

        let buckets: SupervisorAddress<String> = world.node().lookup(BUCKETS).expect("a name");
        let child = buckets.get_childspec(bucket.pid()).wait().expect("its specification");
        assert_eq!(child.restart, RestartType::Temporary);
        assert_eq!(buckets.count_children().wait().expect("a count").active, 1);

        // A bucket whose function panics ends, and is not restarted.
        let end = bucket.watch();
        let panicked = bucket.get(|_| panic!("on purpose")).wait();
        assert!(matches!(panicked, Err(CallError::Terminated { .. })), "{panicked:?}");
        end.wait().expect("an end");
        assert!(world.bucket("shopping").is_none());
        world.until("the supervisor knows", &mut || {
            buckets.count_children().wait().expect("a count").active == 0
        });
        assert_eq!(client.ask("GET shopping milk"), ["NOT FOUND"]);
    });
}

#[test]
fn kv_3_a_bucket_that_is_there_is_left_as_it_is() {
    everywhere(9, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        assert_eq!(client.ask("PUT shopping milk 1"), ["OK"]);
        let bucket = world.bucket("shopping").expect("a bucket").pid();
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        assert_eq!(world.connect().ask("CREATE shopping"), ["OK"]);
        assert_eq!(client.ask("GET shopping milk"), ["1", "OK"]);
        assert_eq!(world.bucket("shopping").map(|bucket| bucket.pid()), Some(bucket));
        assert_eq!(world.processes("Bucket"), [bucket]);
    });
}

/// A thousand creations of one name at once, by so many clients: one bucket is made, and all of
/// them have it.
fn a_thousand_creations(world: &dyn World, clients: usize) {
    let mut clients: Vec<_> = (0..clients).map(|_| world.connect()).collect();
    let each = "CREATE shopping\n".repeat(1000 / clients.len());
    for client in &mut clients {
        client.send(each.as_bytes());
    }
    for client in &mut clients {
        for _ in each.lines() {
            assert_eq!(client.line().as_deref(), Some("OK"));
        }
    }
    let bucket = world.bucket("shopping").expect("a bucket").pid();
    assert_eq!(world.processes("Bucket"), [bucket]);
    assert_eq!(clients[0].ask("PUT shopping milk 1"), ["OK"]);
    for client in &mut clients {
        assert_eq!(client.ask("GET shopping milk"), ["1", "OK"]);
    }
    let buckets: SupervisorAddress<String> = world.node().lookup(BUCKETS).expect("a name");
    let count = buckets.count_children().wait().expect("a count");
    assert_eq!((count.specs, count.active), (1, 1), "{count:?}");
}

#[test]
fn kv_3_of_a_thousand_creations_at_once_one_makes_the_bucket() {
    simulated(0..4, 1000, |world| a_thousand_creations(world, 1000));
    real(1000, |world| a_thousand_creations(world, 50));
}

#[test]
fn kv_7_one_bucket_more_than_allowed_is_full() {
    everywhere(2, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE one"), ["OK"]);
        assert_eq!(client.ask("CREATE two"), ["OK"]);
        assert_eq!(client.ask("CREATE three"), ["FULL"]);
        assert_eq!(client.ask("PUT three k v"), ["NOT FOUND"]);
        // One that is there needs no room.
        assert_eq!(client.ask("CREATE one"), ["OK"]);
        world.kill(world.bucket("one").expect("a bucket").pid());
        // The supervisor hears of the end at the same time.
        world.until("there is room", &mut || client.ask("CREATE three") == ["OK"]);
        assert_eq!(client.ask("CREATE one"), ["FULL"]);
        assert_eq!(client.ask("GET three k"), ["", "OK"]);
    });
}

#[test]
fn kv_7_without_room_for_any_bucket_each_is_full() {
    everywhere(0, |world| assert_eq!(world.connect().ask("CREATE one"), ["FULL"]));
}

/// Of many at once as many are made as there is room for.
#[test]
fn kv_7_the_number_of_buckets_is_exact_with_many_clients() {
    everywhere(7, |world| {
        let mut clients: Vec<_> = (0..20).map(|_| world.connect()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            client.say(&format!("CREATE b{number}"));
        }
        let answers: Vec<_> = clients.iter_mut().map(|client| client.answer("CREATE")).collect();
        let made = answers.iter().filter(|answer| *answer == &["OK"]).count();
        let full = answers.iter().filter(|answer| *answer == &["FULL"]).count();
        assert_eq!((made, full), (7, 13), "{answers:?}");
        assert_eq!(world.processes("Bucket").len(), 7);
    });
}
