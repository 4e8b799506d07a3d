//! A real process, its mailbox, its turns and its end, against those who send to it, wake
//! it and kill it (rules R2, M5, D3, D7).

use super::house::House;
use super::{Bell, bounded};
use crate::host::Host;
use crate::mailbox::inbox::UNBOUNDED;
use crate::process::current;
use crate::process::process::Process;
use crate::received::Received;
use krarup_gen::Priority;
use loom::sync::Mutex;
use loom::thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};

/// Messages handled by a process.
#[derive(Clone, Default)]
struct Handled(Arc<AtomicU64>);

impl Handled {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Two senders against the turn that parks: the process hears of both messages, and is
/// never queued twice.
#[test]
fn every_message_that_was_accepted_is_handled() {
    loom::model(|| {
        let house = House::new();
        let handled = Handled::default();
        let count = handled.clone();
        let (cell, ready) = house.spawn(UNBOUNDED, |mut ctx| async move {
            while count.count() < 2 {
                if let Received::Message(_) = ctx.receive().await {
                    count.add();
                }
            }
            Ok(())
        });
        house.schedule(ready);
        let worker = house.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(cell.send(1).is_ok())
        });
        assert!(cell.send(2).is_ok());
        sender.join().expect("a sender does not panic");
        worker.join().expect("a worker does not panic");
        assert_eq!((handled.count(), house.retired(), house.dead_letters()), (2, 1, 0));
    });
}

/// As above, one of them on the System lane: that something lies there is told by a flag
/// that is read without the lock.
#[test]
fn every_command_is_handled() {
    loom::model(|| {
        let house = House::new();
        let handled = Handled::default();
        let count = handled.clone();
        let (cell, ready) = house.spawn(UNBOUNDED, |mut ctx| async move {
            while count.count() < 2 {
                if let Received::Message(_) | Received::Command(_) = ctx.receive().await {
                    count.add();
                }
            }
            Ok(())
        });
        house.schedule(ready);
        let worker = house.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(cell.send_control(Priority::High, 1).is_ok())
        });
        assert!(cell.send(2).is_ok());
        sender.join().expect("a sender does not panic");
        worker.join().expect("a worker does not panic");
        assert_eq!((handled.count(), house.retired(), house.dead_letters()), (2, 1, 0));
    });
}

/// A flag that wakes whoever waits for it.
#[derive(Default)]
struct Flag {
    up: bool,
    waiter: Option<Waker>,
}

/// A waker that fires while the process is polled, or parks, or is parked, and a message
/// that comes while it waits for the waker.
#[test]
fn a_waker_that_fires_in_a_turn_is_not_lost() {
    loom::model(|| {
        let house = House::new();
        let flag = Arc::new(Mutex::new(Flag::default()));
        let seen = Arc::clone(&flag);
        let (cell, ready) = house.spawn(UNBOUNDED, |mut ctx| async move {
            poll_fn(move |cx| {
                let mut flag = seen.lock().expect("nothing panics under a lock");
                if flag.up {
                    return Poll::Ready(());
                }
                flag.waiter = Some(cx.waker().clone());
                Poll::Pending
            })
            .await;
            while !matches!(ctx.receive().await, Received::Message(_)) {}
            Ok(())
        });
        house.schedule(ready);
        let worker = house.worker();
        let waking = thread::spawn(move || {
            let waiter = {
                let mut flag = flag.lock().expect("nothing panics under a lock");
                flag.up = true;
                flag.waiter.take()
            };
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        });
        assert!(cell.send(1).is_ok());
        waking.join().expect("a waker does not panic");
        worker.join().expect("a worker does not panic");
        assert_eq!((house.retired(), house.dead_letters()), (1, 0));
    });
}

