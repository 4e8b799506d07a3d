//! The part of a worker's run queue that costs its owner no atomic read-modify-write.
//!
//! ```text
//!   owner:  raise `owner` ── light barrier ── thief there? ── no: the items are mine ──► lower `owner`
//!   thief:  raise `thief` ── heavy barrier ── wait until `owner` is down ── take items ──► lower `thief`
//! ```
//!
//! One of the two sees the other's flag, because both have a barrier between their own flag and the look at the other's. The
//! owner that sees the thief leaves the items to it and goes on; the thief that sees the owner waits for it, some dozen
//! instructions. So never are both at the items, and neither gives up for the other: of the items that the owner leaves
//! the thief takes the oldest.
//!
//! The owner's barrier is none for the processor ([`super::process_barrier`]); the thief pays for both. It comes for what
//! lies behind a long turn, or when it finds nothing elsewhere. A thread that the system interrupts while its flag is up keeps the other
//! from the items for as long.
//! Where the system has no such barrier the queue is closed. If it refuses one that it had, the thief
//! closes the queue and leaves: nothing is put in, and what lies there is the owner's.
//!
//! | `thief` | owner puts | owner takes | a thief takes |
//! |---|---|---|---|
//! | `NOT_OPEN` | no | there is nothing | no; the owner makes it `AWAY` once there is a barrier |
//! | `AWAY` | yes | yes | raises it to `HERE` |
//! | `HERE` | no | no | no |
//! | `CLOSED` | no | yes | no, never again |
//!
//! A queue of this kind is called a private deque in U. A. Acar, A. Charguéraud and M. Rainey, "Scheduling parallel programs by
//! work stealing with private deques" (2013). There a thief asks the owner, which answers between two turns;
//! here it need not wait for the end of a turn.

#![allow(
    unsafe_code,
    reason = "an atomic operation less for each turn, a tenth to a fifth of its time; argued below, docs/decisions.md"
)]

use super::process_barrier::{heavy, is_available, light};
use crate::sync::{AtomicBool, AtomicU8, AtomicUsize, Mutex, Ordering, UnsafeCell, yield_now};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

const AWAY: u8 = 0;
const HERE: u8 = 1;
const CLOSED: u8 = 2;
const NOT_OPEN: u8 = 3;

/// The slots of a queue that has not grown. Few in tests, which test the growth.
const SLOTS: usize = if cfg!(test) { 2 } else { 256 };

/// On cache lines of its own: the owner writes there at each turn.
#[repr(align(128))]
struct SharedQueue<T> {
    /// Whether the owner is at the items.
    owner: AtomicBool,
    thief: AtomicU8,
    /// The number of the items that were ever put in, and of those that were ever taken. Written by who is at the items; for all
    /// others hints.
    put: AtomicUsize,
    taken: AtomicUsize,
    /// As many slots as a power of two. The item of a number lies in the slot of its lower bits.
    slots: UnsafeCell<Box<[Option<T>]>>,
    /// Held by the one thief that is there.
    thieves: Mutex<()>,
}

// SAFETY: the items are touched by one thread at a time (see the module), each of which sees what the one before has done: who
// lowers its flag releases, and who finds it lowered acquires. So the items go from thread to thread, and are not shared.
unsafe impl<T: Send> Sync for SharedQueue<T> {}

/// The owner's end. It may move to another thread, but two threads cannot have it at once.
pub(super) struct PrivateQueue<T> {
    queue: Arc<SharedQueue<T>>,
    one_thread: PhantomData<Cell<()>>,
}

/// What other threads have of it.
pub(super) struct PrivateTheft<T>(Arc<SharedQueue<T>>);

impl<T> SharedQueue<T> {
    /// Lets the owner to the items, if the thief's flag has one of these values.
    #[inline]
    fn enter(&self, allowed: impl FnOnce(u8) -> bool) -> bool {
        self.owner.store(true, Ordering::Relaxed);
        light();
        let enters = allowed(self.thief.load(Ordering::Acquire));
        if !enters {
            self.leave();
        }
        enters
    }

    #[inline]
    fn leave(&self) {
        self.owner.store(false, Ordering::Release);
    }

    /// The number of items. Who reads the two numbers while others change them may see too few, or none.
    #[inline]
    fn len(&self) -> usize {
        let put = self.put.load(Ordering::Relaxed);
        let len = put.wrapping_sub(self.taken.load(Ordering::Relaxed));
        // More were taken than put: the first is the older.
        if len > isize::MAX as usize { 0 } else { len }
    }

    /// Takes the oldest item, if there is one. By who is at the items.
    #[inline]
    fn take_first(&self, slots: &mut [Option<T>]) -> Option<T> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken == self.put.load(Ordering::Relaxed) {
            return None;
        }
        let item = slots[taken & (slots.len() - 1)].take();
        self.taken.store(taken.wrapping_add(1), Ordering::Relaxed);
        item
    }
}

