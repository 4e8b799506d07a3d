//! The log of dead letters: rule M7.

mod support;

use krarup::prelude::*;
use std::fmt::Debug;
use std::time::Duration;
use support::{Act, Does, Log, boom, puppet};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Notes how many letters were left out before each that is logged.
struct Journal(Log);

struct LeftOut(Log);

impl Visit for LeftOut {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "left_out" {
            self.0.note(format!("{value:?}"));
        }
    }
}

impl Subscriber for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "krarup::dead_letters"
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut LeftOut(self.0.clone()));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn m7_ten_dead_letters_are_logged_in_a_second_and_the_others_are_counted() {
    let journal = Log::new();
    tracing::subscriber::with_default(Journal(journal.clone()), || {
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
