//! Topics, as subscribers know them.

use super::table::{AnyTopic, TopicInfo};
use super::topic_core::TopicCore;
use crate::host::host::Host;
use krarup_gen::{Pid, TopicId, TopicLookupError};
use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// A topic with events of type `T`: what one subscribes to
/// ([`Context::subscribe`](crate::Context::subscribe)).
///
/// It is found by name and type ([`Context::topic`](crate::Context::topic)), or comes from a
/// publisher ([`Publisher::topic`](crate::Publisher::topic)). It is a value: cloned and given away at
/// will. It does not keep the topic open. The [module page](crate::Publisher) has the rules.
pub struct Topic<T> {
    core: Arc<TopicCore<T>>,
}

/// A subscriber of a topic (rule E11).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicSubscriber {
    /// The process.
    pub pid: Pid,
    /// How many events it has not taken (rule E7).
    pub untaken: usize,
    /// How many events it has missed since it subscribed.
    pub missed: u64,
}

impl<T: Clone + Send + Sync + 'static> Topic<T> {
    pub(crate) fn new(core: Arc<TopicCore<T>>) -> Self {
        Topic { core }
    }

    /// Returns the topic with this name. For hosts; see [`Context::topic`](crate::Context::topic).
    ///
    /// # Errors
    /// [`TopicLookupError`]: no topic has the name, or its events are of another type.
    pub fn find(host: &dyn Host, name: &str) -> Result<Self, TopicLookupError> {
        let none = || TopicLookupError::NoTopic(name.to_owned());
        let topic = host.topics().and_then(|topics| topics.by_name(name)).ok_or_else(none)?;
        let expected = topic.info().event;
        let any: Arc<dyn Any + Send + Sync> = topic;
        any.downcast().map(|core| Topic { core }).map_err(|_| TopicLookupError::WrongType {
            name: name.to_owned(),
            expected,
            found: type_name::<T>(),
        })
    }

    pub(crate) fn core(&self) -> &Arc<TopicCore<T>> {
        &self.core
    }

    /// Returns the identity of the topic, with its name.
    #[must_use]
    pub fn id(&self) -> &TopicId {
        self.core.id()
    }

    /// Returns the process that has opened the topic; `None` if it is the node's.
    #[must_use]
    pub fn opener(&self) -> Option<Pid> {
        self.core.opener()
    }

    /// Whether the topic has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.core.has_ended()
    }

    /// Returns a description of the topic, at once (rule E11).
    #[must_use]
    pub fn info(&self) -> TopicInfo {
        AnyTopic::info(&*self.core)
    }

    /// Returns the subscribers in the order of their pids, at once (rule E11).
    #[must_use]
    pub fn subscribers(&self) -> Vec<TopicSubscriber> {
        let hearers = self.core.hearers();
        let described = hearers.iter().map(|hearer| {
            let load = hearer.load();
            TopicSubscriber { pid: hearer.pid(), untaken: load.untaken, missed: load.missed }
        });
        described.collect()
    }
}

impl<T> Clone for Topic<T> {
    fn clone(&self) -> Self {
        Topic { core: Arc::clone(&self.core) }
    }
}

/// Two topics are equal if they are the same.
impl<T> PartialEq for Topic<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl<T> Eq for Topic<T> {}

impl<T: Clone + Send + Sync + 'static> fmt::Debug for Topic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic<{}>({})", type_name::<T>(), self.id())
    }
}
