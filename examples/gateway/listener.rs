//! The HTTP server as a process: it stands in the tree like any other, is restarted by
//! its supervisor, and is asked to stop before the processes that it needs.
//!
//! It awaits tokio's sockets in its own turns, which is what the node's feature `tokio`
//! is for. Connections are tokio tasks; what they ask of processes are calls.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::map_response;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use krarup::prelude::*;
use krarup::{Behavior, Received};
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// Connections at one time; more wait until one is closed.
const CONNECTIONS: usize = 1024;
/// How long a client may take to send the head of a request, or nothing at all.
const HEAD: Duration = Duration::from_secs(15);
/// How long requests under way may take to be answered when the server stops.
pub(crate) const DRAIN: Duration = Duration::from_secs(10);

/// For how long, when the server stops, answers say that the connection closes before it
/// does. So a client that sends one request after the other has none on its way then.
const NOTICE: Duration = Duration::from_millis(100);

/// The process.
pub(crate) struct Listener {
    address: SocketAddr,
    bound: Arc<OnceLock<SocketAddr>>,
    routes: Router,
}

impl Listener {
    /// A server of these routes. The port it got goes into `bound`, and from there to its
    /// successors.
    pub(crate) fn new(
        address: SocketAddr,
        bound: Arc<OnceLock<SocketAddr>>,
        routes: Router,
    ) -> Self {
        Listener { address, bound, routes }
    }

    async fn bind(&self) -> Result<TcpListener, Reason> {
        let address = *self.bound.get().unwrap_or(&self.address);
        let socket = TcpListener::bind(address)
            .await
            .map_err(|error| Reason::error(format!("cannot listen on {address}: {error}")))?;
        let _ = self.bound.set(socket.local_addr()?);
        Ok(socket)
    }
}

impl Behavior for Listener {
    type Message = Infallible;
    type Command = Infallible;

    async fn run(self, mut ctx: Context<Infallible>) -> Result {
        ctx.stop_in_order(true);
        let socket = self.bind().await?;
        ctx.initialised();
        let mut server = Server::new(self.routes);
        let reason = loop {
            tokio::select! {
                item = ctx.receive() => match item {
                    Received::Stop(reason) => break reason,
                    Received::Finish => break Reason::Normal,
                    Received::Inspect(reply) => reply.send(server.inspection()),
                    // It takes no messages, traps no exits and monitors nobody.
                    _ => {}
                },
                accepted = server.accept(&socket) => match accepted {
                    Ok((stream, place)) => server.serve(stream, place),
                    // Out of file descriptors, most likely: they come back.
                    Err(_) => sleep(Duration::from_millis(10)).await,
                },
            }
            // A flood of connections must not keep the stop waiting.
            tokio::task::yield_now().await;
        };
        server.stopping.store(true, Ordering::Relaxed);
        // Clients that are connected already, as far as they know, are served.
        while let Ok(Ok((stream, place))) = timeout(Duration::ZERO, server.accept(&socket)).await {
            server.serve(stream, place);
        }
        drop(socket);
        sleep(NOTICE).await;
        server.drain().await;
        Err(reason)
    }

    fn label() -> &'static str {
        "Listener"
    }
}

/// The connections.
struct Server {
    routes: Router,
    places: Arc<Semaphore>,
    open: GracefulShutdown,
    accepted: u64,
    stopping: Arc<AtomicBool>,
}

impl Server {
    fn new(routes: Router) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopping);
        let routes = routes.layer(map_response(move |mut answer: Response| {
            if flag.load(Ordering::Relaxed) {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            ready(answer)
        }));
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        Server { routes, places, open: GracefulShutdown::new(), accepted: 0, stopping }
    }

    /// The next connection, when there is a place for it.
    async fn accept(&self, socket: &TcpListener) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = socket.accept().await?;
        Ok((stream, place))
    }

    fn serve(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        self.accepted += 1;
        // Answers are small and written whole: nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(self.routes.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open.watch(connection);
        tokio::spawn(async move {
            // A client that breaks off, or does not speak HTTP, is no concern of ours.
            let _ = connection.await;
            drop(place);
        });
    }

    /// Waits until the requests under way are answered.
    async fn drain(self) {
        let _ = timeout(DRAIN, self.open.shutdown()).await;
    }

    fn inspection(&self) -> Inspection {
        Inspection::new()
            .with("connections", CONNECTIONS - self.places.available_permits())
            .with("accepted", self.accepted)
    }
}
