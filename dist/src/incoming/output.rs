//! What the functions print that this node runs on the peer (rule Zcall10).

use super::Dispatch;
use crate::peer::signal::SignalPayload;
use crate::rpc::printing::{logged, request};
use krarup_wire::ControlMessage;
use krarup_wire::etf::{ExternalPid, Term};
use krarup_wire::frame::Payload;
use std::sync::atomic::Ordering;

impl Dispatch<'_> {
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
