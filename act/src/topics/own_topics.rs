//! The topics of one process: those that it has opened, and those to which it is subscribed.
//!
//! Made when the process first opens a topic or subscribes to one; other processes have none. A
//! cleaner of the process empties it: in the last turn of the process, after its state was dropped
//! and before anybody is told of its end (rules E4, E6). A topic in which a publication of another
//! thread is in flight ends behind that.

use super::hearer::HearerLoad;
use super::table::{AnyTopic, TopicTable};
use crate::observe::inspect_request::InspectRequest;
use crate::process::crash::{drop_contained, ignore};
use crate::sync::Mutex;
use krarup_gen::{Inspection, Reason, Ref, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A subscription, as its process knows it.
pub(crate) trait Departure: Send + Sync {
    /// The number of the topic in the program.
    fn topic(&self) -> u64;

    fn reference(&self) -> Ref;

    fn load(&self) -> HearerLoad;

    /// Describes it for an inspection of its process (rule E11).
    fn describe(&self) -> Inspection;

    /// Ends the subscription. `with_process`: because its process has ended.
    fn depart(&self, with_process: bool);
}

#[derive(Default)]
pub(crate) struct OwnTopics(Mutex<OwnedTopics>);

#[derive(Default)]
struct OwnedTopics {
    /// By the numbers of the topics, which may be of several nodes.
    subscriptions: BTreeMap<u64, Arc<dyn Departure>>,
    opened: BTreeMap<Ref, Arc<dyn AnyTopic>>,
    /// The process has ended: nothing is added any more.
    ended: bool,
}

impl OwnTopics {
    /// Adds a topic that the process has opened. Returns false if the process has ended.
    pub(crate) fn add_opened(&self, topic: Arc<dyn AnyTopic>) -> bool {
        let mut topics = self.0.lock();
        if !topics.ended {
            topics.opened.insert(topic.id().reference, topic);
        }
        !topics.ended
    }

    /// Adds a subscription. Returns false if the process has ended.
    pub(crate) fn add_subscription(&self, subscription: Arc<dyn Departure>) -> bool {
        let mut topics = self.0.lock();
        if topics.ended {
            return false;
        }
        let before = topics.subscriptions.insert(subscription.topic(), subscription);
        drop(topics);
        drop_contained(before);
        true
    }

    pub(crate) fn subscription(&self, topic: u64) -> Option<Arc<dyn Departure>> {
        self.0.lock().subscriptions.get(&topic).cloned()
    }

    pub(crate) fn take_subscription(&self, topic: u64) -> Option<Arc<dyn Departure>> {
        self.0.lock().subscriptions.remove(&topic)
    }

    /// Forgets a subscription that its topic has ended, unless there is a later one.
    pub(crate) fn forget_subscription(&self, ended: &Arc<dyn Departure>) {
        let mut topics = self.0.lock();
        let topic = ended.topic();
        let same = topics.subscriptions.get(&topic).map(|held| held.reference());
        if same == Some(ended.reference()) {
            let gone = topics.subscriptions.remove(&topic);
            drop(topics);
            drop_contained(gone);
        }
    }

    pub(crate) fn forget_opened(&self, topic: Ref) {
        let gone = self.0.lock().opened.remove(&topic);
        drop_contained(gone);
    }

    /// Whether its process has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.lock().ended
    }

    /// Adds the topics that the process has opened, and those to which it is subscribed, to an
    /// inspection of the process (rule E11).
    pub(crate) fn add_to(&self, request: &mut InspectRequest) {
        let topics = self.0.lock();
        let opened: Vec<_> = topics.opened.values().cloned().collect();
        let subscriptions: Vec<_> = topics.subscriptions.values().cloned().collect();
        drop(topics);
        let opened: Vec<Value> =
            opened.iter().map(|topic| topic.info().inspection().into()).collect();
        let subscriptions: Vec<Value> =
            subscriptions.iter().map(|held| held.describe().into()).collect();
        request.add("topics", opened);
        request.add("subscriptions", subscriptions);
    }

    /// The process has ended. Its subscriptions end first, so that it hears nothing of its own
    /// topics.
    pub(crate) fn end(&self, table: Option<&TopicTable>, reason: &Reason) {
        let mut topics = self.0.lock();
        topics.ended = true;
        let subscriptions = std::mem::take(&mut topics.subscriptions);
        let opened = std::mem::take(&mut topics.opened);
        drop(topics);
        for subscription in subscriptions.into_values() {
            ignore(|| subscription.depart(true));
            drop_contained(subscription);
        }
        for topic in opened.into_values() {
            if let Some(table) = table {
                table.remove(topic.id());
            }
            ignore(|| topic.end(reason));
            drop_contained(topic);
        }
    }
}
