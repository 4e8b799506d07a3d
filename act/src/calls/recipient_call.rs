//! Calls through a recipient.

use crate::addressing::recipient::Recipient;
use crate::calls::deadline::DEFAULT_CALL_TIMEOUT;
use crate::calls::pending::Pending;
use crate::calls::pending_reply::{PendingReply, own_waker};
use crate::calls::refusal::refused_by_name;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::process::process::Process;
use crate::process::{current, wait_graph};
use krarup_gen::CallError;
use std::any::type_name;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem::replace;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

impl<T: Send + 'static> Recipient<T> {
    /// Calls the process, as [`Address::call`](crate::Address::call) does. `request` makes the
    /// message from the reply token. Nothing is sent until the call is awaited, or waited for on a
    /// plain thread. The default timeout is 5 s.
    pub fn call<R, F>(&self, request: F) -> RecipientCall<T, R, F>
    where
        R: Send + 'static,
        F: FnOnce(Reply<R>) -> T + Send + 'static,
    {
        let (recipient, timeout) = (self.clone(), Some(DEFAULT_CALL_TIMEOUT));
        RecipientCall { recipient, request, timeout, reply: PhantomData }
    }
}

/// A call through a recipient that has not been made yet; made by [`Recipient::call`]. Use
/// `.await`, or `.wait()` on a plain thread.
#[must_use = "a call does nothing until it is awaited or waited for"]
pub struct RecipientCall<T, R, F> {
    recipient: Recipient<T>,
    request: F,
    timeout: Option<Duration>,
    reply: PhantomData<fn() -> R>,
}

impl<T, R, F> RecipientCall<T, R, F> {
    /// Sets how long to wait for the reply. Zero fails at once unless the reply has arrived.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits until the token is answered or dropped (OTP's `infinity`). The end of the callee drops
    /// it, unless others hold it too (rule C2).
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }
}

impl<T, R, F> RecipientCall<T, R, F>
where
    T: Send + 'static,
    R: Send + 'static,
    F: FnOnce(Reply<R>) -> T + Send + 'static,
{
    /// Makes the call and waits for the reply on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`CallError::CannotWait`].
    pub fn wait(self) -> Result<R, CallError> {
        self.into_future().wait()
    }
}

impl<T, R, F> IntoFuture for RecipientCall<T, R, F>
where
    T: Send + 'static,
    R: Send + 'static,
    F: FnOnce(Reply<R>) -> T + Send + 'static,
{
    type Output = Result<R, CallError>;
    type IntoFuture = Pending<R, CallError>;

    fn into_future(self) -> Pending<R, CallError> {
        let RecipientCall { recipient, request, timeout, .. } = self;
        Pending::new(Arc::clone(recipient.host()), async move {
            let host = recipient.host();
            let pid = recipient.pid();
            // Cycles of calls through other nodes end by their timeouts (rule Zcall14).
            let is_local = pid.node() == 0;
            // Cheap hints, as in a call of an address. `poll_futile` examines them.
            if is_local
                && (recipient.seems_to_wait() || current::sender(pid.creation()) == pid.id())
            {
                let mut asked = false;
                let futile = poll_fn(|cx| wait_graph::poll_futile(&**host, pid, cx, &mut asked));
                if let Some(error) = futile.await {
                    return Err(error);
                }
            }
            let (token, reply) = Reply::new(Some(poll_fn(own_waker).await));
            let message = request(token);
            if current::is_traced() {
                current::begin_call(&**host, type_name::<T>(), pid);
            }
            // Forget the receiver of an earlier message.
            let _ = current::take_receiver();
            if let Err(error) = recipient.send(message) {
                let error = refused_by_name(&**host, pid, recipient.name_there(), error);
                if current::is_traced() {
                    current::refuse_call(&error);
                }
                return Err(error);
            }
            let callee = current::take_receiver().unwrap_or(pid);
            let answer = PendingReply::new(reply, callee, timeout);
            if current::is_traced() {
                answer.is_awaited_in_context();
            }
            let remote = recipient.begun_call();
            let asked = SentCall { host, answer, begun: false, remote };
            if callee != pid
                && let Some(error) = wait_graph::calls_itself(callee)
            {
                return Err(error);
            }
            if is_local
                && (callee != pid || recipient.seems_to_wait())
                && wait_graph::seems_futile(&**host, callee)
            {
                current::suspect();
            }
            asked.await
        })
    }
}

impl<T: Send + 'static, R, F> fmt::Debug for RecipientCall<T, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecipientCall")
            .field("recipient", &self.recipient)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A call whose request was sent.
struct SentCall<'a, R: Send + 'static> {
    host: &'a Arc<dyn Host>,
    answer: PendingReply<R>,
    /// Whether it was polled, which it is at once when the request was sent.
    begun: bool,
    /// The process on another node, and the number of the call there.
    remote: Option<(Arc<dyn Process>, u64)>,
}

impl<R: Send + 'static> Future for SentCall<'_, R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let SentCall { host, answer, begun, .. } = self.get_mut();
        if !replace(begun, true) {
            return answer.begin(host, cx);
        }
        answer.poll(host, cx, |callee| {
            host.process(callee).is_some_and(|process| process.waits_for().is_some())
        })
    }
}

impl<R: Send + 'static> Drop for SentCall<'_, R> {
    fn drop(&mut self) {
        self.answer.abandon(self.host);
        if let Some((process, call)) = self.remote.take()
            && let Some(remote) = process.remote()
        {
            remote.end_call(call);
        }
    }
}
