//! Two processes that call each other, as a protocol (rule C5). It shows what
//! `process/wait_graph.rs` would miss without the search of a process that parks. The real code
//! is checked in [`super::calls`].

use super::checker::{CheckerGuard, Mutex, bounded, joined, thread};
use super::wake_flag::WakeSignal;
use std::sync::Arc;

/// The values under the lock of a mailbox.
#[derive(Default)]
struct ModelInbox {
    /// The process is parked inside a handler and waits for the answer of the other.
    waits: bool,
    /// Whether the other has sent a request; `None` until that is known.
    request: Option<bool>,
    answered: bool,
}

struct Twin {
    inbox: Mutex<ModelInbox>,
    woken: Arc<WakeSignal>,
    asked: Arc<WakeSignal>,
}

impl Twin {
    fn new() -> Arc<Self> {
        Arc::new(Twin {
            inbox: Mutex::default(),
            woken: WakeSignal::new(),
            asked: WakeSignal::new(),
        })
    }

    fn locked(&self) -> CheckerGuard<'_, ModelInbox> {
        self.inbox.lock()
    }

    fn waits(&self) -> bool {
        self.locked().waits
    }

    /// Makes the process Active if it waits.
    fn wake(&self) {
        let waited = std::mem::take(&mut self.locked().waits);
        if waited {
            self.woken.notify();
        }
    }

    fn request(&self, sent: bool) {
        self.locked().request = Some(sent);
        self.asked.notify();
    }

    fn answer(&self) {
        self.locked().answered = true;
        self.wake();
    }
}

/// Calls the other. Returns whether the call failed.
fn call(myself: &Twin, other: &Twin, looks_when_it_parks: bool) -> bool {
    let too_late = other.waits();
    other.request(!too_late);
    if too_late {
        return true;
    }
    loop {
        let mail = {
            let mut inbox = myself.locked();
            if inbox.answered {
                return false;
            }
            inbox.waits = true;
            inbox.request == Some(true)
        };
        if mail && looks_when_it_parks && other.waits() {
            other.wake();
        }
        myself.woken.wait();
        if !myself.locked().answered && other.waits() {
            return true;
        }
    }
}

/// Calls the other, and answers it after that.
fn live(myself: &Twin, other: &Twin, looks_when_it_parks: bool) -> bool {
    let failed = call(myself, other, looks_when_it_parks);
    loop {
        match myself.locked().request {
            Some(true) => break,
            Some(false) => return failed,
            None => {}
        }
        myself.asked.wait();
    }
    other.answer();
    failed
}

fn meet(looks_when_it_parks: bool) {
    let (a, b) = (Twin::new(), Twin::new());
    let living = thread::spawn({
        let (a, b) = (Arc::clone(&a), Arc::clone(&b));
        move || live(&a, &b, looks_when_it_parks)
    });
    let one = live(&b, &a, looks_when_it_parks);
    let other = joined(living);
    assert!(one != other, "exactly one of the calls fails");
}

#[test]
fn of_two_that_call_each_other_exactly_one_fails() {
    bounded(5, || meet(true));
}

/// Both search before they call, and both too early.
#[test]
#[should_panic(expected = "deadlock")]
fn without_the_search_on_parking_both_callers_wait_for_ever() {
    bounded(5, || meet(false));
}
