//! Calls to whichever process has a name (rules H3 to H7).
//!
//! ```text
//!            ┌──────────────────────────────────────────────────────────┐
//!            ▼                                                          │ wait
//!   a living process has the name? ── yes ──► attempt ── error ──► Retry::after ── no ──► error
//!            │ no: wait until one has it,        │ reply
//!            │ or the time is up                 ▼
//!            ▼                                 value
//!          error
//! ```

use crate::addressing::address::Address;
use crate::calls::deadline::{DEFAULT_CALL_TIMEOUT, Sleep, within};
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::names::name_wait::{NameWait, NoWait};
use crate::names::named_address::NamedAddress;
use crate::names::retry::{Again, Retry};
use krarup_gen::{CallError, NamedCallError, Pid, Timestamp};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> NamedAddress<M, C> {
    /// Calls the process that has the name. `request` makes the message from the reply token, once
    /// for each attempt, so it clones what it gives away.
    ///
    /// If no process has the name, the call waits for one. If the process ends before a handler has
    /// seen the request, it is made again at the next one. [`NamedCall::retry`] says what else is
    /// repeated. The timeout, 5 s if none is given, is that of the whole call, with its waits. The
    /// token knows it ([`Reply::deadline`]).
    pub fn call<T, F>(&self, request: F) -> NamedCall<M, C, T, F>
    where
        T: Send + 'static,
        F: FnMut(Reply<T>) -> M + Send + 'static,
    {
        let (timeout, retry) = (Some(DEFAULT_CALL_TIMEOUT), Retry::default());
        let named = self.clone();
        NamedCall { named, request, timeout, until: None, retry, reply: PhantomData }
    }
}

/// A call by name that has not been made yet; made by [`NamedAddress::call`]. Use `.await`, or
/// `.wait()` on a plain thread.
#[must_use = "a call does nothing until it is awaited or waited for"]
pub struct NamedCall<M, C, T, F> {
    named: NamedAddress<M, C>,
    request: F,
    timeout: Option<Duration>,
    until: Option<Timestamp>,
    retry: Retry,
    reply: PhantomData<fn() -> T>,
}

impl<M, C, T, F> NamedCall<M, C, T, F> {
    /// Sets how long the whole call lasts, with all its attempts and waits.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits as long as the node runs, unless [`NamedCall::until`] says less.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Ends the call at a time of the node's clock at the latest. With the deadline of the request
    /// in whose handler the call is made, the call lasts at most as long as that caller waits (rule
    /// H7): `stock.call(..).until(reply.deadline())`. `None` sets no limit.
    pub fn until(mut self, deadline: impl Into<Option<Timestamp>>) -> Self {
        self.until = match (self.until, deadline.into()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self
    }

    /// Sets which failed attempts are repeated. The default is [`Retry::restarts`].
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }
}

impl<M, C, T, F> NamedCall<M, C, T, F>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    F: FnMut(Reply<T>) -> M + Send + 'static,
{
    /// Makes the call and waits for the reply on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`CannotWait`](krarup_gen::CannotWait).
    pub fn wait(self) -> Result<T, NamedCallError> {
        self.into_future().wait()
    }
}

impl<M, C, T, F> IntoFuture for NamedCall<M, C, T, F>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    F: FnMut(Reply<T>) -> M + Send + 'static,
{
    type Output = Result<T, NamedCallError>;
    type IntoFuture = Pending<T, NamedCallError>;

