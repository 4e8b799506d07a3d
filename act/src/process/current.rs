//! The turn that runs on this thread.
//!
//! A turn leaves its pid here, so that a send knows its sender without being told,
//! and a blocking wait inside a process is found out. What the turn may still do, and what
//! it and the future that it polls tell each other, lies here too: it is nobody else's
//! business, and would have to be atomic in the cell. Reply tokens dropped during a
//! turn are kept here until it is known whether the process lives on.

use super::crash::contain;
use crate::host::TurnLimits;
use crate::seat::Debt;
use crate::sync::thread_local;
use krarup_gen::{CallError, Pid, Reason, Timestamp};
use std::cell::{Cell, RefCell};
use std::task::Waker;

/// Fails the call whose token was dropped.
type Orphan = Box<dyn FnOnce(Fate<'_>) + Send>;

/// Why a token was dropped.
#[derive(Clone, Copy)]
pub(crate) enum Fate<'a> {
    /// By who lives on.
    Dropped,
    /// Its process has ended.
    Ended(&'a Reason),
    /// Its request is not handled, and this is the answer.
    Refused(&'a CallError),
}

/// What the future wants, having returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Something else than a message: it waits inside a handler.
    Other,
    /// A message, and it has none.
    Message,
    /// Something on a control lane, and there is nothing: what lies on Main it leaves there.
    Control,
    /// Another turn: its budget is used up.
    Turn,
}

/// A turn, as far as it concerns this thread alone.
#[derive(Clone)]
struct Turn {
    /// The process; the node's number 0 outside of any.
    pid: Cell<Pid>,
    /// Messages that may still be handled. Below zero after sends to those who cannot keep
    /// up: see [`charge`].
    budget: Cell<i32>,
    /// When it must end, in nanoseconds of the node's time; 0: no matter when.
    deadline: Cell<u64>,
    /// Nothing has been handled. However late it is, a turn handles one message, or a
    /// process would come round for ever.
    fresh: Cell<bool>,
    wants: Cell<Wants>,
    /// What the data of the process's own waker point at.
    waker: Cell<usize>,
    /// Since the future was last polled something in it waits that will set its timer when
    /// the process is poked.
    wants_poke: Cell<bool>,
    /// A batch was emptied in this turn: its memory may be needed again soon.
    keeps_memory: Cell<bool>,
    /// Main was looked at since the future was last polled.
    looked: Cell<bool>,
    /// Whom what was polled last waits for; see [`note_wait`].
    waits: Cell<u64>,
    /// Whose mailbox was crowded when a message was put there last; see [`charge`].
    creditor: Cell<u64>,
    /// Messages sent in this turn.
    sent: Cell<u64>,
    /// Whom the process waited for when it was polled before.
    waited: Cell<u64>,
}

const NOBODY: Pid = Pid::local(0, 0);

thread_local! {
    static TURN: Turn = const {
        Turn {
            pid: Cell::new(NOBODY),
            budget: Cell::new(0),
            deadline: Cell::new(0),
            fresh: Cell::new(false),
            wants: Cell::new(Wants::Other),
            waker: Cell::new(0),
            wants_poke: Cell::new(false),
            keeps_memory: Cell::new(false),
            looked: Cell::new(false),
            waits: Cell::new(0),
            creditor: Cell::new(0),
            sent: Cell::new(0),
            waited: Cell::new(0),
        }
    };
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
    let pid = TURN.with(|turn| turn.pid.get());
    (!pid.is_node()).then_some(pid)
}

/// The number of the current process if it is one of the node with this creation, else
/// 0: to a process of another node it is nobody.
#[inline]
pub(crate) fn sender(creation: u32) -> u64 {
    let pid = TURN.with(|turn| turn.pid.get());
    if pid.creation() == creation { pid.id() } else { 0 }
}

/// Begins a turn of the process on this thread; it ends when the guard is dropped.
#[inline]
pub(crate) fn enter(pid: Pid, limits: &TurnLimits, now: impl FnOnce() -> Timestamp) -> Entered {
    TURN.with(|turn| {
        let outer = (!turn.pid.get().is_node()).then(|| Box::new(turn.clone()));
        turn.pid.set(pid);
        turn.budget.set(i32::try_from(limits.throughput).unwrap_or(i32::MAX).max(1));
        turn.deadline.set(limits.deadline.map_or(0, |limit| (now() + limit).as_nanos().max(1)));
        turn.fresh.set(true);
        turn.keeps_memory.set(false);
        // What was sent here before was not sent by this process.
        turn.sent.set(0);
        Entered { outer }
    })
}

/// A turn has begun.
pub(crate) struct Entered {
    /// The turn in which it began: a process that stops another node runs last turns there.
    outer: Option<Box<Turn>>,
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        TURN.with(|turn| match self.outer.take() {
            None => turn.pid.set(NOBODY),
            Some(outer) => turn.restore(&outer),
        });
    }
}

