//! The open connections of a server.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use krarup::observe::Inspection;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Accepts connections, at most a given number at a time, and serves each in a task of the runtime.
pub(crate) struct OpenConnections {
    routes: Router,
    places: Arc<Semaphore>,
    most: usize,
    head: Duration,
    open: GracefulShutdown,
    accepted: u64,
    stopping: Arc<AtomicBool>,
}

impl OpenConnections {
    pub(crate) fn new(routes: Router, most: usize, head: Duration) -> Self {
        OpenConnections {
            // Their state is given: axum prepares the routes once, and not for each request.
            routes: routes.with_state(()),
            places: Arc::new(Semaphore::new(most)),
            most,
            head,
            open: GracefulShutdown::new(),
            accepted: 0,
            stopping: Arc::default(),
        }
    }

    /// Accepts the next connection, once a place is free for it.
    pub(crate) async fn accept(
        &self,
        socket: &TcpListener,
    ) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = socket.accept().await?;
        Ok((stream, place))
    }

    pub(crate) fn serve(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        self.accepted += 1;
        // Answers are small and written whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let routes = TowerToHyperService::new(self.routes.clone());
        let stopping = Arc::clone(&self.stopping);
        // Around all routes, not a layer of the router: that would be two boxes for each request.
        let service = service_fn(move |request: Request<Incoming>| {
            let (answer, stopping) = (routes.call(request), Arc::clone(&stopping));
            async move {
                let mut answer = answer.await?;
                if stopping.load(Ordering::Relaxed) {
                    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open.watch(connection);
        tokio::spawn(async move {
            // A client that disconnects or does not speak HTTP affects only its own connection.
            let _ = connection.await;
            drop(place);
        });
    }

    /// From now on every answer says that its connection is closed.
    pub(crate) fn begin_to_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Waits until the requests under way are answered, or the time is up.
    pub(crate) async fn drain(self, limit: Duration) {
        let _ = timeout(limit, self.open.shutdown()).await;
    }

    pub(crate) fn inspection(&self) -> Inspection {
        Inspection::new()
            .with("connections", self.most.saturating_sub(self.places.available_permits()))
            .with("accepted", self.accepted)
    }
}
