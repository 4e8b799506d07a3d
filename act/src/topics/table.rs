//! The topics of a node, by their names and by their references (rules E1, E11).

use crate::process::crash::{drop_contained, ignore};
use crate::sync::Mutex;
use krarup_gen::{Inspection, Name, Pid, Reason, Ref, TopicId};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A topic with events of any type.
pub(crate) trait AnyTopic: Any + Send + Sync {
    fn id(&self) -> &TopicId;

    fn opener(&self) -> Option<Pid>;

    fn info(&self) -> TopicInfo;

    /// Ends the topic, which was removed from the table.
    fn end(&self, reason: &Reason);
}

/// A description of a topic (rule E11).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TopicInfo {
    /// Its identity, with its name.
    pub id: TopicId,
    /// The type of its events.
    pub event: &'static str,
    /// The process that has opened it; `None` if it is the node's.
    pub opener: Option<Pid>,
    /// The most events that it keeps for subscribers that come later.
    pub keep: usize,
    /// The number of events that it keeps.
    pub kept: usize,
    /// The number of its subscribers.
    pub subscribers: usize,
    /// The number of events that were published.
    pub published: u64,
    /// The number of events that subscribers have missed, each counted for each subscriber.
    pub missed: u64,
}

impl TopicInfo {
    /// Returns the description as an item of the inspection of its opener.
    pub(crate) fn inspection(&self) -> Inspection {
        Inspection::new()
            .with("topic", self.id.to_string())
            .with("event", self.event)
            .with("kept", self.kept)
            .with("subscribers", self.subscribers)
            .with("published", self.published)
            .with("missed", self.missed)
    }
}

impl fmt::Display for TopicInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TopicInfo { id, event, keep, kept, subscribers, published, missed, .. } = self;
        write!(f, "{id} of {event}")?;
        if let Some(opener) = self.opener {
            write!(f, " by {opener}")?;
        }
        write!(
            f,
            ": {subscribers} subscribers, {published} published, {missed} missed, kept {kept} of {keep}"
        )
    }
}

/// The topics of a node. For hosts: see [`Host::topics`](crate::Host::topics).
#[derive(Default)]
pub struct TopicTable(Mutex<NodeTopics>);

#[derive(Default)]
struct NodeTopics {
    by_name: BTreeMap<Name, Arc<dyn AnyTopic>>,
    all: BTreeMap<Ref, Arc<dyn AnyTopic>>,
}

impl TopicTable {
    /// Adds a topic, or returns the opener of the topic that has its name.
    pub(crate) fn add(&self, topic: Arc<dyn AnyTopic>) -> Result<(), Option<Pid>> {
        let mut topics = self.0.lock();
        let TopicId { name, reference } = topic.id().clone();
        if let Some(name) = name {
            if let Some(taken) = topics.by_name.get(&name) {
                return Err(taken.opener());
            }
            topics.by_name.insert(name, Arc::clone(&topic));
        }
        topics.all.insert(reference, topic);
        Ok(())
    }

    /// Removes a topic, so that its name is free.
    pub(crate) fn remove(&self, id: &TopicId) {
        let mut topics = self.0.lock();
        let gone = topics.all.remove(&id.reference);
        let named = match &id.name {
            Some(name) if gone.is_some() => topics.by_name.remove(name),
            _ => None,
        };
        drop(topics);
        drop_contained((gone, named));
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<dyn AnyTopic>> {
        self.0.lock().by_name.get(name).cloned()
    }

    /// Returns a description of each topic, in the order in which they were opened.
    #[must_use]
    pub fn infos(&self) -> Vec<TopicInfo> {
        let all: Vec<_> = self.0.lock().all.values().cloned().collect();
        all.iter().map(|topic| topic.info()).collect()
    }

    /// Ends all topics, because the node has stopped.
    pub fn end_all(&self, reason: &Reason) {
        let mut topics = self.0.lock();
        let all = std::mem::take(&mut topics.all);
        let names = std::mem::take(&mut topics.by_name);
        drop(topics);
        drop_contained(names);
        for topic in all.into_values() {
            ignore(|| topic.end(reason));
            drop_contained(topic);
        }
    }
}

impl fmt::Debug for TopicTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicTable({} topics)", self.0.lock().all.len())
    }
}
