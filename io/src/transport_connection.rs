//! The process of a connection over another transport than a TCP socket.

use crate::channel::FrameChannel;
use crate::connection::Connection;
use crate::connection_attempts::{EstablishedConnection, connected};
use crate::options::ConnectionOptions;
use crate::protocol::Protocol;
use crate::securing::Securing;
use crate::transport::Transport;
use crate::wire::SocketStream;
use krarup_act::{Behavior, Context};
use krarup_gen::Result;
use std::any::type_name;
use std::fmt;
use std::iter;
use std::net::SocketAddr;
use std::sync::Arc;

/// A process that runs a [`Protocol`] over a [`Transport`]: what a [`Client`](crate::Client) and
/// an accepted connection are over TCP.
pub struct TransportConnection<P> {
    transport: Box<dyn Transport>,
    protocol: P,
    options: ConnectionOptions,
    /// The address that was dialled, if this end has dialled.
    dialled: Option<SocketAddr>,
    securing: Securing,
}

impl<P: Protocol> TransportConnection<P> {
    /// Creates the end that has dialled this address. Its spawn completes as that of a
    /// [`Client`](crate::Client).
    pub fn dialled(address: SocketAddr, transport: Box<dyn Transport>, protocol: P) -> Self {
        TransportConnection { dialled: Some(address), ..Self::accepted(transport, protocol) }
    }

    /// Creates the end that was accepted.
    pub fn accepted(transport: Box<dyn Transport>, protocol: P) -> Self {
        let options = ConnectionOptions::default();
        let securing = Securing::Clear;
        TransportConnection { transport, protocol, options, dialled: None, securing }
    }

    /// Puts TLS between the transport and the codec (feature `io-tls`). The end that has dialled accepts a certificate
    /// for this name only, as [`Client::tls`](crate::Client::tls).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::Tls, server: impl Into<String>) -> Self {
        self.securing = match self.dialled {
            Some(_) => Securing::Dials(tls, server.into()),
            None => Securing::Accepts(tls),
        };
        self
    }

    /// Sets the limits of the connection.
    #[must_use]
    pub fn options(mut self, options: ConnectionOptions) -> Self {
        self.options = options;
        self
    }
}

impl<P> fmt::Debug for TransportConnection<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportConnection")
            .field("dialled", &self.dialled)
            .finish_non_exhaustive()
    }
}

impl<P: Protocol> Behavior for TransportConnection<P> {
    type Message = P::Message;
    type Command = P::Message;

    async fn run(self, mut ctx: Context<P::Message>) -> Result {
        self.options.check()?;
        let TransportConnection { transport, protocol, options, dialled, securing } = self;
        let wire = SocketStream::over(transport);
        let local = wire.local()?;
        let address = dialled.unwrap_or(local);
        let attempt = iter::once((address, Ok(wire)));
        let EstablishedConnection { wire, peer, .. } =
            connected(&mut ctx, attempt, &options, &securing)
                .await
                .map_err(|error| options.not_connected(error))?;
        let channel =
            FrameChannel::new(ctx, wire, protocol.codec(), Arc::new(options), peer, local);
        Connection::new(protocol, channel, dialled.is_some()).serve().await
    }

    fn label() -> &'static str {
        type_name::<P>()
    }
}
