//! Routing to the less loaded of two workers.

use super::{Choice, Routing, Workers};

/// Each message goes to the less loaded of two workers that are chosen at random.
///
/// This is nearly as even as [`super::LeastLoaded`], and examines only two workers
/// (Mitzenmacher, "The power of two choices in randomized load balancing").
#[derive(Clone, Copy, Debug, Default)]
pub struct TwoChoices;

impl<M> Routing<M> for TwoChoices {
    fn has_hint(&self) -> bool {
        false
    }

    fn choose(&self, _: u64, workers: &Workers<'_>) -> Choice<M> {
        let count = workers.count();
        if count == 1 {
            return Choice::After(0);
        }
        let random = workers.random();
        let one = below(random >> 32, count);
        // A different worker: some places further on, but never all the way around.
        let step = 1 + below(random & u64::from(u32::MAX), count - 1);
        let other = (one + step) % count;
        let better = if workers.load(other) < workers.load(one) { other } else { one };
        Choice::After(better)
    }
}

/// A number below `count` from 32 random bits.
fn below(random: u64, count: usize) -> usize {
    usize::try_from((random * count as u64) >> 32).unwrap_or(0)
}
