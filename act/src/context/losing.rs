//! What a process has taken off its mailbox and will not handle (rule D7).

use super::context::Context;
use crate::process::crash::contain;
use krarup_gen::{DeadLetterCause, Pid};
use std::any::type_name;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Drops a message that will not be handled, and counts it as a dead letter from this sender:
    /// for behaviours that take messages ahead of their turn. One that panics when it is
    /// dropped does no harm.
    pub fn lose(&self, message: M, sender: Option<Pid>) {
        let sender = sender.map_or(0, Pid::id);
        self.cell.lose_named(type_name::<M>(), sender, DeadLetterCause::Unhandled);
        let _ = contain(|| drop(message));
    }
}
