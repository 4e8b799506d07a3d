//! The HTTP server as a process: it is part of the tree like any other, is restarted by
//! its supervisor, and is asked to stop before the processes that it needs.
//!
//! It awaits tokio's sockets in its own turns, which the node's feature `tokio` makes
//! possible. Connections are tokio tasks; they reach processes by calls.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::map_response;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use krarup::behavior::{Behavior, Received};
use krarup::prelude::*;
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

/// The most open connections; more wait until one is closed.
const CONNECTIONS: usize = 1024;
/// How long a client may take to send the head of a request, or stay silent.
const HEAD: Duration = Duration::from_secs(15);
/// How long the server waits, when it stops, for the requests under way to be answered.
pub(crate) const DRAIN: Duration = Duration::from_secs(10);

/// How long a stopping server announces in its answers that it closes the connection,
/// before it does so. A client that sends one request after the other then has no request
/// under way at that moment.
const NOTICE: Duration = Duration::from_millis(100);

/// The process of the HTTP server.
pub(crate) struct Listener {
    address: SocketAddr,
    bound: Arc<OnceLock<SocketAddr>>,
    routes: Router,
}

impl Listener {
    /// Creates a server of these routes. The port it gets is stored in `bound`, and a
    /// restarted server uses the same port.
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
        ctx.stop_in_order();
        let socket = self.bind().await?;
        ctx.initialised();
        let mut server = Server::new(self.routes);
        let reason = loop {
            tokio::select! {
                item = ctx.receive() => match item {
                    Received::Stop(reason) => break reason,
                    Received::Finish => break Reason::Normal,
                    Received::Inspect(reply) => reply.send(server.inspection()),
                    // It takes no messages, does not trap exits, and has no monitors.
                    _ => {}
                },
                accepted = server.accept(&socket) => match accepted {
                    Ok((stream, place)) => server.serve(stream, place),
                    // Most likely there are no free file descriptors. Some will be freed.
                    Err(_) => sleep(Duration::from_millis(10)).await,
                },
            }
            // A flood of connections must not delay the stop.
            tokio::task::yield_now().await;
        };
        server.stopping.store(true, Ordering::Relaxed);
        // Clients that already see their connection as established are served.
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

/// The open connections.
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

    /// Accepts the next connection, once a slot is free for it.
    async fn accept(&self, socket: &TcpListener) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = socket.accept().await?;
        Ok((stream, place))
    }

    fn serve(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        self.accepted += 1;
        // Answers are small and written whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(self.routes.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open.watch(connection);
        tokio::spawn(async move {
            // A client that disconnects or does not speak HTTP affects only its own connection.
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream as Client;
    use std::sync::Mutex;
    use tokio::sync::oneshot;

    /// Sends a request over a connection that stays open, and reads the head of the answer.
    fn ask(client: &mut BufReader<Client>, path: &str) -> String {
        send(client, path);
        answer(client)
    }

    fn send(client: &BufReader<Client>, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        client.get_ref().write_all(request.as_bytes()).expect("a request");
    }

    /// Reads the head of an answer whose body has two bytes.
    fn answer(client: &mut BufReader<Client>) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(client.read_line(&mut head).expect("a line") > 0, "the end");
        }
        client.read_exact(&mut [0; 2]).expect("a body");
        head
    }

    fn connect(address: SocketAddr) -> BufReader<Client> {
        let client = Client::connect(address).expect("a connection");
        client.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        BufReader::new(client)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_stop_answers_requests_under_way_and_the_next_listener_gets_the_port() {
        let node = Node::builder("listener").tokio(tokio::runtime::Handle::current()).start();
        let node = node.expect("a node");
        let (begun, begins) = oneshot::channel();
        let (go_on, goes_on) = oneshot::channel::<()>();
        let once = Arc::new(Mutex::new(Some((begun, goes_on))));
        let waits = move || {
            let once = once.lock().expect("no panic").take();
            async move {
                let (begun, goes_on) = once.expect("one request");
                let _ = begun.send(());
                let _ = goes_on.await;
                "ok"
            }
        };
        let routes = Router::new().route("/quick", get(|| ready("ok"))).route("/waits", get(waits));
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = Arc::new(OnceLock::new());
        let listener = {
            let (bound, routes) = (Arc::clone(&bound), routes.clone());
            move || Listener::new(any_port, bound, routes)
        };
        let first = node.spawn(listener).await.expect("a listener");
        let address = *bound.get().expect("a port");
        let mut client = connect(address);
        let (head, mut client) = blocking(move || (ask(&mut client, "/quick"), client)).await;
        assert!(head.starts_with("HTTP/1.1 200") && !head.contains("connection: close"), "{head}");
        let shown = first.inspect().await.expect("an inspection");
        assert_eq!((shown.number("connections"), shown.number("accepted")), (Some(1), Some(1)));

        send(&client, "/waits");
        begins.await.expect("it is handled");
        let end = first.watch();
        first.process().request_stop(Reason::shutdown("enough"));
        // The listener accepts no more connections, but still serves this one.
        blocking(move || while Client::connect(address).is_ok() {}).await;
        assert!(first.is_alive());
        go_on.send(()).expect("it waits");
        let (head, rest) = blocking(move || {
            let head = answer(&mut client);
            let mut rest = Vec::new();
            (head, client.read_to_end(&mut rest).map(|_| rest))
        })
        .await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("connection: close"), "{head}");
        assert_eq!(rest.expect("an end"), b"");
        assert_eq!(end.await.reason, Reason::shutdown("enough"));

        let port = Arc::clone(&bound);
        let second = node.spawn(move || Listener::new(any_port, port, routes)).await;
        let second = second.expect("the same port");
        let head = blocking(move || ask(&mut connect(address), "/quick")).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        second.finish();
        node.stop().await.expect("an end");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_port_that_is_taken_is_an_error_that_names_it() {
        let node = Node::builder("taken").tokio(tokio::runtime::Handle::current()).start();
        let node = node.expect("a node");
        let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = taken.local_addr().expect("an address");
        let listener = move || Listener::new(address, Arc::default(), Router::new());
        let Err(SpawnError::Init(reason)) = node.spawn(listener).await else { panic!("it has it") };
        assert!(reason.to_string().starts_with(&format!("cannot listen on {address}: ")));
        node.stop().await.expect("an end");
    }

    async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        tokio::task::spawn_blocking(work).await.expect("no panic")
    }
}