impl<T> PrivateQueue<T> {
    pub(super) fn new() -> Self {
        let queue = SharedQueue {
            owner: AtomicBool::new(false),
            thief: AtomicU8::new(if is_available() { AWAY } else { NOT_OPEN }),
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            slots: UnsafeCell::new(empty_slots(SLOTS)),
            thieves: Mutex::new(()),
        };
        PrivateQueue { queue: Arc::new(queue), one_thread: PhantomData }
    }

    pub(super) fn theft(&self) -> PrivateTheft<T> {
        PrivateTheft(Arc::clone(&self.queue))
    }

    /// To be called now and then. Opens the queue, if it has not been open and there is a barrier by now, and
    /// gives back half of its memory if it does not need a quarter. Seldom: a queue that is long and short by turns would always be on the move.
    pub(super) fn maintain(&self) {
        let thief = &self.queue.thief;
        // No thief changes this value, so it is the owner's.
        if thief.load(Ordering::Relaxed) == NOT_OPEN && is_available() {
            thief.store(AWAY, Ordering::Relaxed);
        }
        let queue = &*self.queue;
        if queue.enter(|thief| thief != HERE) {
            // SAFETY: as in `put`.
            let slots = unsafe { &mut *queue.slots.get() };
            if slots.len() > SLOTS && queue.len() <= slots.len() / 4 {
                self.resize(slots, slots.len() / 2);
            }
            queue.leave();
        }
    }

    /// Whether it will never be open again.
    pub(super) fn is_closed(&self) -> bool {
        self.queue.thief.load(Ordering::Acquire) == CLOSED
    }

    /// The number of items. Too many for a moment after a thief has taken some.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.queue
            .put
            .load(Ordering::Relaxed)
            .wrapping_sub(self.queue.taken.load(Ordering::Relaxed))
    }

    /// Puts an item in. Returns it if a thief is there, or if the queue is closed.
    #[inline]
    pub(super) fn put(&self, item: T) -> Result<(), T> {
        let queue = &*self.queue;
        if !queue.enter(|thief| thief == AWAY) {
            return Err(item);
        }
        // SAFETY: the owner is at the items, alone: its flag is up, and that of the thief was down after that.
        let slots = unsafe { &mut *queue.slots.get() };
        let put = queue.put.load(Ordering::Relaxed);
        if put.wrapping_sub(queue.taken.load(Ordering::Relaxed)) == slots.len() {
            self.resize(slots, 2 * slots.len());
        }
        // What was there has been taken: there is nothing to drop.
        std::mem::forget(slots[put & (slots.len() - 1)].replace(item));
        queue.put.store(put.wrapping_add(1), Ordering::Relaxed);
        queue.leave();
        Ok(())
    }

    /// Takes the oldest item. `None` if there is none, or if a thief is there.
    #[inline]
    pub(super) fn take(&self) -> Option<T> {
        let queue = &*self.queue;
        if !queue.enter(|thief| thief != HERE) {
            return None;
        }
        // SAFETY: as in `put`; who closes the queue does not come to the items, and nobody does after that.
        let slots = unsafe { &mut *queue.slots.get() };
        let item = queue.take_first(slots);
        queue.leave();
        item
    }

    /// Called by the owner while it is at the items, all of which have room in so many slots.
    #[cold]
    #[inline(never)]
    fn resize(&self, slots: &mut Box<[Option<T>]>, number: usize) {
        let mut resized = empty_slots(number);
        let (first, len) = (self.queue.taken.load(Ordering::Relaxed), self.len());
        for at in (0..len).map(|nth| first.wrapping_add(nth)) {
            resized[at & (number - 1)] = slots[at & (slots.len() - 1)].take();
        }
        *slots = resized;
    }
}

impl<T> PrivateTheft<T> {
    /// The number of items: a hint, which may be old.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of items that may be stolen: a hint, as above.
    pub(super) fn open_len(&self) -> usize {
        if self.0.thief.load(Ordering::Relaxed) == CLOSED { 0 } else { self.len() }
    }

    /// Takes the oldest of the items, as many as `share` says for a number of them. None if the queue is closed, or if another
    /// thief is there. Costs some microseconds.
    #[cold]
    pub(super) fn steal(&self, share: impl FnOnce(usize) -> usize) -> Vec<T> {
        self.steal_by(heavy, share)
    }

