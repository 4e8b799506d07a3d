//! The process that listens, and hands its connections to workers.
//!
//! ```text
//! acceptor            listens, counts, stops
//! └─ Pool             hands on in turn, replaces a worker that has died
//!    ├─ worker        makes processes of connections
//!    │  ├─ connection   reads, writes: a process each
//!    │  └─ …
//!    └─ …
//! ```
//!
//! Ends go down the tree: whoever ends, in whatever way, ends those below. Of what ends below,
//! only the end of the pool is one of the acceptor.

use crate::error::BindError;
use crate::options::{ConnectionOptions, OptionsError};
use crate::protocol::Protocol;
use crate::reactor::{Socket, Way};
use crate::tally::{Peer, Tally};
use crate::timer::Timer;
use crate::worker::{Accepted, Worker};
use krarup_act::{Address, Behavior, Context, Pool, PoolCommand, Received, Reply};
use krarup_gen::{CallError, Exit, Inspection, Reason, Result, SpawnError, Timestamp, Value};
use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, SockRef, Type};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

/// Workers unless told otherwise.
const WORKERS: usize = 2;
/// Connections that may wait for being accepted unless told otherwise.
const BACKLOG: u32 = 1024;
/// How long open connections may take to close unless told otherwise: shorter than what a
/// supervisor gives a worker.
const DRAIN: Duration = Duration::from_secs(3);
/// How long those that were killed may take to be gone: they are at their next await.
const KILL: Duration = Duration::from_secs(1);
/// Between two tries to accept when the system refuses: doubled each time.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// Connections that are accepted before others have their turn.
const BUDGET: u32 = 16;
/// Peers that an inspection shows.
const SHOWN: usize = 32;

/// Listens for TCP connections; each becomes a process that runs a [`Protocol`].
///
/// It binds when it starts: who waits for its spawn goes on when clients can connect, or has a
/// [`BindError`]. Each connection is handed, in turn, to one of its workers, as a message that
/// is answered when the connection is a process below that worker.
///
/// Stopped, it listens no more, asks the connections to close ([`Protocol::stopping`]), waits for
/// them for as long as [`Acceptor::drain`] says, and kills those that are left. Killed, it takes
/// all of them with it at once.
///
/// As a child of a supervisor it is a [`ChildSpec`](https://docs.rs/krarup) of its own kind,
/// `supervisor`, for it ends those below itself; with a fixed port it gets it again.
///
/// ```
/// # use krarup_gen::Result;
/// # use krarup_io::{Channel, Lines, Protocol};
/// use krarup_io::{Acceptor, AcceptorRequest, ConnectionOptions};
/// # use std::convert::Infallible;
/// use krarup_node::Node;
/// use std::time::Duration;
/// # struct Echo;
/// # impl Protocol for Echo {
/// #     type Message = Infallible;
/// #     type Codec = Lines;
/// #     fn codec(&self) -> Lines { Lines::new(1024) }
/// #     async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
/// #         channel.send_or_wait(&line).await?;
/// #         Ok(())
/// #     }
/// # }
///
/// # fn main() -> Result {
/// let node = Node::start("echo@localhost")?;
/// let limits = ConnectionOptions::new().idle_timeout(Duration::from_secs(60));
/// let any_port = ([127, 0, 0, 1], 0).into();
/// let acceptor = node
///     .spawn(move || Acceptor::new(any_port, || Echo).limit(10_000).options(limits))
///     .wait()?;
/// let address = acceptor.call(AcceptorRequest::Address).wait()?;
/// assert_ne!(address.port(), 0);
/// node.stop().wait()
/// # }
/// ```
pub struct Acceptor<P, F> {
    address: SocketAddr,
    factory: Arc<F>,
    workers: usize,
    limit: Option<usize>,
    at_limit: AtLimit,
    backlog: u32,
    drain: Duration,
    options: ConnectionOptions,
    protocol: PhantomData<fn() -> P>,
}

