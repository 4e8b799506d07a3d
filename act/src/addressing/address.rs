//! The typed handle on a process.

use crate::addressing::recipient::{DeliverMessage, Recipient, Room, RoomInLine};
use crate::addressing::route::Route;
use crate::host::host::Host;
use crate::host::ready::Ready;
use crate::mailbox::entry::{MailboxEntry, Notice};
use crate::mailbox::permit::Permit;
use crate::observe::trace::Tracer;
use crate::observe::watched_job::{Mark, WatchedJob};
use crate::process::cell::Cell;
use crate::process::current;
use crate::process::process::Process;
use crate::process::reservation::RoomGuard;
use crate::same_type::same_type;
use crate::sync::Ordering;
use crate::topics::event_ticket::EventTicket;
use krarup_gen::{Alias, DeadLetterCause, LookupError, Pid, Priority, ProcessInfo, Ref, SendError};
use std::any::{Any, type_name};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A typed handle on a process, to send to it and to call it.
///
/// `M` is the message type of the Main lane, `C` that of the Urgent and System lanes; for an
/// actor they are one type. An address does not keep its process alive, and it outlives the
/// process: a send to a dead process returns an error with the message (rule M7). Cloning is
/// cheap, and a local send needs no look-up.
pub struct Address<M, C = M> {
    pub(super) cell: Arc<Cell<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    pub(crate) fn new(cell: Arc<Cell<M, C>>) -> Self {
        Address { cell }
    }

    /// Returns the typed address of a process. Look-ups by name or pid use it.
    ///
    /// # Errors
    /// [`LookupError::WrongType`] if the process has other message types.
    pub fn of(process: &Arc<dyn Process>) -> Result<Self, LookupError> {
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(process) as _;
        any.downcast::<Cell<M, C>>().map(|cell| Address { cell }).map_err(|_| {
            let name = process.info().name;
            LookupError::WrongType {
                process: name.map_or_else(|| process.pid().to_string(), |name| name.to_string()),
                expected: process.lane_types(),
                found: (type_name::<M>(), type_name::<C>()),
            }
        })
    }

    /// Returns the node of the process. For parts of a node.
    #[must_use]
    pub fn node_host(&self) -> Arc<dyn Host> {
        Arc::clone(self.host())
    }