/// A process that waits to be poked, and then again, against the one who pokes while it
/// parks: it is polled after each.
#[test]
fn a_process_that_will_be_poked_is_polled_again() {
    loom::model(|| {
        let house = House::new();
        let (_, ready) = house.spawn(UNBOUNDED, |ctx| async move {
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
        house.schedule(ready);
        let worker = house.worker();
        house.watch();
        worker.join().expect("a worker does not panic");
        assert_eq!(house.retired(), 1);
    });
}

/// A kill, a message and the process's own end, in any order: it ends once, and the
/// message is handled, or dropped and counted.
#[test]
fn a_process_ends_once_and_no_message_disappears() {
    for ends_by_itself in [false, true] {
        loom::model(move || {
            let house = House::new();
            let handled = Handled::default();
            let count = handled.clone();
            let (cell, ready) = house.spawn(UNBOUNDED, move |mut ctx| async move {
                loop {
                    if let Received::Message(_) = ctx.receive().await {
                        count.add();
                        if ends_by_itself {
                            return Ok(());
                        }
                    }
                }
            });
            house.schedule(ready);
            let worker = house.worker();
            let sender = thread::spawn({
                let cell = Arc::clone(&cell);
                move || drop(cell.send(1))
            });
            (cell as Arc<dyn Process>).kill();
            sender.join().expect("a sender does not panic");
            worker.join().expect("a worker does not panic");
            assert_eq!((handled.count() + house.dead_letters(), house.retired()), (1, 1));
        });
    }
}

/// A kill reaches a process that waits inside a handler.
#[test]
fn a_kill_wakes_a_process_that_waits() {
    loom::model(|| {
        let house = House::new();
        let (cell, ready) = house.spawn(UNBOUNDED, |ctx| async move {
            std::future::pending::<()>().await;
            drop(ctx);
            Ok(())
        });
        house.schedule(ready);
        let worker = house.worker();
        (cell as Arc<dyn Process>).kill();
        worker.join().expect("a worker does not panic");
        assert_eq!(house.retired(), 1);
    });
}

/// A bound of one and two senders: one of them is refused.
#[test]
fn a_bound_of_one_accepts_one_of_two() {
    loom::model(|| {
        let house = House::new();
        let cell = house.admit_new(1);
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.send(1).is_ok()
        });
        let accepted = cell.send(2).is_ok();
        assert!(accepted ^ sender.join().expect("a sender does not panic"));
        house.clear();
    });
}

/// The same while the process handles what it gets: what was accepted is handled or, once
/// it is killed, counted; what was refused is neither.
#[test]
fn a_refused_message_is_never_handled() {
    bounded(3, || {
        let house = House::new();
        let handled = Handled::default();
        let count = handled.clone();
        let (cell, ready) = house.spawn(1, |mut ctx| async move {
            loop {
                if let Received::Message(_) = ctx.receive().await {
                    count.add();
                }
            }
        });
        house.schedule(ready);
        let worker = house.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.send(1).is_ok()
        });
        let mut accepted = u64::from(cell.send(2).is_ok());
        accepted += u64::from(sender.join().expect("a sender does not panic"));
        (cell as Arc<dyn Process>).kill();
        worker.join().expect("a worker does not panic");
        assert!(accepted >= 1);
        assert_eq!(handled.count() + house.dead_letters(), accepted);
    });
}

/// Whoever has seen what a message did finds its room free.
#[test]
fn the_effect_of_a_message_is_seen_with_its_room() {
    loom::model(|| {
        let house = House::new();
        let effect = Bell::new();
        let bell = Arc::clone(&effect);
        let (cell, ready) = house.spawn(1, |mut ctx| async move {
            for _ in 0..2 {
                if let Received::Message(_) = ctx.receive().await {
                    bell.ring();
                }
            }
            Ok(())
        });
        house.schedule(ready);
        let worker = house.worker();
        assert!(cell.send(1).is_ok());
        effect.wait();
        assert!(cell.send(2).is_ok());
        worker.join().expect("a worker does not panic");
    });
}
