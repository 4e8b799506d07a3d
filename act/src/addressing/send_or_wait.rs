//! Sending to a mailbox that has no room yet (rule M6).

use crate::addressing::address::Address;
use crate::addressing::route::RoomFuture;
use crate::calls::deadline::within;
use crate::calls::pending::wait;
use crate::mailbox::permit::{Permit, Waiter};
use crate::process::current;
use krarup_gen::{CannotWait, SendError};
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Sends a message on the Main lane, and waits while the mailbox is full. Use `.await`, or
    /// `.wait()` on a plain thread. A process that awaits it suspends only itself. Waiting
    /// senders get room in the order in which they arrived. Each reserved room counts towards
    /// the bound from the moment it is granted.
    ///
    /// At a pool the sender waits for room at any worker, in one line for the whole pool. Two
    /// processes that wait for room in each other's mailboxes wait until a timeout ends it:
    /// unlike cycles of calls, such cycles are not detected.
    pub fn send_or_wait(&self, message: M) -> SendOrWait<M, C> {
        SendOrWait { address: self.clone(), message, timeout: None }
    }
}

/// A send that waits for room; made by [`Address::send_or_wait`].
#[must_use = "nothing is sent until it is awaited or waited for"]
pub struct SendOrWait<M, C = M> {
    address: Address<M, C>,
    message: M,
    timeout: Option<Duration>,
}

impl<M: Send + 'static, C: Send + 'static> SendOrWait<M, C> {
    /// Sets the longest time to wait for room. Without it the send waits as long as the
    /// receiver lives.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends the message, and waits for room on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`SendError::CannotWait`].
    pub fn wait(self) -> Result<(), SendError<M>> {
        let SendOrWait { address, message, timeout } = self;
        if current::pid().is_some() {
            return Err(SendError::CannotWait { message, cause: CannotWait::InProcess });
        }
        let message = match send_at_once(&address, message) {
            Err(SendError::Full { message, .. }) => message,
            sent => return sent,
        };
        let on_route = address.room_on_route(&message);
        match wait(&**address.host(), room(&address, timeout, on_route)) {
            Ok(room) => send_into(&address, room, message),
            Err(cause) => Err(SendError::CannotWait { message, cause }),
        }
    }
}

impl<M: Send + 'static, C: Send + 'static> IntoFuture for SendOrWait<M, C> {
    type Output = Result<(), SendError<M>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// [`SendError::NoProcess`] if the receiver is dead or ends meanwhile,
    /// [`SendError::Timeout`], and [`SendError::OwnMailbox`] if a process waits for room in
    /// its own mailbox, which only it can make. All return the message.
    fn into_future(self) -> Self::IntoFuture {
        let SendOrWait { address, message, timeout } = self;
        Box::pin(async move {
            let message = match send_at_once(&address, message) {
                Err(SendError::Full { message, .. }) => message,
                sent => return sent,
            };
            if current::pid().is_some_and(|myself| myself.is_same_process(address.pid())) {
                return Err(SendError::OwnMailbox { message, to: address.pid() });
            }
            let on_route = address.room_on_route(&message);
            let room = room(&address, timeout, on_route).await;
            send_into(&address, room, message)
        })
    }
}

/// Sends unless other senders stand in line: the mailbox then counts as full.
fn send_at_once<M, C>(address: &Address<M, C>, message: M) -> Result<(), SendError<M>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    // A route counts its refusals, and a sender that will wait is not refused.
    if address.is_routed() || address.has_line() {
        return Err(SendError::Full { message, to: address.pid() });
    }
    // A mailbox that drops has no room for it when it is full, as any other.
    if address.drops_when_full() {
        return match address.reserve_patiently() {
            Ok(permit) => {
                permit.send(message);
                Ok(())
            }
            Err(SendError::NoProcess { .. }) => address.send_before_waiting(message),
            Err(error) => Err(error.with_message(message)),
        };
    }
    address.send_before_waiting(message)
}

/// Sends with the permit that was waited for, or returns the message: a dead letter if the process has ended (rule M7).
fn send_into<M, C>(
    address: &Address<M, C>,
    room: Result<Permit<M>, SendError<()>>,
    message: M,
) -> Result<(), SendError<M>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    match room {
        Ok(permit) => {
            permit.send(message);
            Ok(())
        }
        Err(error) => {
            address.note_given_back(&error);
            Err(error.with_message(message))
        }
    }
}

/// Waits for room for a message: in the mailbox, or at a receiver of the route.
pub(super) async fn room<M, C>(
    address: &Address<M, C>,
    timeout: Option<Duration>,
    on_route: Option<RoomFuture<M>>,
) -> Result<Permit<M>, SendError<()>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let mut room = pin!(room_in_time(address, timeout, on_route));
    poll_fn(|cx| current::poll_for_room(address.pid(), || room.as_mut().poll(cx))).await
}

async fn room_in_time<M, C>(
    address: &Address<M, C>,
    timeout: Option<Duration>,
    on_route: Option<RoomFuture<M>>,
) -> Result<Permit<M>, SendError<()>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    match on_route {
        Some(room) => in_time(address, timeout, room).await,
        None => in_time(address, timeout, pin!(in_mailbox(address))).await,
    }
}

/// The room that a future waits for, within this time.
pub(super) async fn in_time<M, C>(
    address: &Address<M, C>,
    timeout: Option<Duration>,
    room: impl Future<Output = Result<Permit<M>, SendError<()>>> + Unpin,
) -> Result<Permit<M>, SendError<()>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let Some(limit) = timeout else { return room.await };
    let late = SendError::Timeout { message: (), to: address.pid(), limit };
    within(address.host(), limit, room).await.unwrap_or(Err(late))
}

async fn in_mailbox<M, C>(address: &Address<M, C>) -> Result<Permit<M>, SendError<()>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let (waiter, place) = Waiter::with_place();
    let line = MailboxWait { address, waiter };
    match address.reserve_in_line(&line.waiter) {
        // A slot that is dropped without a permit means that the process has ended.
        Err(SendError::Full { .. }) if !address.is_routed() => {
            place.await.ok_or(SendError::NoProcess { message: (), to: address.pid() })
        }
        reserved => reserved,
    }
}

/// A place in the line of waiting senders; left when it is dropped.
struct MailboxWait<'a, M: Send + 'static, C: Send + 'static> {
    address: &'a Address<M, C>,
    waiter: Arc<Waiter<M>>,
}

impl<M: Send + 'static, C: Send + 'static> Drop for MailboxWait<'_, M, C> {
    fn drop(&mut self) {
        self.address.forget_waiter(&self.waiter);
    }
}

impl<M, C> fmt::Debug for SendOrWait<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendOrWait")
            .field("address", &self.address)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