    /// Returns the pid of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid()
    }

    /// Sends a message on the Main lane. A message sent inside a process carries the pid of
    /// its sender.
    ///
    /// # Errors
    /// [`SendError::Full`] from a bounded mailbox or a saturated pool,
    /// [`SendError::NoProcess`] if the process is dead; both return the message. In a callback `?`
    /// needs a message that is `Sync`; of one that is not, write
    /// `send(message).map_err(SendError::without_message)?`.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        self.cell.send(message)
    }

    /// Sends on the System lane (rule M2), ahead of everything on Main and regardless of the
    /// bound.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the process is dead.
    pub fn send_high(&self, command: C) -> Result<(), SendError<C>> {
        self.cell.send_control(Priority::High, command)
    }

    /// Sends on the Urgent lane (rule M2), ahead of everything else and regardless of the
    /// bound.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the process is dead.
    pub fn send_max(&self, command: C) -> Result<(), SendError<C>> {
        self.cell.send_control(Priority::Max, command)
    }

    /// Returns a handle on the same process for messages of type `T` only, if the process's
    /// own message type is made from a `T`. With `T = M` actors and pools have handles of one
    /// type.
    #[must_use]
    pub fn recipient<T>(&self) -> Recipient<T>
    where
        T: Send + 'static,
        M: From<T>,
    {
        Recipient::new(self.clone())
    }

    /// Puts a mark behind everything that was accepted. It is dropped when all of that has
    /// been handled.
    pub(crate) fn mark(&self, mark: &Mark) {
        match self.cell.route() {
            Some(route) => route.mark(mark),
            None => self.cell.push_notice(Notice::Mark(Arc::clone(mark))),
        }
    }

    /// Puts a message that was made of an event on Main; see [`Cell::put_event`].
    pub(crate) fn put_event(&self, message: M, subscription: Ref) -> Result<Option<Ready>, M> {
        self.cell.put_event(message, subscription)
    }

    /// Puts a ticket for an event on Main, regardless of the bound; see [`Cell::put_ticket`].
    pub(crate) fn put_ticket(
        &self,
        ticket: EventTicket<M>,
    ) -> Result<Option<Ready>, EventTicket<M>> {
        self.cell.put_ticket(ticket)
    }

    /// Takes back at most `most` of the newest waiting messages.
    pub(crate) fn take_newest(&self, most: usize) -> Vec<MailboxEntry<M>> {
        let newest = self.cell.inbox.lock().take_newest(most);
        self.cell.grant_room();
        newest
    }

    /// Returns how many messages a new one would wait for: those that wait and the one in
    /// progress. `None` if the process has ended.
    pub(crate) fn load(&self) -> Option<usize> {
        self.cell.load()
    }

    /// Sends a message regardless of the bound, as the runtime does. For behaviours that
    /// notify a process of an event it subscribed to. A message to a dead process is dropped
    /// and counted as a dead letter.
    pub fn notify(&self, message: M) {
        if let Err(message) = self.cell.push_letter(message) {
            self.dead_letter(DeadLetterCause::NoProcess);
            drop(message);
        }
    }

    /// As [`Address::notify`], for the result of work that ends with its process (rule C6).
    pub(crate) fn notify_result(&self, message: M) {
        if let Err(message) = self.cell.push_letter(message) {
            self.dead_letter(DeadLetterCause::LateResult);
            drop(message);
        }
    }

    /// As [`Address::notify`], but by an alias. If the alias is revoked the message is
    /// dropped.
    pub(crate) fn notify_by_alias(&self, alias: Alias, message: M) {
        let relations = self.cell.locked_relations();
        if !relations.has_alias(alias) {
            drop(relations);
            self.dead_letter(DeadLetterCause::Revoked);
            return drop(message);
        }
        // Schedule the process, and drop a message that it does not accept, without the lock.
        let put = self.cell.put_letter(message);
        drop(relations);
        match put {
            Ok(ready) => self.cell.schedule_if(ready),
            Err(message) => {
                self.dead_letter(DeadLetterCause::NoProcess);
                drop(message);
            }
        }
    }

    /// Counts a message to this process as a dead letter.
    pub(crate) fn dead_letter(&self, cause: DeadLetterCause) {
        self.cell.dead_letter::<M>(current::sender(self.cell.pid().creation()), cause);
    }

    pub(crate) fn send_by_alias(&self, alias: Alias, message: M) -> Result<(), SendError<M>> {
        self.cell.send_by_alias(alias, message)
    }

    pub(crate) fn set_tracer(&self, tracer: Tracer<M, C>) {
        self.cell.set_tracer(tracer);
    }

    /// Whether messages sent here are handed on by a route instead of queued, as at a pool or
    /// at grains.
    #[must_use]
    pub fn is_routed(&self) -> bool {
        self.cell.is_routed()
    }

    /// Whether the process may itself be waiting for an answer; a hint.
    #[inline]
    pub(crate) fn seems_to_wait(&self) -> bool {
        self.cell.progress.waits_for.load(Ordering::Relaxed) != 0
    }

    /// Returns the route of this process, if it is of this type. For behaviours whose address has
    /// something to look up without a message.
    #[must_use]
    pub fn route_as<R: Route<M>>(&self) -> Option<&R> {
        let route: &dyn Any = self.cell.route()?;
        route.downcast_ref()
    }

    /// Sends on behalf of the process with the given number. A [`Route`] uses it so
    /// that the worker sees the original sender.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    #[inline]
    pub fn forward(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        self.cell.send_from(message, sender)
    }

    /// As [`Address::forward`], with a message whose progress is watched.
    pub(crate) fn forward_job(&self, job: WatchedJob<M>, sender: u64) -> Result<(), SendError<M>> {
        self.cell.send_job(job, sender)
    }

    /// Ends the process normally once everything accepted on its Main lane until now has been
    /// handled (Akka's `PoisonPill`). An actor runs `terminate`. A bare process receives
    /// [`Received::Finish`](crate::Received::Finish).
    pub fn finish(&self) {
        self.cell.push_notice(Notice::Finish);
    }

    /// Whether the process is alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.cell.is_alive()
    }

    /// Returns the number of messages waiting on the Main lane.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.cell.main_length()
    }

    /// Returns a description of the process, dead or alive (rule X3).
    #[must_use]
    pub fn info(&self) -> ProcessInfo {
        self.cell.info()
    }

    /// Whether the process traps exits now.
    pub(crate) fn traps_exits(&self) -> bool {
        self.cell.inbox.lock().marks.is_trapping()
    }

    /// Returns the process without its message types, for a host's tables and for untyped
    /// operations.
    #[must_use]
    pub fn process(&self) -> Arc<dyn Process> {
        Arc::clone(&self.cell) as Arc<dyn Process>
    }
}

