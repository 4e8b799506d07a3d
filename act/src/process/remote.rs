//! The way to a process of another node, as this node's processes use it.

use krarup_gen::{Pid, Ref, Target};
#[cfg(feature = "serde")]
use std::pin::Pin;

/// The way to a process of another node.
///
/// The methods about bonds are called with the relations of both processes locked. They must
/// only record what is to be sent; [`Process::schedule`](crate::Process::schedule), which is called when the locks are
/// released, sends it.
pub trait Remote {
    /// The process `local` is now linked to it.
    fn link(&self, local: Pid);

    /// The process `local` has removed its link, if there was one.
    fn unlink(&self, local: Pid);

    /// It is now monitored by the process `by`, or by code outside any process.
    fn monitor(&self, by: Option<Pid>, monitor: Ref, target: &Target);

    /// This monitor was removed.
    fn demonitor(&self, monitor: Ref);

    /// Whether it is not known to have ended.
    fn is_alive(&self) -> bool;

    /// Ends a call that a message has made: its caller does not wait any more.
    fn end_call(&self, call: u64);

    /// Waits in line for room for one message to its node. The result is the place, which is
    /// left when it is dropped (rule Zmsg13).
    #[cfg(feature = "serde")]
    fn room(&self) -> RemoteRoom;

    /// Writes a message, without sending it. `number` is that of the sending process.
    ///
    /// # Errors
    /// Why the message cannot be sent.
    #[cfg(feature = "serde")]
    fn write(
        &self,
        message: &dyn erased_serde::Serialize,
        number: u64,
        room: MessageRoom,
    ) -> Result<WrittenMessage, NotWritten>;
}

/// A future of room for a message to another node.
#[cfg(feature = "serde")]
pub type RemoteRoom = Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>>;

/// Whether a message to another node may be refused because too much waits (rule Zmsg13).
#[cfg(feature = "serde")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRoom {
    /// It is refused if too much waits.
    Wanted,
    /// Its sender has waited for room, or must not be refused.
    Granted,
}

/// A message that was written and can be sent.
#[cfg(feature = "serde")]
pub struct WrittenMessage {
    /// The number of the call that it makes, if it has a reply token.
    pub call: Option<u64>,
    /// Sends it.
    pub send: Box<dyn FnOnce() + Send>,
}

#[cfg(feature = "serde")]
impl std::fmt::Debug for WrittenMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WrittenMessage").field("call", &self.call).finish_non_exhaustive()
    }
}

/// Why a message cannot be sent to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotWritten {
    /// Too much waits to be sent to that node (rule Zmsg13).
    Full,
    /// The process is known to have ended (rule Zid5).
    NoProcess,
    /// The cluster has ended, and none runs in its place (rule Zlive7).
    NoConnection,
    /// The message cannot be written, for this reason (rule Zmsg14).
    Unserializable(String),
}
