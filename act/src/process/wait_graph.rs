//! The wait graph: how cycles of calls are found (rule C5).
//!
//! A process that waits for the answer of one call records it when it parks:
//! `progress.waits_for` names the callee ([`super::awaited`]). The record is valid while the
//! process is Waiting, because an answer makes it Active at once. It is an edge if nothing else
//! can wake the process, that is, if only that call and its timer hold handles on its waker
//! ([`super::waker`]). The handles are counted under the lock of the mailbox. A waker takes the
//! same lock: one that was dropped has woken the process before, and a parked process makes no
//! new ones. A cycle of edges can never make progress.
//!
//! ```text
//!        A ── waits for ──► B ── waits for ──► C ── calls ──► A ?     C's call closes it
//! ```
//!
//! **When it is searched.** A call that seems to close a cycle is not made at once, because its
//! process may wait for something else as well. The call has the process polled again. If it is
//! then known that the process waits for nothing else, the call fails; otherwise it is made.
//!
//! Two processes that call each other at the same moment may both search too early, because
//! neither has parked. So a process that parks with messages in its mailbox searches too, once
//! it can be seen. It has the process polled that waits for it. That process searches again,
//! and its call fails. Both calls cannot fail: a process that is being polled is Active, and an
//! Active process ends no chain. A process that is poked while it waits searches again as well.
//!
//! **What is no edge.** A process that waits for several calls, or for a call and something
//! else, may continue without the answer. A callee that passes the token on is no longer the
//! awaited process; it reports this with [`Reply::pass_on`](crate::Reply::pass_on).

use super::current;
use super::process::Process;
use crate::host::host::Host;
use crate::observe::recording::record_deadlock;
use krarup_gen::{CallCycle, CallError, Pid};
use std::task::{Context, Poll};

/// The longest cycle that is found. A process that calls into a longer chain stops the search
/// here, because the search runs in its own turn.
const LONGEST: usize = 16_384;

/// Returns the cycle that is closed when `caller` waits for `callee`, if there is one.
///
/// The edges are read one after the other, and the first may be gone when the last is read. So
/// they are read again, from the last edge, whose process waits for the caller. That edge stays
/// until the caller continues. So the edge before it stays if it still exists then, and so on.
#[cold]
pub(crate) fn cycle(host: &dyn Host, caller: Pid, callee: Pid) -> Option<CallCycle> {
    let path = way_back(host, caller, callee)?;
    let mut next = caller;
    for pid in path[1..].iter().rev() {
        if !host.process(*pid)?.waits_for()?.is_same_process(next) {
            return None;
        }
        next = *pid;
    }
    Some(CallCycle::new(path))
}

/// The chain of waiting processes from `caller` over `callee` to the one that waits for
/// `caller`.
fn way_back(host: &dyn Host, caller: Pid, callee: Pid) -> Option<Vec<Pid>> {
    let mut path = vec![caller, callee];
    // A cycle of other processes has no end. So one place on it is remembered, and moved each
    // time the length of the path has doubled (Brent's algorithm).
    let (mut landmark, mut until) = (callee, 2);
    while path.len() <= LONGEST {
        let next = host.process(*path.last()?)?.waits_for()?;
        if next.is_same_process(caller) {
            return Some(path);
        }
        if next.is_same_process(landmark) {
            return None;
        }
        path.push(next);
        if path.len() > until {
            (landmark, until) = (next, 2 * until);
        }
    }
    None
}

/// Returns the error of a process that calls itself.
pub(crate) fn calls_itself(callee: Pid) -> Option<CallError> {
    let caller = current::pid()?;
    caller.is_same_process(callee).then_some(CallError::CallsItself(callee))
}

/// Whether a request to `callee`, sent or about to be sent, seems to close a cycle.
#[cold]
pub(crate) fn seems_futile(host: &dyn Host, callee: Pid) -> bool {
    current::pid().is_some_and(|caller| cycle(host, caller, callee).is_some())
}

/// Returns the error of a request that must not be sent. Pending if this will be known in the
/// next poll. `asked` is true in that poll.
#[cold]
pub(crate) fn poll_futile(
    host: &dyn Host,
    callee: Pid,
    cx: &Context<'_>,
    asked: &mut bool,
) -> Poll<Option<CallError>> {
    if let Some(error) = calls_itself(callee) {
        return Poll::Ready(Some(error));
    }
    if std::mem::replace(asked, true) {
        return Poll::Ready(deadlock(host, callee));
    }
    if seems_futile(host, callee) && current::suspect_unsent(callee, cx.waker()) {
        return Poll::Pending;
    }
    Poll::Ready(None)
}

/// Returns the error of a call whose answer will never come. It is known if the current process
/// waited for nothing else when it was made ready.
#[cold]
pub(crate) fn deadlock(host: &dyn Host, callee: Pid) -> Option<CallError> {
    if !current::waited_only_for(callee) {
        return None;
    }
    let cycle = cycle(host, current::pid()?, callee)?;
    host.count_deadlock();
    record_deadlock(host, &cycle);
    Some(CallError::Deadlock(cycle))
}

/// Has a cycle checked after this process has parked with messages in its mailbox, to wait for
/// an answer. If the process waits in a cycle, the last process of that cycle, which waits for
/// this one, is polled and searches again. If this one is a task, the last one may be its owner,
/// which makes no call, so all processes of the cycle are polled.
#[cold]
pub(crate) fn wake_cycle(host: &dyn Host, parked: &dyn Process, is_task: bool) {
    if let Some(callee) = parked.waits_for()
        && let Some(cycle) = cycle(host, parked.pid(), callee)
    {
        let pids = cycle.pids();
        let polled = if is_task { pids } else { &pids[pids.len().saturating_sub(1)..] };
        for pid in polled {
            if let Some(process) = host.process(*pid) {
                process.nudge();
            }
        }
    }
}
