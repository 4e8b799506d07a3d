//! To the one that has the least to do.

use super::{Choice, RoundRobin, Routing, Workers};

/// Each message goes to the worker that has the fewest, the one in hand counted; among equals
/// in turn. Looks at every worker for each message: for jobs of very different length, and
/// not for hundreds of workers.
#[derive(Debug, Default)]
pub struct LeastLoaded {
    /// Where the search begins.
    begin: RoundRobin,
}

impl LeastLoaded {
    /// The routing.
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
        // The turn is that of the one after the chosen: else it would also have the turns of those
        // before it that have more.
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
