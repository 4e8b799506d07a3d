//! A value that one side hands to the other once, without a process of its own.

use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Makes both ends.
pub(crate) fn one_shot<T>() -> (OneShotSender<T>, OneShotReceiver<T>) {
    let place = Arc::new(Mutex::new(OneShotState::Empty(None)));
    (OneShotSender(Arc::clone(&place)), OneShotReceiver(place))
}

enum OneShotState<T> {
    Empty(Option<Waker>),
    Full(T),
    /// The value was taken, or its sender was dropped.
    Over,
}

/// The end that hands over a value. If it is dropped, the other end has `None`.
pub(crate) struct OneShotSender<T>(Arc<Mutex<OneShotState<T>>>);

/// The end that waits.
pub(crate) struct OneShotReceiver<T>(Arc<Mutex<OneShotState<T>>>);

impl<T> OneShotSender<T> {
    pub(crate) fn send(self, value: T) {
        self.settle(OneShotState::Full(value));
    }

    fn settle(&self, settled: OneShotState<T>) {
        let waker = {
            let mut place = self.0.lock();
            match &mut *place {
                OneShotState::Empty(waker) => {
                    let waker = waker.take();
                    *place = settled;
                    waker
                }
                _ => return,
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for OneShotSender<T> {
    fn drop(&mut self) {
        self.settle(OneShotState::Over);
    }
}

impl<T> Future for OneShotReceiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let waker = cx.waker().clone();
        // A waker is dropped without the lock.
        let (polled, unused) = {
            let mut place = self.0.lock();
            match &mut *place {
                OneShotState::Empty(kept) => (Poll::Pending, kept.replace(waker)),
                OneShotState::Full(_) => match std::mem::replace(&mut *place, OneShotState::Over) {
                    OneShotState::Full(value) => (Poll::Ready(Some(value)), Some(waker)),
                    _ => (Poll::Ready(None), Some(waker)),
                },
                OneShotState::Over => (Poll::Ready(None), Some(waker)),
            }
        };
        drop(unused);
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    fn poll<T>(receiver: &mut OneShotReceiver<T>) -> Poll<Option<T>> {
        pin!(receiver).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_value_is_handed_over_once_and_a_dropped_sender_is_none() {
        let (sender, mut receiver) = one_shot();
        assert_eq!(poll(&mut receiver), Poll::Pending);
        sender.send(7);
        assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
        assert_eq!(poll(&mut receiver), Poll::Ready(None));
        let (sender, mut receiver) = one_shot::<()>();
        drop(sender);
        assert_eq!(poll(&mut receiver), Poll::Ready(None));
    }
}
