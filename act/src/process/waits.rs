//! Who waits for whom: cycles of calls (rule C5).
//!
//! A process that does nothing but wait for the answer of one call says so when it parks:
//! `progress.waits_for` names its callee, and holds as long as it is Waiting, for an answer
//! makes it Active at once. These are the edges; a cycle of them will never move again.
//!
//! ```text
//!        A ── waits for ──► B ── waits for ──► C ── calls ──► A ?     C's call closes it
//! ```
//!
//! **When it is looked for.** A call looks before it is made: whoever calls into a chain
//! that leads back to himself fails at once. Two that call each other at the same moment
//! may both look too early, for neither has parked. So a process that parks with mail of its
//! own looks too, when it can be seen, and has the one polled that waits for it; that one
//! looks again, and its call fails. Two cannot both fail: whoever is being polled is Active,
//! and an Active process ends no chain.
//!
//! **What is no edge.** Whoever waits for several calls, or for a call or some time, may go
//! on without the answer. And a callee that has passed the token on is not the one who is
//! waited for: it says so with [`crate::Reply::pass_on`].

use crate::host::Host;
use krarup_gen::{CallCycle, CallError, Pid};
use std::sync::Arc;

/// The cycle that is closed when `caller` waits for `callee`, if there is one.
///
/// The edges are read one after the other, and those first read may be gone when the last is.
/// So they are read again: a cycle that is there both times is one.
#[cold]
pub(crate) fn cycle(host: &dyn Host, caller: Pid, callee: Pid) -> Option<CallCycle> {
    let seen = way_back(host, caller, callee)?;
    (way_back(host, caller, callee)? == seen).then(|| CallCycle::new(seen))
}

/// Why the answer of `callee`, to whom a request was handed on, is not to be waited for.
pub(crate) fn futile(host: &dyn Host, caller: Pid, callee: Pid) -> Option<CallError> {
    if caller.is_same_process(callee) {
        return Some(CallError::CallsItself(callee));
    }
    cycle(host, caller, callee).map(CallError::Deadlock)
}

/// Who waits for whom, from `caller` over `callee` to the one that waits for `caller`.
fn way_back(host: &dyn Host, caller: Pid, callee: Pid) -> Option<Vec<Pid>> {
    let mut path = vec![caller, callee];
    loop {
        let next = host.process(*path.last()?)?.waits_for()?;
        if next.is_same_process(caller) {
            return Some(path);
        }
        if path.iter().any(|pid| pid.is_same_process(next)) {
            // A cycle of others.
            return None;
        }
        path.push(next);
    }
}

/// `process` has parked and waits for `callee`, while mail waits for it: if that is from
/// one whom it waits for, that one has a look.
#[cold]
pub(crate) fn rouse_cycle(host: &dyn Host, process: Pid, callee: Pid) {
    if let Some(cycle) = cycle(host, process, callee)
        && let Some(closer) = cycle.pids().last().and_then(|pid| host.process(*pid))
    {
        Arc::clone(&closer).nudge();
    }
}
