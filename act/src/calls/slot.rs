//! Slots: a slot passes one value to one waiter. Replies, the result of `init` and the end of
//! a process use them.

use crate::calls::slot_cache;
use crate::calls::slot_ends::{FillingEnd, Slot, WaitingEnd, slot_of};
use crate::in_transit::InTransit;
use crate::process::crash::ignore;
use crate::process::current;
use crate::sync::Ordering;
use krarup_gen::Timestamp;
use std::mem::{forget, replace};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Runs if a value arrives after the waiter has closed the slot.
type Late = Box<dyn FnOnce() + Send>;

pub(super) enum SlotState<T> {
    /// No value has arrived; holds the waker of the waiter, if it was polled.
    Empty(Option<Waker>),
    Full(T),
    /// The value was taken, or the waiter was dropped. Holds the function to run if a value
    /// still arrives.
    Closed(Option<Late>),
    /// The sender was dropped without a value.
    Dropped,
}

// The flags of a slot.

/// The token was passed on to another process of this node.
const PASSED_ON: u8 = 1;
/// The token was lent: another sender fills the slot, and the token has nothing to do.
#[cfg(feature = "serde")]
const LENT: u8 = 2;
/// The waiter has said until when it waits.
const TIMED: u8 = 4;

/// The end that fills the slot.
pub(crate) struct SlotSender<T>(Option<FillingEnd<SlotState<T>>>);

/// The end that waits; `None` after it has given up.
pub(crate) struct SlotReceiver<T>(Option<WaitingEnd<SlotState<T>>>);

pub(crate) fn slot<T>() -> (SlotSender<T>, SlotReceiver<T>) {
    new_slot(None)
}

fn new_slot<T>(waiter: Option<Waker>) -> (SlotSender<T>, SlotReceiver<T>) {
    let (fills, waits) = slot_of(SlotState::Empty(waiter));
    (SlotSender(Some(fills)), SlotReceiver(Some(waits)))
}

/// Returns a slot for a call, from the cache if it has one. A waiter that is known from the
/// start need not be polled first.
#[inline]
pub(crate) fn slot_for<T: Send + 'static>(
    waiter: Option<Waker>,
) -> (SlotSender<T>, SlotReceiver<T>) {
    let mut waiter = waiter;
    // The old state holds no waker and no value, so there is nothing to drop.
    let prepare = |state: &mut _| forget(replace(state, SlotState::Empty(waiter.take())));
    if let Some((fills, waits)) = slot_cache::take().and_then(|end| end.reopen(prepare)) {
        return (SlotSender(Some(fills)), SlotReceiver(Some(waits)));
    }
    new_slot(waiter)
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
        if let Some(end) = &self.0 {
            end.slot().flags.fetch_or(PASSED_ON, Ordering::Relaxed);
            end.slot().wake_waiter();
        }
    }

    /// Records until when the waiter waits.
    pub(crate) fn set_deadline(&self, deadline: Timestamp) {
        if let Some(end) = &self.0 {
            end.slot().deadline.store(deadline.as_nanos(), Ordering::Relaxed);
            end.slot().flags.fetch_or(TIMED, Ordering::Release);
        }
    }

    /// Until when the waiter waits, if it has said so.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let slot = self.0.as_ref()?.slot();
        let is_timed = slot.flags.load(Ordering::Acquire) & TIMED != 0;
        is_timed.then(|| Timestamp::from_nanos(slot.deadline.load(Ordering::Relaxed)))
    }

    /// Returns a second sender for the slot. This one has nothing to do from now on.
    #[cfg(feature = "serde")]
    pub(crate) fn lend(&self) -> Self {
        if let Some(end) = &self.0 {
            end.slot().flags.fetch_or(LENT, Ordering::Relaxed);
        }
        SlotSender(self.0.as_ref().map(FillingEnd::second))
    }

    /// Ends a loan, without filling the slot: the first sender has its duty again.
    #[cfg(feature = "serde")]
    pub(crate) fn give_back(mut self) {
        if let Some(end) = self.0.take() {
            end.slot().flags.fetch_or(PASSED_ON, Ordering::Relaxed);
            end.slot().flags.fetch_and(!LENT, Ordering::Relaxed);
        }
    }

    /// Takes the slot out if it was lent; returns whether it was.
    #[cfg(feature = "serde")]
    pub(crate) fn forget_if_lent(&mut self) -> bool {
        let is_lent = |end: &FillingEnd<_>| end.slot().flags.load(Ordering::Relaxed) & LENT != 0;
        let lent = self.0.as_ref().is_some_and(is_lent);
        if lent {
            self.0 = None;
        }
        lent
    }

    /// Whether a waiter is left.
    pub(crate) fn is_awaited(&self) -> bool {
        let state = self.0.as_ref().and_then(|end| end.slot().lock());
        state.is_some_and(|state| matches!(*state, SlotState::Empty(_)))
    }

    /// As [`SlotSender::send`], and runs the function that the waiter left for a late value.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
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
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn settle(mut self, value: T) -> Result<(), (T, Option<Late>)> {
        let end = self.0.take();
        // The sender is empty now, so there is nothing to drop.
        forget(self);
        let Some(end) = end else { return Err((value, None)) };
        // Nothing unwinds before the value is in the slot.
        let value = InTransit::new(value);
        let filled = end.settle(|state| {
            let Some(state) = state else { return Err((value.arrive(), None)) };
            let SlotState::Empty(waiter) = state else { return Err((value.arrive(), late(state))) };
            let waiter = waiter.take();
            // The old state is `Empty(None)`, so there is nothing to drop.
            forget(replace(state, SlotState::Full(value.arrive())));
            Ok(waiter)
        });
        if let Some(waker) = filled? {
            wake(waker);
        }
        Ok(())
    }
}

