//! The limits of a pool for any service.

use crate::callee::Callee;
use crate::caller_watch::caller_watch;
use crate::request_room::RequestRoom;
use krarup::pool::PoolCommand;
use krarup::{
    Actor, Address, CallError, Context as ProcessContext, DEFAULT_CALL_TIMEOUT, NamedAddress, Reply,
};
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

/// A request that a worker runs.
pub struct RequestWork(Pin<Box<dyn Future<Output = ()> + Send>>);

impl fmt::Debug for RequestWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestWork")
    }
}

/// The worker of a [`PoolLayer`]: it runs one request after the other.
///
/// A request that panics ends its worker, which the pool replaces. Its caller gets
/// [`CallError::Terminated`] with the panic, and no other request is affected.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestWorker;

impl Actor for RequestWorker {
    type Message = RequestWork;

    async fn handle_message(
        &mut self,
        _: &mut ProcessContext<RequestWork>,
        RequestWork(work): RequestWork,
    ) -> krarup::Result {
        work.await;
        Ok(())
    }
}

/// Runs the requests of a service in the workers of a pool: one at a time in each, and as many wait
/// as the mailboxes of the workers hold.
///
/// So the bounds of the pool are those of the service: its workers limit how many requests run at
/// once, its mailboxes how many wait, its [`Rate`](krarup::pool::Rate) how many begin in a second, its
/// time to live how old they may be. `poll_ready` waits until there is room; with
/// [`PoolLayer::shedding`] a request without room fails at once.
///
/// A request whose caller has given up, because its time is over or its client has gone, is dropped by its worker: one that
/// waits is not begun, and one that runs ends where it waits. So a request that hangs holds its worker no longer than
/// [`PoolLayer::timeout`]. What must be done to its end is a message to a process.
///
/// It is a layer of an axum router too, below one that makes a response of its errors (rule Q7): the
/// README shows it.
///
/// ```
/// use krarup::pool::Rate;
/// use krarup::prelude::*;
/// use krarup_tower::{PoolLayer, RequestWorker};
/// use tower::{Layer, Service, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// let node = Node::start("limits@localhost")?;
/// // 8 requests at once, 64 wait, 1000 begin in a second.
/// let pool = || Pool::new(8, || RequestWorker).mailbox(8).rate(Rate::per_second(1000.0).burst(50));
/// let pool = node.spawn(pool).await?;
/// let upper = service_fn(async |text: String| Ok::<_, std::io::Error>(text.to_uppercase()));
/// let mut limited = PoolLayer::new(pool).layer(upper);
/// assert_eq!(limited.ready().await?.call("text".to_owned()).await?, "TEXT");
/// # node.stop().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PoolLayer {
    pool: Callee<RequestWork, PoolCommand>,
    timeout: Option<Duration>,
    sheds: bool,
}

impl PoolLayer {
    /// Creates the layer of a pool of [`RequestWorker`]s. The default timeout of a request is 5 s.
    ///
    /// Its services have failed when this pool has ended. A pool that a supervisor may replace is reached by
    /// its name: [`PoolLayer::named`].
    #[must_use]
    pub fn new(pool: Address<RequestWork, PoolCommand>) -> Self {
        Self::of(Callee::Process(pool))
    }

    /// Creates the layer of whichever pool has a name ([`PoolLayer::new`]). `poll_ready` waits through its restarts too, as
    /// long as the node runs. A request that runs when its pool ends fails with it.
    #[must_use]
    pub fn named(pool: NamedAddress<RequestWork, PoolCommand>) -> Self {
        Self::of(Callee::Named(pool))
    }

    fn of(pool: Callee<RequestWork, PoolCommand>) -> Self {
        PoolLayer { pool, timeout: Some(DEFAULT_CALL_TIMEOUT), sheds: false }
    }

    /// Sets how long a request may take, from when it was let in. Then it is dropped.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets no limit to how long a request may take.
    #[must_use]
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Makes services ready whether or not there is room: a request without room, or beyond the rate,
    /// fails at once with [`CallError::Full`] or [`CallError::RateLimited`].
    #[must_use]
    pub fn shedding(mut self) -> Self {
        self.sheds = true;
        self
    }
}

impl<S> Layer<S> for PoolLayer {
    type Service = PooledService<S>;

    fn layer(&self, inner: S) -> PooledService<S> {
        PooledService { inner, layer: self.clone(), room: RequestRoom::empty() }
    }
}

/// A service whose requests run in the workers of a pool; made by [`PoolLayer`].
pub struct PooledService<S> {
    inner: S,
    layer: PoolLayer,
    room: RequestRoom<RequestWork, PoolCommand>,
}

/// The error of a request that runs in a pool.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolLayerError<E> {
    /// The pool has not run the request to its end.
    #[error("the pool has not run the request: {0}")]
    Pool(#[source] CallError),
    /// The service has failed.
    #[error(transparent)]
    Service(E),
}

/// What is left of the error where the service itself does not fail, as the routes of axum.
impl From<PoolLayerError<Infallible>> for CallError {
    fn from(error: PoolLayerError<Infallible>) -> Self {
        match error {
            PoolLayerError::Pool(error) => error,
            PoolLayerError::Service(never) => match never {},
        }
    }
}

impl<S, Q> Service<Q> for PooledService<S>
where
    S: Service<Q, Future: Send + 'static, Response: Send + 'static, Error: Send + 'static>,
{
    type Response = S::Response;
    type Error = PoolLayerError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // The service first: room is not kept while it is not ready.
        ready!(self.inner.poll_ready(cx)).map_err(PoolLayerError::Service)?;
        if self.layer.sheds {
            return Poll::Ready(Ok(()));
        }
        self.room.poll(&self.layer.pool, cx).map_err(PoolLayerError::Pool)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let PoolLayer { pool, timeout, .. } = &self.layer;
        let (pool, room) = match self.room.take(pool) {
            Ok(reserved) => reserved,
            Err(error) => return Box::pin(std::future::ready(Err(PoolLayerError::Pool(error)))),
        };
        let response = self.inner.call(request);
        let (waits, watch) = caller_watch();
        let work = move |reply: Reply<Result<S::Response, S::Error>>| {
            RequestWork(Box::pin(async move {
                // Nobody waits for a response any more.
                if !reply.is_wanted() {
                    return;
                }
                if let Some(response) = watch.unless_given_up(response).await {
                    reply.send(response);
                }
            }))
        };
        let call = pool.call_into(room, work);
        let call = match *timeout {
            Some(timeout) => call.timeout(timeout),
            None => call.no_timeout(),
        };
        Box::pin(async move {
            let _waits = waits;
            match call.await {
                Ok(response) => response.map_err(PoolLayerError::Service),
                Err(error) => Err(PoolLayerError::Pool(error)),
            }
        })
    }
}

/// A clone has no room of its own yet.
impl<S: Clone> Clone for PooledService<S> {
    fn clone(&self) -> Self {
        let (inner, layer) = (self.inner.clone(), self.layer.clone());
        PooledService { inner, layer, room: RequestRoom::empty() }
    }
}

impl<S> fmt::Debug for PooledService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledService").field("layer", &self.layer).finish_non_exhaustive()
    }
}
