//! A value on its way from one place to one waiter: what a reply, the end of an
//! `init` and the end of a process travel in.

use crate::calls::slot_cache;
use crate::lock::{Lock, LockGuard};
use crate::process::crash::contain;
use crate::process::current;
use crate::sync::{AtomicBool, Ordering};
use std::mem::{ManuallyDrop, forget, replace};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What to do with a value that comes too late.
type Late = Box<dyn FnOnce() + Send>;

enum SlotState<T> {
    /// Nothing has come; the waiter, if it has been polled.
    Empty(Option<Waker>),
    Full(T),
    /// The value has been taken, or the waiter has gone; what to do should a value
    /// still come.
    Closed(Option<Late>),
    /// The sender has gone without a value.
    Dropped,
}

impl<T> Default for SlotState<T> {
    fn default() -> Self {
        SlotState::Empty(None)
    }
}

struct Slot<T> {
    state: Lock<SlotState<T>>,
    /// Whoever fills the slot is another than the one who was asked to.
    passed_on: AtomicBool,
    /// The value has come and was taken. The waiter's alone.
    done: AtomicBool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot {
            state: Lock::new(SlotState::default()),
            passed_on: AtomicBool::new(false),
            done: AtomicBool::new(false),
        }
    }
}

/// The end that fills the slot.
pub(crate) struct SlotSender<T>(Option<Arc<Slot<T>>>);

/// The end that waits; nothing when it has given up.
pub(crate) struct SlotReceiver<T>(Option<Arc<Slot<T>>>);

pub(crate) fn slot<T>() -> (SlotSender<T>, SlotReceiver<T>) {
    let slot = Arc::<Slot<T>>::default();
    (SlotSender(Some(Arc::clone(&slot))), SlotReceiver(Some(slot)))
}

/// A slot for a call: one that was used before, if there is one. A waiter that is known from
/// the beginning need not be polled first.
#[inline]
pub(crate) fn slot_for<T: Send + 'static>(
    waiter: Option<Waker>,
) -> (SlotSender<T>, SlotReceiver<T>) {
    // Made where it will live, and then told: so it is not copied there.
    let slot = slot_cache::take::<Slot<T>>().unwrap_or_default();
    slot.passed_on.store(false, Ordering::Relaxed);
    slot.done.store(false, Ordering::Relaxed);
    // Nobody waits in it, and nothing lies in it: there is nothing to drop.
    forget(replace(&mut *slot.state.lock(), SlotState::Empty(waiter)));
    (SlotSender(Some(Arc::clone(&slot))), SlotReceiver(Some(slot)))
}

impl<T> SlotSender<T> {
    /// The sender, out of one that is about to be dropped.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        SlotSender(self.0.take())
    }

    /// Fills the slot; gives the value back if nobody waits any more.
    pub(crate) fn send(self, value: T) -> Result<(), T> {
        self.settle(value).map_err(|(value, _)| value)
    }

    /// Another will fill the slot than the one who was asked to: the waiter looks who it
    /// waits for.
    pub(crate) fn pass_on(&self) {
        if let Some(slot) = &self.0 {
            slot.passed_on.store(true, Ordering::Relaxed);
            slot.rouse();
        }
    }

    /// Whether somebody still waits.
    pub(crate) fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| matches!(*slot.state.lock(), SlotState::Empty(_)))
    }

    /// As [`SlotSender::send`], and runs what the waiter left for a value that comes too
    /// late.
    #[allow(clippy::inline_always, reason = "see `SlotSender::settle`")]
    #[inline(always)]
    pub(crate) fn send_or_late(self, value: T) {
        if let Err((value, late)) = self.settle(value) {
            // First, for the value is a user's, and may panic when it is dropped.
            if let Some(late) = late {
                late();
            }
            drop(value);
        }
    }

    /// Fills the slot; or gives the value back, and what the waiter left for it.
    #[allow(
        clippy::inline_always,
        reason = "so that a value goes from registers to its place: see `Cell::send`"
    )]
    #[inline(always)]
    fn settle(mut self, value: T) -> Result<(), (T, Option<Late>)> {
        let slot = self.0.take();
        // It is empty now.
        forget(self);
        let Some(slot) = slot else { return Err((value, None)) };
        // Nothing unwinds before it has its place.
        let value = ManuallyDrop::new(value);
        let mut state = slot.state.lock();
        let SlotState::Empty(waiter) = &mut *state else {
            let late = late(state);
            return Err((ManuallyDrop::into_inner(value), late));
        };
        let waiter = waiter.take();
        // What was there is empty now.
        forget(replace(&mut *state, SlotState::Full(ManuallyDrop::into_inner(value))));
        drop(state);
        // Before the waiter wakes.
        drop(slot);
        if let Some(waker) = waiter {
            wake(waker);
        }
        Ok(())
    }
}

/// What the waiter left for a value that comes too late.
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
    /// The sender has gone without a value.
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

/// A waker may be anybody's, and may panic: that must not keep others from hearing.
fn wake(waker: Waker) {
    let _ = contain(|| waker.wake());
}

impl<T> Slot<T> {
    /// Has whoever waits look again.
    fn rouse(&self) {
        // Taken, not cloned, under the lock: the poll that this brings puts one there again.
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
    /// Whether another will fill the slot than the one who was asked to.
    #[inline]
    pub(crate) fn is_passed_on(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| slot.passed_on.load(Ordering::Relaxed))
    }

