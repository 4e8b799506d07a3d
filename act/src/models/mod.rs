//! Models of the places where an interleaving could lose something: a mailbox and its
//! process ([`process`]), one that nobody will run ([`refused`]), senders that wait for room in it
//! ([`room`]), a reply on its way
//! ([`slot`]), calls in a cycle ([`waits`]), links and monitors ([`bonds`]).
//!
//! The code that runs in them is the real one. What it would lose without one of its
//! lines is shown beside it by copies that lack that line, and must fail ([`mailbox`] for
//! a process and its mailbox). A lost wake-up shows as a deadlock: everybody waits.

mod bonds;
mod house;
mod mailbox;
mod process;
mod refused;
mod room;
mod slot;
mod waits;

use futures_task::{ArcWake, WakerRef, waker_ref};
use loom::model::Builder;
use loom::sync::{Condvar, Mutex};
use std::sync::Arc;

/// Runs a model in every order with at most this many preemptions: for one that has too
/// many orders.
fn bounded(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What one thread tells another, once: a wake-up, or anything else.
struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Bell { rung: Mutex::new(false), rings: Condvar::new() })
    }

    fn ring(&self) {
        *self.rung.lock().expect("nothing panics under a lock") = true;
        self.rings.notify_all();
    }

    /// Waits for a ring, which is over then.
    fn wait(&self) {
        let mut rung = self.rung.lock().expect("nothing panics under a lock");
        while !*rung {
            rung = self.rings.wait(rung).expect("nothing panics under a lock");
        }
        *rung = false;
    }

    /// Waking rings.
    fn waker(self: &Arc<Self>) -> WakerRef<'_> {
        waker_ref(self)
    }
}

impl ArcWake for Bell {
    fn wake_by_ref(bell: &Arc<Self>) {
        bell.ring();
    }
}
