//! The host for what a poll makes ready, without a handle of its own while that is the host of the process that is polled.

#![allow(
    unsafe_code,
    reason = "two atomic operations less for each answer; argued below, docs/decisions.md"
)]

use super::local::TURN;
use crate::host::ready::Ready;
use crate::host::shared_host::SharedHost;
use std::ptr;
use std::sync::Arc;

/// A host that schedules a process which may take its last handle on the host with it.
pub(crate) enum HostAtHand {
    /// The host of the process that this thread polls.
    Polled(*const SharedHost),
    Kept(Arc<SharedHost>),
}

/// This host, for one process that is scheduled next.
#[inline]
pub(crate) fn host_for(shared: &Arc<SharedHost>) -> HostAtHand {
    let is_polled =
        TURN.with(|turn| turn.waker.get() != 0 && ptr::eq(turn.shared.get(), Arc::as_ptr(shared)));
    if is_polled {
        HostAtHand::Polled(Arc::as_ptr(shared))
    } else {
        HostAtHand::Kept(Arc::clone(shared))
    }
}

impl HostAtHand {
    #[inline]
    pub(crate) fn schedule(self, ready: Ready) {
        match self {
            HostAtHand::Polled(shared) => {
                // SAFETY: this value was made in the poll of a process of the host, and is not sent to another thread. That
                // process is polled until whoever has this value returns, for it is on the stack below; it has a handle.
                let shared = unsafe { &*shared };
                shared.host.schedule(ready);
            }
            HostAtHand::Kept(shared) => shared.host.schedule(ready),
        }
    }
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
    fn the_host_is_kept_unless_it_is_that_of_the_process_which_this_thread_polls() {
        let (one, other) = (ModelHost::new(), ModelHost::new());
        let (one, other) = (SharedHost::of(one.host()), SharedHost::of(other.host()));
        let is_kept = |shared| matches!(host_for(shared), HostAtHand::Kept(_));
        assert!(is_kept(&one));
        let waker = Waker::from(Arc::new(Silent));
        let poll = begin_poll(&waker, &one, AwaitedProcess::NONE);
        assert!(!is_kept(&one));
        assert!(is_kept(&other));
        drop(poll);
        assert!(is_kept(&one));
    }
}
