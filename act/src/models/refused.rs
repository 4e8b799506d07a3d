//! A process that its executor refused is put back into its mailbox, against threads that send
//! to it and kill it (rule R7).

use super::checker::{joined, model, thread};
use super::model_host::{LIMITS, ModelActor, ModelHost};
use super::wake_flag::block_on;
use crate::host::ready::Ready;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::observe::watch::watch;
use crate::process::process::Process;
use crate::received::Received;
use krarup_gen::{Reason, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process that was idle and has been scheduled for the first of two messages.
fn scheduled(host: &Arc<ModelHost>, handled: &Arc<AtomicU64>) -> (ModelActor, Ready) {
    let count = Arc::clone(handled);
    let (cell, ready) = host.spawn(UNBOUNDED, |mut ctx| async move {
        while count.load(Ordering::Relaxed) < 2 {
            if let Received::Message(_) = ctx.receive().await {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    assert!(ready.run(&LIMITS).is_none());
    assert!(cell.send(1).is_ok());
    let ready = host.next_ready().expect("a message schedules it");
    (cell, ready)
}

#[test]
fn a_message_sent_while_a_process_is_put_back_is_handled() {
    model(|| {
        let (host, handled) = (ModelHost::new(), Arc::new(AtomicU64::new(0)));
        let (cell, ready) = scheduled(&host, &handled);
        let sender = thread::spawn(move || assert!(cell.send(2).is_ok()));
        let waker = ready.put_back(|| Reason::Normal).expect("it has run and was not killed");
        // The timer that offers it again. The message may already have done so.
        waker.wake();
        joined(sender);
        joined(host.worker());
        let count = handled.load(Ordering::Relaxed);
        assert_eq!((count, host.retired(), host.dead_letters()), (2, 1, 0));
        host.clear();
    });
}

#[test]
fn a_process_that_is_killed_while_it_is_put_back_ends_once() {
    model(|| {
        let (host, handled) = (ModelHost::new(), Arc::new(AtomicU64::new(0)));
        let (cell, ready) = scheduled(&host, &handled);
        let killer = thread::spawn(move || cell.kill());
        if let Err(doomed) = ready.put_back(|| Reason::Normal) {
            assert!(doomed.run(&LIMITS).is_none());
        }
        joined(killer);
        joined(host.worker());
        assert_eq!((host.retired(), host.dead_letters()), (1, 1));
        host.clear();
    });
}

/// A process that has never run ends with the reason that came first.
#[test]
fn a_kill_before_the_refusal_of_a_new_process_is_its_reason() {
    for kills in [false, true] {
        model(move || {
            let host = ModelHost::new();
            let (cell, ready) = host.spawn(UNBOUNDED, |_| async { Ok(()) });
            let end = watch(host.host(), Target::Pid(cell.pid()));
            if kills {
                cell.kill();
            }
            let doomed = ready.put_back(|| Reason::Shutdown).expect_err("it has never run");
            assert!(doomed.run(&LIMITS).is_none());
            let reason = if kills { Reason::Killed } else { Reason::Shutdown };
            assert_eq!(block_on(end).reason, reason);
            host.clear();
        });
    }
}
