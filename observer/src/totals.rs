//! The counters of the node. None ever goes down, in whatever order walks and ends are seen.

use crate::sampling::picture::Picture;
use krarup_gen::{CountsBy, DeadLetterCause, ReasonKind, RefusalCause, RestartKind};
use parking_lot::Mutex;

/// The causes of dead letters, as metrics name them.
pub(crate) const LETTERS: [DeadLetterCause; 7] = [
    DeadLetterCause::NoProcess,
    DeadLetterCause::Unhandled,
    DeadLetterCause::Overflow,
    DeadLetterCause::Revoked,
    DeadLetterCause::Expired,
    DeadLetterCause::NoConnection,
    DeadLetterCause::LateResult,
];

/// The counters of the node at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeTotals {
    pub(crate) spawned: u64,
    pub(crate) ended: Vec<(&'static str, u64)>,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) handled: u64,
    pub(crate) dead_letters: Vec<(&'static str, u64)>,
    pub(crate) refused: Vec<(&'static str, u64)>,
    pub(crate) calls_timed_out: u64,
    pub(crate) deadlocks: u64,
    pub(crate) restarts: Vec<(&'static str, u64)>,
    pub(crate) gave_up: u64,
}

/// The greatest sums that were told.
#[derive(Default)]
pub(crate) struct Totals {
    told: Mutex<[u64; 3]>,
}

impl Totals {
    /// The counters of these statistics, with the messages of the living in a picture.
    pub(crate) fn update(&self, picture: &Picture) -> NodeTotals {
        let stats = &picture.stats;
        let rows = &picture.rows;
        let gone = &stats.messages_of_ended;
        let sums = [
            gone.messages_in + rows.iter().map(|row| row.sample.messages_in).sum::<u64>(),
            gone.messages_out + rows.iter().map(|row| row.sample.messages_out).sum::<u64>(),
            gone.handled + rows.iter().map(|row| row.sample.handled).sum::<u64>(),
        ];
        let mut told = self.told.lock();
        for (told, sum) in told.iter_mut().zip(sums) {
            *told = (*told).max(sum);
        }
        let [received, sent, handled] = *told;
        drop(told);
        let letters = &stats.dead_letters_by_cause;
        let mut dead_letters = by(letters, &LETTERS, DeadLetterCause::as_str);
        // It was accepted, and no process could handle it.
        let undecodable = letters.get(&DeadLetterCause::Undecodable).copied().unwrap_or(0);
        dead_letters[1].1 += undecodable;
        NodeTotals {
            spawned: stats.spawned,
            ended: by(&stats.ended, ReasonKind::ALL, ReasonKind::as_str),
            received,
            sent,
            handled,
            dead_letters,
            refused: by(&stats.refusals, RefusalCause::ALL, RefusalCause::as_str),
            calls_timed_out: stats.timed_out_calls,
            deadlocks: stats.deadlocks,
            restarts: by(&stats.restarts, RestartKind::ALL, RestartKind::as_str),
            gave_up: stats.gave_up,
        }
    }
}

fn by<K: Ord + Copy>(
    counts: &CountsBy<K>,
    all: &[K],
    text: fn(K) -> &'static str,
) -> Vec<(&'static str, u64)> {
    all.iter().map(|kind| (text(*kind), counts.get(kind).copied().unwrap_or(0))).collect()
}
