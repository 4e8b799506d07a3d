//! Room for a message at a process (rules M6, H8).

use crate::addressing::address::Address;
use crate::addressing::route::{RoomFuture, Route};
use crate::mailbox::permit::{Permit, Waiter, WaitsForRoom};
use crate::process::current;
use crate::process::reservation::{ReservedRoom, RoomGuard};
use krarup_gen::SendError;
use std::any::type_name;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Reserves room for one message on the Main lane, so that a message that is costly to
    /// make or to convert is made only if it will be accepted. The room counts towards the
    /// bound.
    ///
    /// A full mailbox does what it does with a message ([`Overflow`](crate::Overflow)): one that drops the oldest drops it
    /// now, one that drops the newest gives a permit whose message will be dropped, and one with a fallback
    /// gives room there. [`Address::reserve_or_wait`] waits instead.
    ///
    /// There is no message yet: where there is no room, nothing is refused, and where there is no
    /// process, nothing is a dead letter.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    pub fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        self.reserved(None)
    }

    /// As [`Address::reserve`], but joins the line of waiting senders if the mailbox is full.
    pub(crate) fn reserve_in_line(
        &self,
        waiter: &Arc<Waiter<M>>,
    ) -> Result<Permit<M>, SendError<()>> {
        self.reserved(Some(waiter))
    }

    fn reserved(&self, waiter: Option<&Arc<Waiter<M>>>) -> Result<Permit<M>, SendError<()>> {
        self.permit_for(self.cell.reserve(waiter))
    }

    fn permit_for(
        &self,
        room: Result<ReservedRoom<M>, SendError<()>>,
    ) -> Result<Permit<M>, SendError<()>> {
        match room {
            Ok(ReservedRoom::OnRoute(permit)) => Ok(permit.through(self.pid())),
            Ok(held) => Ok(Permit::new(RoomGuard::new(&self.cell, held))),
            Err(error) => Err(error),
        }
    }

    /// As [`Address::reserve`], for a sender that is ready to wait: a full mailbox has no room, also if it would
    /// drop a message. For routes and keepers that have a line of their own.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    #[doc(hidden)]
    pub fn reserve_patiently(&self) -> Result<Permit<M>, SendError<()>> {
        self.permit_for(self.cell.reserve_patiently())
    }

    /// Sends, for a sender that waits if there is no room: that is no refusal.
    pub(crate) fn send_before_waiting(&self, message: M) -> Result<(), SendError<M>> {
        self.cell.send_before_waiting(message)
    }

    /// Counts a message that is given back to its sender with this error.
    pub(super) fn note_given_back(&self, error: &SendError<()>) {
        let sender = current::sender(self.cell.pid().creation());
        self.cell.note_refusal(error.refusal(), type_name::<M>(), sender);
    }

    /// Whether senders wait for room.
    pub(crate) fn has_line(&self) -> bool {
        self.cell.inbox.lock().has_waiters()
    }

    /// Whether a full mailbox drops a message.
    pub(crate) fn drops_when_full(&self) -> bool {
        self.cell.inbox.lock().drops_when_full()
    }

    /// Returns a future of room at a receiver of the route, if this process has a route with a
    /// line.
    pub(crate) fn room_on_route(&self, message: &M) -> Option<RoomFuture<M>> {
        self.cell.route().and_then(|route| route.room(message))
    }

    /// The same for a message that is not known yet.
    pub(crate) fn room_for_any(&self) -> Option<RoomFuture<M>> {
        self.cell.route().and_then(Route::room_for_any)
    }

    /// Adds a line of senders to the waiters of this process.
    pub(crate) fn enlist(&self, line: &Arc<Waiter<M>>) {
        self.cell.enlist(line);
    }

    /// Whether a sender that waits for room here can get some.
    pub(crate) fn admits_line(&self) -> bool {
        self.cell.route().is_none_or(Route::admits_line)
    }

    pub(crate) fn forget_waiter(&self, waiter: &Arc<Waiter<M>>) {
        let waiter: Arc<dyn WaitsForRoom> = Arc::clone(waiter) as _;
        self.cell.inbox.lock().forget_waiter(&waiter);
    }

    /// Reserves room for a message that will be converted from a `T`.
    pub(super) fn reserve_as<T>(&self) -> Result<Permit<T>, SendError<()>>
    where
        T: Send + 'static,
        M: From<T>,
    {
        self.reserve().map(Permit::converting)
    }
}
