//! What the turn and the polled future tell each other, on this thread. The word and its table are
//! in [`process::turn_state`](crate::process::turn_state).

use super::local::TURN;
use crate::host::shared_host::SharedHost;
use crate::process::awaited::AwaitedProcess;
use crate::process::turn_state::Wants;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Waker;

/// Begins a poll with this waker, which ends with the guard. `waited` is the process that this one waited for until
/// now.
#[inline]
pub(crate) fn begin_poll(
    waker: &Waker,
    shared: &Arc<SharedHost>,
    waited: AwaitedProcess,
) -> PollGuard {
    TURN.with(|turn| {
        turn.waited.set(waited);
        turn.state.set(turn.state.get().poll_begun());
        turn.waker.set(waker.data().addr());
        turn.shared.set(Arc::as_ptr(shared));
        turn.waits.set(AwaitedProcess::NONE);
    });
    PollGuard(PhantomData)
}

/// Begins a poll with this waker, of a process without a host.
#[cfg(test)]
pub(crate) fn begin_poll_with(waker: &Waker) -> PollGuard {
    TURN.with(|turn| turn.waker.set(waker.data().addr()));
    PollGuard(PhantomData)
}

/// A poll that has begun. Dropping it, on its thread, ends the poll: from then on the process may be freed.
#[must_use = "the poll ends with it"]
pub(crate) struct PollGuard(PhantomData<*const SharedHost>);

impl Drop for PollGuard {
    #[inline]
    fn drop(&mut self) {
        TURN.with(|turn| turn.waker.set(0));
    }
}

/// Whether this thread polls the process whose waker has this address in its data pointer. Only one thread does.
#[inline]
pub(crate) fn is_polled(waker: usize) -> bool {
    TURN.with(|turn| turn.waker.get() == waker)
}

/// What the future that was just polled waits for.
#[inline]
pub(crate) fn wants() -> Wants {
    TURN.with(|turn| turn.state.get().wants())
}

/// Records what the future waits for.
#[inline]
pub(crate) fn want(wants: Wants) {
    TURN.with(|turn| turn.state.set(turn.state.get().wanting(wants)));
}

/// Whether the future that was just polled waits for a message and has said nothing else.
#[inline]
pub(crate) fn wants_a_message_only() -> bool {
    TURN.with(|turn| turn.state.get().wants_a_message_only())
}

/// Whether the waker is the one with which the current process is polled.
#[inline]
pub(crate) fn is_own(waker: &Waker) -> bool {
    TURN.with(|turn| turn.is_own(waker))
}

/// Asks for a poke of the process if the waker is its own. A waker that a collection of futures
/// made for one of them would not be woken by a poke. Returns false outside a poll too.
#[inline]
pub(crate) fn want_poke(waker: &Waker) -> bool {
    TURN.with(|turn| {
        let own = turn.is_own(waker);
        if own {
            turn.state.set(turn.state.get().wanting_poke());
        }
        own
    })
}

/// Whether part of the future sets its timer when the process is poked.
#[inline]
pub(crate) fn wants_poke() -> bool {
    TURN.with(|turn| turn.state.get().wants_poke())
}

/// Whether a call has asked for another poll, or the poll was made for calls.
#[inline]
pub(crate) fn is_special() -> bool {
    TURN.with(|turn| turn.state.get().is_special())
}

/// Whether a call polled with this waker is only to read the clock now. It will be polled again
/// when the process is poked, or before.
pub(crate) fn reads_clock_only(waker: &Waker) -> bool {
    TURN.with(|turn| {
        let state = turn.state.get();
        let reads = state.is_clock_only() && turn.is_own(waker);
        if reads {
            turn.state.set(state.clock_read());
        }
        reads
    })
}

/// Records that a batch was emptied. Its memory may be needed again soon.
pub(crate) fn keep_memory() {
    TURN.with(|turn| turn.state.set(turn.state.get().keeping_memory()));
}

/// Whether a batch was emptied in this turn.
#[inline]
pub(crate) fn keeps_memory() -> bool {
    TURN.with(|turn| turn.state.get().keeps_memory())
}

/// Whether the future has looked at Main since the last poll began.
#[inline]
pub(crate) fn has_looked() -> bool {
    TURN.with(|turn| turn.state.get().has_looked())
}

/// Records that the future looks at Main.
#[inline]
pub(crate) fn look() {
    TURN.with(|turn| turn.state.set(turn.state.get().looked()));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{note_wait, wait};
    use super::*;
    use krarup_gen::Pid;

    #[test]
    fn a_waker_without_data_is_nobodys_own() {
        assert!(!is_own(Waker::noop()));
        drop(begin_poll_with(Waker::noop()));
        assert!(!is_own(Waker::noop()) && !want_poke(Waker::noop()));
        let callee = Pid::local(7, 0);
        note_wait(callee, AwaitedProcess::on(callee), Waker::noop());
        assert!(wait().is_none(), "it is no edge of the wait graph");
    }
}
