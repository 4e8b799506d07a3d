//! A worker that looks for work outside its own queue.

use super::steal_policy::StealPolicy;
use crossbeam_deque::Steal;
use krarup_act::Ready;
use rand::SeedableRng;
use rand::rngs::SmallRng;

/// The state of a worker's searches.
pub(super) struct Searcher {
    /// Whether the worker is counted as searching.
    pub(super) searching: bool,
    pub(super) policy: StealPolicy,
    /// Chooses the sibling at which a search begins.
    pub(super) rng: SmallRng,
}

impl Searcher {
    /// The state of the worker with this index.
    pub(super) fn new(index: usize) -> Self {
        let rng = SmallRng::seed_from_u64(index as u64);
        Searcher { searching: false, policy: StealPolicy::default(), rng }
    }
}

/// Adds to a stolen process the number of processes that came with it.
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
