//! A real process, its mailbox and its turns, against threads that send to it and wake it
//! (rules R1, R2, M1, M5).

use super::checker::{Cell, bounded, joined, model, thread};
use super::model_host::{ModelActor, ModelHost, ONE_BY_ONE};
use super::wake_flag::WakeSignal;
use crate::context::Context;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::process::process::Process;
use crate::received::Received;
use krarup_gen::{Priority, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of messages that a process has handled.
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

/// Sends these messages from another thread.
fn sending(cell: &ModelActor, messages: impl IntoIterator<Item = u32>) -> thread::JoinHandle<()> {
    let cell = Arc::clone(cell);
    let messages: Vec<_> = messages.into_iter().collect();
    thread::spawn(move || messages.into_iter().for_each(|n| assert!(cell.send(n).is_ok())))
}

/// Two senders against a turn that parks. The process receives both messages and is never
/// queued twice.
#[test]
fn every_message_that_was_accepted_is_handled() {
    model(|| {
        let host = ModelHost::new();
        let handled = Handled::default();
        let count = handled.clone();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            while count.count() < 2 {
                if let Received::Message(_) = ctx.receive().await {
                    count.add();
                }
            }
            Ok(())
        });
        let worker = host.worker();
        let sender = sending(&cell, [1]);
        assert!(cell.send(2).is_ok());
        joined(sender);
        joined(worker);
        assert_eq!((handled.count(), host.retired(), host.dead_letters()), (2, 1, 0));
    });
}

/// The same with the receive function of actors.
#[test]
fn every_message_reaches_the_loop_of_an_actor() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            ctx.next_message().await;
            ctx.next_message().await;
            Ok(())
        });
        let worker = host.worker();
        let sender = sending(&cell, [1]);
        assert!(cell.send(2).is_ok());
        joined(sender);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// As above, with one message on the System lane. A flag that is read without the lock
/// announces it.
#[test]
fn every_command_is_handled() {
    model(|| {
        let host = ModelHost::new();
        let handled = Handled::default();
        let count = handled.clone();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            while count.count() < 2 {
                if let Received::Message(_) | Received::Command(_) = ctx.receive().await {
                    count.add();
                }
            }
            Ok(())
        });
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(cell.send_control(Priority::High, 1).is_ok())
        });
        assert!(cell.send(2).is_ok());
        joined(sender);
        joined(worker);
        assert_eq!((handled.count(), host.retired(), host.dead_letters()), (2, 1, 0));
    });
}

/// A process that waits for one message alone gets it, whatever comes before it or beside it, and is not polled for
/// ever because of that (rule M14).
#[test]
fn m14_the_wanted_message_reaches_a_process_that_waits_for_it_alone() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            assert_eq!(ctx.receive_where(|number| *number == 2).await, Some(2));
            Ok(())
        });
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            // The process may have ended already.
            move || drop(cell.send_control(Priority::High, 1))
        });
        assert!(cell.send(3).is_ok() && cell.send(2).is_ok());
        joined(sender);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 2));
    });
}

/// A stop ends that wait, whenever it comes.
#[test]
fn m14_a_stop_ends_the_wait_for_one_message_alone() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            ctx.stop_in_order();
            assert_eq!(ctx.receive_where(|number| *number == 2).await, None);
            assert!(matches!(ctx.receive().await, Received::Stop(Reason::Shutdown)));
            Ok(())
        });
        let worker = host.worker();
        (cell as Arc<dyn Process>).request_stop(Reason::Shutdown);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// A command reaches a process that listens only to the control lanes, whenever it arrives. A
/// message on Main stays there.
#[test]
fn a_command_reaches_a_process_that_receives_control_lanes_only() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            assert!(matches!(ctx.receive_control().await, Received::Command(1)));
            Ok(())
        });
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(cell.send_control(Priority::High, 1).is_ok())
        });
        // The process may have ended already.
        let _ = cell.send(2);
        joined(sender);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 1));
    });
}

/// A message that arrives while a process listens only to the control lanes wakes it as soon as
/// it listens to all lanes, in either order of message and command.
#[test]
fn a_message_waits_while_a_process_receives_control_lanes_only() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            assert!(matches!(ctx.receive_control().await, Received::Command(1)));
            assert!(matches!(ctx.receive().await, Received::Message(2)));
            Ok(())
        });
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(cell.send_control(Priority::High, 1).is_ok())
        });
        assert!(cell.send(2).is_ok());
        joined(sender);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// Three senders find a process idle. It is queued once.
