//! What comes back from functions that this node runs on the peer: replies to its requests, and
//! what the functions print (rule Zcall10).

use super::Dispatch;
use crate::error::ConnectionError;
use crate::peer::signal::SignalPayload;
use crate::rpc::pending_rpcs::SpawnReplied;
use crate::rpc::printing::{logged, request};
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::frame::Payload;
use std::sync::atomic::Ordering;

impl Dispatch<'_> {
    /// Handles a reply to a spawn request. One that nobody waits for is counted (rule Zsec5).
    pub(super) fn spawn_replied(
        &self,
        reference: &Reference,
        is_monitored: bool,
        result: Result<ExternalPid, Atom>,
    ) -> Result<(), ConnectionError> {
        // A peer speaks for no other node.
        if let Ok(pid) = &result
            && pid.node != self.peer.name
        {
            return Err(ConnectionError::WrongSender { pid: pid.clone() });
        }
        let Some(number) = self.core.number_of(reference) else {
            self.core.counters.unasked_reply();
            return Ok(());
        };
        match self.core.rpcs.replied(&self.peer.name, number, is_monitored, result) {
            SpawnReplied::Expected => {}
            SpawnReplied::Unasked => self.core.counters.unasked_reply(),
            SpawnReplied::Demonitor { from, process } => {
                self.core.demonitor_function(&self.peer.name, number, from, process);
            }
        }
        Ok(())
    }

    /// Whether this is the group leader of functions that this node has called on the peer.
    pub(super) fn is_output(&self, pid: &ExternalPid) -> bool {
        self.peer.prints.load(Ordering::Relaxed) && self.core.is_output(pid)
    }

    /// Handles a message to a process that is not there: perhaps it is the group leader.
    pub(super) fn to_output(&self, to: &ExternalPid, payload: &Payload<'_>) {
        let message = if self.is_output(to) { payload.decoder().last_term().ok() } else { None };
        let Some(Term::Tuple(parts)) = message else {
            // An earlier incarnation of this node, or another one, has no processes here.
            let to = self.core.pid_of(to).filter(|to| to.node() == 0);
            return self.unreachable(to.map(Into::into));
        };
        match &parts[..] {
            [Term::Atom(kind), Term::Pid(from), mark, asked]
                if *kind == "io_request" && from.node == self.peer.name =>
            {
                let (answer, text) = request(asked);
                if !text.is_empty() {
                    self.core.log_output(&self.peer.name, &logged(&text));
                }
                let reply = Term::tuple([Term::atom("io_reply"), mark.clone(), answer]);
                let control =
                    ControlMessage::SendSender { from: to.clone(), to: ExternalPid::clone(from) };
                self.say(0, control, SignalPayload::Term(reply));
            }
            _ => self.unreachable(None),
        }
    }
}
