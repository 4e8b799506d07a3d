//! When a worker steals from its siblings, and when it had better not.
//!
//! What is stolen pays for the way only if it then runs here for a while. Processes that
//! talk to each other in short turns do not: each message has its queue, its mailbox and its
//! receiver fetched from the other core, and the answer carries the sender back to where it
//! came from. Left on one worker they are done sooner than on two (docs/decisions.md).
//!
//! So a worker looks back when it has run dry: how long has it run since it stole, for each
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
//! Long turns are worth it, however few, and so are short ones that go on here. When it has
//! held back long enough it looks how its siblings are getting on: where turns have been
//! short all the while, nothing has changed, and it goes on holding back; where work lies
//! behind long ones, or a theft has not been tried for long, it steals. While it holds back
//! it takes what is injected, and dozes: it will wake by itself to look again, so nobody need
//! wake it for work that its siblings have at hand.
//!
//! **Two may be slower than one.** Where each talks to all, what was stolen does go on here for a
//! while, and every message of it crosses. So short turns are counted: while a worker holds back
//! it sees the pace of the sibling alone, and when it has run dry after the next theft, that of
//! both together. If together they have not been a quarter faster, it was not worth it. Who
//! has seen no such pace of it lately watches for a moment before it steals again. A sibling that
//! has been in one turn all the while was helped, and a spare does not ask.

use krarup_gen::Timestamp;
use std::time::Duration;

/// What one stolen process must give to do, in nanoseconds: some twenty cache lines that come
/// from another core, and the memory that goes back there.
const WORTH: u64 = 2_500;
/// The first time of holding back and the longest one. It is a delay for work that turns up
/// behind a long turn meanwhile, so it is short beside what one would call long.
const WAITS: (Duration, Duration) = (Duration::from_micros(8), Duration::from_micros(500));
/// So long after a theft that did not pay another is tried, whatever the turns are like. A pace
/// that was seen holds as long.
const TRIAL: Duration = Duration::from_millis(10);
/// How long a worker watches the pace of a sibling that it does not know.
const WATCH: Duration = Duration::from_micros(16);

/// A sibling as a thief sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sibling {
    /// Which worker it is.
    pub(crate) worker: usize,
    /// Turns it has begun.
    pub(crate) turns: u64,
    /// Something waits in its queue.
    pub(crate) has_work: bool,
}

/// A theft: when, of how many processes, and from whom; and how many turns the thief had begun by
/// then, and the sibling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theft {
    pub(crate) when: Timestamp,
    /// 0: one, by a spare, for whom it is no question whether that pays.
    pub(crate) processes: usize,
    pub(crate) from: Sibling,
    pub(crate) turns: u64,
}

/// What a worker remembers of its thefts.
#[derive(Debug, Default)]
pub(crate) struct StealPolicy {
    /// The last theft. Taken when it has been judged.
    last: Option<Theft>,
    /// How long it holds back after a theft that was not worth it; zero after one that was.
    wait: Duration,
    /// It holds back to see how fast the others are, and then steals.
    watches: bool,
    /// When the last theft was judged.
    judged: Timestamp,
    /// When it began to hold back last, and how many turns its siblings had begun by then.
    since: Timestamp,
    turns: Vec<u64>,
    alone: Option<Alone>,
}

/// The pace of a sibling that was stolen from, as long as it was alone.
#[derive(Clone, Copy, Debug)]
struct Alone {
    /// Which worker it is: another's pace says nothing of it.
    worker: usize,
    /// Nanoseconds for a turn.
    pace: u64,
    seen: Timestamp,
}

/// What a theft was.
enum Verdict {
    Worth,
    NotWorth,
    /// That is not known, for nobody has seen the others alone.
    Open,
}

impl StealPolicy {
    /// The worker has stolen something.
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

    /// The worker, which has begun so many `turns`, has run dry: judges its last theft.
    pub(crate) fn has_run_dry(
        &mut self,
        turns: u64,
        now: impl FnOnce() -> Timestamp,
        siblings: impl Iterator<Item = Sibling> + Clone,
    ) {
        let Some(theft) = self.last.take() else { return };
        let now = now();
        match self.verdict(&theft, turns, now, siblings.clone()) {
            Verdict::Worth => self.wait = Duration::ZERO,
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
        // A spare is there because somebody is stuck.
        if theft.processes == 0 {
            return Verdict::Worth;
        }
        let from = siblings.find(|sibling| sibling.worker == theft.from.worker);
        // Who has nothing left was helped.
        let Some(from) = from.filter(|from| from.has_work) else { return Verdict::Worth };
        let its = from.turns.saturating_sub(theft.from.turns);
        // What is left there lies behind one long turn.
        if its == 0 {
            return Verdict::Worth;
        }
        let both = (turns - theft.turns) + its;
        let Some(together) = pace(took, both).filter(|pace| *pace < WORTH) else {
            return Verdict::Worth;
        };
        let known = |alone: &Alone| alone.worker == from.worker && now - alone.seen < TRIAL;
        match self.alone.filter(known) {
            Some(alone) if together * 5 > alone.pace * 4 => Verdict::NotWorth,
            Some(_) => Verdict::Worth,
            None => Verdict::Open,
        }
    }

    /// The worker has let go what its siblings will do sooner: as good as a theft that was not
    /// worth it.
    pub(crate) fn has_let_go(&mut self, now: Timestamp, siblings: impl Iterator<Item = Sibling>) {
        self.last = None;
        self.watches = false;
        self.judged = now;
        self.hold_back(now, siblings);
    }

    /// How long it must still hold back before it steals; `None`: it may.
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
        if self.watches
            || now - self.judged >= TRIAL
            || !self.are_turns_short(now, siblings.clone())
        {
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

/// Nanoseconds for each of so many turns; `None`: there were too few to tell.
fn pace(took: Duration, turns: u64) -> Option<u64> {
    (turns >= 6).then(|| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / turns)
}

/// What so many processes, or turns, must give to do at least.
fn worth(number: u64) -> Duration {
    Duration::from_nanos(WORTH.saturating_mul(number))
}

#[cfg(test)]
mod tests;
