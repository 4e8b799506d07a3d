//! The process that listens, and passes its connections to workers.
//!
//! ```text
//! acceptor            listens, counts, stops
//! └─ Pool             distributes in turn, replaces a worker that has ended
//!    ├─ worker        spawns the processes of connections
//!    │  ├─ connection   reads, writes: one process each
//!    │  └─ …
//!    └─ …
//! ```
//!
//! Ends propagate down the tree: a process that ends, in whatever way, ends those below
//! it. Of the ends below the acceptor, only that of the pool ends the acceptor.

use crate::error::BindError;
use crate::listening::{AcceptorRequest, AcceptorServer, AtLimit};
use crate::options::{ConnectionOptions, OptionsError};
use crate::protocol::Protocol;
use crate::reactor::Socket;
use crate::securing::Securing;
use crate::tally::ConnectionTally;
use crate::worker::{ConnectionWorker, ProtocolFactory};
use krarup_act::{Address, Behavior, Context, Pool};
use krarup_gen::{ProcessKind, Result, SpawnError};
use mio::net::TcpListener;
use socket2::{Domain, Type};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The default number of workers.
const WORKERS: usize = 2;
/// The most workers. Each is a process, and all are started before the first connection is
/// accepted.
const MOST_WORKERS: usize = 1 << 16;
/// The default length of the system's queue of connections that are not accepted yet.
const BACKLOG: u32 = 1024;
/// The default time for open connections to close. It is shorter than the time that a
/// supervisor grants a worker.
const DRAIN: Duration = Duration::from_secs(3);

/// Listens for TCP connections. Each becomes a process that runs a [`Protocol`].
///
/// It binds when it starts: its spawn completes when clients can connect, or fails with a
/// [`BindError`]. Each connection is passed to one of its workers, in turn, as a request
/// that is answered when the connection is a process below that worker.
///
/// When it is stopped, it stops listening, asks the connections to close
/// ([`Protocol::stopping`]), waits for them for the time of [`Acceptor::drain`], and kills
/// the remaining ones. When it is killed, all its connections end at once, except that one that
/// traps exits closes in order.
///
/// As a child of a supervisor it is a [`ChildSpec`](https://docs.rs/krarup) of the kind
/// `supervisor`, because it ends the processes below it itself. A restarted acceptor with
/// a fixed port binds the same port again.
///
/// ```
/// # use krarup_gen::Result;
/// # use krarup_io::{Channel, Lines, Protocol};
/// # use std::convert::Infallible;
/// # mod krarup { pub use {krarup_io as io, krarup_node::*}; }
/// use krarup::Node;
/// use krarup::io::{Acceptor, AcceptorRequest, ConnectionOptions};
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
    securing: Securing,
    protocol: PhantomData<fn() -> P>,
}

/// The address of the acceptor of a protocol.
pub type AcceptorAddress<P> = Address<AcceptorRequest<<P as Protocol>::Message>>;

impl<P, F> Acceptor<P, F>
where
    P: Protocol,
    F: Fn() -> P + Send + Sync + 'static,
{
    /// Creates an acceptor that listens on this address; port 0 selects any free port.
    /// `factory` runs once for each connection, in its process.
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
            securing: Securing::Clear,
            protocol: PhantomData,
        }
    }

    /// Sets how many workers spawn the processes of connections, from 1 to 65536. The
    /// default is 2.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the most connections that are open at a time, at least 1. Without it, only the
    /// system's descriptors limit them.
    #[must_use]
    pub fn limit(mut self, connections: usize) -> Self {
        self.limit = Some(connections);
        self
    }

    /// Sets what happens to connections beyond the limit.
    #[must_use]
    pub fn at_limit(mut self, at_limit: AtLimit) -> Self {
        self.at_limit = at_limit;
        self
    }

    /// Sets how many connections wait in the system until they are accepted: at least 1,
    /// and at most what the system allows. The default is 1024. Beyond it, clients retry
    /// after a second.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = connections;
        self
    }

    /// Sets how long open connections may take to close when the acceptor stops. The default
    /// is 3 s; zero drops them at once. Its supervisor must grant it more time than that.
    #[must_use]
    pub fn drain(mut self, time: Duration) -> Self {
        self.drain = time;
        self
    }

    /// Sets the limits of each connection.
    #[must_use]
    pub fn options(mut self, options: ConnectionOptions) -> Self {
        self.options = options;
        self
    }

    /// Accepts connections over TLS, of clients that have a certificate of the same authority (feature
    /// `io-tls`). The handshake may take the [`connect_timeout`](ConnectionOptions::connect_timeout), and no frame
    /// is read or written before it is complete. [`Protocol::connected`] runs at once.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::Tls) -> Self {
        self.securing = Securing::Accepts(tls);
        self
    }

    fn check(&self) -> Result<(), OptionsError> {
        if self.workers == 0 {
            return Err(OptionsError::Zero("workers"));
        }
        if self.workers > MOST_WORKERS {
            let (option, count) = ("workers", self.workers);
            return Err(OptionsError::TooMany { option, count, most: MOST_WORKERS });
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
        ctx.stop_in_order();
        let bound = self.bind()?;
        let tally = ConnectionTally::new();
        let worker = {
            let factory: ProtocolFactory<P> = Arc::<F>::clone(&self.factory);
            let options = Arc::new(self.options.clone());
            let (tally, securing) = (Arc::clone(&tally), self.securing.clone());
            move || {
                ConnectionWorker::new(
                    Arc::clone(&factory),
                    Arc::clone(&options),
                    securing.clone(),
                    Arc::clone(&tally),
                )
            }
        };
        let workers = self.workers;
        let pool = ctx.spawn(move || Pool::new(workers, worker)).link_urgent().await;
        let pool = pool.map_err(|error| match error {
            SpawnError::Init(reason) => reason,
            error => error.into(),
        })?;
        ctx.initialised();
        let mut server = AcceptorServer::new(bound, tally, pool, self.limit, self.at_limit);
        let reason = server.serve(&mut ctx).await;
        server.stop(&mut ctx, self.drain).await;
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    fn label() -> &'static str {
        "Acceptor"
    }

    fn kind() -> ProcessKind {
        ProcessKind::Connection
    }
}

/// Creates a non-blocking socket that listens.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // Allows binding a port whose last connections have just closed. On Windows the option
    // would also allow taking the port from another process.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(TcpListener::from_std(socket.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silent_protocol::SilentProtocol;

    #[test]
    fn i9_the_number_of_workers_of_an_acceptor_is_bounded() {
        let acceptor = || Acceptor::new(([127, 0, 0, 1], 0).into(), || SilentProtocol);
        let (most, option) = (65_536, "workers");
        assert_eq!(acceptor().workers(most).check(), Ok(()));
        let error = OptionsError::TooMany { option, count: most + 1, most };
        assert_eq!(acceptor().workers(most + 1).check(), Err(error));
        assert_eq!(acceptor().options, ConnectionOptions::default());
        let least = acceptor().workers(1).limit(1).backlog(1).drain(Duration::ZERO);
        assert_eq!(least.check(), Ok(()));
    }
}
