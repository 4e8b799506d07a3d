//! The host of the process that is polled, for what its poll makes ready.

#![allow(
    unsafe_code,
    reason = "two atomic operations less for each answer; argued below, docs/decisions.md"
)]

use super::local::TURN;
use crate::host::ready::Ready;
use crate::host::shared_host::SharedHost;
use std::ptr;
use std::sync::Arc;

/// The host of the process that this thread polls.
pub(crate) struct HostOfPoll(*const SharedHost);

/// This host, if it is that of the process which this thread polls. It schedules a process that may take its last handle
/// on the host with it.
///
/// # Safety
/// What is returned is used before the poll ends.
#[inline]
pub(crate) unsafe fn host_of_poll(shared: &Arc<SharedHost>) -> Option<HostOfPoll> {
    let is_polled =
        TURN.with(|turn| turn.waker.get() != 0 && ptr::eq(turn.shared.get(), Arc::as_ptr(shared)));
    if is_polled { Some(HostOfPoll(Arc::as_ptr(shared))) } else { None }
}

impl HostOfPoll {
    #[inline]
    pub(crate) fn schedule(self, ready: Ready) {
        // SAFETY: the process that is polled has a handle on the host, and is polled until whoever has this value returns,
        // for it is on the stack below. This value stays on its thread.
        let shared = unsafe { &*self.0 };
        shared.host.schedule(ready);
    }
}

#[cfg(test)]
pub(crate) fn is_host_of_poll(shared: &Arc<SharedHost>) -> bool {
    // SAFETY: nothing is scheduled.
    unsafe { host_of_poll(shared) }.is_some()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::models::model_host::ModelHost;
    use crate::process::awaited::AwaitedProcess;
    use crate::process::current::begin_poll;
    use std::task::{Wake, Waker};

    struct Silent;

    impl Wake for Silent {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_host_is_at_hand_while_this_thread_polls_one_of_its_processes() {
        let (one, other) = (ModelHost::new(), ModelHost::new());
        let (one, other) = (SharedHost::of(one.host()), SharedHost::of(other.host()));
        assert!(!is_host_of_poll(&one));
        let waker = Waker::from(Arc::new(Silent));
        let poll = begin_poll(&waker, &one, AwaitedProcess::NONE);
        assert!(is_host_of_poll(&one));
        assert!(!is_host_of_poll(&other));
        drop(poll);
        assert!(!is_host_of_poll(&one));
    }
}
