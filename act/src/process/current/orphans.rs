//! Reply tokens that are dropped during a turn.
//!
//! Dropping a token fails its call: with the reason of the process if the process ends, otherwise
//! with no reply. Which of the two is known only after the poll. So the token is kept until then.

use super::local::{OuterTurn, leave, pid};
use super::traces::{OuterContext, without_context};
use crate::process::crash::{Risky, RiskyCall, catch, ignore};
use crate::sync::{LocalKey, thread_local};
use krarup_gen::{CallError, Pid, Reason};
use std::cell::{Cell, RefCell};

/// A reply token that was dropped.
struct OrphanedReply {
    /// The process in whose turn it was dropped.
    pid: Pid,
    /// Fails the call of that process.
    fail: Box<dyn FnOnce(Pid, OrphanCause<'_>) + Send>,
    /// Whether the process may have begun to handle the request (see [`not_begun`]).
    begun: bool,
}

impl OrphanedReply {
    /// Fails the call. A panic is contained, so that the remaining calls are failed too.
    fn settle(self, fate: OrphanCause<'_>) {
        let OrphanedReply { pid, fail, begun } = self;
        let fate = match fate {
            OrphanCause::Ended(reason) if !begun => OrphanCause::NotBegun(reason),
            fate => fate,
        };
        ignore(|| fail(pid, fate));
    }
}

/// Why a token was dropped.
#[derive(Clone, Copy)]
pub(crate) enum OrphanCause<'a> {
    /// The process that dropped it lives on.
    Dropped,
    /// The reason with which the process that held it ended.
    Ended(&'a Reason),
    /// The same, for a request that the process had not begun to handle.
    NotBegun(&'a Reason),
    /// The request is not handled; the caller receives this error.
    Refused(&'a CallError),
}

thread_local! {
    /// Whether there are orphans. Cheaper to read than the list, which has a destructor.
    static HAS_ORPHANS: Cell<bool> = const { Cell::new(false) };
    static ORPHANS: RefCell<Vec<OrphanedReply>> = const { RefCell::new(Vec::new()) };
    /// Whether requests that are dropped now were never handled.
    static NOT_BEGUN: Cell<bool> = const { Cell::new(false) };
    /// Whether a refused message is dropped now, outside any turn.
    static REFUSED_OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Sets the running turn aside until the returned guard is dropped. A process that stops
/// another node runs the last turns of that node's processes.
#[cold]
pub(crate) fn set_aside() -> impl Drop {
    struct Outer {
        /// Orphaned calls of the outer turn. The fate of the inner process does not affect
        /// them.
        orphans: Vec<OrphanedReply>,
        not_begun: bool,
        /// Dropped last: the calls of the inner turn are failed outside any turn.
        _turn: OuterTurn,
        /// Dropped after the turn, in which it belongs.
        _context: OuterContext,
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            settle_orphans(OrphanCause::Dropped);
            NOT_BEGUN.with(|not_begun| not_begun.set(self.not_begun));
            self.orphans.drain(..).for_each(keep);
        }
    }
    let (orphans, not_begun) = (take_all(), NOT_BEGUN.with(|not_begun| not_begun.replace(false)));
    // Taken off before the turn is left, and so not in the state that comes back.
    let context = without_context();
    Outer { orphans, not_begun, _turn: leave(), _context: context }
}

/// Keeps an orphaned token until the end of the turn. Gives it back outside a turn.
pub(crate) fn adopt<F>(fail: F) -> Result<(), F>
where
    F: FnOnce(Pid, OrphanCause<'_>) + Send + 'static,
{
    let pid = match pid() {
        Some(pid) => pid,
        // Its error names the process that has refused the message.
        None if REFUSED_OUTSIDE.with(Cell::get) => Pid::local(0, 0),
        None => return Err(fail),
    };
    keep(OrphanedReply { pid, fail: Box::new(fail), begun: !NOT_BEGUN.with(Cell::get) });
    Ok(())
}

fn keep(orphan: OrphanedReply) {
    HAS_ORPHANS.with(|has| has.set(true));
    ORPHANS.with(|orphans| orphans.borrow_mut().push(orphan));
}

fn take_all() -> Vec<OrphanedReply> {
    if HAS_ORPHANS.with(|has| has.replace(false)) {
        ORPHANS.with(RefCell::take)
    } else {
        Vec::new()
    }
}

/// A flag of this thread that is set. Dropping this restores what it was before.
struct RestoredFlag {
    flag: &'static LocalKey<Cell<bool>>,
    before: bool,
}

impl RestoredFlag {
    fn set(flag: &'static LocalKey<Cell<bool>>) -> Self {
        RestoredFlag { flag, before: flag.with(|flag| flag.replace(true)) }
    }
}

impl Drop for RestoredFlag {
    fn drop(&mut self) {
        self.flag.with(|flag| flag.set(self.before));
    }
}

/// Runs `f`, which drops requests that no handler has seen. If their process ends, their
/// callers learn that the requests may be made again.
pub(crate) fn not_begun<T>(f: impl FnOnce() -> T) -> T {
    let _restored = RestoredFlag::set(&NOT_BEGUN);
    f()
}

/// Whether tokens were dropped in this turn.
#[inline]
pub(crate) fn has_orphans() -> bool {
    HAS_ORPHANS.with(Cell::get)
}

/// Fails the calls whose tokens were dropped in this turn.
#[inline]
pub(crate) fn settle_orphans(fate: OrphanCause<'_>) {
    if has_orphans() {
        settle(fate);
    }
}

/// Takes the tokens that were dropped in this turn. The process will fail them with a reason,
/// but must wait before the reason is known.
#[inline]
pub(crate) fn take_orphans() -> OrphanedReplies {
    OrphanedReplies(if has_orphans() { Some(Box::new(take_all())) } else { None })
}

/// Runs `f`, which drops values that do not belong to the current process. Calls whose tokens
/// are dropped by it fail at once, not with the end of the current process.
pub(crate) fn apart(f: impl FnOnce()) {
    refusing(OrphanCause::Dropped, f);
}

/// Drops a refused message, also outside any turn. The calls in it fail with the error.
pub(crate) fn drop_refused<T>(message: T, error: &CallError) {
    refuse_calls(error, || drop(message));
}

/// Runs `f`, which drops a refused message or passes it to user code that does, also outside any
/// turn. The calls in it fail with the error.
pub(crate) fn refuse_calls(error: &CallError, f: impl FnOnce()) {
    refusing(OrphanCause::Refused(error), || {
        let _restored = RestoredFlag::set(&REFUSED_OUTSIDE);
        f();
    });
}

/// Does the same as [`apart`], with an answer for those calls.
pub(crate) fn refusing(fate: OrphanCause<'_>, f: impl FnOnce()) {
    refuse(fate, &mut RiskyCall::new(f));
}

fn refuse(fate: OrphanCause<'_>, f: &mut dyn Risky) {
    let own = take_orphans();
    // A panic has been printed and has no further effect.
    let _ = catch(f);
    settle_orphans(fate);
    drop(own);
}

/// Tokens that were taken from a turn. If this is dropped, they return to the current turn: the
/// process has ended while it waited, and they fail with its reason.
///
/// Boxed, because there are few, and every actor has room for this.
pub(crate) struct OrphanedReplies(
    #[allow(clippy::box_collection, reason = "a word")] Option<Box<Vec<OrphanedReply>>>,
);

impl OrphanedReplies {
    pub(crate) const NONE: OrphanedReplies = OrphanedReplies(None);

    /// Fails the calls with this reason.
    pub(crate) fn settle(mut self, reason: &Reason) {
        for orphan in self.0.take().into_iter().flat_map(|orphans| *orphans) {
            orphan.settle(OrphanCause::Ended(reason));
        }
    }
}

impl Drop for OrphanedReplies {
    #[inline]
    fn drop(&mut self) {
        if let Some(orphans) = self.0.take() {
            give_back(*orphans);
        }
    }
}

#[cold]
fn give_back(orphans: Vec<OrphanedReply>) {
    for orphan in orphans {
        if let Some(pid) = pid() {
            keep(OrphanedReply { pid, ..orphan });
        } else {
            orphan.settle(OrphanCause::Dropped);
        }
    }
}

#[cold]
fn settle(fate: OrphanCause<'_>) {
    // The list is taken out first, because a woken task may drop more tokens.
    for orphan in take_all() {
        orphan.settle(fate);
    }
}
