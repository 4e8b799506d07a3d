//! Room in a mailbox, reserved before the message is there.

use crate::lock::Lock;
use crate::process::current;
use crate::slot::SlotSender;
use krarup_gen::SendError;
use std::fmt;

/// Room for one message in a mailbox, reserved by [`crate::Address::reserve`] (tokio's
/// `Permit`). It counts towards the bound until it is used or dropped.
#[must_use = "room that is reserved and not used is given back"]
pub struct Permit<M>(Box<dyn Reserved<M>>);

/// Room somewhere; given back when it is dropped.
pub(crate) trait Reserved<M>: Send {
    fn fill(self: Box<Self>, message: M, sender: u64);

    /// The creation of the node in which the room is: who sends from another is nobody there.
    fn creation(&self) -> u32;
}

impl<M> Permit<M> {
    pub(crate) fn new(room: impl Reserved<M> + 'static) -> Self {
        Permit(Box::new(room))
    }

    /// The creation of the node in which the room is.
    pub(crate) fn creation(&self) -> u32 {
        self.0.creation()
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
        let sender = current::sender(self.0.creation());
        self.0.fill(message, sender);
        current::count_sent();
    }

    /// As [`Permit::send`], in the name of the process with the given number.
    pub(crate) fn send_from(self, message: M, sender: u64) {
        self.0.fill(message, sender);
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

    fn creation(&self) -> u32 {
        self.0.0.creation()
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
}

impl NoRoom {
    /// The error that gives the message back.
    pub(crate) fn with<M>(self, message: M) -> SendError<M> {
        match self {
            NoRoom::Dead => SendError::NoProcess(message),
            NoRoom::Full => SendError::Full(message),
            NoRoom::NoWorkers => SendError::NoWorkers(message),
        }
    }

    /// What a refusal says of the room.
    pub(crate) fn of<M>(error: &SendError<M>) -> Self {
        match error {
            SendError::NoProcess(_) => NoRoom::Dead,
            SendError::NoWorkers(_) => NoRoom::NoWorkers,
            _ => NoRoom::Full,
        }
    }
}

/// A sender that waits for room and takes the first it is offered.
pub(crate) struct Waiter<M>(Lock<Option<SlotSender<Permit<M>>>>);

impl<M> Waiter<M> {
    pub(crate) fn new(slot: SlotSender<Permit<M>>) -> Self {
        Waiter(Lock::new(Some(slot)))
    }

    /// Whether somebody still waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.0.lock().as_ref().is_some_and(SlotSender::is_awaited)
    }

    /// There will be no room any more.
    pub(crate) fn refuse(&self) {
        let slot = self.0.lock().take();
        drop(slot);
    }

    /// Offers room; gives it back if nobody waits any more.
    pub(crate) fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>> {
        let slot = self.0.lock().take();
        match slot {
            Some(slot) => slot.send(permit),
            None => Err(permit),
        }
    }
}
