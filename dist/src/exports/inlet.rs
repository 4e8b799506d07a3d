//! How a message of another node gets into a mailbox, and one of this node out.

use crate::calls::caller::RemoteCaller;
use crate::peer::proxy::RemoteProcess;
use krarup_act::{Dynamic, MessageKind, Process};
use krarup_gen::{Alias, CallError, SendError};
use krarup_wire::codec::TermCodec;
use krarup_wire::etf::{Atom, Decoder};
use std::any::Any;
use std::sync::Arc;

/// Passes messages of one type in and out.
pub(crate) trait Inlet<C>: Send + Sync {
    /// Reads a message and sends it to the process.
    fn deliver(
        &self,
        core: &Arc<C>,
        to: Arc<dyn Process>,
        message: RemoteMessage<'_>,
    ) -> Result<(), Undelivered>;

    /// Sends a message of this type to another node.
    fn send(
        &self,
        core: &Arc<C>,
        to: &RemoteProcess,
        message: Dynamic,
    ) -> Result<(), SendError<Dynamic>>;

    /// What makes recipients of messages of this type
    /// ([`RecipientMaker`](krarup_act::RecipientMaker)), if processes of other nodes can be sent
    /// such.
    fn recipient_maker(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
}

/// A message of another node, without its envelope.
pub(crate) struct RemoteMessage<'a> {
    pub(crate) kind: MessageKind,
    pub(crate) caller: Option<RemoteCaller>,
    pub(crate) alias: Option<Alias>,
    pub(crate) decoder: Decoder<'a>,
    pub(crate) codec: TermCodec,
    /// The node that has sent it.
    pub(crate) from: &'a Atom,
}

/// Why a message of another node was not delivered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Undelivered {
    /// It is not a message of the type, for this reason.
    Undecodable(String),
    /// It is a call to a variant that has no reply token.
    NoReply,
    /// The mailbox refused it.
    Refused(CallError),
}
