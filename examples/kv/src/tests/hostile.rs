//! Statement 6: clients that are slow, broken or malicious.

use crate::protocol::LONGEST_LINE;
use crate::tests::world::{Client, World, everywhere, simulated};
use std::time::Duration;

/// Does something, and shows before, meanwhile and afterwards that another client is served.
fn disturbed_by(world: &dyn World, disturb: impl FnOnce(Box<dyn Client + '_>)) {
    let mut other = world.connect();
    assert_eq!(other.ask("CREATE b"), ["OK"]);
    assert_eq!(other.ask("PUT b k v"), ["OK"]);
    let hostile = world.connect();
    assert_eq!(other.ask("GET b k"), ["v", "OK"]);
    disturb(hostile);
    assert_eq!(other.ask("GET b k"), ["v", "OK"]);
    assert_eq!(world.connect().ask("GET b k"), ["v", "OK"]);
}

#[test]
fn kv_6_what_is_no_text_is_answered_once_and_ends_its_connection() {
    everywhere(9, |world| {
        for garbage in [&b"\xff\xfe\xfd\n"[..], b"PUT b k \xc3\x28\n", b"PUT b k\rw\n"] {
            disturbed_by(world, |mut hostile| {
                hostile.send(garbage);
                hostile.send(b"PUT b k w\n");
                assert_eq!(hostile.line().as_deref(), Some("UNKNOWN COMMAND"));
                hostile.expect_end();
            });
        }
    });
}

#[test]
fn kv_6_strange_text_is_an_unknown_command_and_the_connection_goes_on() {
    everywhere(9, |world| {
        disturbed_by(world, |mut hostile| {
            for line in ["\0\0\0", "GET / HTTP/1.1 x", "\u{feff}GET b k", "*1", "QUIT"] {
                assert_eq!(hostile.ask(line), ["UNKNOWN COMMAND"], "{line:?}");
            }
            assert_eq!(hostile.ask("GET b k"), ["v", "OK"]);
        });
    });
}

#[test]
fn kv_6_a_line_without_an_end_is_cut_off() {
    everywhere(9, |world| {
        disturbed_by(world, |mut hostile| {
            hostile.send(&vec![b'x'; 8 * LONGEST_LINE]);
            assert_eq!(hostile.line().as_deref(), Some("UNKNOWN COMMAND"));
            hostile.expect_end();
        });
        disturbed_by(world, |mut hostile| {
            hostile.send("x".repeat(LONGEST_LINE + 1).as_bytes());
            hostile.send(b"\n");
            assert_eq!(hostile.line().as_deref(), Some("UNKNOWN COMMAND"));
            hostile.expect_end();
        });
    });
}

#[test]
fn kv_6_half_a_line_is_no_command() {
    everywhere(9, |world| {
        // It stays open.
        let mut half = world.connect();
        half.send(b"PUT b k wr");
        disturbed_by(world, |mut hostile| {
            hostile.send(b"DELETE b k");
            // And this one closes: the end of the stream is no end of a line.
            hostile.finish();
            assert_eq!(hostile.line().as_deref(), Some("UNKNOWN COMMAND"));
            hostile.expect_end();
        });
        half.send(b"ong\n");
        assert_eq!(half.answer("PUT"), ["OK"]);
    });
}

#[test]
fn kv_6_a_client_that_says_nothing_or_goes_away_disturbs_no_other() {
    everywhere(9, |world| {
        let _silent: Vec<_> = (0..20).map(|_| world.connect()).collect();
        disturbed_by(world, |hostile| drop(hostile));
        disturbed_by(world, |mut hostile| {
            hostile.send(b"GET b k\nGET b k\nGET b ");
            drop(hostile);
        });
    });
}

#[test]
fn kv_6_each_client_has_a_process_whose_end_is_its_own() {
    everywhere(9, |world| {
        let mut clients: Vec<_> = (0..3).map(|_| world.connect()).collect();
        let connections = || world.processes("Connection");
        world.until("three processes", &mut || connections().len() == 3);
        for client in &mut clients {
            assert_eq!(client.ask("CREATE b"), ["OK"]);
        }
        world.kill(connections()[1]);
        let served = clients.iter_mut().map(|client| client.ask("GET b k").len());
        let mut served: Vec<usize> = served.collect();
        served.sort_unstable();
        assert_eq!(served, [0, 2, 2]);
    });
}

#[test]
fn kv_6_a_client_that_is_too_slow_is_closed() {
    simulated(0..20, 9, |world| {
        // One does not read its answers, one sends a byte now and then, one does nothing.
        let mut deaf = world.connect();
        assert_eq!(deaf.ask("CREATE b"), ["OK"]);
        assert_eq!(deaf.ask(&format!("PUT b k {}", "v".repeat(1000))), ["OK"]);
        let began = world.node().now();
        deaf.send(&b"GET b k\n".repeat(1000));
        assert!(world.node().now() - began >= Duration::from_secs(30), "it was not stalled");
        drop(deaf);

        let mut slow = world.connect();
        let began = world.node().now();
        slow.send(b"GET b");
        slow.expect_end();
        assert_eq!(world.node().now() - began, Duration::from_secs(30));

        let mut silent = world.connect();
        let mut other = world.connect();
        world.sim.advance(Duration::from_secs(540));
        assert_eq!(other.ask("GET b none"), ["", "OK"]);
        world.sim.advance(Duration::from_secs(60));
        silent.expect_end();
        assert_eq!(other.ask("GET b none"), ["", "OK"]);
    });
}
