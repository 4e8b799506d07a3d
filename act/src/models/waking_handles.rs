//! The handles that can wake a process: who frees what they share, and what it has seen by then.

use super::checker::{joined, model, thread};
use crate::process::waker::{UsedHandle, Wakeable, WakingCount, WakingHandle};
use crate::sync::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What two threads touch by their handles, each its own half, and who frees it touches both.
struct SharedHalves {
    count: WakingCount,
    halves: [UnsafeCell<u32>; 2],
    freed: Arc<AtomicU32>,
    /// Whether who uses a handle up has the process in hand, and with it the first handle.
    is_parked: bool,
}

// SAFETY: a thread touches its own half while it has a handle; who has the last handle touches both.
#[allow(unsafe_code, reason = "shows to the checkers who touches the contents when")]
unsafe impl Sync for SharedHalves {}

// SAFETY: the count is a field, and nothing else uses it.
#[allow(unsafe_code, reason = "the contract of the trait")]
unsafe impl Wakeable for SharedHalves {
    fn waking(&self) -> &WakingCount {
        &self.count
    }

    /// Only one thread of a model wakes without the process, and one with it.
    fn wake(&self, used_up: Option<UsedHandle<'_>>) {
        let has_process = self.is_parked && used_up.is_some();
        self.touch(usize::from(!has_process));
        if let Some(handle) = used_up {
            handle.spend(has_process);
        }
    }
}

impl SharedHalves {
    #[allow(unsafe_code, reason = "as above")]
    fn touch(&self, half: usize) -> u32 {
        // SAFETY: as above.
        unsafe {
            *self.halves[half].get() += 1;
            *self.halves[half].get()
        }
    }
}

impl Drop for SharedHalves {
    fn drop(&mut self) {
        let touched = self.touch(0) + self.touch(1);
        assert_eq!(self.freed.fetch_add(touched, Ordering::Relaxed), 0, "it is freed once");
    }
}

/// The first handle, and what tells how often the halves were touched once they are freed.
fn first() -> (WakingHandle<SharedHalves>, Arc<AtomicU32>) {
    first_of(false)
}

fn first_of(is_parked: bool) -> (WakingHandle<SharedHalves>, Arc<AtomicU32>) {
    let freed = Arc::new(AtomicU32::new(0));
    let shared = SharedHalves {
        count: WakingCount::new(),
        halves: [UnsafeCell::new(0), UnsafeCell::new(0)],
        freed: Arc::clone(&freed),
        is_parked,
    };
    (WakingHandle::first(shared), freed)
}

#[test]
fn the_last_handle_frees_what_it_wakes_and_has_seen_what_was_done_with_the_others() {
    model(|| {
        let (own, freed) = first();
        let waker = own.to_waker();
        let waking = thread::spawn(move || waker.wake());
        own.touch(0);
        drop(own);
        joined(waking);
        assert_eq!(freed.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn a_handle_made_from_another_keeps_what_it_wakes() {
    model(|| {
        let (own, freed) = first();
        let waker = own.to_waker();
        let waking = thread::spawn(move || {
            let second = waker.clone();
            drop(waker);
            second.wake_by_ref();
        });
        own.touch(0);
        drop(own);
        joined(waking);
        assert_eq!(freed.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn the_first_handle_alone_frees_what_it_wakes_when_the_others_are_gone() {
    model(|| {
        let (own, freed) = first();
        let waker = own.to_waker();
        // Not used up: a handle that is spent may still be there when no other one can wake.
        let waking = thread::spawn(move || waker.wake_by_ref());
        if own.others() != 0 {
            // loom remembers one access of a thread, and the end of the other handle reads the count before it counts: of
            // one read here alone it would try one order.
            thread::yield_now();
        }
        if own.others() == 0 {
            own.touch(0);
            drop(own);
            assert_eq!(freed.load(Ordering::Relaxed), 4);
            joined(waking);
        } else {
            joined(waking);
            assert_eq!(own.others(), 0);
        }
    });
}

/// Who wakes has the process too, while another handle is dropped.
#[test]
fn a_handle_that_is_spent_with_the_process_in_hand_passes_on_what_was_done_with_the_others() {
    model(|| {
        let (own, freed) = first_of(true);
        let (mine, other) = (own.to_waker(), own.to_waker());
        let dropping = thread::spawn(move || other.wake_by_ref());
        mine.wake();
        drop(own);
        joined(dropping);
        assert_eq!(freed.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn a_strong_handle_keeps_what_no_handle_wakes_any_more() {
    model(|| {
        let (own, freed) = first();
        let kept = Arc::clone(&own);
        let waker = own.to_waker();
        let waking = thread::spawn(move || waker.wake());
        drop(own);
        joined(waking);
        assert_eq!(freed.load(Ordering::Relaxed), 0);
        drop(kept);
        assert_eq!(freed.load(Ordering::Relaxed), 3);
    });
}
