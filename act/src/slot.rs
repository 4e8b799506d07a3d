//! A value on its way from one place to one waiter: what a reply, the end of an
//! `init` and the end of a process travel in.

use crate::lock::{Lock, LockGuard};
use crate::process::crash::contain;
use crate::process::current;
use crate::sync::{AtomicBool, Ordering};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What to do with a value that comes too late.
type Late = Box<dyn FnOnce() + Send>;

enum State<T> {
    /// Nothing has come; the waiter, if it has been polled.
    Empty(Option<Waker>),
    Full(T),
    /// The value has been taken, or the waiter has gone; what to do should a value
    /// still come.
    Closed(Option<Late>),
    /// The sender has gone without a value.
    Dropped,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        State::Empty(None)
    }
}

struct Slot<T> {
    state: Lock<State<T>>,
    /// Whoever fills the slot is another than the one who was asked to.
    passed_on: AtomicBool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot { state: Lock::new(State::default()), passed_on: AtomicBool::new(false) }
    }
}

/// The end that fills the slot.
pub(crate) struct SlotSender<T>(Option<Arc<Slot<T>>>);

/// The end that waits; nothing when it waits no longer.
pub(crate) struct SlotReceiver<T>(Option<Arc<Slot<T>>>);

pub(crate) fn slot<T>() -> (SlotSender<T>, SlotReceiver<T>) {
    slot_for(None)
}

/// A slot whose waiter is known from the beginning: its first poll can be left out.
pub(crate) fn slot_for<T>(waiter: Option<Waker>) -> (SlotSender<T>, SlotReceiver<T>) {
    // Made where it will live, and then told: so it is not copied there.
    let slot = Arc::<Slot<T>>::default();
    if waiter.is_some() {
        *slot.state.lock() = State::Empty(waiter);
    }
    (SlotSender(Some(Arc::clone(&slot))), SlotReceiver(Some(slot)))
}

impl<T> SlotSender<T> {
    /// Fills the slot; gives the value back if nobody waits any more.
    pub(crate) fn send(mut self, value: T) -> Result<(), T> {
        let Some(slot) = self.0.take() else { return Err(value) };
        slot.settle(State::Full(value)).map_err(|(value, _)| value)
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
        self.0.as_ref().is_some_and(|slot| matches!(*slot.state.lock(), State::Empty(_)))
    }

    /// As [`SlotSender::send`], and runs what the waiter left for a value that comes too
    /// late.
    pub(crate) fn send_or_late(mut self, value: T) {
        let Some(slot) = self.0.take() else { return };
        if let Err((_, Some(late))) = slot.settle(State::Full(value)) {
            late();
        }
    }
}

impl<T> Drop for SlotSender<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            let _ = slot.settle(State::Dropped);
        }
    }
}

impl<T> Slot<T> {
    #[allow(
        clippy::inline_always,
        reason = "or the outcome is made beside its place and copied there"
    )]
    #[inline(always)]
    fn settle(&self, outcome: State<T>) -> Result<(), (T, Option<Late>)> {
        let mut state = self.state.lock();
        if !matches!(*state, State::Empty(_)) {
            let late = match &mut *state {
                State::Closed(late) => late.take(),
                _ => None,
            };
            drop(state);
            return match outcome {
                State::Full(value) => Err((value, late)),
                _ => Ok(()),
            };
        }
        let waiter = match &mut *state {
            State::Empty(waiter) => waiter.take(),
            _ => None,
        };
        *state = outcome;
        drop(state);
        if let Some(waker) = waiter {
            wake(waker);
        }
        Ok(())
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
            State::Empty(waker) => waker.take(),
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

    /// Whether it still waits.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.0.is_some()
    }

    /// Waits no longer: the value if it has come just now. `late` runs if one comes
    /// after that.
    pub(crate) fn close(&mut self, late: impl FnOnce() + Send + 'static) -> Option<T> {
        let slot = self.0.take()?;
        let before =
            std::mem::replace(&mut *slot.state.lock(), State::Closed(Some(Box::new(late))));
        match before {
            State::Full(value) => Some(value),
            _ => None,
        }
    }
}

impl<T> Drop for SlotReceiver<T> {
    fn drop(&mut self) {
        let Some(slot) = self.0.take() else { return };
        let before = std::mem::replace(&mut *slot.state.lock(), State::Closed(None));
        // What is dropped here may be a user's: not under the lock.
        drop(before);
    }
}

impl<T> SlotReceiver<T> {
    /// As awaiting it, for who says himself what he waits for (rule C5).
    #[allow(clippy::inline_always, reason = "or what has come is copied once more")]
    #[inline(always)]
    pub(crate) fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(slot) = &self.0 else { return Poll::Ready(None) };
        let mut state = slot.state.lock();
        while matches!(&*state, State::Empty(_)) {
            match slot.wait(state, cx.waker()) {
                Some(changed) => state = changed,
                None => return Poll::Pending,
            }
        }
        let outcome = std::mem::replace(&mut *state, State::Closed(None));
        drop(state);
        self.0 = None;
        match outcome {
            State::Full(value) => Poll::Ready(Some(value)),
            State::Empty(_) | State::Closed(_) | State::Dropped => Poll::Ready(None),
        }
    }
}

impl<T> Slot<T> {
    /// Has the waiter woken when something comes; the state if it has changed meanwhile.
    #[cold]
    fn wait<'a>(
        &'a self,
        state: LockGuard<'a, State<T>>,
        waker: &Waker,
    ) -> Option<LockGuard<'a, State<T>>> {
        if matches!(&*state, State::Empty(Some(waiter)) if waiter.will_wake(waker)) {
            return None;
        }
        // A waker is anybody's code: it is cloned and dropped outside the lock.
        drop(state);
        let waker = waker.clone();
        let mut state = self.state.lock();
        let State::Empty(place) = &mut *state else {
            drop(state);
            drop(waker);
            return Some(self.state.lock());
        };
        let before = place.replace(waker);
        drop(state);
        drop(before);
        None
    }
}

impl<T> Future for SlotReceiver<T> {
    /// `None`: the sender has gone without a value.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let value = self.poll_value(cx);
        if value.is_pending() {
            current::note_other_wait();
        }
        value
    }
}
