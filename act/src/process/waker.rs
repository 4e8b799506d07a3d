//! The waker with which the future of a process is polled: a handle on its cell, counted apart.
//!
//! ```text
//!   Life ────────┐
//!   Waker ───────┤  WakingHandle: Cell.waking counts them, 2 here, and all of
//!                └────────────► Cell ◄──────── Arc: addresses, the context, the registry
//!                               one strong count of the `Arc` belongs to the waking handles together
//! ```
//!
//! One waking handle belongs to the process; the holder of another can wake it. If the only other
//! handle of a process that waits for an answer is that of its call, nothing else can wake it
//! (rule C5). So they must be counted apart from the handles of addresses, which cannot wake. A handle
//! that has woken the process is spent at that moment, although its thread drops it later: the process
//! may have made its next call by then. The
//! standard library counts what is cloned only for an allocation of its own, which costs a process
//! 32 bytes, and its life a tenth of its time (docs/decisions.md, "A waker is a handle on the cell").

#![allow(
    unsafe_code,
    reason = "an allocation less for each process; argued below, docs/decisions.md"
)]

use crate::sync::{AtomicU32, Ordering, fence};
use futures_task::WakerRef;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// One spent handle. Above it fifteen are counted, below it those that can wake.
const SPENT: u32 = 1 << 28;

/// A hundred million handles, 2 GB of wakers if they are kept and not forgotten. The count must not begin anew, so more
/// abort the program, as more clones of an `Arc` than it counts do (on 64 bits, far more). Half of what it can hold, for
/// other threads may count on meanwhile.
const MOST: u32 = SPENT / 2;

/// What waking handles can be made of.
///
/// # Safety
/// The handles free what they wake when this count says so. It is made for this value, is the same one at each call, and
/// is used for the handles of this value alone.
pub(crate) unsafe trait Wakeable: Send + Sync + 'static {
    /// The count of its handles.
    fn waking(&self) -> &WakingCount;

    /// Schedules the process, in whatever phase it waits. If a handle is used up by that, it is spent under the lock
    /// under which the process is woken.
    fn wake(&self, used_up: Option<UsedHandle<'_>>);
}

/// How many waking handles there are, and how many are spent.
pub(crate) struct WakingCount(AtomicU32);

/// A handle that is used up by a wake-up.
pub(crate) struct UsedHandle<'a> {
    count: &'a WakingCount,
    is_spent: &'a mut bool,
}

impl UsedHandle<'_> {
    /// Counts it as one that can wake no more. One caller at a time. More than fifteen at once, in threads that have been
    /// interrupted here, count as if they could still wake. `has_process`: the caller has the process, and with it the
    /// process's own handle.
    pub(crate) fn spend(self, has_process: bool) {
        let count = &self.count.0;
        // What was done with the handles that are gone is passed on to the last one by a store, as it is by an addition.
        let counted = count.load(Ordering::Acquire);
        if has_process && counted == 2 {
            // There are only the two handles that the caller has, so nobody else counts.
            count.store(SPENT + 1, Ordering::Release);
        } else if counted < SPENT * 15 {
            // The handle is here still, and keeps the allocation.
            count.fetch_add(SPENT - 1, Ordering::Relaxed);
        } else {
            return;
        }
        *self.is_spent = true;
    }
}

impl WakingCount {
    /// The count of the first handle.
    pub(crate) fn new() -> Self {
        WakingCount(AtomicU32::new(1))
    }
}

/// A handle that can wake.
///
/// Whoever has one may use the allocation: the strong count that the handles have together is given
/// back by the last of them.
pub(crate) struct WakingHandle<T: Wakeable>(ManuallyDrop<Arc<T>>);

impl<T: Wakeable> WakingHandle<T> {
    /// The first handle, that of the process itself.
    pub(crate) fn first(of: T) -> Self {
        // Nobody else has it, so no other handle exists than the one that is counted from the start.
        WakingHandle(ManuallyDrop::new(Arc::new(of)))
    }

    /// How many other handles can wake.
    #[inline]
    pub(crate) fn others(&self) -> usize {
        let count = self.waking().0.load(Ordering::Relaxed) % SPENT;
        usize::try_from(count - 1).unwrap_or(usize::MAX)
    }

