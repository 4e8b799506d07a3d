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
    /// The value was taken, or its sender was dropped, or nobody waits for it any more.
    Over,
}

/// The end that hands over a value. If it is dropped, the other end has `None`.
pub(crate) struct OneShotSender<T>(Arc<Mutex<OneShotState<T>>>);

/// The end that waits.
pub(crate) struct OneShotReceiver<T>(Arc<Mutex<OneShotState<T>>>);

impl<T> OneShotSender<T> {
    /// Hands the value over.
    ///
    /// # Errors
    /// The value: nobody waits for it any more ([`OneShotReceiver::close`]).
    pub(crate) fn send(self, value: T) -> Result<(), T> {
        match self.settle(OneShotState::Full(value)) {
            Some(OneShotState::Full(value)) => Err(value),
            _ => Ok(()),
        }
    }

    /// Settles the place, unless it is settled: then it returns what was to be there.
    fn settle(&self, settled: OneShotState<T>) -> Option<OneShotState<T>> {
        let waker = {
            let mut place = self.0.lock();
            let OneShotState::Empty(waker) = &mut *place else { return Some(settled) };
            let waker = waker.take();
            *place = settled;
            waker
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }
}

impl<T> Drop for OneShotSender<T> {
    fn drop(&mut self) {
        let _ = self.settle(OneShotState::Over);
    }
}

impl<T> OneShotReceiver<T> {
    /// Waits no more. Returns the value, if it has come.
    pub(crate) fn close(&self) -> Option<T> {
        let before = std::mem::replace(&mut *self.0.lock(), OneShotState::Over);
        match before {
            OneShotState::Full(value) => Some(value),
            _ => None,
        }
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
        assert_eq!(sender.send(7), Ok(()));
        assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
        assert_eq!(poll(&mut receiver), Poll::Ready(None));
        // What nobody waits for any more comes back, or is taken out.
        let (sender, receiver) = one_shot();
        assert_eq!(receiver.close(), None);
        assert_eq!(sender.send(8), Err(8));
        let (sender, receiver) = one_shot();
        assert_eq!((sender.send(9), receiver.close(), receiver.close()), (Ok(()), Some(9), None));
        let (sender, mut receiver) = one_shot::<()>();
        drop(sender);
        assert_eq!(poll(&mut receiver), Poll::Ready(None));
    }
}
