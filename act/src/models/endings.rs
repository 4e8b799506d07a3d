//! The end of a real process. It happens once, whatever causes it and in whatever order, and no
//! message disappears (rules D3, D5, D7, M5).

use super::checker::{bounded, joined, model, thread};
use super::model_host::{ModelActor, ModelHost};
use super::wake_flag::block_on;
use crate::actor::Actor;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::lifecycle::spawn::Spawn;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::observe::watch::watch;
use crate::process::process::{Process, Via};
use crate::received::Received;
use krarup_gen::{CallError, Exit, Pid, Reason, Result, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Default)]
struct EndCount(Arc<AtomicU64>);

impl EndCount {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A process that handles messages. With `ends` it ends after the first one.
fn handling(host: &Arc<ModelHost>, bound: u32, ends: bool) -> (ModelActor, EndCount) {
    let handled = EndCount::default();
    let count = handled.clone();
    let cell = host.start(bound, move |mut ctx| async move {
        loop {
            if let Received::Message(_) = ctx.receive().await {
                count.add();
                if ends {
                    return Ok(());
                }
            }
        }
    });
    (cell, handled)
}

/// A kill, a message and the process's own end, in any order. The process ends once, and the
/// message is handled, or is dropped and counted.
#[test]
fn a_process_ends_once_and_no_message_disappears() {
    for ends_by_itself in [false, true] {
        model(move || {
            let host = ModelHost::new();
            let (cell, handled) = handling(&host, UNBOUNDED, ends_by_itself);
            let worker = host.worker();
            let sender = thread::spawn({
                let cell = Arc::clone(&cell);
                move || drop(cell.send(1))
            });
            (cell as Arc<dyn Process>).kill();
            joined(sender);
            joined(worker);
            assert_eq!((handled.get() + host.dead_letters(), host.retired()), (1, 1));
        });
    }
}

/// A kill ends a process that waits inside a handler.
#[test]
fn a_kill_wakes_a_process_that_waits() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.start(UNBOUNDED, |ctx| async move {
            std::future::pending::<()>().await;
            drop(ctx);
            Ok(())
        });
        let worker = host.worker();
        (cell as Arc<dyn Process>).kill();
        joined(worker);
        assert_eq!(host.retired(), 1);
    });
}

/// A kill that arrives while a message is handled takes effect before the next message.
#[test]
fn no_message_is_handled_after_a_kill() {
    model(|| {
        let host = ModelHost::new();
        let handled = EndCount::default();
        let count = handled.clone();
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            loop {
                ctx.receive().await;
                count.add();
                ctx.process().kill();
            }
        });
        assert!(cell.send(1).is_ok());
        let worker = host.worker();
        let sent = u64::from(cell.send(2).is_ok());
        joined(worker);
        // A message to a process that has already ended is a dead letter too.
        assert_eq!((handled.get(), host.dead_letters()), (1, 1), "of {sent} more");
    });
}

/// A bound of one, two senders and a kill. An accepted message is handled or counted; a refused
/// one is neither.
#[test]
fn a_refused_message_is_never_handled() {
    bounded(4, || {
        let host = ModelHost::new();
        let (cell, handled) = handling(&host, 1, false);
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.send(1).is_ok()
        });
        let mut accepted = u64::from(cell.send(2).is_ok());
        accepted += u64::from(joined(sender));
        (cell as Arc<dyn Process>).kill();
        joined(worker);
        assert!(accepted >= 1);
        assert_eq!(handled.get() + host.dead_letters(), accepted);
    });
}

/// An actor that fails at every message. It counts how often it terminates and is dropped.
struct Mortal {
    terminated: EndCount,
    dropped: EndCount,
}

impl Actor for Mortal {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Err(Reason::error("failed"))
    }

    async fn terminate(&mut self, _: &mut Context<u32>, _: &Reason) {
        self.terminated.add();
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        self.dropped.add();
    }
}

fn kill(process: Arc<dyn Process>) {
    process.kill();
}

