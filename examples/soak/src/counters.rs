//! What was sent, and how each message ended.

use crate::dead_letters::DeadLetterCounts;
use crate::message::KINDS;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The counts of the messages of one kind.
#[derive(Default)]
pub(crate) struct KindCounters {
    pub(crate) sent: AtomicU64,
    pub(crate) handled: AtomicU64,
    /// Given back to the sender.
    pub(crate) refused: AtomicU64,
    /// Neither handled nor given back.
    pub(crate) dropped: AtomicU64,
}

impl KindCounters {
    /// Sent, handled, refused, dropped.
    pub(crate) fn all(&self) -> [u64; 4] {
        [&self.sent, &self.handled, &self.refused, &self.dropped]
            .map(|count| count.load(Ordering::Relaxed))
    }

    /// The number of messages that have not ended.
    pub(crate) fn missing(&self) -> i64 {
        let [sent, handled, refused, dropped] = self.all();
        sent.cast_signed() - (handled + refused + dropped).cast_signed()
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) counts: [KindCounters; KINDS.len()],
    /// Timers: set, fired, and dropped before they fired.
    pub(crate) ticks: KindCounters,
    pub(crate) calls: AtomicU64,
    pub(crate) deaths: AtomicU64,
    pub(crate) bonds: AtomicU64,
    pub(crate) names: AtomicU64,
    storms: AtomicBool,
    losses: Mutex<Vec<String>>,
}

impl Counters {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Whether starts may fail and workers send by themselves.
    pub(crate) fn is_storming(&self) -> bool {
        self.storms.load(Ordering::Relaxed)
    }

    pub(crate) fn storm(&self, storms: bool) {
        self.storms.store(storms, Ordering::Relaxed);
    }

    /// Records a loss, if `is_lost`.
    pub(crate) fn record_loss_if(&self, is_lost: bool, what: impl FnOnce() -> String) {
        if is_lost {
            let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
            // The first few are enough; a bug may lose millions.
            if losses.len() < 50 {
                losses.push(what());
            }
        }
    }

    pub(crate) fn losses(&self) -> Vec<String> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns one line on the progress of the run.
    pub(crate) fn line(&self) -> String {
        let sent: u64 = self.counts.iter().map(|counts| counts.all()[0]).sum();
        let [calls, deaths] = [&self.calls, &self.deaths].map(|n| n.load(Ordering::Relaxed));
        format!("{sent} sent, {calls} calls, {deaths} ends asked for")
    }

    pub(crate) fn summary(&self, counted: &DeadLetterCounts) -> String {
        let mut text = format!(
            "\n{:<8}{:>14}{:>14}{:>12}{:>12}{:>12}\n",
            "kind", "sent", "handled", "refused", "dropped", "dead letters"
        );
        for (place, kind) in KINDS.iter().enumerate() {
            let [sent, handled, refused, dropped] = self.counts[place].all();
            let dead = counted.dead[place];
            let _ = writeln!(
                text,
                "{kind:<8}{sent:>14}{handled:>14}{refused:>12}{dropped:>12}{dead:>12}"
            );
        }
        let [set, fired, _, gone] = self.ticks.all();
        let [calls, deaths, bonds, names] = [&self.calls, &self.deaths, &self.bonds, &self.names]
            .map(|count| count.load(Ordering::Relaxed));
        let _ = writeln!(
            text,
            "timers: {set} set, {fired} fired, {gone} ended with their process or were cancelled\n\
             {calls} calls, {deaths} ends asked for, {bonds} links and monitors, {names} names"
        );
        text
    }
}
