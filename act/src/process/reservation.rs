//! Room in a process's mailbox: how it is found and kept, and the line of senders that wait for
//! it (rules M5, M6).
//!
//! A send to a mailbox that refuses when full never uses this module. Every other request for
//! room goes through [`Cell::reserve`]. So a message is made, converted or wrapped only when
//! its destination is certain, and no message is lost on the way.
//!
//! **Waiting.** A sender that waits joins the line under the mailbox's lock and sets the flag
//! that makes the process look up before its next message. The process gives room to the first
//! in line whenever it looks up or is about to park, because only the process knows exactly how
//! much it has taken. A place in line whose sender has given up is skipped.

use super::cell::Cell;
use super::untyped_cell::UntypedCell;
use super::{current, deferred};
use crate::addressing::route::Route;
use crate::mailbox::capacity::{MailboxRoom, NoCapacity};
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::mailbox::inbox_core::MainPush;
use crate::mailbox::overflow::{Divert, Diverted};
use crate::mailbox::permit::{Permit, Reserved, Waiter, WaitsForRoom};
use crate::process::crash::{contain, ignore, log_contained};
use crate::sync::Ordering;
use krarup_gen::{Alias, CallError, DeadLetterCause, Pid, SendError, one_line};
use std::sync::Arc;

/// Room that is kept for one message.
pub(crate) enum ReservedRoom<M> {
    /// In the mailbox.
    Here,
    /// Nowhere: the message will be dropped.
    Nowhere,
    /// At the fallback of a full mailbox.
    Elsewhere(Permit<Diverted<M>>, Divert<M>),
    /// At a process that the route leads to.
    OnRoute(Permit<M>),
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    fn taken(&self) -> u64 {
        // Relaxed: see `Inbox::push_main`.
        self.progress.taken.load(Ordering::Relaxed)
    }

    /// Finds room for one message. If there is none and a waiter is given, the waiter joins the
    /// line. A route has no line.
    pub(crate) fn reserve(
        &self,
        waiter: Option<&Arc<Waiter<M>>>,
    ) -> Result<ReservedRoom<M>, SendError<()>> {
        self.reserve_for(waiter, waiter.is_some())
    }

    /// Finds room for one message of a sender that is ready to wait, and is not in line. Nothing is dropped for it.
    pub(crate) fn reserve_patiently(&self) -> Result<ReservedRoom<M>, SendError<()>> {
        self.reserve_for(None, true)
    }

    fn reserve_for(
        &self,
        waiter: Option<&Arc<Waiter<M>>>,
        waits: bool,
    ) -> Result<ReservedRoom<M>, SendError<()>> {
        if self.is_routed() {
            return self.reserve_on_route(waits);
        }
        let waiter = waiter.map(|waiter| Arc::clone(waiter) as Arc<dyn WaitsForRoom>);
        let waiter = waiter.as_ref();
        let room = {
            let mut inbox = self.inbox.lock();
            let room = inbox.reserve(self.taken(), waiter, waits);
            if waiter.is_some() && matches!(room, Err(NoCapacity::Full)) {
                self.progress.attention.store(true, Ordering::Relaxed);
            }
            room
        };
        match room {
            Ok(MailboxRoom::Here(None)) => Ok(ReservedRoom::Here),
            Ok(MailboxRoom::Here(Some(oldest))) => {
                self.drop_lost(oldest, DeadLetterCause::Overflow);
                Ok(ReservedRoom::Here)
            }
            Ok(MailboxRoom::Nowhere) => Ok(ReservedRoom::Nowhere),
            Ok(MailboxRoom::Elsewhere(divert)) => {
                // Fallbacks may form a ring, so no process is asked twice for one message.
                let once = current::once(self.pid());
                let permit = once.is_some().then(|| divert.to.reserve());
                drop(once);
                match permit {
                    Some(Ok(permit)) => Ok(ReservedRoom::Elsewhere(permit, divert)),
                    Some(Err(_)) | None => self.reserve_here(waiter, waits),
                }
            }
            Err(NoCapacity::Full) => Err(SendError::Full { message: (), to: self.pid() }),
            Err(NoCapacity::Dead) => Err(SendError::NoProcess { message: (), to: self.pid() }),
            Err(NoCapacity::Routed) => self.reserve_on_route(waits),
        }
    }

