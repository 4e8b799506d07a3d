//! Acting for a process on threads that do not run it.

use crate::context::Context;
use crate::host::host::Host;
use crate::process::crash::drop_contained;
use crate::process::current;
use krarup_gen::{DeadLetter, DeadLetterCause, Pid};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::delegate`](crate::BehaviorContext::delegate).
    pub(crate) fn delegate(&self) -> Delegate {
        Delegate { host: Arc::clone(self.host()), process: self.pid() }
    }
}

/// A handle that acts for a process on other threads; made by
/// [`BehaviorContext::delegate`](crate::BehaviorContext::delegate).
#[derive(Clone)]
pub struct Delegate {
    host: Arc<dyn Host>,
    process: Pid,
}

impl Delegate {
    /// Returns the process for which it acts.
    #[must_use]
    pub fn process(&self) -> Pid {
        self.process
    }

    /// Reserves the pid of a process that will be spawned with [`Spawn::pid`](crate::Spawn::pid),
    /// so that the wait graph can name the callee before it exists
    /// ([`note_receiver`](crate::note_receiver)).
    #[must_use]
    pub fn unused_pid(&self) -> UnusedPid {
        UnusedPid::new(&*self.host)
    }

    /// Drops a message to the process that will not be handled, and counts it as a dead
    /// letter, as [`BehaviorContext::dead_letter`](crate::BehaviorContext::dead_letter). `sender` is the number
    /// of the sending process, 0 for none.
    pub fn dead_letter<M>(&self, message: M, sender: u64) {
        let from = (sender != 0).then(|| Pid::local(sender, self.process.creation()));
        let cause = DeadLetterCause::Unhandled;
        self.host.dead_letter(DeadLetter::new(self.process, from, type_name::<M>(), cause));
        current::not_begun(|| drop_contained(message));
    }
}

impl fmt::Debug for Delegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delegate({})", self.process)
    }
}

/// A pid that is reserved for one new process (rule N1).
#[derive(Debug)]
pub struct UnusedPid(Pid);

impl UnusedPid {
    /// Reserves a pid.
    pub(crate) fn new(host: &dyn Host) -> Self {
        UnusedPid(host.next_pid())
    }

    /// Returns the pid.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.0
    }

    /// Returns the pid, if it is one of this node.
    pub(crate) fn on(self, host: &dyn Host) -> Option<Pid> {
        (self.0.creation() == host.node_pid().creation()).then_some(self.0)
    }
}