/// What an acceptor does with one connection more than its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtLimit {
    /// Accepts none until one of the others is closed: it waits in the system's queue, and its
    /// client takes it for connected.
    #[default]
    Wait,
    /// Accepts it and resets it at once, so that its client knows.
    Refuse,
}

/// What an acceptor answers.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptorRequest<M: Send + 'static> {
    /// The address it listens on, with its port.
    Address(Reply<SocketAddr>),
    /// The connections that are open, in the order in which they were accepted.
    Connections(Reply<Vec<Peer<M>>>),
}

/// The address of the acceptor of a protocol.
pub type AcceptorAddress<P> = Address<AcceptorRequest<<P as Protocol>::Message>>;

impl<P, F> Acceptor<P, F>
where
    P: Protocol,
    F: Fn() -> P + Send + Sync + 'static,
{
    /// Listens on this address; port 0 is any that is free. `factory` is called for each
    /// connection, in its process.
    pub fn new(address: SocketAddr, factory: F) -> Self {
        Acceptor {
            address,
            factory: Arc::new(factory),
            workers: WORKERS,
            limit: None,
            at_limit: AtLimit::default(),
            backlog: BACKLOG,
            drain: DRAIN,
            options: ConnectionOptions::default(),
            protocol: PhantomData,
        }
    }

    /// How many workers make processes of connections, at least 1; 2 unless told otherwise.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// The most connections that are open at one time, at least 1; without it, as many as the
    /// system has descriptors for.
    #[must_use]
    pub fn limit(mut self, connections: usize) -> Self {
        self.limit = Some(connections);
        self
    }

    /// What is done with one connection more.
    #[must_use]
    pub fn at_limit(mut self, at_limit: AtLimit) -> Self {
        self.at_limit = at_limit;
        self
    }

    /// How many connections the system lets wait until they are accepted, at least 1, and no more
    /// than it allows; 1024 unless told otherwise. Beyond, clients try again after a second.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = connections;
        self
    }

    /// How long open connections may take to close when the acceptor stops, 3 s unless told
    /// otherwise; zero drops them at once. Its supervisor must give it more time than that.
    #[must_use]
    pub fn drain(mut self, time: Duration) -> Self {
        self.drain = time;
        self
    }

    /// The limits of each connection.
    #[must_use]
    pub fn options(mut self, options: ConnectionOptions) -> Self {
        self.options = options;
        self
    }

    fn check(&self) -> Result<(), OptionsError> {
        if self.workers == 0 {
            return Err(OptionsError::Zero("workers"));
        }
        if self.limit == Some(0) {
            return Err(OptionsError::Zero("limit"));
        }
        if self.backlog == 0 {
            return Err(OptionsError::Zero("backlog"));
        }
        self.options.check()
    }

    fn bind(&self) -> Result<(Socket<TcpListener>, SocketAddr), BindError> {
        let bound = listen(self.address, self.backlog).and_then(|listener| {
            let local = listener.local_addr()?;
            Ok((Socket::new(listener)?, local))
        });
        bound.map_err(|source| BindError { address: self.address, source })
    }
}

impl<P, F> fmt::Debug for Acceptor<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor")
            .field("address", &self.address)
            .field("workers", &self.workers)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<P, F> Behavior for Acceptor<P, F>
