//! Room in a mailbox, reserved before the message is there, and who waits for it.

use super::entry::{Body, Notice};
use crate::calls::slot::SlotSender;
use crate::lock::Lock;
use crate::process::current;
use krarup_gen::{Alias, Pid, SendError};
use std::fmt;
use std::sync::Weak;
use std::time::Duration;

/// Room for one message in a mailbox, reserved by [`crate::Address::reserve`] (tokio's
/// `Permit`). It counts towards the bound until it is used or dropped.
#[must_use = "room that is reserved and not used is given back"]
pub struct Permit<M>(Box<dyn Reserved<M>>);

/// Room somewhere; given back when it is dropped.
pub(crate) trait Reserved<M>: Send {
    fn fill(self: Box<Self>, message: M, sender: u64);

    /// As [`Reserved::fill`], for who can do something else with it: what cannot be put in
    /// comes back, for the process has ended.
    fn hand_over(self: Box<Self>, body: Body<M>, sender: u64) -> Result<(), Body<M>> {
        let message = match body {
            Body::Message(message) => message,
            Body::Notice(notice) => match *notice {
                Notice::Job(job) => job.into_message(),
                notice => return Err(Body::Notice(Box::new(notice))),
            },
        };
        self.fill(message, sender);
        Ok(())
    }

    /// As [`Reserved::fill`], unless this alias of the process whose room it is has been revoked:
    /// then the message comes back.
    fn fill_by_alias(self: Box<Self>, alias: Alias, message: M, sender: u64) -> Result<(), M> {
        let _ = alias;
        self.fill(message, sender);
        Ok(())
    }

    /// A token of the rate of the pool has been taken for it: given back with the room.
    fn charge(&mut self) {}

    /// Whose room it is.
    fn holder(&self) -> Pid;
}

impl<M> Permit<M> {
    pub(crate) fn new(room: impl Reserved<M> + 'static) -> Self {
        Permit(Box::new(room))
    }

    /// Room that a route keeps where its messages go, at `holder`: `fill` puts the message there,
    /// in the name of the process with the given number. Dropped before that, it gives the
    /// room back.
    pub fn on_route(holder: Pid, fill: impl FnOnce(M, u64) + Send + 'static) -> Self {
        Permit(Box::new(OnRoute { holder, fill }))
    }

    /// As [`Reserved::charge`].
    pub(crate) fn charge(&mut self) {
        self.0.charge();
    }

    /// Whose room it is.
    pub(crate) fn holder(&self) -> Pid {
        self.0.holder()
    }

    /// The same room for messages that are converted first.
    pub(crate) fn converting<T>(self) -> Permit<T>
    where
        M: From<T> + 'static,
    {
        Permit(Box::new(Converting(self)))
    }

    /// Sends a message to where the room is. It has been accepted with the permit: should
    /// the process have ended meanwhile, it is a dead letter (rule D7).
    pub fn send(self, message: M) {
        let sender = current::sender(self.0.holder().creation());
        self.0.fill(message, sender);
        current::count_sent();
    }

    /// As [`Permit::send`], in the name of the process with the given number: for routes.
    pub fn send_from(self, message: M, sender: u64) {
        self.0.fill(message, sender);
    }

    /// As [`Reserved::fill_by_alias`].
    pub(crate) fn send_by_alias(self, alias: Alias, message: M, sender: u64) -> Result<(), M> {
        self.0.fill_by_alias(alias, message, sender)
    }

    /// As [`Reserved::hand_over`].
    pub(crate) fn hand_over(self, body: Body<M>, sender: u64) -> Result<(), Body<M>> {
        self.0.hand_over(body, sender)
    }
}

/// Room that a route keeps.
struct OnRoute<F> {
    holder: Pid,
    fill: F,
}

impl<M, F: FnOnce(M, u64) + Send> Reserved<M> for OnRoute<F> {
    fn fill(self: Box<Self>, message: M, sender: u64) {
        (self.fill)(message, sender);
    }

    fn holder(&self) -> Pid {
        self.holder
    }
}

/// Room for messages of another type.
struct Converting<M>(Permit<M>);

