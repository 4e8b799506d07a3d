//! A process joins and leaves groups (rules G1, G2).

use super::groups::Groups;
use crate::context::Context;
use krarup_gen::{JoinError, LeaveError};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Returns the groups of this node.
    #[must_use]
    pub fn groups(&self) -> Groups {
        Groups::of(self.node_host())
    }

    /// Joins a group, as a member that takes the messages of this process. A process may join a group
    /// several times, and is a member until it has left as often or has ended (rules G1, G2).
    ///
    /// An actor joins in `init`, so that its next incarnation joins again. A state that was replaced
    /// in place ([`InPlace`](crate::InPlace)) has not ended its process, which is still a member: it
    /// leaves in `before_restart`.
    ///
    /// # Errors
    /// [`JoinError`]: the text is no name, or the process has ended (a context can be moved out of
    /// its process).
    pub fn join(&self, group: impl AsRef<str>) -> Result<(), JoinError> {
        self.join_as::<M>(group)
    }

    /// Joins a group, as a member that takes messages of type `T`, from which those of this process
    /// are made. Processes of different types are then members alike.
    ///
    /// # Errors
    /// Those of [`Context::join`].
    pub fn join_as<T: Send + 'static>(&self, group: impl AsRef<str>) -> Result<(), JoinError>
    where
        M: From<T>,
    {
        self.groups().join(group, &self.address().recipient::<T>())
    }

    /// Leaves a group once: the latest membership ends (rule G1).
    ///
    /// # Errors
    /// [`LeaveError`]: this process is not a member.
    pub fn leave(&self, group: impl AsRef<str>) -> Result<(), LeaveError> {
        self.groups().leave(group, self.pid())
    }
}