/// Takes the function that the waiter left for a late value.
#[cold]
fn late<T>(state: &mut SlotState<T>) -> Option<Late> {
    match state {
        SlotState::Closed(late) => late.take(),
        _ => None,
    }
}

impl<T> Drop for SlotSender<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            abandon(end.slot());
        }
    }
}

/// The sender is dropped without a value.
#[cold]
fn abandon<T>(slot: &Slot<SlotState<T>>) {
    let Some(mut state) = slot.lock() else { return };
    let SlotState::Empty(waiter) = &mut *state else { return };
    let waiter = waiter.take();
    *state = SlotState::Dropped;
    drop(state);
    if let Some(waker) = waiter {
        wake(waker);
    }
}

/// Wakes the waiter. The waker may be user code and panic; that must not keep other waiters
/// from being woken.
fn wake(waker: Waker) {
    ignore(|| waker.wake());
}

impl<T> Slot<SlotState<T>> {
    /// Has the waiter polled again.
    fn wake_waiter(&self) {
        // The waker is taken under the lock, not cloned; the next poll stores one again.
        let waker = match self.lock().as_deref_mut() {
            Some(SlotState::Empty(waker)) => waker.take(),
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
        let is_passed_on = |flags: u8| flags & !TIMED != 0;
        let flags = |end: &WaitingEnd<_>| end.slot().flags.load(Ordering::Relaxed);
        self.0.as_ref().map(flags).is_some_and(is_passed_on)
    }

    /// A number that no other slot has while this one is waited for.
    #[cold]
    pub(crate) fn slot(&self) -> usize {
        self.0.as_ref().map_or(0, |end| std::ptr::from_ref(end.slot()).addr())
    }

    /// Stops waiting, and returns the value if it arrived in that moment. `late` runs if a
    /// value arrives afterwards.
    pub(crate) fn close(&mut self, late: impl FnOnce() + Send + 'static) -> Option<T> {
        match leave(self.0.take()?, Some(Box::new(late))) {
            SlotState::Full(value) => Some(value),
            _ => None,
        }
    }
}

/// The waiter leaves. Returns the old state: it may hold a user's value or waker, and is dropped outside the lock.
#[cold]
fn leave<T>(mut end: WaitingEnd<SlotState<T>>, late: Option<Late>) -> SlotState<T> {
    let closed = SlotState::Closed(late);
    if let Some(mut state) = end.slot().lock() {
        return replace(&mut state, closed);
    }
    end.settled().map_or(SlotState::Dropped, |state| replace(state, closed))
}

impl<T> Drop for SlotReceiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            drop(leave(end, None));
        }
    }
}

impl<T: Send + 'static> SlotReceiver<T> {
    /// Stops waiting; returns whether the receiver was still waiting. If the value was taken
    /// the slot goes to the cache, because its sender does not use it any more.
    #[inline]
    pub(crate) fn finish(&mut self) -> bool {
        let Some(end) = &mut self.0 else { return false };
        let Some(SlotState::Closed(_)) = end.settled() else { return true };
        if let Some(used) = self.0.take().and_then(WaitingEnd::into_settled) {
            slot_cache::keep(used);
        }
        false
    }

    /// As awaiting it, but records no edge in the wait graph: the caller does (rule C5).
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(end) = &mut self.0 else { return Poll::Ready(None) };
        let state = match end.settled() {
            Some(state) => state,
            None => match wait(end, cx.waker()) {
                SlotPoll::Over(state) => state,
                SlotPoll::Pending => return Poll::Pending,
                SlotPoll::Futile => return Poll::Ready(None),
            },
        };
        match replace(state, SlotState::Closed(None)) {
            SlotState::Full(value) => Poll::Ready(Some(value)),
            // Taken before, and nothing to drop. A drop here would force the value from registers
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
    Over(&'a mut SlotState<T>),
    /// The waiter will be woken.
    Pending,
    /// No value will ever arrive.
    Futile,
}

/// Stores the waker, unless a value has arrived.
#[cold]
fn wait<'a, T>(end: &'a mut WaitingEnd<SlotState<T>>, waker: &Waker) -> SlotPoll<'a, T> {
    match store_waker(end.slot(), waker) {
        Some(true) => SlotPoll::Pending,
        Some(false) => SlotPoll::Futile,
        None => end.settled().map_or(SlotPoll::Futile, SlotPoll::Over),
    }
}

/// Whether the waker will be woken; `None` if the slot is settled.
fn store_waker<T>(slot: &Slot<SlotState<T>>, waker: &Waker) -> Option<bool> {
    let state = slot.lock()?;
    let SlotState::Empty(waiter) = &*state else { return Some(false) };
    if waiter.as_ref().is_some_and(|waiter| waiter.will_wake(waker)) {
        return Some(true);
    }
    // A waker may be user code: it is cloned and dropped outside the lock.
    drop(state);
    let waker = waker.clone();
    let mut state = slot.lock()?;
    let SlotState::Empty(place) = &mut *state else { return Some(false) };
    let before = place.replace(waker);
    drop(state);
    drop(before);
    Some(true)
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
