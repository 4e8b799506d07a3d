//! Suspensions of a real process (rule X5). A suspended process handles nothing, and continues
//! when it has been resumed as often as it was suspended.

use super::checker::{bounded, joined, model, thread};
use super::model_host::{ModelActor, ModelHost};
use super::wake_flag::block_on;
use crate::calls::reply::Reply;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::process::process::Process;
use crate::received::Received;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process that ends after this many messages and counts them.
fn counting(host: &Arc<ModelHost>, messages: u64) -> (ModelActor, Arc<AtomicU64>) {
    let handled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&handled);
    let cell = host.start(UNBOUNDED, move |mut ctx| async move {
        while count.load(Ordering::Relaxed) < messages {
            if let Received::Message(_) = ctx.receive().await {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    (cell, handled)
}

fn resume(cell: &ModelActor) -> bool {
    (Arc::clone(cell) as Arc<dyn Process>).resume()
}

/// A suspension is taken back while the process parks. The process continues.
#[test]
fn a_resumed_process_continues() {
    model(|| {
        let host = ModelHost::new();
        let (cell, _) = counting(&host, 1);
        let (reply, _answer) = Reply::new(None);
        (Arc::clone(&cell) as Arc<dyn Process>).suspend(reply);
        let worker = host.worker();
        let resuming = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(resume(&cell))
        });
        assert!(cell.send(1).is_ok());
        joined(resuming);
        joined(worker);
        assert_eq!((host.retired(), host.dead_letters()), (1, 0));
    });
}

/// A suspension against a message and the turn that may be handling it. Once the suspension is
/// in effect no message is handled; after the resumption all are.
fn a_suspension(preemptions: usize, resumes: impl Fn(&ModelActor) + Send + Sync + Copy + 'static) {
    bounded(preemptions, move || {
        let host = ModelHost::new();
        let (cell, handled) = counting(&host, 2);
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || assert!(cell.send(1).is_ok())
        });
        let (reply, answer) = Reply::new(None);
        (Arc::clone(&cell) as Arc<dyn Process>).suspend(reply);
        assert_eq!(block_on(answer), Some(Ok(())));
        let before = handled.load(Ordering::Relaxed);
        resumes(&cell);
        assert!(cell.send(2).is_ok());
        joined(sender);
        assert_eq!(handled.load(Ordering::Relaxed), before, "handled though suspended");
        assert!(resume(&cell) && !resume(&cell));
        joined(worker);
        assert_eq!((handled.load(Ordering::Relaxed), host.dead_letters()), (2, 0));
    });
}

#[test]
fn a_suspended_process_handles_nothing() {
    a_suspension(3, |_| {});
}

/// Two suspensions, one of which is taken back. The process still handles nothing.
#[test]
fn a_process_suspended_twice_and_resumed_once_handles_nothing() {
    a_suspension(2, |cell| {
        let (reply, answer) = Reply::new(None);
        (Arc::clone(cell) as Arc<dyn Process>).suspend(reply);
        assert_eq!(block_on(answer), Some(Ok(())));
        assert!(resume(cell));
    });
}

#[cfg(loom)]
mod broken {
    use super::*;

    /// The caller does not wait until the suspension is in effect.
    #[test]
    #[should_panic(expected = "handled though suspended")]
    fn a_suspension_that_is_not_waited_for_comes_too_late() {
        bounded(3, || {
            let host = ModelHost::new();
            let (cell, handled) = counting(&host, 1);
            assert!(cell.send(1).is_ok());
            let worker = host.worker();
            let (reply, _answer) = Reply::new(None);
            (Arc::clone(&cell) as Arc<dyn Process>).suspend(reply);
            let before = handled.load(Ordering::Relaxed);
            let seen = thread::spawn(move || handled.load(Ordering::Relaxed));
            let after = joined(seen);
            resume(&cell);
            joined(worker);
            assert_eq!(after, before, "handled though suspended");
        });
    }
}
