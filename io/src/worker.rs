//! The workers of an acceptor. Each spawns the processes of the connections it is passed,
//! as its children.

use crate::channel::FrameChannel;
use crate::connection::Connection;
use crate::options::ConnectionOptions;
use crate::protocol::Protocol;
use crate::securing::Securing;
use crate::tally::{ConnectionSlot, ConnectionTally, Peer};
use crate::wire::SocketStream;
use krarup_act::{Actor, Behavior, Context, Reply, contain};
use krarup_gen::{Exit, Inspection, ProcessKind, Result, SpawnError};
use mio::net::TcpStream;
use parking_lot::Mutex;
use std::any::type_name;
use std::net::SocketAddr;
use std::sync::Arc;

/// A connection on its way from the acceptor to a worker.
pub(crate) struct Accepted<M> {
    pub(crate) handed: Arc<Handed<M>>,
    /// Answered when the connection is a process, or cannot become one.
    pub(crate) mounted: Reply<Result<(), SpawnError>>,
}

/// An accepted connection until a worker takes it. The acceptor keeps a reference: if a
/// worker ends without having taken the connection, another worker gets it.
pub(crate) struct Handed<M> {
    pub(crate) peer: SocketAddr,
    socket: Mutex<Option<(TcpStream, ConnectionSlot<M>)>>,
}

impl<M> Handed<M> {
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr, place: ConnectionSlot<M>) -> Arc<Self> {
        Arc::new(Handed { peer, socket: Mutex::new(Some((stream, place))) })
    }

    /// Whether no worker has taken it.
    pub(crate) fn is_there(&self) -> bool {
        self.socket.lock().is_some()
    }

    fn take(&self) -> Option<(TcpStream, ConnectionSlot<M>)> {
        self.socket.lock().take()
    }
}

/// Makes the protocol of a connection. Its type is not one of the worker's, whose label would show it.
pub(crate) type ProtocolFactory<P> = Arc<dyn Fn() -> P + Send + Sync>;

/// Spawns the processes of accepted connections.
pub(crate) struct ConnectionWorker<P: Protocol> {
    factory: ProtocolFactory<P>,
    options: Arc<ConnectionOptions>,
    securing: Securing,
    tally: Arc<ConnectionTally<P::Message>>,
    mounted: u64,
    crashed: u64,
}

impl<P: Protocol> ConnectionWorker<P> {
    pub(crate) fn new(
        factory: ProtocolFactory<P>,
        options: Arc<ConnectionOptions>,
        securing: Securing,
        tally: Arc<ConnectionTally<P::Message>>,
    ) -> Self {
        ConnectionWorker { factory, options, securing, tally, mounted: 0, crashed: 0 }
    }
}

impl<P: Protocol> Actor for ConnectionWorker<P> {
    type Message = Accepted<P::Message>;

    async fn init(&mut self, ctx: &mut Context<Self::Message>) -> Result {
        // A connection that crashes does not end its worker. A worker that ends, in
        // whatever way, ends its connections.
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<Self::Message>,
        accepted: Accepted<P::Message>,
    ) -> Result {
        let Accepted { handed, mounted } = accepted;
        let peer = handed.peer;
        let Some((stream, place)) = handed.take() else { return Ok(()) };
        let number = place.number();
        let factory = Arc::clone(&self.factory);
        let (options, securing) = (Arc::clone(&self.options), self.securing.clone());
        let mailbox = options.mailbox;
        let make = move || {
            let make = move || factory();
            AcceptedConnection { make, stream, peer, options, securing, place }
        };
        // A connection that cannot be spawned must not end the worker and its other connections.
        let made = ctx.spawn(make).link().mailbox(mailbox).start();
        mounted.send(made.map(|connection| {
            self.tally.occupy(number, Peer { peer, connection });
            self.mounted += 1;
        }));
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Self::Message>, exit: Exit) -> Result {
        self.crashed += u64::from(exit.reason.is_abnormal());
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("mounted", self.mounted).with("crashed", self.crashed)
    }
}

/// A connection in its slot. The socket is closed first; only then may the slot become free.
struct RunningConnection<P: Protocol> {
    connection: Connection<P>,
    _place: ConnectionSlot<P::Message>,
}

/// The process of an accepted connection. Its socket is registered in its own first turn,
/// so nothing arrives before it can be handled.
struct AcceptedConnection<M, F> {
    make: F,
    stream: TcpStream,
    peer: SocketAddr,
    options: Arc<ConnectionOptions>,
    securing: Securing,
    place: ConnectionSlot<M>,
}

impl<M: Send + 'static, F> AcceptedConnection<M, F> {
    /// Takes the socket over.
    fn connected<P>(self, ctx: Context<M>) -> Result<RunningConnection<P>>
    where
        P: Protocol<Message = M>,
        F: FnOnce() -> P,
    {
        let AcceptedConnection { make, stream, peer, options, securing, place } = self;
        let wire = Arc::new(securing.secure(SocketStream::new(stream)?)?);
        // The options cannot be set if the peer is already gone, which the next read will
        // report.
        let _ = wire.set_up(&options);
        let local = wire.local()?;
        let made = contain(|| {
            let protocol = make();
            let codec = protocol.codec();
            (protocol, codec)
        });
        // The peer of a connection that crashes gets a reset, however early that is.
        let (protocol, codec) = made.inspect_err(|_| wire.reset())?;
        let channel = FrameChannel::new(ctx, wire, codec, options, peer, local);
        let connection = Connection::new(protocol, channel, false);
        Ok(RunningConnection { connection, _place: place })
    }
}

impl<P, F> Behavior for AcceptedConnection<P::Message, F>
where
    P: Protocol,
    F: FnOnce() -> P + Send + 'static,
{
    type Message = P::Message;
    type Command = P::Message;

    fn run(self, ctx: Context<P::Message>) -> impl Future<Output = Result> + Send {
        // Made here and served where it lies: an async function would keep room for what it was
        // made of.
        let mut running = self.connected(ctx);
        async move {
            match &mut running {
                Ok(running) => running.connection.serve().await,
                Err(reason) => Err(reason.clone()),
            }
        }
    }

    fn label() -> &'static str {
        type_name::<P>()
    }

    fn kind() -> ProcessKind {
        ProcessKind::Connection
    }
}
