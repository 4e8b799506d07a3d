//! The subset handle: who takes messages of one type, whatever else it takes.

use crate::calls::pending::Pending;
use crate::calls::pending_reply::PendingReply;
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

/// How long a call through a recipient waits unless told otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle on a process that takes messages of type `T`, whatever else it takes (actix's
/// `Recipient`): made by [`crate::Address::recipient`] where the process's own message type
/// is made from a `T` ([`From`]).
///
/// Of one type for actors, pools and bare processes, it is what a function or a field takes
/// that only sends. Like an address it neither keeps its process alive nor dies with it.
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
/// /// May pay, and knows nothing of closing.
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

/// What a recipient does with a message; implemented for addresses and aliases.
pub(crate) trait DeliverMessage<T>: Send + Sync {
    /// Sends in the name of the process with the given number, and counts what was sent.
    fn deliver(&self, message: T, sender: u64) -> Result<(), SendError<T>>;

    /// Sends beyond any bound; nobody hears whether it arrives.
    fn notify(&self, message: T);

    /// Room for one message.
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
    /// Those of [`crate::Address::send`]; all give the message back as it was.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let sender = current::sender(self.pid().creation());
        self.deliver.deliver(message, sender)
    }

    /// Calls the process: `request` makes the message from the reply token. As
    /// [`crate::Address::call`], with the default timeout of 5 s.
    pub fn call<R, F>(&self, request: F) -> Pending<R, CallError>
    where
        R: Send + 'static,
        F: FnOnce(Reply<R>) -> T + Send + 'static,
    {
        self.call_within(CALL_TIMEOUT, request)
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
            // What was handed on before is no part of this.
            let _ = current::take_receiver();
            recipient.send(message).map_err(|error| refused(&*host, &error))?;
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

    /// Sends beyond the bound of the mailbox, as the runtime does: for hosts.
    pub fn notify(&self, message: T) {
        self.deliver.notify(message);
    }

    /// The identity of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.deliver.process().pid()
    }

    /// Whether the process is alive now, and can still be reached in this way.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.deliver.is_alive()
    }
}

/// A request that was sent through a recipient.
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

/// Why a request was not sent, to its caller.
fn refused<M>(host: &dyn Host, error: &SendError<M>) -> CallError {
    match error {
        SendError::Full(_) => CallError::Full,
        SendError::NoWorkers(_) => CallError::NoWorkers,
        SendError::RateLimited { retry_after, .. } => CallError::RateLimited(*retry_after),
        SendError::Draining(_) => CallError::Draining,
        SendError::NotReservable(_) => CallError::NotReservable,
        _ if host.is_stopping() => CallError::NodeStopped,
        _ => CallError::NoProcess,
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

/// Two recipients are equal if they are of the same process.
impl<T: Send + 'static> PartialEq for Recipient<T> {
    fn eq(&self, other: &Self) -> bool {
        self.pid() == other.pid()
    }
}

impl<T: Send + 'static> Eq for Recipient<T> {}
