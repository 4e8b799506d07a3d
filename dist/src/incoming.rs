//! What the messages of a peer do here.
//!
//! The reader never waits for a user's process: what has no room is refused there and then
//! (rule Zmsg11). A process that was never sent out is as if it were dead (rule Zsec5).

mod bonds;
mod delivery;
mod envelope;
mod groups;
mod output;
mod replies;
mod rex;
mod spawning;
mod sys;

use self::envelope::{Envelope, envelope};
use crate::core::ClusterCore;
use crate::error::ConnectionError;
use crate::exports::Sys;
use crate::functions::options::RequestedBonds;
use crate::functions::request::SpawnAsked;
use crate::peer::proxy::RemoteProcess;
use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::{LinkKey, PeerNode, PeerNodeState};
use crate::rights::node_rights::NodeRights;
use crate::rights::reach::Reach;
use krarup_act::{Process, from_outside};
use krarup_gen::Root;
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Decoder, ExternalPid, Term};
use krarup_wire::frame::IncomingMessage;
use krarup_wire::peers::ConnectionId;
use parking_lot::MutexGuard;
use std::sync::Arc;

/// Handles the messages of one connection.
pub(crate) struct Dispatch<'a> {
    pub(crate) core: &'a Arc<ClusterCore>,
    pub(crate) peer: &'a Arc<PeerNode>,
    pub(crate) connection: ConnectionId,
}

impl Dispatch<'_> {
    /// Handles one message.
    pub(crate) fn handle(&self, message: IncomingMessage<'_>) -> Result<(), ConnectionError> {
        let IncomingMessage { control, payload } = message;
        let term = || payload.as_ref().and_then(|payload| payload.decoder().last_term().ok());
        let reason = || term().unwrap_or_else(|| Term::atom("undecodable"));
        self.check_sender(&control)?;
        match control {
            ControlMessage::Link { from, to } => return self.link(&from, &to),
            ControlMessage::Exit { from, to, reason } => self.exit(&from, &to, &reason),
            ControlMessage::PayloadExit { from, to } => self.exit(&from, &to, &reason()),
            ControlMessage::Exit2 { from, to, reason } => self.signal(&from, &to, &reason),
            ControlMessage::PayloadExit2 { from, to } => self.signal(&from, &to, &reason()),
            ControlMessage::Monitor { from, target, reference } => {
                return self.monitor(from, target, reference);
            }
            ControlMessage::Demonitor { from, reference, .. } => self.demonitor(&from, &reference),
            ControlMessage::MonitorExit { reference, reason, .. } => {
                self.down(&reference, &reason);
            }
            ControlMessage::PayloadMonitorExit { reference, .. } => {
                self.down(&reference, &reason());
            }
            ControlMessage::UnlinkId { id, from, to } => self.unlink(id, &from, &to),
            ControlMessage::UnlinkIdAck { id, from, to } => {
                if let Some((key, mut state)) = self.key(&from, &to).zip(self.current()) {
                    state.links.acknowledged(&key, id);
                }
            }
            ControlMessage::SpawnRequest {
                reference,
                from,
                module,
                function,
                arity,
                options,
                ..
            } => {
                let asked = SpawnAsked { reference, from, module, function, arity };
                self.spawn_request(asked, &options, term())?;
            }
            ControlMessage::SpawnReply { reference, to, linked, monitored, result } => {
                let bonds = RequestedBonds { link: linked, monitor: monitored };
                self.spawn_replied((&reference, to), bonds, result)?;
            }
            control => {
                if let Some(payload) = &payload {
                    self.message(control, payload);
                }
            }
        }
        self.peer.flush(self.core);
        Ok(())
    }

    /// Links, monitors and exits come from the processes of the peer itself. In the name of
    /// others, it could leave bonds that the loss of its connection does not end.
    fn check_sender(&self, control: &ControlMessage) -> Result<(), ConnectionError> {
        let (ControlMessage::Link { from, .. }
        | ControlMessage::Exit { from, .. }
        | ControlMessage::PayloadExit { from, .. }
        | ControlMessage::Exit2 { from, .. }
        | ControlMessage::PayloadExit2 { from, .. }
        | ControlMessage::AltactSend { from, exit: true, .. }
        | ControlMessage::Monitor { from, .. }
        | ControlMessage::Demonitor { from, .. }
        | ControlMessage::UnlinkId { from, .. }
        | ControlMessage::UnlinkIdAck { from, .. }
        | ControlMessage::SpawnRequest { from, .. }) = control
        else {
            return Ok(());
        };
        if from.node == self.peer.name {
            return Ok(());
        }
        Err(ConnectionError::WrongSender { pid: from.clone() })
    }

    /// The state of the peer; `None` if the connection is lost, or was replaced by another one
    /// of this peer. What was on its way over it is lost, too (rule Zlink7).
    fn current(&self) -> Option<MutexGuard<'_, PeerNodeState>> {
        let state = self.peer.state.lock();
        (state.connection() == Some(self.connection)).then_some(state)
    }

    fn envelope(&self, decoder: &mut Decoder<'_>) -> Envelope {
        envelope(decoder, (&self.peer.name, self.connection))
    }

    fn say(&self, by: u64, control: ControlMessage, payload: SignalPayload) {
        let signal = Signal::new(by, control, None).with_payload(payload);
        if let Some(mut state) = self.current() {
            let _ = state.push(signal);
        }
    }

    /// The stand-in of a process of the peer. A peer speaks for no other node (rule Zsec5).
    fn stand_in(&self, of: &ExternalPid) -> Option<Arc<RemoteProcess>> {
        if of.node == self.peer.name { self.core.stand_in(of) } else { None }
    }

    fn key(&self, from: &ExternalPid, to: &ExternalPid) -> Option<LinkKey> {
        let local = u64::from(to.serial) << 32 | u64::from(to.id);
        Some((local, self.core.pid_of(from)?))
    }

    /// Whether the peer has this right to a process. What it may not is counted (rule Zsec4).
    fn may(&self, right: fn(&NodeRights) -> &Reach, process: &Arc<dyn Process>) -> bool {
        self.may_use(|rights| right(rights).has(|| process.info().name))
    }

    /// Whether the peer has a right. What it may not is counted.
    fn may_use(&self, is_right: impl FnOnce(&NodeRights) -> bool) -> bool {
        let may = self.peer.rights.as_ref().is_none_or(|rights| is_right(rights));
        if !may {
            self.core.counters.denied();
        }
        may
    }

    /// The process with an exported name.
    fn exported(&self, name: &str) -> Option<(Arc<dyn Process>, Sys)> {
        let export = self.core.exports.of_name(name)?;
        let process = self.core.host.whereis(name)?;
        (process.root() == Root::User).then_some((process, export.sys))
    }
}

/// The name of the process that other nodes ping.
const NET_KERNEL: &str = "net_kernel";

/// Runs in the name of nobody: the process of a connection is not the sender of what arrives
/// over it.
pub(crate) fn handle(
    dispatch: &Dispatch<'_>,
    message: IncomingMessage<'_>,
) -> Result<(), ConnectionError> {
    if dispatch.current().is_none() {
        return Ok(());
    }
    from_outside(|| dispatch.handle(message))
}
