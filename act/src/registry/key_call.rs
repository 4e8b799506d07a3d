//! Calls to the process of a key.

use crate::addressing::address::Address;
use crate::calls::deadline::DEFAULT_CALL_TIMEOUT;
use crate::calls::reply::Reply;
use krarup_gen::KeyCallError;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

/// A call to the process of a key that has not been made yet; made by
/// [`Registry::call`](crate::Registry::call). Use `.await`, or `.wait()` on a plain thread.
#[must_use = "a call does nothing until it is awaited or waited for"]
pub struct KeyCall<M, C, T, F> {
    address: Option<Address<M, C>>,
    request: F,
    timeout: Option<Duration>,
    reply: PhantomData<fn() -> T>,
}

impl<M, C, T, F> KeyCall<M, C, T, F> {
    pub(crate) fn new(address: Option<Address<M, C>>, request: F) -> Self {
        KeyCall { address, request, timeout: Some(DEFAULT_CALL_TIMEOUT), reply: PhantomData }
    }

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

    /// Makes the call and waits for the reply on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`CannotWait`](krarup_gen::CannotWait).
    pub fn wait(self) -> Result<T, KeyCallError>
    where
        M: Send + 'static,
        C: Send + 'static,
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send,
    {
        let address = self.address.ok_or(KeyCallError::NoProcess)?;
        let call = address.call(self.request);
        Ok(match self.timeout {
            Some(timeout) => call.timeout(timeout).wait()?,
            None => call.no_timeout().wait()?,
        })
    }
}

impl<M, C, T, F> IntoFuture for KeyCall<M, C, T, F>
where
    M: Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
    F: FnOnce(Reply<T>) -> M + Send + 'static,
{
    type Output = Result<T, KeyCallError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T, KeyCallError>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let address = self.address.ok_or(KeyCallError::NoProcess)?;
            let call = address.call(self.request);
            Ok(match self.timeout {
                Some(timeout) => call.timeout(timeout).await?,
                None => call.no_timeout().await?,
            })
        })
    }
}

impl<M, C, T, F> fmt::Debug for KeyCall<M, C, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCall")
            .field("address", &self.address)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
