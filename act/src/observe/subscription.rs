//! Who wants to hear of what happens in the node (rules M7, D7, X4).

use krarup_gen::{DeadLetter, Lifecycle, Pid};
use std::fmt;

/// What can be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventTopic {
    /// Messages that nobody handled: [`DeadLetter`].
    DeadLetters,
    /// What becomes of processes: [`Lifecycle`].
    Lifecycle,
}

/// A process that wants to hear of a topic, and how it is told; what is called says
/// whether the process is still there.
pub struct Subscription {
    /// The process.
    pub pid: Pid,
    /// How it is told of what.
    pub tell: Tell,
}

impl Subscription {
    /// What it is to.
    #[must_use]
    pub fn topic(&self) -> EventTopic {
        match self.tell {
            Tell::DeadLetters(_) => EventTopic::DeadLetters,
            Tell::Lifecycle(_) => EventTopic::Lifecycle,
        }
    }
}

/// How a subscriber is told.
pub enum Tell {
    /// Of dead letters.
    DeadLetters(Box<dyn Fn(&DeadLetter) -> bool + Send + Sync>),
    /// Of what becomes of processes.
    Lifecycle(Box<dyn Fn(&Lifecycle) -> bool + Send + Sync>),
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({} to {:?})", self.pid, self.topic())
    }
}
