//! Aliases: addresses that a process gives out and can revoke (rules N2, N5).

use crate::addressing::address::Address;
use crate::addressing::recipient::{DeliverMessage, Recipient, Room, RoomInLine};
use crate::context::Context;
use crate::host::host::Host;
use crate::mailbox::permit::{Permit, Reserved};
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{Alias, DeadLetterCause, Pid, SendError};
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Makes an alias of this process (Erlang's `alias/0`). Its holders can send to the
    /// process until it is revoked. A process can have any number of aliases.
    pub fn alias(&mut self) -> Alias {
        let alias = Alias::new(self.make_ref());
        let mut relations = self.cell.locked_relations();
        // A context can outlive its process; an alias made then is not registered and reaches
        // no process.
        if !relations.is_retired() {
            relations.add_alias(alias);
            self.host().add_alias(alias, self.process());
        }
        alias
    }

    /// Revokes an alias of this process, and returns whether it was one. After this returns
    /// nothing sent to the alias arrives, and its senders get an error (rule N5).
    pub fn revoke(&mut self, alias: Alias) -> bool {
        let had = self.cell.locked_relations().remove_alias(alias);
        if had {
            self.host().remove_alias(alias);
        }
        had
    }

    /// Returns a typed handle that reaches this process by an alias. Nothing it sends arrives
    /// after the alias is revoked.
    pub fn recipient_by(&self, alias: Alias) -> Recipient<M> {
        Recipient::new(ByAlias { address: self.address(), alias })
    }
}

/// A process that is reached by an alias.
struct ByAlias<M, C> {
    address: Address<M, C>,
    alias: Alias,
}

impl<M: Send + 'static, C: Send + 'static> ByAlias<M, C> {
    fn is_valid(&self) -> bool {
        self.address.process().relations().has_alias(self.alias)
    }
}

impl<M: Send + 'static, C: Send + 'static> DeliverMessage<M> for ByAlias<M, C> {
    fn deliver(&self, message: M, _: u64) -> Result<(), SendError<M>> {
        self.address.send_by_alias(self.alias, message)
    }

    fn notify(&self, message: M) {
        self.address.notify_by_alias(self.alias, message);
    }

    fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        if !self.is_valid() {
            return Err(SendError::Revoked { message: (), alias: self.alias });
        }
        let by = ByAlias { address: self.address.clone(), alias: self.alias };
        self.address.reserve().map(|room| Permit::new(RoomByAlias { room, by }))
    }

    fn room(&self) -> RoomInLine<M> {
        let by = ByAlias { address: self.address.clone(), alias: self.alias };
        Box::pin(async move {
            if !by.is_valid() {
                by.address.dead_letter(DeadLetterCause::Revoked);
                return Err(SendError::Revoked { message: (), alias: by.alias });
            }
            let room = by.address.room_for_message().await?;
            Ok(Room::Permit(Permit::new(RoomByAlias { room, by })))
        })
    }

    fn process(&self) -> Option<Arc<dyn Process>> {
        Some(self.address.process())
    }

    fn pid(&self) -> Pid {
        self.address.pid()
    }

    fn host(&self) -> &Arc<dyn Host> {
        self.address.host()
    }

    fn is_alive(&self) -> bool {
        self.is_valid()
    }
}

/// Room that was reserved by an alias. A message put there after the alias is revoked does not
/// arrive.
struct RoomByAlias<M, C> {
    room: Permit<M>,
    by: ByAlias<M, C>,
}

impl<M: Send + 'static, C: Send + 'static> Reserved<M> for RoomByAlias<M, C> {
    fn fill(self: Box<Self>, message: M, sender: u64) {
        let RoomByAlias { room, by } = *self;
        // The room of a route is in another mailbox, where the alias is not known.
        let sent = if by.is_valid() {
            room.send_by_alias(by.alias, message, sender)
        } else {
            drop(room);
            Err(message)
        };
        if let Err(message) = sent {
            by.address.dead_letter(DeadLetterCause::Revoked);
            current::apart(|| drop(message));
        }
    }

    fn holder(&self) -> Pid {
        self.room.holder()
    }

    fn reserved_at(&self) -> Pid {
        self.room.reserved_at()
    }
}
