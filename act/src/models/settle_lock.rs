//! The lock of a slot: who settles it, and who reads without it. In the other models of slots its waiting is
//! loom's own; here it runs as it is.

use super::checker::{joined, model, thread};
use crate::settle_lock::spinning::SettleLock;
use crate::sync::UnsafeCell;
use std::sync::Arc;

struct Contended {
    lock: SettleLock,
    contents: UnsafeCell<u32>,
}

// SAFETY: the models touch the contents under the lock, or after it was settled by the only other thread.
#[allow(unsafe_code, reason = "shows to the checkers who touches the contents when")]
unsafe impl Sync for Contended {}

impl Contended {
    fn new() -> Arc<Self> {
        Arc::new(Contended { lock: SettleLock::new(), contents: UnsafeCell::new(0) })
    }

    /// Adds to the contents, and returns them.
    #[allow(unsafe_code, reason = "as above")]
    fn add(&self, value: u32) -> u32 {
        // SAFETY: as above.
        unsafe {
            *self.contents.get() += value;
            *self.contents.get()
        }
    }
}

#[test]
fn two_threads_never_hold_it_at_once() {
    model(|| {
        let contended = Contended::new();
        let adding = thread::spawn({
            let contended = Arc::clone(&contended);
            move || {
                let held = contended.lock.lock();
                assert!(held.is_some());
                contended.add(1);
            }
        });
        let held = contended.lock.lock();
        contended.add(1);
        drop(held);
        joined(adding);
        assert_eq!(contended.add(0), 2);
    });
}

#[test]
fn what_was_done_before_it_was_settled_is_seen_without_it() {
    model(|| {
        let contended = Contended::new();
        let settling = thread::spawn({
            let contended = Arc::clone(&contended);
            move || {
                let held = contended.lock.lock().expect("not settled yet");
                contended.add(1);
                held.settle();
            }
        });
        let first = match contended.lock.lock() {
            Some(held) => {
                let first = contended.add(1);
                drop(held);
                first
            }
            None => contended.add(1),
        };
        if contended.lock.is_settled() {
            assert_eq!(contended.add(0), 2, "both have added");
            assert!(contended.lock.lock().is_none());
            contended.lock.reopen();
            assert!(contended.lock.lock().is_some());
        }
        assert!(matches!(first, 1 | 2));
        joined(settling);
    });
}
