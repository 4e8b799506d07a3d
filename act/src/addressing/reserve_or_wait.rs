//! Reserving room in a mailbox that has none yet (rules M6, H8).

use crate::addressing::address::Address;
use crate::addressing::send_or_wait::{in_time, room};
use crate::calls::pending::wait;
use crate::mailbox::permit::Permit;
use crate::process::current;
use krarup_gen::{CannotWait, SendError};
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Reserves room for one message on the Main lane, and waits in line while the mailbox is
    /// full (tokio's `Sender::reserve`). Use `.await`, or `.wait()` on a plain thread. At a pool it
    /// waits for room at any worker, and for its rate (rule H8). Where the receiver depends on the
    /// message it does not wait: at a pool with a key it takes room at each worker or fails, at
    /// grains it fails.
    ///
    /// ```
    /// # use krarup_act::{Address, Permit};
    /// # use krarup_gen::SendError;
    /// # use std::time::Duration;
    /// # async fn next_row() -> String { String::new() }
    /// /// Reads a row only when there is room for it.
    /// async fn feed(rows: &Address<String>) -> Result<(), SendError<()>> {
    ///     let room = rows.reserve_or_wait().timeout(Duration::from_secs(5)).await?;
    ///     room.send(next_row().await);
    ///     Ok(())
    /// }
    /// # let _ = feed;
    /// ```
    pub fn reserve_or_wait(&self) -> ReserveOrWait<M, C> {
        ReserveOrWait { address: self.clone(), timeout: None }
    }

    /// Waits for room for a message. If there is none the message is given back, and counted.
    pub(super) async fn room_for_message(&self) -> Result<Permit<M>, SendError<()>> {
        reserved(self, None).await.inspect_err(|error| self.note_given_back(error))
    }
}

/// A reservation that waits for room; made by [`Address::reserve_or_wait`].
#[must_use = "nothing is reserved until it is awaited or waited for"]
pub struct ReserveOrWait<M, C = M> {
    address: Address<M, C>,
    timeout: Option<Duration>,
}

impl<M: Send + 'static, C: Send + 'static> ReserveOrWait<M, C> {
    /// Sets the longest time to wait for room. Without it the reservation waits as long as the
    /// receiver lives.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits for room on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`SendError::CannotWait`].
    pub fn wait(self) -> Result<Permit<M>, SendError<()>> {
        if current::pid().is_some() {
            return Err(SendError::CannotWait { message: (), cause: CannotWait::InProcess });
        }
        wait(&**self.address.host(), reserved(&self.address, self.timeout))
            .unwrap_or_else(|cause| Err(SendError::CannotWait { message: (), cause }))
    }
}

impl<M: Send + 'static, C: Send + 'static> IntoFuture for ReserveOrWait<M, C> {
    type Output = Result<Permit<M>, SendError<()>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// Those of [`Address::reserve`], [`SendError::Timeout`], and [`SendError::OwnMailbox`] if a
    /// process waits for room in its own mailbox.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { reserved(&self.address, self.timeout).await })
    }
}

async fn reserved<M, C>(
    address: &Address<M, C>,
    timeout: Option<Duration>,
) -> Result<Permit<M>, SendError<()>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    if let Some(room) = address.room_for_any() {
        let room = in_time(address, timeout, room).await;
        return room.map(|permit| permit.through(address.pid()));
    }
    // A route without a line has counted its refusal, and would count another one.
    let routed = address.is_routed();
    match address.reserve_patiently() {
        // Do not overtake senders that already wait for room.
        Ok(permit) if !address.has_line() => return Ok(permit),
        Err(full @ SendError::Full { .. }) if routed => return Err(full),
        Err(SendError::Full { .. }) | Ok(_) => {}
        Err(error) => return Err(error),
    }
    if current::pid().is_some_and(|myself| myself.is_same_process(address.pid())) {
        return Err(SendError::OwnMailbox { message: (), to: address.pid() });
    }
    room(address, timeout, None).await
}

impl<M, C> fmt::Debug for ReserveOrWait<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReserveOrWait")
            .field("address", &self.address)
            .field("timeout", &self.timeout)
            .finish()
    }
}
