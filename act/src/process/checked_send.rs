//! Sends that check more than room: by an alias, which may be revoked, and of values whose type is
//! known only at run time.

use super::cell::Cell;
use super::current;
use super::reservation::{ReservedRoom, Unfilled};
use crate::addressing::dynamic::Dynamic;
use crate::cold_box::ColdBox;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::mailbox::push::Refused;
use krarup_gen::{Alias, DeadLetterCause, Lane, MessageTypes, RefusalCause, SendError};
use std::any::type_name;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Sends by an alias, unless it has been revoked. After a revocation has returned, no
    /// message arrives by the alias (rule N5). See `Cell::fill_held_by_alias`.
    pub(crate) fn send_by_alias(
        self: &Arc<Self>,
        alias: Alias,
        message: M,
    ) -> Result<(), SendError<M>> {
        let sender = current::sender(self.pid().creation());
        let relations = self.locked_relations();
        if !relations.has_alias(alias) {
            drop(relations);
            return Err(self.is_revoked(alias, message, sender));
        }
        if self.is_routed() {
            drop(relations);
            return self.send_by_call(message);
        }
        if current::is_traced() {
            drop(relations);
            return self.send_with_room_by_alias(alias, message, sender);
        }
        let pushed = self.push_main(message, sender);
        drop(relations);
        match pushed {
            Ok(ready) => {
                current::count_sent();
                self.schedule_if(ready);
                Ok(())
            }
            Err(Refused::Full(message)) => {
                self.host.count_refusal(RefusalCause::Full);
                Err(SendError::Full { message, to: self.pid() })
            }
            Err(Refused::Overflow(message) | Refused::Dead(message) | Refused::Routed(message)) => {
                self.send_with_room_by_alias(alias, message, sender)
            }
        }
    }

    /// Does the same when the message cannot simply be put in. User code may run on the way and
    /// revoke the alias.
    #[cold]
    fn send_with_room_by_alias(
        self: &Arc<Self>,
        alias: Alias,
        message: M,
        sender: u64,
    ) -> Result<(), SendError<M>> {
        if self.is_routed() {
            // The process has become a route in the meantime.
            return self.send_by_call(message);
        }
        match self.reserve(None) {
            Ok(held) => match self.fill_held_by_alias(alias, held, message, sender) {
                Ok(()) => {
                    current::count_sent();
                    Ok(())
                }
                Err(message) => Err(self.is_revoked(alias, message, sender)),
            },
            Err(error) => {
                self.note_refusal(error.refusal(), type_name::<M>(), sender);
                Err(error.with_message(message))
            }
        }
    }

    fn is_revoked<T>(&self, alias: Alias, message: T, sender: u64) -> SendError<T> {
        self.dead_letter::<T>(sender, DeadLetterCause::Revoked);
        SendError::Revoked { message, alias }
    }

    /// Sends a value that is not of the process's message type, if the process takes such
    /// values.
    pub(super) fn send_other(
        self: &Arc<Self>,
        message: Dynamic,
        by: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>> {
        let sender = current::sender(self.pid().creation());
        let revoked = |alias, message: Dynamic| {
            self.dead_letter_named(message.type_name(), sender, DeadLetterCause::Revoked);
            Err(SendError::Revoked { message, alias })
        };
        if let Some(alias) = by
            && !self.has_alias(alias)
        {
            return revoked(alias, message);
        }
        if !self.inbox.lock().marks.takes_others() {
            let (expected, found) = (type_name::<M>(), message.type_name());
            let types = MessageTypes { expected, found, commands: None };
            return Err(SendError::WrongType { message, to: self.pid(), types: Box::new(types) });
        }
        match self.reserve(None) {
            Ok(ReservedRoom::Here) => {
                let carry = || current::carry(&*self.host, self.pid(), Lane::Main);
                let context = current::is_traced().then(carry).flatten();
                let body = Body::Notice(ColdBox::new(Notice::Other(message, context)));
                let entry = MailboxEntry { sender, body };
                let filled = match by {
                    Some(alias) => self.fill_by_alias(alias, entry),
                    None => {
                        self.fill_here(entry);
                        Ok(())
                    }
                };
                match filled {
                    Ok(()) => {}
                    Err(Unfilled::Revoked(entry)) => {
                        if let Body::Notice(notice) = entry.body
                            && let Notice::Other(message, _) = notice.into_inner()
                            && let Some(alias) = by
                        {
                            return revoked(alias, message);
                        }
                    }
                    Err(Unfilled::Ended(entry)) => {
                        self.drop_lost(entry, DeadLetterCause::Unhandled);
                    }
                }
                current::count_sent();
                Ok(())
            }
            Ok(ReservedRoom::Nowhere) => {
                self.dead_letter_named(message.type_name(), sender, DeadLetterCause::Overflow);
                current::apart(|| drop(message));
                current::count_sent();
                Ok(())
            }
            // A fallback takes only messages of the process's own type.
            Ok(ReservedRoom::Elsewhere(..) | ReservedRoom::OnRoute(_)) => {
                self.host.count_refusal(RefusalCause::Full);
                Err(SendError::Full { message, to: self.pid() })
            }
            Err(error) => {
                self.note_refusal(error.refusal(), message.type_name(), sender);
                Err(error.with_message(message))
            }
        }
    }
}
