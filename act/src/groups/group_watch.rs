//! Watching a group: its members, and then each change (rule G3).

use super::groups::Groups;
use crate::context::Context;
use crate::topics::topic::Topic;
use krarup_gen::{GroupChange, Name, Pid, WatchGroupError};
use std::fmt;
use std::sync::Arc;

/// The watch of a group; from [`Context::watch_group`]. Dropping it does not end the watch.
pub struct GroupWatch {
    group: Name,
    changes: Topic<GroupChange>,
}

impl GroupWatch {
    /// Returns the group.
    #[must_use]
    pub fn group(&self) -> &Name {
        &self.group
    }
}

impl fmt::Debug for GroupWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupWatch({})", self.group)
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Watches a group, with or without members: returns its members, in the order of joining, and
    /// from then on each change comes as a message, none missed and none twice (rule G3). The messages
    /// are made in the turns of this process, and do not count towards the bound of its mailbox. The
    /// watch ends with this process, or by [`Context::unwatch_group`].
    ///
    /// A process watches a group once. If it does already, the members are those of now, and what has
    /// not come of the changes before is dropped.
    ///
    /// ```
    /// # use krarup_act::{Actor, Context};
    /// # use krarup_gen::{GroupChange, Result};
    /// struct Balancer;
    ///
    /// impl Actor for Balancer {
    ///     type Message = GroupChange;
    ///
    ///     async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
    ///         let (now, _changes) = ctx.watch_group("stock")?;
    ///         println!("{} members", now.len());
    ///         Ok(())
    ///     }
    ///
    ///     async fn handle_message(
    ///         &mut self,
    ///         _: &mut Context<GroupChange>,
    ///         change: GroupChange,
    ///     ) -> Result {
    ///         println!("{change}");
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`WatchGroupError`]: the text is no name, or the process has ended.
    pub fn watch_group(
        &mut self,
        group: impl AsRef<str>,
    ) -> Result<(Vec<Pid>, GroupWatch), WatchGroupError>
    where
        M: From<GroupChange>,
    {
        let groups = self.groups();
        self.watch_group_of(&groups, group)
    }

    /// As [`Context::watch_group`], for a group of another scope than that of the node (the groups
    /// of a cluster's scope).
    ///
    /// # Errors
    /// Those of [`Context::watch_group`].
    pub fn watch_group_of(
        &mut self,
        groups: &Groups,
        group: impl AsRef<str>,
    ) -> Result<(Vec<Pid>, GroupWatch), WatchGroupError>
    where
        M: From<GroupChange>,
    {
        let name = Name::new(group)?;
        let table = Arc::clone(groups.table());
        // An earlier watch ends without the lock of the group, which its end may take.
        if let Some(earlier) = table.with(name.as_str(), |group| group.changes.clone()).flatten() {
            self.unsubscribe(&Topic::new(earlier));
        }
        let (reference, mut changes) = (self.make_ref(), None);
        let now = table.watch(&name, reference, |core| {
            let topic = Topic::new(Arc::clone(core));
            let started = self.subscribe(&topic).start();
            changes = Some(topic);
            started.map(drop)
        });
        match (now, changes) {
            (Ok(now), Some(changes)) => Ok((now, GroupWatch { group: name, changes })),
            _ => Err(WatchGroupError::NoProcess(self.pid())),
        }
    }

    /// Ends a watch. Returns whether it was running. No change is received after it returns (rule
    /// G3).
    pub fn unwatch_group(&mut self, watch: &GroupWatch) -> bool {
        self.unsubscribe(&watch.changes)
    }
}
