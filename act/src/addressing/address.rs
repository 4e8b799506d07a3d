//! The typed handle on a process.

use crate::addressing::recipient::{DeliverMessage, Recipient};
use crate::addressing::route::RoomFuture;
use crate::host::host::Host;
use crate::mailbox::entry::{MailboxEntry, Notice};
use crate::mailbox::permit::{Permit, Waiter};
use crate::observe::trace::Tracer;
use crate::observe::watched_job::{Job, Mark};
use crate::process::cell::Cell;
use crate::process::current;
use crate::process::process::Process;
use crate::process::reservation::{ReservedRoom, RoomGuard};
use crate::sync::Ordering;
use krarup_gen::{Alias, DeadLetterCause, LookupError, Pid, Priority, ProcessInfo, SendError};
use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// A typed handle on a process: what one sends to and calls.
///
/// `M` is what the Main lane takes, `C` what the Urgent and System lanes take; for an
/// actor they are one type. An address neither keeps its process alive nor dies with
/// it: a send to a dead process is an error that gives the message back (rule M7).
/// Cloning is cheap, and a local send looks nothing up.
pub struct Address<M, C = M> {
    cell: Arc<Cell<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    pub(crate) fn new(cell: Arc<Cell<M, C>>) -> Self {
        Address { cell }
    }

    /// The process as an address, if its message types are these: what a look-up by
    /// name or pid does.
    ///
    /// # Errors
    /// [`LookupError::WrongType`].
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

