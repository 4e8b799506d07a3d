//! Senders that wait for room in a real process's mailbox (rule M6), and what makes a process
//! look up: suspensions (rule X5).

use super::house::{House, Inhabitant};
use super::{Bell, bounded};
use crate::address::Address;
use crate::host::Host;
use crate::mailbox::inbox::UNBOUNDED;
use crate::mailbox::permit::Waiter;
use crate::process::process::Process;
use crate::received::Received;
use crate::reply::Reply;
use crate::slot::slot;
use krarup_gen::SendError;
use loom::thread;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let bell = Bell::new();
    let waker = bell.waker();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        bell.wait();
    }
}

/// What `send_or_wait` does, without its look at who runs on this thread: all threads of a
/// model are one. Whether there was a process to take the message.
fn send_or_wait(cell: &Inhabitant, message: u32) -> bool {
    let to = Address::new(Arc::clone(cell));
    let (sender, place) = slot();
    let waiter = Arc::new(Waiter::new(sender));
    let permit = match to.reserve_or_wait(&waiter) {
        Ok(permit) => Some(permit),
        Err(SendError::NoProcess(())) => None,
        Err(_) => block_on(place),
    };
    permit.map(|permit| permit.send(message)).is_some()
}

/// A process with room for one that handles this many messages, and counts them.
fn counting(house: &Arc<House>, messages: u64) -> (Inhabitant, Arc<AtomicU64>) {
    let handled = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&handled);
    let (cell, ready) = house.spawn(1, move |mut ctx| async move {
        while count.load(Ordering::Relaxed) < messages {
            if let Received::Message(_) = ctx.receive().await {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    house.schedule(ready);
    (cell, handled)
}

/// A sender that finds the mailbox full gets room, whatever the process does meanwhile: it
/// takes the message, parks, or looks up.
#[test]
fn a_sender_that_waits_gets_room() {
    bounded(3, || {
        let house = House::new();
        let (cell, handled) = counting(&house, 2);
        let worker = house.worker();
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || send_or_wait(&cell, 1)
        });
        assert!(send_or_wait(&cell, 2));
        assert!(sender.join().expect("a sender does not panic"));
        worker.join().expect("a worker does not panic");
        assert_eq!((handled.load(Ordering::Relaxed), house.dead_letters()), (2, 0));
    });
}

/// A sender that waits hears of the end of the process, and its message is handled, a dead
/// letter, or given back.
#[test]
fn a_sender_that_waits_hears_of_the_end() {
    bounded(3, || {
        let house = House::new();
        let (cell, handled) = counting(&house, 9);
        let worker = house.worker();
        assert!(cell.send(1).is_ok());
        let sender = thread::spawn({
            let cell = Arc::clone(&cell);
            move || send_or_wait(&cell, 2)
        });
        (cell as Arc<dyn Process>).kill();
        let sent = sender.join().expect("a sender does not panic");
        worker.join().expect("a worker does not panic");
        let accepted = 1 + u64::from(sent);
        // A send to the dead is one dead letter more.
        let told = handled.load(Ordering::Relaxed) + house.dead_letters();
        assert!((accepted..=accepted + 1).contains(&told), "{told} of {accepted}");
    });
}

/// A suspension that is taken back while the process parks: the process goes on.
#[test]
fn who_is_resumed_goes_on() {
    loom::model(|| {
        let house = House::new();
        let (cell, ready) = house.spawn(UNBOUNDED, |mut ctx| async move {
            while !matches!(ctx.receive().await, Received::Message(_)) {}
            Ok(())
        });
        let (reply, _answer) = Reply::new(None);
        (Arc::clone(&cell) as Arc<dyn Process>).suspend(reply);
        house.schedule(ready);
        let worker = house.worker();
        let resuming = thread::spawn({
            let cell = Arc::clone(&cell) as Arc<dyn Process>;
            move || assert!(cell.resume())
        });
        assert!(cell.send(1).is_ok());
        resuming.join().expect("resuming does not panic");
        worker.join().expect("a worker does not panic");
        assert_eq!((house.retired(), house.dead_letters()), (1, 0));
    });
}
