//! Decides when a worker steals from its siblings and when it holds back.
//!
//! A theft pays only if the stolen processes then run here for a while. Processes that send each
//! other messages in short turns do not: each message fetches its queue, its mailbox and its
//! receiver from the other core, and the answer takes the sender back. One worker finishes them
//! sooner than two (docs/decisions.md).
//!
//! So a worker that has run dry judges its last theft: how long has it run since, for each
//! process that it stole?
//!
//! ```text
//!          steals             has run dry
//!   ─────────●─────────────────────●───────────► time
//!            │◄── work stolen ────►│
//!                                  ├─ worth it: steals again at once
//!                                  └─ not: holds back, each time in succession twice as long
//! ```
//!
//! Long turns are worth a theft, however few, and so are short turns that continue here. A
//! worker that has held back long enough looks at the progress of its siblings. If turns have
//! been short all the while, nothing has changed, and it continues to hold back. If work lies
//! behind long turns, or no theft has been tried for long, it steals. A trial lasts until the
//! thief has run dry, which can take milliseconds in which both workers are slower than one, so
//! trials that fail become rarer. While it holds back it
//! takes what is injected, and dozes: it wakes by itself to look again, so no thread need wake
//! it for work that its siblings have at hand.
//!
//! **Two workers may be slower than one.** If each process sends messages to all others, stolen
//! processes do continue here for a while, but each of their messages crosses between cores. So
//! short turns are counted. While a worker holds back it sees the pace of the sibling alone, and
//! when it has run dry after the next theft, the pace of both together. If both together were
//! not a quarter faster, the theft was not worth it. A worker that has not measured the sibling
//! alone lately watches it for a moment before it steals again. A sibling that has been in one
//! turn all the while benefited from the theft. A spare steals without this policy.

use krarup_gen::Timestamp;
use std::time::Duration;

/// The work that each stolen process must bring, in nanoseconds. The theft costs some twenty
/// cache lines from another core, and the memory that returns there.
const WORTH: u64 = 2_500;
/// The first and the longest time of holding back. It delays work that appears behind a long
/// turn meanwhile, so it is short compared with a turn that counts as long.
const WAITS: (Duration, Duration) = (Duration::from_micros(8), Duration::from_micros(500));
/// This long after a theft that did not pay, the next one is tried regardless of the turns. Each
/// trial in succession that does not pay doubles the time to the next one, up to the second value.
const TRIALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(160));
/// How long a measured pace is valid.
const PACE_VALID: Duration = TRIALS.0;
/// How long a worker watches a sibling whose pace it does not know.
const WATCH: Duration = Duration::from_micros(16);

/// A sibling as a stealing worker sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sibling {
    /// The index of the worker.
    pub(crate) worker: usize,
    /// The turns it has begun.
    pub(crate) turns: u64,
    /// Whether its queue holds anything.
    pub(crate) has_work: bool,
}

/// A theft: when, how many processes, from which worker, and how many turns both workers had
/// begun by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theft {
    pub(crate) when: Timestamp,
    /// 0: one process, stolen by a spare, whose thefts are not judged.
    pub(crate) processes: usize,
    pub(crate) from: Sibling,
    pub(crate) turns: u64,
}

/// The thefts of a worker.
#[derive(Debug, Default)]
pub(crate) struct StealPolicy {
    /// The last theft that has not been judged.
    last: Option<Theft>,
    /// How long it holds back after a theft that was not worth it; zero after one that was.
    wait: Duration,
    /// Whether it holds back to measure the pace of the others, and then steals.
    watches: bool,
    /// When the last theft was judged.
    judged: Timestamp,
    /// How long after that the next one is tried. Zero: as soon as [`TRIALS`] allows.
    trial: Duration,
    /// When it last began to hold back, and how many turns its siblings had begun by then.
    since: Timestamp,
    turns: Vec<u64>,
    alone: Option<Alone>,
}

/// The pace of a victim while it ran alone.
#[derive(Clone, Copy, Debug)]
struct Alone {
    /// The index of the worker. The pace is valid for this worker only.
    worker: usize,
    /// In nanoseconds per turn.
    pace: u64,
    seen: Timestamp,
}

/// The judgement of a theft.
enum Verdict {
    Worth,
    NotWorth,
    /// Unknown, because the pace of the sibling alone was not measured.
    Open,
}

impl StealPolicy {
    /// Records a theft.
    pub(crate) fn has_stolen(&mut self, theft: Theft, siblings: impl Iterator<Item = Sibling>) {
        if !self.wait.is_zero() {
            let (worker, seen) = (theft.from.worker, theft.when);
            let mut before = siblings.zip(&self.turns);
            if let Some((_, before)) = before.find(|(sibling, _)| sibling.worker == worker) {
                let turns = theft.from.turns.saturating_sub(*before);
                let pace = pace(seen - self.since, turns);
                self.alone = pace.map(|pace| Alone { worker, pace, seen });
            }
        }
        if std::mem::take(&mut self.watches) {
            self.wait = Duration::ZERO;
        }
        self.last = Some(theft);
    }

