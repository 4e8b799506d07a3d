//! How large an elastic pool is to be: decided here from numbers and the time, carried out by
//! the pool.

use krarup_gen::Timestamp;
use std::time::Duration;

/// The size of a pool that grows with its queue and shrinks without one.
///
/// The pool looks at itself every [`Elastic::every`]. It grows when at each worker
/// [`Elastic::grow_at`] messages wait, on average, and shrinks when at most
/// [`Elastic::shrink_at`] do and as many workers as are to go have nothing in hand; between two
/// changes at least [`Elastic::cool_down`] passes. Each time it looks it evens out what waits, so
/// that new workers take over from those that were there, unless it routes by key or is a pool of
/// pools. [`crate::Address::add_workers`] and
/// [`crate::Address::remove_workers`] can take it out of the range; then it comes back by
/// itself.
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
    /// At least `min` workers, at least 1, and at most `max`. Grows by 1 at 4 waiting messages
    /// for each worker, shrinks by 1 at none, looks every 100 ms and cools down for 5 s.
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

    /// Grows when this many messages wait for each worker, at least 1 and more than
    /// [`Elastic::shrink_at`].
    #[must_use]
    pub const fn grow_at(mut self, waiting: usize) -> Self {
        self.grow_at = waiting;
        self
    }

    /// Shrinks when at most this many messages wait for each worker.
    #[must_use]
    pub const fn shrink_at(mut self, waiting: usize) -> Self {
        self.shrink_at = waiting;
        self
    }

    /// By how many workers the pool changes at a time, at least 1.
    #[must_use]
    pub const fn step(mut self, workers: usize) -> Self {
        self.step = workers;
        self
    }

    /// How often the pool looks at its queue.
    #[must_use]
    pub const fn every(mut self, period: Duration) -> Self {
        self.every = period;
        self
    }

    /// The time between two changes, at least; it may be zero.
    #[must_use]
    pub const fn cool_down(mut self, time: Duration) -> Self {
        self.cool_down = time;
        self
    }
}

/// What a pool has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolLoad {
    /// Workers in the rotation.
    pub(super) size: usize,
    /// Messages that wait at them.
    pub(super) waiting: usize,
    /// Workers that have something in hand.
    pub(super) busy: usize,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Stay,
    Grow(usize),
    Shrink(usize),
}

/// When an elastic pool looks, and when it changed last.
pub(super) struct ElasticPlan {
    elastic: Elastic,
    /// When it looks next.
    pub(super) due: Timestamp,
    changed: Option<Timestamp>,
}

impl ElasticPlan {
    pub(super) fn new(elastic: Elastic, now: Timestamp) -> Self {
        ElasticPlan { elastic, due: now + elastic.every, changed: None }
    }

    /// Sets when to look again, and decides nothing.
    pub(super) fn pass(&mut self, now: Timestamp) -> Change {
        self.due = now + self.elastic.every;
        Change::Stay
    }

    /// Decides, and sets when to look again.
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
    fn it_grows_with_the_queue_and_shrinks_without_one_within_its_range() {
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
    fn between_two_changes_it_cools_down() {
        let elastic = Elastic::between(1, 9).grow_at(1).cool_down(Duration::from_secs(5));
        let mut plan = ElasticPlan::new(elastic, seconds(0));
        let busy = PoolLoad { size: 1, waiting: 50, busy: 1 };
        assert_eq!(plan.decide(busy, seconds(1)), Change::Grow(1));
        assert_eq!(plan.decide(busy, seconds(5)), Change::Stay);
        assert_eq!(plan.due, seconds(5) + elastic.every);
        assert_eq!(plan.decide(busy, seconds(6)), Change::Grow(1));
        // Shrinking is a change as well; looking without one is none.
        let idle = PoolLoad { size: 3, waiting: 0, busy: 0 };
        assert_eq!(plan.decide(idle, seconds(10)), Change::Stay);
        assert_eq!(plan.decide(idle, seconds(11)), Change::Shrink(1));
        assert_eq!(plan.decide(busy, seconds(15)), Change::Stay);
        assert_eq!((plan.pass(seconds(15)), plan.due), (Change::Stay, seconds(15) + elastic.every));
        assert_eq!(plan.decide(busy, seconds(16)), Change::Grow(1));
    }

    #[test]
    fn a_plan_looks_for_the_first_time_after_its_period_and_may_change_then() {
        let elastic = Elastic::between(1, 9).grow_at(1).every(Duration::from_secs(3));
        let mut plan = ElasticPlan::new(elastic, seconds(4));
        assert_eq!(plan.due, seconds(7));
        let busy = PoolLoad { size: 1, waiting: 50, busy: 1 };
        assert_eq!((plan.decide(busy, seconds(7)), plan.due), (Change::Grow(1), seconds(10)));
        // To stay as large as it is is no change.
        let mut plan = ElasticPlan::new(elastic, seconds(4));
        let calm = PoolLoad { size: 1, waiting: 0, busy: 1 };
        assert_eq!(plan.decide(calm, seconds(7)), Change::Stay);
        assert_eq!(plan.decide(busy, seconds(8)), Change::Grow(1));
    }

    #[test]
    fn out_of_its_range_it_comes_back_at_once_whatever_its_step() {
        let elastic = Elastic::between(4, 6);
        let wanted = |size| wanted(elastic, PoolLoad { size, waiting: 0, busy: size });
        assert_eq!(
            [1, 4, 6, 9].map(wanted),
            [Change::Grow(3), Change::Stay, Change::Stay, Change::Shrink(3)]
        );
    }

    #[test]
    fn it_shrinks_at_the_queue_that_it_was_told_and_no_pool_is_too_large_to_decide() {
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
