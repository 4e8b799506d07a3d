//! Sending by a recipient, and waiting in line while there is no room (rules M6, Zmsg13).

use crate::addressing::recipient::{Recipient, Room};
use crate::calls::deadline::within;
use crate::calls::pending::wait;
use crate::process::current;
use krarup_gen::{CannotWait, SendError};
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

impl<T: Send + 'static> Recipient<T> {
    /// Sends a message, and waits while the mailbox is full, or while too much waits to be sent
    /// to the node of the process. Use `.await`, or `.wait()` on a plain thread. Waiting senders
    /// get room in the order in which they arrived.
    ///
    /// It waits for room before it has converted or written the message. So the send of a pool,
    /// where room depends on the message, and that of a recipient which came in a message and
    /// whose process is on this node, do not wait: they give the message back as
    /// [`SendError::Full`].
    pub fn send_or_wait(&self, message: T) -> RecipientSendOrWait<T> {
        RecipientSendOrWait { recipient: self.clone(), message, timeout: None }
    }
}

/// A send that waits for room; made by [`Recipient::send_or_wait`].
#[must_use = "nothing is sent until it is awaited or waited for"]
pub struct RecipientSendOrWait<T> {
    recipient: Recipient<T>,
    message: T,
    timeout: Option<Duration>,
}

impl<T: Send + 'static> RecipientSendOrWait<T> {
    /// Sets the longest time to wait for room.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends the message, and waits for room on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`SendError::CannotWait`].
    pub fn wait(self) -> Result<(), SendError<T>> {
        let RecipientSendOrWait { recipient, message, timeout } = self;
        if current::pid().is_some() {
            return Err(SendError::CannotWait { message, cause: CannotWait::InProcess });
        }
        let room = wait(&**recipient.host(), room(&recipient, timeout));
        match room {
            Ok(room) => send_into(&recipient, message, room),
            Err(cause) => Err(SendError::CannotWait { message, cause }),
        }
    }
}

impl<T: Send + 'static> IntoFuture for RecipientSendOrWait<T> {
    type Output = Result<(), SendError<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// Those of [`Recipient::send`], [`SendError::Timeout`], and [`SendError::OwnMailbox`] if a
    /// process waits for room in its own mailbox. All return the message.
    fn into_future(self) -> Self::IntoFuture {
        let RecipientSendOrWait { recipient, message, timeout } = self;
        Box::pin(async move {
            let room = room(&recipient, timeout).await;
            send_into(&recipient, message, room)
        })
    }
}

async fn room<T: Send + 'static>(
    recipient: &Recipient<T>,
    timeout: Option<Duration>,
) -> Result<Room<T>, SendError<()>> {
    let room = recipient.room();
    match timeout {
        None => room.await,
        Some(limit) => within(recipient.host(), limit, room)
            .await
            .unwrap_or_else(|| Err(SendError::Timeout { message: (), to: recipient.pid(), limit })),
    }
}

fn send_into<T: Send + 'static>(
    recipient: &Recipient<T>,
    message: T,
    room: Result<Room<T>, SendError<()>>,
) -> Result<(), SendError<T>> {
    match room {
        Ok(room) => recipient.send_into(room, message),
        Err(error) => Err(error.with_message(message)),
    }
}

impl<T: Send + 'static> fmt::Debug for RecipientSendOrWait<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecipientSendOrWait")
            .field("recipient", &self.recipient)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
