//! Calls: a request, its reply, and the errors of both.

use crate::addressing::address::Address;
use crate::calls::deadline::DEFAULT_CALL_TIMEOUT;
use crate::calls::pending::wait;
use crate::calls::pending_reply::PendingReply;
use crate::calls::refusal::refused;
use crate::calls::reply::Reply;
use crate::in_transit::InTransit;
use crate::process::{current, wait_graph};
use krarup_gen::CallError;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The lane on which a request is sent.
#[derive(Clone, Copy, Debug)]
enum CallLane {
    Main,
    System,
    Urgent,
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Calls the process. `request` makes the message from the reply token, so a tuple variant
    /// is a request (`counter.call(Counter::Get)`), and so is a closure (`kv.call(|reply|
    /// Kv::Fetch { key, reply })`).
    ///
    /// Nothing is sent until the call is awaited, or waited for on a plain thread. The default
    /// timeout is 5 s. See [`CallError`] for the errors (rules C1 to C8).
    pub fn call<T, F>(&self, request: F) -> Call<'_, M, C, T, F>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M,
    {
        Call::new(self, request, CallLane::Main)
    }

    /// Calls over the System lane. A call to a pool over this lane reaches the pool itself
    /// (rule P3).
    pub fn call_high<T, F>(&self, request: F) -> Call<'_, M, C, T, F, ControlCall>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> C,
    {
        Call::new(self, request, CallLane::System)
    }

    /// Calls over the Urgent lane.
    pub fn call_max<T, F>(&self, request: F) -> Call<'_, M, C, T, F, ControlCall>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> C,
    {
        Call::new(self, request, CallLane::Urgent)
    }
}

/// Marks a call whose request is a message of the Main lane.
#[derive(Debug)]
pub struct Main;

/// Marks a call whose request is a message of the control lanes.
#[derive(Debug)]
pub struct ControlCall;

/// A call that has not been made yet. Use `.await`, or `.wait()` on a plain thread.
#[must_use = "a call does nothing until it is awaited or waited for"]
pub struct Call<'a, M, C, T, F, L = Main> {
    address: &'a Address<M, C>,
    request: F,
    lane: CallLane,
    timeout: Option<Duration>,
    kind: PhantomData<fn() -> (T, L)>,
}

impl<'a, M, C, T, F, L> Call<'a, M, C, T, F, L> {
    fn new(address: &'a Address<M, C>, request: F, lane: CallLane) -> Self {
        Call { address, request, lane, timeout: Some(DEFAULT_CALL_TIMEOUT), kind: PhantomData }
    }

    /// Sets how long to wait for the reply. Zero fails at once unless the reply has arrived.
    ///
    /// The clock of the callee's node counts. If the callee is in a simulation, its time passes only
    /// while somebody drives the simulation, and without that the timeout never comes.
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

impl<M, C, T, F, L> fmt::Debug for Call<'_, M, C, T, F, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("address", &self.address)
            .field("lane", &self.lane)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// How a request is sent; implemented for both kinds of call.
#[doc(hidden)]
pub trait Request<M, C, T>: Send {
    fn post(self, address: &Address<M, C>, urgent: bool, reply: Reply<T>) -> Result<(), CallError>
    where
        T: Send + 'static;
}

#[doc(hidden)]
#[derive(Debug)]
pub struct OnMain<F>(F);

#[doc(hidden)]
#[derive(Debug)]
pub struct OnControl<F>(F);

impl<M, C, T, F> Request<M, C, T> for OnMain<F>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    F: FnOnce(Reply<T>) -> M + Send,
{
    fn post(self, address: &Address<M, C>, _: bool, reply: Reply<T>) -> Result<(), CallError> {
        // Nothing unwinds before the message is sent.
        let message = InTransit::new((self.0)(reply));
        // Forget the receiver of an earlier message.
        let _ = current::take_receiver();
        match address.send(message.arrive()) {
            Ok(()) => Ok(()),
            Err(error) => Err(refused(&**address.host(), address.pid(), error)),
        }
    }
}

impl<M, C, T, F> Request<M, C, T> for OnControl<F>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    F: FnOnce(Reply<T>) -> C + Send,
{
    fn post(self, address: &Address<M, C>, urgent: bool, reply: Reply<T>) -> Result<(), CallError> {
        let command = (self.0)(reply);
        let _ = current::take_receiver();
        let sent = if urgent { address.send_max(command) } else { address.send_high(command) };
        sent.map_err(|error| refused(&**address.host(), address.pid(), error))
    }
}

/// A call in progress.
#[must_use = "futures do nothing unless polled"]
pub struct CallFuture<'a, M, C, T: Send + 'static, R> {
    address: &'a Address<M, C>,
    /// Taken when the request is sent, in the first poll.
    request: Option<R>,
    urgent: bool,
    timeout: Option<Duration>,
    /// Whether the search for a cycle that the request would close has been made.
    asked: bool,
    answer: Option<PendingReply<T>>,
}

// Nothing in it is pinned: the request is a plain value until it is taken.
impl<M, C, T: Send + 'static, R> Unpin for CallFuture<'_, M, C, T, R> {}

impl<M, C, T, R> Future for CallFuture<'_, M, C, T, R>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    R: Request<M, C, T>,
{
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        if let Some(request) = call.request.take() {
            return call.begin(request, cx);
        }
        let Some(answer) = &mut call.answer else {
            return Poll::Ready(Err(CallError::NoReply { to: call.address.pid() }));
        };
        let address = call.address;
        // If the request was handed on, the hint of this address says nothing about the
        // callee.
        answer.poll(address.host(), cx, |callee| address.seems_to_wait() || callee != address.pid())
    }
}

