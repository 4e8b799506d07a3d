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
//! may have made its next call by then.
//!
//! A process that waits for an answer or a timer mostly has one other handle, which its own poll has made. Such a one
//! is not counted, but *noted*, in a byte of its own:
//!
//! | byte | means | next |
//! |---|---|---|
//! | `IN` | there is none | `OUT`: the process's own poll clones its waker. One thread at a time polls it, so a store does |
//! | `OUT` | there is one, and the process keeps the allocation | `IN`: its holder has taken the process out of the mailbox, and so holds the process's own handle too (a store); or it is dropped, or counted from now on (a compare-exchange). `HEIR`: the process's own handle ends first (a compare-exchange) |
//! | `HEIR` | the process has ended, and has left its own count to the noted handle | none: that count ends with the noted handle, as any other |
//!
//! So a process that parks before its answer comes, from the poll of another process of the host, needs no atomic
//! read-modify-write beside the lock of its mailbox, neither when the waker is cloned nor when it wakes. The
//! standard library counts what is cloned only for an allocation of its own, which costs a process
//! 32 bytes, and its life a tenth of its time (docs/decisions.md, "A waker is a handle on the cell").

#![allow(
    unsafe_code,
    reason = "an allocation less for each process; argued below, docs/decisions.md"
)]

use super::current;
use crate::sync::{AtomicU8, AtomicU32, Ordering, fence};
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

/// There is no noted handle.
const IN: u8 = 0;
/// There is a noted handle, and the process's own.
const OUT: u8 = 1;
/// The noted handle has the count of the process's own, which has ended.
const HEIR: u8 = 2;

/// What waking handles can be made of.
///
/// # Safety
/// The handles free what they wake when the count and the note say so. Both are made for this value, are the same ones at
/// each call, and are used for the handles of this value alone.
pub(crate) unsafe trait Wakeable: Send + Sync + 'static {
    /// The count of its handles.
    fn waking(&self) -> &WakingCount;

    /// The handle that is not counted.
    fn noted_handle(&self) -> &NotedHandle;

    /// Schedules the process, in whatever phase it waits. If a handle is used up by that, it is spent under the lock
    /// under which the process is woken.
    fn wake(&self, used_up: Option<UsedHandle<'_>>);

    /// As [`Self::wake`], by the noted handle, which is used up. Under the lock it comes in, or is spent as a counted one. In
    /// the first case the value may be freed before this returns.
    ///
    /// # Safety
    /// The noted handle exists, and is the caller's.
    unsafe fn wake_noted(this: *const Self) -> UsedNoted;
}

/// What has become of the noted handle when it has woken its process.
#[must_use = "what is still counted is to be ended"]
pub(crate) enum UsedNoted {
    CameIn,
    /// It is counted as this much, and may have left the count of the process's own handle too.
    Counted(u32, IsHeir),
}

/// Whether the process's own handle has ended, and its count is that of the noted one.
#[derive(Clone, Copy)]
pub(crate) struct IsHeir(bool);

/// How many waking handles there are, and how many are spent.
pub(crate) struct WakingCount(AtomicU32);

/// Whether there is the handle that is noted and not counted: see the module.
pub(crate) struct NotedHandle(AtomicU8);

/// A handle that is used up by a wake-up.
pub(crate) struct UsedHandle<'a> {
    count: &'a WakingCount,
    is_spent: &'a mut bool,
}

impl UsedHandle<'_> {
    /// Counts it as one that can wake no more. One caller at a time. More than fifteen at once, in threads that have been
    /// interrupted here, count as if they could still wake.
    pub(crate) fn spend(self) {
        let count = &self.count.0;
        if count.load(Ordering::Relaxed) < SPENT * 15 {
            // The handle is here still, and keeps the allocation.
            count.fetch_add(SPENT - 1, Ordering::Relaxed);
            *self.is_spent = true;
        }
    }
}

impl WakingCount {
    /// The count of the process's own handle.
    pub(crate) fn new() -> Self {
        WakingCount(AtomicU32::new(1))
    }

    /// Counts another handle. It is made from one that exists, which keeps the allocation: no order is needed.
    #[inline]
    fn add(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) % SPENT > MOST {
            std::process::abort();
        }
    }
}

