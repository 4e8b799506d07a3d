//! A value on its way from one place to one waiter: what a reply, the end of an
//! `init` and the end of a process travel in.

use crate::lock::Lock;
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

struct Slot<T> {
    state: Lock<State<T>>,
    /// Whoever fills the slot is another than the one who was asked to.
    passed_on: AtomicBool,
}

/// The end that fills the slot.
pub(crate) struct SlotSender<T>(Option<Arc<Slot<T>>>);

/// The end that waits.
pub(crate) struct SlotReceiver<T>(Arc<Slot<T>>);

pub(crate) fn slot<T>() -> (SlotSender<T>, SlotReceiver<T>) {
    slot_for(None)
}

/// A slot whose waiter is known from the beginning: its first poll can be left out.
pub(crate) fn slot_for<T>(waiter: Option<Waker>) -> (SlotSender<T>, SlotReceiver<T>) {
    let slot = Arc::new(Slot {
        state: Lock::new(State::Empty(waiter)),
        passed_on: AtomicBool::new(false),
    });
    (SlotSender(Some(Arc::clone(&slot))), SlotReceiver(slot))
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
        let before = std::mem::replace(&mut *state, outcome);
        drop(state);
        if let State::Empty(Some(waker)) = before {
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
        self.0.passed_on.load(Ordering::Relaxed)
    }

    /// Waits no longer: the value if it has come just now. `late` runs if one comes
    /// after that.
    pub(crate) fn close(&self, late: impl FnOnce() + Send + 'static) -> Option<T> {
        let before =
            std::mem::replace(&mut *self.0.state.lock(), State::Closed(Some(Box::new(late))));
        match before {
            State::Full(value) => Some(value),
            _ => None,
        }
    }
}

impl<T> Drop for SlotReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        if !matches!(*state, State::Closed(_)) {
            let before = std::mem::replace(&mut *state, State::Closed(None));
            // What is dropped here may be a user's: not under the lock.
            drop(state);
            drop(before);
        }
    }
}

impl<T> SlotReceiver<T> {
    /// As awaiting it, for who says himself what he waits for (rule C5).
    pub(crate) fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.state.lock();
        match &mut *state {
            State::Empty(Some(waker)) if waker.will_wake(cx.waker()) => Poll::Pending,
            State::Empty(_) => {
                // A waker is anybody's code: it is cloned and dropped outside the lock.
                drop(state);
                let waker = cx.waker().clone();
                let mut state = self.0.state.lock();
                if let State::Empty(place) = &mut *state {
                    let before = place.replace(waker);
                    drop(state);
                    drop(before);
                    return Poll::Pending;
                }
                drop(state);
                // It has come meanwhile.
                self.poll_value(cx)
            }
            State::Dropped | State::Closed(_) => Poll::Ready(None),
            State::Full(_) => match std::mem::replace(&mut *state, State::Closed(None)) {
                State::Full(value) => Poll::Ready(Some(value)),
                _ => Poll::Ready(None),
            },
        }
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