impl<M, C, T> DeliverMessage<T> for Address<M, C>
where
    M: From<T> + Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
{
    fn deliver(&self, message: T, sender: u64) -> Result<(), SendError<T>> {
        // A message of the process's own type is sent as by the address. One that is converted first, or that a
        // route takes further, finds out whether there is room before that.
        let own =
            if self.cell.route().is_none() { same_type::<T, M>(message) } else { Err(message) };
        let message = match own {
            Ok(own) => {
                let given_back = |message: M| {
                    same_type(message)
                        .unwrap_or_else(|_| unreachable!("it is the type of the process"))
                };
                return self.cell.send_as(own, sender).map_err(|error| error.map(given_back));
            }
            Err(message) => message,
        };
        match self.cell.reserve(None) {
            Ok(held) => {
                // If the conversion panics the room is given back.
                let room = RoomGuard::new(&self.cell, held);
                let message = message.into();
                // Forget the receiver of a message that the conversion has sent.
                let _ = current::take_receiver();
                room.fill_with(message, sender);
                current::count_sent();
                Ok(())
            }
            Err(error) => {
                self.note_given_back(&error);
                Err(error.with_message(message))
            }
        }
    }

    fn notify(&self, message: T) {
        Address::notify(self, message.into());
    }

    fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        self.reserve_as()
    }

    fn room(&self) -> RoomInLine<T> {
        let address = self.clone();
        Box::pin(async move {
            address.room_for_message().await.map(|permit| Room::Permit(permit.converting()))
        })
    }

    fn process(&self) -> Option<Arc<dyn Process>> {
        Some(Address::process(self))
    }

    fn pid(&self) -> Pid {
        Address::pid(self)
    }

    fn host(&self) -> &Arc<dyn Host> {
        Address::host(self)
    }

    fn is_alive(&self) -> bool {
        Address::is_alive(self)
    }

    fn seems_to_wait(&self) -> bool {
        Address::seems_to_wait(self)
    }
}

impl<M, C> Address<M, C> {
    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.cell.host
    }

    /// The pid, whatever the types of the messages.
    pub(crate) fn pid_of(&self) -> Pid {
        self.cell.pid()
    }
}

impl<M: Send + 'static> Address<M, M> {
    /// Sends on the lane that `priority` names (rule M2).
    ///
    /// # Errors
    /// Those of [`Address::send`].
    pub fn send_with(&self, priority: Priority, message: M) -> Result<(), SendError<M>> {
        match priority {
            Priority::Normal => self.send(message),
            priority => self.cell.send_control(priority, message),
        }
    }
}

impl<M, C> Clone for Address<M, C> {
    fn clone(&self) -> Self {
        Address { cell: Arc::clone(&self.cell) }
    }
}

impl<M, C> fmt::Debug for Address<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.cell.pid())
    }
}

/// Two addresses are equal if they refer to the same process.
impl<M, C> PartialEq for Address<M, C> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }
}

impl<M, C> Eq for Address<M, C> {}

/// The hash is that of the pid, which never changes, so addresses can be keys. Clippy's
/// `mutable_key_type` cannot see that; it does not report a [`Recipient`].
impl<M, C> Hash for Address<M, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.cell.pid().hash(state);
    }
}
