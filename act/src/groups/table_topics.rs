//! The changes of all groups of a table (rule G3).
//!
//! | topic | changes | for |
//! |---|---|---|
//! | `all` | of all members | processes that watch all groups: `pg:monitor_scope` of OTP |
//! | `own` | of the members of this node | the cluster, which tells them to other nodes |
//!
//! A topic is made when somebody watches. So groups that nobody watches as a whole pay one look.

use crate::topics::hearer::Effects;
use crate::topics::topic_core::{TopicCore, TopicSettings};
use krarup_gen::{GroupChange, Name, Pid, Ref, TopicId};
use std::sync::{Arc, OnceLock, Weak};

/// Groups in alphabetical order, each with its members in the order of joining.
pub type GroupMembers = Vec<(Name, Vec<Pid>)>;

/// The changes of all groups of a table.
#[derive(Default)]
pub(crate) struct TableTopics {
    pub(super) all: TableTopic,
    pub(super) own: TableTopic,
}

/// A topic that is made when somebody watches, while all groups are locked: so whoever changes a group
/// sees it, or is seen by the watcher.
#[derive(Default)]
pub(super) struct TableTopic(OnceLock<Arc<TopicCore<GroupChange>>>);

impl TableTopic {
    pub(super) fn known(&self) -> Option<Arc<TopicCore<GroupChange>>> {
        self.0.get().cloned()
    }

    pub(super) fn made(&self, reference: Ref) -> Arc<TopicCore<GroupChange>> {
        let make = || {
            TopicCore::new(TopicSettings {
                id: TopicId { name: None, reference },
                opener: None,
                keep: 0,
                audience: None,
                opened_by: Weak::new(),
                direct: false,
            })
        };
        Arc::clone(self.0.get_or_init(make))
    }

    fn is_quiet(&self) -> bool {
        self.0.get().is_none_or(|topic| topic.is_quiet())
    }

    fn tell(&self, change: GroupChange) -> Option<Effects<GroupChange>> {
        Some(self.0.get()?.publish_under_lock(change))
    }
}

impl TableTopics {
    /// Passes a change on to those who watch all groups. The caller holds the lock of the group.
    pub(super) fn tell(
        &self,
        change: impl Fn() -> GroupChange,
        effects: &mut Vec<Effects<GroupChange>>,
    ) {
        if self.all.is_quiet() && self.own.is_quiet() {
            return;
        }
        let change = change();
        if is_own(change.pid()) && !self.own.is_quiet() {
            effects.extend(self.own.tell(change.clone()));
        }
        if !self.all.is_quiet() {
            effects.extend(self.all.tell(change));
        }
    }
}

/// Whether it is a process of this node.
pub(super) fn is_own(pid: Pid) -> bool {
    pid.node() == 0
}
