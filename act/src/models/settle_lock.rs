//! The lock of a slot: who settles it, and who reads without it. In the other models of slots its waiting is
//! loom's own; here it runs as it is.

use super::checker::{joined, model, thread};
use crate::settle_lock::spinning::SettleLock;
use crate::sync::UnsafeCell;
use std::sync::Arc;

struct Guarded {
    lock: SettleLock,
    contents: UnsafeCell<u32>,
}

// SAFETY: the models touch the contents under the lock, or after it was settled by the only other thread.
#[allow(unsafe_code, reason = "shows to the checkers who touches the contents when")]
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Guarded { lock: SettleLock::new(), contents: UnsafeCell::new(0) })
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
        let guarded = Guarded::new();
        let adding = thread::spawn({
            let guarded = Arc::clone(&guarded);
            move || {
                let held = guarded.lock.lock();
                assert!(held.is_some());
                guarded.add(1);
            }
        });
        let held = guarded.lock.lock();
        guarded.add(1);
        drop(held);
        joined(adding);
        assert_eq!(guarded.add(0), 2);
    });
}

#[test]
fn what_was_done_before_it_was_settled_is_seen_without_it() {
    model(|| {
        let guarded = Guarded::new();
        let settling = thread::spawn({
            let guarded = Arc::clone(&guarded);
            move || {
                let held = guarded.lock.lock().expect("not settled yet");
                guarded.add(1);
                held.settle();
            }
        });
        let first = match guarded.lock.lock() {
            Some(held) => {
                let first = guarded.add(1);
                drop(held);
                first
            }
            None => guarded.add(1),
        };
        if guarded.lock.is_settled() {
            assert_eq!(guarded.add(0), 2, "both have added");
            assert!(guarded.lock.lock().is_none());
            guarded.lock.reopen();
            assert!(guarded.lock.lock().is_some());
        }
        assert!(matches!(first, 1 | 2));
        joined(settling);
    });
}
