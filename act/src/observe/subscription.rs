//! Subscriptions to events of the node (rules M7, D7, X4).

use krarup_gen::{DeadLetter, Lifecycle, Pid};
use std::fmt;

/// The topic of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventTopic {
    /// Dead letters: [`DeadLetter`].
    DeadLetters,
    /// Starts and ends of processes: [`Lifecycle`].
    Lifecycle,
}

/// The subscription of a process. Its function notifies the process, and returns whether the
/// process is still alive.
pub struct Subscription {
    /// The process.
    pub pid: Pid,
    /// The function that notifies it.
    pub tell: Tell,
}

impl Subscription {
    /// Returns the topic.
    #[must_use]
    pub fn topic(&self) -> EventTopic {
        match self.tell {
            Tell::DeadLetters(_) => EventTopic::DeadLetters,
            Tell::Lifecycle(_) => EventTopic::Lifecycle,
        }
    }
}

/// The function that notifies a subscriber.
pub enum Tell {
    /// For dead letters.
    DeadLetters(Box<dyn Fn(&DeadLetter) -> bool + Send + Sync>),
    /// For starts and ends of processes.
    Lifecycle(Box<dyn Fn(&Lifecycle) -> bool + Send + Sync>),
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tell::DeadLetters(_) => "DeadLetters(..)",
            Tell::Lifecycle(_) => "Lifecycle(..)",
        })
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({} to {:?})", self.pid, self.topic())
    }
}
