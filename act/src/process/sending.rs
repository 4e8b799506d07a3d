//! Putting messages and notices into the mailbox of a process.
//!
//! A sender locks the mailbox, adds its message and takes the process out if it is idle. It schedules
//! the process after it has released the lock, because the executor may be a user's.

use super::cell::Cell;
use super::current;
use crate::cold_box::ColdBox;
use crate::host::ready::Ready;
use crate::in_transit::InTransit;
use crate::lock::LockGuard;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::mailbox::inbox::Inbox;
use crate::mailbox::inbox_core::MailboxPhase;
use crate::mailbox::push::Refused;
use crate::topics::event_ticket::EventTicket;
use krarup_gen::{DeadLetterCause, Lane, Ref, SendError};
use std::any::type_name;

/// A message that does not go straight into a mailbox.
///
/// It is passed by value in a type of its own, so that it is a copy: the message itself is passed
/// to no call ([`in_transit`](crate::in_transit)).
struct RoutedMessage<M> {
    message: InTransit<M>,
    sender: u64,
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Sends on Main.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send(&self, message: M) -> Result<(), SendError<M>> {
        let sender = current::sender(self.pid().creation());
        // Nothing below unwinds. A message that is not dropped here needs no address in memory.
        let message = InTransit::new(message);
        if let Some(route) = self.route() {
            let RoutedMessage { message, sender } = RoutedMessage { message, sender };
            let sent = route.send(message.arrive(), sender);
            self.note_sent(&sent, sender);
            return sent;
        }
        if current::is_traced() {
            return self.send_apart(RoutedMessage { message, sender });
        }
        let mut inbox = self.inbox.lock();
        // Relaxed: see `Inbox::push_main`.
        if !inbox.is_open(&self.progress.taken) {
            drop(inbox);
            return self.send_apart(RoutedMessage { message, sender });
        }
        inbox.put_in(message.arrive(), sender, self.pid().id(), self.core());
        let ready = inbox.ready_for_mail();
        drop(inbox);
        current::count_sent();
        if let Some(ready) = ready {
            self.host.schedule(ready);
        }
        Ok(())
    }

    /// Does the same as [`Cell::send`], with code that is not compiled into the caller.
    #[inline(never)]
    pub(super) fn send_by_call(&self, message: M) -> Result<(), SendError<M>> {
        self.send(message)
    }

    /// Does the same as [`Cell::send`] on behalf of the process with the given number.
    pub(crate) fn send_as(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        let sent = self.send_from(message, sender);
        self.note_sent(&sent, sender);
        sent
    }

    /// Does the same as [`Cell::send`] for a sender that waits if there is no room: that is no
    /// refusal.
    pub(crate) fn send_before_waiting(&self, message: M) -> Result<(), SendError<M>> {
        let sender = current::sender(self.pid().creation());
        let sent = self.send_from(message, sender);
        if !matches!(sent, Err(SendError::Full { .. })) {
            self.note_sent(&sent, sender);
        }
        sent
    }

    /// Sends on Main when the message cannot simply be put into the mailbox.
    #[inline(never)]
    fn send_apart(
        &self,
        RoutedMessage { message, sender }: RoutedMessage<M>,
    ) -> Result<(), SendError<M>> {
        self.send_as(message.arrive(), sender)
    }

    /// Counts a message that was sent, or a dead letter if the process has ended.
    #[inline]
    fn note_sent(&self, sent: &Result<(), SendError<M>>, sender: u64) {
        match sent {
            Ok(()) => current::count_sent(),
            Err(error) => self.note_refusal(error.refusal(), type_name::<M>(), sender),
        }
    }

