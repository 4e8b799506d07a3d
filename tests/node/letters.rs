//! The log of dead letters: rule M7.

use crate::support::journal::Journal;
use crate::support::{Act, Does, Log, boom, puppet};
use krarup::prelude::*;
use std::time::Duration;

#[test]
fn m7_ten_dead_letters_a_second_are_logged_and_the_rest_counted() {
    let journal = Log::new();
    // How many letters were left out before each that is logged.
    let left_out = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup::dead_letters",
        move |fields| {
            let left_out = |(_, value): &(_, String)| left_out.note(value);
            fields.iter().filter(|(name, _)| *name == "left_out").for_each(left_out);
        },
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let log = Log::new();
        let dead = puppet(&sim, "dead", &log);
        dead.dies(boom());
        sim.run_until_idle();
        sim.advance(Duration::from_secs(5));
        let send = |count| (0..count).for_each(|_| drop(dead.send(Act::nothing())));
        send(25);
        assert_eq!(journal.take(), ["0"; 10]);
        sim.advance(Duration::from_millis(999));
        send(1);
        assert!(journal.take().is_empty());
        sim.advance(Duration::from_millis(1));
        send(2);
        assert_eq!(journal.take(), ["16", "0"]);
        assert_eq!(sim.stats().dead_letters, 28);
    });
}