where
    P: Protocol,
    F: Fn() -> P + Send + Sync + 'static,
{
    type Message = AcceptorRequest<P::Message>;
    type Command = AcceptorRequest<P::Message>;

    async fn run(self, mut ctx: Context<Self::Message>) -> Result {
        self.check()?;
        ctx.trap_exits(true);
        ctx.stop_in_order(true);
        let (listener, local) = self.bind()?;
        let tally = Tally::new();
        let worker = {
            let (factory, options) = (Arc::clone(&self.factory), self.options.clone());
            let tally = Arc::clone(&tally);
            move || Worker::<P, F>::new(Arc::clone(&factory), options.clone(), Arc::clone(&tally))
        };
        let workers = self.workers;
        let pool = ctx.spawn(move || Pool::new(workers, worker)).link_urgent().await;
        let pool = pool.map_err(|error| match error {
            SpawnError::Init(reason) => reason,
            error => error.into(),
        })?;
        ctx.initialised();
        let mut server = Server {
            listener: Some(listener),
            local,
            tally,
            pool,
            limit: self.limit,
            at_limit: self.at_limit,
            retry: None,
            pause: BACK_OFF.0,
            timer: Timer::default(),
            spent: 0,
            accepted: 0,
            refused: 0,
            errors: 0,
        };
        let reason = server.serve(&mut ctx).await;
        server.stop(&mut ctx, self.drain).await;
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    fn label() -> &'static str {
        "Acceptor"
    }
}

/// A socket that listens and does not block.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A port whose last connections are just closed can be had again; on Windows this would be
    // leave to take it from others.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(TcpListener::from_std(socket.into()))
}

/// The acceptor at work.
struct Server<M: Send + 'static> {
    listener: Option<Socket<TcpListener>>,
    local: SocketAddr,
    tally: Arc<Tally<M>>,
    pool: Address<Accepted<M>, PoolCommand>,
    limit: Option<usize>,
    at_limit: AtLimit,
    /// When to try again after the system has refused.
    retry: Option<Timestamp>,
    pause: Duration,
    timer: Timer,
    spent: u32,
    accepted: u64,
    refused: u64,
    errors: u64,
}

/// What is next.
enum Event<M: Send + 'static> {
    Item(Received<AcceptorRequest<M>>),
    Accepted(io::Result<(TcpStream, SocketAddr)>),
}

