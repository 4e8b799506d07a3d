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
use crate::listening::{AcceptorRequest, AcceptorServer, AtLimit};
use crate::options::{ConnectionOptions, OptionsError};
use crate::protocol::Protocol;
use crate::reactor::Socket;
use crate::tally::ConnectionTally;
use crate::worker::ConnectionWorker;
use krarup_act::{Address, Behavior, Context, Pool};
use krarup_gen::{Result, SpawnError};
use mio::net::TcpListener;
use socket2::{Domain, Type};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Workers unless told otherwise.
const WORKERS: usize = 2;
/// Each is a process, and all are started before the first connection is accepted.
const MOST_WORKERS: usize = 1 << 16;
/// Connections that may wait for being accepted unless told otherwise.
const BACKLOG: u32 = 1024;
/// How long open connections may take to close unless told otherwise: shorter than what a
/// supervisor gives a worker.
const DRAIN: Duration = Duration::from_secs(3);

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

    /// How many workers make processes of connections, from 1 to 65536; 2 unless told
    /// otherwise.
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
        ctx.stop_in_order(true);
        let bound = self.bind()?;
        let tally = ConnectionTally::new();
        let worker = {
            let (factory, options) = (Arc::clone(&self.factory), self.options.clone());
            let tally = Arc::clone(&tally);
            move || {
                ConnectionWorker::<P, F>::new(
                    Arc::clone(&factory),
                    options.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::raw::Raw;
    use crate::protocol::Channel;
    use bytes::Bytes;
    use std::convert::Infallible;

    struct Nothing;

    impl Protocol for Nothing {
        type Message = Infallible;
        type Codec = Raw;
        fn codec(&self) -> Raw {
            Raw
        }
        async fn received(&mut self, _: &mut Channel<Self>, _: Bytes) -> Result {
            Ok(())
        }
    }

    #[test]
    fn i9_an_acceptor_has_at_most_so_many_workers() {
        let acceptor = || Acceptor::new(([127, 0, 0, 1], 0).into(), || Nothing);
        let (most, option) = (65_536, "workers");
        assert_eq!(acceptor().workers(most).check(), Ok(()));
        let error = OptionsError::TooMany { option, count: most + 1, most };
        assert_eq!(acceptor().workers(most + 1).check(), Err(error));
        assert_eq!(acceptor().options, ConnectionOptions::default());
        let least = acceptor().workers(1).limit(1).backlog(1).drain(Duration::ZERO);
        assert_eq!(least.check(), Ok(()));
    }
}
