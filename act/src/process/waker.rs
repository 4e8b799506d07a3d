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
mod tests;
