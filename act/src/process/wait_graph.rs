//! Who waits for whom: cycles of calls (rule C5).
//!
//! A process that waits for the answer of one call says so when it parks: `progress.waits_for`
//! names its callee ([`super::awaited`]), and holds as long as it is Waiting, for an answer
//! makes it Active at once. That is an edge if nothing else can wake the process: nobody but
//! that call, and its timer, holds a handle on its waker ([`super::waker`]). The handles are
//! counted under the lock of its mailbox, by which a waker goes too: one that is gone has woken
//! the process before, and a process that lies there makes no new ones. A cycle of
//! edges will never move again.
//!
//! ```text
//!        A ── waits for ──► B ── waits for ──► C ── calls ──► A ?     C's call closes it
//! ```
//!
//! **When it is looked for.** A call that seems to close a cycle is not made at once, for its
//! process may wait for something else as well. It has the process polled again; if it is
//! known by then that the process waits for nothing else, the call fails, and is made
//! otherwise. Two that call each other at the same moment may both look too early, for
//! neither has parked. So a process that parks with mail of its own looks too, when it can be
//! seen, and has the one polled that waits for it; that one looks again, and its call
//! fails. Two cannot both fail: whoever is being polled is Active, and an Active process ends no
//! chain. Whoever is poked while it waits looks again as well.
//!
//! **What is no edge.** Whoever waits for several calls, or for a call and something else, may
//! go on without the answer. And a callee that has passed the token on is not the one who is
//! waited for: it says so with [`crate::Reply::pass_on`].

use super::current;
use super::process::Process;
use crate::host::host::Host;
use krarup_gen::{CallCycle, CallError, Pid};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The most that one cycle has, or it is not found: whoever calls into a longer chain looks no
/// further, for it does so in its own turn.
const LONGEST: usize = 16_384;

/// The cycle that is closed when `caller` waits for `callee`, if there is one.
///
/// The edges are read one after the other, and those first read may be gone when the last is.
/// So they are read again, from the last, which waits for the caller: that one stays until the
/// caller goes on, so the one before it stays if it is there then, and so on.
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

/// Who waits for whom, from `caller` over `callee` to the one that waits for `caller`.
fn way_back(host: &dyn Host, caller: Pid, callee: Pid) -> Option<Vec<Pid>> {
    let mut path = vec![caller, callee];
    // A cycle of others has no end: one place on it is remembered, and moved on each time that
    // the way has doubled (Brent).
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

/// Whether the process that runs here calls itself.
pub(crate) fn calls_itself(callee: Pid) -> Option<CallError> {
    let caller = current::pid()?;
    caller.is_same_process(callee).then_some(CallError::CallsItself(callee))
}

/// Whether a request to `callee` that was sent, or will be, seems to close a cycle.
#[cold]
pub(crate) fn seems_futile(host: &dyn Host, callee: Pid) -> bool {
    current::pid().is_some_and(|caller| cycle(host, caller, callee).is_some())
}

/// Why a request is not to be sent, as far as it is known: pending if it will be in the next
/// poll. `asked`: this is that one.
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

/// Why the answer of `callee` will never come, if the process that runs here waited for nothing
/// else when it was made ready.
#[cold]
pub(crate) fn deadlock(host: &dyn Host, callee: Pid) -> Option<CallError> {
    if !current::waited_only_for(callee) {
        return None;
    }
    cycle(host, current::pid()?, callee).map(CallError::Deadlock)
}

/// This process has parked and waits for an answer, while mail waits for it: if that is from one
/// whom it waits for, that one has a look.
#[cold]
pub(crate) fn rouse_cycle(host: &dyn Host, parked: &impl Process) {
    if let Some(callee) = parked.waits_for()
        && let Some(cycle) = cycle(host, parked.pid(), callee)
        && let Some(closer) = cycle.pids().last().and_then(|pid| host.process(*pid))
    {
        Arc::clone(&closer).nudge();
    }
}