impl<M, C, T, R> CallFuture<'_, M, C, T, R>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    R: Request<M, C, T>,
{
    fn begin(&mut self, request: R, cx: &mut Context<'_>) -> Poll<Result<T, CallError>> {
        let address = self.address;
        // Cheap hints. `poll_futile` examines them.
        if address.seems_to_wait()
            || current::sender(address.pid().creation()) == address.pid().id()
        {
            match wait_graph::poll_futile(&**address.host(), address.pid(), cx, &mut self.asked) {
                Poll::Ready(None) => {}
                Poll::Ready(Some(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.request = Some(request);
                    return Poll::Pending;
                }
            }
        }
        // The slot has its waiter from the start, and a reply wakes it.
        let (token, receiver) = Reply::new(Some(cx.waker().clone()));
        let traced = current::is_traced();
        if traced {
            current::begin_call(&**address.host(), type_name::<M>(), address.pid());
        }
        if let Err(error) = request.post(address, self.urgent, token) {
            refused_in_context(&error);
            return Poll::Ready(Err(error));
        }
        // A route, or a full mailbox with a fallback, hands the message on.
        let handed_to = current::take_receiver();
        let callee = handed_to.unwrap_or_else(|| address.pid());
        let answer = self.answer.insert(PendingReply::new(receiver, callee, self.timeout));
        if traced {
            answer.is_awaited_in_context();
        }
        let handed_on = handed_to.is_some() && callee != address.pid();
        if handed_on && let Some(error) = wait_graph::calls_itself(callee) {
            // The answer is not waited for.
            return Poll::Ready(Err(error));
        }
        // The callee may have parked while the request was made, and then it does not look at it.
        if (handed_on || address.seems_to_wait())
            && wait_graph::seems_futile(&**address.host(), callee)
        {
            current::suspect();
        }
        answer.begin(address.host(), cx)
    }
}

/// Ends the span of a call whose request was refused.
#[cold]
fn refused_in_context(error: &CallError) {
    if current::is_traced() {
        current::refuse_call(error);
    }
}

impl<M, C, T: Send + 'static, R> Drop for CallFuture<'_, M, C, T, R> {
    fn drop(&mut self) {
        if let Some(answer) = &mut self.answer {
            answer.abandon(self.address.host());
        }
    }
}

impl<M, C, T: Send + 'static, R> fmt::Debug for CallFuture<'_, M, C, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallFuture({:?})", self.address)
    }
}

macro_rules! ways_to_wait {
    ($kind:ident, $request:ident, $message:ident) => {
        impl<'a, M, C, T, F> IntoFuture for Call<'a, M, C, T, F, $kind>
        where
            M: Send + 'static,
            C: Send + 'static,
            T: Send + 'static,
            F: FnOnce(Reply<T>) -> $message + Send,
        {
            type Output = Result<T, CallError>;
            type IntoFuture = CallFuture<'a, M, C, T, $request<F>>;

            fn into_future(self) -> Self::IntoFuture {
                CallFuture {
                    address: self.address,
                    request: Some($request(self.request)),
                    urgent: matches!(self.lane, CallLane::Urgent),
                    timeout: self.timeout,
                    asked: false,
                    answer: None,
                }
            }
        }

        impl<M, C, T, F> Call<'_, M, C, T, F, $kind>
        where
            M: Send + 'static,
            C: Send + 'static,
            T: Send + 'static,
            F: FnOnce(Reply<T>) -> $message + Send,
        {
            /// Makes the call and waits for the reply on a plain thread.
            ///
            /// # Errors
            /// Those of awaiting it, and [`CallError::CannotWait`].
            pub fn wait(self) -> Result<T, CallError> {
                let host = Arc::clone(self.address.host());
                wait(&*host, self.into_future())?
            }
        }
    };
}

ways_to_wait!(Main, OnMain, M);
ways_to_wait!(ControlCall, OnControl, C);
