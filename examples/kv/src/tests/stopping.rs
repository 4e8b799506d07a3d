//! Statement 8: a stop of the application.

use crate::application::{KV, SERVER};
use crate::tests::world::{World, everywhere, real, simulated};
use krarup::application::ApplicationState;
use krarup::behavior::Received;
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Waits for the end of the application, and asserts that nothing of it is left.
fn ends(world: &dyn World) {
    world.until("the application ends", &mut || !world.state().is_alive());
    assert_eq!(world.state(), ApplicationState::Ended(Reason::Shutdown));
    assert_eq!(world.node().applications()[0].processes, 0);
    for label in ["Supervisor", "Agent", "Bucket", "Acceptor", "Connection"] {
        assert_eq!(world.processes(label), [], "{label}");
    }
    assert_eq!(world.node().whereis(SERVER), None);
    assert!(!world.is_listening());
}

#[test]
fn kv_8_a_command_that_has_begun_is_answered_before_the_end() {
    everywhere(9, |world| {
        let mut idle = world.connect();
        assert_eq!(idle.ask("CREATE b"), ["OK"]);
        // The bucket does nothing for now. So each command has begun, and is not done.
        let bucket = world.bucket("b").expect("a bucket").pid();
        world.node().suspend(bucket).wait().expect("a bucket that is suspended");
        let mut clients: Vec<_> = (0..3).map(|_| world.connect()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            client.say(&format!("PUT b k{number} v"));
            // This one has not begun: the connection does one thing after the other.
            client.say("GET b k0");
        }
        let waiting = || world.node().process_info(bucket).map(|info| info.main);
        world.until("three begun commands", &mut || waiting() == Some(3));
        assert!(world.is_listening());

        world.node().stop_application(KV).start().expect("a stop");
        world.until("the port is closed", &mut || !world.is_listening());
        idle.expect_end();
        assert_eq!(world.state(), ApplicationState::Stopping);
        assert!(world.node().resume(bucket));
        for client in &mut clients {
            assert_eq!(client.line().as_deref(), Some("OK"));
            client.expect_end();
        }
        drop((idle, clients));
        ends(world);
    });
}

#[test]
fn kv_8_at_any_step_what_was_done_is_answered() {
    simulated(0..200, 9, |world| {
        let mut clients: Vec<_> = (0..5).map(|_| world.connect()).collect();
        assert_eq!(clients[0].ask("CREATE b"), ["OK"]);
        let done = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&done);
        world.bucket("b").expect("a bucket").trace(move |traced| {
            let is_function = matches!(traced.item, Received::Message(_));
            counter.fetch_add(usize::from(is_function), Ordering::Relaxed);
        });
        for client in &mut clients {
            client.send(&b"PUT b k v\n".repeat(1 + world.choose(9)));
            world.run();
        }
        world.node().stop_application(KV).wait().expect("a stop");
        let mut answers = 0;
        for client in &mut clients {
            while let Some(line) = client.line() {
                assert_eq!(line, "OK");
                answers += 1;
            }
        }
        assert_eq!(answers, done.load(Ordering::Relaxed));
        drop(clients);
        ends(world);
    });
}

#[test]
fn kv_8_it_starts_again_without_what_it_had() {
    everywhere(9, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE b"), ["OK"]);
        drop(client);
        world.node().stop_application(KV).wait().expect("a stop");
        ends(world);
        world.node().start_application(KV).wait().expect("a start");
        assert_eq!(world.connect().ask("GET b k"), ["NOT FOUND"]);
    });
}

#[test]
fn kv_8_a_stop_of_the_node_is_one_of_the_application() {
    everywhere(9, |world| {
        let mut client = world.connect();
        assert_eq!(client.ask("CREATE b"), ["OK"]);
        client.send(b"PUT b k");
        let stopped = world.node().stopped();
        world.node().stop().start();
        world.until("the port is closed", &mut || !world.is_listening());
        client.expect_end();
        drop(client);
        stopped.wait().expect("a stop");
        ends(world);
    });
}

/// The port is free for others when the application has ended.
#[test]
fn kv_8_the_port_is_free_again() {
    real(9, |world| {
        let address = world.address().expect("a server");
        drop(world.connect());
        assert!(std::net::TcpListener::bind(address).is_err());
        world.node().stop_application(KV).wait().expect("a stop");
        std::net::TcpListener::bind(address).expect("a free port");
    });
}
