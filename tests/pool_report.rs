//! The numbers of a pool in the log (rule P6).

mod pool_support;
mod support;

use krarup::prelude::*;
use pool_support::{Job, PoolAddress, seconds, workers};
use std::fmt::Debug;
use support::{Log, simulations};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Notes some fields of each event that has them.
struct Journal(Log);

struct Numbers(Log);

impl Visit for Numbers {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if ["forwarded", "unhandled", "waiting", "service_p99"].contains(&field.name()) {
            self.0.note(format!("{}={value:?}", field.name()));
        }
    }
}

impl Subscriber for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "krarup" && metadata.fields().field("forwarded").is_some()
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Numbers(self.0.clone()));
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
fn p6_a_pool_reports_its_numbers_at_its_interval_and_only_if_it_is_told_to() {
    let journal = Log::new();
    tracing::subscriber::with_default(Journal(journal.clone()), || {
        for sim in simulations(2) {
            let log = Log::new();
            let (loud, silent) = (workers(&log), workers(&log));
            let pool: PoolAddress = sim
                .spawn(move || Pool::new(1, loud).mailbox(2).measured().report_every(seconds(60)))
                .wait()
                .unwrap();
            let other: PoolAddress = sim.spawn(move || Pool::new(1, silent)).wait().unwrap();
            other.send(Job::Note(0)).unwrap();
            let taken = (0..5).filter(|n| pool.send(Job::Slow(*n, seconds(40))).is_ok()).count();
            assert_eq!(taken, 2);
            sim.advance(seconds(59));
            assert_eq!(journal.lines().len(), 0);
            sim.advance(seconds(1));
            let first = ["waiting=0", "forwarded=2", "unhandled=3", "service_p99=40s"];
            assert_eq!(journal.take(), first);
            sim.advance(seconds(120));
            assert_eq!(journal.take().len(), 8);
        }
    });
}
