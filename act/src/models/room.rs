//! Senders that wait for room in the mailbox of a real process, and room that is kept (rules
//! M5, M6).

use super::checker::{bounded, joined, model, thread};
use super::model_host::{ModelActor, ModelHost};
use super::wake_flag::block_on;
use crate::addressing::address::Address;
use crate::process::process::Process;
use crate::received::Received;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns whether there was a process to take the message.
fn send_or_wait(cell: &ModelActor, message: u32) -> bool {
    block_on(Address::new(Arc::clone(cell)).send_or_wait(message).into_future()).is_ok()
}

/// A process with a bound of one that handles this many messages and counts them.
fn counting(host: &Arc<ModelHost>, messages: u64) -> (ModelActor, Arc<AtomicU64>) {
    let handled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&handled);
    let cell = host.start(1, move |mut ctx| async move {
        while count.load(Ordering::Relaxed) < messages {
            if let Received::Message(_) = ctx.receive().await {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    (cell, handled)
}

/// A sender that finds the mailbox full gets room, whether the process takes the message, parks
/// or looks up.
#[test]
fn a_sender_that_waits_gets_room() {
    bounded(4, || {
        let host = ModelHost::new();
        let (cell, handled) = counting(&host, 2);
        let worker = host.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || send_or_wait(&cell, 1)
        });
        assert!(send_or_wait(&cell, 2));
        assert!(joined(sender));
        joined(worker);
        assert_eq!((handled.load(Ordering::Relaxed), host.dead_letters()), (2, 0));
    });
}

/// A waiting sender is notified of the end of the process. Its message is handled, counted as a
/// dead letter, or given back.
#[test]
fn a_waiting_sender_is_notified_of_the_end() {
    bounded(4, || {
        let host = ModelHost::new();
        let (cell, handled) = counting(&host, 9);
        let worker = host.worker();
        assert!(cell.send(1).is_ok());
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || send_or_wait(&cell, 2)
        });
        (cell as Arc<dyn Process>).kill();
        let sent = joined(sender);
        joined(worker);
        let accepted = 1 + u64::from(sent);
        // A send to a process that has ended adds one dead letter.
        let told = handled.load(Ordering::Relaxed) + host.dead_letters();
        assert!((accepted..=accepted + 1).contains(&told), "{told} of {accepted}");
    });
}

/// A permit keeps the only room, and a sender waits for it. When the permit is returned the
/// sender gets its room, although the process does nothing.
#[test]
fn returned_room_goes_to_the_waiting_sender() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.admit_new(1);
        let permit = Address::new(Arc::clone(&cell)).reserve().expect("room for one");
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || send_or_wait(&cell, 1)
        });
        drop(permit);
        assert!(joined(sender));
        assert_eq!(cell.main_length(), 1, "waiting");
        assert!(cell.send(2).is_err(), "beyond the bound");
        host.clear();
    });
}

/// A sender that stops waiting at the moment it is given room leaves that room to others.
#[test]
fn room_offered_to_a_sender_that_gives_up_is_not_lost() {
    model(|| {
        let host = ModelHost::new();
        let cell = host.admit_new(1);
        let to = Address::new(Arc::clone(&cell));
        let permit = to.reserve().expect("room for one");
        let giving_up = thread::spawn({
            let to = to.clone();
            move || {
                let mut waiting = to.send_or_wait(1).into_future();
                let cx = &mut std::task::Context::from_waker(futures_task::noop_waker_ref());
                waiting.as_mut().poll(cx).is_ready()
            }
        });
        drop(permit);
        let sent = joined(giving_up);
        assert_eq!(cell.send(2).is_ok(), !sent, "room lost");
        host.clear();
    });
}
