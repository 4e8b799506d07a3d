//! What is logged of hostile peers. It is the only test, because all tests of a process share the
//! log.

mod support;

use std::io::Write;
use std::time::Instant;
use support::log::Lines;
use support::raw::{RawPeer, closed, dialling, stranger, until};
use support::served::{served, table, works};

#[test]
fn zobs2_each_refusal_is_one_line_and_a_flood_of_them_ten_a_second() {
    let lines = Lines::begin();
    let began = Instant::now();
    let (a, b) = served("lines");
    let all = krarup_wire::DistributionFlags::OFFERED.bits();

    // A wrong cookie, a text with control characters, a wrong frame: one line each.
    assert!(RawPeer::connect("x@127.0.0.1", "wrong", all, &a).is_none());
    lines.wait_for("cookie");
    let (_, odd) = dialling("no\nhost\u{1b}[2J", "secret", all, &a.name);
    let mut socket = stranger(&a);
    socket.write_all(&odd).unwrap();
    closed(&socket);
    lines.wait_for("is not the name of a node");
    let mut peer = RawPeer::up("y@127.0.0.1", &a);
    peer.frame(b"\x83\x63\n\r\"wrong\x1b");
    closed(&peer.stream);
    let line = lines.wait_for("the kind of a frame");
    assert!(line.contains(r#"bytes=\x00\x00\x00\x0b\x83c\n\r\"wrong\x1b;"#), "{line}");
    assert!(line.contains("peer=y@127.0.0.1;"), "{line}");
    for once in ["cookie", "is not the name of a node", "the kind of a frame"] {
        let count = lines.all().iter().filter(|line| line.contains(once)).count();
        assert_eq!(count, 1, "{once}");
    }

    // A flood of refusals.
    let name = format!("{}@127.0.0.1", "x".repeat(200));
    for _ in 0..300 {
        assert!(RawPeer::connect(&name, "wrong", all, &a).is_none());
    }
    until("they are closed", || table(&a, "connections") == 1);
    assert!(works(&a, &b));
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    let all = lines.all();
    // Both nodes of the program have a log of ten lines a second.
    assert!(all.len() <= 2 * 10 * seconds, "{} lines in {seconds} s", all.len());
    for line in &all {
        assert!(!line.contains(|letter: char| letter.is_control()), "{line:?}");
        assert!(line.len() < 600 && !line.contains("secret") && !line.contains("wrong\u{1b}"));
    }
}
