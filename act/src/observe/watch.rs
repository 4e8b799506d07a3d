//! Waiting for the end of a process, from anywhere.
//!
//! A process *monitors* another and gets a [`Down`] in its mailbox
//! ([`Context::monitor`](crate::Context::monitor)). Any code *watches* a process and awaits a
//! [`Watch`], which needs no mailbox.

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

/// Watches a target from now on, from outside any process. If there is no such process the
/// watch completes at once, with `NoProcess` (rule L4).
pub fn watch(host: Arc<dyn Host>, target: Target) -> Watch {
    let target = resolved(&*host, target);
    let (sender, down) = slot();
    let monitor = host.next_ref();
    bonds::watch(&*host, monitor, target.clone(), sender);
    Watch { host, reference: monitor, target, down }
}

/// Looks up the process that a name or an alias stands for now.
pub(crate) fn resolved(host: &dyn Host, target: Target) -> Target {
    match target {
        Target::Name(name, _) => {
            let pid = host.whereis(name.as_str()).map(|process| process.pid());
            Target::Name(name, pid)
        }
        Target::Alias(alias, _) => {
            let pid = host.by_alias(alias).map(|process| process.pid());
            Target::Alias(alias, pid)
        }
        target => target,
    }
}

/// A watch on a process; it completes with the [`Down`] of its end. Use `.await`, or `.wait()`
/// on a plain thread. Dropping it ends the watch.
///
/// [`Address::watch`], [`Context::watch`](crate::Context::watch) and `Node::watch` make it.
#[must_use = "a watch that is dropped is over"]
pub struct Watch {
    host: Arc<dyn Host>,
    reference: Ref,
    target: Target,
    down: SlotReceiver<Down>,
}

impl Watch {
    /// Waits on a plain thread for the end.
    ///
    /// # Errors
    /// [`CannotWait`]: inside a process, or in a simulation without events.
    pub fn wait(self) -> Result<Down, CannotWait> {
        let host = Arc::clone(&self.host);
        wait(&*host, self)
    }
}

impl Future for Watch {
    type Output = Down;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Down> {
        Pin::new(&mut self.down).poll(cx).map(|down| {
            let (monitor, target) = (self.reference, self.target.clone());
            // A slot that is dropped without a value means that the node has stopped.
            down.unwrap_or(Down { monitor, target, reason: Reason::NoProcess })
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        bonds::unwatch(&*self.host, self.reference, &self.target);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({} of {})", self.reference, self.target)
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Watches the process from now on; the returned future completes when it ends. A process
    /// that wants the notice in its mailbox uses [`Context::monitor`](crate::Context::monitor).
    pub fn watch(&self) -> Watch {
        watch(Arc::clone(self.host()), Target::Pid(self.pid()))
    }
}
