//! A value that is set once, and awaited by any number.

use krarup_act::contain;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A value that is set once.
pub(crate) struct OnceValue<T> {
    state: Mutex<ValueState<T>>,
}

enum ValueState<T> {
    Awaited(ValueWaiters),
    Set(T),
}

/// The wakers of all that wait, in the order in which they came.
#[derive(Default)]
struct ValueWaiters {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl<T> Default for OnceValue<T> {
    fn default() -> Self {
        OnceValue { state: Mutex::new(ValueState::Awaited(ValueWaiters::default())) }
    }
}

impl<T: Clone> OnceValue<T> {
    /// Sets the value and wakes all that wait, unless it is set already. Returns whether it was
    /// set.
    pub(crate) fn set(&self, value: T) -> bool {
        let waiting = {
            let mut state = self.state.lock();
            let ValueState::Awaited(waiters) = &mut *state else { return false };
            let waiting = std::mem::take(waiters);
            *state = ValueState::Set(value);
            waiting
        };
        // A waker that panics must not keep the others from being woken.
        waiting.wakers.into_values().for_each(|waker| drop(contain(|| waker.wake())));
        true
    }

    /// The value, if it is set.
    pub(crate) fn value(&self) -> Option<T> {
        match &*self.state.lock() {
            ValueState::Set(value) => Some(value.clone()),
            ValueState::Awaited(_) => None,
        }
    }

    /// Waits for the value.
    pub(crate) fn wait(self: &Arc<Self>) -> ValueWait<T> {
        ValueWait { value: Arc::clone(self), place: None }
    }
}

/// A future that is ready when the value is set.
pub(crate) struct ValueWait<T> {
    value: Arc<OnceValue<T>>,
    /// Its key among the waiters.
    place: Option<u64>,
}

impl<T: Clone> Future for ValueWait<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Wakers are user code: cloned and dropped without the lock.
        let waker = cx.waker().clone();
        let _before = match &mut *Arc::clone(&self.value).state.lock() {
            ValueState::Set(value) => return Poll::Ready(value.clone()),
            ValueState::Awaited(waiting) => {
                let place = *self.place.get_or_insert_with(|| {
                    waiting.next += 1;
                    waiting.next
                });
                waiting.wakers.insert(place, waker)
            }
        };
        Poll::Pending
    }
}

impl<T> Drop for ValueWait<T> {
    fn drop(&mut self) {
        let _waker = match (&mut *self.value.state.lock(), self.place) {
            (ValueState::Awaited(waiting), Some(place)) => waiting.wakers.remove(&place),
            _ => None,
        };
    }
}
