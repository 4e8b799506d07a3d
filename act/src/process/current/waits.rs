//! What the process of this turn waits for, as its wait graph edge (rule C5).
//!
//! | waits noted in one poll | the record |
//! |---|---|
//! | none | no wait |
//! | one answer, with the process's own waker, of a process of the same node | that answer |
//! | room at one process of the same node | that room: no edge |
//! | any other wait, or a second one | several: no edge |

use super::local::TURN;
use crate::process::awaited::AwaitedProcess;
use krarup_gen::Pid;
use std::task::{Poll, Waker};

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
            && turn.is_own(waker)
            && callee.creation() == turn.pid.get().creation();
        turn.waits.set(if alone { wait } else { AwaitedProcess::SEVERAL });
    });
}

/// Records that a future polled in this poll waits for something other than an answer. So the
/// process may continue without an answer.
#[inline]
pub(crate) fn note_other_wait() {
    TURN.with(|turn| turn.waits.set(AwaitedProcess::SEVERAL));
}

/// Polls a future that waits for room at `receiver`, and records that, if nothing else was
/// waited for in this poll.
pub(crate) fn poll_for_room<T>(receiver: Pid, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
    let first = TURN.with(|turn| turn.waits.get().is_none());
    let outcome = poll();
    TURN.with(|turn| {
        let here = receiver.creation() == turn.pid.get().creation();
        if outcome.is_pending() && first && here {
            turn.waits.set(AwaitedProcess::for_room(receiver));
        }
    });
    outcome
}

/// The process whose answer the current one waits for, if it waits for that alone.
#[inline]
pub(crate) fn wait() -> AwaitedProcess {
    let wait = TURN.with(|turn| turn.waits.get());
    if wait == AwaitedProcess::SEVERAL { AwaitedProcess::NONE } else { wait }
}

/// Makes the process be polled again before it parks. If only the answer of the call that it
/// waits for can wake it, that poll can see this: see [`waited_only_for`].
pub(crate) fn suspect() {
    TURN.with(|turn| turn.state.set(turn.state.get().suspecting()));
}

/// Does the same as [`suspect`] for a request that is not sent yet. Returns false without any
/// effect if the waker is not the process's own: then it might not be polled again.
pub(crate) fn suspect_unsent(callee: Pid, waker: &Waker) -> bool {
    let own = TURN.with(|turn| turn.is_own(waker));
    if own {
        suspect();
        note_wait(callee, AwaitedProcess::on(callee).unsent(), waker);
    }
    own
}

/// Whether only the answer of `callee` could wake the process at the time it was made ready.
pub(crate) fn waited_only_for(callee: Pid) -> bool {
    TURN.with(|turn| turn.waited.get().is_alone_for(callee))
}