impl Turn {
    #[cold]
    fn restore(&self, outer: &Turn) {
        self.pid.set(outer.pid.get());
        self.budget.set(outer.budget.get());
        self.deadline.set(outer.deadline.get());
        self.fresh.set(outer.fresh.get());
        self.wants.set(outer.wants.get());
        self.waker.set(outer.waker.get());
        self.wants_poke.set(outer.wants_poke.get());
        self.keeps_memory.set(outer.keeps_memory.get());
        self.looked.set(outer.looked.get());
        self.waits.set(outer.waits.get());
        self.creditor.set(outer.creditor.get());
        self.sent.set(outer.sent.get());
        self.waited.set(outer.waited.get());
    }
}

/// Takes one message's worth of the turn; false if nothing is left of it.
#[inline]
pub(crate) fn spend(now: impl FnOnce() -> Timestamp) -> bool {
    TURN.with(|turn| {
        let budget = turn.budget.get();
        if budget <= 0 || (turn.deadline.get() != 0 && is_late(turn, now)) {
            return false;
        }
        turn.budget.set(budget - 1);
        true
    })
}

/// Gives back what was just spent.
pub(crate) fn refund() {
    TURN.with(|turn| {
        turn.budget.set(turn.budget.get() + 1);
        turn.fresh.set(true);
    });
}

#[cold]
fn is_late(turn: &Turn, now: impl FnOnce() -> Timestamp) -> bool {
    !turn.fresh.replace(false) && now().as_nanos() >= turn.deadline.get()
}

/// Takes more of the turn than the message in hand: it has made others work, or one whose
/// number is `creditor`. What is not there is a [`debt`]. Who fills its own mailbox owes nobody
/// a turn: nobody else could empty it.
#[inline]
pub(crate) fn charge(messages: i32, creditor: u64) {
    TURN.with(|turn| {
        if creditor == turn.pid.get().id() {
            return;
        }
        turn.budget.set(turn.budget.get().saturating_sub(messages));
        turn.creditor.set(creditor);
    });
}

/// Turns, of as many messages as the default has, that the turn has taken too much.
#[inline]
pub(crate) fn debt() -> Option<Debt> {
    TURN.with(|turn| {
        let budget = turn.budget.get();
        let turns = if budget >= 0 { 0 } else { budget.unsigned_abs() / 64 };
        (turns > 0).then(|| Debt { turns, creditor: turn.creditor.get() })
    })
}

/// The future will be polled: nothing has been looked at, nothing is waited for. `waited` is
/// whom the process waited for until now.
#[inline]
pub(crate) fn begin_poll(waker: &Waker, waited: u64) {
    TURN.with(|turn| {
        turn.waited.set(waited);
        turn.wants.set(Wants::Other);
        turn.waker.set(waker.data().addr());
        turn.wants_poke.set(false);
        turn.looked.set(false);
        turn.waits.set(0);
    });
}

/// What the future wants that was just polled.
#[inline]
pub(crate) fn wants() -> Wants {
    TURN.with(|turn| turn.wants.get())
}

#[inline]
pub(crate) fn want(wants: Wants) {
    TURN.with(|turn| turn.wants.set(wants));
}

/// Has the process poked later, if this is its own waker: one that a collection of futures
/// made for one of them would not be woken by that. False also outside a turn.
#[inline]
pub(crate) fn want_poke(waker: &Waker) -> bool {
    TURN.with(|turn| {
        let own = !turn.pid.get().is_node() && turn.waker.get() == waker.data().addr();
        if own {
            turn.wants_poke.set(true);
        }
        own
    })
}

#[inline]
pub(crate) fn wants_poke() -> bool {
    TURN.with(|turn| turn.wants_poke.get())
}

/// A batch was emptied: its memory may be needed again soon.
pub(crate) fn keep_memory() {
    TURN.with(|turn| turn.keeps_memory.set(true));
}

#[inline]
pub(crate) fn keeps_memory() -> bool {
    TURN.with(|turn| turn.keeps_memory.get())
}

/// Whether Main was looked at since the future was last polled.
#[inline]
pub(crate) fn has_looked() -> bool {
    TURN.with(|turn| turn.looked.get())
}

#[inline]
pub(crate) fn look() {
    TURN.with(|turn| turn.looked.set(true));
}

/// A message was sent and accepted.
#[inline]
pub(crate) fn count_sent() {
    TURN.with(|turn| turn.sent.set(turn.sent.get() + 1));
}

/// How many messages were sent since this was asked last.
#[inline]
pub(crate) fn take_sent() -> u64 {
    TURN.with(|turn| turn.sent.replace(0))
}

