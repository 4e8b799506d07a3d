//! The process of an outgoing connection.

use crate::channel::FrameChannel;
use crate::connection::Connection;
use crate::connection_attempts::{EstablishedConnection, connected};
use crate::options::ConnectionOptions;
use crate::protocol::Protocol;
use crate::securing::Securing;
use crate::server_host::ServerHost;
use crate::wire::SocketStream;
use krarup_act::{Behavior, Context};
use krarup_gen::{ProcessKind, Result};
use mio::net::TcpStream;
use std::any::type_name;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Connects to a TCP server and runs a [`Protocol`]: one process, one connection.
///
/// Its spawn completes when it is connected and [`Protocol::connected`] has returned, or
/// fails with a [`ConnectError`](crate::ConnectError). When the connection is lost, the process ends with
/// [`Closed`](crate::Closed) as its reason, so a supervisor reconnects it, with a back-off if
/// the child has one. Messages to its address are handled by [`Protocol::handle_message`].
///
/// ```
/// # mod krarup { pub use {krarup_act::*, krarup_gen::*, krarup_io as io}; }
/// use krarup::io::{Channel, Client, Lines, Protocol};
/// use krarup::{Reply, Result};
/// use std::collections::VecDeque;
///
/// /// Asks a server that answers each line with one line, in order.
/// #[derive(Default)]
/// struct Questions {
///     asked: VecDeque<Reply<String>>,
/// }
///
/// impl Protocol for Questions {
///     type Message = (String, Reply<String>);
///     type Codec = Lines;
///     fn codec(&self) -> Lines {
///         Lines::new(1024)
///     }
///     async fn handle_message(
///         &mut self,
///         channel: &mut Channel<Self>,
///         (question, reply): Self::Message,
///     ) -> Result {
///         channel.send_or_wait(&question).await?;
///         self.asked.push_back(reply);
///         Ok(())
///     }
///     async fn received(&mut self, _: &mut Channel<Self>, answer: String) -> Result {
///         if let Some(reply) = self.asked.pop_front() {
///             reply.send(answer);
///         }
///         Ok(())
///     }
/// }
///
/// let server = ([127, 0, 0, 1], 7000).into();
/// let client = move || Client::new(server, Questions::default());
/// # let _ = client;
/// ```
pub struct Client<P> {
    server: ServerHost,
    /// The addresses that are tried after those of the server.
    others: Vec<SocketAddr>,
    protocol: P,
    options: ConnectionOptions,
    securing: Securing,
}

impl<P: Protocol> Client<P> {
    /// Creates a client that connects to this address.
    pub fn new(address: SocketAddr, protocol: P) -> Self {
        Client::at(ServerHost::Address(address), protocol)
    }

    /// Creates a client that connects to this host, a name or an address, at this port.
    ///
    /// The system's resolver is asked at each spawn, so a client that its supervisor restarts goes
    /// where the name leads by then. It is asked on a side thread
    /// ([`Context::block`](krarup_act::Context::block)), for at most the
    /// [`connect_timeout`](ConnectionOptions::connect_timeout).
    ///
    /// The addresses are tried in the order of the resolver, but the two families by turns, beginning with that of the first
    /// address. The next one is tried when the one before has failed, or when the
    /// [`attempt_delay`](ConnectionOptions::attempt_delay) is over; the first connection that is established is used and the
    /// others are dropped (RFC 8305, "happy eyeballs"). All of them together have the `connect_timeout`.
    ///
    /// The spawn fails with the failure that came last if all of them fail, and with `ConnectError::Timeout`, which names the last
    /// one that has not answered, if the time is over. A name that has no address fails it with
    /// [`ConnectError::Unresolved`](crate::ConnectError::Unresolved), and a resolver that does not answer
    /// in time with [`ConnectError::Unanswered`](crate::ConnectError::Unanswered) (rule I1).
    ///
    /// ```
    /// # mod krarup { pub use {krarup_act::*, krarup_gen::*, krarup_io as io}; }
    /// # use krarup::io::{Channel, Client, Lines, Protocol};
    /// # struct Orders;
    /// # impl Protocol for Orders {
    /// #     type Message = String;
    /// #     type Codec = Lines;
    /// #     fn codec(&self) -> Lines { Lines::new(1024) }
    /// #     async fn received(&mut self, _: &mut Channel<Self>, _: String) -> krarup::Result { Ok(()) }
    /// # }
    /// let client = || Client::to_host("orders.example", 7000, Orders);
    /// # let _ = client;
    /// ```
    pub fn to_host(name: impl Into<String>, port: u16, protocol: P) -> Self {
        Client::at(ServerHost::Named(name.into(), port), protocol)
    }

