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

use krarup_gen::Timestamp;
use std::time::Duration;

/// What one stolen process must give to do, in nanoseconds: some twenty cache lines that come
/// from another core, and the memory that goes back there.
const WORTH: u64 = 2_500;
/// The first time of holding back and the longest one. It is a delay for work that turns up
/// behind a long turn meanwhile, so it is short beside what one would call long.
const WAITS: (Duration, Duration) = (Duration::from_micros(8), Duration::from_micros(500));
/// So long after a theft that did not pay another is tried, whatever the turns are like.
const TRIAL: Duration = Duration::from_millis(10);

/// A sibling as a thief sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sibling {
    /// Turns it has begun.
    pub(crate) turns: u64,
    /// Something waits in its queue.
    pub(crate) has_work: bool,
}

/// What a worker remembers of its thefts.
#[derive(Debug, Default)]
pub(crate) struct Thief {
    /// The last theft: when, and how many processes. Taken when it has been judged.
    last: Option<(Timestamp, usize)>,
    /// How long it holds back after a theft that was not worth it; zero after one that was.
    wait: Duration,
    /// When the last theft was judged.
    judged: Timestamp,
    /// When it began to hold back last, and how many turns its siblings had begun by then.
    since: Timestamp,
    turns: Vec<u64>,
}

impl Thief {
    /// The worker has stolen this many processes.
    pub(crate) fn has_stolen(&mut self, processes: usize, now: Timestamp) {
        self.last = Some((now, processes));
    }

    /// The worker has run dry: judges its last theft.
    pub(crate) fn has_run_dry(
        &mut self,
        now: impl FnOnce() -> Timestamp,
        siblings: impl Iterator<Item = Sibling>,
    ) {
        let Some((when, processes)) = self.last.take() else { return };
        let now = now();
        if now - when < worth(processes as u64) {
            self.judged = now;
            self.hold_back(now, siblings);
        } else {
            self.wait = Duration::ZERO;
        }
    }

    /// The worker has let go what its siblings will do sooner: as good as a theft that was not
    /// worth it.
    pub(crate) fn has_let_go(&mut self, now: Timestamp, siblings: impl Iterator<Item = Sibling>) {
        self.last = None;
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
        if now - self.judged >= TRIAL || !self.are_turns_short(now, siblings.clone()) {
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

/// What so many processes, or turns, must give to do at least.
fn worth(number: u64) -> Duration {
    Duration::from_nanos(WORTH.saturating_mul(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    fn idle() -> iter::Empty<Sibling> {
        iter::empty()
    }

    fn busy(turns: u64) -> impl Iterator<Item = Sibling> + Clone {
        iter::once(turns).map(|turns| Sibling { turns, has_work: true })
    }

    #[test]
    fn a_theft_that_was_worth_it_is_followed_by_the_next_at_once() {
        let mut thief = Thief::default();
        assert_eq!(thief.patience(|| at(0), idle()), None);
        thief.has_stolen(10, at(0));
        thief.has_run_dry(|| at(25), idle());
        assert_eq!(thief.patience(|| at(25), idle()), None);
    }

    #[test]
    fn thefts_that_are_not_hold_it_back_longer_and_longer_up_to_a_limit() {
        let mut thief = Thief::default();
        let mut now = 0;
        for wait in [8, 16, 32, 64, 128, 256, 500, 500] {
            thief.has_stolen(10, at(now));
            now += 24;
            thief.has_run_dry(|| at(now), idle());
            assert_eq!(
                thief.patience(|| at(now + 1), idle()),
                Some(Duration::from_micros(wait - 1))
            );
            now += wait;
            assert_eq!(thief.patience(|| at(now), idle()), None);
        }
        thief.has_stolen(10, at(now));
        thief.has_run_dry(|| at(now + 25), idle());
        assert_eq!(thief.patience(|| at(now + 25), idle()), None);
        thief.has_stolen(10, at(now + 25));
        thief.has_run_dry(|| at(now + 49), idle());
        assert_eq!(thief.patience(|| at(now + 49), idle()), Some(Duration::from_micros(8)));
    }

    #[test]
    fn a_theft_is_judged_once() {
        let mut thief = Thief::default();
        thief.has_stolen(10, at(0));
        thief.has_run_dry(|| at(1), idle());
        thief.has_run_dry(|| at(5), idle());
        assert_eq!(thief.patience(|| at(9), idle()), None);
    }

    /// A thief that has begun to hold back at 1 µs, when its sibling had begun 100 turns.
    fn held_back() -> Thief {
        let mut thief = Thief::default();
        thief.has_stolen(10, at(0));
        thief.has_run_dry(|| at(1), busy(100));
        thief
    }

    #[test]
    fn work_behind_short_turns_is_left_where_it_is_until_the_next_trial() {
        let mut thief = held_back();
        let (mut now, mut turns) = (9, 100);
        for wait in [16, 32, 64, 128, 256, 500, 500] {
            turns += 500;
            assert_eq!(
                thief.patience(|| at(now), busy(turns)),
                Some(Duration::from_micros(wait)),
                "at {now}"
            );
            now += wait;
        }
        now = 1 + 10_000;
        turns += 10_000;
        assert_eq!(thief.patience(|| at(now), busy(turns)), None);
    }

    #[test]
    fn work_behind_long_turns_is_stolen_as_soon_as_it_looks_again() {
        let mut thief = held_back();
        assert_eq!(thief.patience(|| at(9), busy(103)), None);
        let mut thief = held_back();
        assert_eq!(thief.patience(|| at(9), busy(104)), Some(Duration::from_micros(16)));
        // Since then it has been in one and the same turn.
        assert_eq!(thief.patience(|| at(25), busy(104)), None);
    }

    #[test]
    fn one_sibling_with_long_turns_is_enough() {
        let siblings = |fast, slow| [Sibling { turns: fast, has_work: true }, slow].into_iter();
        let stuck = |has_work| Sibling { turns: 7, has_work };
        let mut thief = Thief::default();
        thief.has_stolen(10, at(0));
        thief.has_run_dry(|| at(1), siblings(0, stuck(false)));
        assert_eq!(
            thief.patience(|| at(9), siblings(500, stuck(false))),
            Some(Duration::from_micros(16))
        );
        assert_eq!(thief.patience(|| at(25), siblings(1_000, stuck(true))), None);
    }
}
