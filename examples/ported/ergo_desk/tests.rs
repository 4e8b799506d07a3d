//! What the port prints, beside what Ergo has printed; and what one client does not show.

use crate::application::{desk, tcp};
use crate::compared::differences;
use crate::front::{Connection, FRONT};
use crate::script;
use krarup::io::{AcceptorAddress, AcceptorRequest};
use krarup::prelude::*;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// What `ergo/desk.go` has printed with Ergo 3.1.0.
const RECORDED: &str = include_str!("ergo.trace");

/// The lines that differ: their numbers, Ergo's, and Krarup's.
const DIFFERENCES: [(usize, &str, &str); 2] = [
    // The maker has ended with the order in its hands.
    (14, "  failed: timed out", "  failed: on fire"),
    // So a second less has passed.
    (21, "  heard 4 down 0 1; orders 1", "  heard down 0 1; orders 1"),
];

#[test]
fn the_port_does_what_ergo_does_but_for_the_differences_of_the_page() {
    Simulation::explore(0..100, |sim| {
        assert_eq!(differences(RECORDED, &script::run(sim)?), DIFFERENCES);
        Ok(())
    });
}

#[test]
fn it_serves_over_tcp_and_the_restarted_front_has_a_port_again() {
    let node = Node::builder("desk@localhost").application(desk(tcp)).start().unwrap();
    let first: AcceptorAddress<Connection> = node.lookup(FRONT).unwrap();
    assert_eq!(say(&first, "make tea"), "tea, the maker's number 1");
    assert_eq!(say(&first, "make smoke"), "failed: on fire");
    let end = first.watch();
    node.kill(first.pid());
    end.wait().unwrap();
    let next: AcceptorAddress<Connection> = node.lookup_or_wait(FRONT).wait().unwrap();
    assert_eq!(say(&next, "dance"), "what?");
    node.stop().wait().unwrap();
}

fn say(front: &AcceptorAddress<Connection>, line: &str) -> String {
    let address = front.call(AcceptorRequest::Address).wait().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    writeln!(stream, "{line}").unwrap();
    BufReader::new(stream).lines().next().unwrap().unwrap()
}