    /// A waker that lives as long as this handle and is not counted; its clones are.
    #[inline]
    pub(crate) fn lend(&self) -> WakerRef<'_> {
        let waker = RawWaker::new(Arc::as_ptr(&self.0).cast(), Self::VTABLE);
        // SAFETY: the functions keep the contract of a `RawWaker`, as is said at them. This waker is never dropped, and
        // the handle that it stands for lives as long as what is returned.
        WakerRef::new_unowned(ManuallyDrop::new(unsafe { Waker::from_raw(waker) }))
    }

    /// Another handle, as a waker.
    pub(crate) fn to_waker(&self) -> Waker {
        self.lend().clone()
    }

    /// The functions of wakers. Their pointer is that of [`Arc::as_ptr`], and stands for one handle.
    const VTABLE: &'static RawWakerVTable = &RawWakerVTable::new(
        Self::clone_raw,
        Self::wake_raw,
        Self::wake_raw_by_ref,
        Self::drop_raw,
    );

    /// The handle for which this pointer stands.
    ///
    /// # Safety
    /// The pointer comes from [`Arc::as_ptr`] of a handle of this type, and stands for a handle that exists. What is
    /// returned is that handle: unless it is forgotten, it must not be used in another way.
    #[inline]
    unsafe fn of_raw(pointer: *const ()) -> Self {
        // SAFETY: it comes from an `Arc<T>`, as `as_ptr` and `into_raw` give the same pointer; its strong count belongs to the handles, of which this is one. The
        // `Arc` is not dropped with the handle, but by the last handle.
        WakingHandle(ManuallyDrop::new(unsafe { Arc::from_raw(pointer.cast()) }))
    }

    /// # Safety
    /// As for [`Self::of_raw`]; the handle stays.
    unsafe fn clone_raw(pointer: *const ()) -> RawWaker {
        // SAFETY: the handle stays, so it is not dropped here.
        let handle = ManuallyDrop::new(unsafe { Self::of_raw(pointer) });
        // A handle is made from one that exists, which keeps the allocation: no order is needed.
        let before = handle.waking().0.fetch_add(1, Ordering::Relaxed);
        if before % SPENT > MOST {
            std::process::abort();
        }
        RawWaker::new(pointer, Self::VTABLE)
    }

    /// # Safety
    /// As for [`Self::of_raw`]; the handle is used up.
    unsafe fn wake_raw(pointer: *const ()) {
        // SAFETY: the handle is used up, so it is dropped here, also if the wake-up panics.
        let handle = unsafe { Self::of_raw(pointer) };
        let mut using = HandleInUse { handle: ManuallyDrop::new(handle), is_spent: false };
        let HandleInUse { handle, is_spent } = &mut using;
        handle.wake(Some(UsedHandle { count: handle.waking(), is_spent }));
    }

    /// # Safety
    /// As for [`Self::of_raw`]; the handle stays.
    unsafe fn wake_raw_by_ref(pointer: *const ()) {
        // SAFETY: the handle stays, so it is not dropped here.
        let handle = ManuallyDrop::new(unsafe { Self::of_raw(pointer) });
        handle.wake(None);
    }

    /// # Safety
    /// As for [`Self::of_raw`]; the handle is used up.
    unsafe fn drop_raw(pointer: *const ()) {
        // SAFETY: the handle is used up.
        drop(unsafe { Self::of_raw(pointer) });
    }
}

