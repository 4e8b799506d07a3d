//! The HTTP server as a process (rule Q6).

use crate::client_timeouts::{ClientTimeouts, LONGEST};
use crate::open_connections::{HttpVersion, OpenConnections};
use axum::Router;
use krarup::behavior::{Behavior, NameScope, Received};
use krarup::supervisor::{ChildSpec, Shutdown};
use krarup::{Context, Reason};
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

/// Makes the routes of a server, at each of its starts.
type RoutesOf = Arc<dyn Fn(&Context<Infallible>) -> krarup::Result<Router> + Send + Sync>;

/// An axum router behind a TCP port, as a process: a child of a supervisor, restarted by it on the same
/// port, and stopped in order (rule Q6).
///
/// It has started when it accepts connections. When it is asked to stop, it accepts no more, answers
/// the requests under way, and ends; requests that take longer than [`HttpServer::drain`] are cut off.
/// As the last child of a supervisor it is stopped first, while everything that its handlers call is
/// still there. Connections are tasks of the tokio runtime that the node was built with
/// (`Node::builder(..).tokio(..)`), so a restart of this process closes them when their requests are
/// done.
///
/// A clone is a description of the same server.
///
/// ```
/// use axum::Router;
/// use axum::routing::get;
/// use krarup::prelude::*;
/// use krarup_axum::HttpServer;
/// use std::time::Duration;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handle = tokio::runtime::Handle::current();
/// let node = Node::builder("shop@localhost").tokio(handle).start()?;
/// let routes = Router::new().route("/", get(async || "hello"));
/// let server = HttpServer::new(([127, 0, 0, 1], 0), routes);
/// let child = server.child("http");
/// let tree = || Supervisor::one_for_one().intensity(3, Duration::from_secs(5)).child(child);
/// node.spawn(tree).await?;
/// println!("serving on {:?}", server.bound());
/// # node.stop().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpServer {
    address: SocketAddr,
    routes: RoutesOf,
    version: HttpVersion,
    connections: usize,
    timeouts: ClientTimeouts,
    drain: Duration,
    bound: Arc<OnceLock<SocketAddr>>,
}

impl HttpServer {
    /// Creates the server of these routes. With port 0 the system chooses one, and a restarted server
    /// uses the same.
    pub fn new(address: impl Into<SocketAddr>, routes: Router) -> Self {
        HttpServer::routed(address, move |_| Ok(routes.clone()))
    }

    /// Creates a server whose routes are made at each of its starts, from the context of its process. For a
    /// description that is made before there is a node, as an application with settings from a file is.
    /// What they need of the node is in the context: [`Processes::with`](crate::Processes::with) takes it.
    /// If they cannot be made, the server does not start.
    ///
    /// ```
    /// use axum::Router;
    /// use axum::routing::get;
    /// use krarup::prelude::*;
    /// use krarup_axum::{ByName, CallRejection, HttpServer, NamedProcess, Processes};
    ///
    /// struct Till;
    ///
    /// impl NamedProcess for Till {
    ///     const NAME: &'static str = "till";
    ///     type Message = Reply<u64>;
    ///     type Command = Reply<u64>;
    /// }
    ///
    /// async fn total(till: ByName<Till>) -> Result<String, CallRejection> {
    ///     Ok(till.call(|reply| reply).await?.to_string())
    /// }
    ///
    /// let server = HttpServer::routed(([127, 0, 0, 1], 8080), |ctx| {
    ///     let processes = Processes::new().with::<Till>(ctx)?;
    ///     Ok(Router::new().route("/total", get(total)).with_state(processes))
    /// });
    /// # let _ = server;
    /// ```
    pub fn routed(
        address: impl Into<SocketAddr>,
        make: impl Fn(&Context<Infallible>) -> krarup::Result<Router> + Send + Sync + 'static,
    ) -> Self {
        HttpServer {
            address: address.into(),
            routes: Arc::new(make),
            version: HttpVersion::Http1,
            connections: 1024,
            timeouts: ClientTimeouts::default(),
            drain: Duration::from_secs(5),
            bound: Arc::default(),
        }
    }

    /// Makes it speak HTTP/2, and HTTP/1 no longer: without TLS, to clients that know it beforehand (h2c by
    /// prior knowledge), as those of gRPC and proxies do. A client that begins otherwise is disconnected.
    #[cfg(feature = "http2")]
    #[must_use]
    pub fn http2(mut self) -> Self {
        self.version = HttpVersion::Http2;
        self
    }

