//! Routing to the worker with the lowest load.

use super::{Choice, RoundRobin, Routing, Workers};

/// Each message goes to the worker with the fewest messages, including the current one; workers
/// with equal load take turns.
///
/// It examines every worker for each message. It suits jobs of very different length, and not
/// hundreds of workers.
#[derive(Debug, Default)]
pub struct LeastLoaded {
    /// Where the search begins.
    begin: RoundRobin,
}

impl LeastLoaded {
    /// Creates the routing.
    #[must_use]
    pub const fn new() -> Self {
        LeastLoaded { begin: RoundRobin::new() }
    }
}

impl<M> Routing<M> for LeastLoaded {
    fn has_hint(&self) -> bool {
        false
    }

    fn choose(&self, _: u64, workers: &Workers<'_>) -> Choice<M> {
        let count = workers.count();
        let begin = self.begin.take(count);
        let mut best = (begin, usize::MAX);
        for index in (begin..count).chain(0..begin) {
            let load = workers.load(index);
            if load < best.1 {
                best = (index, load);
            }
            if load == 0 {
                break;
            }
        }
        // The next turn is that of the worker after the chosen one. Otherwise the chosen worker
        // would also get the turns of more loaded workers before it.
        Routing::<M>::passed_over(&self.begin, begin, best.0, count);
        Choice::After(best.0)
    }

    fn passed_over(&self, chosen: usize, taker: usize, workers: usize) {
        Routing::<M>::passed_over(&self.begin, chosen, taker, workers);
    }

    fn turn(&self) -> usize {
        Routing::<M>::turn(&self.begin)
    }

    fn rewind(&self) {
        Routing::<M>::rewind(&self.begin);
    }
}
