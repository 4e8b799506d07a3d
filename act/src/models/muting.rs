//! A process that floods another is muted, and released (rules R1, R2). A lost release shows as a
//! deadlock: both workers wait for a ready process. Nothing is poked here, unless a model says so.

use super::checker::{bounded, joined, model, thread};
use super::model_host::{ModelActor, ModelHost};
use crate::context::Context;
use crate::host::host::Poke;
use crate::lifecycle::in_place::yield_now;
use crate::mailbox::inbox_core::{MailboxPhase, UNBOUNDED};
use crate::mailbox::muted_senders::MutedSender;
use crate::mailbox::push::CHARGE_STEP;
use crate::process::current;
use crate::process::panics::raise;
use crate::process::process::Process;
use krarup_gen::{Priority, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many messages wait for the flooded process.
const WAITING: usize = CHARGE_STEP + 6;

fn fill(cell: &ModelActor) {
    (0..WAITING).for_each(|_| assert!(cell.send(1).is_ok()));
}

/// Overdraws the turn by messages to this process, and has more to do.
async fn flood(receiver: u64) {
    current::charge(1_000, receiver);
    yield_now().await;
}

async fn handle(ctx: &mut Context<u32, u32>, messages: usize) {
    for _ in 0..messages {
        ctx.receive().await;
    }
}

/// The receiver catches up and rests, or ends, while the sender is being muted. `last` is how many
/// messages the receiver expects from the sender after that.
fn a_release_against_a_rest(last: usize) {
    bounded(2, move || {
        let host = ModelHost::until(2);
        let receiver = host.start(UNBOUNDED, move |mut ctx| async move {
            handle(&mut ctx, WAITING + last).await;
            Ok(())
        });
        fill(&receiver);
        let to = Arc::clone(&receiver);
        host.start(UNBOUNDED, move |_ctx| async move {
            flood(to.pid().id()).await;
            (0..last).for_each(|_| assert!(to.send(1).is_ok()));
            Ok(())
        });
        let workers = [host.worker(), host.worker()];
        workers.into_iter().for_each(joined);
        assert_eq!(host.retired(), 2);
        host.clear();
    });
}

#[test]
fn a_receiver_that_rests_releases_the_sender() {
    a_release_against_a_rest(1);
}

#[test]
fn a_receiver_that_ends_releases_the_sender() {
    a_release_against_a_rest(0);
}

/// Each floods the other: at most one of them is muted at a time.
#[test]
fn two_processes_that_flood_each_other_do_not_wait_for_each_other() {
    bounded(2, || {
        let host = ModelHost::until(2);
        let cells: Vec<_> = [(1, 2), (2, 1)]
            .into_iter()
            .map(|(own, other)| {
                let cell = host.start(UNBOUNDED, move |mut ctx| async move {
                    assert_eq!(ctx.pid().id(), own);
                    flood(other).await;
                    handle(&mut ctx, WAITING).await;
                    Ok(())
                });
                fill(&cell);
                cell
            })
            .collect();
        let workers = [host.worker(), host.worker()];
        workers.into_iter().for_each(joined);
        assert_eq!((host.retired(), cells.len()), (2, 2));
        host.clear();
    });
}

/// The receiver never has a turn. What concerns the sender itself makes it ready all the same.
fn a_signal_against_a_rest(signal: fn(&ModelActor)) {
    bounded(3, move || {
        let host = ModelHost::new();
        let (receiver, ready) = host.spawn(UNBOUNDED, |_ctx| async { Ok(()) });
        fill(&receiver);
        let number = receiver.pid().id();
        let sender = host.start(UNBOUNDED, move |mut ctx| async move {
            flood(number).await;
            handle(&mut ctx, 1).await;
            Ok(())
        });
        let worker = host.worker();
        let signalling = thread::spawn({
            let sender = Arc::clone(&sender);
            move || signal(&sender)
        });
        joined(signalling);
        joined(worker);
        assert!(!sender.is_alive());
        drop(ready);
        host.clear();
    });
}

#[test]
fn a_muted_process_handles_what_comes_on_a_control_lane() {
    a_signal_against_a_rest(|sender| assert!(sender.send_control(Priority::High, 1).is_ok()));
}

#[test]
fn a_muted_process_can_be_killed() {
    a_signal_against_a_rest(|sender| Arc::clone(sender).kill());
}

/// A poke that comes before the rest finds nothing to do, so the host pokes until the end.
#[test]
fn a_muted_process_is_poked() {
    bounded(3, || {
        let host = ModelHost::new();
        let (receiver, ready) = host.spawn(UNBOUNDED, |_ctx| async { Ok(()) });
        fill(&receiver);
        let number = receiver.pid().id();
        let (sender, process) = host.spawn(UNBOUNDED, move |_ctx| async move {
            flood(number).await;
            Err(Reason::Shutdown)
        });
        host.host().schedule(process);
        host.settle();
        assert!(sender.is_alive());
        Arc::clone(&sender).poke();
        host.settle();
        assert!(!sender.is_alive());
        drop(ready);
        host.clear();
    });
}

/// A sender of which the receiver has the last handle, and whose destructor panics.
struct PanickingSender(Arc<AtomicU64>);

impl MutedSender for PanickingSender {
    fn unmute(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for PanickingSender {
    fn drop(&mut self) {
        raise("the last handle on a sender");
    }
}

/// Every sender is released, and the receiver goes on, whatever becomes of the handles.
fn all_are_released<F>(alive: bool, body: fn(Context<u32, u32>) -> F)
where
    F: Future<Output = Result<(), Reason>> + Send + 'static,
{
    model(move || {
        let host = ModelHost::new();
        let receiver = host.start(UNBOUNDED, body);
        (0..250).for_each(|_| assert!(receiver.send(1).is_ok()));
        let released = Arc::<AtomicU64>::default();
        for _ in 0..3 {
            assert!(receiver.enter_muted(Arc::new(PanickingSender(Arc::clone(&released)))));
        }
        host.settle();
        assert_eq!((released.load(Ordering::Relaxed), receiver.is_alive()), (3, alive));
        // An idle process does not keep the memory of the line.
        let inbox = receiver.inbox.lock();
        assert!(inbox.phase != MailboxPhase::Idle || !inbox.has_cold());
        drop(inbox);
        if alive {
            Arc::clone(&receiver).kill();
            host.settle();
        }
        assert!(!receiver.is_alive());
        host.clear();
    });
}

#[test]
fn senders_are_released_by_a_receiver_that_goes_on_though_their_destructors_panic() {
    all_are_released(true, |mut ctx| async move {
        handle(&mut ctx, 251).await;
        Ok(())
    });
}

#[test]
fn senders_are_released_by_a_receiver_that_waits_though_their_destructors_panic() {
    all_are_released(true, |_ctx| std::future::pending());
}

#[test]
fn senders_are_released_by_a_receiver_that_yields_though_their_destructors_panic() {
    all_are_released(false, |_ctx| async move {
        for _ in 0..300 {
            yield_now().await;
        }
        Ok(())
    });
}

#[test]
fn senders_are_released_by_a_receiver_that_ends_though_their_destructors_panic() {
    all_are_released(false, |mut ctx| async move {
        handle(&mut ctx, 1).await;
        Ok(())
    });
}
