//! The turn that runs on this thread.
//!
//! A turn leaves its pid here, so that a send knows its sender without being told,
//! and a blocking wait inside a process is found out. What the turn may still do, and what
//! it and the future that it polls tell each other, lies here too: it is nobody else's
//! business, and would have to be atomic in the cell. Reply tokens dropped during a
//! turn are kept here until it is known whether the process lives on.

use super::awaited::AwaitedProcess;
use super::crash::contain;
use crate::host::ready::TurnLimits;
use crate::host::worker_slot::Debt;
use crate::sync::thread_local;
use krarup_gen::{CallError, Pid, Reason, Timestamp};
use std::cell::{Cell, RefCell};
use std::task::Waker;

/// A token that was dropped.
struct OrphanedReply {
    /// Fails its call.
    fail: Box<dyn FnOnce(OrphanCause<'_>) + Send>,
    /// Whether its process may have begun to handle the request (see [`not_begun`]).
    begun: bool,
}

impl OrphanedReply {
    /// Whatever comes of it: no call waits because another could not be told.
    fn settle(self, fate: OrphanCause<'_>) {
        let OrphanedReply { fail, begun } = self;
        let fate = match fate {
            OrphanCause::Ended(reason) if !begun => OrphanCause::NotBegun(reason),
            fate => fate,
        };
        let _ = contain(|| fail(fate));
    }
}

/// Why a token was dropped.
#[derive(Clone, Copy)]
pub(crate) enum OrphanCause<'a> {
    /// By who lives on.
    Dropped,
    /// Its process has ended.
    Ended(&'a Reason),
    /// Its process has ended, and had not begun to handle its request.
    NotBegun(&'a Reason),
    /// Its request is not handled, and this is the answer.
    Refused(&'a CallError),
}

/// What the future wants, having returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wants {
    /// Something else than a message: it waits inside a handler.
    Other = 0,
    /// A message, and it has none.
    Message = 1,
    /// Something on a control lane, and there is nothing: what lies on Main it leaves there.
    Control = 2,
    /// Another turn: its budget is used up.
    Turn = 3,
}

/// What the turn and the future that it polls tell each other, in one word: so the usual end of
/// a poll is one comparison. The two lowest bits are a [`Wants`].
mod signs {
    pub(super) const WANTS: u16 = 0b11;
    /// Since the future was last polled something in it waits that will set its timer when
    /// the process is poked.
    pub(super) const WANTS_POKE: u16 = 1 << 2;
    /// A batch was emptied in this turn: its memory may be needed again soon.
    pub(super) const KEEPS_MEMORY: u16 = 1 << 3;
    /// Main was looked at since the future was last polled.
    pub(super) const LOOKED: u16 = 1 << 4;
    /// Nothing has been handled. However late it is, a turn handles one message, or a
    /// process would come round for ever.
    pub(super) const FRESH: u16 = 1 << 5;
    /// This poll is only to let calls read the clock: see [`super::date_calls`].
    pub(super) const DATES: u16 = 1 << 6;
    /// A call has read the clock in this poll, and will set its timer when the process is poked.
    pub(super) const DATED: u16 = 1 << 7;
    /// A call wants to know whether the process waits for it alone: see [`super::suspect`].
    pub(super) const SUSPECTS: u16 = 1 << 8;
}

/// A turn, as far as it concerns this thread alone.
#[derive(Clone)]
struct TurnState {
    /// The process; the node's number 0 outside of any.
    pid: Cell<Pid>,
    /// Messages that may still be handled. Below zero after sends to those who cannot keep
    /// up: see [`charge`].
    budget: Cell<i64>,
    /// When it must end, in nanoseconds of the node's time; 0: no matter when.
    deadline: Cell<u64>,
    /// See [`signs`].
    signs: Cell<u16>,
    /// What the data of the process's own waker point at.
    waker: Cell<usize>,
    /// Whom what was polled last waits for; see [`note_wait`].
    waits: Cell<AwaitedProcess>,
    /// Whose mailbox was crowded when a message was put there last; see [`charge`].
    creditor: Cell<u64>,
    /// Messages sent in this turn.
    sent: Cell<u64>,
    /// Whom the process waited for when it was polled before.
    waited: Cell<AwaitedProcess>,
    /// What was put aside of the budget: see [`date_calls`].
    put_aside: Cell<i64>,
}

const NOBODY: Pid = Pid::local(0, 0);

thread_local! {
    static TURN: TurnState = const {
        TurnState {
            pid: Cell::new(NOBODY),
            budget: Cell::new(0),
            deadline: Cell::new(0),
            signs: Cell::new(0),
            waker: Cell::new(0),
            waits: Cell::new(AwaitedProcess::NONE),
            creditor: Cell::new(0),
            sent: Cell::new(0),
            waited: Cell::new(AwaitedProcess::NONE),
            put_aside: Cell::new(0),
        }
    };
    /// To whom the last message was handed on: by a route, or by a full mailbox.
    static RECEIVER: Cell<Option<Pid>> = const { Cell::new(None) };
    /// Processes whose overflow is being diverted on this thread.
    static ONCE: RefCell<Vec<Pid>> = const { RefCell::new(Vec::new()) };
    /// Whether there are any: cheaper to ask than the list, which has a destructor.
    static HAS_ORPHANS: Cell<bool> = const { Cell::new(false) };
    static ORPHANS: RefCell<Vec<OrphanedReply>> = const { RefCell::new(Vec::new()) };
    /// What is dropped now was never handled.
    static NOT_BEGUN: Cell<bool> = const { Cell::new(false) };
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

/// Whether a turn runs on this thread.
#[inline]
pub(crate) fn is_busy() -> bool {
    TURN.with(|turn| !turn.pid.get().is_node())
}

/// Puts the turn that runs here aside until what is returned is dropped: a process that stops
/// another node runs last turns there.
#[cold]
pub(crate) fn set_aside() -> impl Drop {
    struct Outer {
        turn: TurnState,
        /// Calls of the outer turn: what becomes of the inner process is not their fate.
        orphans: Vec<OrphanedReply>,
        not_begun: bool,
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            settle_orphans(OrphanCause::Dropped);
            TURN.with(|turn| turn.restore(&self.turn));
            NOT_BEGUN.with(|not_begun| not_begun.set(self.not_begun));
            self.orphans.drain(..).for_each(keep);
        }
    }
    let (orphans, not_begun) = (take_all(), NOT_BEGUN.with(|not_begun| not_begun.replace(false)));
    TURN.with(|turn| {
        let outer = Outer { turn: turn.clone(), orphans, not_begun };
        turn.pid.set(NOBODY);
        outer
    })
}

/// Begins a turn of the process on this thread, where none runs; it ends when the guard is
/// dropped.
#[inline]
pub(crate) fn enter(pid: Pid, limits: &TurnLimits, now: impl FnOnce() -> Timestamp) -> TurnGuard {
    TURN.with(|turn| {
        turn.pid.set(pid);
        turn.budget.set(i64::from(limits.throughput.get()));
        turn.deadline.set(limits.deadline.map_or(0, |limit| (now() + limit).as_nanos().max(1)));
        turn.signs.set(signs::FRESH);
        // What was sent here before was not sent by this process.
        turn.sent.set(0);
    });
    TurnGuard(())
}

/// A turn has begun.
pub(crate) struct TurnGuard(());

impl Drop for TurnGuard {
    #[inline]
    fn drop(&mut self) {
        TURN.with(|turn| turn.pid.set(NOBODY));
    }
}

impl TurnState {
    #[cold]
    fn restore(&self, outer: &TurnState) {
        self.pid.set(outer.pid.get());
        self.budget.set(outer.budget.get());
        self.deadline.set(outer.deadline.get());
        self.signs.set(outer.signs.get());
        self.waker.set(outer.waker.get());
        self.waits.set(outer.waits.get());
        self.creditor.set(outer.creditor.get());
        self.sent.set(outer.sent.get());
        self.waited.set(outer.waited.get());
        self.put_aside.set(outer.put_aside.get());
    }

    #[inline]
    fn has(&self, sign: u16) -> bool {
        self.signs.get() & sign != 0
    }

    #[inline]
    fn add(&self, sign: u16) {
        self.signs.set(self.signs.get() | sign);
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
        turn.add(signs::FRESH);
    });
}

#[cold]
fn is_late(turn: &TurnState, now: impl FnOnce() -> Timestamp) -> bool {
    let fresh = turn.has(signs::FRESH);
    turn.signs.set(turn.signs.get() & !signs::FRESH);
    !fresh && now().as_nanos() >= turn.deadline.get()
}

/// Takes more of the turn than the message in hand: it has made others work, or one whose
/// number is `creditor`. What is not there is a [`debt`]. Who fills its own mailbox owes nobody
/// a turn: nobody else could empty it.
#[inline]
pub(crate) fn charge(messages: u32, creditor: u64) {
    TURN.with(|turn| {
        if creditor == turn.pid.get().id() {
            return;
        }
        turn.budget.set(turn.budget.get().saturating_sub(i64::from(messages)));
        turn.creditor.set(creditor);
    });
}

/// Turns, of as many messages as the default has, that the turn has taken too much.
#[inline]
pub(crate) fn debt() -> Option<Debt> {
    TURN.with(|turn| {
        let budget = turn.budget.get();
        if budget > -64 {
            return None;
        }
        let turns = u32::try_from(budget.unsigned_abs() / 64).unwrap_or(u32::MAX);
        Some(Debt { turns, creditor: turn.creditor.get() })
    })
}

/// The future will be polled: nothing has been looked at, nothing is waited for. `waited` is
/// whom the process waited for until now.
#[inline]
pub(crate) fn begin_poll(waker: &Waker, waited: AwaitedProcess) {
    TURN.with(|turn| {
        turn.waited.set(waited);
        // What stays is of the turn; the future wants nothing in particular.
        turn.signs.set(turn.signs.get() & (signs::FRESH | signs::KEEPS_MEMORY | signs::DATES));
        turn.waker.set(waker.data().addr());
        turn.waits.set(AwaitedProcess::NONE);
    });
}

/// What the future wants that was just polled.
#[inline]
pub(crate) fn wants() -> Wants {
    TURN.with(|turn| match turn.signs.get() & signs::WANTS {
        0 => Wants::Other,
        1 => Wants::Message,
        2 => Wants::Control,
        _ => Wants::Turn,
    })
}

#[inline]
pub(crate) fn want(wants: Wants) {
    TURN.with(|turn| turn.signs.set((turn.signs.get() & !signs::WANTS) | wants as u16));
}

/// Whether the future that was just polled wants a message and has left no other sign.
#[inline]
pub(crate) fn wants_a_message_only() -> bool {
    let told = signs::WANTS
        | signs::WANTS_POKE
        | signs::KEEPS_MEMORY
        | signs::DATES
        | signs::DATED
        | signs::SUSPECTS;
    TURN.with(|turn| turn.signs.get() & told == Wants::Message as u16)
}

/// Whether this is the waker with which the process that runs here is polled.
#[inline]
pub(crate) fn is_own(waker: &Waker) -> bool {
    TURN.with(|turn| turn.waker.get() == waker.data().addr())
}

/// Has the process poked later, if this is its own waker: one that a collection of futures
/// made for one of them would not be woken by that. False also outside a turn.
#[inline]
pub(crate) fn want_poke(waker: &Waker) -> bool {
    TURN.with(|turn| {
        let own = !turn.pid.get().is_node() && turn.waker.get() == waker.data().addr();
        if own {
            turn.add(signs::WANTS_POKE);
        }
        own
    })
}

#[inline]
pub(crate) fn wants_poke() -> bool {
    TURN.with(|turn| turn.has(signs::WANTS_POKE))
}

/// The next poll is only to let calls read the clock. A call that is made does not, for nearly
/// every call is answered at once: the poke, some 10 ms later, tells it early enough. If its
/// process waits for something else too, it may be busy with that by then. Nothing is
/// received in such a poll: it has no budget.
#[cold]
pub(crate) fn date_calls() {
    TURN.with(|turn| {
        turn.add(signs::DATES);
        let rest = turn.budget.get().max(0);
        turn.put_aside.set(rest);
        turn.budget.set(turn.budget.get() - rest);
    });
}

/// Ends what [`date_calls`] has begun; whether it had.
#[inline]
pub(crate) fn has_dated_calls() -> bool {
    TURN.with(|turn| {
        let dates = turn.has(signs::DATES);
        if dates {
            turn.signs.set(turn.signs.get() & !signs::DATES);
            turn.budget.set(turn.budget.get() + turn.put_aside.replace(0));
        }
        dates
    })
}

/// Whether a call that is polled with this waker is only to read the clock now. It will be
/// polled again, when the process is poked or before.
pub(crate) fn is_dated(waker: &Waker) -> bool {
    TURN.with(|turn| {
        let dates = turn.has(signs::DATES)
            && !turn.pid.get().is_node()
            && turn.waker.get() == waker.data().addr();
        if dates {
            turn.add(signs::DATED);
        }
        dates
    })
}

/// Whether the poll was one for a call to read the clock, or a call wants another: see
/// [`date_calls`] and [`suspect`].
#[inline]
pub(crate) fn is_special() -> bool {
    TURN.with(|turn| turn.has(signs::DATES | signs::DATED | signs::SUSPECTS))
}

/// Whether a call has read the clock and has set no timer.
#[inline]
pub(crate) fn has_dated() -> bool {
    TURN.with(|turn| turn.has(signs::DATED))
}

/// A batch was emptied: its memory may be needed again soon.
pub(crate) fn keep_memory() {
    TURN.with(|turn| turn.add(signs::KEEPS_MEMORY));
}

#[inline]
pub(crate) fn keeps_memory() -> bool {
    TURN.with(|turn| turn.has(signs::KEEPS_MEMORY))
}

/// Whether Main was looked at since the future was last polled.
#[inline]
pub(crate) fn has_looked() -> bool {
    TURN.with(|turn| turn.has(signs::LOOKED))
}

#[inline]
pub(crate) fn look() {
    TURN.with(|turn| turn.add(signs::LOOKED));
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

/// A future that was polled in this poll, with this waker, waits for the answer of this
/// process (rule C5). A waker that is not the process's own is that of a collection, which
/// polls only those of its futures that were woken: what else the process waits for is not
/// known. And a process of another node is in no chain of this one.
#[inline]
pub(crate) fn note_wait(callee: Pid, wait: AwaitedProcess, waker: &Waker) {
    TURN.with(|turn| {
        let alone = turn.waits.get().is_none()
            && waker.data().addr() == turn.waker.get()
            && callee.creation() == turn.pid.get().creation();
        turn.waits.set(if alone { wait } else { AwaitedProcess::SEVERAL });
    });
}

/// Has the process polled again before it parks. If nothing but the answer of the one call that
/// it waits for can wake it, that poll knows it: see [`waited_only_for`].
pub(crate) fn suspect() {
    TURN.with(|turn| turn.add(signs::SUSPECTS));
}

/// As [`suspect`], for a request that is not sent yet; false, and nothing is done, if it is not
/// the process's own waker: then it might not be polled again.
pub(crate) fn suspect_unsent(callee: Pid, waker: &Waker) -> bool {
    let own =
        TURN.with(|turn| !turn.pid.get().is_node() && turn.waker.get() == waker.data().addr());
    if own {
        suspect();
        note_wait(callee, AwaitedProcess::on(callee).unsent(), waker);
    }
    own
}

/// Whether [`suspect`] was called in this poll.
#[inline]
pub(crate) fn suspects() -> bool {
    TURN.with(|turn| turn.has(signs::SUSPECTS))
}

/// Whether nothing but the answer of this one could wake the process, when it was made ready.
pub(crate) fn waited_only_for(callee: Pid) -> bool {
    TURN.with(|turn| turn.waited.get().is_alone_for(callee))
}

/// A future that was polled in this poll waits for something else than an answer: so the
/// process may go on without one.
#[inline]
pub(crate) fn note_other_wait() {
    TURN.with(|turn| turn.waits.set(AwaitedProcess::SEVERAL));
}

/// Whom the process waits for, if it is one call and nothing else that was polled.
#[inline]
pub(crate) fn wait() -> AwaitedProcess {
    let wait = TURN.with(|turn| turn.waits.get());
    if wait == AwaitedProcess::SEVERAL { AwaitedProcess::NONE } else { wait }
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
pub(crate) fn adopt<F>(fail: F) -> Result<(), F>
where
    F: FnOnce(OrphanCause<'_>) + Send + 'static,
{
    if pid().is_none() {
        return Err(fail);
    }
    keep(OrphanedReply { fail: Box::new(fail), begun: !NOT_BEGUN.with(Cell::get) });
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

/// Runs `f`, which drops requests that no handler has seen: should their process end, their
/// callers hear that they may be made again.
pub(crate) fn not_begun<T>(f: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            NOT_BEGUN.with(|not_begun| not_begun.set(self.0));
        }
    }
    let _before = Before(NOT_BEGUN.with(|not_begun| not_begun.replace(true)));
    f()
}

/// Fails the calls whose tokens were dropped in this turn.
#[inline]
pub(crate) fn settle_orphans(fate: OrphanCause<'_>) {
    if HAS_ORPHANS.with(Cell::get) {
        settle(fate);
    }
}

/// Takes away the tokens that were dropped in this turn: their process knows that they
/// are to fail with a reason, but has to wait before it can say so.
pub(crate) fn take_orphans() -> OrphanedReplies {
    OrphanedReplies(take_all())
}

/// Runs `f`, which drops what does not belong to the current process: calls whose tokens go
/// with it fail at once, and not with the end of this process should it end now.
pub(crate) fn apart(f: impl FnOnce()) {
    refusing(OrphanCause::Dropped, f);
}

/// As [`apart`], with an answer for those calls.
pub(crate) fn refusing(fate: OrphanCause<'_>, f: impl FnOnce()) {
    let own = take_orphans();
    let _ = contain(f);
    settle_orphans(fate);
    drop(own);
}

/// Tokens that were taken away. Dropped, they go back to those of the turn: then the
/// process has ended while it waited, and they fail with that end.
pub(crate) struct OrphanedReplies(Vec<OrphanedReply>);

impl OrphanedReplies {
    /// Fails the calls with this reason.
    pub(crate) fn settle(mut self, reason: &Reason) {
        for orphan in self.0.drain(..) {
            orphan.settle(OrphanCause::Ended(reason));
        }
    }
}

impl Drop for OrphanedReplies {
    fn drop(&mut self) {
        for orphan in self.0.drain(..) {
            if pid().is_some() {
                keep(orphan);
            } else {
                orphan.settle(OrphanCause::Dropped);
            }
        }
    }
}

#[cold]
fn settle(fate: OrphanCause<'_>) {
    // Taken out: whoever is woken may drop more.
    for orphan in take_all() {
        orphan.settle(fate);
    }
}
