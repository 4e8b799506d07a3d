//! What a worker has to run, in two queues: a private one, from which it takes without an atomic read-modify-write, and
//! a shared one, from which its siblings steal at once.
//!
//! ```text
//!   push ──┬─► private, if no sibling wants work ──┬──► pop: the older of the two first
//!          └─► shared,  if one does ───────────────┘
//!                 └──► siblings steal half of it at once, and of `private` behind a long turn or if there is nothing else
//! ```
//!
//! The order is that of one queue, so one of the two is older as a whole: it is taken from until it is empty, and the
//! younger one is put into.
//!
//! | older | private | shared | put in while a sibling wants work | put in otherwise |
//! |---|---|---|---|---|
//! | private | - | empty | shared | private |
//! | private | holds some | holds some | shared | shared |
//! | private | empty | holds some | shared | private; shared is the older now |
//! | shared | - | holds some | private: siblings have what is in shared | private |
//! | shared | - | empty | as above: private is the older | as above |
//!
//! An item that is alone is private: it runs next, and to wake a sibling for it would cost more than it saves.
//!
//! If the private queue refuses an item, because a thief is there or for ever, the item is shared and what is private is the older from
//! then on: it would wait for ever otherwise. At such a moment, and when the worker takes while a thief is there, the order is not kept
//! (rule R1).

use super::private_queue::{PrivateQueue, PrivateTheft};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use std::cell::Cell;

/// The most items that are stolen at a time from a private queue: as many as `crossbeam-deque` moves in one batch.
const BATCH: usize = 32;

