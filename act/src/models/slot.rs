//! A value on its way to one waiter. It has exactly one outcome, and the waiter is notified of
//! it (rules C1, C3, R2).

use super::checker::{joined, model, thread};
use super::wake_flag::WakeSignal;
use crate::calls::reply::Reply;
use crate::calls::slot::{SlotReceiver, slot, slot_for};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// Counts how often something happened.
#[derive(Clone, Default)]
struct SharedCount(Arc<AtomicUsize>);

impl SharedCount {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Polls until the value has arrived, each time after a wake-up.
fn wait<T: Send + 'static>(receiver: &mut SlotReceiver<T>, signal: &Arc<WakeSignal>) -> Option<T> {
    let waker = signal.waker();
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = receiver.poll_value(&mut cx) {
            return value;
        }
        signal.wait();
    }
}

#[test]
fn a_reply_against_a_timeout_has_one_outcome() {
    model(|| {
        let (reply, mut receiver) = Reply::new(None);
        let late = SharedCount::default();
        let replying = thread::spawn(move || reply.send(7));
        let counted = late.clone();
        let answer = receiver.close(move || counted.add());
        joined(replying);
        assert!(matches!(answer, None | Some(Ok(7))));
        assert_eq!(usize::from(answer.is_some()) + late.get(), 1, "outcomes");
    });
}

/// A value that must not be lost, against a caller that gives up. Exactly one of the two has it
/// (rule C9).
#[test]
fn c9_a_value_is_given_back_or_arrives() {
    for drops in [false, true] {
        model(move || {
            let (reply, mut receiver) = Reply::new(None);
            let late = SharedCount::default();
            let value = Arc::new(());
            let sent = Arc::clone(&value);
            let replying = thread::spawn(move || {
                let wanted = reply.is_wanted();
                let outcome = reply.try_send(sent);
                assert!(wanted || outcome.is_err(), "wanted again");
                outcome.err()
            });
            let arrived = if drops {
                drop(receiver);
                None
            } else {
                let counted = late.clone();
                receiver.close(move || counted.add()).map(|answer| answer.expect("a value"))
            };
            let given_back = joined(replying);
            if !drops {
                assert_eq!(usize::from(given_back.is_some()), late.get(), "late replies");
                assert_ne!(given_back.is_some(), arrived.is_some(), "outcomes");
            }
            // What the waiter did not take is dropped with the slot, or given back.
            drop((given_back, arrived));
            assert_eq!(Arc::strong_count(&value), 1, "a value is left");
        });
    }
}

#[test]
fn a_token_dropped_at_the_timeout_is_not_a_late_reply() {
    model(|| {
        let (reply, mut receiver) = Reply::<u32>::new(None);
        let late = SharedCount::default();
        let dropping = thread::spawn(move || drop(reply));
        let counted = late.clone();
        let answer = receiver.close(move || counted.add());
        joined(dropping);
        assert!(answer.is_none());
        assert_eq!(late.get(), 0);
    });
}

/// The waiter is known from the beginning and is not polled before it is woken. It is woken.
#[test]
fn a_waiter_that_was_never_polled_is_woken() {
    for answers in [true, false] {
        model(move || {
            let signal = WakeSignal::new();
            let (reply, mut receiver) = Reply::new(Some(signal.waker().clone()));
            let replying = thread::spawn(move || if answers { reply.send(7) } else { drop(reply) });
            signal.wait();
            let answer = wait(&mut receiver, &signal);
            assert_eq!(answer, answers.then_some(Ok(7)));
            joined(replying);
        });
    }
}

/// While the value arrives the waiter is polled with a new waker.
#[test]
fn a_waiter_is_woken_by_its_newest_waker() {
    model(|| {
        let (before, signal) = (WakeSignal::new(), WakeSignal::new());
        let (sender, mut receiver) = slot_for(Some(before.waker().clone()));
        let sending = thread::spawn(move || assert!(sender.send(7).is_ok()));
        assert_eq!(wait(&mut receiver, &signal), Some(7));
        joined(sending);
    });
}

/// The waiter gives up or is dropped while the value arrives.
#[test]
fn a_value_for_a_dropped_waiter_is_dropped_once() {
    struct CountsDrops(SharedCount);

    impl Drop for CountsDrops {
        fn drop(&mut self) {
            self.0.add();
        }
    }

    model(|| {
        let drops = SharedCount::default();
        let (sender, receiver) = slot();
        let value = CountsDrops(drops.clone());
        let sending = thread::spawn(move || drop(sender.send(value)));
        drop(receiver);
        joined(sending);
        assert_eq!(drops.get(), 1);
    });
}

