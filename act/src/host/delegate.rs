//! Acting for a process on threads where it does not run.

use crate::context::Context;
use crate::host::host::Host;
use crate::process::crash::drop_contained;
use crate::process::current;
use krarup_gen::{DeadLetter, DeadLetterCause, Pid};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// What a [`crate::Route`] needs of its process on the threads of senders.
    #[must_use]
    pub fn agent(&self) -> Delegate {
        Delegate { host: Arc::clone(self.host()), process: self.pid() }
    }
}

/// Acts for a process on other threads; made by [`Context::agent`].
#[derive(Clone)]
pub struct Delegate {
    host: Arc<dyn Host>,
    process: Pid,
}

impl Delegate {
    /// The process for which it acts.
    #[must_use]
    pub fn process(&self) -> Pid {
        self.process
    }

    /// The pid of a process that is to come, so that callers can be told whom they wait for
    /// ([`crate::note_receiver`]) before it is spawned with [`crate::Spawn::pid`].
    #[must_use]
    pub fn unused_pid(&self) -> UnusedPid {
        UnusedPid(self.host.next_pid())
    }

    /// As [`Context::lose`]: drops a message to the process that nobody will handle, from the
    /// process with the number `sender` (0 for none), and counts it as a dead letter.
    pub fn lose<M>(&self, message: M, sender: u64) {
        let from = (sender != 0).then(|| Pid::local(sender, self.process.creation()));
        let cause = DeadLetterCause::Unhandled;
        self.host.dead_letter(DeadLetter::new(self.process, from, type_name::<M>(), cause));
        current::not_begun(|| drop_contained(message));
    }
}

impl fmt::Debug for Delegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({})", self.process)
    }
}

/// A pid that no process has yet, for one process (rule N1).
#[derive(Debug)]
pub struct UnusedPid(Pid);

impl UnusedPid {
    /// The pid.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.0
    }

    /// The pid, if it is one of this node.
    pub(crate) fn on(self, host: &dyn Host) -> Option<Pid> {
        (self.0.creation() == host.node_pid().creation()).then_some(self.0)
    }
}
