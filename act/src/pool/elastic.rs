//! The size of an elastic pool, decided from counters and the time. The pool carries the
//! decision out.

use krarup_gen::Timestamp;
use std::time::Duration;

/// The size of a pool that grows with its queue and shrinks when the queue is empty.
///
/// The pool checks its size every [`Elastic::every`]. It grows if on average at least
/// [`Elastic::grow_at`] messages wait at each worker. It shrinks if on average at most
/// [`Elastic::shrink_at`] messages wait at each worker and enough workers are idle to remove
/// them. At least [`Elastic::cool_down`] passes between two changes.
///
/// At each check the pool also balances the queues, so that new workers take over jobs from old
/// ones, unless it routes by key or is a pool of pools.
/// [`Address::add_workers`](crate::Address::add_workers) and
/// [`Address::remove_workers`](crate::Address::remove_workers) can move the size out of the range;
/// the pool then returns to it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elastic {
    pub(super) min: usize,
    pub(super) max: usize,
    pub(super) grow_at: usize,
    pub(super) shrink_at: usize,
    pub(super) step: usize,
    pub(super) every: Duration,
    pub(super) cool_down: Duration,
}

impl Elastic {
    /// Creates a range from `min` workers, at least 1, to `max`.
    ///
    /// The pool grows by 1 worker at 4 waiting messages for each worker and shrinks by 1 at
    /// none. It checks every 100 ms and cools down for 5 s.
    #[must_use]
    pub const fn between(min: usize, max: usize) -> Self {
        Elastic {
            min,
            max,
            grow_at: 4,
            shrink_at: 0,
            step: 1,
            every: Duration::from_millis(100),
            cool_down: Duration::from_secs(5),
        }
    }

    /// Sets how many messages wait for each worker when the pool grows. At least 1, and more
    /// than [`Elastic::shrink_at`].
    #[must_use]
    pub const fn grow_at(mut self, waiting: usize) -> Self {
        self.grow_at = waiting;
        self
    }

    /// Sets the largest number of waiting messages for each worker at which the pool shrinks.
    #[must_use]
    pub const fn shrink_at(mut self, waiting: usize) -> Self {
        self.shrink_at = waiting;
        self
    }

    /// Sets by how many workers the pool changes at a time, at least 1.
    #[must_use]
    pub const fn step(mut self, workers: usize) -> Self {
        self.step = workers;
        self
    }

    /// Sets how often the pool checks its queue.
    #[must_use]
    pub const fn every(mut self, period: Duration) -> Self {
        self.every = period;
        self
    }

    /// Sets the shortest time between two changes; it may be zero.
    #[must_use]
    pub const fn cool_down(mut self, time: Duration) -> Self {
        self.cool_down = time;
        self
    }
}

/// The load of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolLoad {
    /// How many workers are in the rotation.
    pub(super) size: usize,
    /// How many messages wait at them.
    pub(super) waiting: usize,
    /// How many workers are handling a message.
    pub(super) busy: usize,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Stay,
    Grow(usize),
    Shrink(usize),
}

/// The times of the checks and of the last change.
pub(super) struct ElasticPlan {
    elastic: Elastic,
    /// The time of the next check.
    pub(super) due: Timestamp,
    changed: Option<Timestamp>,
}

impl ElasticPlan {
    pub(super) fn new(elastic: Elastic, now: Timestamp) -> Self {
        ElasticPlan { elastic, due: now + elastic.every, changed: None }
    }

    /// Sets the time of the next check without a decision.
    pub(super) fn pass(&mut self, now: Timestamp) -> Change {
        self.due = now + self.elastic.every;
        Change::Stay
    }

    /// Decides, and sets the time of the next check.
    pub(super) fn decide(&mut self, load: PoolLoad, now: Timestamp) -> Change {
        self.due = now + self.elastic.every;
        if self.changed.is_some_and(|at| now.since(at) < self.elastic.cool_down) {
            return Change::Stay;
        }
        let change = wanted(self.elastic, load);
        if change != Change::Stay {
            self.changed = Some(now);
        }
        change
    }
}

