//! Slots: a slot passes one value to one waiter. Replies, the result of `init` and the end of
//! a process use them.

use crate::calls::slot_cache;
use crate::in_transit::InTransit;
use crate::lock::{Lock, LockGuard};
use crate::process::crash::contain;
use crate::process::current;
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use krarup_gen::Timestamp;
use std::mem::{forget, replace};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Runs if a value arrives after the waiter has closed the slot.
type Late = Box<dyn FnOnce() + Send>;

enum SlotState<T> {
    /// No value has arrived; holds the waker of the waiter, if it was polled.
    Empty(Option<Waker>),
    Full(T),
    /// The value was taken, or the waiter was dropped. Holds the function to run if a value
    /// still arrives.
    Closed(Option<Late>),
    /// The sender was dropped without a value.
    Dropped,
}

impl<T> Default for SlotState<T> {
    fn default() -> Self {
        SlotState::Empty(None)
    }
}

/// The token was passed on to another process of this node.
const PASSED_ON: u8 = 1;
/// The token was lent: another sender fills the slot, and the token has nothing to do.
#[cfg(feature = "serde")]
const LENT: u8 = 2;
/// The waiter has said until when it waits.
const TIMED: u8 = 4;

struct Slot<T> {
    state: Lock<SlotState<T>>,
    /// Whether the token was passed on: another process than the callee fills the slot. See
    /// [`PASSED_ON`], [`LENT`] and [`TIMED`].
    passed_on: AtomicU8,
    /// Until when the waiter waits, in nanoseconds, if `passed_on` says so.
    deadline: AtomicU64,
    /// The value was taken. Only the waiter uses this flag.
    done: AtomicBool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot {
            state: Lock::new(SlotState::default()),
            passed_on: AtomicU8::new(0),
            deadline: AtomicU64::new(0),
            done: AtomicBool::new(false),
        }
    }
}

/// The end that fills the slot.
pub(crate) struct SlotSender<T>(Option<Arc<Slot<T>>>);

/// The end that waits; `None` after it has given up.
pub(crate) struct SlotReceiver<T>(Option<Arc<Slot<T>>>);

pub(crate) fn slot<T>() -> (SlotSender<T>, SlotReceiver<T>) {
    let slot = Arc::<Slot<T>>::default();
    (SlotSender(Some(Arc::clone(&slot))), SlotReceiver(Some(slot)))
}

/// Returns a slot for a call, from the cache if it has one. A waiter that is known from the
/// start need not be polled first.
#[inline]
pub(crate) fn slot_for<T: Send + 'static>(
    waiter: Option<Waker>,
) -> (SlotSender<T>, SlotReceiver<T>) {
    // Made in place and then filled in, so that it is not copied.
    let slot = slot_cache::take::<Slot<T>>().unwrap_or_default();
    slot.passed_on.store(0, Ordering::Relaxed);
    slot.done.store(false, Ordering::Relaxed);
    // The old state holds no waker and no value, so there is nothing to drop.
    forget(replace(&mut *slot.state.lock(), SlotState::Empty(waiter)));
    (SlotSender(Some(Arc::clone(&slot))), SlotReceiver(Some(slot)))
}

