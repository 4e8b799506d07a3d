//! What the port prints, beside what Ergo has printed.

use krarup::prelude::*;

/// What `ergo/demos.go` has printed with Ergo 3.1.0.
const RECORDED: &str = include_str!("ergo.trace");

/// The lines that differ: their numbers, Ergo's, and Krarup's.
const DIFFERENCES: [(usize, &str, &str); 5] = [
    // More workers are to be removed than there are.
    (18, "  no worker process in the pool", "  0"),
    // The pool has no workers.
    (20, "  timed out", "  pool <0.1.0> has no workers"),
    // All workers are full.
    (26, "  accepted", "  refused"),
    // A child that was started with an argument is restarted.
    (89, "  one three (of the spec)", "  one two three"),
    (91, "  one (of the spec)", "  one two"),
];

#[test]
fn the_port_does_what_ergo_does_but_for_the_differences_of_the_page() {
    Simulation::explore(0..100, |sim| {
        let trace = crate::run(sim)?;
        let (ported, recorded): (Vec<_>, Vec<_>) =
            (trace.lines().collect(), RECORDED.lines().collect());
        assert_eq!(ported.len(), recorded.len());
        let both = (1..).zip(recorded.into_iter().zip(ported));
        let lines = both.map(|(line, (ergo, krarup))| (line, ergo, krarup));
        let differences: Vec<_> = lines.filter(|(_, ergo, krarup)| ergo != krarup).collect();
        assert_eq!(differences, DIFFERENCES);
        Ok(())
    });
}
