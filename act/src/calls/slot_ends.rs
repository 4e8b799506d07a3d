//! The memory of a slot, and its two ends: one fills it, one waits for it.
//!
//! ```text
//!   FillingEnd ─────────► Slot ◄───────── WaitingEnd         open: both touch the contents, under the lock
//!        │ settle          ▲ ▲                │ into_settled
//!        └────────────     │ └────────── SettledEnd          settled: this end alone owns the contents, and
//!                          └──────────────────┘              both handles
//!                                             │ reopen, and two ends again
//! ```
//!
//! The filling end settles the slot when the value is in it, and leaves its handle on the memory behind. So the
//! waiting end can take the value, prepare the slot for its next call and give a handle away with plain loads and
//! stores. A lock that is taken for each step, and a handle that is cloned for each call, are four atomic
//! read-modify-writes more (docs/decisions.md, "A slot that is settled").

#![allow(
    unsafe_code,
    reason = "four atomic operations less for each call; argued below, docs/decisions.md"
)]

use crate::settle_lock::{SettleGuard, SettleLock};
use crate::sync::{AtomicU8, AtomicU64, Ordering, UnsafeCell, fence};
use std::any::Any;
use std::mem::{ManuallyDrop, forget};
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;

pub(super) struct Slot<S> {
    lock: SettleLock,
    /// Whether the token was passed on, was lent, or has a deadline: see [`super::slot`].
    pub(super) flags: AtomicU8,
    /// Until when the waiter waits, in nanoseconds, if `flags` says so.
    pub(super) deadline: AtomicU64,
    contents: UnsafeCell<S>,
}

// SAFETY: who may touch the contents is one thread at a time: who has locked the open slot, or the settled end. So
// they go from thread to thread, and are not shared.
unsafe impl<S: Send> Sync for Slot<S> {}

impl<S> Slot<S> {
    /// Locks the contents; `None` if the slot is settled.
    #[inline]
    pub(super) fn lock(&self) -> Option<LockedSlot<'_, S>> {
        let held = self.lock.lock()?;
        Some(LockedSlot { contents: &self.contents, held })
    }
}

/// The contents, locked.
pub(super) struct LockedSlot<'a, S> {
    contents: &'a UnsafeCell<S>,
    held: SettleGuard<'a>,
}

impl<S> Deref for LockedSlot<'_, S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        // SAFETY: this value holds the lock, so the slot is not settled, and nobody else touches the contents.
        unsafe { &*self.contents.get() }
    }
}

impl<S> DerefMut for LockedSlot<'_, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut S {
        // SAFETY: as above.
        unsafe { &mut *self.contents.get() }
    }
}

/// The end that fills the slot.
pub(super) struct FillingEnd<S>(Arc<Slot<S>>);

/// The end that waits. Once the slot is settled it owns the contents, and the handle of the other end too. Before it
/// is dropped from an open slot, the contents must say that to fill it fails: a handle that is left to nobody is
/// leaked.
pub(super) struct WaitingEnd<S>(Arc<Slot<S>>);

/// The waiting end of a settled slot: it owns the contents, and both handles.
pub(super) struct SettledEnd<S>(WaitingEnd<S>);

/// The same, without its type.
pub(super) struct AnySettled(Option<Arc<dyn Any + Send + Sync>>);

/// Makes a new slot.
pub(super) fn slot_of<S>(contents: S) -> (FillingEnd<S>, WaitingEnd<S>) {
    let slot = Arc::new(Slot {
        lock: SettleLock::new(),
        flags: AtomicU8::new(0),
        deadline: AtomicU64::new(0),
        contents: UnsafeCell::new(contents),
    });
    (FillingEnd(Arc::clone(&slot)), WaitingEnd(slot))
}

impl<S> FillingEnd<S> {
    /// A second end for the same slot. The first of the two that settles it does.
    #[cfg(feature = "serde")]
    pub(super) fn second(&self) -> Self {
        FillingEnd(Arc::clone(&self.0))
    }

