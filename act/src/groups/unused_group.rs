//! The removal of a group that nobody watches any more and that has no members.
//!
//! A group that is watched is kept without members. When its last watcher has gone, its topic says
//! so under the lock of the topic. The group is looked at when that is unlocked: a value among the
//! effects does it when it is dropped.

use crate::topics::audience::{Audience, AudienceListener};
use crate::topics::hearer::Effects;
use krarup_gen::{GroupChange, Name};
use std::sync::Weak;

pub(crate) trait UnusedGroups: Send + Sync {
    /// Removes the group, if it has neither members nor watchers.
    fn forget_unused(&self, name: &Name);
}

/// Hears of the end of the last watch of a group.
pub(crate) struct UnusedGroup {
    groups: Weak<dyn UnusedGroups>,
    name: Name,
}

impl UnusedGroup {
    pub(crate) fn new(groups: Weak<dyn UnusedGroups>, name: Name) -> Self {
        UnusedGroup { groups, name }
    }
}

impl AudienceListener<GroupChange> for UnusedGroup {
    fn tell(&self, audience: Audience, effects: &mut Effects<GroupChange>) {
        if audience == Audience::None {
            let (groups, name) = (Weak::clone(&self.groups), self.name.clone());
            effects.values.push(Box::new(LooksAgain { groups, name }));
        }
    }
}

struct LooksAgain {
    groups: Weak<dyn UnusedGroups>,
    name: Name,
}

impl Drop for LooksAgain {
    fn drop(&mut self) {
        if let Some(groups) = self.groups.upgrade() {
            groups.forget_unused(&self.name);
        }
    }
}
