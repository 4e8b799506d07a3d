//! A place for the one process that a worker runs next, which costs its owner no atomic read-modify-write.
//!
//! ```text
//!   owner:  raise `owner` ── light barrier ── thief there? ── no: the item is mine ──► lower `owner`
//!   thief:  raise `thief` ── heavy barrier ── wait until `owner` is down ── take the item ──► lower `thief`
//! ```
//!
//! One of the two sees the other's flag, because both have a barrier between their own flag and the look at the other's. The
//! owner that sees the thief leaves the item to it and goes on; the thief that sees the owner waits for it, a dozen
//! instructions. So never are both at the item, and neither gives up for the other: an item that the owner leaves is
//! taken by the thief.
//!
//! The owner's barrier is none for the processor ([`super::process_barrier`]); the thief pays for both. It comes for a process behind
//! a long turn only. A thread that the system interrupts while its flag is up keeps the other from the item for as long.
//! Where the system has no such barrier the place is closed. If it refuses one that it had, the thief
//! closes the place and leaves: nothing is put in, and what lies there is the owner's.
//!
//! | `thief` | owner puts | owner takes | a thief takes |
//! |---|---|---|---|
//! | `NOT_OPEN` | no | there is nothing | no; the owner makes it `AWAY` once there is a barrier |
//! | `AWAY` | yes | yes | raises it to `HERE` |
//! | `HERE` | no | no | waits for the other thief |
//! | `CLOSED` | no | yes | no, never again |

#![allow(
    unsafe_code,
    reason = "an atomic operation less for each message, a fifth of its time; argued below, docs/decisions.md"
)]

use super::process_barrier::{heavy, is_available, light};
use crate::sync::{AtomicBool, AtomicU8, Mutex, Ordering, UnsafeCell, yield_now};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

const AWAY: u8 = 0;
const HERE: u8 = 1;
const CLOSED: u8 = 2;
const NOT_OPEN: u8 = 3;

/// On cache lines of its own: the owner writes there at each message.
#[repr(align(128))]
struct SharedPlace<T> {
    /// Whether the owner is at the item.
    owner: AtomicBool,
    thief: AtomicU8,
    /// Whether there is an item. Written by who is at it; for all others a hint.
    full: AtomicBool,
    item: UnsafeCell<Option<T>>,
    /// Thieves come one at a time.
    thieves: Mutex<()>,
}

// SAFETY: the item is touched by one thread at a time (see the module), each of which sees what the one before has done: who
// lowers its flag releases, and who finds it lowered acquires. So the item goes from thread to thread, and is not shared.
unsafe impl<T: Send> Sync for SharedPlace<T> {}

/// The owner's end. It may move to another thread, but two threads cannot have it at once.
pub(super) struct NextPlace<T> {
    place: Arc<SharedPlace<T>>,
    one_thread: PhantomData<Cell<()>>,
}

/// What other threads have of it.
pub(super) struct NextTheft<T>(Arc<SharedPlace<T>>);

impl<T> SharedPlace<T> {
    /// Lets the owner to the item, if the thief's flag has one of these values.
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

    fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }
}

impl<T> NextPlace<T> {
    pub(super) fn new() -> Self {
        let place = SharedPlace {
            owner: AtomicBool::new(false),
            thief: AtomicU8::new(if is_available() { AWAY } else { NOT_OPEN }),
            full: AtomicBool::new(false),
            item: UnsafeCell::new(None),
            thieves: Mutex::new(()),
        };
        NextPlace { place: Arc::new(place), one_thread: PhantomData }
    }

    pub(super) fn theft(&self) -> NextTheft<T> {
        NextTheft(Arc::clone(&self.place))
    }

    /// Opens the place, if it has not been open and there is a barrier by now.
    pub(super) fn open(&self) {
        let thief = &self.place.thief;
        // No thief changes this value, so it is the owner's.
        if thief.load(Ordering::Relaxed) == NOT_OPEN && is_available() {
            thief.store(AWAY, Ordering::Relaxed);
        }
    }

