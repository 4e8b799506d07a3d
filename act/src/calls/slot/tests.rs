//! Tests of slots: what a used slot keeps, and what it passes on.

use super::*;
use std::sync::Arc;
use std::task::Wake;

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

fn poll<T: Send + 'static>(receiver: &mut SlotReceiver<T>) -> Poll<Option<T>> {
    receiver.poll_value(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn c1_a_reused_slot_behaves_like_a_new_one() {
    let (sender, mut receiver) = slot_for(None);
    let first = receiver.slot();
    sender.pass_on();
    sender.set_deadline(Timestamp::from_nanos(5));
    assert!(sender.send(7).is_ok());
    assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
    assert_eq!(poll(&mut receiver), Poll::Ready(None), "a value is received once");
    assert!(!receiver.finish());
    let (sender, mut receiver) = slot_for(None);
    assert_eq!(first, receiver.slot());
    assert!(!receiver.is_passed_on());
    assert_eq!(sender.deadline(), None);
    assert!(sender.is_awaited());
    assert_eq!(poll(&mut receiver), Poll::Pending);
    assert!(receiver.finish(), "the receiver still waits");
    assert!(sender.send(8).is_ok());
    assert_eq!(poll(&mut receiver), Poll::Ready(Some(8)));
}

/// Who lent its token drops it when the message has been written; by then the answer may be here.
#[test]
#[cfg(feature = "serde")]
fn c1_a_token_that_was_lent_does_not_end_the_next_call() {
    let (lender, mut receiver) = slot_for(None);
    let mut lent = lender.lend();
    assert!(lent.take().send(7).is_ok());
    assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
    assert!(!lender.is_awaited());
    assert_eq!(lender.send(8), Err(8), "the slot is settled");
    assert!(!receiver.finish());

    let (lender, mut receiver) = slot_for(None);
    assert!(lender.lend().send(7).is_ok());
    assert_eq!(poll(&mut receiver), Poll::Ready(Some(7)));
    assert!(!receiver.finish());
    let waiter = Arc::new(Nobody);
    let (sender, mut receiver) = slot_for::<i32>(Some(Waker::from(Arc::clone(&waiter))));
    assert_eq!(Arc::strong_count(&waiter), 2, "the next call has its waiter");
    drop(lender);
    assert!(sender.is_awaited());
    assert_eq!(poll(&mut receiver), Poll::Pending);
}

/// The sender may still fill it.
#[test]
fn c3_an_abandoned_slot_is_not_reused() {
    let (sender, mut receiver) = slot_for(None);
    let first = receiver.slot();
    assert_eq!(receiver.close(|| ()), None);
    assert!(!receiver.finish());
    let (_other, mut receiver) = slot_for::<i32>(None);
    assert_ne!(first, receiver.slot());
    assert_eq!(sender.send(7), Err(7));
    assert_eq!(poll(&mut receiver), Poll::Pending);
}

#[test]
fn c1_a_cached_slot_holds_no_waker_and_no_value() {
    let (waiter, value) = (Arc::new(Nobody), Arc::new(()));
    let (sender, mut receiver) = slot_for(Some(Waker::from(Arc::clone(&waiter))));
    let first = receiver.slot();
    assert!(sender.send(Arc::clone(&value)).is_ok());
    drop(poll(&mut receiver));
    assert!(!receiver.finish());
    assert_eq!((Arc::strong_count(&waiter), Arc::strong_count(&value)), (1, 1));
    let (_sender, receiver) = slot_for::<Arc<()>>(None);
    assert_eq!(first, receiver.slot(), "it was kept");
}

#[test]
fn c3_a_value_that_was_not_taken_is_dropped_with_its_slot() {
    let value = Arc::new(());
    let (sender, mut receiver) = slot_for(None);
    assert!(sender.send(Arc::clone(&value)).is_ok());
    assert!(receiver.finish());
    drop(receiver);
    assert_eq!(Arc::strong_count(&value), 1);
}