impl<T> SlotSender<T> {
    /// Takes the sender out of one that is about to be dropped.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        SlotSender(self.0.take())
    }

    /// Fills the slot; returns the value if no waiter is left.
    pub(crate) fn send(self, value: T) -> Result<(), T> {
        self.settle(value).map_err(|(value, _)| value)
    }

    /// Records that another process than the callee will fill the slot, and wakes the waiter
    /// so that it updates its edge in the wait graph.
    pub(crate) fn pass_on(&self) {
        if let Some(slot) = &self.0 {
            slot.passed_on.fetch_or(PASSED_ON, Ordering::Relaxed);
            slot.wake_waiter();
        }
    }

    /// Records until when the waiter waits.
    pub(crate) fn set_deadline(&self, deadline: Timestamp) {
        if let Some(slot) = &self.0 {
            slot.deadline.store(deadline.as_nanos(), Ordering::Relaxed);
            slot.passed_on.fetch_or(TIMED, Ordering::Release);
        }
    }

    /// Until when the waiter waits, if it has said so.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let slot = self.0.as_ref()?;
        let is_timed = slot.passed_on.load(Ordering::Acquire) & TIMED != 0;
        is_timed.then(|| Timestamp::from_nanos(slot.deadline.load(Ordering::Relaxed)))
    }

    /// Returns a second sender for the slot. This one has nothing to do from now on.
    #[cfg(feature = "serde")]
    pub(crate) fn lend(&self) -> Self {
        if let Some(slot) = &self.0 {
            slot.passed_on.fetch_or(LENT, Ordering::Relaxed);
        }
        SlotSender(self.0.clone())
    }

    /// Ends a loan, without filling the slot: the first sender has its duty again.
    #[cfg(feature = "serde")]
    pub(crate) fn give_back(mut self) {
        if let Some(slot) = self.0.take() {
            slot.passed_on.fetch_or(PASSED_ON, Ordering::Relaxed);
            slot.passed_on.fetch_and(!LENT, Ordering::Relaxed);
        }
    }

    /// Takes the slot out if it was lent; returns whether it was.
    #[cfg(feature = "serde")]
    pub(crate) fn forget_if_lent(&mut self) -> bool {
        let lent =
            self.0.as_ref().is_some_and(|slot| slot.passed_on.load(Ordering::Relaxed) & LENT != 0);
        if lent {
            self.0 = None;
        }
        lent
    }

    /// Whether a waiter is left.
    pub(crate) fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| matches!(*slot.state.lock(), SlotState::Empty(_)))
    }

    /// As [`SlotSender::send`], and runs the function that the waiter left for a late value.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[inline(always)]
    pub(crate) fn send_or_late(self, value: T) {
        if let Err((value, late)) = self.settle(value) {
            // The function runs first: the value is a user's, and its destructor may panic.
            if let Some(late) = late {
                late();
            }
            drop(value);
        }
    }

    /// As [`SlotSender::send_or_late`], but returns the value if no waiter is left.
    pub(crate) fn try_send(self, value: T) -> Result<(), T> {
        self.settle(value).map_err(|(value, late)| {
            late.into_iter().for_each(|late| late());
            value
        })
    }

    /// Fills the slot, or returns the value with the function that the waiter left for it.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[inline(always)]
    fn settle(mut self, value: T) -> Result<(), (T, Option<Late>)> {
        let slot = self.0.take();
        // The sender is empty now, so there is nothing to drop.
        forget(self);
        let Some(slot) = slot else { return Err((value, None)) };
        // Nothing unwinds before the value is in the slot.
        let value = InTransit::new(value);
        let mut state = slot.state.lock();
        let SlotState::Empty(waiter) = &mut *state else {
            let late = late(state);
            return Err((value.arrive(), late));
        };
        let waiter = waiter.take();
        // The old state is `Empty(None)`, so there is nothing to drop.
        forget(replace(&mut *state, SlotState::Full(value.arrive())));
        drop(state);
        // Release this handle before the waiter wakes.
        drop(slot);
        if let Some(waker) = waiter {
            wake(waker);
        }
        Ok(())
    }
}

/// Takes the function that the waiter left for a late value.
#[cold]
fn late<T>(mut state: LockGuard<'_, SlotState<T>>) -> Option<Late> {
    match &mut *state {
        SlotState::Closed(late) => late.take(),
        _ => None,
    }
}

impl<T> Drop for SlotSender<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.abandon();
        }
    }
}

impl<T> Slot<T> {
    /// The sender is dropped without a value.
    #[cold]
    fn abandon(self: Arc<Self>) {
        let mut state = self.state.lock();
        let SlotState::Empty(waiter) = &mut *state else { return };
        let waiter = waiter.take();
        *state = SlotState::Dropped;
        drop(state);
        if let Some(waker) = waiter {
            wake(waker);
        }
    }
}

/// Wakes the waiter. The waker may be user code and panic; that must not keep other waiters
/// from being woken.
fn wake(waker: Waker) {
    let _ = contain(|| waker.wake());
}

