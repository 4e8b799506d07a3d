//! Permits: room in a mailbox that is reserved before the message exists, and the senders that
//! wait for it.

use super::entry::{Body, Notice};
use crate::calls::slot::{SlotReceiver, SlotSender, slot};
use crate::cold_box::ColdBox;
use crate::lock::Lock;
use crate::process::current;
use krarup_gen::{Alias, Pid};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// Room for one message in a mailbox, reserved by [`Address::reserve`](crate::Address::reserve)
/// (tokio's `Permit`). It counts towards the bound until the permit is used or dropped.
#[must_use = "room that is reserved and not used is given back"]
pub struct Permit<M>(Box<dyn Reserved<M>>);

/// Reserved room; given back when it is dropped.
pub(crate) trait Reserved<M>: Send {
    fn fill(self: Box<Self>, message: M, sender: u64);

    /// As [`Reserved::fill`], for a caller with an alternative: returns the body if the
    /// process has ended.
    fn hand_over(self: Box<Self>, body: Body<M>, sender: u64) -> Result<(), Body<M>> {
        let message = match body {
            Body::Message(message) => message,
            Body::Notice(notice) => match notice.into_inner() {
                Notice::Job(job) => job.into_message(),
                notice => return Err(Body::Notice(ColdBox::new(notice))),
            },
            Body::Event(_) => return Err(body),
        };
        self.fill(message, sender);
        Ok(())
    }

    /// As [`Reserved::fill`], but returns the message if this alias of the receiver has been
    /// revoked.
    fn fill_by_alias(self: Box<Self>, alias: Alias, message: M, sender: u64) -> Result<(), M> {
        let _ = alias;
        self.fill(message, sender);
        Ok(())
    }

    /// Records that a token of the pool's rate was taken for this room; it is returned with
    /// the room.
    fn charge(&mut self) {}

    /// The process in whose mailbox the room is.
    fn holder(&self) -> Pid;

    /// The process at which it was reserved: the holder, or the one with the route that leads to it.
    fn reserved_at(&self) -> Pid {
        self.holder()
    }
}

impl<M> Permit<M> {
    pub(crate) fn new(room: impl Reserved<M> + 'static) -> Self {
        Permit(Box::new(room))
    }

    /// Makes a permit for a route, with room at `holder`. `fill` puts the message there, on
    /// behalf of the process with the given number. If the permit is dropped unused, `fill` is
    /// dropped, which must give the room back.
    pub fn on_route(holder: Pid, fill: impl FnOnce(M, u64) + Send + 'static) -> Self {
        Permit(Box::new(OnRoute { holder, fill }))
    }

    /// As [`Reserved::charge`].
    pub(crate) fn charge(&mut self) {
        self.0.charge();
    }

    /// The process in whose mailbox the room is.
    pub(crate) fn holder(&self) -> Pid {
        self.0.holder()
    }

    /// As [`Reserved::reserved_at`].
    pub(crate) fn reserved_at(&self) -> Pid {
        self.0.reserved_at()
    }

    /// Returns the same room as one that was reserved at the process `at`, by whose route it was found.
    pub(crate) fn through(self, at: Pid) -> Self
    where
        M: 'static,
    {
        if self.reserved_at().is_same_process(at) {
            return self;
        }
        Permit(Box::new(ThroughRoute { room: self.0, at }))
    }

    /// Returns the same room for messages that are converted first.
    pub(crate) fn converting<T>(self) -> Permit<T>
    where
        M: From<T> + 'static,
    {
        Permit(Box::new(Converting(self)))
    }

    /// Sends a message into the reserved room. It was accepted with the permit: if the process
    /// has ended meanwhile, the message is a dead letter (rule D7).
    pub fn send(self, message: M) {
        let sender = current::sender(self.0.holder().creation());
        self.0.fill(message, sender);
        current::count_sent();
    }

    /// As [`Permit::send`], on behalf of the process with the given number. For routes.
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

/// Room at a receiver of a route.
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

/// Room elsewhere that was reserved at a process with a route.
struct ThroughRoute<M> {
    room: Box<dyn Reserved<M>>,
    at: Pid,
}

impl<M> Reserved<M> for ThroughRoute<M> {
    fn fill(self: Box<Self>, message: M, sender: u64) {
        self.room.fill(message, sender);
    }

    fn hand_over(self: Box<Self>, body: Body<M>, sender: u64) -> Result<(), Body<M>> {
        self.room.hand_over(body, sender)
    }

    fn fill_by_alias(self: Box<Self>, alias: Alias, message: M, sender: u64) -> Result<(), M> {
        self.room.fill_by_alias(alias, message, sender)
    }

    fn charge(&mut self) {
        self.room.charge();
    }

