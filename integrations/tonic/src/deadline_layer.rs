//! The deadline of a request ends its handler (rule Q10).

use crate::grpc_timeout::timeout_of;
use crate::request_deadline::WaitsUntil;
use http::{Request, Response};
use krarup::NodeClock;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

/// Reads how long the client of each request waits, tells its handler
/// ([`RequestDeadline`](crate::RequestDeadline)), and ends the handler when that time is over (rule Q10).
///
/// The header is `grpc-timeout`, which every client of gRPC sends with a deadline. A handler that has not
/// responded by then is dropped, and its calls with it; the status is `DEADLINE_EXCEEDED`. A header that
/// is no timeout is `INVALID_ARGUMENT`, with a [`MalformedTimeout`](crate::MalformedTimeout) as its source,
/// and the handler is not begun. A request without the header has no deadline.
///
/// The time is that of the node, and virtual in a simulation. It ends the handler, not a stream of messages
/// that the handler has responded with: the client ends that.
///
/// [`grpc_server`](crate::grpc_server) has this layer. Under another server, or in a test, it goes around the
/// routes:
///
/// ```
/// use krarup::testing::Simulation;
/// use krarup_tonic::DeadlineLayer;
/// use tonic::service::Routes;
///
/// let sim = Simulation::new(1);
/// let layer = DeadlineLayer::new(sim.node().clock());
/// let routes = Routes::default().into_axum_router().layer(layer);
/// # let _ = routes;
/// ```
#[derive(Clone, Debug)]
pub struct DeadlineLayer {
    clock: NodeClock,
}

impl DeadlineLayer {
    /// Creates the layer of a node: `node.clock()`.
    #[must_use]
    pub fn new(clock: NodeClock) -> Self {
        DeadlineLayer { clock }
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> DeadlineService<S> {
        DeadlineService { inner, clock: self.clock.clone() }
    }
}

/// A service whose handlers end by the deadline of their request; made by [`DeadlineLayer`].
#[derive(Clone, Debug)]
pub struct DeadlineService<S> {
    inner: S,
    clock: NodeClock,
}

impl<S, Q, R> Service<Request<Q>> for DeadlineService<S>
where
    S: Service<Request<Q>, Response = Response<R>, Future: Send + 'static, Error: Send + 'static>,
    R: Default + Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let timeout = match timeout_of(request.headers()) {
            Ok(Some(timeout)) => timeout,
            Ok(None) => return Box::pin(self.inner.call(request)),
            Err(error) => {
                let mut status = Status::invalid_argument(error.to_string());
                status.set_source(Arc::new(error));
                return Box::pin(ready(Ok(status.into_http())));
            }
        };
        let clock = self.clock.clone();
        let deadline = clock.now() + timeout;
        request.extensions_mut().insert(WaitsUntil(deadline));
        let response = self.inner.call(request);
        Box::pin(async move {
            // Requests may wait in a layer around this one before they are polled.
            let left = deadline.since(clock.now());
            clock.timeout(left, response).await.unwrap_or_else(|| {
                Ok(Status::deadline_exceeded(Code::DeadlineExceeded.description()).into_http())
            })
        })
    }
}