    /// Sets how many connections may be open; more wait in the queue of the system until one is
    /// closed. The default is 1024. With zero the server does not start.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most.min(tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Sets how long a client may take to send the head of a request, or stay silent between two. The
    /// default is 15 s, the most a hundred years. With zero the server does not start. With HTTP/2 it is how long a client may take to begin the connection; one that is
    /// silent later is asked after this time whether it is still there, and has as long again to answer.
    #[must_use]
    pub fn head_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.head = limit.min(LONGEST);
        self
    }

    /// Sets how long a handler waits for the next bytes of its request's body (rule Q11). The default is
    /// 30 s; with `Duration::MAX` there is no limit, and with zero the server does not start.
    ///
    /// The reader of the body then gets an error, whose source is an [`io::Error`](std::io::Error) of the kind
    /// [`TimedOut`](std::io::ErrorKind::TimedOut); the extractors of axum answer 400. After the answer the
    /// connection is closed, or with HTTP/2 the stream is reset. The time until the handler reads the body does not
    /// count; from a read that finds nothing it runs until the next byte, also if that read is given up. And a client that sends a byte in time goes on: the limit is one of silence,
    /// not of a rate. Routes that read a stream with long pauses need a longer limit.
    #[must_use]
    pub fn body_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.body = limit.min(LONGEST);
        self
    }

    /// Sets for how long a client may take nothing of an answer that is there (rule Q11). Then its
    /// connection is closed. The default is 60 s; with `Duration::MAX` there is no limit, and with zero the
    /// server does not start.
    ///
    /// An answer whose handler has nothing to send, as a stream of events between two, is not limited.
    /// The system holds up to some megabytes for a client, and reports progress when a third of it is taken: a
    /// limit of a few seconds also ends clients that read slowly. With HTTP/2 it holds for the connection; a
    /// client that reads the connection, and gives one stream no window, is not ended.
    #[must_use]
    pub fn write_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.write = limit.min(LONGEST);
        self
    }

    /// Sets how long a stopping server waits for the requests under way. The default is 5 s, half of the time that a node
    /// has for its stop by default: a longer one needs a longer [`stop_timeout`](krarup::NodeBuilder::stop_timeout).
    #[must_use]
    pub fn drain(mut self, limit: Duration) -> Self {
        self.drain = limit;
        self
    }

    /// The address that it serves on, once it has started.
    #[must_use]
    pub fn bound(&self) -> Option<SocketAddr> {
        self.bound.get().copied()
    }

    /// Describes it as a child of a supervisor: a permanent worker with this id and name, which gets a
    /// second more than [`HttpServer::drain`] to stop. It should be the last child, so that it is
    /// stopped first.
    pub fn child(&self, name: &str) -> ChildSpec {
        let server = self.clone();
        let stop = self.drain.saturating_add(Duration::from_secs(1));
        ChildSpec::worker(name, move || server.clone()).name(name).shutdown(Shutdown::Timeout(stop))
    }

    async fn bind(&self) -> Result<TcpListener, Reason> {
        if Handle::try_current().is_err() {
            let text = "the node has no tokio runtime: start it with Node::builder(..).tokio(..)";
            return Err(Reason::error(text));
        }
        if self.connections == 0 || self.timeouts.has_zero() {
            let (most, ClientTimeouts { head, body, write }) = (self.connections, self.timeouts);
            let text = format!(
                "{most} connections, timeouts of {head:?} for a head, {body:?} for a body and {write:?} for a \
                 write: none may be zero"
            );
            return Err(Reason::error(text));
        }
        let address = self.bound().unwrap_or(self.address);
        let socket = TcpListener::bind(address)
            .await
            .map_err(|error| Reason::error(format!("cannot listen on {address}: {error}")))?;
        // Set by the first start, and the same afterwards.
        let _ = self.bound.set(socket.local_addr()?);
        Ok(socket)
    }
}

impl Behavior for HttpServer {
    type Message = Infallible;
    type Command = Infallible;

    async fn run(self, mut ctx: Context<Infallible>) -> krarup::Result {
        ctx.stop_in_order();
        let routes = (self.routes)(&ctx)?;
        let socket = self.bind().await?;
        ctx.initialised();
        let mut open = OpenConnections::new(
            routes,
            self.version,
            self.connections,
            self.timeouts,
            NameScope::new(&ctx),
        );
        let reason = loop {
            tokio::select! {
                item = ctx.receive() => match item {
                    Received::Stop(reason) => break reason,
                    Received::Finish => break Reason::Normal,
                    Received::Inspect(reply) => reply.send(open.inspection()),
                    // It takes no messages, does not trap exits, and has no monitors.
                    _ => {}
                },
                accepted = open.accept(&socket) => match accepted {
                    Ok((stream, place)) => open.serve(stream, place),
                    // Most likely there are no free file descriptors. Some will be freed.
                    Err(_) => sleep(Duration::from_millis(10)).await,
                },
            }
            // A flood of connections must not delay the stop.
            tokio::task::yield_now().await;
        };
        open.begin_to_stop();
        // Clients that already see their connection as established are served.
        while let Ok(Ok((stream, place))) = timeout(Duration::ZERO, open.accept(&socket)).await {
            open.serve(stream, place);
        }
        drop(socket);
        let notice = self.version.notice().min(self.drain);
        sleep(notice).await;
        open.drain(self.drain.saturating_sub(notice)).await;
        Err(reason)
    }

    fn label() -> &'static str {
        "HttpServer"
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer")
            .field("address", &self.address)
            .field("version", &self.version)
            .field("connections", &self.connections)
            .field("head_timeout", &self.timeouts.head)
            .field("body_timeout", &self.timeouts.body)
            .field("write_timeout", &self.timeouts.write)
            .field("drain", &self.drain)
            .field("bound", &self.bound())
            .finish_non_exhaustive()
    }
}
