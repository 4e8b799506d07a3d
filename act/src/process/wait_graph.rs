//! The wait graph: how cycles of calls are found (rule C5).
//!
//! A process that waits for the answer of one call records it when it parks:
//! `progress.waits_for` names the callee ([`super::awaited`]). The record is valid while the
//! process is Waiting, because an answer makes it Active at once. It is an edge if nothing else
//! can wake the process, that is, if only that call and its timer hold handles on its waker
//! ([`super::waker`]). The handles are counted under the lock of the mailbox. A waker takes the
//! same lock, and is spent under it: one that is gone has woken the process before, and a parked
//! process makes no new ones. A cycle of edges can never make progress.
//!
//! ```text
//!        A ── waits for ──► B ── waits for ──► C ── calls ──► A ?     C's call closes it
//! ```
//!
//! **When it is searched.** A call that seems to close a cycle is not made at once, because its
//! process may wait for something else as well. The call has the process polled again. If it is
//! then known that the process waits for nothing else, the call fails; otherwise it is made.
//!
//! A process that calls at the same moment may search too early, because another one of the cycle has not parked. So
//! who parks last must search. It does for one of these reasons:
//!
//! - **Messages lie in its mailbox.** One of them may be the request of a process that waits for it.
//! - **It is marked.** The request of the process that waits for it may be the one that it handles, so its mailbox says
//!   nothing. A search that comes to a process that does not wait marks it, under the lock under which that process
//!   parks: it has parked and is an edge, or it finds the mark and goes on with the search. The mark stays until then.
//! - **Its callee waits.** It looks once more when the request has been sent, which needs the lock of the callee's
//!   mailbox: the callee has parked before, and is seen, or parks with the request in its mailbox.
//!
//! That is enough. In a cycle without a search each request was taken before the next one was sent, all the way round, so
//! each would have been sent before itself. A request that was not taken begins a search, with its sender or with its
//! receiver; the search goes along the cycle to a process that has not parked, and on from there when it parks. So it
//! comes to the last one. Such a mark can be used up by an earlier wait of that process; then it has sent its request
//! after the search began, and the same holds from there on.
//!
//! A process that finds a cycle after it has parked has a process of the cycle polled: that which waits for it if
//! messages lie in its mailbox, because that one has called later, else itself. That process searches again, and its call
//! fails. Both calls of two cannot fail: a process that is being polled is Active, and an Active process ends no chain.
//! A process that is poked while it waits searches again as well.
//!
//! **What is no edge.** A process that waits for several calls, or for a call and something
//! else, may continue without the answer. A callee that passes the token on is no longer the
//! awaited process; it reports this with [`Reply::pass_on`](crate::Reply::pass_on).

use super::current;
use super::untyped_cell::UntypedCell;
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
fn cycle(host: &dyn Host, caller: Pid, callee: Pid) -> Option<CallCycle> {
    let path = way_back(host, caller, callee)?;
    let mut next = caller;
    for pid in path[1..].iter().rev() {
        if !host.process(*pid)?.waits_for_or_mark()?.is_same_process(next) {
            return None;
        }
        next = *pid;
    }
    Some(CallCycle::new(path))
}

/// The chain of waiting processes from `caller` over `callee` to the one that waits for
/// `caller`. A process that does not wait ends the chain, and is marked.
fn way_back(host: &dyn Host, caller: Pid, callee: Pid) -> Option<Vec<Pid>> {
    let mut path = vec![caller, callee];
    // A cycle of other processes has no end. So one place on it is remembered, and moved each
    // time the length of the path has doubled (Brent's algorithm).
    let (mut landmark, mut until) = (callee, 2);
    while path.len() <= LONGEST {
        let next = host.process(*path.last()?)?.waits_for_or_mark()?;
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

/// Whether a request to `callee`, sent or about to be sent, seems to close a cycle. A callee that does not wait is not
/// marked: if it parks later, the request lies in its mailbox.
#[cold]
pub(crate) fn seems_futile(host: &dyn Host, callee: Pid) -> bool {
    let Some(caller) = current::pid() else { return false };
    let waits = host.process(callee).is_some_and(|process| process.waits_for().is_some());
    waits && cycle(host, caller, callee).is_some()
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
    let caller = current::pid()?;
    if !current::waited_only_for(callee) {
        // Something else could have woken it. It searches when it has parked.
        let _ = host.process(caller)?.waits_for_or_mark();
        return None;
    }
    let cycle = cycle(host, caller, callee)?;
    host.count_deadlock();
    record_deadlock(host, &cycle);
    Some(CallError::Deadlock(cycle))
}

/// Searches for a cycle after this process has parked to wait for an answer, because messages lie in its mailbox or it is
/// marked. If there is one, a process whose call may fail is polled and searches again: that which waits for this one,
/// or, without messages, this one. A wait for a task makes no call, so the task is polled in place of its owner. If this
/// one is a task, its owner may be the one that waits for it, so all processes of the cycle are polled.
#[cold]
pub(super) fn wake_cycle(parked: &dyn UntypedCell, has_mail: bool) {
    let host = &*parked.cell_core().host;
    let Some(callee) = parked.begin_search() else { return };
    let Some(cycle) = cycle(host, parked.cell_core().pid(), callee) else { return };
    let pids = cycle.pids();
    let polled = if parked.is_task() {
        pids
    } else if has_mail {
        &pids[pids.len().saturating_sub(1)..]
    } else {
        let is_task = |pid: &Pid| host.process(*pid).is_some_and(|it| it.is_awaited_task());
        let caller = pids.iter().skip(1).position(|callee| !is_task(callee)).unwrap_or(0);
        &pids[caller..=caller]
    };
    for pid in polled {
        if let Some(process) = host.process(*pid) {
            process.nudge();
        }
    }
}
