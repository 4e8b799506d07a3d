//! A process as a service.

use crate::callee::Callee;
use crate::request_room::RequestRoom;
use krarup::{Address, CallError, DEFAULT_CALL_TIMEOUT, NamedAddress, Reply};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// A process, or a pool, as a [`Service`]: each request is a call.
///
/// `poll_ready` reserves room in the mailbox of the process, or at a worker of the pool, and waits in
/// line for it. The request takes this room, so a request that was let in is not refused. A service
/// that is dropped when it is ready gives its room back. A clone has none of its own yet.
///
/// Where the receiver depends on the request, nothing is waited for: a pool whose routing looks at the
/// job (a key) is ready if each worker has room, and otherwise fails with [`CallError::Full`]; grains fail
/// with [`CallError::NotReservable`]. There use [`CallService::shedding`].
///
/// ```
/// use krarup::prelude::*;
/// use krarup_tower::CallService;
/// use tower::{Service, ServiceExt};
///
/// /// Counts the letters of a text.
/// struct Letters;
///
/// impl Actor for Letters {
///     type Message = (String, Reply<usize>);
///
///     async fn handle_message(
///         &mut self,
///         _: &mut Context<Self::Message>,
///         (text, reply): Self::Message,
///     ) -> Result {
///         reply.send(text.len());
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// let node = Node::start("letters@localhost")?;
/// let pool = node.spawn(|| Pool::new(4, || Letters).mailbox(16)).await?;
/// let mut service = CallService::new(pool, |text: String, reply| (text, reply));
/// assert_eq!(service.ready().await?.call("a text".to_owned()).await?, 6);
/// # node.stop().await?;
/// # Ok(())
/// # }
/// ```
pub struct CallService<M, C, Q, T: Send + 'static> {
    callee: Callee<M, C>,
    message: Arc<dyn Fn(Q, Reply<T>) -> M + Send + Sync>,
    timeout: Option<Duration>,
    sheds: bool,
    room: RequestRoom<M, C>,
    response: PhantomData<fn(Q) -> T>,
}

impl<M, C, Q, T> CallService<M, C, Q, T>
where
    M: Send + 'static,
    C: Send + 'static,
    Q: Send + 'static,
    T: Send + 'static,
{
    /// Creates the service. `message` makes a message of a request and its reply token. The default
    /// timeout of a request is 5 s, from when it has begun.
    ///
    /// It is the service of this process, and has failed when that has ended. A process that a supervisor may replace is
    /// called by its name: [`CallService::named`].
    pub fn new(
        address: Address<M, C>,
        message: impl Fn(Q, Reply<T>) -> M + Send + Sync + 'static,
    ) -> Self {
        Self::of(Callee::Process(address), message)
    }

    /// Creates the service of whichever process has a name ([`CallService::new`]). `poll_ready` waits through its restarts
    /// too, as long as the node runs; put a timeout around a service that is to be given up earlier. A
    /// request is one attempt: the process that had room for it gets it.
    pub fn named(
        callee: NamedAddress<M, C>,
        message: impl Fn(Q, Reply<T>) -> M + Send + Sync + 'static,
    ) -> Self {
        Self::of(Callee::Named(callee), message)
    }

    fn of(
        callee: Callee<M, C>,
        message: impl Fn(Q, Reply<T>) -> M + Send + Sync + 'static,
    ) -> Self {
        CallService {
            callee,
            message: Arc::new(message),
            timeout: Some(DEFAULT_CALL_TIMEOUT),
            sheds: false,
            room: RequestRoom::empty(),
            response: PhantomData,
        }
    }

    /// Sets how long a request waits for its reply.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits for replies as long as the process lives.
    #[must_use]
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Makes the service always ready: a request that finds no room, or a pool at its rate limit,
    /// fails at once with [`CallError::Full`] or [`CallError::RateLimited`], and one that finds no process with the name
    /// with [`CallError::Named`].
    #[must_use]
    pub fn shedding(mut self) -> Self {
        self.sheds = true;
        self.room = RequestRoom::empty();
        self
    }

    /// Returns the process that is called now.
    ///
    /// # Errors
    /// [`CallError::Named`] if no process has the name, or it takes other messages.
    pub fn address(&self) -> Result<Address<M, C>, CallError> {
        self.callee.address()
    }
}

impl<M, C, Q, T> Service<Q> for CallService<M, C, Q, T>
where
    M: Send + 'static,
    C: Send + 'static,
    Q: Send + 'static,
    T: Send + 'static,
{
    type Response = T;
    type Error = CallError;
    type Future = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        if self.sheds { Poll::Ready(Ok(())) } else { self.room.poll(&self.callee, cx) }
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let (message, timeout) = (Arc::clone(&self.message), self.timeout);
        if self.sheds {
            let address = self.callee.address();
            return Box::pin(async move {
                let address = address?;
                let call = address.call(move |reply| message(request, reply));
                match timeout {
                    Some(timeout) => call.timeout(timeout).await,
                    None => call.no_timeout().await,
                }
            });
        }
        // A caller that has not asked whether there is room takes its chance.
        let (address, room) = match self.room.take(&self.callee) {
            Ok(reserved) => reserved,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let call = address.call_into(room, move |reply| message(request, reply));
        Box::pin(match timeout {
            Some(timeout) => call.timeout(timeout).into_future(),
            None => call.no_timeout().into_future(),
        })
    }
}

/// A clone has no room of its own yet.
impl<M, C, Q, T: Send + 'static> Clone for CallService<M, C, Q, T> {
    fn clone(&self) -> Self {
        CallService {
            callee: self.callee.clone(),
            message: Arc::clone(&self.message),
            timeout: self.timeout,
            sheds: self.sheds,
            room: RequestRoom::empty(),
            response: PhantomData,
        }
    }
}

impl<M, C, Q, T: Send + 'static> fmt::Debug for CallService<M, C, Q, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallService")
            .field("callee", &self.callee)
            .field("timeout", &self.timeout)
            .field("sheds", &self.sheds)
            .finish_non_exhaustive()
    }
}
