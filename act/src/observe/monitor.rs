//! Waiting for the end of a process, from anywhere.

use crate::addressing::address::Address;
use crate::calls::pending::wait;
use crate::calls::slot::{SlotReceiver, slot};
use crate::host::host::Host;
use crate::process::bonds;
use krarup_gen::{CannotWait, Down, Reason, Ref, Target};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Monitors a target from now on, from outside any process. If there is no such process the
/// monitor completes at once, with `NoProcess` (rule L4).
pub fn watch(host: Arc<dyn Host>, target: Target) -> Monitor {
    let (sender, down) = slot();
    let monitor = host.next_ref();
    bonds::watch(&*host, monitor, target.clone(), sender);
    Monitor { host, reference: monitor, target, down }
}

/// A monitor in effect; it completes when the process ends. Use `.await`, or `.wait()` on a
/// plain thread. Dropping it removes the monitor.
#[must_use = "a monitor that is dropped is removed"]
pub struct Monitor {
    host: Arc<dyn Host>,
    reference: Ref,
    target: Target,
    down: SlotReceiver<Down>,
}

impl Monitor {
    /// Waits on a plain thread for the end.
    ///
    /// # Errors
    /// [`CannotWait`]: inside a process, or in a simulation without events.
    pub fn wait(self) -> Result<Down, CannotWait> {
        let host = Arc::clone(&self.host);
        wait(&*host, self)
    }
}

impl Future for Monitor {
    type Output = Down;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Down> {
        Pin::new(&mut self.down).poll(cx).map(|down| {
            let (monitor, target) = (self.reference, self.target.clone());
            // A slot that is dropped without a value means that the node has stopped.
            down.unwrap_or(Down { monitor, target, reason: Reason::NoProcess })
        })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        bonds::unwatch(&*self.host, self.reference, &self.target);
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Monitor({} of {})", self.reference, self.target)
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Monitors the process from now on; the returned future completes when it ends.
    pub fn monitor(&self) -> Monitor {
        watch(Arc::clone(self.host()), Target::Pid(self.pid()))
    }
}
