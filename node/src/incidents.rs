//! Counts of what goes wrong in a node. An incident is counted where it happens; what goes well
//! costs nothing.

use krarup_gen::{DeadLetterCause, NodeStats, RefusalCause, RestartKind};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(crate) struct Incidents {
    /// By the number of the cause. Refusals by processes that have ended are dead letters, and
    /// counted there.
    refusals: [AtomicU64; RefusalCause::ALL.len()],
    timed_out_calls: AtomicU64,
    deadlocks: AtomicU64,
    /// By the number of the kind.
    restarts: [AtomicU64; RestartKind::ALL.len()],
    gave_up: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Incidents {
    pub(crate) fn refusal(&self, cause: RefusalCause) {
        count(&self.refusals[cause as usize]);
    }

    pub(crate) fn timed_out_call(&self) {
        count(&self.timed_out_calls);
    }

    pub(crate) fn deadlock(&self) {
        count(&self.deadlocks);
    }

    pub(crate) fn restart(&self, kind: RestartKind) {
        count(&self.restarts[kind as usize]);
    }

    pub(crate) fn gave_up(&self) {
        count(&self.gave_up);
    }

    /// Fills in the counts. Those of dead letters must be there.
    pub(crate) fn fill(&self, stats: &mut NodeStats) {
        let letters = |cause| stats.dead_letters_by_cause.get(&cause).copied().unwrap_or(0);
        let to_none = letters(DeadLetterCause::NoProcess) + letters(DeadLetterCause::Revoked);
        stats.refusals = RefusalCause::counts(&self.refusals.each_ref().map(read));
        stats.refusals.insert(RefusalCause::NoProcess, to_none);
        stats.timed_out_calls = read(&self.timed_out_calls);
        stats.deadlocks = read(&self.deadlocks);
        stats.restarts = RestartKind::counts(&self.restarts.each_ref().map(read));
        stats.gave_up = read(&self.gave_up);
    }
}