    /// Whether there is an item. True also for a moment after a thief has taken it.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.place.is_full()
    }

    /// Puts an item in. Returns it if there is one, if a thief is there, or if the place is closed.
    #[inline]
    pub(super) fn put(&self, item: T) -> Result<(), T> {
        let place = &*self.place;
        if place.is_full() || !place.enter(|thief| thief == AWAY) {
            return Err(item);
        }
        // SAFETY: the owner is at the item, alone: its flag is up, and that of the thief was down after that.
        unsafe { *place.item.get() = Some(item) };
        place.full.store(true, Ordering::Relaxed);
        place.leave();
        Ok(())
    }

    /// Takes the item. `None` if there is none, or if a thief takes it.
    #[inline]
    pub(super) fn take(&self) -> Option<T> {
        let place = &*self.place;
        if !place.is_full() || !place.enter(|thief| thief != HERE) {
            return None;
        }
        // SAFETY: as in `put`; who closes the place does not come to the item, and nobody does after that.
        let item = unsafe { (*place.item.get()).take() };
        place.full.store(false, Ordering::Relaxed);
        place.leave();
        item
    }
}

impl<T> NextTheft<T> {
    /// Whether there is an item: a hint, which may be old.
    pub(super) fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Takes the item, if there is one and the place is not closed. Costs some microseconds.
    #[cold]
    pub(super) fn steal(&self) -> Option<T> {
        self.steal_by(heavy)
    }

    /// Steals with this barrier, which says whether it was one.
    fn steal_by(&self, heavy: impl FnOnce() -> bool) -> Option<T> {
        let place = &*self.0;
        if !place.is_full() {
            return None;
        }
        let _alone = place.thieves.lock();
        // Another thief may have been here, and this one would pay for nothing.
        if !place.is_full() || place.thief.load(Ordering::Relaxed) != AWAY {
            return None;
        }
        place.thief.store(HERE, Ordering::Relaxed);
        if !heavy() {
            place.thief.store(CLOSED, Ordering::Release);
            return None;
        }
        while place.owner.load(Ordering::Acquire) {
            yield_now();
        }
        // SAFETY: the thief is at the item, alone: its flag was up before the barrier, and the owner's is down after
        // it. An owner that comes now sees the thief.
        let item = unsafe { (*place.item.get()).take() };
        place.full.store(false, Ordering::Relaxed);
        place.thief.store(AWAY, Ordering::Release);
        item
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn r4_a_place_is_closed_when_the_system_refuses_its_barrier_and_its_item_stays_the_owners() {
        let (next, barrier) = (NextPlace::new(), || true);
        next.place.thief.store(NOT_OPEN, Ordering::Relaxed);
        assert_eq!((next.put(0), next.take()), (Err(0), None), "there is no barrier yet");
        next.place.thief.store(AWAY, Ordering::Relaxed);
        assert_eq!((next.put(1), next.put(2), next.take()), (Ok(()), Err(2), Some(1)));
        let theft = next.theft();
        assert_eq!((next.put(3), theft.steal_by(barrier), next.take()), (Ok(()), Some(3), None));
        assert_eq!((next.put(4), theft.steal_by(|| false)), (Ok(()), None), "it is refused");
        assert_eq!((theft.steal_by(barrier), next.take(), next.put(5)), (None, Some(4), Err(5)));
        next.open();
        assert_eq!(next.put(6), Err(6), "it is closed for ever");
    }

    #[test]
    fn r4_a_place_opens_when_there_is_a_barrier() {
        crate::dispatcher::process_barrier::prepare();
        let next = NextPlace::new();
        next.place.thief.store(NOT_OPEN, Ordering::Relaxed);
        next.open();
        assert_eq!(next.put(1).is_ok(), is_available());
    }
}
