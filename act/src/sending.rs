//! Sending to a mailbox that has no room yet (rule M6).

use crate::address::Address;
use crate::deadline::within;
use crate::mailbox::permit::{Permit, Waiter};
use crate::pending::{CannotWait, wait};
use crate::process::current;
use crate::slot::slot;
use krarup_gen::SendError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Sends a message on the Main lane, and waits while the mailbox is full: `.await` it, or
    /// `.wait()` on a plain thread. A process that awaits it suspends only itself. Senders
    /// that wait get room in the order in which they came; each place counts towards the
    /// bound from the moment it is given. A send that finds room does not look at the line, so
    /// it can be ahead of those who wait.
    ///
    /// A pool has no line: where all its workers are full the answer is `Full` at once. Two
    /// processes that wait for room in each other's mailboxes wait until a timeout ends it: such
    /// a ring is not looked for, unlike one of calls.
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
    /// How long to wait for room at most; without it as long as the receiver lives.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends, and waits for room on a plain thread.
    ///
    /// # Errors
    /// As awaiting it, and [`SendError::WaitInProcess`] inside a process.
    pub fn wait(self) -> Result<(), SendError<M>> {
        if current::pid().is_some() {
            return Err(SendError::WaitInProcess(self.message));
        }
        let SendOrWait { address, message, timeout } = self;
        let message = match send_at_once(&address, message) {
            Err(SendError::Full(message)) => message,
            sent => return sent,
        };
        match wait(&**address.host(), room(&address, timeout)) {
            Ok(outcome) => outcome.send(message),
            Err(CannotWait::Stalled) => Err(SendError::Stalled(message)),
            Err(_) => Err(SendError::WaitInProcess(message)),
        }
    }
}

impl<M: Send + 'static, C: Send + 'static> IntoFuture for SendOrWait<M, C> {
    type Output = Result<(), SendError<M>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// [`SendError::NoProcess`] if the receiver is dead or ends meanwhile,
    /// [`SendError::Timeout`], [`SendError::WaitInProcess`] if a process waits for room in
    /// its own mailbox, which only it can make; all give the message back.
    fn into_future(self) -> Self::IntoFuture {
        let SendOrWait { address, message, timeout } = self;
        Box::pin(async move {
            let message = match send_at_once(&address, message) {
                Err(SendError::Full(message)) => message,
                sent => return sent,
            };
            if current::pid().is_some_and(|myself| myself.is_same_process(address.pid())) {
                return Err(SendError::WaitInProcess(message));
            }
            room(&address, timeout).await.send(message)
        })
    }
}

/// Sends, unless others stand in line: then it is as good as full.
fn send_at_once<M, C>(address: &Address<M, C>, message: M) -> Result<(), SendError<M>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    if address.has_line() { Err(SendError::Full(message)) } else { address.send(message) }
}

/// What came of waiting for room.
enum Outcome<M> {
    Room(Permit<M>),
    NoProcess,
    Full,
    Timeout(Duration),
}

impl<M> Outcome<M> {
    fn send(self, message: M) -> Result<(), SendError<M>> {
        match self {
            Outcome::Room(permit) => {
                permit.send(message);
                Ok(())
            }
            Outcome::NoProcess => Err(SendError::NoProcess(message)),
            Outcome::Full => Err(SendError::Full(message)),
            Outcome::Timeout(limit) => Err(SendError::Timeout { message, limit }),
        }
    }
}

async fn room<M, C>(address: &Address<M, C>, timeout: Option<Duration>) -> Outcome<M>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let (sender, mut place) = slot();
    let line = InLine { address, waiter: Arc::new(Waiter::new(sender)) };
    match address.reserve_or_wait(&line.waiter) {
        Ok(permit) => return Outcome::Room(permit),
        Err(SendError::NoProcess(())) => return Outcome::NoProcess,
        Err(_) if address.is_routed() => return Outcome::Full,
        Err(_) => {}
    }
    let granted = match timeout {
        None => place.await,
        Some(limit) => match within(address.host(), limit, &mut place).await {
            Some(granted) => granted,
            None => return Outcome::Timeout(limit),
        },
    };
    // A place that is dropped unheard went down with the process.
    granted.map_or(Outcome::NoProcess, Outcome::Room)
}

/// A place in the line of those that wait for room; left when it is dropped.
struct InLine<'a, M: Send + 'static, C: Send + 'static> {
    address: &'a Address<M, C>,
    waiter: Arc<Waiter<M>>,
}

impl<M: Send + 'static, C: Send + 'static> Drop for InLine<'_, M, C> {
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