impl<M: Send + 'static> Server<M> {
    /// Until it is to stop.
    async fn serve(&mut self, ctx: &mut Context<AcceptorRequest<M>>) -> Reason {
        loop {
            match poll_fn(|cx| self.poll_next(ctx, cx)).await {
                Event::Accepted(Ok((stream, peer))) => self.hand_on(stream, peer).await,
                Event::Accepted(Err(error)) => self.wait_after(ctx, &error),
                Event::Item(item) => {
                    if let Some(reason) = self.handle(ctx, item) {
                        return reason;
                    }
                }
            }
        }
    }

    fn poll_next(
        &mut self,
        ctx: &mut Context<AcceptorRequest<M>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Event<M>> {
        if self.spent >= BUDGET {
            self.spent = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.spent += 1;
        if let Poll::Ready(item) = pin!(ctx.receive()).poll(cx) {
            return Poll::Ready(Event::Item(item));
        }
        if let Poll::Ready(accepted) = self.poll_accept(ctx, cx) {
            return Poll::Ready(Event::Accepted(accepted));
        }
        self.spent = 0;
        Poll::Pending
    }

    /// The next connection, when there is a place for it.
    fn poll_accept(
        &mut self,
        ctx: &mut Context<AcceptorRequest<M>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        if let Some(retry) = self.retry {
            if self.timer.poll(ctx, retry, cx).is_pending() {
                return Poll::Pending;
            }
            self.retry = None;
        }
        if let Some(limit) = self.limit
            && self.at_limit == AtLimit::Wait
            && self.tally.poll_below(limit, cx).is_pending()
        {
            return Poll::Pending;
        }
        match &self.listener {
            Some(listener) => listener.poll_io(Way::Read, cx, TcpListener::accept),
            None => Poll::Pending,
        }
    }

    /// Hands a connection to the worker whose turn it is.
    async fn hand_on(&mut self, stream: TcpStream, peer: SocketAddr) {
        self.pause = BACK_OFF.0;
        if self.limit.is_some_and(|limit| self.tally.open() >= limit) {
            self.refused += 1;
            // If this fails, the client sees an end instead.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            return;
        }
        let place = self.tally.take();
        let handed: Result<(), CallError> =
            self.pool.call(|mounted| Accepted { stream, peer, place, mounted }).await;
        match handed {
            Ok(()) => self.accepted += 1,
            Err(error) => {
                self.refused += 1;
                tracing::warn!(target: "krarup", %peer, %error, "a connection was dropped");
            }
        }
    }

    /// A connection that was broken off before it was accepted is nobody's; for all else the
    /// system needs time: it is out of descriptors, most likely, and they come back.
    fn wait_after(&mut self, ctx: &Context<AcceptorRequest<M>>, error: &io::Error) {
        self.errors += 1;
        if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
            return;
        }
        if self.pause == BACK_OFF.0 {
            tracing::warn!(
                target: "krarup", address = %self.local, %error,
                "cannot accept connections; trying again"
            );
        }
        self.retry = Some(ctx.now() + self.pause);
        self.pause = (self.pause * 2).min(BACK_OFF.1);
    }

    /// Handles what is no connection; why to stop, if it is a reason to.
    fn handle(
        &self,
        ctx: &Context<AcceptorRequest<M>>,
        item: Received<AcceptorRequest<M>>,
    ) -> Option<Reason> {
        match item {
            Received::Message(request) | Received::Command(request) => match request {
                AcceptorRequest::Address(reply) => reply.send(self.local),
                AcceptorRequest::Connections(reply) => reply.send(self.tally.peers()),
            },
            Received::Inspect(reply) => reply.send(self.inspection()),
            Received::State(reply) => reply.send(None),
            Received::Stop(reason) => return Some(reason),
            Received::Finish => return Some(Reason::Normal),
            Received::Exit(Exit { pid, reason }) => {
                let stops = pid == self.pool.pid() || ctx.parent() == Some(pid);
                return (stops || reason.is_abnormal()).then_some(reason);
            }
            _ => {}
        }
        None
    }

    /// Listens no more, and ends what is below.
    async fn stop(&mut self, ctx: &mut Context<AcceptorRequest<M>>, drain: Duration) {
        self.listener = None;
        for open in self.tally.peers() {
            open.connection.process().request_stop(Reason::Shutdown);
        }
        self.emptied(ctx, drain).await;
        for open in self.tally.peers() {
            open.connection.process().kill();
        }
        self.emptied(ctx, KILL).await;
        let end = ctx.watch(self.pool.pid());
        self.pool.process().request_stop(Reason::Shutdown);
        end.await;
    }

    /// Waits until no connection is open, at most so long; answers meanwhile.
    async fn emptied(&mut self, ctx: &mut Context<AcceptorRequest<M>>, limit: Duration) {
        let due = ctx.now() + limit;
        loop {
            let item = poll_fn(|cx| {
                if self.tally.poll_below(1, cx).is_ready() {
                    return Poll::Ready(None);
                }
                if let Poll::Ready(item) = pin!(ctx.receive()).poll(cx) {
                    return Poll::Ready(Some(item));
                }
                self.timer.poll(ctx, due, cx).map(|()| None)
            });
            match item.await {
                None => return,
                // It stops already.
                Some(item) => drop(self.handle(ctx, item)),
            }
        }
    }

    fn inspection(&self) -> Inspection {
        let peers = self.tally.peers();
        let shown = peers.iter().take(SHOWN).map(|open| Value::from(open.peer.to_string()));
        let inspection = Inspection::new()
            .with("address", self.local.to_string())
            .with("connections", peers.len());
        let inspection = match self.limit {
            Some(limit) => inspection.with("limit", limit),
            None => inspection.with("limit", "none"),
        };
        inspection
            .with("accepted", self.accepted)
            .with("refused", self.refused)
            .with("accept_errors", self.errors)
            .with("listening", self.listener.is_some())
            .with("peers", shown.collect::<Vec<_>>())
    }
}
