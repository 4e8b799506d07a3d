//! The queues between workers (seeds M8, M9): each item is taken once, whichever thread takes
//! it.
//!
//! The queues are `crossbeam-deque`'s, which loom cannot model. So the real ones are put under
//! stress, and a queue of which half is stolen in one step shows which bug they avoid.

use crate::dispatcher::run_queue::until_settled;
use crate::models::checker::{joined, thread};
use crossbeam_deque::{Injector, Stealer, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const STEALERS: usize = 3;
const ITEMS: usize = if cfg!(miri) { 60 } else { 20_000 };

/// The owner of a queue pushes, and pops now and then. The rest spills to the injector. Stealing
/// threads take batches of both into queues of their own. Each item is taken once.
#[cfg_attr(loom, allow(dead_code, reason = "the real queues are none of loom's"))]
fn conserves() {
    let injector = Arc::new(Injector::new());
    let owner = Worker::new_fifo();
    let taken = Arc::new(AtomicUsize::new(0));
    let stealers: Vec<_> = (0..STEALERS)
        .map(|_| {
            let stealer: Stealer<usize> = owner.stealer();
            let (injector, taken) = (Arc::clone(&injector), Arc::clone(&taken));
            thread::spawn(move || {
                let mine = Worker::new_fifo();
                let mut items = Vec::new();
                while taken.load(Ordering::Relaxed) < ITEMS {
                    let item = mine
                        .pop()
                        .or_else(|| {
                            until_settled(|| injector.steal_batch_with_limit_and_pop(&mine, 17))
                        })
                        .or_else(|| until_settled(|| stealer.steal_batch_and_pop(&mine)));
                    match item {
                        Some(item) => {
                            items.push(item);
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                        None => thread::yield_now(),
                    }
                }
                items
            })
        })
        .collect();
    let mut items = Vec::new();
    for item in 0..ITEMS {
        if owner.len() < 64 {
            owner.push(item);
        } else {
            injector.push(item);
        }
        if item % 3 == 0
            && let Some(item) = owner.pop()
        {
            items.push(item);
            taken.fetch_add(1, Ordering::Relaxed);
        }
    }
    items.extend(stealers.into_iter().flat_map(joined));
    items.sort_unstable();
    assert_eq!(items, (0..ITEMS).collect::<Vec<_>>());
}

#[cfg(not(loom))]
#[test]
fn each_pushed_item_is_taken_once() {
    conserves();
}

/// Two workers steal from each other all the time. Each item is run once, and both workers end.
#[cfg(not(loom))]
#[test]
fn two_workers_that_steal_from_each_other_make_progress() {
    let queues = [(); 2].map(|()| Worker::new_fifo());
    let stealers = queues.each_ref().map(Worker::stealer);
    let run = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = queues
        .into_iter()
        .zip([stealers[1].clone(), stealers[0].clone()])
        .map(|(mine, other)| {
            let run = Arc::clone(&run);
            (0..ITEMS / 2).for_each(|item| mine.push(item));
            thread::spawn(move || {
                while run.load(Ordering::Relaxed) < ITEMS / 2 * 2 {
                    let item =
                        until_settled(|| other.steal_batch_and_pop(&mine)).or_else(|| mine.pop());
                    match item {
                        Some(_) => {
                            run.fetch_add(1, Ordering::Relaxed);
                        }
                        None => thread::yield_now(),
                    }
                }
            })
        })
        .collect();
    workers.into_iter().for_each(joined);
    assert_eq!(run.load(Ordering::Relaxed), ITEMS / 2 * 2);
}

#[cfg(loom)]
mod broken {
    use super::*;
    use crate::models::checker::bounded;
    use crate::sync::{AtomicUsize as Shared, Ordering as Order};

    /// Items between two ends. A stealing thread takes half of them by one exchange of the head.
    /// The owner takes the last item, and reads the head only for the very last one.
    struct Halving {
        head: Shared,
        tail: Shared,
    }

    impl Halving {
        fn pop(&self) -> Option<usize> {
            let tail = self.tail.load(Order::Acquire) - 1;
            self.tail.store(tail, Order::SeqCst);
            let head = self.head.load(Order::SeqCst);
            if head < tail {
                return Some(tail);
            }
            let last = head == tail
                && self.head.compare_exchange(head, head + 1, Order::SeqCst, Order::SeqCst).is_ok();
            self.tail.store(tail + 1, Order::SeqCst);
            last.then_some(tail)
        }

        fn steal_half(&self) -> Vec<usize> {
            let head = self.head.load(Order::SeqCst);
            let tail = self.tail.load(Order::SeqCst);
            let half = tail.saturating_sub(head).div_ceil(2);
            let taken = self.head.compare_exchange(head, head + half, Order::SeqCst, Order::SeqCst);
            if taken.is_ok() { (head..head + half).collect() } else { Vec::new() }
        }
    }

    #[test]
    #[should_panic(expected = "taken twice")]
    fn half_a_queue_that_is_stolen_in_one_step_is_taken_twice() {
        bounded(4, || {
            let queue = Arc::new(Halving { head: Shared::new(0), tail: Shared::new(3) });
            let policy = thread::spawn({
                let queue = Arc::clone(&queue);
                move || queue.steal_half()
            });
            let mut items: Vec<_> = (0..3).filter_map(|_| queue.pop()).collect();
            items.extend(joined(policy));
            items.sort_unstable();
            let all = items.len();
            items.dedup();
            assert_eq!(items.len(), all, "taken twice");
        });
    }
}
