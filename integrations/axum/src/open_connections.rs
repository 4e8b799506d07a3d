//! The open connections of a server.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::map_response;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use krarup::observe::Inspection;
use std::future::ready;
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
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopping);
        let routes = routes.layer(map_response(move |mut answer: Response| {
            if flag.load(Ordering::Relaxed) {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            ready(answer)
        }));
        let places = Arc::new(Semaphore::new(most));
        let open = GracefulShutdown::new();
        OpenConnections { routes, places, most, head, open, accepted: 0, stopping }
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
        let service = TowerToHyperService::new(self.routes.clone());
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