    /// Tries this mailbox again after the fallback had no room. By now there may be room, or
    /// the process may have ended.
    fn reserve_here(
        &self,
        waiter: Option<&Arc<dyn WaitsForRoom>>,
        waits: bool,
    ) -> Result<ReservedRoom<M>, SendError<()>> {
        let room = self.untyped().reserve_in_mailbox(self.taken(), waiter);
        match room {
            Ok(()) => Ok(ReservedRoom::Here),
            Err(NoCapacity::Full) => Err(SendError::Full { message: (), to: self.pid() }),
            Err(NoCapacity::Dead) => Err(SendError::NoProcess { message: (), to: self.pid() }),
            Err(NoCapacity::Routed) => self.reserve_on_route(waits),
        }
    }

    fn reserve_on_route(&self, waits: bool) -> Result<ReservedRoom<M>, SendError<()>> {
        let reserve = |route: &dyn Route<M>| {
            if waits { route.reserve_patiently() } else { route.reserve() }
        };
        match self.route().map(reserve) {
            Some(Ok(permit)) => Ok(ReservedRoom::OnRoute(permit)),
            Some(Err(error)) => Err(error),
            // Unreachable: the route is set before the mailbox reports one.
            None => Err(SendError::NoProcess { message: (), to: self.pid() }),
        }
    }

    /// Sends to a full mailbox whose overflow rule is not to refuse.
    #[cold]
    pub(crate) fn send_over(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        match self.reserve(None) {
            Ok(held) => {
                self.fill(held, message, sender);
                Ok(())
            }
            Err(error) => Err(error.with_message(message)),
        }
    }

    /// Puts a message into the room that was kept for it.
    pub(crate) fn fill(&self, held: ReservedRoom<M>, message: M, sender: u64) {
        match held {
            ReservedRoom::Here => {
                self.fill_here(MailboxEntry { sender, body: self.body(message) });
            }
            ReservedRoom::Nowhere => {
                let entry = MailboxEntry { sender, body: Body::Message(message) };
                self.drop_lost(entry, DeadLetterCause::Overflow);
            }
            ReservedRoom::Elsewhere(permit, divert) => {
                if !send_diverted(self.pid(), permit, divert, message, sender) {
                    self.dead_letter::<M>(sender, DeadLetterCause::Overflow);
                }
            }
            ReservedRoom::OnRoute(permit) => permit.send_from(message, sender),
        }
    }

    /// Puts an entry into room in the mailbox that was kept for it.
    pub(crate) fn fill_here(&self, entry: MailboxEntry<M>) {
        if let Err(entry) = self.try_fill_here(entry) {
            self.dead_letter_named(entry.type_name(), entry.sender(), DeadLetterCause::Unhandled);
            // No handler has seen it: a call in it can be made again (rule C2).
            let error = CallError::NoProcess { to: self.pid() };
            deferred::when_free(move || current::drop_refused(entry, &error));
        }
    }

    /// Does the same as [`Cell::fill_here`], but gives the entry back if the process has ended.
    pub(super) fn try_fill_here(&self, entry: MailboxEntry<M>) -> Result<(), MailboxEntry<M>> {
        let mut inbox = self.inbox.lock();
        let filled = if inbox.way == MainPush::Direct {
            let filled = inbox.fill(entry, self.core())?;
            drop(inbox);
            filled
        } else {
            drop(inbox);
            self.fill_by_simulated_link(entry)?
        };
        if let Some(ready) = filled {
            self.host.schedule(ready);
        }
        Ok(())
    }

    /// Does the same as [`Cell::try_fill_here`] for an entry that was sent by an alias.
    ///
    /// The entry is given back if the alias is revoked. The check and the put happen under one
    /// lock, so no entry arrives by the alias after a revocation has returned (rule N5).
    pub(crate) fn fill_by_alias(
        self: &Arc<Self>,
        alias: Alias,
        entry: MailboxEntry<M>,
    ) -> Result<(), Unfilled<M>> {
        let by_simulated_link = self.inbox.lock().way != MainPush::Direct;
        // The simulated link carries the entry before the lock is taken, because a codec is user code.
        let entry = if by_simulated_link { self.carried_entry(entry) } else { entry };
        let relations = self.locked_relations();
        if !relations.has_alias(alias) {
            drop(relations);
            self.give_back();
            return Err(Unfilled::Revoked(entry));
        }
        let filled = if by_simulated_link {
            self.fill_carried(entry)
        } else {
            self.inbox.lock().fill(entry, self.core())
        };
        drop(relations);
        self.schedule_if(filled.map_err(Unfilled::Ended)?);
        Ok(())
    }

