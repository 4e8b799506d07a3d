//! A worker that looks for something to run beyond its own queue.

use super::steal_policy::StealPolicy;
use crossbeam_deque::Steal;
use krarup_act::Ready;
use rand::SeedableRng;
use rand::rngs::SmallRng;

/// What it remembers of its searches.
pub(super) struct Searcher {
    /// It is counted as searching.
    pub(super) searching: bool,
    pub(super) thief: StealPolicy,
    /// What it took last was let go by others: now it steals first.
    pub(super) took_over: bool,
    /// Where it begins to look.
    pub(super) rng: SmallRng,
}

impl Searcher {
    /// Of the worker with this index.
    pub(super) fn new(index: usize) -> Self {
        let rng = SmallRng::seed_from_u64(index as u64);
        Searcher { searching: false, thief: StealPolicy::default(), took_over: false, rng }
    }
}

/// What was stolen, with the number of processes that came with it.
pub(super) fn with_number(
    stolen: Steal<Ready>,
    number: impl Fn() -> usize,
) -> Steal<(Ready, usize)> {
    match stolen {
        Steal::Success(ready) => Steal::Success((ready, number())),
        Steal::Empty => Steal::Empty,
        Steal::Retry => Steal::Retry,
    }
}
