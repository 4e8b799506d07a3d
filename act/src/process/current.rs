//! The turn that runs on this thread.
//!
//! A turn stores its pid here. So a send knows its sender without a parameter, and a blocking
//! wait inside a process is detected. The remaining budget of the turn lies here too, and so do
//! the signs that the turn and the polled future give each other. No other thread needs these
//! values, and in the cell they would have to be atomic. Reply tokens that are dropped during a
//! turn are kept here until it is known whether the process lives on.

use super::awaited::AwaitedProcess;
use super::crash::contain;
use crate::host::ready::TurnLimits;
use crate::sync::thread_local;
use krarup_gen::{CallError, Pid, Reason, Timestamp};
use std::cell::{Cell, RefCell};
use std::task::Waker;

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
        let _ = contain(|| fail(pid, fate));
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

/// What the future waits for after it has returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wants {
    /// Something other than a message: it waits inside a handler.
    Other = 0,
    /// A message; there is none.
    Message = 1,
    /// An entry on a control lane; there is none. Messages on Main stay there.
    Control = 2,
    /// Another turn, because its budget is used up.
    Turn = 3,
}

/// The signs that the turn and the polled future give each other, in one word. So the usual end
/// of a poll costs one comparison. The two lowest bits are a [`Wants`].
mod signs {
    pub(super) const WANTS: u16 = 0b11;
    /// Since the last poll began, part of the future waits and will set its timer when the
    /// process is poked.
    pub(super) const WANTS_POKE: u16 = 1 << 2;
    /// A batch was emptied in this turn. Its memory may be needed again soon.
    pub(super) const KEEPS_MEMORY: u16 = 1 << 3;
    /// The future has looked at Main since the last poll began.
    pub(super) const LOOKED: u16 = 1 << 4;
    /// Nothing has been handled yet. A turn handles one message even after its deadline;
    /// otherwise a process could be queued again and again without progress.
    pub(super) const FRESH: u16 = 1 << 5;
    /// This poll only lets calls read the clock: see [`super::date_calls`].
    pub(super) const DATES: u16 = 1 << 6;
    /// A call has read the clock in this poll and will set its timer when the process is poked.
    pub(super) const DATED: u16 = 1 << 7;
    /// A call needs to know whether the process waits for it alone: see [`super::suspect`].
    pub(super) const SUSPECTS: u16 = 1 << 8;
}

/// The state of a turn that only this thread uses.
#[derive(Clone)]
struct TurnState {
    /// The process; outside a turn the pid of the node, number 0.
    pid: Cell<Pid>,
    /// How many more messages may be handled. Negative after sends to processes that cannot
    /// keep up: see [`charge`].
    budget: Cell<i64>,
    /// When the turn must end, in nanoseconds of the node's time; 0 means no limit.
    deadline: Cell<u64>,
    /// See [`signs`].
    signs: Cell<u16>,
    /// The address in the data pointer of the process's own waker.
    waker: Cell<usize>,
    /// The process that the last poll waits for; see [`note_wait`].
    waits: Cell<AwaitedProcess>,
    /// The process whose mailbox was crowded at the last charged send; see [`charge`].
    receiver: Cell<u64>,
    /// Messages sent in this turn.
    sent: Cell<u64>,
    /// The process that this one waited for when the current poll began.
    waited: Cell<AwaitedProcess>,
    /// The part of the budget that was set aside: see [`date_calls`].
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
            receiver: Cell::new(0),
            sent: Cell::new(0),
            waited: Cell::new(AwaitedProcess::NONE),
            put_aside: Cell::new(0),
        }
    };
    /// The process that received the last message from a route or a full mailbox.
    static RECEIVER: Cell<Option<Pid>> = const { Cell::new(None) };
    /// Processes whose overflow is being diverted on this thread.
    static ONCE: RefCell<Vec<Pid>> = const { RefCell::new(Vec::new()) };
    /// Whether there are orphans. Cheaper to read than the list, which has a destructor.
    static HAS_ORPHANS: Cell<bool> = const { Cell::new(false) };
    static ORPHANS: RefCell<Vec<OrphanedReply>> = const { RefCell::new(Vec::new()) };
    /// Whether requests that are dropped now were never handled.
    static NOT_BEGUN: Cell<bool> = const { Cell::new(false) };
}

/// The process whose turn runs on this thread.
pub(crate) fn pid() -> Option<Pid> {
    let pid = TURN.with(|turn| turn.pid.get());
    (!pid.is_node()).then_some(pid)
}

/// The number of the current process if it belongs to the node with this creation, else 0. Pids
/// of one node mean nothing to another.
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

