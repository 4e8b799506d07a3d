//! The topics of a node about itself (rule E12).

use super::table::TopicTable;
use super::topic::Topic;
use super::topic_core::{TopicCore, TopicSettings};
use crate::observe::report_log::ReportListener;
use krarup_gen::{Pid, Ref, Report, Timestamp, TopicId};
use std::fmt;
use std::sync::{Arc, Weak};

/// A topic on which a node publishes what happens in it. For hosts. Unlike a
/// [`Publisher`](crate::Publisher) it does not keep the node.
pub struct NodeTopic<T>(Arc<TopicCore<T>>);

impl<T: Clone + Send + Sync + 'static> NodeTopic<T> {
    /// Opens the topic, and lists it in the table of the node.
    #[must_use]
    pub fn open(reference: Ref, topics: &TopicTable) -> Self {
        let id = TopicId { name: None, reference };
        let core = TopicCore::new(TopicSettings {
            id,
            opener: None,
            keep: 0,
            audience: None,
            opened_by: Weak::new(),
            // The runtime publishes: no code of a subscriber holds it up.
            direct: false,
        });
        // Without a name it is added in any case.
        let _ = topics.add(Arc::clone(&core) as _);
        NodeTopic(core)
    }

    /// Whether it has subscribers.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        !self.0.is_quiet()
    }

    /// Publishes an event to all subscribers but the processes that the event is about.
    pub fn publish(&self, event: T, about: &[Pid], now: impl FnOnce() -> Timestamp) {
        // When the node has stopped, nobody hears of it.
        if let Ok((_, missed)) = self.0.publish(event, about) {
            self.0.note_missed(missed, now);
        }
    }

    /// Returns the topic, to subscribe to.
    #[must_use]
    pub fn topic(&self) -> Topic<T> {
        Topic::new(Arc::clone(&self.0))
    }
}

impl ReportListener for NodeTopic<Report> {
    fn is_heard(&self) -> bool {
        NodeTopic::is_heard(self)
    }

    fn hear(&self, report: Report, about: &[Pid]) {
        let at = report.head().at;
        self.publish(report, about, || at);
    }
}

impl<T: Clone + Send + Sync + 'static> fmt::Debug for NodeTopic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeTopic({})", self.0.id())
    }
}