    fn holder(&self) -> Pid {
        self.room.holder()
    }

    fn reserved_at(&self) -> Pid {
        self.at
    }
}

/// Room for messages of another type.
struct Converting<M>(Permit<M>);

impl<T, M: From<T>> Reserved<T> for Converting<M> {
    fn fill(self: Box<Self>, message: T, sender: u64) {
        // If the conversion panics the room is given back.
        let message = message.into();
        // Forget the receiver of a message that the conversion has sent.
        let _ = current::take_receiver();
        self.0.send_from(message, sender);
    }

    fn holder(&self) -> Pid {
        self.0.holder()
    }

    fn reserved_at(&self) -> Pid {
        self.0.reserved_at()
    }
}

impl<M> fmt::Debug for Permit<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

/// A waiter for room. It takes the first room that it is offered.
pub struct Waiter<M>(WaiterKind<M>);

enum WaiterKind<M> {
    /// One sender, for one message.
    Sender(Lock<Option<SlotSender<GrantedRoom>>>),
    /// A line of senders for several mailboxes. It waits in all of them, as long as it has a
    /// sender.
    Line(Weak<dyn WaitingLine<M>>),
}

/// Senders that wait for room in any of several mailboxes.
pub(crate) trait WaitingLine<M>: Send + Sync {
    /// Whether a sender waits.
    fn is_waiting(&self) -> bool;

    /// Gives the room to the first sender; returns it if no sender waits any more.
    fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>>;
}

/// A waiter for room for a message of some type, as a mailbox keeps it.
pub(crate) trait WaitsForRoom: Any + Send + Sync {
    /// Whether it represents a line of senders of several mailboxes.
    fn is_line(&self) -> bool;

    /// Notifies a single sender that there will be no more room. A line has other mailboxes.
    fn refuse(&self);
}

impl<M: Send + 'static> WaitsForRoom for Waiter<M> {
    fn is_line(&self) -> bool {
        matches!(self.0, WaiterKind::Line(_))
    }

    fn refuse(&self) {
        if let WaiterKind::Sender(slot) = &self.0 {
            let slot = slot.lock().take();
            drop(slot);
        }
    }
}

impl<M> Waiter<M> {
    /// Returns a waiter for one message, and the place where it waits.
    pub(crate) fn with_place() -> (Arc<Self>, WaitingPlace<M>) {
        let (sender, receiver) = slot();
        let waiter = Waiter(WaiterKind::Sender(Lock::new(Some(sender))));
        (Arc::new(waiter), WaitingPlace { receiver, kind: PhantomData })
    }

    /// Makes a waiter that represents a line.
    pub(crate) fn for_line(line: Weak<dyn WaitingLine<M>>) -> Self {
        Waiter(WaiterKind::Line(line))
    }

    /// Whether a sender still waits.
    pub(crate) fn is_waiting(&self) -> bool {
        match &self.0 {
            WaiterKind::Sender(slot) => slot.lock().as_ref().is_some_and(SlotSender::is_awaited),
            WaiterKind::Line(line) => line.upgrade().is_some_and(|line| line.is_waiting()),
        }
    }

    /// Whether it takes room more than once, and needs more.
    pub(crate) fn wants_more(&self) -> bool {
        matches!(self.0, WaiterKind::Line(_)) && self.is_waiting()
    }

    /// Offers room; returns it if no sender waits any more.
    pub(crate) fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>>
    where
        M: 'static,
    {
        match &self.0 {
            WaiterKind::Sender(slot) => {
                let slot = slot.lock().take();
                match slot {
                    Some(slot) => slot.send(permit.into()).map_err(Into::into),
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

/// A permit on its way to the sender that waits for it. Its type is not known on the way: what passes it on is compiled
/// once (docs/decisions.md).
struct GrantedRoom(Box<dyn Any + Send>);

impl<M: 'static> From<Permit<M>> for GrantedRoom {
    fn from(permit: Permit<M>) -> Self {
        GrantedRoom(Box::new(permit))
    }
}

impl<M: 'static> From<GrantedRoom> for Permit<M> {
    fn from(GrantedRoom(room): GrantedRoom) -> Self {
        match room.downcast() {
            Ok(permit) => *permit,
            Err(_) => unreachable!("a waiter and its place have one type of messages"),
        }
    }
}

/// Where a sender waits: a future of its permit, or of nothing if there will be no more room.
pub(crate) struct WaitingPlace<M> {
    receiver: SlotReceiver<GrantedRoom>,
    kind: PhantomData<fn() -> M>,
}

impl<M: 'static> Future for WaitingPlace<M> {
    type Output = Option<Permit<M>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(cx).map(|room| room.map(Into::into))
    }
}

impl<M> fmt::Debug for Waiter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiter")
    }
}