/// Stands for several, or for what is no call.
const SEVERAL: u64 = u64::MAX;

/// A future that was polled in this poll, with this waker, waits for the answer of this
/// process (rule C5). A waker that is not the process's own is that of a collection, which
/// polls only those of its futures that were woken: what else the process waits for is not
/// known. And a process of another node is in no chain of this one.
#[inline]
pub(crate) fn note_wait(callee: Pid, waker: &Waker) {
    TURN.with(|turn| {
        let alone = turn.waits.get() == 0
            && waker.data().addr() == turn.waker.get()
            && callee.creation() == turn.pid.get().creation();
        turn.waits.set(if alone { callee.id() } else { SEVERAL });
    });
}

/// Whether the process waited for the answer of this one and nothing else until now.
pub(crate) fn waited_only_for(callee: Pid) -> bool {
    TURN.with(|turn| turn.waited.get() == callee.id())
}

/// A future that was polled in this poll waits for something else than an answer: so the
/// process may go on without one.
#[inline]
pub(crate) fn note_other_wait() {
    TURN.with(|turn| turn.waits.set(SEVERAL));
}

/// Whom the process waits for, if it is one call and nothing else that was polled; else 0.
#[inline]
pub(crate) fn waited_for() -> u64 {
    let callee = TURN.with(|turn| turn.waits.get());
    if callee == SEVERAL { 0 } else { callee }
}

/// The message that a [`crate::Route`] has just been given was handed on to this process, or
/// is kept for it: if it is a call, its caller waits for that process (rule C5). The innermost
/// route says so first.
pub fn note_receiver(receiver: Pid) {
    RECEIVER.with(|last| {
        if last.get().is_none() {
            last.set(Some(receiver));
        }
    });
}

/// To whom a message was handed on since this was asked last.
#[inline]
pub(crate) fn take_receiver() -> Option<Pid> {
    RECEIVER.with(|last| last.replace(None))
}

/// Runs `f`, unless it is running for this process on this thread already.
pub(crate) fn once<T>(pid: Pid, f: impl FnOnce() -> T) -> Option<T> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            ONCE.with(|once| once.borrow_mut().pop());
        }
    }
    if ONCE.with(|once| once.borrow().iter().any(|other| other.is_same_process(pid))) {
        return None;
    }
    ONCE.with(|once| once.borrow_mut().push(pid));
    let _leave = Leave;
    Some(f())
}

/// Keeps an orphaned token for the end of the turn; gives it back outside a turn.
pub(crate) fn adopt<F>(orphan: F) -> Result<(), F>
where
    F: FnOnce(Fate<'_>) + Send + 'static,
{
    if pid().is_none() {
        return Err(orphan);
    }
    HAS_ORPHANS.with(|has| has.set(true));
    ORPHANS.with(|orphans| orphans.borrow_mut().push(Box::new(orphan)));
    Ok(())
}

/// Fails the calls whose tokens were dropped in this turn.
#[inline]
pub(crate) fn settle_orphans(fate: Fate<'_>) {
    if HAS_ORPHANS.with(Cell::get) {
        settle(fate);
    }
}

/// Takes away the tokens that were dropped in this turn: their process knows that they
/// are to fail with a reason, but has to wait before it can say so.
pub(crate) fn take_orphans() -> Orphans {
    HAS_ORPHANS.with(|has| has.set(false));
    Orphans(ORPHANS.with(RefCell::take))
}

/// Runs `f`, which drops what does not belong to the current process: calls whose tokens go
/// with it fail at once, and not with the end of this process should it end now.
pub(crate) fn apart(f: impl FnOnce()) {
    refusing(Fate::Dropped, f);
}

/// As [`apart`], with an answer for those calls.
pub(crate) fn refusing(fate: Fate<'_>, f: impl FnOnce()) {
    let own = take_orphans();
    let _ = contain(f);
    settle_orphans(fate);
    drop(own);
}

/// Tokens that were taken away. Dropped, they go back to those of the turn: then the
/// process has ended while it waited, and they fail with that end.
pub(crate) struct Orphans(Vec<Orphan>);

impl Orphans {
    /// Fails the calls with this reason.
    pub(crate) fn settle(mut self, reason: &Reason) {
        for orphan in self.0.drain(..) {
            orphan(Fate::Ended(reason));
        }
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        for orphan in self.0.drain(..) {
            if let Err(orphan) = adopt(orphan) {
                orphan(Fate::Dropped);
            }
        }
    }
}

#[cold]
fn settle(fate: Fate<'_>) {
    HAS_ORPHANS.with(|has| has.set(false));
    // Failing a call wakes its caller and can run no user code, so nothing is pushed
    // meanwhile; taking the list out keeps that from being an invariant.
    for orphan in ORPHANS.with(RefCell::take) {
        orphan(fate);
    }
}