    /// # Errors
    /// [`NamedCallError`].
    fn into_future(self) -> Self::IntoFuture {
        let host = Arc::clone(self.named.host());
        // Used where it lies: what is moved into a variable of the future has its room there twice.
        let mut unmade = self;
        Pending::new(host, async move {
            let NamedCall { named, request, timeout, until, retry, .. } = &mut unmade;
            retry.check()?;
            let host = named.host();
            let start = host.now();
            let deadline = match (timeout.map(|limit| start + limit), *until) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            let time = CallTime { host, start, deadline };
            let mut failed: Option<FailedAttempt> = None;
            loop {
                let (address, left) = match named.last() {
                    // Mostly the process that the name had last is there, and the call begins.
                    Some(last) if failed.is_none() && last.is_alive() => {
                        (last, deadline.map(|deadline| deadline.since(start)))
                    }
                    // Boxed, because it waits seldom, and then long.
                    _ => {
                        let found = Box::pin(time.address(named, retry, failed.as_ref())).await;
                        (found?, time.left())
                    }
                };
                let ask = |reply: Reply<T>| {
                    request(match deadline {
                        Some(deadline) => reply.until(deadline),
                        None => reply,
                    })
                };
                let call = address.call(ask);
                let outcome = match retry.time_of_attempt(left) {
                    Some(limit) => call.timeout(limit).await,
                    None => call.no_timeout().await,
                };
                let error = match outcome {
                    Ok(value) => return Ok(value),
                    Err(error) => error,
                };
                let attempts = failed.map_or(1, |failed| failed.attempts.saturating_add(1));
                let ended = (!address.is_alive()).then(|| address.pid());
                let random = time.host.random();
                match retry.after(&error, attempts, ended.is_some(), time.left(), random) {
                    Again::No => return Err(NamedCallError::Call { error, attempts }),
                    Again::After(wait) => {
                        failed = Some(FailedAttempt { error, attempts, ended, wait });
                    }
                }
            }
        })
    }
}

/// An attempt that is repeated.
struct FailedAttempt {
    error: CallError,
    attempts: u32,
    /// The process, if it has ended.
    ended: Option<Pid>,
    /// How long the next attempt waits.
    wait: Duration,
}

/// The time of a call.
struct CallTime<'a> {
    host: &'a Arc<dyn Host>,
    start: Timestamp,
    deadline: Option<Timestamp>,
}

impl CallTime<'_> {
    fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.since(self.host.now()))
    }

    /// Returns the address for the next attempt, when that is due.
    async fn address<M, C>(
        &self,
        named: &NamedAddress<M, C>,
        retry: &Retry,
        failed: Option<&FailedAttempt>,
    ) -> Result<Address<M, C>, NamedCallError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        let ended = failed.and_then(|failed| failed.ended);
        let mut address = match named.last() {
            Some(last) if last.is_alive() => last,
            _ => self.look_up(named, retry, failed, ended).await?,
        };
        let wait = failed.map_or(Duration::ZERO, |failed| failed.wait);
        if !wait.is_zero() {
            let due = self.host.now() + wait;
            let due = self.deadline.map_or(due, |deadline| deadline.min(due));
            Sleep::until(Arc::clone(self.host), due).await;
            if !address.is_alive() {
                let ended = Some(address.pid());
                address = self.look_up(named, retry, failed, ended).await?;
            }
        }
        Ok(address)
    }

    /// Waits until a process has the name, other than the one that has ended.
    async fn look_up<M, C>(
        &self,
        named: &NamedAddress<M, C>,
        retry: &Retry,
        failed: Option<&FailedAttempt>,
        ended: Option<Pid>,
    ) -> Result<Address<M, C>, NamedCallError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        let wait = NameWait::new(self.host, named.full_name(), ended);
        let limit = if retry.waits_for_a_name() { self.left() } else { Some(Duration::ZERO) };
        let found = match limit {
            None => Some(wait.await),
            Some(limit) => within(self.host, limit, wait).await,
        };
        let no_name = match found {
            Some(Ok(process)) => {
                let address = Address::of(&process).map_err(NamedCallError::Lookup)?;
                named.remember(&address);
                return Ok(address);
            }
            Some(Err(NoWait::NodeStops)) => {
                NamedCallError::NodeStopped { name: named.full_name().clone() }
            }
            Some(Err(NoWait::AskedToStop)) => {
                NamedCallError::Stopping { name: named.full_name().clone() }
            }
            None => NamedCallError::NoName {
                name: named.full_name().clone(),
                waited: self.host.now().since(self.start),
            },
        };
        Err(match failed {
            Some(FailedAttempt { error, attempts, .. }) => {
                NamedCallError::Call { error: error.clone(), attempts: *attempts }
            }
            None => no_name,
        })
    }
}

impl<M, C, T, F> fmt::Debug for NamedCall<M, C, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedCall")
            .field("name", &self.named.name())
            .field("timeout", &self.timeout)
            .field("until", &self.until)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
