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
    all: OnceLock<Arc<TopicCore<GroupChange>>>,
    own: OnceLock<Arc<TopicCore<GroupChange>>>,
}

impl TableTopics {
    /// The changes of all members.
    pub(super) fn all(&self, reference: Ref) -> Arc<TopicCore<GroupChange>> {
        topic_of(&self.all, reference)
    }

    /// The changes of the members of this node.
    pub(super) fn own(&self, reference: Ref) -> Arc<TopicCore<GroupChange>> {
        topic_of(&self.own, reference)
    }

    /// Passes a change on to those who watch all groups. The caller holds the lock of the group.
    pub(super) fn tell(
        &self,
        change: impl Fn() -> GroupChange,
        effects: &mut Vec<Effects<GroupChange>>,
    ) {
        let heard = |topic: &OnceLock<Arc<TopicCore<GroupChange>>>| {
            topic.get().filter(|topic| !topic.is_quiet()).cloned()
        };
        let (all, own) = (heard(&self.all), heard(&self.own));
        if all.is_none() && own.is_none() {
            return;
        }
        let change = change();
        if let Some(own) = own
            && is_own(change.pid())
        {
            effects.push(own.publish_under_lock(change.clone()));
        }
        if let Some(all) = all {
            effects.push(all.publish_under_lock(change));
        }
    }
}

/// Whether it is a process of this node.
pub(super) fn is_own(pid: Pid) -> bool {
    pid.node() == 0
}

fn topic_of(
    place: &OnceLock<Arc<TopicCore<GroupChange>>>,
    reference: Ref,
) -> Arc<TopicCore<GroupChange>> {
    let make = || {
        TopicCore::new(TopicSettings {
            id: TopicId { name: None, reference },
            opener: None,
            keep: 0,
            audience: None,
            opened_by: Weak::new(),
        })
    };
    Arc::clone(place.get_or_init(make))
}
