//! The places of events in a mailbox.
//!
//! An event for a subscription with a limit or with numbers waits there, and the mailbox of the
//! subscriber holds a ticket for it.
//! When the process takes the ticket out, it gets the oldest event that waits. So a subscription
//! can drop its oldest event without a search in the mailbox, and the conversion of an event runs
//! in the turn of the subscriber.

use krarup_gen::Down;
use std::sync::Arc;

/// What a process gets for a ticket.
pub(crate) enum Redeemed<M> {
    /// The message that was made of an event.
    Message(M),
    /// The notice that the subscription has ended.
    Down(Down),
}

/// A queue outside of the mailbox, which has a ticket in the mailbox for each of its items.
pub(crate) trait TicketIssuer<M>: Send + Sync {
    /// Takes the oldest item; `None` if it was withdrawn or could not be made a message.
    fn redeem(&self) -> Option<Redeemed<M>>;

    /// Drops the oldest item: its process takes nothing any more.
    fn lose(&self);

    /// Whether the oldest item is a message, which is a dead letter if it is lost.
    fn has_message(&self) -> bool;
}

/// A ticket for the oldest item of an issuer. The item of a ticket that is dropped is lost.
pub(crate) struct EventTicket<M>(Option<Arc<dyn TicketIssuer<M>>>);

impl<M> EventTicket<M> {
    pub(crate) fn new(issuer: Arc<dyn TicketIssuer<M>>) -> Self {
        EventTicket(Some(issuer))
    }

    /// Exchanges the ticket for its item.
    pub(crate) fn redeem(mut self) -> Option<Redeemed<M>> {
        self.0.take()?.redeem()
    }

    /// Takes the ticket back; its item stays where it is.
    pub(crate) fn withdraw(mut self) -> Option<Arc<dyn TicketIssuer<M>>> {
        self.0.take()
    }

    pub(crate) fn is_letter(&self) -> bool {
        self.0.as_ref().is_some_and(|issuer| issuer.has_message())
    }
}

impl<M> Drop for EventTicket<M> {
    fn drop(&mut self) {
        if let Some(issuer) = self.0.take() {
            issuer.lose();
        }
    }
}
