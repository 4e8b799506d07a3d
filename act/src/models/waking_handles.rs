//! The handles that can wake a process: who frees what they share, and what it has seen by then.

use super::checker::{joined, model, thread};
use crate::process::current;
use crate::process::waker::{
    NotedHandle, UsedHandle, UsedNoted, Wakeable, WakingCount, WakingHandle,
};
use crate::sync::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;

/// What two threads touch by their handles, each its own half, and who frees it touches both.
struct SharedHalves {
    count: WakingCount,
    noted: NotedHandle,
    halves: [UnsafeCell<u32>; 2],
    freed: Arc<AtomicU32>,
    /// Whether who wakes has the process in hand, and with it its own handle.
    is_parked: bool,
}

// SAFETY: a thread touches its own half while it has a handle; who has the last handle touches both.
#[allow(unsafe_code, reason = "shows to the checkers who touches the contents when")]
unsafe impl Sync for SharedHalves {}

// SAFETY: both are fields, and nothing else uses them.
#[allow(unsafe_code, reason = "the contract of the trait")]
unsafe impl Wakeable for SharedHalves {
    fn waking(&self) -> &WakingCount {
        &self.count
    }

    fn noted_handle(&self) -> &NotedHandle {
        &self.noted
    }

    /// Only one thread of a model wakes without the process.
    fn wake(&self, used_up: Option<UsedHandle<'_>>) {
        self.touch(1);
        if let Some(handle) = used_up {
            handle.spend();
        }
    }

    /// Who wakes has the process, if it is parked: here, in the same thread.
    unsafe fn wake_noted(this: *const Self) -> UsedNoted {
        // SAFETY: the noted handle keeps it.
        let shared = unsafe { &*this };
        let used = if shared.is_parked {
            // SAFETY: as above.
            unsafe { shared.noted.is_spent_with_process(&shared.count) }
        } else {
            shared.noted.is_spent(&shared.count)
        };
        // As the lock is released: what is counted keeps it.
        shared.touch(usize::from(!shared.is_parked));
        used
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
        noted: NotedHandle::new(),
        halves: [UnsafeCell::new(0), UnsafeCell::new(0)],
        freed: Arc::clone(&freed),
        is_parked,
    };
    (WakingHandle::first(shared), freed)
}

fn wakes(waker: Waker) {
    waker.wake();
}

fn is_dropped(waker: Waker) {
    waker.wake_by_ref();
    drop(waker);
}

fn is_cloned(waker: Waker) {
    let second = waker.clone();
    drop(waker);
    second.wake_by_ref();
}

/// The handle that the process makes in its own poll.
fn noted(own: &WakingHandle<SharedHalves>) -> Waker {
    let _poll = current::begin_poll_with(&own.lend());
    own.to_waker()
}

/// Another thread does this with a handle while the process ends. The last of both frees, once, and has seen all.
fn while_the_process_ends(handle: fn(&WakingHandle<SharedHalves>) -> Waker, uses: fn(Waker)) {
    model(move || {
        let (own, freed) = first();
        let waker = handle(&own);
        let using = thread::spawn(move || uses(waker));
        own.touch(0);
        drop(own);
        joined(using);
        assert_eq!(freed.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn the_last_handle_frees_what_it_wakes_and_has_seen_what_was_done_with_the_others() {
    while_the_process_ends(WakingHandle::to_waker, wakes);
}

#[test]
fn a_handle_made_from_another_keeps_what_it_wakes() {
    while_the_process_ends(WakingHandle::to_waker, is_cloned);
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

#[test]
fn the_noted_handle_and_the_process_end_in_any_order_and_the_last_frees() {
    while_the_process_ends(noted, wakes);
    while_the_process_ends(noted, is_dropped);
}

#[test]
fn a_handle_made_from_the_noted_one_keeps_what_it_wakes() {
    while_the_process_ends(noted, is_cloned);
}

/// The process makes its next handle while the noted one ends.
#[test]
fn the_noted_handle_comes_in_while_the_next_one_goes_out() {
    for uses in [wakes, is_dropped] {
        model(move || {
            let (own, freed) = first();
            let waker = noted(&own);
            assert_eq!(own.others(), 1);
            let ending = thread::spawn(move || uses(waker));
            let next = noted(&own);
            let others = own.others();
            // One that is counted from now on is seen twice for a moment, but not once too few.
            assert!((1..=3).contains(&others), "{others}");
            own.touch(0);
            drop((own, next));
            joined(ending);
            assert_eq!(freed.load(Ordering::Relaxed), 4);
        });
    }
}

/// Whoever has the process has the noted handle come in by a store, while one that was made of it is used.
#[test]
fn the_noted_handle_comes_in_with_the_process_in_hand() {
    model(|| {
        let (own, freed) = first_of(true);
        let waker = noted(&own);
        let other = waker.clone();
        let waking = thread::spawn(move || other.wake_by_ref());
        if own.others() != 1 {
            // As above: otherwise loom would try one order.
            thread::yield_now();
        }
        waker.wake();
        assert!(own.others() <= 1);
        drop(own);
        joined(waking);
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
