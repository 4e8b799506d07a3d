//! Recipients: handles that send messages of one type only.

use crate::calls::deadline::DEFAULT_CALL_TIMEOUT;
use crate::calls::pending::Pending;
use crate::calls::pending_reply::PendingReply;
use crate::calls::refusal::refused;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::mailbox::permit::Permit;
use crate::process::process::Process;
use crate::process::{current, wait_graph};
use krarup_gen::{CallError, Pid, SendError};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A handle on a process for messages of type `T` only (actix's `Recipient`).
/// [`crate::Address::recipient`] makes it if the process's own message type is made from a `T`
/// ([`From`]).
///
/// Recipients of actors, pools and bare processes have the same type, so a function or a field
/// that only sends takes a recipient. Like an address it does not keep its process alive, and
/// it outlives the process.
///
/// ```
/// # use krarup_act::{Address, Recipient};
/// enum Till {
///     Paid(u32),
///     Close,
/// }
///
/// impl From<u32> for Till {
///     fn from(amount: u32) -> Self {
///         Till::Paid(amount)
///     }
/// }
///
/// /// Can pay, but cannot close the till.
/// struct Customer {
///     till: Recipient<u32>,
/// }
///
/// fn customer(till: &Address<Till>) -> Customer {
///     Customer { till: till.recipient() }
/// }
/// # let _ = (customer, Till::Close, |customer: Customer| customer.till.send(3));
/// ```
pub struct Recipient<T> {
    deliver: Arc<dyn DeliverMessage<T>>,
}

/// The operations behind a recipient; implemented for addresses and aliases.
pub(crate) trait DeliverMessage<T>: Send + Sync {
    /// Sends on behalf of the process with the given number, and counts the message as sent.
    fn deliver(&self, message: T, sender: u64) -> Result<(), SendError<T>>;

    /// Sends regardless of the bound; does not report whether the message arrives.
    fn notify(&self, message: T);

    /// Reserves room for one message.
    fn reserve(&self) -> Result<Permit<T>, SendError<()>>;

    fn process(&self) -> Arc<dyn Process>;

    fn host(&self) -> &Arc<dyn Host>;

    fn is_alive(&self) -> bool;
}

impl<T: Send + 'static> Recipient<T> {
    pub(crate) fn new(deliver: impl DeliverMessage<T> + 'static) -> Self {
        Recipient { deliver: Arc::new(deliver) }
    }

    /// Sends a message on the Main lane.
    ///
    /// # Errors
    /// Those of [`crate::Address::send`]; all return the message unchanged.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let sender = current::sender(self.pid().creation());
        self.deliver.deliver(message, sender)
    }

    /// Calls the process. `request` makes the message from the reply token. As
    /// [`crate::Address::call`], with the default timeout of 5 s.
    pub fn call<R, F>(&self, request: F) -> Pending<R, CallError>
    where
        R: Send + 'static,
        F: FnOnce(Reply<R>) -> T + Send + 'static,
    {
        self.call_within(DEFAULT_CALL_TIMEOUT, request)
    }

    /// As [`Recipient::call`], with this timeout.
    pub fn call_within<R, F>(&self, timeout: Duration, request: F) -> Pending<R, CallError>
    where
        R: Send + 'static,
        F: FnOnce(Reply<R>) -> T + Send + 'static,
    {
        let recipient = self.clone();
        Pending::new(Arc::clone(self.deliver.host()), async move {
            let host = Arc::clone(recipient.deliver.host());
            let pid = recipient.pid();
            let mut asked = false;
            let futile = poll_fn(|cx| wait_graph::poll_futile(&*host, pid, cx, &mut asked)).await;
            if let Some(error) = futile {
                return Err(error);
            }
            let (token, reply) = Reply::new(None);
            let message = request(token);
            // Forget the receiver of an earlier message.
            let _ = current::take_receiver();
            recipient.send(message).map_err(|error| refused(&*host, pid, &error))?;
            let callee = current::take_receiver().unwrap_or(pid);
            let answer = PendingReply::new(reply, callee, Some(timeout));
            let asked = RecipientCall { host: Arc::clone(&host), answer };
            if callee != pid {
                if let Some(error) = wait_graph::calls_itself(callee) {
                    return Err(error);
                }
                if wait_graph::seems_futile(&*host, callee) {
                    current::suspect();
                }
            }
            asked.await
        })
    }

    /// Reserves room for a message.
    ///
    /// # Errors
    /// Those of [`crate::Address::send`].
    pub fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        self.deliver.reserve()
    }

    /// Sends regardless of the bound of the mailbox, as the runtime does. For hosts.
    pub fn notify(&self, message: T) {
        self.deliver.notify(message);
    }

    /// Returns the pid of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.deliver.process().pid()
    }

    /// Whether the process is alive and this recipient can still reach it.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.deliver.is_alive()
    }
}

/// A call whose request was sent through a recipient.
struct RecipientCall<R: Send + 'static> {
    host: Arc<dyn Host>,
    answer: PendingReply<R>,
}

impl<R: Send + 'static> Future for RecipientCall<R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let RecipientCall { host, answer } = self.get_mut();
        answer.poll(host, cx, |callee| {
            host.process(callee).is_some_and(|process| process.waits_for().is_some())
        })
    }
}

impl<R: Send + 'static> Drop for RecipientCall<R> {
    fn drop(&mut self) {
        self.answer.abandon(&self.host);
    }
}

impl<T> Clone for Recipient<T> {
    fn clone(&self) -> Self {
        Recipient { deliver: Arc::clone(&self.deliver) }
    }
}

impl<T: Send + 'static> fmt::Debug for Recipient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({})", self.pid())
    }
}

/// Two recipients are equal if they refer to the same process.
impl<T: Send + 'static> PartialEq for Recipient<T> {
    fn eq(&self, other: &Self) -> bool {
        self.pid() == other.pid()
    }
}

impl<T: Send + 'static> Eq for Recipient<T> {}
