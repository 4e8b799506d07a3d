//! The open connections of a server.

use crate::client_timeouts::ClientTimeouts;
#[cfg(feature = "http2")]
use crate::http2_connection;
use crate::request_routes::RequestRoutes;
use crate::timeout_stream::TimeoutStream;
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use krarup::behavior::NameScope;
use krarup::observe::Inspection;
use std::convert::Infallible;
use std::io;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What a server speaks on its connections.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HttpVersion {
    Http1,
    #[cfg(feature = "http2")]
    Http2,
}

impl HttpVersion {
    /// How long a stopping server says in its answers that it closes the connection, before it closes those
    /// without a request. A client that sends one request after the other then has none under way. With
    /// HTTP/2 the end of a connection is agreed on by the protocol.
    pub(crate) fn notice(self) -> Duration {
        match self {
            HttpVersion::Http1 => Duration::from_millis(100),
            #[cfg(feature = "http2")]
            HttpVersion::Http2 => Duration::ZERO,
        }
    }
}

/// Accepts connections, at most a given number at a time, and serves each in a task of the runtime.
pub(crate) struct OpenConnections {
    routes: Router,
    version: HttpVersion,
    places: Arc<Semaphore>,
    most: usize,
    timeouts: ClientTimeouts,
    open: GracefulShutdown,
    tasks: JoinSet<()>,
    accepted: u64,
    stopping: Arc<AtomicBool>,
    /// What requests under way wait for by name.
    names: Arc<NameScope>,
    #[cfg(feature = "http2")]
    ending: tokio::sync::watch::Sender<()>,
}

impl OpenConnections {
    pub(crate) fn new(
        routes: Router,
        version: HttpVersion,
        most: usize,
        timeouts: ClientTimeouts,
        names: Arc<NameScope>,
    ) -> Self {
        OpenConnections {
            // Their state is given: axum prepares the routes once, and not for each request.
            routes: routes.with_state(()),
            version,
            places: Arc::new(Semaphore::new(most)),
            most,
            timeouts,
            open: GracefulShutdown::new(),
            tasks: JoinSet::new(),
            accepted: 0,
            stopping: Arc::default(),
            names,
            #[cfg(feature = "http2")]
            ending: tokio::sync::watch::Sender::new(()),
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
        // Forget the connections that have ended.
        while self.tasks.try_join_next().is_some() {}
        // Answers are small and written whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        match self.version {
            HttpVersion::Http1 => self.serve_http1(stream, place),
            #[cfg(feature = "http2")]
            HttpVersion::Http2 => self.serve_http2(stream, place),
        }
    }

    fn serve_http1(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let routes = self.request_routes();
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
        let stream = TimeoutStream::new(stream, self.timeouts.write);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.timeouts.head)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open.watch(connection);
        self.tasks.spawn(async move {
            // A client that disconnects or does not speak HTTP affects only its own connection.
            let _ = connection.await;
            drop(place);
        });
    }

    /// The routes for one connection.
    fn request_routes(&self) -> RequestRoutes {
        RequestRoutes::new(self.routes.clone(), self.timeouts.body, Arc::clone(&self.names))
    }

    #[cfg(feature = "http2")]
    fn serve_http2(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let routes = self.request_routes();
        let (timeouts, watcher) = (self.timeouts, self.open.watcher());
        let mut ending = self.ending.subscribe();
        self.tasks.spawn(async move {
            let begun = tokio::select! {
                // What has begun already is served.
                biased;
                begun = timeout(timeouts.head, http2_connection::begin(stream, timeouts.write)) => begun,
                _ = ending.changed() => return,
            };
            if let Ok(Ok(stream)) = begun {
                let _ = watcher.watch(http2_connection::serve(stream, routes, timeouts.head)).await;
            }
            drop(place);
        });
    }

    /// From now on every answer says that its connection is closed, and no request waits for a name.
    pub(crate) fn begin_to_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.names.end();
    }

    /// Waits until the requests under way are answered, or the time is up. Then it cuts them off.
    pub(crate) async fn drain(mut self, limit: Duration) {
        #[cfg(feature = "http2")]
        self.ending.send_replace(());
        if timeout(limit, take(&mut self.open).shutdown()).await.is_err() {
            self.tasks.abort_all();
        }
    }

    pub(crate) fn inspection(&self) -> Inspection {
        Inspection::new()
            .with("connections", self.most.saturating_sub(self.places.available_permits()))
            .with("accepted", self.accepted)
    }
}

/// The connections of a server that is killed are closed when their requests are done.
impl Drop for OpenConnections {
    fn drop(&mut self) {
        self.tasks.detach_all();
    }
}