impl NotedHandle {
    /// There is none.
    pub(crate) fn new() -> Self {
        NotedHandle(AtomicU8::new(IN))
    }

    /// It comes in.
    ///
    /// # Safety
    /// For its holder, who has the process too, and with it the process's own handle.
    #[inline]
    pub(crate) unsafe fn comes_in(&self) {
        debug_assert!(self.0.load(Ordering::Relaxed) == OUT, "the process has not ended");
        // Whoever reads it next gets the process from this thread, or the lock of its mailbox.
        self.0.store(IN, Ordering::Relaxed);
    }

    /// It comes in, and is counted as a spent one from now on.
    ///
    /// # Safety
    /// As for [`Self::comes_in`].
    #[inline]
    pub(crate) unsafe fn is_spent_with_process(&self, waking: &WakingCount) -> UsedNoted {
        // What was done with the handles that are gone is passed on to the last one by a store, as it is by an addition.
        if waking.0.load(Ordering::Acquire) != 1 {
            return self.is_spent(waking);
        }
        // There are only the process's own handle and this one, and the caller has both, so nobody else counts.
        waking.0.store(SPENT + 1, Ordering::Release);
        // SAFETY: as for this.
        unsafe { self.comes_in() };
        UsedNoted::Counted(SPENT, IsHeir(false))
    }

    /// It is counted as a spent one from now on, wherever the process is. For its holder. More than fifteen at once, in
    /// threads that have been interrupted here, count as if they could still wake.
    pub(crate) fn is_spent(&self, waking: &WakingCount) -> UsedNoted {
        let counted = if waking.0.load(Ordering::Relaxed) < SPENT * 15 { SPENT } else { 1 };
        // The handle is here still, and keeps the allocation.
        waking.0.fetch_add(counted, Ordering::Relaxed);
        UsedNoted::Counted(counted, IsHeir(self.ends()))
    }

    /// It goes out, if it is in. For the process's own poll.
    #[inline]
    fn goes_out(&self) -> bool {
        let is_in = self.0.load(Ordering::Acquire) == IN;
        if is_in {
            self.0.store(OUT, Ordering::Relaxed);
        }
        is_in
    }

    /// It ends, wherever the process is. Returns whether it was the heir of the process's own: then it ends as a counted
    /// one. Otherwise the allocation may be freed from now on.
    fn ends(&self) -> bool {
        self.0.compare_exchange(OUT, IN, Ordering::Release, Ordering::Acquire).is_err()
    }

    /// The process's own handle ends. Returns whether this one has its count from now on, and the allocation with it.
    #[inline]
    fn inherits(&self) -> bool {
        let is_out = self.0.load(Ordering::Acquire) == OUT;
        is_out && self.0.compare_exchange(OUT, HEIR, Ordering::Release, Ordering::Acquire).is_ok()
    }
}

/// The handle of the process itself.
///
/// Whoever has a handle may use the allocation: the strong count that the handles have together is given
/// back by the last of them.
pub(crate) struct WakingHandle<T: Wakeable>(ManuallyDrop<Arc<T>>);

/// Another handle, which is counted.
struct CountedHandle<T: Wakeable>(ManuallyDrop<Arc<T>>);

impl<T: Wakeable> WakingHandle<T> {
    /// The process's own handle, from which all others are made.
    pub(crate) fn first(of: T) -> Self {
        // Nobody else has it, so no other handle exists than the one that is counted from the start.
        WakingHandle(ManuallyDrop::new(Arc::new(of)))
    }

    /// How many other handles can wake.
    #[inline]
    pub(crate) fn others(&self) -> usize {
        // First the noted one: one that is counted from now on is added before it comes in.
        let noted = usize::from(self.noted_handle().0.load(Ordering::Acquire) == OUT);
        let counted = self.waking().0.load(Ordering::Relaxed) % SPENT;
        noted + usize::try_from(counted - 1).unwrap_or(usize::MAX)
    }