    #[inline]
    pub(super) fn slot(&self) -> &Slot<S> {
        &self.0
    }

    /// Has `fill` change the contents; it gets none if the slot is settled. If it succeeds the slot is settled,
    /// and belongs to the waiting end from then on.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn settle<R, E>(
        self,
        fill: impl FnOnce(Option<&mut S>) -> Result<R, E>,
    ) -> Result<R, E> {
        let filled = {
            let Some(mut locked) = self.0.lock() else { return fill(None) };
            let filled = fill(Some(&mut locked))?;
            locked.held.settle();
            filled
        };
        // The waiting end has this handle now, and may have freed the slot.
        forget(self);
        Ok(filled)
    }
}

impl<S> WaitingEnd<S> {
    #[inline]
    pub(super) fn slot(&self) -> &Slot<S> {
        &self.0
    }

    /// The contents, if the slot is settled.
    #[inline]
    pub(super) fn settled(&mut self) -> Option<&mut S> {
        if !self.0.lock.is_settled() {
            return None;
        }
        // SAFETY: the filling end does not touch the contents of a settled slot, and this is the only waiting end.
        Some(unsafe { &mut *self.0.contents.get() })
    }

    /// The same end, if the slot is settled.
    #[inline]
    pub(super) fn into_settled(mut self) -> Option<SettledEnd<S>> {
        self.settled()?;
        Some(SettledEnd(self))
    }
}

impl<S> Drop for WaitingEnd<S> {
    #[inline]
    fn drop(&mut self) {
        if self.0.lock.is_settled() {
            drop_left(&self.0);
        }
    }
}

/// Drops the handle that the filling end of a settled slot has left to the owner of this one.
#[cold]
fn drop_left<S: ?Sized>(own: &Arc<S>) {
    // SAFETY: the filling end did not drop it when it settled the slot, and whoever calls this owns it, and is dropped.
    unsafe { Arc::decrement_strong_count(Arc::as_ptr(own)) };
}

impl<S> SettledEnd<S> {
    #[inline]
    pub(super) fn contents(&mut self) -> &mut S {
        // SAFETY: the filling end does not touch the contents of a settled slot, and this is the only waiting end.
        unsafe { &mut *self.0.0.contents.get() }
    }

    /// Opens the slot again, for another value. `prepare` gets the contents as they were left. Returns `None` if
    /// there is a third handle, as that of a token that was lent.
    #[inline]
    pub(super) fn reopen(
        mut self,
        prepare: impl FnOnce(&mut S),
    ) -> Option<(FillingEnd<S>, WaitingEnd<S>)> {
        if Arc::strong_count(&self.0.0) != 2 {
            return None;
        }
        // What a third handle did to the flags was before it was dropped.
        fence(Ordering::Acquire);
        prepare(self.contents());
        let SettledEnd(end) = self;
        end.0.flags.store(0, Ordering::Relaxed);
        end.0.lock.reopen();
        // SAFETY: the handle that the filling end left when it settled the slot. The settled end owned it; the end of
        // an open slot, which it is now, does not.
        let left = unsafe { Arc::from_raw(Arc::as_ptr(&end.0)) };
        Some((FillingEnd(left), end))
    }
}

impl AnySettled {
    #[inline]
    pub(super) fn new<S: Send + 'static>(end: SettledEnd<S>) -> Self {
        let end = ManuallyDrop::new(end);
        // SAFETY: the handle is moved out of an end that is neither used after this nor dropped.
        let slot = unsafe { ptr::read(&raw const end.0.0) };
        AnySettled(Some(slot))
    }

    /// The end again, or this if its slot is of another type.
    #[inline]
    pub(super) fn downcast<S: Send + 'static>(mut self) -> Result<SettledEnd<S>, Self> {
        match self.0.take().map(Arc::downcast) {
            Some(Ok(slot)) => {
                forget(self);
                Ok(SettledEnd(WaitingEnd(slot)))
            }
            Some(Err(other)) => {
                self.0 = Some(other);
                Err(self)
            }
            None => Err(self),
        }
    }
}

