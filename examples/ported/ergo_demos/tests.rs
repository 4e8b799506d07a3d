//! What the port prints, beside what Ergo has printed.

use crate::compared::differences;
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
        assert_eq!(differences(RECORDED, &crate::run(sim)?), DIFFERENCES);
        Ok(())
    });
}