    /// Judges the last theft of a worker that has run dry after `turns` turns.
    pub(crate) fn has_run_dry(
        &mut self,
        turns: u64,
        now: impl FnOnce() -> Timestamp,
        siblings: impl Iterator<Item = Sibling> + Clone,
    ) {
        let Some(theft) = self.last.take() else { return };
        let now = now();
        match self.verdict(&theft, turns, now, siblings.clone()) {
            Verdict::Worth => {
                self.wait = Duration::ZERO;
                self.trial = Duration::ZERO;
            }
            Verdict::NotWorth => {
                self.judged = now;
                self.hold_back(now, siblings);
            }
            Verdict::Open => {
                self.watches = true;
                self.wait = Duration::ZERO;
                self.hold_back(now, siblings);
                self.wait = WATCH;
            }
        }
    }

    fn verdict(
        &self,
        theft: &Theft,
        turns: u64,
        now: Timestamp,
        mut siblings: impl Iterator<Item = Sibling>,
    ) -> Verdict {
        let took = now - theft.when;
        if took < worth(theft.processes as u64) {
            return Verdict::NotWorth;
        }
        // Spares exist only while a worker is stuck.
        if theft.processes == 0 {
            return Verdict::Worth;
        }
        let from = siblings.find(|sibling| sibling.worker == theft.from.worker);
        // A victim whose queue is empty benefited from the theft.
        let Some(from) = from.filter(|from| from.has_work) else { return Verdict::Worth };
        let its = from.turns.saturating_sub(theft.from.turns);
        // The rest of the victim's queue lies behind one long turn.
        if its == 0 {
            return Verdict::Worth;
        }
        let both = (turns - theft.turns) + its;
        let Some(together) = pace(took, both).filter(|pace| *pace < WORTH) else {
            return Verdict::Worth;
        };
        let known = |alone: &Alone| alone.worker == from.worker && now - alone.seen < PACE_VALID;
        match self.alone.filter(known) {
            Some(alone) if together * 5 > alone.pace * 4 => Verdict::NotWorth,
            Some(_) => Verdict::Worth,
            None => Verdict::Open,
        }
    }

    /// A process that ran here waits for one that a sibling runs. Two workers that fill and empty
    /// one mailbox wait for each other's cache lines at each message, and are slower than one of
    /// them alone. So this counts as a theft that was not worth it.
    pub(crate) fn has_muted(&mut self, now: Timestamp, siblings: impl Iterator<Item = Sibling>) {
        self.last = None;
        self.watches = false;
        self.judged = now;
        self.hold_back(now, siblings);
    }

    /// How long the worker must still hold back. `None`: it may steal.
    pub(crate) fn patience(
        &mut self,
        now: impl FnOnce() -> Timestamp,
        siblings: impl Iterator<Item = Sibling> + Clone,
    ) -> Option<Duration> {
        if self.wait.is_zero() {
            return None;
        }
        let now = now();
        let left = (self.since + self.wait) - now;
        if !left.is_zero() {
            return Some(left);
        }
        if self.watches || !self.are_turns_short(now, siblings.clone()) {
            return None;
        }
        let trial = self.trial.max(TRIALS.0);
        if now - self.judged >= trial {
            self.trial = (trial * 2).min(TRIALS.1);
            return None;
        }
        self.hold_back(now, siblings);
        Some(self.wait)
    }

    /// Whether there is work to steal, and all of it behind short turns.
    fn are_turns_short(&self, now: Timestamp, siblings: impl Iterator<Item = Sibling>) -> bool {
        let took = now - self.since;
        let mut working = siblings
            .zip(self.turns.iter().chain(std::iter::repeat(&0)))
            .filter(|(sibling, _)| sibling.has_work)
            .map(|(sibling, before)| took < worth(sibling.turns.saturating_sub(*before)))
            .peekable();
        working.peek().is_some() && working.all(|short| short)
    }

    fn hold_back(&mut self, now: Timestamp, siblings: impl Iterator<Item = Sibling>) {
        self.wait = (self.wait * 2).clamp(WAITS.0, WAITS.1);
        self.since = now;
        self.turns.clear();
        self.turns.extend(siblings.map(|sibling| sibling.turns));
    }
}

/// The nanoseconds per turn. `None`: too few turns to measure.
fn pace(took: Duration, turns: u64) -> Option<u64> {
    (turns >= 6).then(|| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / turns)
}

/// The least work that this many processes, or turns, must bring.
fn worth(number: u64) -> Duration {
    Duration::from_nanos(WORTH.saturating_mul(number))
}

#[cfg(test)]
mod tests;
