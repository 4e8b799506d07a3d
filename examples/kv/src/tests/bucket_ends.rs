//! Statements 4 and 5: the ends of buckets, of their supervisor, and of the registry's owner.

use crate::application::SERVER;
use crate::buckets::BUCKETS;
use crate::registry::OWNER;
use crate::tests::world::{World, everywhere};
use krarup::prelude::*;

#[test]
fn kv_4_a_killed_bucket_is_not_found_at_the_next_command() {
    everywhere(9, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        for command in ["GET shopping milk", "PUT shopping milk 2", "DELETE shopping milk"] {
            assert_eq!(client.ask("PUT shopping milk 1"), ["OK"]);
            // Nobody waits for its end.
            world.node().kill(world.bucket("shopping").expect("a bucket").pid());
            assert_eq!(client.ask(command), ["NOT FOUND"], "{command}");
            assert_eq!(client.ask("CREATE shopping"), ["OK"]);
            assert_eq!(client.ask("GET shopping milk"), ["", "OK"]);
        }
    });
}

#[test]
fn kv_4_a_killed_bucket_takes_no_other_with_it() {
    everywhere(9, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        assert_eq!(client.ask("CREATE tools"), ["OK"]);
        assert_eq!(client.ask("PUT tools saw 1"), ["OK"]);
        world.kill(world.bucket("shopping").expect("a bucket").pid());
        assert_eq!(client.ask("GET tools saw"), ["1", "OK"]);
        assert_eq!(client.ask("GET shopping milk"), ["NOT FOUND"]);
    });
}

/// Makes buckets with something in them, and returns their processes.
fn some_buckets(world: &dyn World) -> Vec<Pid> {
    let mut client = world.connect();
    for name in ["shopping", "tools"] {
        assert_eq!(client.ask(&format!("CREATE {name}")), ["OK"]);
        assert_eq!(client.ask(&format!("PUT {name} k v")), ["OK"]);
    }
    world.processes("Bucket")
}

/// Waits until a process other than this one has the name.
fn replaced(world: &dyn World, name: &str, before: Pid) {
    world.until(name, &mut || world.node().whereis(name).is_some_and(|now| now != before));
}

#[test]
fn kv_5_the_end_of_the_supervisor_of_the_buckets_takes_them_and_leaves_the_server() {
    everywhere(9, |world| {
        let mut client = world.connect();
        let ended = some_buckets(world);
        let [owner, buckets, server] = [OWNER, BUCKETS, SERVER].map(|name| world.pid(name));
        let ends: Vec<_> = ended.iter().map(|bucket| world.node().watch(*bucket)).collect();
        world.kill(buckets);
        for end in ends {
            end.wait().expect("an end");
        }
        assert_eq!(client.ask("GET shopping k"), ["NOT FOUND"]);
        assert_eq!(client.ask("GET tools k"), ["NOT FOUND"]);
        replaced(world, BUCKETS, buckets);
        // Neither the server nor the owner has noticed; this is the same connection.
        assert_eq!([OWNER, SERVER].map(|name| world.pid(name)), [owner, server]);
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        assert_eq!(client.ask("GET shopping k"), ["", "OK"]);
        assert_eq!(world.processes("Bucket").len(), 1);
    });
}

#[test]
fn kv_5_the_end_of_the_owner_restarts_it_and_the_buckets_and_leaves_the_server() {
    everywhere(2, |world| {
        let mut client = world.connect();
        let ended = some_buckets(world);
        let [owner, buckets, server] = [OWNER, BUCKETS, SERVER].map(|name| world.pid(name));
        let ends: Vec<_> = ended.iter().map(|bucket| world.node().watch(*bucket)).collect();
        world.kill(owner);
        // None is left that the next registry does not know.
        for end in ends {
            end.wait().expect("an end");
        }
        replaced(world, OWNER, owner);
        replaced(world, BUCKETS, buckets);
        assert_eq!(world.pid(SERVER), server);
        assert_eq!(client.ask("GET shopping k"), ["NOT FOUND"]);
        // None takes up a place, either.
        assert_eq!(client.ask("CREATE tools"), ["OK"]);
        assert_eq!(client.ask("CREATE shopping"), ["OK"]);
        assert_eq!(client.ask("GET shopping k"), ["", "OK"]);
        assert_eq!(world.processes("Bucket").len(), 2);
    });
}

#[test]
fn kv_5_the_end_of_the_server_leaves_the_buckets() {
    everywhere(9, |world| {
        let mut client = world.connect();
        let living = some_buckets(world);
        let server = world.pid(SERVER);
        world.kill(server);
        client.expect_end();
        replaced(world, SERVER, server);
        let mut next = None;
        world.until("it listens", &mut || {
            next = world.try_connect();
            next.is_some()
        });
        assert_eq!(next.expect("a client").ask("GET shopping k"), ["v", "OK"]);
        assert_eq!(world.processes("Bucket"), living);
    });
}
