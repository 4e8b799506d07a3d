//! A worker that looks for work outside its own queue.

use super::steal_policy::{Sibling, StealPolicy};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::task::Waker;
use std::time::Duration;

/// The rounds of a search before the worker parks, and the most of them. A round of the first few
/// is a busy wait, and each of the others a yield, which takes about half a microsecond.
const ROUNDS: (u32, u32) = (16, 64);
/// A worker that was woken so soon would have found the work from outside if it had searched
/// longer: that costs little more than to fall asleep and be woken, and the work starts sooner.
const SHORT_SLEEP: Duration = Duration::from_micros(50);

/// The state of a worker's searches.
pub(super) struct Searcher {
    /// Whether the worker is counted as searching.
    pub(super) searching: bool,
    pub(super) policy: StealPolicy,
    /// Chooses the sibling at which a search begins.
    pub(super) rng: SmallRng,
    /// The rounds of its next search.
    pub(super) rounds: u32,
    /// The siblings that had private processes when this search had begun, and the turns that they were in.
    pub(super) with_private: Vec<Sibling>,
    /// What the poller has reported, to be woken.
    pub(super) woken: Vec<Waker>,
    /// Whether it was woken soon after it had fallen asleep, and has found nothing since.
    slept_shortly: bool,
}

impl Searcher {
    /// The state of the worker with this index.
    pub(super) fn new(index: usize) -> Self {
        let rng = SmallRng::seed_from_u64(index as u64);
        Searcher {
            searching: false,
            policy: StealPolicy::default(),
            rng,
            rounds: ROUNDS.0,
            with_private: Vec::new(),
            woken: Vec::new(),
            slept_shortly: false,
        }
    }

    /// The worker was woken, after so long a sleep.
    pub(super) fn has_slept(&mut self, slept: Duration) {
        self.slept_shortly = slept < SHORT_SLEEP;
        if !self.slept_shortly {
            self.rounds = ROUNDS.0;
        }
    }

    /// A search has found work from outside. If the worker slept shortly before, it searches
    /// twice as long from now on, up to a limit.
    pub(super) fn has_taken(&mut self) {
        if std::mem::take(&mut self.slept_shortly) {
            self.rounds = (self.rounds * 2).min(ROUNDS.1);
        }
    }

    /// It slept where a worker waits for sockets. One that waits there finds what arrives as soon as one that searches, so a longer
    /// search would save little.
    pub(super) fn has_polled(&mut self) {
        self.has_stolen();
    }

    /// A search has found a sibling's work. The sibling would have run it too, so to find more of
    /// it sooner is no reason to search longer.
    pub(super) fn has_stolen(&mut self) {
        self.slept_shortly = false;
        self.rounds = ROUNDS.0;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The rounds of the search that follows a sleep of so many microseconds and what was found.
    fn after(searcher: &mut Searcher, sleep: u64, found: fn(&mut Searcher)) -> u32 {
        searcher.has_slept(Duration::from_micros(sleep));
        found(searcher);
        searcher.rounds
    }

    #[test]
    fn a_worker_that_is_woken_soon_for_work_from_outside_searches_longer() {
        let mut searcher = Searcher::new(0);
        let rounds = |searcher: &mut Searcher| after(searcher, 49, Searcher::has_taken);
        assert_eq!([(); 4].map(|()| rounds(&mut searcher)), [32, 64, 64, 64]);
        // Work that it finds without a sleep is what the longer search is for.
        searcher.has_taken();
        assert_eq!(searcher.rounds, 64);
        assert_eq!(after(&mut searcher, 50, Searcher::has_taken), 16);
    }

    #[test]
    fn a_worker_that_is_woken_soon_for_a_siblings_work_does_not() {
        let mut searcher = Searcher::new(0);
        assert_eq!(after(&mut searcher, 1, Searcher::has_stolen), 16);
        searcher.has_taken();
        assert_eq!(searcher.rounds, 16);
        assert_eq!(after(&mut searcher, 1, Searcher::has_taken), 32);
        assert_eq!(after(&mut searcher, 1, Searcher::has_stolen), 16);
    }
}
