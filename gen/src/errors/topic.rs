//! The errors of topics: one for each operation.

use crate::errors::wait::CannotWait;
use crate::{Name, NameError, Pid, TopicId};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of opening a topic. Nothing has changed (rule E1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenTopicError {
    /// Another topic has the name.
    #[error("the name {name} is taken by a topic of {}", OpenedBy(*by))]
    NameTaken {
        /// The name.
        name: Name,
        /// The process that has opened the other topic; `None` if it is the node's.
        by: Option<Pid>,
    },
    /// The text is not a valid name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// The process that opens the topic has ended (a context can be moved out of its process).
    #[error("{0} has ended and opens no topic")]
    NoProcess(Pid),
    /// The node with this name has stopped.
    #[error("node {0} has stopped and opens no topic")]
    NodeStopped(String),
}

struct OpenedBy(Option<Pid>);

impl fmt::Display for OpenedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => fmt::Display::fmt(&pid, f),
            None => f.write_str("the node"),
        }
    }
}

/// The error of a look-up of a topic (rule E1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicLookupError {
    /// No topic has this name.
    #[error("no topic has the name {0:?}")]
    NoTopic(String),
    /// The events of the topic are of another type.
    #[error("the events of topic {name:?} are of type {expected}, not {found}")]
    WrongType {
        /// The name that was looked up.
        name: String,
        /// The type of the events of the topic.
        expected: &'static str,
        /// The type that was asked for.
        found: &'static str,
    },
}

/// The error of a subscription to a topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The topic has ended (rule E6).
    #[error("{0} has ended")]
    Ended(TopicId),
    /// The subscribing process has ended (a context can be moved out of its process).
    #[error("{0} has ended and subscribes to nothing")]
    NoProcess(Pid),
    /// The most events that may wait is 0.
    #[error("a subscription to {0} with room for 0 events would hear none")]
    NoRoom(TopicId),
}

/// The reason of the end of a subscription that was told to end when its process is slow (rule
/// E7).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at_most} events of {topic} waited, and one more was published")]
pub struct TooSlow {
    /// The topic.
    pub topic: TopicId,
    /// The most events that may wait.
    pub at_most: usize,
}

/// The error of publishing; it gives the event back. No subscriber gets the event.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishError<T> {
    /// The topic has ended (rule E6).
    Ended {
        /// The event.
        event: T,
        /// The topic.
        topic: TopicId,
    },
    /// Some subscribers had no room within this time (rule E9).
    Timeout {
        /// The event.
        event: T,
        /// The subscribers that were full, in the order of their pids.
        full: Vec<Pid>,
        /// The time that was waited.
        limit: Duration,
    },
    /// This thread cannot wait.
    CannotWait {
        /// The event.
        event: T,
        /// The cause.
        cause: CannotWait,
    },
}

impl<T> PublishError<T> {
    /// Returns the event.
    pub fn into_event(self) -> T {
        match self {
            PublishError::Ended { event, .. }
            | PublishError::Timeout { event, .. }
            | PublishError::CannotWait { event, .. } => event,
        }
    }
}

impl<T> fmt::Display for PublishError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishError::Ended { topic, .. } => write!(f, "{topic} has ended"),
            PublishError::Timeout { full, limit, .. } => {
                write!(f, "no room for the event within {limit:?} at")?;
                full.iter().try_for_each(|pid| write!(f, " {pid}"))
            }
            PublishError::CannotWait { cause, .. } => write!(f, "cannot wait for room: {cause}"),
        }
    }
}

/// Without the event, which need not be printable.
impl<T> fmt::Debug for PublishError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublishError({self})")
    }
}

impl<T> Error for PublishError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PublishError::CannotWait { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ref;

    #[test]
    fn e1_an_error_of_a_topic_names_it() {
        let (pid, name) = (Pid::local(7, 1), Name::new("prices").unwrap());
        let topic = TopicId { name: Some(name.clone()), reference: Ref::new(3) };
        let taken = |by| OpenTopicError::NameTaken { name: name.clone(), by };
        let said: [(Box<dyn Error>, &str); 8] = [
            (taken(Some(pid)).into(), "the name prices is taken by a topic of <0.7.0>"),
            (taken(None).into(), "the name prices is taken by a topic of the node"),
            (OpenTopicError::from(NameError::Empty).into(), "a name must not be empty"),
            (OpenTopicError::NoProcess(pid).into(), "<0.7.0> has ended and opens no topic"),
            (TopicLookupError::NoTopic("p".into()).into(), "no topic has the name \"p\""),
            (
                TopicLookupError::WrongType { name: "p".into(), expected: "u8", found: "u16" }
                    .into(),
                "the events of topic \"p\" are of type u8, not u16",
            ),
            (SubscribeError::Ended(topic.clone()).into(), "topic \"prices\" has ended"),
            (
                TooSlow { topic, at_most: 3 }.into(),
                "3 events of topic \"prices\" waited, and one more was published",
            ),
        ];
        for (error, said) in said {
            assert_eq!(error.to_string(), said);
        }
    }

    #[test]
    fn e9_an_error_of_publishing_names_the_full_and_gives_the_event_back() {
        let full = vec![Pid::local(7, 1), Pid::local(9, 1)];
        let error = PublishError::Timeout { event: 5, full, limit: Duration::from_secs(1) };
        assert_eq!(error.to_string(), "no room for the event within 1s at <0.7.0> <0.9.0>");
        assert_eq!(error.into_event(), 5);
        let error = PublishError::CannotWait { event: 6, cause: CannotWait::InProcess };
        assert!(error.source().is_some());
        assert_eq!(error.into_event(), 6);
    }
}