    /// Puts a message on Main, if it can simply be put there. The caller schedules the process.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn push_main(&self, message: M, sender: u64) -> Result<Option<Ready>, Refused<M>> {
        let (taken, core) = (&self.progress.taken, self.core());
        self.inbox.lock().push_main(message, sender, self.pid().id(), taken, core)
    }

    /// Sends on Main in the name of another process, as a route does (rule P1). A message to an
    /// ended process is not counted as a dead letter here, because the route may find another
    /// receiver.
    #[inline]
    pub(crate) fn send_from(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        if let Some(route) = self.route() {
            return route.send(message, sender);
        }
        if current::is_traced() {
            return self.send_in_context(message, sender);
        }
        match self.push_main(message, sender) {
            Ok(None) => Ok(()),
            Ok(Some(ready)) => {
                self.host.schedule(ready);
                Ok(())
            }
            Err(Refused::Full(message)) => Err(SendError::Full { message, to: self.pid() }),
            Err(Refused::Overflow(message)) => self.send_over(message, sender),
            Err(Refused::Dead(message)) => Err(SendError::NoProcess { message, to: self.pid() }),
            Err(Refused::Routed(message)) => match self.route() {
                Some(route) => route.send(message, sender),
                None => self.send_by_simulated_link(message, sender),
            },
        }
    }

    pub(crate) fn push_notice(&self, notice: Notice<M>) {
        let ready = self.put_notice(self.inbox.lock(), notice);
        self.schedule_if(ready);
    }

    /// Does the same as [`Cell::push_notice`], but returns the process for the caller to
    /// schedule.
    #[must_use]
    pub(crate) fn put_notice(
        &self,
        mut inbox: LockGuard<'_, Inbox<M>>,
        notice: Notice<M>,
    ) -> Option<Ready> {
        if inbox.phase == MailboxPhase::Terminated {
            // The lock is released before the notice is dropped, because a notice may hold a
            // user's reason.
            drop(inbox);
            return None;
        }
        let ready = inbox.push_notice(ColdBox::new(notice), self.core());
        self.noted(&inbox, ready)
    }

    /// Puts a message on Main beyond the bound. Gives it back if the process has ended.
    pub(crate) fn push_letter(&self, message: M) -> Result<(), M> {
        let ready = self.put_letter(message)?;
        self.schedule_if(ready);
        Ok(())
    }

    /// Does the same as [`Cell::push_letter`], but returns the process for the caller to
    /// schedule.
    pub(crate) fn put_letter(&self, message: M) -> Result<Option<Ready>, M> {
        let carry = || current::carry(&*self.host, self.pid(), Lane::Main);
        let context = current::is_traced().then(carry);
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Err(message);
        }
        let notice = ColdBox::new(match context.flatten() {
            None => Notice::Beyond(message),
            Some(context) => Notice::BeyondTraced(message, context),
        });
        let ready = inbox.push_notice(notice, self.core());
        Ok(self.noted(&inbox, ready))
    }

    /// Puts a message that was made of an event on Main, beyond the bound. Gives it back if the
    /// process has ended. The caller schedules the process.
    pub(crate) fn put_event(&self, message: M, subscription: Ref) -> Result<Option<Ready>, M> {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            drop(inbox);
            return Err(message);
        }
        let entry = MailboxEntry { sender: subscription.number(), body: Body::Event(message) };
        inbox.push_entry(entry, self.core());
        let ready = inbox.ready_for_mail();
        Ok(self.noted(&inbox, ready))
    }

    /// Puts a ticket for an event on Main. Gives it back if the process has ended. The caller
    /// schedules the process.
    pub(crate) fn put_ticket(
        &self,
        ticket: EventTicket<M>,
    ) -> Result<Option<Ready>, EventTicket<M>> {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Err(ticket);
        }
        let notice = ColdBox::new(Notice::Event(ticket));
        let ready = inbox.push_notice(notice, self.core());
        Ok(self.noted(&inbox, ready))
    }

    /// Sends a message that was accepted before there was a route along the route. A call that
    /// the route refuses fails, because its token is dropped.
    pub(crate) fn pass_on(&self, message: M, sender: u64) {
        // What it hands on does not belong to the trace of what this process handles.
        let _outer = current::is_traced().then(current::without_context);
        if self.send_from(message, sender).is_err() {
            self.dead_letter::<M>(sender, DeadLetterCause::Unhandled);
        }
    }
}