fn stop(process: Arc<dyn Process>) {
    process.request_stop(Reason::Shutdown);
}

fn signal(process: Arc<dyn Process>) {
    let exit = Exit { pid: Pid::local(99, 1), reason: Reason::error("signalled") };
    process.exit_signal(exit, Via::Signal);
}

/// Two causes of an end at once, with a failure of the process as the third. The process ends
/// once; its monitors receive one notice with one of the reasons; its state is dropped once and
/// terminates at most once.
fn two_causes(one: fn(Arc<dyn Process>), other: fn(Arc<dyn Process>), fails: bool) {
    bounded(4, move || {
        let host = ModelHost::new();
        let (terminated, dropped) = (EndCount::default(), EndCount::default());
        let mortal = Mortal { terminated: terminated.clone(), dropped: dropped.clone() };
        let address = Spawn::outside(host.host(), move || mortal).start().expect("a process");
        let end = watch(host.host(), Target::Pid(address.pid()));
        let worker = host.worker();
        let cause = thread::spawn({
            let process = address.process();
            move || one(process)
        });
        if fails {
            let _ = address.send(1);
        }
        other(address.process());
        joined(cause);
        joined(worker);
        let reason = block_on(end).reason;
        assert!(
            matches!(reason, Reason::Killed | Reason::Shutdown)
                || [Reason::error("failed"), Reason::error("signalled")]
                    .iter()
                    .any(|known| known.to_string() == reason.to_string()),
            "{reason}"
        );
        assert_eq!((host.retired(), dropped.get()), (1, 1), "ends");
        assert!(terminated.get() <= 1, "terminated twice");
        assert_eq!(host.timers(), 0);
        host.clear();
    });
}

#[test]
fn a_kill_a_stop_and_a_failure_end_a_process_once() {
    two_causes(kill, stop, true);
}

#[test]
fn a_signal_and_a_stop_end_a_process_once() {
    two_causes(signal, stop, false);
}

#[test]
fn two_stops_and_a_failure_end_a_process_once() {
    two_causes(stop, stop, true);
}

/// Each stage of an end is contained. The host panics when a name is to be freed, and again
/// when subscribers are to be notified; still the current call fails, the monitor fires, and
/// the worker lives on.
#[test]
fn an_end_completes_although_its_host_panics() {
    model(|| {
        let host = ModelHost::failing();
        let (token, answer) = Reply::<u32>::new(None);
        let cell = host.start(UNBOUNDED, |mut ctx| async move {
            ctx.receive().await;
            drop((ctx, token));
            Err(Reason::error("failed"))
        });
        let end = watch(host.host(), Target::Pid(cell.pid()));
        assert!(cell.send(1).is_ok());
        host.settle();
        let failed = CallError::Terminated { to: cell.pid(), reason: Reason::error("failed") };
        assert_eq!(block_on(answer), Some(Err(Box::new(failed))));
        assert_eq!(block_on(end).reason, Reason::error("failed"));
        assert!(!cell.is_alive());
        host.clear();
    });
}

/// An end that is decided in two steps. In the real code the owner of the process decides it.
#[cfg(loom)]
mod broken {
    use super::*;
    use crate::sync::{AtomicBool, Ordering as Order};

    /// A killing thread checks whether the process has ended, and then ends it itself.
    #[derive(Default)]
    struct Doubtful {
        ended: AtomicBool,
        terminated: EndCount,
    }

    impl Doubtful {
        fn end(&self) {
            if !self.ended.load(Order::SeqCst) {
                self.ended.store(true, Order::SeqCst);
                self.terminated.add();
            }
        }
    }

    #[test]
    #[should_panic(expected = "terminated twice")]
    fn an_end_decided_in_two_steps_happens_twice() {
        model(|| {
            let process = Arc::new(Doubtful::default());
            let killing = thread::spawn({
                let process = Arc::clone(&process);
                move || process.end()
            });
            process.end();
            joined(killing);
            assert!(process.terminated.get() <= 1, "terminated twice");
        });
    }
}