    /// Puts a message that was sent by an alias into the room that was kept for it. Gives it
    /// back if the alias is revoked. A message that goes to another process, by a route or to a
    /// fallback, counts as arrived when it is handed on. User code takes it there, so no lock
    /// is held.
    pub(crate) fn fill_held_by_alias(
        self: &Arc<Self>,
        alias: Alias,
        held: ReservedRoom<M>,
        message: M,
        sender: u64,
    ) -> Result<(), M> {
        if let ReservedRoom::Here = held {
            let entry = MailboxEntry { sender, body: self.body(message) };
            return match self.fill_by_alias(alias, entry) {
                Err(Unfilled::Revoked(entry)) => match entry.into_message() {
                    Ok(message) => Err(message),
                    // Unreachable: a body is made of a message.
                    Err(_) => Ok(()),
                },
                Err(Unfilled::Ended(entry)) => {
                    self.drop_lost(entry, DeadLetterCause::Unhandled);
                    Ok(())
                }
                Ok(()) => Ok(()),
            };
        }
        if !self.has_alias(alias) {
            return Err(message);
        }
        self.fill(held, message, sender);
        Ok(())
    }

    /// Whether the process has this alias now.
    pub(crate) fn has_alias(&self, alias: Alias) -> bool {
        self.locked_relations().has_alias(alias)
    }

    /// Counts a message that no process will handle, and drops it. Its destructor is user code,
    /// and a call in it is unrelated to the sender.
    pub(crate) fn drop_lost(&self, entry: MailboxEntry<M>, cause: DeadLetterCause) {
        self.dead_letter_named(entry.type_name(), entry.sender(), cause);
        deferred::when_free(move || current::apart(|| drop(entry)));
    }

    /// Returns room that was kept and not used.
    pub(crate) fn give_back(self: &Arc<Self>) {
        self.inbox.lock().give_back();
        self.grant_room();
    }

    /// Takes all free room until the returned value is dropped.
    pub(crate) fn occupied(self: Arc<Self>) -> Option<Box<dyn Send>> {
        self.inbox.lock().bound()?;
        let taken = self.taken();
        let mut room = AllRoom { cell: self, messages: 0 };
        while !room.cell.is_routed() && room.cell.untyped().reserve_in_mailbox(taken, None).is_ok()
        {
            room.messages += 1;
        }
        if room.messages > 0 { Some(Box::new(room)) } else { None }
    }

    /// Gives free room to the waiting senders, in the order of the line.
    pub(crate) fn grant_room(self: &Arc<Self>) {
        loop {
            let next = self.inbox.lock().next_waiter(self.taken());
            let Some(waiter) = next else { return };
            if waiter.is_waiting() {
                // A sender that gives up at this moment returns its room.
                let taken =
                    waiter.offer(Permit::new(RoomGuard::new(self, ReservedRoom::Here))).is_ok();
                if taken && waiter.wants_more() {
                    self.untyped().stand(&(waiter as _));
                }
            } else {
                self.inbox.lock().give_back();
            }
        }
    }

    /// Makes a line of senders wait here, and gives it the room that is free.
    pub(crate) fn enlist(self: &Arc<Self>, waiter: &Arc<Waiter<M>>) {
        if let Some(route) = self.route() {
            return route.enlist(waiter);
        }
        self.untyped().stand(&(Arc::clone(waiter) as _));
        self.grant_room();
    }
}