    /// A waker that lives as long as this handle and is not counted; its clones are, or noted.
    #[inline]
    pub(crate) fn lend(&self) -> WakerRef<'_> {
        // The table of noted handles, so that a future which has kept one finds that it would wake the same.
        let waker = RawWaker::new(Arc::as_ptr(&self.0).cast(), Self::NOTED);
        // SAFETY: the functions keep the contract of a `RawWaker`, as is said at them. This waker is never dropped, nor does
        // it wake by value, and the handle that it stands for lives as long as what is returned.
        WakerRef::new_unowned(ManuallyDrop::new(unsafe { Waker::from_raw(waker) }))
    }

    /// Another handle, as a waker.
    pub(crate) fn to_waker(&self) -> Waker {
        self.lend().clone()
    }

    /// The functions of wakers that are counted. Their pointer is that of [`Arc::as_ptr`], and stands for one handle.
    const COUNTED: &'static RawWakerVTable = &RawWakerVTable::new(
        Self::clone_raw,
        Self::wake_raw,
        Self::wake_raw_by_ref,
        Self::drop_raw,
    );

    /// Those of the waker that is noted. Its pointer is the same.
    const NOTED: &'static RawWakerVTable = &RawWakerVTable::new(
        Self::clone_raw,
        Self::wake_noted_raw,
        Self::wake_raw_by_ref,
        Self::drop_noted_raw,
    );

    /// # Safety
    /// As for [`CountedHandle::of_raw`], or the pointer is that of a noted or of a lent waker; the handle stays.
    unsafe fn clone_raw(pointer: *const ()) -> RawWaker {
        // SAFETY: the handle stays, and with it what it points at.
        let woken = unsafe { &*pointer.cast::<T>() };
        // Whoever polls the process has its own handle, and nobody else polls it.
        if current::is_polled(pointer.addr()) && woken.noted_handle().goes_out() {
            return RawWaker::new(pointer, Self::NOTED);
        }
        woken.waking().add();
        RawWaker::new(pointer, Self::COUNTED)
    }

    /// # Safety
    /// As for [`CountedHandle::of_raw`]; the handle is used up.
    unsafe fn wake_raw(pointer: *const ()) {
        // SAFETY: the handle is used up, so it is dropped here, also if the wake-up panics.
        let handle = unsafe { CountedHandle::<T>::of_raw(pointer) };
        let mut using = HandleInUse { handle: ManuallyDrop::new(handle), is_spent: false };
        let HandleInUse { handle, is_spent } = &mut using;
        handle.0.wake(Some(UsedHandle { count: handle.0.waking(), is_spent }));
    }

    /// # Safety
    /// As for [`CountedHandle::of_raw`], or the pointer is that of a noted or of a lent waker; the handle stays.
    unsafe fn wake_raw_by_ref(pointer: *const ()) {
        // SAFETY: the handle stays, and with it what it points at.
        unsafe { &*pointer.cast::<T>() }.wake(None);
    }

    /// # Safety
    /// As for [`CountedHandle::of_raw`]; the handle is used up.
    unsafe fn drop_raw(pointer: *const ()) {
        // SAFETY: the handle is used up.
        drop(unsafe { CountedHandle::<T>::of_raw(pointer) });
    }

    /// # Safety
    /// The pointer is that of the noted waker, which is used up.
    unsafe fn wake_noted_raw(pointer: *const ()) {
        // SAFETY: the noted handle is here, and is used up.
        match unsafe { T::wake_noted(pointer.cast()) } {
            UsedNoted::CameIn => {}
            UsedNoted::Counted(counted, is_heir) => {
                // SAFETY: it is counted since, and keeps the allocation until here.
                let handle = unsafe { CountedHandle::<T>::of_raw(pointer) };
                ManuallyDrop::new(handle).end(counted);
                if is_heir.0 {
                    // SAFETY: it stands for the handle of the process, which has left it to the noted one.
                    unsafe { Self::drop_raw(pointer) };
                }
            }
        }
    }

    /// # Safety
    /// The pointer is that of the noted waker, which is used up.
    unsafe fn drop_noted_raw(pointer: *const ()) {
        // SAFETY: the noted handle is still here, and with it the count.
        if unsafe { &*pointer.cast::<T>() }.noted_handle().ends() {
            // SAFETY: it stands for the handle of the process, which has left it to the noted one.
            unsafe { Self::drop_raw(pointer) };
        }
    }
}