fn wanted(elastic: Elastic, load: PoolLoad) -> Change {
    let Elastic { min, max, grow_at, shrink_at, step, .. } = elastic;
    let PoolLoad { size, waiting, busy } = load;
    if size < min {
        return Change::Grow(min - size);
    }
    if size > max {
        return Change::Shrink(size - max);
    }
    if size < max && waiting >= grow_at.saturating_mul(size) {
        return Change::Grow(step.min(max - size));
    }
    let fewer = step.min(size - min);
    if fewer > 0 && waiting <= shrink_at.saturating_mul(size) && size.saturating_sub(busy) >= fewer
    {
        return Change::Shrink(fewer);
    }
    Change::Stay
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_elastic_pool_grows_and_shrinks_with_its_queue_within_its_range() {
        let elastic = Elastic::between(2, 5).grow_at(3).step(2);
        let wanted = |size, waiting, busy| wanted(elastic, PoolLoad { size, waiting, busy });
        assert_eq!(wanted(2, 6, 2), Change::Grow(2));
        assert_eq!(wanted(2, 5, 2), Change::Stay);
        assert_eq!(wanted(4, 99, 4), Change::Grow(1));
        assert_eq!(wanted(5, 99, 5), Change::Stay);
        assert_eq!(wanted(5, 0, 3), Change::Shrink(2));
        assert_eq!(wanted(5, 0, 4), Change::Stay);
        assert_eq!(wanted(3, 0, 0), Change::Shrink(1));
        assert_eq!(wanted(2, 0, 0), Change::Stay);
        assert_eq!(wanted(1, 0, 0), Change::Grow(1));
        assert_eq!(wanted(9, 99, 9), Change::Shrink(4));
    }

    #[test]
    fn a_plan_cools_down_between_two_changes() {
        let elastic = Elastic::between(1, 9).grow_at(1).cool_down(Duration::from_secs(5));
        let mut plan = ElasticPlan::new(elastic, seconds(0));
        let busy = PoolLoad { size: 1, waiting: 50, busy: 1 };
        assert_eq!(plan.decide(busy, seconds(1)), Change::Grow(1));
        assert_eq!(plan.decide(busy, seconds(5)), Change::Stay);
        assert_eq!(plan.due, seconds(5) + elastic.every);
        assert_eq!(plan.decide(busy, seconds(6)), Change::Grow(1));
        // Shrinking counts as a change; a check without a change does not.
        let idle = PoolLoad { size: 3, waiting: 0, busy: 0 };
        assert_eq!(plan.decide(idle, seconds(10)), Change::Stay);
        assert_eq!(plan.decide(idle, seconds(11)), Change::Shrink(1));
        assert_eq!(plan.decide(busy, seconds(15)), Change::Stay);
        assert_eq!((plan.pass(seconds(15)), plan.due), (Change::Stay, seconds(15) + elastic.every));
        assert_eq!(plan.decide(busy, seconds(16)), Change::Grow(1));
    }

    #[test]
    fn the_first_check_is_after_one_period_and_may_change_the_size() {
        let elastic = Elastic::between(1, 9).grow_at(1).every(Duration::from_secs(3));
        let mut plan = ElasticPlan::new(elastic, seconds(4));
        assert_eq!(plan.due, seconds(7));
        let busy = PoolLoad { size: 1, waiting: 50, busy: 1 };
        assert_eq!((plan.decide(busy, seconds(7)), plan.due), (Change::Grow(1), seconds(10)));
        // A decision to stay is not a change.
        let mut plan = ElasticPlan::new(elastic, seconds(4));
        let calm = PoolLoad { size: 1, waiting: 0, busy: 1 };
        assert_eq!(plan.decide(calm, seconds(7)), Change::Stay);
        assert_eq!(plan.decide(busy, seconds(8)), Change::Grow(1));
    }

    #[test]
    fn a_size_out_of_range_returns_at_once_whatever_the_step() {
        let elastic = Elastic::between(4, 6);
        let wanted = |size| wanted(elastic, PoolLoad { size, waiting: 0, busy: size });
        assert_eq!(
            [1, 4, 6, 9].map(wanted),
            [Change::Grow(3), Change::Stay, Change::Stay, Change::Shrink(3)]
        );
    }

    #[test]
    fn a_plan_shrinks_at_its_threshold_and_decides_for_any_size() {
        let elastic = Elastic::between(1, 9).grow_at(4).shrink_at(2).step(3);
        let wanted = |size, waiting, busy| wanted(elastic, PoolLoad { size, waiting, busy });
        assert_eq!(wanted(4, 8, 1), Change::Shrink(3));
        assert_eq!(wanted(4, 8, 2), Change::Stay);
        assert_eq!(wanted(4, 9, 0), Change::Stay);
        assert_eq!(wanted(4, 15, 4), Change::Stay);
        assert_eq!(wanted(4, 16, 4), Change::Grow(3));
        assert_eq!(wanted(9, 99, 9), Change::Stay);
        assert_eq!(wanted(3, 0, 9), Change::Stay);
        assert_eq!(wanted(0, 0, 0), Change::Grow(1));
        let never = Elastic::between(1, 9).grow_at(usize::MAX).shrink_at(usize::MAX - 1);
        let load = PoolLoad { size: 4, waiting: usize::MAX - 1, busy: 0 };
        assert_eq!(super::wanted(never, load), Change::Shrink(1));
    }
}
