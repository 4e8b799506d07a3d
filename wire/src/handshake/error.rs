//! Why handshakes fail.

use super::message::MessageError;
use crate::etf::Atom;
use crate::flags::MissingFlags;
use crate::node_name::NodeNameError;

/// Why the handshake failed. The caller writes the contents of `room` and then closes the
/// connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// A message cannot be decoded.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A message is longer than `Handshake::MAX_BYTES` (rule Zhs7).
    #[error("a message of {length} bytes is over the limit of {limit}")]
    TooLong {
        /// The length of the message.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The peer's name is not a valid name of a node.
    #[error(transparent)]
    Name(#[from] NodeNameError),
    /// The peer requests a name (rule Zhs3).
    #[error("the peer requests a name, and this node assigns none")]
    AsksForName,
    /// The peer has the name of this node (rule Zhs3).
    #[error("the peer has the name of this node: {name}")]
    OwnName {
        /// The name.
        name: Atom,
    },
    /// The answering node is not the dialled one (rule Zhs3).
    #[error("{dialled} was dialled, and {found} answers")]
    WrongNode {
        /// The node that was dialled.
        dialled: Atom,
        /// The answering node.
        found: Atom,
    },
    /// A mandatory flag is missing (rule Zhs3).
    #[error(transparent)]
    Flags(#[from] MissingFlags),
    /// The peer answers `not_allowed`.
    #[error("the peer does not allow this node")]
    NotAllowed,
    /// The peer answers `nok`: it dials this node itself, and its dial is kept (rule Zhs5).
    #[error("the peer is dialling this node, and its dial is kept")]
    GivesWay,
    /// The peer sends an unknown status.
    #[error("{status:?} is not a known status")]
    Status {
        /// The text, cut at 40 characters.
        status: String,
    },
    /// The digest is wrong: the peer has another cookie (rule Zhs4).
    #[error("the peer has another cookie")]
    Digest,
    /// The peer keeps the existing connection (rule Zhs6).
    #[error("the peer keeps the existing connection")]
    OldStays,
    /// This node has refused the peer: `Decision::Refuse` or `Decision::NotAllowed`.
    #[error("this node refuses the peer")]
    Refused,
    /// `Handshake::read` was called before `Handshake::decide`, or `decide` without a
    /// name, or either of them after the end.
    #[error("the handshake does not expect this call")]
    OutOfTurn,
}