/// A call after an answered call uses the same slot, and the sender of the first call may not
/// have released it yet.
#[test]
fn a_reused_slot_delivers_the_new_answer() {
    model(|| {
        let signal = WakeSignal::new();
        let mut replying = Vec::new();
        for number in 0..2 {
            let (reply, mut receiver) = Reply::new(Some(signal.waker().clone()));
            replying.push(thread::spawn(move || reply.send(number)));
            assert_eq!(wait(&mut receiver, &signal), Some(Ok(number)), "another's reply");
            assert!(!receiver.finish(), "it is over");
        }
        replying.into_iter().for_each(joined);
    });
}

/// A call after one that was given up, whose answer arrives late.
#[test]
fn a_late_reply_is_no_reply_to_the_next_call() {
    model(|| {
        let signal = WakeSignal::new();
        let (reply, mut receiver) = Reply::new(None);
        let first = thread::spawn(move || reply.send(0));
        if receiver.close(|| ()).is_some() {
            joined(first);
            return;
        }
        assert!(!receiver.finish(), "it is over");
        let (reply, mut receiver) = Reply::new(Some(signal.waker().clone()));
        let second = thread::spawn(move || reply.send(1));
        assert_eq!(wait(&mut receiver, &signal), Some(Ok(1)), "another's reply");
        [first, second].into_iter().for_each(joined);
    });
}

#[cfg(loom)]
mod broken {
    use super::*;
    use crate::lock::Lock;
    use std::task::Waker;

    /// A slot that takes two steps where the real one takes one.
    #[derive(Default)]
    struct Halting(Lock<(Option<u32>, Option<Waker>, bool)>);

    impl Halting {
        /// Stores the value, or returns it if it comes too late.
        fn send(&self, value: u32) -> Result<(), u32> {
            let waker = {
                let mut state = self.0.lock();
                if state.2 {
                    return Err(value);
                }
                state.0 = Some(value);
                state.1.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
            Ok(())
        }

        fn wait(&self, signal: &Arc<WakeSignal>) -> u32 {
            loop {
                if let Some(value) = self.0.lock().0.take() {
                    return value;
                }
                self.0.lock().1 = Some(signal.waker().clone());
                signal.wait();
            }
        }

        fn close(&self) -> Option<u32> {
            let value = self.0.lock().0.take();
            self.0.lock().2 = true;
            value
        }
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_waiter_that_registers_after_its_check_is_not_woken() {
        model(|| {
            let slot = Arc::new(Halting::default());
            let sending = thread::spawn({
                let slot = Arc::clone(&slot);
                move || assert!(slot.send(7).is_ok())
            });
            assert_eq!(slot.wait(&WakeSignal::new()), 7);
            joined(sending);
        });
    }

    #[test]
    #[should_panic(expected = "outcomes")]
    fn a_timeout_that_closes_after_its_check_loses_a_reply() {
        model(|| {
            let slot = Arc::new(Halting::default());
            let sending = thread::spawn({
                let slot = Arc::clone(&slot);
                move || usize::from(slot.send(7).is_err())
            });
            let taken = usize::from(slot.close().is_some());
            assert_eq!(taken + joined(sending), 1, "outcomes");
        });
    }

    #[test]
    #[should_panic(expected = "outcomes")]
    fn a_value_sent_after_a_look_at_the_waiter_is_lost() {
        model(|| {
            let slot = Arc::new(Halting::default());
            let sending = thread::spawn({
                let slot = Arc::clone(&slot);
                move || {
                    // The waiter may leave between the look and the value.
                    let wanted = !slot.0.lock().2;
                    if wanted {
                        slot.0.lock().0 = Some(7);
                    }
                    usize::from(!wanted)
                }
            });
            let taken = {
                let mut state = slot.0.lock();
                state.2 = true;
                usize::from(state.0.take().is_some())
            };
            assert_eq!(taken + joined(sending), 1, "outcomes");
        });
    }

    #[test]
    #[should_panic(expected = "another's reply")]
    fn a_slot_reused_after_a_timeout_delivers_the_previous_reply() {
        model(|| {
            let slot = Arc::new(Halting::default());
            let send = |value| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || slot.send(value).is_ok())
            };
            let first = send(0);
            let late = slot.close().is_none();
            // The slot is reset, although its first sender may still use it.
            *slot.0.lock() = Default::default();
            let second = send(1);
            if late {
                assert_eq!(slot.wait(&WakeSignal::new()), 1, "another's reply");
            }
            let _ = [first, second].map(joined);
        });
    }
}
