//! Which process runs on this thread.
//!
//! A turn leaves its pid here, so that a send knows its sender without being told,
//! and a blocking wait inside a process is found out. Reply tokens dropped during a
//! turn are kept here until it is known whether the process lives on.

use super::crash::contain;
use krarup_gen::{Pid, Reason};
use std::cell::{Cell, RefCell};
use std::task::Waker;

/// Fails the call whose token was dropped; `Some` if its process ended.
type Orphan = Box<dyn FnOnce(Option<&Reason>) + Send>;

thread_local! {
    static CURRENT: Cell<Option<Pid>> = const { Cell::new(None) };
    /// Messages sent in this turn.
    static SENT: Cell<u64> = const { Cell::new(0) };
    /// Whom the future that was polled last waits for; see [`note_wait`].
    static WAITS: Cell<u64> = const { Cell::new(0) };
    /// What was in [`WAITS`] when this process was polled before.
    static WAITED: Cell<u64> = const { Cell::new(0) };
    /// The waker of the process, by the address of its data, while it is polled.
    static WAKER: Cell<usize> = const { Cell::new(0) };
    /// To whom the last message was handed on: by a route, or by a full mailbox.
    static RECEIVER: Cell<Option<Pid>> = const { Cell::new(None) };
    /// Processes whose overflow is being diverted on this thread.
    static ONCE: RefCell<Vec<Pid>> = const { RefCell::new(Vec::new()) };
    /// Whether there are any: cheaper to ask than the list, which has a destructor.
    static HAS_ORPHANS: Cell<bool> = const { Cell::new(false) };
    static ORPHANS: RefCell<Vec<Orphan>> = const { RefCell::new(Vec::new()) };
}

/// The process whose turn runs on this thread.
pub(crate) fn pid() -> Option<Pid> {
    CURRENT.get()
}

/// The number of the current process if it is one of the node with this creation, else
/// 0: to a process of another node it is nobody.
#[inline]
pub(crate) fn sender(creation: u32) -> u64 {
    match CURRENT.get() {
        Some(pid) if pid.creation() == creation => pid.id(),
        _ => 0,
    }
}

/// A message was sent and accepted.
#[inline]
pub(crate) fn count_sent() {
    SENT.set(SENT.get() + 1);
}

/// How many messages were sent since this was asked last.
#[inline]
pub(crate) fn take_sent() -> u64 {
    SENT.replace(0)
}

/// Stands for several, or for what is no call.
const SEVERAL: u64 = u64::MAX;

/// A poll begins: nothing is waited for yet. What was polled outside of processes may have
/// left its mark. `waited` is whom the process waited for until now.
#[inline]
pub(crate) fn begin_poll(waker: &Waker, waited: u64) {
    WAITS.set(0);
    WAITED.set(waited);
    WAKER.set(waker.data().addr());
}

/// A future that was polled in this poll, with this waker, waits for the answer of this
/// process (rule C5). A waker that is not the process's own is that of a collection, which
/// polls only those of its futures that were woken: what else the process waits for is not
/// known. And a process of another node is in no chain of this one.
#[inline]
pub(crate) fn note_wait(callee: Pid, waker: &Waker) {
    let alone =
        WAITS.get() == 0 && waker.data().addr() == WAKER.get() && sender(callee.creation()) != 0;
    WAITS.set(if alone { callee.id() } else { SEVERAL });
}

/// Whether the process waited for the answer of this one and nothing else until now.
pub(crate) fn waited_only_for(callee: Pid) -> bool {
    WAITED.get() == callee.id()
}

/// A future that was polled in this poll waits for something else than an answer: so the
/// process may go on without one.
#[inline]
pub(crate) fn note_other_wait() {
    WAITS.set(SEVERAL);
}

/// Whom the process waits for, if it is one call and nothing else that was polled; else 0.
#[inline]
pub(crate) fn waited_for() -> u64 {
    let callee = WAITS.get();
    if callee == SEVERAL { 0 } else { callee }
}

/// A message was handed on to this process; the innermost route says so first.
pub(crate) fn note_receiver(receiver: Pid) {
    if RECEIVER.get().is_none() {
        RECEIVER.set(Some(receiver));
    }
}

/// To whom a message was handed on since this was asked last.
#[inline]
pub(crate) fn take_receiver() -> Option<Pid> {
    RECEIVER.replace(None)
}

/// Runs `f`, unless it is running for this process on this thread already.
pub(crate) fn once<T>(pid: Pid, f: impl FnOnce() -> T) -> Option<T> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            ONCE.with_borrow_mut(Vec::pop);
        }
    }
    if ONCE.with_borrow(|under_way| under_way.iter().any(|other| other.is_same_process(pid))) {
        return None;
    }
    ONCE.with_borrow_mut(|under_way| under_way.push(pid));
    let _leave = Leave;
    Some(f())
}

/// Makes `pid` the current process until the guard is dropped.
pub(crate) fn enter(pid: Pid) -> Entered {
    // What was sent here before was not sent by this process.
    SENT.set(0);
    Entered(CURRENT.replace(Some(pid)))
}

pub(crate) struct Entered(Option<Pid>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Keeps an orphaned token for the end of the turn; gives it back outside a turn.
pub(crate) fn adopt<F>(orphan: F) -> Result<(), F>
where
    F: FnOnce(Option<&Reason>) + Send + 'static,
{
    if CURRENT.get().is_none() {
        return Err(orphan);
    }
    HAS_ORPHANS.set(true);
    ORPHANS.with_borrow_mut(|orphans| orphans.push(Box::new(orphan)));
    Ok(())
}

/// Fails the calls whose tokens were dropped in this turn.
#[inline]
pub(crate) fn settle_orphans(end: Option<&Reason>) {
    if HAS_ORPHANS.get() {
        settle(end);
    }
}

/// Takes away the tokens that were dropped in this turn: their process knows that they
/// are to fail with a reason, but has to wait before it can say so.
pub(crate) fn take_orphans() -> Orphans {
    HAS_ORPHANS.set(false);
    Orphans(ORPHANS.take())
}

/// Runs `f`, which drops what does not belong to the current process: calls whose tokens go
/// with it fail at once, and not with the end of this process should it end now.
pub(crate) fn apart(f: impl FnOnce()) {
    let own = take_orphans();
    let _ = contain(f);
    settle_orphans(None);
    drop(own);
}

/// Tokens that were taken away. Dropped, they go back to those of the turn: then the
/// process has ended while it waited, and they fail with that end.
pub(crate) struct Orphans(Vec<Orphan>);

impl Orphans {
    /// Fails the calls with this reason.
    pub(crate) fn settle(mut self, reason: &Reason) {
        for orphan in self.0.drain(..) {
            orphan(Some(reason));
        }
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        for orphan in self.0.drain(..) {
            if let Err(orphan) = adopt(orphan) {
                orphan(None);
            }
        }
    }
}

#[cold]
fn settle(end: Option<&Reason>) {
    HAS_ORPHANS.set(false);
    // Failing a call wakes its caller and can run no user code, so nothing is pushed
    // meanwhile; taking the list out keeps that from being an invariant.
    for orphan in ORPHANS.take() {
        orphan(end);
    }
}
