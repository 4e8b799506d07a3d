//! Calls into room that was reserved before the request is known (rule H8).

use crate::addressing::address::Address;
use crate::calls::deadline::DEFAULT_CALL_TIMEOUT;
use crate::calls::pending::Pending;
use crate::calls::pending_reply::{PendingReply, own_waker};
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::mailbox::permit::Permit;
use crate::process::{current, wait_graph};
use krarup_gen::{CallError, Pid, Timestamp};
use std::any::type_name;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem::replace;
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Calls the process as [`Address::call`] does, with a request that takes room which was reserved
    /// before: by [`Address::reserve`], or by [`Address::reserve_or_wait`], which waits for it. So a
    /// server can read a request only when there is room for it (rule H8).
    ///
    /// The permit must be one of this process, by whichever of its addresses; with one of another process the call fails
    /// with [`CallError::PermitOfOther`], and the room is given back. The room is kept until the call is awaited, and given
    /// back if the call is dropped before. The token of the request knows until when its caller waits
    /// ([`Reply::deadline`]).
    pub fn call_into<T, F>(&self, room: Permit<M>, request: F) -> PermitCall<M, T, F>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send + 'static,
    {
        let (host, to) = (Arc::clone(self.host()), self.pid());
        let timeout = Some(DEFAULT_CALL_TIMEOUT);
        PermitCall { host, to, room, request, timeout, reply: PhantomData }
    }
}

/// A call into reserved room that has not been made yet; made by [`Address::call_into`]. Use
/// `.await`, or `.wait()` on a plain thread.
#[must_use = "a call does nothing until it is awaited or waited for"]
pub struct PermitCall<M, T, F> {
    host: Arc<dyn Host>,
    to: Pid,
    room: Permit<M>,
    request: F,
    timeout: Option<Duration>,
    reply: PhantomData<fn() -> T>,
}

impl<M, T, F> PermitCall<M, T, F> {
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

impl<M, T, F> PermitCall<M, T, F>
where
    M: Send + 'static,
    T: Send + 'static,
    F: FnOnce(Reply<T>) -> M + Send + 'static,
{
    /// Makes the call and waits for the reply on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`CallError::CannotWait`].
    pub fn wait(self) -> Result<T, CallError> {
        self.into_future().wait()
    }
}

impl<M, T, F> IntoFuture for PermitCall<M, T, F>
where
    M: Send + 'static,
    T: Send + 'static,
    F: FnOnce(Reply<T>) -> M + Send + 'static,
{
    type Output = Result<T, CallError>;
    type IntoFuture = Pending<T, CallError>;

    /// # Errors
    /// Those of [`Address::call`] that follow a request which was accepted, [`CallError::CallsItself`] and
    /// [`CallError::PermitOfOther`].
    fn into_future(self) -> Pending<T, CallError> {
        let PermitCall { host, to, room, request, timeout, .. } = self;
        Pending::new(Arc::clone(&host), async move {
            let (holder, at) = (room.holder(), room.reserved_at());
            if !at.is_same_process(to) {
                return Err(CallError::PermitOfOther { to, of: at });
            }
            if current::pid().is_some_and(|myself| myself.is_same_process(holder)) {
                return Err(CallError::CallsItself(holder));
            }
            let deadline: Option<Timestamp> = timeout.map(|limit| host.now() + limit);
            let (token, reply) = Reply::new(Some(poll_fn(own_waker).await));
            let message = request(match deadline {
                Some(deadline) => token.until(deadline),
                None => token,
            });
            if current::is_traced() {
                current::begin_call(&*host, type_name::<M>(), to);
            }
            // Forget the receiver of an earlier message.
            let _ = current::take_receiver();
            room.send(message);
            let callee = current::take_receiver().unwrap_or(holder);
            let answer = PendingReply::new(reply, callee, timeout);
            if current::is_traced() {
                answer.is_awaited_in_context();
            }
            if wait_graph::seems_futile(&*host, callee) {
                current::suspect();
            }
            let mut sent = CallInRoom { host, answer, begun: false };
            poll_fn(move |cx| {
                let CallInRoom { host, answer, begun } = &mut sent;
                if !replace(begun, true) {
                    return answer.begin(host, cx);
                }
                answer.poll(host, cx, |callee| {
                    host.process(callee).is_some_and(|process| process.waits_for().is_some())
                })
            })
            .await
        })
    }
}

impl<M, T, F> fmt::Debug for PermitCall<M, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitCall")
            .field("to", &self.to)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A call whose request was put into its room.
struct CallInRoom<T: Send + 'static> {
    host: Arc<dyn Host>,
    answer: PendingReply<T>,
    /// Whether it was polled, which it is at once when the request was sent.
    begun: bool,
}

impl<T: Send + 'static> Drop for CallInRoom<T> {
    fn drop(&mut self) {
        self.answer.abandon(&self.host);
    }
}
