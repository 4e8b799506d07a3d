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
//!                                  └─ not: waits, each time in succession twice as long
//! ```
//!
//! Long turns are worth it, however few, and so are short ones that go on here. While it
//! waits it takes what is injected, and dozes: it will wake by itself to try again, so
//! nobody need wake it for work that its siblings have at hand.

use krarup_gen::Timestamp;
use std::time::Duration;

/// What one stolen process must give to do, in nanoseconds: some ten cache lines that come
/// from another core.
const WORTH: u64 = 1_000;
/// The first wait and the longest one. A wait is a delay for work that turns up behind a
/// long turn meanwhile, so it is short beside what one would call long.
const WAITS: (Duration, Duration) = (Duration::from_micros(8), Duration::from_micros(500));

/// What a worker remembers of its thefts.
#[derive(Debug, Default)]
pub(crate) struct Thief {
    /// The last theft: when, and how many processes. Taken when it has been judged.
    last: Option<(Timestamp, usize)>,
    /// How long it waits after a theft that was not worth it; zero after one that was.
    wait: Duration,
    /// Before this it does not steal.
    not_before: Timestamp,
}

impl Thief {
    /// The worker has stolen this many processes.
    pub(crate) fn has_stolen(&mut self, processes: usize, now: Timestamp) {
        self.last = Some((now, processes));
    }

    /// The worker has run dry: judges its last theft.
    pub(crate) fn has_run_dry(&mut self, now: impl FnOnce() -> Timestamp) {
        let Some((when, processes)) = self.last.take() else { return };
        let now = now();
        let worth = Duration::from_nanos(WORTH.saturating_mul(processes as u64));
        self.wait = if now - when < worth {
            (self.wait * 2).clamp(WAITS.0, WAITS.1)
        } else {
            Duration::ZERO
        };
        self.not_before = now + self.wait;
    }

    /// How long it must still wait before it steals; `None`: it may.
    pub(crate) fn patience(&self, now: impl FnOnce() -> Timestamp) -> Option<Duration> {
        if self.wait.is_zero() {
            return None;
        }
        let left = self.not_before - now();
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    #[test]
    fn a_theft_that_was_worth_it_is_followed_by_the_next_at_once() {
        let mut thief = Thief::default();
        assert_eq!(thief.patience(|| at(0)), None);
        thief.has_stolen(10, at(0));
        thief.has_run_dry(|| at(10));
        assert_eq!(thief.patience(|| at(10)), None);
    }

    #[test]
    fn thefts_that_are_not_wait_longer_and_longer_up_to_a_limit() {
        let mut thief = Thief::default();
        let mut now = 0;
        for wait in [8, 16, 32, 64, 128, 256, 500, 500] {
            thief.has_stolen(10, at(now));
            now += 9;
            thief.has_run_dry(|| at(now));
            assert_eq!(thief.patience(|| at(now + 1)), Some(Duration::from_micros(wait - 1)));
            now += wait;
            assert_eq!(thief.patience(|| at(now)), None);
        }
        thief.has_stolen(10, at(now));
        thief.has_run_dry(|| at(now + 10));
        assert_eq!(thief.patience(|| at(now + 10)), None);
        thief.has_stolen(10, at(now + 10));
        thief.has_run_dry(|| at(now + 19));
        assert_eq!(thief.patience(|| at(now + 19)), Some(Duration::from_micros(8)));
    }

    #[test]
    fn a_theft_is_judged_once() {
        let mut thief = Thief::default();
        thief.has_stolen(10, at(0));
        thief.has_run_dry(|| at(1));
        thief.has_run_dry(|| at(5));
        assert_eq!(thief.patience(|| at(9)), None);
    }
}