impl<T, M: From<T>> Reserved<T> for Converting<M> {
    fn fill(self: Box<Self>, message: T, sender: u64) {
        // A conversion that panics gives the room back.
        let message = message.into();
        // To whom a conversion has sent something is no part of this.
        let _ = current::take_receiver();
        self.0.send_from(message, sender);
    }

    fn holder(&self) -> Pid {
        self.0.holder()
    }
}

impl<M> fmt::Debug for Permit<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    Dead,
    Full,
    NoWorkers,
    RateLimited(Duration),
    Draining,
    NotReservable,
}

impl NoRoom {
    /// The error that gives the message back.
    pub(crate) fn with<M>(self, message: M) -> SendError<M> {
        match self {
            NoRoom::Dead => SendError::NoProcess(message),
            NoRoom::Full => SendError::Full(message),
            NoRoom::NoWorkers => SendError::NoWorkers(message),
            NoRoom::RateLimited(retry_after) => SendError::RateLimited { message, retry_after },
            NoRoom::Draining => SendError::Draining(message),
            NoRoom::NotReservable => SendError::NotReservable(message),
        }
    }

    /// What a refusal says of the room.
    pub(crate) fn of<M>(error: &SendError<M>) -> Self {
        match error {
            SendError::NoProcess(_) => NoRoom::Dead,
            SendError::NoWorkers(_) => NoRoom::NoWorkers,
            SendError::RateLimited { retry_after, .. } => NoRoom::RateLimited(*retry_after),
            SendError::Draining(_) => NoRoom::Draining,
            SendError::NotReservable(_) => NoRoom::NotReservable,
            _ => NoRoom::Full,
        }
    }
}

/// Who waits for room and takes the first that is offered.
pub struct Waiter<M>(WaiterKind<M>);

enum WaiterKind<M> {
    /// One sender, for one message.
    Sender(Lock<Option<SlotSender<Permit<M>>>>),
    /// A line of senders elsewhere: it stands in several mailboxes at once, and goes on standing
    /// there while anybody is in it.
    Line(Weak<dyn WaitingLine<M>>),
}

/// Senders that wait for room in any of several mailboxes.
pub(crate) trait WaitingLine<M>: Send + Sync {
    /// Whether anybody waits.
    fn is_waiting(&self) -> bool;

    /// Gives the first of them room; gives it back if nobody waits any more.
    fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>>;
}

impl<M> Waiter<M> {
    pub(crate) fn new(slot: SlotSender<Permit<M>>) -> Self {
        Waiter(WaiterKind::Sender(Lock::new(Some(slot))))
    }

    /// Stands for a line.
    pub(crate) fn for_line(line: Weak<dyn WaitingLine<M>>) -> Self {
        Waiter(WaiterKind::Line(line))
    }

    /// Whether somebody still waits.
    pub(crate) fn is_waiting(&self) -> bool {
        match &self.0 {
            WaiterKind::Sender(slot) => slot.lock().as_ref().is_some_and(SlotSender::is_awaited),
            WaiterKind::Line(line) => line.upgrade().is_some_and(|line| line.is_waiting()),
        }
    }

    /// Whether it stands for a line of senders elsewhere.
    pub(crate) fn is_line(&self) -> bool {
        matches!(self.0, WaiterKind::Line(_))
    }

    /// Whether it takes room more than once, and wants more.
    pub(crate) fn wants_more(&self) -> bool {
        self.is_line() && self.is_waiting()
    }

    /// There will be no room any more; a line has other mailboxes.
    pub(crate) fn refuse(&self) {
        if let WaiterKind::Sender(slot) = &self.0 {
            let slot = slot.lock().take();
            drop(slot);
        }
    }

    /// Offers room; gives it back if nobody waits any more.
    pub(crate) fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>> {
        match &self.0 {
            WaiterKind::Sender(slot) => {
                let slot = slot.lock().take();
                match slot {
                    Some(slot) => slot.send(permit),
                    None => Err(permit),
                }
            }
            WaiterKind::Line(line) => match line.upgrade() {
                Some(line) => line.offer(permit),
                None => Err(permit),
            },
        }
    }
}

impl<M> fmt::Debug for Waiter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiter")
    }
}
