//! Whether the connections of a cluster are encrypted, and who may have which name then (rules
//! Zhs11, Zsec10).
//!
//! | the certificate of a peer has | the peer may be |
//! |---|---|
//! | names of nodes (`email:calc@10.0.0.7`) | these nodes |
//! | names of hosts or addresses only (`DNS:`, `IP:`) | any node of these hosts |
//! | any name that cannot be read | no node |
//!
//! The same holds for both sides. The side that dials also refuses a certificate that is not for
//! the host of the dialled node.

use crate::error::ConnectionError;
use krarup_io::{Acceptor, Client, Codec, FrameChannel, Protocol, TransportConnection};
use krarup_wire::etf::Atom;
use krarup_wire::handshake::Lengths;

#[cfg(feature = "tls")]
use krarup_gen::NodeName;
#[cfg(feature = "tls")]
use krarup_io::Tls;

/// What is between the bytes of a cluster and its sockets.
#[derive(Clone, Debug, Default)]
pub(crate) enum Encryption {
    /// Nothing.
    #[default]
    ClearText,
    /// TLS.
    #[cfg(feature = "tls")]
    Tls(Tls),
}

impl Encryption {
    pub(crate) fn is_clear_text(&self) -> bool {
        matches!(self, Encryption::ClearText)
    }

    /// The lengths of the handshake's messages.
    pub(crate) fn lengths(&self) -> Lengths {
        if self.is_clear_text() { Lengths::Two } else { Lengths::Four }
    }

    pub(crate) fn accepts<P, F>(&self, acceptor: Acceptor<P, F>) -> Acceptor<P, F>
    where
        P: Protocol,
        F: Fn() -> P + Send + Sync + 'static,
    {
        match self {
            Encryption::ClearText => acceptor,
            #[cfg(feature = "tls")]
            Encryption::Tls(tls) => acceptor.tls(tls.clone()),
        }
    }

    /// Dials a node of this host.
    pub(crate) fn dials<P: Protocol>(&self, client: Client<P>, host: &str) -> Client<P> {
        match self {
            Encryption::ClearText => {
                let _ = host;
                client
            }
            #[cfg(feature = "tls")]
            Encryption::Tls(tls) => client.tls(tls.clone(), host),
        }
    }

    /// Either end of a connection with a node of this host, over another transport than a socket.
    pub(crate) fn over<P: Protocol>(
        &self,
        connection: TransportConnection<P>,
        host: &str,
    ) -> TransportConnection<P> {
        match self {
            Encryption::ClearText => {
                let _ = host;
                connection
            }
            #[cfg(feature = "tls")]
            Encryption::Tls(tls) => connection.tls(tls.clone(), host),
        }
    }

    /// Whether the peer of a connection may have this name.
    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unnecessary_wraps, reason = "clear text certifies nothing")
    )]
    pub(crate) fn check<M: Send + 'static, C: Codec>(
        &self,
        channel: &FrameChannel<M, C>,
        node: &Atom,
    ) -> Result<(), ConnectionError> {
        match self {
            Encryption::ClearText => {
                let _ = (channel, node);
                Ok(())
            }
            #[cfg(feature = "tls")]
            Encryption::Tls(_) => {
                let peer = channel.tls_peer().ok_or(ConnectionError::Closed("without TLS"))?;
                let names = peer.names();
                let host = NodeName::new(node.as_str());
                // One that cannot be read may be of another node.
                let is_certified = if names.unreadable > 0 {
                    false
                } else if names.mailboxes.is_empty() {
                    host.is_ok_and(|node| peer.is_for(node.host()))
                } else {
                    names.mailboxes.iter().any(|name| name == node.as_str())
                };
                if is_certified {
                    return Ok(());
                }
                let addresses = names.addresses.iter().map(ToString::to_string);
                let all = names.mailboxes.iter().chain(&names.hosts).cloned().chain(addresses);
                let mut certified = all.collect::<Vec<_>>().join(", ");
                if names.unreadable > 0 {
                    certified.push_str(" and names that cannot be read");
                }
                let node = node.as_str().to_owned();
                Err(ConnectionError::NotCertified { node, certified })
            }
        }
    }
}