impl dyn UntypedCell + '_ {
    /// Tries the mailbox itself.
    fn reserve_in_mailbox(
        &self,
        taken: u64,
        waiter: Option<&Arc<dyn WaitsForRoom>>,
    ) -> Result<(), NoCapacity> {
        self.locked(|inbox| {
            let room = inbox.reserve_here(taken, waiter);
            if waiter.is_some() && matches!(room, Err(NoCapacity::Full)) {
                self.cell_core().progress.attention.store(true, Ordering::Relaxed);
            }
            room
        })
    }

    /// Makes a line of senders wait at this mailbox until the line is empty.
    fn stand(&self, waiter: &Arc<dyn WaitsForRoom>) {
        self.locked(|inbox| {
            if inbox.stand(waiter) {
                self.cell_core().progress.attention.store(true, Ordering::Relaxed);
            }
        });
    }
}

/// An entry that was not put into the room kept for it.
pub(crate) enum Unfilled<M> {
    /// It was sent by an alias that is revoked.
    Revoked(MailboxEntry<M>),
    /// The process has ended.
    Ended(MailboxEntry<M>),
}

/// Sends a message to the fallback of a full process. Returns false if the message has not
/// arrived because the fallback's conversion panicked; the sender is not affected by that.
pub(crate) fn send_diverted<M: Send + 'static>(
    origin: Pid,
    permit: Permit<Diverted<M>>,
    Divert { to, tag }: Divert<M>,
    message: M,
    sender: u64,
) -> bool {
    let diverted = Diverted { origin, tag, message };
    let sent = contain(|| permit.send_from(diverted, sender));
    if let Err(panic) = &sent {
        log_contained(
            || tracing::error!(target: "krarup", pid = %origin, panic = %one_line(panic), "cannot divert"),
        );
    }
    current::note_receiver(to.pid());
    sent.is_ok()
}

/// Room that is kept until this is dropped.
struct AllRoom<M: Send + 'static, C: Send + 'static> {
    cell: Arc<Cell<M, C>>,
    messages: usize,
}

impl<M: Send + 'static, C: Send + 'static> Drop for AllRoom<M, C> {
    fn drop(&mut self) {
        // A sender that gets the room may be a line whose messages are cloned: user code.
        (0..self.messages).for_each(|_| ignore(|| self.cell.give_back()));
    }
}

/// Room that is kept until it is filled or this is dropped.
pub(crate) struct RoomGuard<M: Send + 'static, C: Send + 'static> {
    cell: Arc<Cell<M, C>>,
    held: Option<ReservedRoom<M>>,
}

impl<M: Send + 'static, C: Send + 'static> RoomGuard<M, C> {
    pub(crate) fn new(cell: &Arc<Cell<M, C>>, held: ReservedRoom<M>) -> Self {
        RoomGuard { cell: Arc::clone(cell), held: Some(held) }
    }

    /// Puts a message into the room.
    pub(crate) fn fill_with(mut self, message: M, sender: u64) {
        if let Some(held) = self.held.take() {
            self.cell.fill(held, message, sender);
        }
    }
}

impl<M: Send + 'static, C: Send + 'static> Reserved<M> for RoomGuard<M, C> {
    fn fill(self: Box<Self>, message: M, sender: u64) {
        self.fill_with(message, sender);
    }

    fn fill_by_alias(mut self: Box<Self>, alias: Alias, message: M, sender: u64) -> Result<(), M> {
        match self.held.take() {
            Some(held) => self.cell.fill_held_by_alias(alias, held, message, sender),
            None => Ok(()),
        }
    }

    fn hand_over(mut self: Box<Self>, body: Body<M>, sender: u64) -> Result<(), Body<M>> {
        match (self.held.take(), body) {
            (Some(ReservedRoom::Here), body) => {
                let body = match body {
                    Body::Message(message) => self.cell.body(message),
                    body => body,
                };
                self.cell.try_fill_here(MailboxEntry { sender, body }).map_err(|entry| entry.body)
            }
            (Some(held), Body::Message(message)) => {
                self.cell.fill(held, message, sender);
                Ok(())
            }
            (_, body) => Err(body),
        }
    }

    fn holder(&self) -> Pid {
        self.cell.pid()
    }
}

impl<M: Send + 'static, C: Send + 'static> Drop for RoomGuard<M, C> {
    fn drop(&mut self) {
        if let Some(ReservedRoom::Here) = self.held.take() {
            self.cell.give_back();
        }
    }
}