impl<T: Wakeable> Deref for WakingHandle<T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: Wakeable> WakingHandle<T> {
    /// Ends the handle, which is counted as this much.
    #[inline]
    fn end(&mut self, counted: u32) {
        let count = &self.waking().0;
        // Handles are made from handles: whoever has the only one keeps the only one, and need not count. Otherwise
        // who counts down to nothing is the last. Either has seen what was done with the others.
        if count.load(Ordering::Acquire) != counted {
            if count.fetch_sub(counted, Ordering::Release) != counted {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: this was the last handle, by the contract of `Wakeable`, and is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl<T: Wakeable> Drop for WakingHandle<T> {
    #[inline]
    fn drop(&mut self) {
        self.end(1);
    }
}

/// A handle that wakes for the last time.
struct HandleInUse<T: Wakeable> {
    /// Ended by this one's `drop` alone.
    handle: ManuallyDrop<WakingHandle<T>>,
    is_spent: bool,
}

impl<T: Wakeable> Drop for HandleInUse<T> {
    #[inline]
    fn drop(&mut self) {
        self.handle.end(if self.is_spent { SPENT } else { 1 });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Weak;

    struct Bell {
        count: WakingCount,
        rung: AtomicU32,
        live_when_spent: AtomicU32,
    }

    // SAFETY: the count is a field, and nothing else uses it.
    unsafe impl Wakeable for Bell {
        fn waking(&self) -> &WakingCount {
            &self.count
        }

        fn wake(&self, used_up: Option<UsedHandle<'_>>) {
            assert!(self.rung.fetch_add(1, Ordering::Relaxed) < 3, "it is worn out");
            if let Some(handle) = used_up {
                handle.spend(false);
                self.live_when_spent
                    .store(self.count.0.load(Ordering::Relaxed) % SPENT, Ordering::Relaxed);
            }
        }
    }

    fn bell() -> (WakingHandle<Bell>, Weak<Bell>) {
        let own = WakingHandle::first(Bell {
            count: WakingCount::new(),
            rung: AtomicU32::new(0),
            live_when_spent: AtomicU32::new(0),
        });
        let seen = Arc::downgrade(&own);
        (own, seen)
    }

    #[test]
    fn wakers_are_counted_while_they_exist() {
        let (own, seen) = bell();
        assert_eq!((own.others(), seen.strong_count()), (0, 1));
        let first = own.to_waker();
        let second = first.clone();
        assert_eq!((own.others(), seen.strong_count()), (2, 1));
        assert!(first.will_wake(&second) && own.lend().will_wake(&first));
        assert_eq!(own.others(), 2, "a waker that is lent is not counted");
        first.wake_by_ref();
        assert_eq!(own.others(), 2);
        first.wake();
        assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (1, 2));
        drop(second);
        assert_eq!(own.others(), 0);
    }

    #[test]
    fn a_handle_is_spent_when_it_wakes_and_not_when_it_is_dropped() {
        let (own, seen) = bell();
        let (first, second) = (own.to_waker(), own.to_waker());
        first.wake();
        assert_eq!(own.live_when_spent.load(Ordering::Relaxed), 2, "this one and the second");
        // Fifteen others are about to be dropped: the next one counts as one that can wake.
        own.count.0.fetch_add(SPENT * 15, Ordering::Relaxed);
        second.wake();
        assert_eq!(own.live_when_spent.load(Ordering::Relaxed), 2, "this one and itself");
        assert_eq!((own.others(), own.count.0.load(Ordering::Relaxed)), (0, SPENT * 15 + 1));
        own.count.0.store(1, Ordering::Relaxed);
        drop(own);
        assert_eq!(seen.strong_count(), 0);
    }

    #[test]
    fn strong_handles_are_not_counted_as_wakers() {
        let (own, seen) = bell();
        let strong = Arc::clone(&own);
        assert_eq!((own.others(), seen.strong_count()), (0, 2));
        drop(own);
        assert_eq!(seen.strong_count(), 1);
        drop(strong);
        assert_eq!(seen.strong_count(), 0);
    }

    #[test]
    fn the_last_handle_is_the_one_that_frees() {
        let (own, seen) = bell();
        let waker = own.to_waker();
        drop(own);
        assert_eq!(seen.strong_count(), 1);
        waker.wake();
        assert_eq!(seen.strong_count(), 0);

        let (own, seen) = bell();
        drop(own.to_waker());
        drop(own);
        assert_eq!(seen.strong_count(), 0);
    }

    /// Says to this program, started anew, that it is to make too many handles.
    #[cfg(all(unix, not(miri)))]
    const COUNTS_TOO_FAR: &str = "KRARUP_COUNTS_TOO_FAR";

    #[cfg(all(unix, not(miri)))]
    #[test]
    fn more_handles_than_are_counted_abort_the_program() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::{Command, Stdio};

        if std::env::var_os(COUNTS_TOO_FAR).is_some() {
            let (own, _) = bell();
            own.count.0.store(MOST + 1, Ordering::Relaxed);
            drop(own.to_waker());
            return;
        }
        let test = "process::waker::tests::more_handles_than_are_counted_abort_the_program";
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args([test, "--exact", "--test-threads=1"]).env(COUNTS_TOO_FAR, "1");
        let ended = program.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(ended.signal(), Some(6), "{ended}");
    }

    #[test]
    fn a_wake_up_that_panics_uses_its_handle_up() {
        let (own, seen) = bell();
        own.rung.store(3, Ordering::Relaxed);
        let waker = own.to_waker();
        assert!(catch_unwind(AssertUnwindSafe(|| waker.wake_by_ref())).is_err());
        assert_eq!(own.others(), 1);
        assert!(catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err());
        assert_eq!(own.others(), 0);
        drop(own);
        assert_eq!(seen.strong_count(), 0);
    }
}
