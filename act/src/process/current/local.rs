//! The values of the turn that runs on this thread, its begin and its end.

use crate::host::host::Host;
use crate::host::ready::TurnLimits;
use crate::host::shared_host::SharedHost;
use crate::process::awaited::AwaitedProcess;
use crate::process::turn_state::TurnState;
use crate::sync::thread_local;
use krarup_gen::Pid;
use std::cell::Cell;
use std::sync::Arc;
use std::task::Waker;

/// The values of a turn that only this thread uses.
#[derive(Clone)]
pub(super) struct LocalTurn {
    /// The process; outside a turn the pid of the node, number 0.
    pub(super) pid: Cell<Pid>,
    /// How many more messages may be handled. Negative after sends to processes that cannot
    /// keep up: see [`super::budget`].
    pub(super) budget: Cell<i64>,
    /// When the turn must end, in nanoseconds of the node's time; 0 means no limit.
    pub(super) deadline: Cell<u64>,
    /// What the turn and the polled future tell each other.
    pub(super) state: Cell<TurnState>,
    /// The address in the data pointer of the process's own waker while it is polled, else 0.
    pub(super) waker: Cell<usize>,
    /// The host of the process while it is polled.
    pub(super) shared: Cell<*const SharedHost>,
    /// The process that the last poll waits for; see [`super::waits`].
    pub(super) waits: Cell<AwaitedProcess>,
    /// The process whose mailbox was crowded at the last charged send; see [`super::budget`].
    pub(super) receiver: Cell<u64>,
    /// Messages sent in this turn.
    sent: Cell<u64>,
    /// The process that this one waited for when the current poll began.
    pub(super) waited: Cell<AwaitedProcess>,
    /// The part of the budget that a poll for the clock does not have: see
    /// [`super::budget`].
    pub(super) put_aside: Cell<i64>,
}

const NOBODY: Pid = Pid::local(0, 0);

thread_local! {
    pub(super) static TURN: LocalTurn = const {
        LocalTurn {
            pid: Cell::new(NOBODY),
            budget: Cell::new(0),
            deadline: Cell::new(0),
            state: Cell::new(TurnState::NONE),
            waker: Cell::new(0),
            shared: Cell::new(std::ptr::null()),
            waits: Cell::new(AwaitedProcess::NONE),
            receiver: Cell::new(0),
            sent: Cell::new(0),
            waited: Cell::new(AwaitedProcess::NONE),
            put_aside: Cell::new(0),
        }
    };
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

/// Begins a turn of the process on this thread, where no turn runs. The turn ends when the
/// guard is dropped.
#[inline]
pub(crate) fn enter(pid: Pid, limits: &TurnLimits, host: &Arc<dyn Host>) -> TurnGuard {
    TURN.with(|turn| {
        turn.pid.set(pid);
        turn.budget.set(i64::from(limits.throughput.get()));
        let deadline = limits.deadline.map_or(0, |limit| (host.now() + limit).as_nanos().max(1));
        turn.deadline.set(deadline);
        turn.state.set(TurnState::BEGUN);
        // Earlier sends on this thread were not made by this process.
        turn.sent.set(0);
    });
    TurnGuard(())
}

/// Has no turn run on this thread until the guard is dropped.
#[cold]
pub(super) fn leave() -> OuterTurn {
    TURN.with(|turn| {
        let outer = OuterTurn(turn.clone());
        turn.pid.set(NOBODY);
        turn.waker.set(0);
        outer
    })
}

/// A turn that was left. It runs again when this is dropped.
pub(super) struct OuterTurn(LocalTurn);

impl Drop for OuterTurn {
    fn drop(&mut self) {
        TURN.with(|turn| turn.restore(&self.0));
    }
}

/// A turn that has begun. Dropping it ends the turn.
pub(crate) struct TurnGuard(());

impl Drop for TurnGuard {
    #[inline]
    fn drop(&mut self) {
        TURN.with(|turn| turn.pid.set(NOBODY));
    }
}

impl LocalTurn {
    /// Whether a process is polled and this is its waker. Other wakers may have nothing as their data.
    #[inline]
    pub(super) fn is_own(&self, waker: &Waker) -> bool {
        self.waker.get() != 0 && self.waker.get() == waker.data().addr()
    }

    #[cold]
    fn restore(&self, outer: &LocalTurn) {
        self.pid.set(outer.pid.get());
        self.budget.set(outer.budget.get());
        self.deadline.set(outer.deadline.get());
        self.state.set(outer.state.get());
        self.waker.set(outer.waker.get());
        self.shared.set(outer.shared.get());
        self.waits.set(outer.waits.get());
        self.receiver.set(outer.receiver.get());
        self.sent.set(outer.sent.get());
        self.waited.set(outer.waited.get());
        self.put_aside.set(outer.put_aside.get());
    }
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
