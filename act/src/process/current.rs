//! Which process runs on this thread.
//!
//! A turn leaves its pid here, so that a send knows its sender without being told,
//! and a blocking wait inside a process is found out. Reply tokens dropped during a
//! turn are kept here until it is known whether the process lives on.

use krarup_gen::{Pid, Reason};
use std::cell::{Cell, RefCell};

/// Fails the call whose token was dropped; `Some` if its process ended.
type Orphan = Box<dyn FnOnce(Option<&Reason>) + Send>;

thread_local! {
    static CURRENT: Cell<Option<Pid>> = const { Cell::new(None) };
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

/// Makes `pid` the current process until the guard is dropped.
pub(crate) fn enter(pid: Pid) -> Entered {
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