    /// Steals with this barrier, which says whether it was one.
    pub(super) fn steal_by(
        &self,
        heavy: impl FnOnce() -> bool,
        share: impl FnOnce(usize) -> usize,
    ) -> Vec<T> {
        let queue = &*self.0;
        if queue.len() == 0 {
            return Vec::new();
        }
        // Where there is another thief, this one looks elsewhere.
        let Some(_alone) = queue.thieves.try_lock() else { return Vec::new() };
        // One may have been here before, and this one would pay for nothing.
        if queue.len() == 0 || queue.thief.load(Ordering::Relaxed) != AWAY {
            return Vec::new();
        }
        queue.thief.store(HERE, Ordering::Relaxed);
        if !heavy() {
            queue.thief.store(CLOSED, Ordering::Release);
            return Vec::new();
        }
        while queue.owner.load(Ordering::Acquire) {
            yield_now();
        }
        let len = queue.len();
        // SAFETY: the thief is at the items, alone: its flag was up before the barrier, and the owner's is down after
        // it. An owner that comes now sees the thief.
        let slots = unsafe { &mut *queue.slots.get() };
        let stolen = (0..share(len).min(len)).filter_map(|_| queue.take_first(slots)).collect();
        queue.thief.store(AWAY, Ordering::Release);
        stolen
    }
}

fn empty_slots<T>(number: usize) -> Box<[Option<T>]> {
    (0..number).map(|_| None).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn all(len: usize) -> usize {
        len
    }

    fn taken<T>(queue: &PrivateQueue<T>) -> Vec<T> {
        std::iter::from_fn(|| queue.take()).collect()
    }

    fn open_queue() -> PrivateQueue<usize> {
        let queue = PrivateQueue::new();
        queue.queue.thief.store(AWAY, Ordering::Relaxed);
        queue
    }

    #[test]
    fn r4_a_private_queue_is_closed_when_the_system_refuses_its_barrier_and_its_items_stay_the_owners()
     {
        let (queue, barrier) = (open_queue(), || true);
        queue.queue.thief.store(NOT_OPEN, Ordering::Relaxed);
        assert_eq!((queue.put(0), queue.take()), (Err(0), None), "there is no barrier yet");
        queue.queue.thief.store(AWAY, Ordering::Relaxed);
        assert_eq!((queue.put(1), queue.put(2), queue.take()), (Ok(()), Ok(()), Some(1)));
        let theft = queue.theft();
        assert_eq!((theft.steal_by(barrier, all), queue.take()), (vec![2], None));
        assert_eq!((queue.put(3), queue.put(4)), (Ok(()), Ok(())));
        assert_eq!(theft.steal_by(|| false, all), [], "it is refused");
        assert_eq!((theft.steal_by(barrier, all), queue.len()), (vec![], 2));
        assert_eq!((queue.take(), queue.put(5), queue.take()), (Some(3), Err(5), Some(4)));
        queue.maintain();
        assert_eq!(queue.put(6), Err(6), "it is closed for ever");
    }

    #[test]
    fn r4_a_private_queue_opens_when_there_is_a_barrier() {
        crate::dispatcher::process_barrier::prepare();
        let queue = PrivateQueue::new();
        queue.queue.thief.store(NOT_OPEN, Ordering::Relaxed);
        queue.maintain();
        assert_eq!(queue.put(1).is_ok(), is_available());
    }

    /// Also where its numbers wrap round.
    #[test]
    fn r1_a_private_queue_grows_keeps_its_order_and_gives_memory_back() {
        let queue = open_queue();
        for number in [&queue.queue.put, &queue.queue.taken] {
            number.store(usize::MAX - 2, Ordering::Relaxed);
        }
        // SAFETY: no thief is there.
        let slots = || unsafe { &*queue.queue.slots.get() }.len();
        (0..3).for_each(|item| queue.put(item).unwrap());
        assert_eq!((queue.take(), slots()), (Some(0), 2 * SLOTS));
        (3..100).for_each(|item| queue.put(item).unwrap());
        assert_eq!((queue.len(), slots()), (99, 128));
        let stolen = queue.theft().steal_by(|| true, |len| len - 32);
        assert!(stolen.into_iter().eq(1..68));
        queue.maintain();
        assert_eq!((queue.len(), slots()), (32, 64));
        queue.maintain();
        assert_eq!(slots(), 64, "it is half full");
        assert!(taken(&queue).into_iter().eq(68..100));
        (0..9).for_each(|_| queue.maintain());
        assert_eq!((slots(), queue.len()), (SLOTS, 0));
    }

    #[test]
    fn items_that_nobody_has_taken_are_dropped_with_their_queue() {
        let item = Arc::new(());
        let queue = PrivateQueue::new();
        queue.queue.thief.store(AWAY, Ordering::Relaxed);
        (0..5).for_each(|_| queue.put(Arc::clone(&item)).unwrap());
        assert_eq!(Arc::strong_count(&item), 6);
        drop(queue);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
