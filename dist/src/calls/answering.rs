//! How a caller on another node is answered, or told that it will not be.

use crate::calls::caller::{AnswerWay, RemoteCaller};
use crate::calls::pending_calls::refusal_term;
use crate::core::ClusterCore;
use crate::peer::owner::PeerOwner;
use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::{NotPushed, NotSent, PeerNode};
use crate::terms::writing::Writing;
use krarup_act::{Answerer, CarriedTokens, MessageKind, Process, demonitor_from};
use krarup_gen::{CallError, Pid};
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Term, WriteLimits};
use std::sync::Arc;

impl RemoteCaller {
    /// Returns the right to answer it, for the process with this number.
    pub(crate) fn answerer(self, core: &Arc<ClusterCore>, by: u64) -> Answerer {
        let core = Arc::clone(core);
        Box::new(move |answer| match answer {
            Ok(value) => self.answer(&core, by, value),
            Err(error) => self.refuse(&core, by, &error),
        })
    }

    fn answer(&self, core: &Arc<ClusterCore>, by: u64, value: &dyn erased_serde::Serialize) {
        let from = Pid::local(by, core.host.node_pid().creation());
        let mut payload = Vec::new();
        let tag = Term::tuple([self.tag.clone(), Term::nil()]);
        if tag.write(&mut payload).is_err() {
            return;
        }
        // The value takes the place of the `[]`, which is one byte.
        payload.pop();
        let tag_bytes = payload.len();
        // Beyond the bound of the table of nodes, the cluster stands for the caller.
        let to = core.pid_of(&self.pid).unwrap_or(core.pid);
        let tokens = CarriedTokens::new(Arc::clone(&core.host), MessageKind::Plain, to);
        let mut extension = Writing::new(core, from, false);
        let (written, tokens) =
            tokens.carry(|| core.codec.write_with(value, &mut payload, &mut extension));
        let written = written.and_then(|()| match tag_bytes {
            // The limits of a value have room for it.
            0..=WriteLimits::WRAP_BYTES => Ok(()),
            // The caller has chosen it.
            _ => Ok(WriteLimits::DEFAULT.check(&payload)?),
        });
        if let Err(error) = written {
            tokens.lent.into_iter().for_each(krarup_act::LentReply::give_back);
            core.log_dropped(&self.pid.node, &error);
            return self.refuse_for(core, by, "unserializable", &error.to_string());
        }
        let nested = extension.nested;
        let begun: Vec<u64> = nested.iter().map(|(_, reference)| reference.number()).collect();
        core.begin_nested(&self.pid.node, nested, tokens);
        if self.pid.node == core.me {
            // A token that was passed to another node has come home.
            return core.answered_at_home(self.alias(), &payload);
        }
        let Some(peer) = core.peer(&self.pid.node) else {
            core.nested_not_sent(&begun, NotSent::Lost);
            return core.count_late_reply();
        };
        let sender = core.ours(from);
        let control = match self.alias() {
            Some(alias) => ControlMessage::AliasSend { from: sender, alias: alias.clone() },
            None => ControlMessage::SendSender { from: sender, to: self.pid.clone() },
        };
        let incarnation = core.incarnation(&self.pid.node, self.pid.creation);
        let payload = SignalPayload::Answer(payload);
        let signal = Signal::new(by, control, incarnation).with_payload(payload);
        if let Some(NotPushed { why, .. }) = self.push(&peer, signal) {
            // Whoever waits for it has been told of the loss.
            core.nested_not_sent(&begun, why);
            return core.count_late_reply();
        }
        peer.flush(core);
    }

    /// Records an answer, unless its way is lost.
    fn push(&self, peer: &PeerNode, signal: Signal) -> Option<NotPushed> {
        let mut state = peer.state.lock();
        let has_way = match self.way {
            AnswerWay::Over(connection) => state.connection() == Some(connection),
            AnswerWay::IfConnected => state.connection().is_some(),
            AnswerWay::Dial => true,
        };
        if has_way { state.push(signal) } else { Some(NotPushed { signal, why: NotSent::Lost }) }
    }

    /// Fires the monitor of the call, and no other.
    pub(crate) fn refuse(&self, core: &Arc<ClusterCore>, by: u64, error: &CallError) {
        let term = match error {
            CallError::Terminated { to, reason } => {
                let reason = core.end_of(reason.clone());
                refusal_term(&CallError::Terminated { to: *to, reason })
            }
            error => refusal_term(error),
        };
        self.refuse_with(core, by, term);
    }

    /// Fires the monitor of a call that cannot be read.
    pub(crate) fn refuse_undecodable(&self, core: &Arc<ClusterCore>, by: u64, why: &str) {
        self.refuse_for(core, by, "undecodable", why);
    }

    /// Fires the monitor of the call with `{refused, {Cause, Text}}`.
    fn refuse_for(&self, core: &Arc<ClusterCore>, by: u64, cause: &'static str, why: &str) {
        let why = Term::tuple([Term::atom(cause), Term::binary(why)]);
        self.refuse_with(core, by, Term::tuple([Term::atom("refused"), why]));
    }

    fn refuse_with(&self, core: &Arc<ClusterCore>, by: u64, reason: Term) {
        if self.pid.node == core.me {
            return core.refused_at_home(self.alias(), &reason);
        }
        let (Some(reference), Some(peer)) = (self.monitor(), core.peer(&self.pid.node)) else {
            core.counters.refused();
            return;
        };
        let found = peer.state.lock().foreign.remove(reference);
        let Some((monitor, foreign)) = found else { return };
        if let Some(stand_in) = core.stand_in(&self.pid) {
            let stand_in: Arc<dyn Process> = stand_in;
            demonitor_from(&*core.host, &stand_in, monitor);
            stand_in.schedule(None);
        }
        let control = ControlMessage::PayloadMonitorExit {
            target: foreign.target,
            to: foreign.by,
            reference: foreign.reference,
        };
        let payload = SignalPayload::Term(reason);
        let incarnation = core.incarnation(&self.pid.node, self.pid.creation);
        // The loss of the connection has told the caller.
        if peer.push_if_up(Signal::new(by, control, incarnation).with_payload(payload)) {
            peer.flush(core);
        }
    }
}
