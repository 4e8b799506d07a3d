//! Calls that a handler makes through its scope.

use crate::contained_drop::ContainedDrop;
use crate::state_actor::kinds::Kinds;
use crate::state_actor::promise::{AskId, Exception, Promise, Settled};
use crate::state_actor::scope::{HandlerScope, Scope};
use crate::state_actor::state_message::StateMessage;
use krarup_act::{Address, Call, DEFAULT_CALL_TIMEOUT, Reply};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

impl<A: Kinds> Scope<A> {
    /// Calls another process. The default timeout is 5 s. A call to this actor itself fails
    /// with [`CallError::CallsItself`](krarup_gen::CallError::CallsItself) (rule C5).
    ///
    /// Nothing is sent until the call is awaited or started. [`ScopeCall::start`] sends the
    /// request and returns the promise of the answer, so a handler can have several calls in
    /// progress:
    ///
    /// ```
    /// # use krarup_act::{Address, Reply};
    /// # use krarup_gen::Result;
    /// # use krarup_state::{Scope, StateActor};
    /// # use std::time::Duration;
    /// # enum Shop { Price(Reply<u32>) }
    /// async fn cheaper<A: StateActor>(
    ///     scope: &mut Scope<A>,
    ///     shops: [Address<Shop>; 2],
    /// ) -> Result<u32> {
    ///     let one = scope.call(&shops[0], Shop::Price).start();
    ///     let two = scope.call(&shops[1], Shop::Price).timeout(Duration::from_secs(1)).start();
    ///     Ok(one.await?.min(two.await?)) // Both requests were sent before.
    /// }
    /// ```
    pub fn call<'a, M, C, T, F>(
        &'a mut self,
        callee: &'a Address<M, C>,
        request: F,
    ) -> ScopeCall<'a, A, M, C, T, F>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send + 'static,
    {
        let timeout = Some(DEFAULT_CALL_TIMEOUT);
        ScopeCall { shared: self.shared(), callee, request, timeout, reply: PhantomData }
    }

    /// Asks another state actor, as [`Scope::call`] does.
    #[allow(clippy::type_complexity, reason = "an alias cannot name the type of the closure")]
    pub fn ask<'a, N, Q, E, T, F>(
        &'a mut self,
        callee: &'a Address<StateMessage<N, Q>, E>,
        request: F,
    ) -> ScopeCall<
        'a,
        A,
        StateMessage<N, Q>,
        E,
        T,
        impl FnOnce(Reply<T>) -> StateMessage<N, Q> + Send + 'static,
    >
    where
        N: Send + 'static,
        Q: Send + 'static,
        E: Send + 'static,
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> Q + Send + 'static,
    {
        self.call(callee, move |reply| StateMessage::Ask(request(reply)))
    }

    /// Calls another process without waiting. `answer` converts the answer to a reply, which
    /// goes to [`StateActor::handle_reply`](crate::StateActor::handle_reply). An error goes to
    /// [`StateActor::handle_exception`](crate::StateActor::handle_exception). The default timeout
    /// is 5 s. Nothing is sent until [`AskThen::start`].
    pub fn ask_then<'a, M, C, T, F, G>(
        &'a mut self,
        callee: &'a Address<M, C>,
        request: F,
        answer: G,
    ) -> AskThen<'a, A, M, C, T, F, G>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send + 'static,
        G: FnOnce(T) -> A::Reply + Send + 'static,
    {
        AskThen { call: self.call(callee, request), answer }
    }
}

/// A call of a handler that has not been made yet; made by [`Scope::call`] and [`Scope::ask`].
#[must_use = "nothing is sent until it is awaited or started"]
pub struct ScopeCall<'a, A: Kinds, M, C, T, F> {
    shared: &'a HandlerScope<A>,
    callee: &'a Address<M, C>,
    request: F,
    timeout: Option<Duration>,
    reply: PhantomData<fn() -> T>,
}

impl<A: Kinds, M, C, T, F> ScopeCall<'_, A, M, C, T, F> {
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

    /// Sends the request now, and returns the promise of the answer.
    pub fn start(self) -> Promise<T>
    where
        M: Send + 'static,
        C: Send + 'static,
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send + 'static,
    {
        let ScopeCall { shared, callee, request, timeout, .. } = self;
        let callee = callee.clone();
        Promise::open(&shared.table, &shared.wakers, async move {
            within(callee.call(request), timeout).await
        })
    }
}

/// Starts the call; the output is that of its promise.
impl<A, M, C, T, F> IntoFuture for ScopeCall<'_, A, M, C, T, F>
where
    A: Kinds,
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    F: FnOnce(Reply<T>) -> M + Send + 'static,
{
    type Output = Result<T, krarup_gen::CallError>;
    type IntoFuture = Promise<T>;

    fn into_future(self) -> Promise<T> {
        self.start()
    }
}

impl<A: Kinds, M, C, T, F> fmt::Debug for ScopeCall<'_, A, M, C, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeCall")
            .field("callee", &self.callee)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A call whose answer goes to [`StateActor::handle_reply`](crate::StateActor::handle_reply), not
/// made yet; made by [`Scope::ask_then`].
#[must_use = "nothing is sent until it is started"]
pub struct AskThen<'a, A: Kinds, M, C, T, F, G> {
    call: ScopeCall<'a, A, M, C, T, F>,
    answer: G,
}

impl<A: Kinds, M, C, T, F, G> AskThen<'_, A, M, C, T, F, G> {
    /// Sets how long to wait for the reply. Zero fails at once unless the reply has arrived.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.call.timeout = Some(timeout);
        self
    }

    /// Waits until the token is answered or dropped (OTP's `infinity`). The end of the callee drops
    /// it, unless others hold it too (rule C2).
    pub fn no_timeout(mut self) -> Self {
        self.call.timeout = None;
        self
    }

    /// Sends the request now. Returns the number of the ask, which an [`Exception`] names.
    pub fn start(self) -> AskId
    where
        M: Send + 'static,
        C: Send + 'static,
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send + 'static,
        G: FnOnce(T) -> A::Reply + Send + 'static,
    {
        let AskThen { call: ScopeCall { shared, callee, request, timeout, .. }, answer } = self;
        let (callee, from, answer) = (callee.clone(), callee.pid(), ContainedDrop::new(answer));
        let key = shared.table.open(&shared.wakers, None, true, |key| {
            Box::pin(async move {
                match within(callee.call(request), timeout).await {
                    Ok(value) => Settled::Reply(answer.into_inner()(value)),
                    Err(error) => {
                        Settled::Exception(Exception { ask: AskId(key.number()), from, error })
                    }
                }
            })
        });
        AskId(key.number())
    }
}

impl<A: Kinds, M, C, T, F, G> fmt::Debug for AskThen<'_, A, M, C, T, F, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskThen")
            .field("callee", &self.call.callee)
            .field("timeout", &self.call.timeout)
            .finish_non_exhaustive()
    }
}

/// Gives a call its time.
fn within<M, C, T, F>(
    call: Call<'_, M, C, T, F>,
    timeout: Option<Duration>,
) -> Call<'_, M, C, T, F> {
    match timeout {
        Some(timeout) => call.timeout(timeout),
        None => call.no_timeout(),
    }
}
