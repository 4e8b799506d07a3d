//! Messages that a process has taken out of its mailbox and will not handle (rule D7).

use super::context::Context;
use crate::addressing::dynamic::Dynamic;
use crate::process::crash::{drop_contained, log_contained};
use crate::process::current;
use krarup_gen::{DeadLetterCause, Pid};
use std::any::type_name;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::dead_letter`](crate::BehaviorContext::dead_letter).
    pub(crate) fn dead_letter<T: Send + 'static>(&self, message: T, sender: Option<Pid>) {
        self.dead_letter_named(type_name::<T>(), message, sender);
    }

    /// See [`BehaviorContext::dead_letter_other`](crate::BehaviorContext::dead_letter_other).
    pub(crate) fn dead_letter_other(&self, message: Dynamic, sender: Option<Pid>) {
        self.dead_letter_named(message.type_name(), message, sender);
    }

    fn dead_letter_named<T>(&self, type_name: &'static str, message: T, sender: Option<Pid>) {
        let sender = sender.map_or(0, Pid::id);
        self.cell.dead_letter_named(type_name, sender, DeadLetterCause::Unhandled);
        current::not_begun(|| drop_contained(message));
    }

    /// Drops a message of another type and logs it. The default of `handle_other` calls this.
    pub fn drop_other(&self, message: Dynamic) {
        let (pid, message_type) = (self.pid(), message.type_name());
        log_contained(|| {
            tracing::warn!(
                target: "krarup", %pid, message = message_type, "dropped a message of another type"
            );
        });
        drop(message);
    }
}
