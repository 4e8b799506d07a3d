//! The numbers of a pool in the log (rule P6).

mod pool_support;
mod support;

use krarup::prelude::*;
use pool_support::{Job, PoolAddress, seconds, workers};
use support::journal::Journal;
use support::{Log, simulations};

#[test]
fn p6_a_pool_reports_its_numbers_at_its_interval_and_only_if_it_is_told_to() {
    let journal = Log::new();
    let numbers = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && event.fields().field("forwarded").is_some(),
        move |fields| {
            let known = ["forwarded", "unhandled", "waiting", "service_p99"];
            for (name, value) in fields.iter().filter(|(name, _)| known.contains(name)) {
                numbers.note(format!("{name}={value}"));
            }
        },
    );
    tracing::subscriber::with_default(told, || {
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