/// Sets the running turn aside until the returned guard is dropped. A process that stops
/// another node runs the last turns of that node's processes.
#[cold]
pub(crate) fn set_aside() -> impl Drop {
    struct Outer {
        turn: TurnState,
        /// Orphaned calls of the outer turn. The fate of the inner process does not affect
        /// them.
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

/// Begins a turn of the process on this thread, where no turn runs. The turn ends when the
/// guard is dropped.
#[inline]
pub(crate) fn enter(pid: Pid, limits: &TurnLimits, now: impl FnOnce() -> Timestamp) -> TurnGuard {
    TURN.with(|turn| {
        turn.pid.set(pid);
        turn.budget.set(i64::from(limits.throughput.get()));
        turn.deadline.set(limits.deadline.map_or(0, |limit| (now() + limit).as_nanos().max(1)));
        turn.signs.set(signs::FRESH);
        // Earlier sends on this thread were not made by this process.
        turn.sent.set(0);
    });
    TurnGuard(())
}

/// A turn that has begun. Dropping it ends the turn.
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
        self.receiver.set(outer.receiver.get());
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

/// Takes one message from the budget of the turn. Returns false if the turn is used up.
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

/// Gives back the message that was just spent.
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

/// Charges the turn for more than the current message, because its sends have made work for
/// others. `receiver` is the number of one such process; 0: none, or one of another node. The
/// budget below zero is an overdraft: see [`flooded`]. A process that fills its own mailbox is not charged,
/// because only the process itself can empty it.
#[inline]
pub(crate) fn charge(messages: u32, receiver: u64) {
    TURN.with(|turn| {
        if receiver == turn.pid.get().id() {
            return;
        }
        turn.budget.set(turn.budget.get().saturating_sub(i64::from(messages)));
        turn.receiver.set(receiver);
    });
}

/// The number of the process whose mailbox the turn has filled, of several the last, if it has
/// overdrawn its budget by 64 messages or more.
#[inline]
pub(crate) fn flooded() -> Option<u64> {
    TURN.with(|turn| {
        let receiver = turn.receiver.get();
        (turn.budget.get() <= -64 && receiver != 0).then_some(receiver)
    })
}

/// Resets the signs before a poll. `waited` is the process that this one waited for until now.
#[inline]
pub(crate) fn begin_poll(waker: &Waker, waited: AwaitedProcess) {
    TURN.with(|turn| {
        turn.waited.set(waited);
        // Signs of the turn stay. Signs of the last poll are cleared.
        turn.signs.set(turn.signs.get() & (signs::FRESH | signs::KEEPS_MEMORY | signs::DATES));
        turn.waker.set(waker.data().addr());
        turn.waits.set(AwaitedProcess::NONE);
    });
}

/// What the future that was just polled waits for.
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

/// Whether the future that was just polled waits for a message and has left no other sign.
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

/// Whether the waker is the one with which the current process is polled.
#[inline]
pub(crate) fn is_own(waker: &Waker) -> bool {
    TURN.with(|turn| turn.waker.get() == waker.data().addr())
}

/// Asks for a poke of the process if the waker is its own. A waker that a collection of futures
/// made for one of them would not be woken by a poke. Returns false outside a turn too.
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

/// Makes the next poll one that only lets calls read the clock.
///
/// A new call does not read the clock, because nearly every call is answered at once. The poke,
/// some 10 ms later, tells it the time early enough. But a process that waits for something
/// else too may be busy with that by then. Nothing is received in such a poll, because it has
/// no budget.
#[cold]
pub(crate) fn date_calls() {
    TURN.with(|turn| {
        turn.add(signs::DATES);
        let rest = turn.budget.get().max(0);
        turn.put_aside.set(rest);
        turn.budget.set(turn.budget.get() - rest);
    });
}

/// Ends what [`date_calls`] began. Returns whether it had begun.
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

/// Whether a call polled with this waker is only to read the clock now. It will be polled again
/// when the process is poked, or before.
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

/// Whether the poll only let calls read the clock, or a call asks for another poll: see
/// [`date_calls`] and [`suspect`].
#[inline]
pub(crate) fn is_special() -> bool {
    TURN.with(|turn| turn.has(signs::DATES | signs::DATED | signs::SUSPECTS))
}

/// Whether a call has read the clock without setting a timer.
#[inline]
pub(crate) fn has_dated() -> bool {
    TURN.with(|turn| turn.has(signs::DATED))
}

/// Records that a batch was emptied. Its memory may be needed again soon.
pub(crate) fn keep_memory() {
    TURN.with(|turn| turn.add(signs::KEEPS_MEMORY));
}

#[inline]
pub(crate) fn keeps_memory() -> bool {
    TURN.with(|turn| turn.has(signs::KEEPS_MEMORY))
}

/// Whether the future has looked at Main since the last poll began.
#[inline]
pub(crate) fn has_looked() -> bool {
    TURN.with(|turn| turn.has(signs::LOOKED))
}

#[inline]
pub(crate) fn look() {
    TURN.with(|turn| turn.add(signs::LOOKED));
}

/// Counts a message that was sent and accepted.
#[inline]
pub(crate) fn count_sent() {
    TURN.with(|turn| turn.sent.set(turn.sent.get() + 1));
}

/// Returns how many messages were sent since the last call of this function.
#[inline]
pub(crate) fn take_sent() -> u64 {
    TURN.with(|turn| turn.sent.replace(0))
}

/// Records that a future polled in this poll, with this waker, waits for the answer of `callee`
/// (rule C5).
///
/// A waker that is not the process's own belongs to a collection. A collection polls only those
/// of its futures that were woken, so what else the process waits for is not known. A process
/// of another node is part of no chain of this node.
#[inline]
pub(crate) fn note_wait(callee: Pid, wait: AwaitedProcess, waker: &Waker) {
    TURN.with(|turn| {
        let alone = turn.waits.get().is_none()
            && waker.data().addr() == turn.waker.get()
            && callee.creation() == turn.pid.get().creation();
        turn.waits.set(if alone { wait } else { AwaitedProcess::SEVERAL });
    });
}

/// Makes the process be polled again before it parks. If only the answer of the call that it
/// waits for can wake it, that poll can see this: see [`waited_only_for`].
pub(crate) fn suspect() {
    TURN.with(|turn| turn.add(signs::SUSPECTS));
}

/// Does the same as [`suspect`] for a request that is not sent yet. Returns false without any
/// effect if the waker is not the process's own: then it might not be polled again.
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

/// Whether only the answer of `callee` could wake the process at the time it was made ready.
pub(crate) fn waited_only_for(callee: Pid) -> bool {
    TURN.with(|turn| turn.waited.get().is_alone_for(callee))
}

/// Records that a future polled in this poll waits for something other than an answer. So the
/// process may continue without an answer.
#[inline]
pub(crate) fn note_other_wait() {
    TURN.with(|turn| turn.waits.set(AwaitedProcess::SEVERAL));
}

/// The process whose answer the current one waits for, if it waits for that alone.
#[inline]
pub(crate) fn wait() -> AwaitedProcess {
    let wait = TURN.with(|turn| turn.waits.get());
    if wait == AwaitedProcess::SEVERAL { AwaitedProcess::NONE } else { wait }
}

/// Records which process received, or holds, the message that a [`crate::Route`] was just
/// given.
///
/// If the message is a call, its caller waits for that process (rule C5). With nested routes
/// the innermost records first, and its record stays.
pub fn note_receiver(receiver: Pid) {
    RECEIVER.with(|last| {
        if last.get().is_none() {
            last.set(Some(receiver));
        }
    });
}

/// Takes the process that received a message since the last call of this function.
#[inline]
pub(crate) fn take_receiver() -> Option<Pid> {
    RECEIVER.with(|last| last.replace(None))
}

/// Runs `f`, unless it already runs for this process on this thread.
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

/// Keeps an orphaned token until the end of the turn. Gives it back outside a turn.
pub(crate) fn adopt<F>(fail: F) -> Result<(), F>
where
    F: FnOnce(Pid, OrphanCause<'_>) + Send + 'static,
{
    let Some(pid) = pid() else { return Err(fail) };
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

/// Runs `f`, which drops requests that no handler has seen. If their process ends, their
/// callers learn that the requests may be made again.
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

/// Takes the tokens that were dropped in this turn. The process will fail them with a reason,
/// but must wait before the reason is known.
pub(crate) fn take_orphans() -> OrphanedReplies {
    OrphanedReplies(take_all())
}

/// Runs `f`, which drops values that do not belong to the current process. Calls whose tokens
/// are dropped by it fail at once, not with the end of the current process.
pub(crate) fn apart(f: impl FnOnce()) {
    refusing(OrphanCause::Dropped, f);
}

/// Does the same as [`apart`], with an answer for those calls.
pub(crate) fn refusing(fate: OrphanCause<'_>, f: impl FnOnce()) {
    let own = take_orphans();
    let _ = contain(f);
    settle_orphans(fate);
    drop(own);
}

/// Tokens that were taken from a turn. If this is dropped, they return to the current turn: the
/// process has ended while it waited, and they fail with its reason.
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
            if let Some(pid) = pid() {
                keep(OrphanedReply { pid, ..orphan });
            } else {
                orphan.settle(OrphanCause::Dropped);
            }
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