    /// The identity of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid
    }

    /// Sends a message on the Main lane. Inside a process the message carries its pid.
    ///
    /// # Errors
    /// [`SendError::Full`] from a bounded mailbox or a saturated pool,
    /// [`SendError::NoProcess`] if the process is dead; both give the message back.
    #[allow(clippy::inline_always, reason = "so that a message goes from registers to its place")]
    #[inline(always)]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        self.cell.send(message)
    }

    /// Sends on the System lane (rule M2): before everything on Main, never `Full`.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the process is dead.
    pub fn send_high(&self, command: C) -> Result<(), SendError<C>> {
        self.cell.send_control(Priority::High, command)
    }

    /// Sends on the Urgent lane (rule M2): before everything else, never `Full`.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the process is dead.
    pub fn send_max(&self, command: C) -> Result<(), SendError<C>> {
        self.cell.send_control(Priority::Max, command)
    }

    /// The same process as a handle for messages of type `T` only, where its own are made
    /// from a `T`; for `T = M` one that is the same for actors and pools.
    #[must_use]
    pub fn recipient<T>(&self) -> Recipient<T>
    where
        T: Send + 'static,
        M: From<T>,
    {
        Recipient::new(self.clone())
    }

    /// Reserves room for one message on the Main lane: what is made or converted at a cost
    /// is made only when it is sure to be taken. The room counts towards the bound.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    pub fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        self.permit(None)
    }

    /// As [`Address::reserve`]; stands in line if the mailbox is full.
    pub(crate) fn reserve_in_line(
        &self,
        waiter: &Arc<Waiter<M>>,
    ) -> Result<Permit<M>, SendError<()>> {
        self.permit(Some(waiter))
    }

    fn permit(&self, waiter: Option<&Arc<Waiter<M>>>) -> Result<Permit<M>, SendError<()>> {
        let reserved = self.reserved(waiter);
        if matches!(reserved, Err(SendError::NoProcess(()))) {
            self.lose(DeadLetterCause::NoProcess);
        }
        reserved
    }

    /// As [`Address::reserve`]; a dead process is no dead letter, for another may be found: for
    /// routes.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    pub fn reserve_quietly(&self) -> Result<Permit<M>, SendError<()>> {
        self.reserved(None)
    }

    fn reserved(&self, waiter: Option<&Arc<Waiter<M>>>) -> Result<Permit<M>, SendError<()>> {
        match self.cell.reserve(waiter) {
            Ok(ReservedRoom::OnRoute(permit)) => Ok(permit),
            Ok(held) => Ok(Permit::new(RoomGuard::new(&self.cell, held))),
            Err(no_room) => Err(no_room.with(())),
        }
    }

    /// Whether senders wait for room.
    pub(crate) fn has_line(&self) -> bool {
        self.cell.inbox.lock().has_waiters()
    }

    /// Room that will come where the route leads, if this is a process with one that has a line.
    pub(crate) fn room_on_route(&self, message: &M) -> Option<RoomFuture<M>> {
        self.cell.route.get().and_then(|route| route.room(message))
    }

    /// Has a line of senders stand at this process as well.
    pub(crate) fn enlist(&self, line: &Arc<Waiter<M>>) {
        self.cell.enlist(line);
    }

    /// Whether a line of senders that stands at this process can get room.
    pub(crate) fn admits_line(&self) -> bool {
        self.cell.route.get().is_none_or(|route| route.admits_line())
    }

    /// Puts a mark behind everything that was accepted: it is dropped when that is handled.
    pub(crate) fn mark(&self, mark: &Mark) {
        match self.cell.route.get() {
            Some(route) => route.mark(mark),
            None => self.cell.push_notice(Notice::Mark(Arc::clone(mark))),
        }
    }

    /// Takes back up to so many of the newest messages that wait.
    pub(crate) fn take_newest(&self, most: usize) -> Vec<MailboxEntry<M>> {
        let newest = self.cell.inbox.lock().take_newest(most);
        self.cell.grant_room();
        newest
    }

    /// Messages that wait, and the one in hand: what a new one would wait for. `None` if the process
    /// has ended.
    pub(crate) fn load(&self) -> Option<usize> {
        self.cell.load()
    }

    pub(crate) fn forget_waiter(&self, waiter: &Arc<Waiter<M>>) {
        self.cell.inbox.lock().forget_waiter(waiter);
    }

    /// Sends beyond any bound, as the runtime does: for behaviours that tell a process what
    /// it ordered. A dead process hears nothing.
    pub fn notify(&self, message: M) {
        if let Err(message) = self.cell.push_letter(message) {
            self.lose(DeadLetterCause::NoProcess);
            drop(message);
        }
    }

    /// As [`Address::notify`], by an alias; what is revoked hears nothing.
    pub(crate) fn notify_by_alias(&self, alias: Alias, message: M) {
        let relations = self.cell.locked_relations();
        if !relations.has_alias(alias) {
            drop(relations);
            self.lose(DeadLetterCause::Revoked);
            return drop(message);
        }
        // The process is scheduled, and a message that it does not take dropped, without the lock.
        let put = self.cell.put_letter(message);
        drop(relations);
        match put {
            Ok(ready) => self.cell.schedule_if(ready),
            Err(message) => {
                self.lose(DeadLetterCause::NoProcess);
                drop(message);
            }
        }
    }

    /// Counts a message to this process that nobody handles.
    pub(crate) fn lose(&self, cause: DeadLetterCause) {
        self.cell.lose::<M>(current::sender(self.cell.pid.creation()), cause);
    }

    pub(crate) fn send_by_alias(&self, alias: Alias, message: M) -> Result<(), SendError<M>> {
        self.cell.send_by_alias(alias, message)
    }

    pub(crate) fn set_tracer(&self, tracer: Tracer<M, C>) {
        self.cell.set_tracer(tracer);
    }

    /// Whether what is sent here is handed on instead of queued: a pool, or a keeper of grains.
    #[must_use]
    pub fn is_routed(&self) -> bool {
        self.cell.is_routed()
    }

    /// Whether the process may be waiting for an answer itself; a hint.
    #[inline]
    pub(crate) fn seems_to_wait(&self) -> bool {
        self.cell.progress.waits_for.load(Ordering::Relaxed) != 0
    }

    /// Sends in the name of the process with the given number: what a
    /// [`crate::Route`] does, so that the worker sees the original sender.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    #[inline]
    pub fn forward(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        self.cell.send_from(message, sender)
    }

    /// As [`Address::forward`], with a message that somebody watches on its way.
    pub(crate) fn forward_job(&self, job: Job<M>, sender: u64) -> Result<(), SendError<M>> {
        self.cell.send_job(job, sender)
    }

    /// Ends the process normally once everything that its Main lane has accepted until
    /// now is handled (Akka's `PoisonPill`); an actor runs `terminate`. A bare process
    /// gets [`crate::Received::Finish`].
    pub fn finish(&self) {
        self.cell.push_notice(Notice::Finish);
    }

    /// Whether the process is alive now.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.cell.is_alive()
    }

    /// Messages waiting on the Main lane now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.cell.main_length()
    }

    /// A picture of the process, dead or alive (rule X3).
    #[must_use]
    pub fn info(&self) -> ProcessInfo {
        self.cell.info()
    }

    /// The process for a host's tables and for operations that know no types.
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
        match self.reserve_as() {
            Ok(permit) => {
                permit.send_from(message, sender);
                current::count_sent();
                Ok(())
            }
            Err(error) => Err(error.map(|()| message)),
        }
    }

    fn notify(&self, message: T) {
        Address::notify(self, message.into());
    }

    fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        self.reserve_as()
    }

    fn process(&self) -> Arc<dyn Process> {
        Address::process(self)
    }

    fn host(&self) -> &Arc<dyn Host> {
        Address::host(self)
    }

    fn is_alive(&self) -> bool {
        Address::is_alive(self)
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Room for a message that is made from a `T` when it is there.
    fn reserve_as<T>(&self) -> Result<Permit<T>, SendError<()>>
    where
        T: Send + 'static,
        M: From<T>,
    {
        self.reserve().map(Permit::converting)
    }
}

impl<M, C> Address<M, C> {
    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.cell.host
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
        write!(f, "Address({})", self.cell.pid)
    }
}

/// Two addresses are equal if they are of the same process.
impl<M, C> PartialEq for Address<M, C> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }
}

impl<M, C> Eq for Address<M, C> {}
