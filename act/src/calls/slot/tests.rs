//! Tests of slots: what a used slot keeps, and what it passes on.

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
fn c1_a_reused_slot_behaves_like_a_new_one() {
    let (sender, mut receiver) = slot_for(None);
    let first = place(&receiver);
    sender.pass_on();
    assert!(sender.send(7).is_ok());
    assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
    assert_eq!(poll(&mut receiver), Poll::Ready(None), "a value is received once");
    assert!(!receiver.finish());
    let (sender, mut receiver) = slot_for(None);
    assert!(first.ptr_eq(&place(&receiver)));
    assert!(!receiver.is_passed_on());
    assert!(sender.is_awaited());
    assert_eq!(poll(&mut receiver), Poll::Pending);
    assert!(receiver.finish(), "the receiver still waits");
    assert!(sender.send(8).is_ok());
    assert_eq!(poll(&mut receiver), Poll::Ready(Some(8)));
}

/// The sender may still fill it.
#[test]
fn c3_an_abandoned_slot_is_not_reused() {
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
fn c1_a_cached_slot_holds_no_waker_and_no_value() {
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
fn c3_a_value_that_was_not_taken_is_dropped_with_its_slot() {
    let value = Arc::new(());
    let (sender, mut receiver) = slot_for(None);
    let first = place(&receiver);
    assert!(sender.send(Arc::clone(&value)).is_ok());
    assert!(receiver.finish());
    drop(receiver);
    assert_eq!((first.strong_count(), Arc::strong_count(&value)), (0, 1));
}