    fn at(server: ServerHost, protocol: P) -> Self {
        let (others, options) = (Vec::new(), ConnectionOptions::default());
        Client { server, others, protocol, options, securing: Securing::Clear }
    }

    /// Adds addresses of the same server, which are tried after the others, in this order, as those of a
    /// [host](Client::to_host) are: the next one when the one before has failed or the
    /// [`attempt_delay`](ConnectionOptions::attempt_delay) is over. If the host of [`Client::to_host`] could not be
    /// resolved, for whatever reason, they are tried alone.
    #[must_use]
    pub fn or(mut self, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        self.others.extend(addresses);
        self
    }

    /// Connects over TLS to a server that must have a certificate for this name, the name of a host
    /// or an address (feature `io-tls`). The time for connecting includes the handshake, and of several addresses the first
    /// one is used whose handshake is complete; a certificate of either side
    /// that is refused then fails the spawn with [`ConnectError::Tls`](crate::ConnectError::Tls). With TLS 1.3 the server
    /// judges that of this side later: if it refuses it the connection is lost.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::Tls, server: impl Into<String>) -> Self {
        self.securing = Securing::Dials(tls, server.into());
        self
    }

    /// Sets the limits of the connection.
    #[must_use]
    pub fn options(mut self, options: ConnectionOptions) -> Self {
        self.options = options;
        self
    }
}

impl<P> fmt::Debug for Client<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server)
            .field("others", &self.others)
            .finish_non_exhaustive()
    }
}

impl<P: Protocol> Behavior for Client<P> {
    type Message = P::Message;
    type Command = P::Message;

    async fn run(self, mut ctx: Context<P::Message>) -> Result {
        self.options.check()?;
        let Client { server, others, protocol, options, securing } = self;
        let (first, others) = server.addresses(others, &mut ctx, options.connect).await?;
        let addresses = [vec![first], others].concat();
        let attempts = addresses.into_iter().map(|address| (address, begin(address)));
        let EstablishedConnection { wire, address, .. } =
            connected(&mut ctx, attempts, &options, &securing)
                .await
                .map_err(|error| options.not_connected(error))?;
        let local = wire.local()?;
        let channel =
            FrameChannel::new(ctx, wire, protocol.codec(), Arc::new(options), address, local);
        Connection::new(protocol, channel, true).serve().await
    }

    fn label() -> &'static str {
        type_name::<P>()
    }

    fn kind() -> ProcessKind {
        ProcessKind::Connection
    }
}

/// Begins a connection to this address.
fn begin(address: SocketAddr) -> io::Result<SocketStream> {
    TcpStream::connect(address).and_then(SocketStream::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ConnectError;
    use crate::silent_protocol::SilentProtocol;
    use crate::wire::tests::to_itself;
    use krarup_act::behavior_fn;
    use krarup_node::Simulation;
    use std::io::ErrorKind;
    use std::iter;
    use std::sync::mpsc::channel;

    #[test]
    fn i1_a_client_connected_to_itself_is_refused() {
        let sim = Simulation::new(1);
        let (told, tells) = channel();
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            let wire = to_itself();
            let address = wire.local()?;
            let (attempt, options) = (iter::once((address, Ok(wire))), ConnectionOptions::new());
            let connected = connected(&mut ctx, attempt, &options, &Securing::Clear).await;
            let _ = told.send((address, connected.err()));
            Ok(())
        });
        sim.spawn(move || process).start().unwrap();
        sim.run_until_idle();
        let (itself, error) = tells.try_recv().unwrap();
        let Some(ConnectError::Failed { address, source }) = error else { panic!("connected") };
        assert_eq!((address, source.kind()), (itself, ErrorKind::ConnectionRefused));
    }

    #[test]
    fn i9_a_client_has_the_default_limits_unless_options_are_given() {
        let client = || Client::new(([127, 0, 0, 1], 9).into(), SilentProtocol);
        assert_eq!(client().options, ConnectionOptions::default());
        let options = ConnectionOptions::new().write_limit(7);
        assert_eq!(client().options(options.clone()).options, options);
    }
}