impl<T: Wakeable> Deref for WakingHandle<T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: Wakeable> Drop for WakingHandle<T> {
    #[inline]
    fn drop(&mut self) {
        let arc = Arc::as_ptr(&self.0);
        // SAFETY: this handle is here, and with it the count.
        if unsafe { &*arc }.noted_handle().inherits() {
            return;
        }
        // SAFETY: it stands for this handle, which is not used after this.
        drop(unsafe { CountedHandle::<T>::of_raw(arc.cast()) });
    }
}

impl<T: Wakeable> CountedHandle<T> {
    /// The handle for which this pointer stands.
    ///
    /// # Safety
    /// The pointer comes from [`Arc::as_ptr`] of a handle of this type, and stands for a counted handle that exists. What
    /// is returned is that handle: unless it is forgotten, it must not be used in another way.
    #[inline]
    unsafe fn of_raw(pointer: *const ()) -> Self {
        // SAFETY: it comes from an `Arc<T>`, as `as_ptr` and `into_raw` give the same pointer; its strong count belongs to the handles, of which this is one. The
        // `Arc` is not dropped with the handle, but by the last handle.
        CountedHandle(ManuallyDrop::new(unsafe { Arc::from_raw(pointer.cast()) }))
    }

    /// Ends the handle, which is counted as this much.
    #[inline]
    fn end(&mut self, counted: u32) {
        let count = &self.0.waking().0;
        // Handles are made from handles: whoever has the only one keeps the only one, and need not count. Otherwise
        // who counts down to nothing is the last. Either has seen what was done with the others. While there is a noted
        // handle, it or the process's own is counted.
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

impl<T: Wakeable> Drop for CountedHandle<T> {
    #[inline]
    fn drop(&mut self) {
        self.end(1);
    }
}

/// A handle that wakes for the last time.
struct HandleInUse<T: Wakeable> {
    /// Ended by this one's `drop` alone.
    handle: ManuallyDrop<CountedHandle<T>>,
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
    use crate::calls::slot::slot;
    use crate::models::model_host::ModelHost;
    use krarup_gen::Reason;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Weak;

    struct Bell {
        count: WakingCount,
        noted: NotedHandle,
        rung: AtomicU32,
        live_when_spent: AtomicU32,
        is_parked: AtomicU32,
    }

    // SAFETY: both are fields, and nothing else uses them.
    unsafe impl Wakeable for Bell {
        fn waking(&self) -> &WakingCount {
            &self.count
        }

        fn noted_handle(&self) -> &NotedHandle {
            &self.noted
        }

        fn wake(&self, used_up: Option<UsedHandle<'_>>) {
            assert!(self.rung.fetch_add(1, Ordering::Relaxed) < 3, "it is worn out");
            if let Some(handle) = used_up {
                handle.spend();
                self.live_when_spent
                    .store(self.count.0.load(Ordering::Relaxed) % SPENT, Ordering::Relaxed);
            }
        }

        unsafe fn wake_noted(this: *const Self) -> UsedNoted {
            // SAFETY: the noted handle keeps it.
            let bell = unsafe { &*this };
            bell.rung.fetch_add(1, Ordering::Relaxed);
            let used = match bell.is_parked.load(Ordering::Relaxed) {
                0 => bell.noted.is_spent(&bell.count),
                // SAFETY: the test has the process's own handle, and this thread.
                1 => unsafe { bell.noted.is_spent_with_process(&bell.count) },
                _ => {
                    // SAFETY: as above.
                    unsafe { bell.noted.comes_in() };
                    UsedNoted::CameIn
                }
            };
            bell.live_when_spent.store(bell.count.0.load(Ordering::Relaxed), Ordering::Relaxed);
            used
        }
    }

    fn bell() -> (WakingHandle<Bell>, Weak<Bell>) {
        let own = WakingHandle::first(Bell {
            count: WakingCount::new(),
            noted: NotedHandle::new(),
            rung: AtomicU32::new(0),
            live_when_spent: AtomicU32::new(0),
            is_parked: AtomicU32::new(0),
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
        assert!(first.will_wake(&second));
        assert_eq!(own.others(), 2, "a waker that is lent is not counted");
        first.wake_by_ref();
        assert_eq!(own.others(), 2);
        first.wake();
        assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (1, 2));
        drop(second);
        assert_eq!(own.others(), 0);
    }

    #[test]
    fn the_poll_of_the_process_makes_one_handle_that_is_noted_and_nobody_else_does() {
        let (own, seen) = bell();
        let word = || (own.count.0.load(Ordering::Relaxed), own.noted.0.load(Ordering::Relaxed));
        let outside = own.to_waker();
        assert_eq!((word(), own.others()), ((2, IN), 1));
        let poll = current::begin_poll_with(&own.lend());
        let lent = own.lend();
        let elsewhere =
            std::thread::scope(|scope| scope.spawn(|| lent.clone()).join().expect("a clone"));
        assert_eq!(word(), (3, IN), "the poll is on another thread");
        let (noted, second) = (own.to_waker(), own.to_waker());
        assert_eq!((word(), own.others()), ((4, OUT), 4));
        assert!(own.lend().will_wake(&noted), "who has kept it needs no other one");
        drop(poll);
        let third = noted.clone();
        assert_eq!(word(), (5, OUT));
        drop(noted);
        assert_eq!((word(), own.others()), ((5, IN), 4));
        let after = own.to_waker();
        assert_eq!(word(), (6, IN), "the poll is over");
        drop((own, outside, elsewhere, second, third, after));
        assert_eq!(seen.strong_count(), 0);
    }

    #[test]
    fn the_noted_handle_of_a_parked_process_comes_in_when_it_wakes_and_is_counted_otherwise() {
        let (own, seen) = bell();
        let noted = |own: &WakingHandle<Bell>| {
            let _poll = current::begin_poll_with(&own.lend());
            own.to_waker()
        };
        // Parked: it comes in, with the host at hand or by a count. Running: it is counted.
        for (is_parked, counted) in [(2, 1), (1, 1), (0, 1)] {
            own.is_parked.store(is_parked, Ordering::Relaxed);
            own.rung.store(0, Ordering::Relaxed);
            let waker = noted(&own);
            waker.wake_by_ref();
            assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (1, 1));
            waker.wake();
            assert_eq!((own.others(), own.rung.load(Ordering::Relaxed)), (0, 2));
            assert_eq!(own.count.0.load(Ordering::Relaxed), counted);
        }
        // Another handle counts meanwhile.
        let (other, waker) = (own.to_waker(), noted(&own));
        own.is_parked.store(1, Ordering::Relaxed);
        waker.wake();
        assert_eq!(own.count.0.load(Ordering::Relaxed), 2);
        drop(other);
        // Fifteen others are about to be dropped.
        own.count.0.fetch_add(SPENT * 15, Ordering::Relaxed);
        noted(&own).wake();
        assert_eq!(own.live_when_spent.load(Ordering::Relaxed), SPENT * 15 + 2);
        assert_eq!((own.others(), own.count.0.load(Ordering::Relaxed)), (0, SPENT * 15 + 1));
        own.count.0.store(1, Ordering::Relaxed);
        // It outlives the process.
        let waker = noted(&own);
        drop(own);
        assert_eq!(seen.strong_count(), 1);
        drop(waker);
        assert_eq!(seen.strong_count(), 0);
    }

    #[test]
    fn a_process_that_was_woken_by_its_noted_handle_makes_the_next_one_and_is_freed() {
        let host = ModelHost::new();
        let ((first, one), (second, two)) = (slot(), slot());
        let (cell, ready) = host.spawn(0, |_| async move {
            assert_eq!((one.await, two.await), (Some(1), Some(2)));
            Ok(())
        });
        let seen = Arc::downgrade(&cell);
        let noted = || cell.noted_handle().0.load(Ordering::Relaxed);
        host.host().schedule(ready);
        host.settle();
        assert_eq!((noted(), cell.waking().0.load(Ordering::Relaxed)), (OUT, 1));
        // From a thread that polls nothing, and from the poll of another process.
        assert!(first.send(1).is_ok());
        assert_eq!(noted(), IN);
        host.settle();
        assert_eq!((noted(), cell.waking().0.load(Ordering::Relaxed)), (OUT, 1));
        host.start(0, |_| async move { second.send(2).map_err(|_| Reason::Shutdown) });
        host.settle();
        assert_eq!(noted(), IN);
        drop((cell, host));
        assert_eq!(seen.strong_count(), 0);
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
