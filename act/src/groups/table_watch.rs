//! Watching all groups: their members, and then each change (rule G3).

use super::groups::Groups;
use super::table_topics::{GroupMembers, TableTopic, is_own};
use crate::context::Context;
use crate::topics::topic::Topic;
use krarup_gen::{GroupChange, Pid, WatchGroupError};
use std::fmt;

/// The watch of all groups of a scope; from [`Context::watch_groups`]. Dropping it does not end the
/// watch.
pub struct GroupsWatch {
    changes: Topic<GroupChange>,
}

impl fmt::Debug for GroupsWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GroupsWatch(..)")
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Watches all groups at once (OTP's `pg:monitor_scope`): returns the groups that have members,
    /// in alphabetical order, each with its members in the order of joining. From then on each
    /// change comes as a message, none missed and none twice, as from
    /// [`Context::watch_group`] (rule G3). A process watches all groups of a scope once.
    ///
    /// ```
    /// # use krarup_act::{Actor, Context};
    /// # use krarup_gen::{GroupChange, Result};
    /// struct Overview;
    ///
    /// impl Actor for Overview {
    ///     type Message = GroupChange;
    ///
    ///     async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
    ///         let groups = ctx.groups();
    ///         let (now, _changes) = ctx.watch_groups(&groups)?;
    ///         now.iter().for_each(|(group, members)| println!("{group}: {}", members.len()));
    ///         Ok(())
    ///     }
    /// #    async fn handle_message(&mut self, _: &mut Context<GroupChange>, _: GroupChange) -> Result {
    /// #        Ok(())
    /// #    }
    /// }
    /// # let _ = Overview;
    /// ```
    ///
    /// # Errors
    /// [`WatchGroupError::NoProcess`]: the process has ended (a context can be moved out of it).
    pub fn watch_groups(
        &mut self,
        groups: &Groups,
    ) -> Result<(GroupMembers, GroupsWatch), WatchGroupError>
    where
        M: From<GroupChange>,
    {
        self.watch_table(groups, &groups.table().topics.all, |_| true)
    }

    /// See [`BehaviorContext::watch_own_members`](crate::BehaviorContext::watch_own_members).
    pub(crate) fn watch_own_members(
        &mut self,
        groups: &Groups,
    ) -> Result<(GroupMembers, GroupsWatch), WatchGroupError>
    where
        M: From<GroupChange>,
    {
        self.watch_table(groups, &groups.table().topics.own, is_own)
    }

    fn watch_table(
        &mut self,
        groups: &Groups,
        topic: &TableTopic,
        is_listed: fn(Pid) -> bool,
    ) -> Result<(GroupMembers, GroupsWatch), WatchGroupError>
    where
        M: From<GroupChange>,
    {
        // What waits of an earlier watch is dropped.
        if let Some(earlier) = topic.known() {
            self.unsubscribe(&Topic::new(earlier));
        }
        let (reference, mut changes) = (self.make_ref(), None);
        let now = groups.table().while_still(is_listed, || {
            let topic = Topic::new(topic.made(reference));
            let started = self.subscribe(&topic).start();
            changes = Some(topic);
            started.map(drop)
        });
        match (now, changes) {
            (Ok(now), Some(changes)) => Ok((now, GroupsWatch { changes })),
            _ => Err(WatchGroupError::NoProcess(self.pid())),
        }
    }

    /// Ends a watch of all groups. Returns whether it was running. No change is received after it
    /// returns (rule G3).
    pub fn unwatch_groups(&mut self, watch: &GroupsWatch) -> bool {
        self.unsubscribe(&watch.changes)
    }
}