#[test]
fn three_senders_queue_an_idle_process_once() {
    bounded(5, || {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            for _ in 0..3 {
                ctx.receive().await;
            }
            Ok(())
        });
        host.settle();
        let before = host.scheduled();
        let senders = [sending(&cell, [1]), sending(&cell, [2])];
        assert!(cell.send(3).is_ok());
        senders.into_iter().for_each(joined);
        assert_eq!(host.scheduled() - before, 1, "queued");
        host.settle();
        assert_eq!(host.retired(), 1);
    });
}

/// Receives this many messages and counts them in a value that belongs to the process alone.
async fn counting(mut ctx: Context<u32, u32>, messages: u32) {
    let count = Cell::new(0);
    while count.get() < messages {
        if let Received::Message(_) = ctx.receive().await {
            count.set(count.get() + 1);
        }
    }
}

/// Two workers run one process alternately, one message at a time. Each turn sees what the turn
/// before wrote, and no two turns overlap.
#[test]
fn turns_on_two_workers_follow_each_other() {
    bounded(4, || {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |ctx| async move {
            counting(ctx, 2).await;
            Ok(())
        });
        let workers = [host.worker_within(ONE_BY_ONE), host.worker_within(ONE_BY_ONE)];
        assert!(cell.send(1).is_ok());
        assert!(cell.send(2).is_ok());
        workers.into_iter().for_each(joined);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// Two senders of two messages each. All messages arrive, and those of one sender keep their
/// order.
#[test]
fn messages_of_one_sender_keep_their_order() {
    bounded(4, || {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            let mut last = [0, 0];
            for _ in 0..4 {
                let Received::Message(n) = ctx.receive().await else { panic!("a message") };
                let sender = usize::from(n > 10);
                assert!(n > last[sender], "out of order");
                last[sender] = n;
            }
            assert_eq!(last, [2, 12]);
            Ok(())
        });
        let worker = host.worker();
        let sender = sending(&cell, [1, 2]);
        assert!(cell.send(11).is_ok());
        assert!(cell.send(12).is_ok());
        joined(sender);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// A bound of one and two senders: one message is refused.
#[test]
fn a_bound_of_one_accepts_one_of_two() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.admit_new(1);
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.send(1).is_ok()
        });
        let accepted = cell.send(2).is_ok();
        assert!(accepted ^ joined(sender));
        host.clear();
    });
}

/// A sender that has seen the effect of a message finds its room free.
#[test]
fn the_effect_of_a_message_is_seen_with_its_room() {
    model(|| {
        let host = ModelHost::new();
        let effect = WakeSignal::new();
        let signal = Arc::clone(&effect);
        let cell = host.start(1, |mut ctx| async move {
            for _ in 0..2 {
                if let Received::Message(_) = ctx.receive().await {
                    signal.notify();
                }
            }
            Ok(())
        });
        let worker = host.worker();
        assert!(cell.send(1).is_ok());
        effect.wait();
        assert!(cell.send(2).is_ok());
        joined(worker);
    });
}

#[cfg(loom)]
mod broken {
    use super::*;
    use crate::models::checker::Mutex;
    use crate::sync::{AtomicBool, Ordering as Order};

    /// A flag says whether a worker runs the process, and two workers check it before either
    /// sets it.
    #[test]
    #[should_panic(expected = "two are in it")]
    fn a_process_guarded_by_a_flag_has_two_turns_at_once() {
        #[derive(Default)]
        struct FlaggedProcess {
            taken: AtomicBool,
            inside: AtomicBool,
        }

        fn turn(process: &FlaggedProcess) {
            if !process.taken.load(Order::SeqCst) {
                process.taken.store(true, Order::SeqCst);
                assert!(!process.inside.swap(true, Order::SeqCst), "two are in it");
                process.inside.store(false, Order::SeqCst);
                process.taken.store(false, Order::SeqCst);
            }
        }

        model(|| {
            let process = Arc::new(FlaggedProcess::default());
            let other = thread::spawn({
                let process = Arc::clone(&process);
                move || turn(&process)
            });
            turn(&process);
            joined(other);
        });
    }

    /// Every sender that finds the process idle queues it, and it stays idle until it runs.
    #[test]
    #[should_panic(expected = "queued twice")]
    fn a_sender_that_leaves_the_process_in_the_mailbox_queues_it_twice() {
        model(|| {
            let queue = Arc::new(Mutex::new(0));
            let idle = Arc::new(AtomicBool::new(true));
            let send = {
                let queue = Arc::clone(&queue);
                move || {
                    if idle.load(Order::SeqCst) {
                        *queue.lock() += 1;
                        idle.store(false, Order::SeqCst);
                    }
                }
            };
            let sender = thread::spawn(send.clone());
            send();
            joined(sender);
            assert!(*queue.lock() <= 1, "queued twice");
        });
    }
}
