//! A process that waits for a waker or a poke, against threads that wake it and poke it, and
//! other events at the same time (rule R2).

use super::checker::{Mutex, bounded, joined, model, thread};
use super::model_host::{ModelHost, ONE_BY_ONE};
use crate::host::host::{Host, Poke};
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::process::current;
use crate::process::process::Process;
use crate::received::Received;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A flag that wakes the task that waits for it.
#[derive(Clone, Default)]
struct WakingFlag(Arc<Mutex<Up>>);

#[derive(Default)]
struct Up {
    up: bool,
    waiter: Option<Waker>,
}

impl WakingFlag {
    fn raise(&self) {
        let waiter = {
            let mut flag = self.0.lock();
            flag.up = true;
            flag.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    async fn raised(self) {
        poll_fn(move |cx| {
            let mut flag = self.0.lock();
            if flag.up {
                return Poll::Ready(());
            }
            flag.waiter = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A waker fires while the process is polled, parks or is parked, and a message arrives while
/// the process waits for the waker.
#[test]
fn a_waker_that_fires_in_a_turn_is_not_lost() {
    model(|| {
        let host = ModelHost::new();
        let flag = WakingFlag::default();
        let seen = flag.clone();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            seen.raised().await;
            while !matches!(ctx.receive().await, Received::Message(_)) {}
            Ok(())
        });
        let worker = host.worker();
        let waking = thread::spawn(move || flag.raise());
        assert!(cell.send(1).is_ok());
        joined(waking);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// The same for a process that also waits for a message, which never arrives. Its poll ends
/// like one that waits for a message only.
#[test]
fn a_waker_that_fires_during_a_wait_for_a_message_is_not_lost() {
    model(|| {
        let host = ModelHost::new();
        let flag = WakingFlag::default();
        let seen = flag.clone();
        let _cell = host.start(UNBOUNDED, |mut ctx| async move {
            let mut raised = pin!(seen.raised());
            poll_fn(|cx| {
                if raised.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                pin!(ctx.receive()).poll(cx).map(drop)
            })
            .await;
            Ok(())
        });
        let worker = host.worker();
        flag.raise();
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// The same for a process whose budget is used up by its first message. The waker may fire
/// while the process is in the queue.
#[test]
fn a_waker_that_fires_between_two_turns_is_not_lost() {
    bounded(5, || {
        let host = ModelHost::new();
        let flag = WakingFlag::default();
        let seen = flag.clone();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            ctx.receive().await;
            ctx.receive().await;
            seen.raised().await;
            drop(ctx);
            Ok(())
        });
        assert!(cell.send(1).is_ok());
        assert!(cell.send(2).is_ok());
        let worker = host.worker_within(ONE_BY_ONE);
        flag.raise();
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// A process that waits for a poke, and then for another, against a thread that pokes while it
/// parks. It is polled after each poke.
#[test]
fn a_process_that_will_be_poked_is_polled_again() {
    model(|| {
        let host = ModelHost::new();
        host.start(UNBOUNDED, |ctx| async move {
            for _ in 0..2 {
                let mut waited = false;
                poll_fn(move |cx| {
                    if waited {
                        return Poll::Ready(());
                    }
                    waited = true;
                    assert!(current::want_poke(cx.waker()));
                    Poll::Pending
                })
                .await;
            }
            drop(ctx);
            Ok(())
        });
        let worker = host.worker();
        host.watch();
        joined(worker);
        assert_eq!(host.retired(), 1);
        host.clear();
    });
}

/// A process that had several messages at once goes idle with the memory of its queue. The poke
/// that releases the memory runs against a sender. The message is handled, and no memory is
/// kept.
#[test]
fn a_poke_takes_the_memory_of_an_idle_process_and_no_message() {
    bounded(3, || {
        let host = ModelHost::new();
        let (cell, ready) = host.spawn(UNBOUNDED, |mut ctx| async move {
            for _ in 0..3 {
                assert!(matches!(ctx.receive().await, Received::Message(_)));
            }
            Ok(())
        });
        assert!(cell.send(1).is_ok() && cell.send(2).is_ok());
        host.schedule(ready);
        host.settle();
        assert!(cell.inbox.lock().keeps_memory());
        let poker = thread::spawn({
            let cell = Arc::clone(&cell);
            move || Arc::clone(&cell).poke()
        });
        assert!(cell.send(3).is_ok());
        joined(host.worker());
        joined(poker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
        assert!(!cell.inbox.lock().keeps_memory());
        host.clear();
    });
}

/// Without a sender the poke alone releases the memory.
#[test]
fn a_poke_takes_the_memory_of_an_idle_process() {
    model(|| {
        let host = ModelHost::new();
        let (cell, ready) = host.spawn(UNBOUNDED, |mut ctx| async move {
            loop {
                assert!(matches!(ctx.receive().await, Received::Message(_)));
            }
        });
        assert!(cell.send(1).is_ok() && cell.send(2).is_ok());
        host.schedule(ready);
        host.settle();
        assert!(cell.inbox.lock().keeps_memory());
        Arc::clone(&cell).poke();
        assert!(!cell.inbox.lock().keeps_memory());
        cell.kill();
        host.settle();
        host.clear();
    });
}