    /// Waits no longer: the value if it has come just now. `late` runs if one comes
    /// after that.
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
    /// The waiter has gone.
    #[cold]
    fn leave(self: Arc<Self>) {
        let before = replace(&mut *self.state.lock(), SlotState::Closed(None));
        // What is dropped here may be a user's: not under the lock.
        drop(before);
    }
}

impl<T: Send + 'static> SlotReceiver<T> {
    /// Waits no longer; true if it still did. The slot is used again if the value has been
    /// taken, for then its sender has done the last that it does with it.
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

    /// As awaiting it, for who says himself what he waits for (rule C5).
    #[allow(clippy::inline_always, reason = "or what has come is copied once more")]
    #[inline(always)]
    pub(crate) fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(slot) = &self.0 else { return Poll::Ready(None) };
        let mut state = slot.state.lock();
        if !matches!(&*state, SlotState::Full(_)) {
            match slot.wait(state, cx.waker()) {
                SlotPoll::Over(changed) => state = changed,
                SlotPoll::On => return Poll::Pending,
                SlotPoll::Vain => return Poll::Ready(None),
            }
        }
        let outcome = replace(&mut *state, SlotState::Closed(None));
        drop(state);
        slot.done.store(true, Ordering::Relaxed);
        match outcome {
            SlotState::Full(value) => Poll::Ready(Some(value)),
            // Not reached, and nothing to drop: dropping it would have it lie in memory.
            other => {
                forget(other);
                Poll::Ready(None)
            }
        }
    }
}

/// What comes of looking for a value that is not there yet.
enum SlotPoll<'a, T> {
    /// It is there.
    Over(LockGuard<'a, SlotState<T>>),
    /// The waiter will be woken.
    On,
    /// It will never be there.
    Vain,
}

impl<T> Slot<T> {
    /// Has the waiter woken when something comes, if nothing has.
    #[cold]
    fn wait<'a>(
        &'a self,
        mut state: LockGuard<'a, SlotState<T>>,
        waker: &Waker,
    ) -> SlotPoll<'a, T> {
        if let SlotState::Empty(waiter) = &*state {
            if waiter.as_ref().is_some_and(|waiter| waiter.will_wake(waker)) {
                return SlotPoll::On;
            }
            // A waker is anybody's code: it is cloned and dropped outside the lock.
            drop(state);
            let waker = waker.clone();
            state = self.state.lock();
            if let SlotState::Empty(place) = &mut *state {
                let before = place.replace(waker);
                drop(state);
                drop(before);
                return SlotPoll::On;
            }
            drop(state);
            drop(waker);
            state = self.state.lock();
        }
        match &*state {
            SlotState::Full(_) => SlotPoll::Over(state),
            _ => SlotPoll::Vain,
        }
    }
}

impl<T: Send + 'static> Future for SlotReceiver<T> {
    /// `None`: the sender has gone without a value.
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
mod tests {
    use super::*;
    use std::sync::Weak;
    use std::task::Wake;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    fn poll<T: Send + 'static>(receiver: &mut SlotReceiver<T>) -> Poll<Option<T>> {
        receiver.poll_value(&mut Context::from_waker(Waker::noop()))
    }

    fn place<T>(receiver: &SlotReceiver<T>) -> Weak<Slot<T>> {
        receiver.0.as_ref().map(Arc::downgrade).unwrap_or_default()
    }

    #[test]
    fn c1_a_slot_is_used_again_as_if_it_were_new() {
        let (sender, mut receiver) = slot_for(None);
        let first = place(&receiver);
        sender.pass_on();
        assert!(sender.send(7).is_ok());
        assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
        assert_eq!(poll(&mut receiver), Poll::Ready(None), "nothing comes twice");
        assert!(!receiver.finish());
        let (sender, mut receiver) = slot_for(None);
        assert!(first.ptr_eq(&place(&receiver)));
        assert!(!receiver.is_passed_on());
        assert!(sender.is_awaited());
        assert_eq!(poll(&mut receiver), Poll::Pending);
        assert!(receiver.finish(), "it still waits");
        assert!(sender.send(8).is_ok());
        assert_eq!(poll(&mut receiver), Poll::Ready(Some(8)));
    }

    /// Its sender may still come.
    #[test]
    fn c3_a_slot_that_was_given_up_is_not_used_again() {
        let (sender, mut receiver) = slot_for(None);
        let first = place(&receiver);
        assert_eq!(receiver.close(|| ()), None);
        assert!(!receiver.finish());
        let (_other, mut receiver) = slot_for(None);
        assert!(!first.ptr_eq(&place(&receiver)));
        assert_eq!(sender.send(7), Err(7));
        assert_eq!(poll(&mut receiver), Poll::Pending);
    }

    #[test]
    fn c1_a_slot_that_is_kept_keeps_nobody() {
        let (waiter, value) = (Arc::new(Nobody), Arc::new(()));
        let (sender, mut receiver) = slot_for(Some(Waker::from(Arc::clone(&waiter))));
        let first = place(&receiver);
        assert!(sender.send(Arc::clone(&value)).is_ok());
        drop(poll(&mut receiver));
        assert!(!receiver.finish());
        assert_eq!(first.strong_count(), 1, "it is kept");
        assert_eq!((Arc::strong_count(&waiter), Arc::strong_count(&value)), (1, 1));
    }

    #[test]
    fn c3_what_was_not_taken_goes_with_its_slot() {
        let value = Arc::new(());
        let (sender, mut receiver) = slot_for(None);
        let first = place(&receiver);
        assert!(sender.send(Arc::clone(&value)).is_ok());
        assert!(receiver.finish());
        drop(receiver);
        assert_eq!((first.strong_count(), Arc::strong_count(&value)), (0, 1));
    }
}
