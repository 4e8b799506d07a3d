//! Test that all opened resources are closed: rule I7. It is the only test of its program,
//! because it counts the resources of the whole program.

mod support;

use krarup_io::{Closed, ConnectionOptions};
use socket2::SockRef;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use support::{ConnectionEvent, Served};

/// The time an event may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of connections.
const ROUNDS: usize = 3000;
/// The number of connections at a time.
const AT_ONCE: usize = 50;

/// The number of open descriptors of the program, if the system provides it.
fn descriptors() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

/// The names of the threads of the program, if the system provides them.
fn threads() -> Option<Vec<String>> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    Some(tasks.filter_map(name).map(|name| name.trim().to_owned()).collect())
}

/// Waits until the processes have ended. The last event of a connection is seen before its
/// socket is closed and its process has ended.
fn gone(served: &Served, processes: usize) {
    wait_until("no process", || served.node.processes().len() <= processes);
}

/// Waits for a condition, and fails if it does not become true.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "waits for {what}");
        std::thread::yield_now();
    }
}

fn count(seen: &ConnectionEvent, closed: &mut usize, dropped: &mut usize) {
    match seen {
        ConnectionEvent::Closed(Closed::Crashed(reason)) => panic!("crashed: {reason}"),
        ConnectionEvent::Closed(_) => *closed += 1,
        ConnectionEvent::Dropped => *dropped += 1,
        _ => {}
    }
}

#[test]
fn i7_thousands_of_connections_and_two_nodes_leave_nothing() {
    let before = descriptors();
    for _ in 0..2 {
        let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor.limit(100));
        let processes = served.node.processes().len();
        let (first, _) = served.connect();
        // The one that listens, the one that was accepted: all sockets share one thread. A new
        // thread has the name of its creator until it has set its own.
        let of_sockets =
            |names: Vec<String>| names.iter().filter(|name| *name == "krarup-io").count() == 1;
        wait_until("one thread of the sockets", || threads().is_none_or(of_sockets));
        drop(first);
        while served.next() != ConnectionEvent::Dropped {}
        gone(&served, processes);
        let at_rest = descriptors();
        let (mut closed, mut dropped) = (0, 0);
        for round in 0..ROUNDS {
            // Limit the connections at a time, so that the system makes none of them retry
            // later.
            while dropped + AT_ONCE <= round {
                count(&served.next(), &mut closed, &mut dropped);
            }
            let mut stream = TcpStream::connect(served.address).unwrap();
            match round % 6 {
                // Disconnects in the middle of a line.
                0 => stream.write_all(b"delete 1").unwrap(),
                // Is reset with unread bytes.
                1 => {
                    stream.write_all(b"say something\n").unwrap();
                    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
                }
                2 => stream.write_all(b"close\n").unwrap(),
                3 => stream.write_all(b"abort\n").unwrap(),
                4 => stream.write_all(b"\xff\xfe garbage\n").unwrap(),
                _ => {}
            }
            drop(stream);
        }
        while dropped < ROUNDS {
            count(&served.next(), &mut closed, &mut dropped);
        }
        assert_eq!(closed, ROUNDS);
        served.acceptor.inspect().wait().unwrap();
        gone(&served, processes);
        assert_eq!(descriptors(), at_rest);
        let shown = served.acceptor.inspect().wait().unwrap();
        assert_eq!(shown.number("connections"), Some(0));
        assert_eq!(shown.number("accepted"), Some(ROUNDS as u64 + 1));
        served.stop();
        // The thread of the sockets ends by itself when the last socket is closed.
        wait_until("no thread", || {
            threads().is_none_or(|names| !names.iter().any(|name| name.contains("krarup-io")))
        });
    }
    assert_eq!(descriptors(), before);
}