impl<T> Slot<T> {
    /// Has the waiter polled again.
    fn wake_waiter(&self) {
        // The waker is taken under the lock, not cloned; the next poll stores one again.
        let waker = match &mut *self.state.lock() {
            SlotState::Empty(waker) => waker.take(),
            _ => None,
        };
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

impl<T> SlotReceiver<T> {
    /// Whether another process than the callee will fill the slot.
    #[inline]
    pub(crate) fn is_passed_on(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| slot.passed_on.load(Ordering::Relaxed) & !TIMED != 0)
    }

    /// A number that no other slot has while this one is waited for.
    #[cold]
    pub(crate) fn slot(&self) -> usize {
        self.0.as_ref().map_or(0, |slot| Arc::as_ptr(slot).addr())
    }

    /// Stops waiting, and returns the value if it arrived in that moment. `late` runs if a
    /// value arrives afterwards.
    pub(crate) fn close(&mut self, late: impl FnOnce() + Send + 'static) -> Option<T> {
        let slot = self.0.take()?;
        let before = replace(&mut *slot.state.lock(), SlotState::Closed(Some(Box::new(late))));
        match before {
            SlotState::Full(value) => Some(value),
            _ => None,
        }
    }
}

impl<T> Drop for SlotReceiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.leave();
        }
    }
}

impl<T> Slot<T> {
    /// The waiter is dropped.
    #[cold]
    fn leave(self: Arc<Self>) {
        let before = replace(&mut *self.state.lock(), SlotState::Closed(None));
        // The old state may hold a user's value or waker; it is dropped outside the lock.
        drop(before);
    }
}

impl<T: Send + 'static> SlotReceiver<T> {
    /// Stops waiting; returns whether the receiver was still waiting. If the value was taken
    /// the slot goes to the cache, because its sender does not use it any more.
    #[inline]
    pub(crate) fn finish(&mut self) -> bool {
        let Some(slot) = &self.0 else { return false };
        if !slot.done.load(Ordering::Relaxed) {
            return true;
        }
        if let Some(slot) = self.0.take() {
            slot_cache::keep(slot);
        }
        false
    }

    /// As awaiting it, but records no edge in the wait graph: the caller does (rule C5).
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[inline(always)]
    pub(crate) fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(slot) = &self.0 else { return Poll::Ready(None) };
        let mut state = slot.state.lock();
        if !matches!(&*state, SlotState::Full(_)) {
            match slot.wait(state, cx.waker()) {
                SlotPoll::Ended(changed) => state = changed,
                SlotPoll::Pending => return Poll::Pending,
                SlotPoll::Futile => return Poll::Ready(None),
            }
        }
        let outcome = replace(&mut *state, SlotState::Closed(None));
        drop(state);
        slot.done.store(true, Ordering::Relaxed);
        match outcome {
            SlotState::Full(value) => Poll::Ready(Some(value)),
            // Not reached, and nothing to drop. A drop here would force the value from registers
            // into memory.
            other => {
                forget(other);
                Poll::Ready(None)
            }
        }
    }
}

/// The result of a poll that found no value at first.
enum SlotPoll<'a, T> {
    /// The value has arrived.
    Ended(LockGuard<'a, SlotState<T>>),
    /// The waiter will be woken.
    Pending,
    /// No value will ever arrive.
    Futile,
}

impl<T> Slot<T> {
    /// Stores the waker, unless a value has arrived.
    #[cold]
    fn wait<'a>(
        &'a self,
        mut state: LockGuard<'a, SlotState<T>>,
        waker: &Waker,
    ) -> SlotPoll<'a, T> {
        if let SlotState::Empty(waiter) = &*state {
            if waiter.as_ref().is_some_and(|waiter| waiter.will_wake(waker)) {
                return SlotPoll::Pending;
            }
            // A waker may be user code: it is cloned and dropped outside the lock.
            drop(state);
            let waker = waker.clone();
            state = self.state.lock();
            if let SlotState::Empty(place) = &mut *state {
                let before = place.replace(waker);
                drop(state);
                drop(before);
                return SlotPoll::Pending;
            }
            drop(state);
            drop(waker);
            state = self.state.lock();
        }
        match &*state {
            SlotState::Full(_) => SlotPoll::Ended(state),
            _ => SlotPoll::Futile,
        }
    }
}

impl<T: Send + 'static> Future for SlotReceiver<T> {
    /// `None` if the sender was dropped without a value.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let value = self.poll_value(cx);
        if value.is_pending() {
            current::note_other_wait();
        } else {
            self.0 = None;
        }
        value
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
