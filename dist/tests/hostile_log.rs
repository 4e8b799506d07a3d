//! What is logged of hostile peers. It is the only test, because all tests of a process share the
//! log.

mod support;

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use support::raw::{RawPeer, closed, dialling, stranger, until};
use support::served::{served, table, works};
use tracing::field::{Field, Visit};
use tracing::span;

/// The lines of the cluster.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?};");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, "{field}={value};");
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "krarup::cluster"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Lines {
    /// Waits for one line with this text, and returns it.
    fn wait_for(&self, text: &str) -> String {
        let mut found = String::new();
        until(text, || {
            let lines = self.0.lock().unwrap();
            let line = lines.iter().find(|line| line.contains(text));
            line.inspect(|line| found.clone_from(line)).is_some()
        });
        found
    }
}

#[test]
fn zobs2_each_refusal_is_one_line_and_a_flood_of_them_ten_a_second() {
    let lines = Lines::default();
    tracing::subscriber::set_global_default(lines.clone()).unwrap();
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
        let count = lines.0.lock().unwrap().iter().filter(|line| line.contains(once)).count();
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
    let all = lines.0.lock().unwrap().clone();
    // Both nodes of the program have a log of ten lines a second.
    assert!(all.len() <= 2 * 10 * seconds, "{} lines in {seconds} s", all.len());
    for line in &all {
        assert!(!line.contains(|letter: char| letter.is_control()), "{line:?}");
        assert!(line.len() < 600 && !line.contains("secret") && !line.contains("wrong\u{1b}"));
    }
}