impl Drop for AnySettled {
    fn drop(&mut self) {
        if let Some(slot) = &self.0 {
            drop_left(slot);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Weak;

    type Contents = Arc<()>;

    /// The ends of an open slot, and what tells whether its contents are there.
    fn open() -> (FillingEnd<Contents>, WaitingEnd<Contents>, Weak<()>) {
        let contents = Arc::new(());
        let seen = Arc::downgrade(&contents);
        let (fills, waits) = slot_of(contents);
        (fills, waits, seen)
    }

    fn settle(fills: FillingEnd<Contents>) -> Result<(), ()> {
        fills.settle(|contents| contents.map(|_| ()).ok_or(()))
    }

    fn settled() -> (SettledEnd<Contents>, Weak<()>) {
        let (fills, waits, seen) = open();
        assert_eq!(settle(fills), Ok(()));
        (waits.into_settled().expect("it is settled"), seen)
    }

    #[test]
    fn a_slot_is_freed_by_its_last_end() {
        let (fills, waits, seen) = open();
        drop(fills);
        assert_eq!(seen.strong_count(), 1);
        drop(waits);
        assert_eq!(seen.strong_count(), 0, "open");

        let (fills, waits, seen) = open();
        assert_eq!(settle(fills), Ok(()));
        assert_eq!(seen.strong_count(), 1);
        drop(waits);
        assert_eq!(seen.strong_count(), 0, "settled");

        let (end, seen) = settled();
        drop(end);
        assert_eq!(seen.strong_count(), 0, "a settled end");

        let (end, seen) = settled();
        drop(AnySettled::new(end));
        assert_eq!(seen.strong_count(), 0, "without its type");
    }

    #[test]
    fn a_slot_is_settled_by_its_filling_end_alone_and_opened_again() {
        let (fills, mut waits, seen) = open();
        assert!(waits.settled().is_none());
        assert_eq!(fills.settle(|_| Err::<(), _>(7)), Err(7), "it was not filled");
        assert!(waits.settled().is_none());
        assert!(waits.into_settled().is_none());
        assert_eq!(seen.strong_count(), 0);

        let (end, seen) = settled();
        let (fills, mut waits) = end.reopen(|_| ()).expect("there are two handles");
        assert!(waits.settled().is_none());
        assert!(waits.slot().lock().is_some());
        assert_eq!(settle(fills), Ok(()));
        assert!(waits.slot().lock().is_none());
        assert!(waits.settled().is_some());
        drop(waits);
        assert_eq!(seen.strong_count(), 0);
    }

    #[test]
    fn a_settled_end_has_its_type_again_and_no_other() {
        let (end, seen) = settled();
        let other = AnySettled::new(end).downcast::<u8>().err().expect("it is no slot of bytes");
        let mut end = other.downcast::<Contents>().ok().expect("its own type");
        assert_eq!(Arc::strong_count(end.contents()), 1);
        drop(end);
        assert_eq!(seen.strong_count(), 0);
    }

    #[test]
    #[cfg(feature = "serde")]
    fn a_slot_with_a_third_handle_is_settled_once_and_not_opened_again() {
        let (fills, waits, seen) = open();
        let third = fills.second();
        assert_eq!(settle(fills), Ok(()));
        assert_eq!(settle(third), Err(()));
        drop(waits);
        assert_eq!(seen.strong_count(), 0);

        let (fills, waits, seen) = open();
        let third = fills.second();
        assert_eq!(settle(fills), Ok(()));
        assert!(waits.into_settled().expect("it is settled").reopen(|_| ()).is_none());
        assert_eq!(seen.strong_count(), 1);
        drop(third);
        assert_eq!(seen.strong_count(), 0);
    }
}