/// Steals until it has succeeded, or there is nothing.
pub(super) fn until_settled<R>(steal: impl Fn() -> Steal<R>) -> Option<R> {
    loop {
        match steal() {
            Steal::Success(stolen) => return Some(stolen),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

/// The end of the worker itself.
pub(super) struct RunQueue<T> {
    private: PrivateQueue<T>,
    shared: Worker<T>,
    shared_is_older: Cell<bool>,
}

/// The end of all others.
pub(super) struct RunQueueStealer<T> {
    private: PrivateTheft<T>,
    shared: Stealer<T>,
}

impl<T> RunQueue<T> {
    pub(super) fn new() -> Self {
        RunQueue {
            private: PrivateQueue::new(),
            shared: Worker::new_fifo(),
            shared_is_older: Cell::new(false),
        }
    }

    pub(super) fn stealer(&self) -> RunQueueStealer<T> {
        RunQueueStealer { private: self.private.theft(), shared: self.shared.stealer() }
    }

    /// To be called now and then: the private queue may be used only when the system is ready for it.
    pub(super) fn maintain(&self) {
        self.private.maintain();
    }

    /// Puts an item in if all is private, and either there is nothing or no sibling wants it, which `unwanted` says. Returns how
    /// many there were, or the item.
    #[inline]
    pub(super) fn push_private(
        &self,
        item: T,
        unwanted: impl FnOnce(usize) -> bool,
    ) -> Result<usize, T> {
        let len = self.private.len();
        if self.shared.is_empty() && (len == 0 || unwanted(len)) {
            self.put(item);
            Ok(len)
        } else {
            Err(item)
        }
    }

    /// Puts an item in where siblings can steal it at once, unless they have others to steal.
    pub(super) fn push(&self, item: T) {
        if self.is_shared_older() {
            self.put(item);
        } else {
            self.shared.push(item);
        }
    }

    /// Puts an item in that no sibling wants.
    pub(super) fn push_unwanted(&self, item: T) {
        if !self.is_shared_older() && !self.shared.is_empty() {
            if self.private.len() > 0 {
                return self.shared.push(item);
            }
            self.shared_is_older.set(true);
        }
        self.put(item);
    }

    #[inline]
    fn put(&self, item: T) {
        if let Err(item) = self.private.put(item) {
            self.push_refused(item);
        }
    }

    /// What is private becomes the older part, and all is shared if the private queue is closed for ever.
    #[cold]
    fn push_refused(&self, item: T) {
        self.shared_is_older.set(false);
        if self.private.is_closed() {
            std::iter::from_fn(|| self.private.take())
                .for_each(|private| self.shared.push(private));
        }
        self.shared.push(item);
    }

    /// Whether the shared queue is the older one, and holds any.
    fn is_shared_older(&self) -> bool {
        if self.shared_is_older.get() && self.shared.is_empty() {
            self.shared_is_older.set(false);
        }
        self.shared_is_older.get()
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<T> {
        if self.shared_is_older.get() {
            let item = self.shared.pop();
            if item.is_some() {
                return item;
            }
            self.shared_is_older.set(false);
        }
        self.private.take().or_else(|| self.shared.pop())
    }

    /// Takes up to `limit` items of the injector in, behind all others. Returns whether there were any: of a
    /// short injector `crossbeam-deque` moves a half.
    pub(super) fn fill(&self, injector: &Injector<T>, limit: usize) -> bool {
        if self.is_shared_older() {
            // Behind what is private.
            return (0..limit)
                .map_while(|_| until_settled(|| injector.steal()))
                .map(|item| self.put(item))
                .count()
                > 0;
        }
        !injector.steal_batch_with_limit(&self.shared, limit).is_empty()
    }

    /// The same, but for the first one, which is returned.
    pub(super) fn fill_and_pop(&self, injector: &Injector<T>, limit: usize) -> Option<T> {
        if self.is_shared_older() {
            let first = until_settled(|| injector.steal())?;
            self.fill(injector, limit - 1);
            return Some(first);
        }
        until_settled(|| injector.steal_batch_with_limit_and_pop(&self.shared, limit))
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.private.len() + self.shared.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.private.len() == 0 && self.shared.is_empty()
    }
}

impl<T> RunQueueStealer<T> {
    /// Steals from the shared queue: half of it into the thief's own one, or one item if it has none. Returns the first, and how
    /// many there are with it; 0 if the thief has no queue.
    pub(super) fn steal(&self, into: Option<&RunQueue<T>>) -> Steal<(T, usize)> {
        let stolen = match into {
            Some(own) => self.shared.steal_batch_and_pop(&own.shared),
            None => self.shared.steal(),
        };
        match stolen {
            Steal::Success(item) => Steal::Success((item, into.map_or(0, |own| 1 + own.len()))),
            Steal::Empty => Steal::Empty,
            Steal::Retry => Steal::Retry,
        }
    }

    /// The same from the private queue. Costs some microseconds.
    pub(super) fn steal_private(&self, into: Option<&RunQueue<T>>) -> Option<(T, usize)> {
        let share = |len: usize| if into.is_some() { len.div_ceil(2).min(BATCH) } else { 1 };
        let stolen = self.private.steal(share);
        let number = into.map_or(0, |_| stolen.len());
        let mut stolen = stolen.into_iter();
        let first = stolen.next()?;
        if let Some(own) = into {
            stolen.for_each(|item| own.push(item));
        }
        Some((first, number))
    }

    /// Takes up to so many private items.
    pub(super) fn take_private(&self, most: usize) -> Vec<T> {
        self.private.steal(|len| len.min(most))
    }

    /// How many private items may be stolen.
    pub(super) fn private_len(&self) -> usize {
        self.private.open_len()
    }

    pub(super) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.private.len() + self.shared.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.private.len() == 0 && self.shared.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::process_barrier;
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::VecDeque;

    fn queue() -> RunQueue<u32> {
        process_barrier::prepare();
        if !process_barrier::is_available() {
            eprintln!("the system has no membarrier: nothing is private, and this shows little");
        }
        RunQueue::new()
    }

    fn popped(queue: &RunQueue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    /// What is shared and what is private.
    fn parts(queue: &RunQueue<u32>) -> (usize, usize) {
        (queue.shared.len(), queue.private.len())
    }

    #[test]
    fn r1_the_two_parts_of_a_run_queue_keep_the_order_of_one() {
        let mut rng = SmallRng::seed_from_u64(23);
        let (queue, mut expected, mut next) = (queue(), VecDeque::new(), 0);
        let mut seen = [false; 4];
        for _ in 0..100_000 {
            // Long phases of growth and of decrease, so that either part is the older at times.
            let grows = (next / 50) % 2 == 0;
            if rng.random_bool(if grows { 0.6 } else { 0.4 }) {
                let wanted = rng.random_bool(0.5);
                match queue.push_private(next, |_| !wanted) {
                    Ok(_) => {}
                    Err(item) if wanted => queue.push(item),
                    Err(item) => queue.push_unwanted(item),
                }
                expected.push_back(next);
                next += 1;
            } else {
                assert_eq!(queue.pop(), expected.pop_front());
            }
            assert_eq!((queue.len(), queue.is_empty()), (expected.len(), expected.is_empty()));
            let (shared, private) = parts(&queue);
            if shared > 0 && private > 0 {
                seen[usize::from(queue.shared_is_older.get())] = true;
            }
            seen[2] |= shared > 1;
            seen[3] |= private > 1;
        }
        if process_barrier::is_available() {
            assert_eq!(seen, [true; 4], "each part is the older at times, and longer than one");
        }
    }

    /// Each part by the table of the module.
    #[test]
    fn r1_what_a_sibling_wants_is_shared_and_the_rest_is_private() {
        let queue = queue();
        if !process_barrier::is_available() {
            return;
        }
        let pushed = [(0, false), (1, false), (1, true)];
        let pushed = pushed.map(|(item, unwanted)| queue.push_private(item, |_| unwanted));
        assert_eq!(pushed, [Ok(0), Err(1), Ok(1)]);
        assert_eq!(parts(&queue), (0, 2));
        queue.push(2);
        queue.push_unwanted(3);
        assert_eq!(parts(&queue), (2, 2), "what is private is the older");
        assert_eq!((queue.pop(), queue.pop()), (Some(0), Some(1)));
        queue.push(4);
        queue.push_unwanted(5);
        assert_eq!(parts(&queue), (3, 1), "what is shared is the older");
        queue.push(6);
        assert_eq!(parts(&queue), (3, 2), "siblings have what is in the shared part");
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(2), Some(3), Some(4)]);
        queue.push(7);
        assert_eq!(parts(&queue), (1, 2), "there is no more of it");
        assert_eq!(popped(&queue), [5, 6, 7]);
    }

    /// Also while the shared part is the older one: as many come from outside as are run.
    #[test]
    fn r1_what_comes_from_outside_goes_behind_all_that_is_there() {
        let (queue, injector) = (queue(), Injector::new());
        let mut next = 0;
        let mut numbers = |number: u32| {
            next += number;
            next - number..next
        };
        numbers(1).for_each(|item| queue.push(item));
        numbers(1).for_each(|item| queue.push_unwanted(item));
        let mut ran = Vec::new();
        for _ in 0..3 {
            numbers(4).for_each(|item| injector.push(item));
            while queue.fill(&injector, 4) {}
            ran.extend((0..4).map_while(|_| queue.pop()));
            numbers(1).for_each(|item| queue.push(item));
            numbers(1).for_each(|item| queue.push_unwanted(item));
        }
        ran.extend(popped(&queue));
        assert!(ran.iter().copied().eq(0..numbers(0).start), "{ran:?}");
    }

    /// The first is run at once: that is what the worker looks outside for.
    #[test]
    fn r1_what_comes_with_the_first_from_outside_goes_behind_all_that_is_there() {
        let (queue, injector) = (queue(), Injector::new());
        queue.push(0);
        queue.push_unwanted(1);
        (2..10).for_each(|item| injector.push(item));
        assert_eq!(queue.fill_and_pop(&injector, 4), Some(2));
        // A short injector gives a half.
        let own = popped(&queue);
        assert!([0, 1, 3, 4, 5].starts_with(&own) && own.len() > 3, "{own:?}");
    }

    #[test]
    fn r1_what_a_thief_takes_is_the_older_half() {
        let (queue, own) = (queue(), RunQueue::new());
        (0..7).for_each(|item| queue.push_unwanted(item));
        let stealer = queue.stealer();
        let private = stealer.steal_private(Some(&own));
        let stolen = private.or_else(|| stealer.steal(Some(&own)).success());
        assert_eq!((stolen, popped(&own)), (Some((0, 4)), vec![1, 2, 3]));
        assert_eq!(popped(&queue), [4, 5, 6]);
    }

    /// A sandbox that came later refuses the barrier.
    #[test]
    fn r4_what_is_private_in_a_closed_queue_is_shared_at_the_next_push() {
        let queue = queue();
        if !process_barrier::is_available() {
            return;
        }
        queue.push(0);
        (1..3).for_each(|item| queue.push_unwanted(item));
        let stealer = queue.stealer();
        assert_eq!((parts(&queue), stealer.private_len()), ((1, 2), 2));
        assert_eq!(stealer.private.steal_by(|| false, |len| len), []);
        assert_eq!((stealer.private_len(), stealer.len()), (0, 3), "none that can be stolen");
        queue.push_unwanted(3);
        assert_eq!(parts(&queue), (4, 0));
        queue.push_unwanted(4);
        assert_eq!((popped(&queue), queue.len()), (vec![0, 1, 2, 3, 4], 0));
    }

    #[test]
    fn r4_a_thief_without_a_queue_takes_one() {
        let queue = queue();
        queue.push(0);
        (1..4).for_each(|item| queue.push_unwanted(item));
        let stealer = queue.stealer();
        assert_eq!(stealer.steal(None).success(), Some((0, 0)));
        let second = stealer.steal_private(None).or_else(|| stealer.steal(None).success());
        assert_eq!((second, popped(&queue)), (Some((1, 0)), vec![2, 3]));
    }
}
