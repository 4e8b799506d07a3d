//! The control messages and their fields.

use crate::etf::{Atom, ExternalPid, Reference, Term};
use std::num::NonZeroU64;

/// A control message. `from` is a process of the sending node, `to` one of the receiving node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlMessage {
    /// 1: `from` links to `to`.
    Link {
        /// The linking process.
        from: ExternalPid,
        /// The linked process.
        to: ExternalPid,
    },
    /// 2: a message, which is in the payload.
    Send {
        /// The receiver.
        to: ExternalPid,
    },
    /// 3: `from`, linked to `to`, has ended. Without `EXIT_PAYLOAD`.
    Exit {
        /// The ended process.
        from: ExternalPid,
        /// The process linked to it.
        to: ExternalPid,
        /// The exit reason.
        reason: Term,
    },
    /// 6: a message to a name. The message is in the payload.
    RegSend {
        /// The sender.
        from: ExternalPid,
        /// The name of the receiver.
        name: Atom,
    },
    /// 7: `from` becomes the group leader of `to`.
    GroupLeader {
        /// The group leader.
        from: ExternalPid,
        /// The process that gets the group leader.
        to: ExternalPid,
    },
    /// 8: `from` sends `to` an exit signal. Without `EXIT_PAYLOAD`.
    Exit2 {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
        /// The exit reason.
        reason: Term,
    },
    /// 19: `from` monitors a process.
    Monitor {
        /// The monitoring process.
        from: ExternalPid,
        /// The monitored process.
        target: Monitored,
        /// The reference of the monitor.
        reference: Reference,
    },
    /// 20: `from` removes a monitor.
    Demonitor {
        /// The monitoring process.
        from: ExternalPid,
        /// The monitored process.
        target: Monitored,
        /// The reference of the monitor.
        reference: Reference,
    },
    /// 21: the process that `to` monitors has ended. Without `EXIT_PAYLOAD`.
    MonitorExit {
        /// The ended process, as named by the monitor.
        target: Monitored,
        /// The monitoring process.
        to: ExternalPid,
        /// The reference of the monitor.
        reference: Reference,
        /// The exit reason.
        reason: Term,
    },
    /// 22: a message, which is in the payload. With `SEND_SENDER`.
    SendSender {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
    },
    /// 24: `from`, linked to `to`, has ended. The payload is the reason.
    PayloadExit {
        /// The ended process.
        from: ExternalPid,
        /// The process linked to it.
        to: ExternalPid,
    },
    /// 26: `from` sends `to` an exit signal. The payload is the reason.
    PayloadExit2 {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
    },
    /// 28: the process that `to` monitors has ended. The payload is the reason.
    PayloadMonitorExit {
        /// The ended process, as named by the monitor.
        target: Monitored,
        /// The monitoring process.
        to: ExternalPid,
        /// The reference of the monitor.
        reference: Reference,
    },
    /// 29: `from` requests a process that runs a function. The payload is the list of arguments.
    SpawnRequest {
        /// The reference of the request.
        reference: Reference,
        /// The requesting process.
        from: ExternalPid,
        /// The group leader of the new process.
        group_leader: ExternalPid,
        /// The module of the function.
        module: Atom,
        /// The name of the function.
        function: Atom,
        /// The number of arguments.
        arity: u8,
        /// The list of options, as received.
        options: Term,
    },
    /// 31: the answer to a spawn request.
    SpawnReply {
        /// The reference of the request.
        reference: Reference,
        /// The requesting process.
        to: ExternalPid,
        /// Whether `to` is linked to the new process.
        linked: bool,
        /// Whether `to` monitors it, by the reference of the request.
        monitored: bool,
        /// The new process, or the error.
        result: Result<ExternalPid, Atom>,
    },
    /// 33: a message to an alias. The message is in the payload. With `ALIAS`.
    AliasSend {
        /// The sender.
        from: ExternalPid,
        /// The alias.
        alias: Reference,
    },
    /// 35: `from` unlinks from `to`.
    UnlinkId {
        /// The number of the unlink.
        id: NonZeroU64,
        /// The unlinking process.
        from: ExternalPid,
        /// The process it unlinks from.
        to: ExternalPid,
    },
    /// 36: `from` acknowledges an unlink of `to`.
    UnlinkIdAck {
        /// The number of the unlink.
        id: NonZeroU64,
        /// The acknowledging process.
        from: ExternalPid,
        /// The process that has unlinked.
        to: ExternalPid,
    },
    /// 37: a message, or an exit signal if `exit` is set. The payload is the message or
    /// the reason. With `ALTACT_SIG`.
    AltactSend {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: AliasRecipient,
        /// Whether it precedes ordinary messages.
        priority: bool,
        /// Whether it is an exit signal.
        exit: bool,
    },
}

/// The target of a monitor: a process by its pid or by its registered name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Monitored {
    /// A process by its pid.
    Pid(ExternalPid),
    /// The process with this name.
    Name(Atom),
}

/// The receiver of a [`ControlMessage::AltactSend`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AliasRecipient {
    /// A process by its pid.
    Pid(ExternalPid),
    /// The process with this name.
    Name(Atom),
    /// The process with this alias.
    Alias(Reference),
}

// The bits of the flags of a spawn reply.
pub(super) const LINKED: i64 = 1;
pub(super) const MONITORED: i64 = 2;

// The bits of the flags of `ALTACT_SIG_SEND`.
pub(super) const PRIORITY: i64 = 1;
pub(super) const TOKEN: i64 = 2;
pub(super) const ALIAS: i64 = 4;
pub(super) const NAME: i64 = 8;
pub(super) const EXIT: i64 = 16;

impl ControlMessage {
    /// Whether a payload follows: a message, a reason or arguments.
    #[must_use]
    pub fn has_payload(&self) -> bool {
        match self {
            ControlMessage::Send { .. }
            | ControlMessage::RegSend { .. }
            | ControlMessage::SendSender { .. }
            | ControlMessage::PayloadExit { .. }
            | ControlMessage::PayloadExit2 { .. }
            | ControlMessage::PayloadMonitorExit { .. }
            | ControlMessage::SpawnRequest { .. }
            | ControlMessage::AliasSend { .. }
            | ControlMessage::AltactSend { .. } => true,
            ControlMessage::Link { .. }
            | ControlMessage::Exit { .. }
            | ControlMessage::GroupLeader { .. }
            | ControlMessage::Exit2 { .. }
            | ControlMessage::Monitor { .. }
            | ControlMessage::Demonitor { .. }
            | ControlMessage::MonitorExit { .. }
            | ControlMessage::SpawnReply { .. }
            | ControlMessage::UnlinkId { .. }
            | ControlMessage::UnlinkIdAck { .. } => false,
        }
    }
}
