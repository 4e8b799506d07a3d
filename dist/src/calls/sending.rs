//! Messages to processes of other nodes: how they are written, and the calls that they make.
//!
//! ```text
//!  with a token:     {'$gen_call', {Pid, [alias | Ref]}, Message}, after a monitor with Ref
//!  without:          {'$gen_cast', Message}
//!  plain:            Message
//! ```

use crate::calls::caller::alias_of;
use crate::calls::pending_calls::{PendingCall, answer, call_error};
use crate::core::ClusterCore;
use crate::peer::owner::PeerOwner;
use crate::peer::proxy::{RemoteProcess, RemoteTarget};
use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::{NotPushed, NotSent, Phase};
use crate::terms::reading::Reading;
use crate::terms::writing::Writing;
use krarup_act::{
    CarriedTokens, Dynamic, LentReply, MessageKind, MessageRoom, NotWritten, Process, Reply,
    WrittenMessage, current_pid,
};
use krarup_gen::{CallError, Pid, Reason, Ref, SendError};
use krarup_wire::etf::{Atom, Decoder, Reference, Term, WriteLimits};
use krarup_wire::{ControlMessage, Monitored};
use std::cell::Cell;
use std::sync::Arc;

/// The room for a message, which most of them do not exceed.
const USUAL_MESSAGE: usize = 128;
/// `{'$gen_cast', ..`: a tuple of two, and the atom with its length.
const CAST: &[u8] = b"h\x02w\x09$gen_cast";

/// A message as bytes, with its tokens.
struct Encoded {
    bytes: Vec<u8>,
    tokens: CarriedTokens,
    nested: Vec<(u64, Ref)>,
}

impl ClusterCore {
    fn encode(
        self: &Arc<Self>,
        message: &dyn erased_serde::Serialize,
        (by, to): (Pid, Pid),
        (kind, is_call): (MessageKind, bool),
    ) -> Result<Encoded, String> {
        let mut bytes = Vec::with_capacity(USUAL_MESSAGE);
        let mut extension = Writing::new(self, by, is_call);
        let tokens = CarriedTokens::new(Arc::clone(&self.host), kind, to);
        let (written, mut tokens) =
            tokens.carry(|| self.codec.write_with(message, &mut bytes, &mut extension));
        match written {
            Ok(()) => Ok(Encoded { bytes, tokens, nested: extension.nested }),
            Err(error) => {
                tokens.lent.drain(..).for_each(LentReply::give_back);
                Err(error.to_string())
            }
        }
    }

    /// Writes a message of the process with this number; 0 for none.
    pub(crate) fn write_message(
        self: &Arc<Self>,
        to: &RemoteProcess,
        message: &dyn erased_serde::Serialize,
        number: u64,
    ) -> Result<WrittenMessage, NotWritten> {
        let by = match number {
            0 => self.pid,
            number => Pid::local(number, self.host.node_pid().creation()),
        };
        let Encoded { bytes, mut tokens, mut nested } = self
            .encode(message, (by, to.pid()), (MessageKind::Cast, true))
            .map_err(NotWritten::Unserializable)?;
        let peer = Arc::clone(to.peer());
        // A token inside the message may have been written without an outermost one.
        nested.retain(|(at, _)| usize::try_from(*at).is_ok_and(|at| at < tokens.lent.len()));
        let is_call = !tokens.lent.is_empty();
        let reference = self.host.next_ref();
        let payload = match (is_call, tokens.kind) {
            (true, _) => {
                SignalPayload::Wrapped(call_head(self.caller_term(by, reference)).into(), bytes)
            }
            (false, MessageKind::Plain) => SignalPayload::Bytes(bytes),
            (false, _) => SignalPayload::Wrapped(CAST.into(), bytes),
        };
        let mut signals = Vec::with_capacity(1 + usize::from(is_call));
        let from = self.ours(by);
        let incarnation = to.incarnation();
        let (control, monitored) = match to.target() {
            RemoteTarget::Pid(pid) => {
                let control = ControlMessage::SendSender { from: from.clone(), to: pid.clone() };
                (control, Monitored::Pid(pid.clone()))
            }
            RemoteTarget::Name(_, name) => {
                let control = ControlMessage::RegSend { from: from.clone(), name: name.clone() };
                (control, Monitored::Name(name.clone()))
            }
            RemoteTarget::Node => return Err(NotWritten::NoProcess),
        };
        if is_call {
            let control = ControlMessage::Monitor {
                from: from.clone(),
                target: monitored.clone(),
                reference: self.reference(reference),
            };
            signals.push(Signal::new(number, control, incarnation));
            let token = tokens.lent.remove(0);
            // The numbers of the tokens inside count from the outermost one.
            for (at, _) in &mut nested {
                *at -= 1;
            }
            let node = peer.name.clone();
            let monitor = Some((from, monitored));
            self.calls.insert(reference.number(), PendingCall { token, node, monitor });
        }
        signals.push(Signal::new(number, control, incarnation).with_payload(payload));
        let begun: Vec<u64> = nested.iter().map(|(_, reference)| reference.number()).collect();
        self.begin_nested(&peer.name, nested, tokens);
        let core = Arc::clone(self);
        let call = is_call.then_some(reference.number());
        let send = move || {
            let not_pushed: Vec<NotPushed> = {
                let mut state = peer.state.lock();
                signals.into_iter().filter_map(|signal| state.push(signal)).collect()
            };
            peer.flush(&core);
            for NotPushed { signal, why } in not_pushed {
                core.nested_not_sent(&begun, why);
                core.not_sent(&peer, signal, why);
            }
        };
        Ok(WrittenMessage { call, send: Box::new(send) })
    }

    /// Sends a message as it is.
    pub(crate) fn send_plain(
        self: &Arc<Self>,
        to: &RemoteProcess,
        message: &dyn erased_serde::Serialize,
    ) -> Result<(), SendError<()>> {
        let number = current_pid().filter(|pid| pid.node() == 0).map_or(0, Pid::id);
        let by = current_pid().filter(|_| number != 0).unwrap_or(self.pid);
        if to.is_stranger() {
            return Err(SendError::NoProcess { message: (), to: to.pid() });
        }
        if to.peer().is_full() {
            return Err(SendError::Full { message: (), to: to.pid() });
        }
        let Encoded { bytes, tokens, nested } = self
            .encode(message, (by, to.pid()), (MessageKind::Plain, false))
            .map_err(|why| unserializable(to.pid(), why))?;
        let begun: Vec<u64> = nested.iter().map(|(_, reference)| reference.number()).collect();
        self.begin_nested(&to.peer().name, nested, tokens);
        self.post(to, (by, number), bytes, &begun)
    }

    /// Sends a term as it is, without the codec.
    pub(crate) fn send_term(
        self: &Arc<Self>,
        to: &RemoteProcess,
        term: &Term,
        room: MessageRoom,
    ) -> Result<(), SendError<()>> {
        let number = current_pid().filter(|pid| pid.node() == 0).map_or(0, Pid::id);
        let by = current_pid().filter(|_| number != 0).unwrap_or(self.pid);
        if to.is_stranger() {
            return Err(SendError::NoProcess { message: (), to: to.pid() });
        }
        if room == MessageRoom::Wanted && to.peer().is_full() {
            return Err(SendError::Full { message: (), to: to.pid() });
        }
        let mut bytes = Vec::new();
        let why = |why| unserializable(to.pid(), why);
        term.write(&mut bytes).map_err(|error| why(error.to_string()))?;
        WriteLimits::DEFAULT.check(&bytes).map_err(|error| why(error.to_string()))?;
        self.post(to, (by, number), bytes, &[])
    }

    fn post(
        self: &Arc<Self>,
        to: &RemoteProcess,
        (by, number): (Pid, u64),
        bytes: Vec<u8>,
        begun: &[u64],
    ) -> Result<(), SendError<()>> {
        let from = self.ours(by);
        let control = match to.target() {
            RemoteTarget::Pid(pid) => ControlMessage::SendSender { from, to: pid.clone() },
            RemoteTarget::Name(_, name) => ControlMessage::RegSend { from, name: name.clone() },
            RemoteTarget::Node => return Err(SendError::NoProcess { message: (), to: to.pid() }),
        };
        let payload = SignalPayload::Bytes(bytes);
        let signal = Signal::new(number, control, to.incarnation()).with_payload(payload);
        // Another incarnation may have come up since it was looked at, or the connection is lost.
        if let Some(NotPushed { signal, why }) = to.peer().push(signal) {
            self.nested_not_sent(begun, why);
            self.not_sent(to.peer(), signal, why);
            let (message, to) = ((), to.pid());
            return Err(match why {
                NotSent::Lost => SendError::NoConnection { message, to },
                NotSent::Stale | NotSent::Unknown => SendError::NoProcess { message, to },
            });
        }
        to.peer().flush(self);
        Ok(())
    }

    /// Sends a value whose type is known only at run time (rule Zmsg14).
    pub(crate) fn send_dynamic(
        self: &Arc<Self>,
        to: &RemoteProcess,
        message: Dynamic,
    ) -> Result<(), SendError<Dynamic>> {
        if message.is::<Term>() {
            return match message.downcast::<Term>() {
                Ok(term) => self
                    .send_term(to, &term, MessageRoom::Wanted)
                    .map_err(|error| error.map(|()| Dynamic::new(term))),
                Err(message) => Err(SendError::NoProcess { message, to: to.pid() }),
            };
        }
        match self.exports.of_type(message.type_name()) {
            Some(inlet) => inlet.send(self, to, message),
            None => {
                let why = format!("{} is not carried by the cluster", message.type_name());
                Err(SendError::Unserializable { message, to: to.pid(), why: why.into() })
            }
        }
    }

    /// Sends a message to an alias of a process of another node.
    pub(crate) fn send_to_alias(
        self: &Arc<Self>,
        alias: &Reference,
        message: &dyn erased_serde::Serialize,
        room: MessageRoom,
    ) -> Result<(), SendError<()>> {
        let number = current_pid().filter(|pid| pid.node() == 0).map_or(0, Pid::id);
        let by = current_pid().filter(|_| number != 0).unwrap_or(self.pid);
        let Some(peer) = self.peer(alias.node()) else {
            let node = alias.node().to_string();
            return Err(SendError::NoNode { message: (), node });
        };
        // The process that has the alias is not known. Errors name the cluster.
        let to = self.pid;
        if room == MessageRoom::Wanted && peer.is_full() {
            return Err(SendError::Full { message: (), to });
        }
        let Encoded { bytes, tokens, nested } = self
            .encode(message, (by, to), (MessageKind::Plain, false))
            .map_err(|why| unserializable(to, why))?;
        let begun: Vec<u64> = nested.iter().map(|(_, reference)| reference.number()).collect();
        self.begin_nested(&peer.name, nested, tokens);
        let incarnation = self.incarnation(alias.node(), alias.creation());
        let control = ControlMessage::AliasSend { from: self.ours(by), alias: alias.clone() };
        let payload = SignalPayload::Bytes(bytes);
        let signal = Signal::new(number, control, incarnation).with_payload(payload);
        if let Some(NotPushed { why, .. }) = peer.push(signal) {
            self.nested_not_sent(&begun, why);
            if why == NotSent::Lost {
                return Err(SendError::NoConnection { message: (), to });
            }
        }
        peer.flush(self);
        Ok(())
    }

    /// Remembers the tokens inside a message: their holders will answer them.
    pub(crate) fn begin_nested(&self, node: &Atom, nested: Vec<(u64, Ref)>, tokens: CarriedTokens) {
        let mut lent: Vec<Option<LentReply>> = tokens.lent.into_iter().map(Some).collect();
        for (at, reference) in nested {
            let token = usize::try_from(at).ok().and_then(|at| lent.get_mut(at)?.take());
            if let Some(token) = token {
                let call = PendingCall { token, node: node.clone(), monitor: None };
                self.calls.insert(reference.number(), call);
            }
        }
    }

    /// Remembers a token that another process, on any node, will answer by this reference.
    /// The process `by` passes it on.
    pub(crate) fn keep_token(&self, by: Pid, reference: Ref, reply: Reply<Term>) {
        let tokens = CarriedTokens::new(Arc::clone(&self.host), MessageKind::Plain, by);
        let (lent, tokens) = tokens.carry(|| krarup_act::lend(&reply));
        drop(reply);
        if lent.is_ok() {
            self.begin_nested(&self.me, vec![(0, reference)], tokens);
        }
    }

    /// `{Pid, [alias | Ref]}`.
    pub(crate) fn caller_term(&self, by: Pid, reference: Ref) -> Term {
        let tag = Term::list_with_tail([Term::atom("alias")], self.reference(reference).into());
        Term::tuple([self.ours(by).into(), tag])
    }

    /// The caller does not wait any more: the call leaves nothing behind (rule Zcall5).
    pub(crate) fn abandon_call(self: &Arc<Self>, number: u64) {
        if let Some(call) = self.calls.take(number) {
            self.demonitor_call(number, &call);
        }
    }

    pub(super) fn demonitor_call(self: &Arc<Self>, number: u64, call: &PendingCall) {
        let (Some((from, target)), Some(peer)) = (&call.monitor, self.peer(&call.node)) else {
            return;
        };
        // While the peer is dialled, the monitor waits in the queue, and is sent.
        if matches!(
            peer.state.lock().phase,
            Phase::Idle | Phase::Losing | Phase::Gone | Phase::Ended
        ) {
            return;
        }
        let by = u64::from(from.serial) << 32 | u64::from(from.id);
        let (from, target) = (from.clone(), target.clone());
        let reference = self.reference(Ref::new(number));
        let control = ControlMessage::Demonitor { from, target, reference };
        // If the connection is lost, so is the monitor.
        drop(peer.push(Signal::new(by, control, None)));
        peer.flush(self);
    }

    /// Handles a message to the reference of a call. Returns false if there is no such call.
    pub(crate) fn answered(
        self: &Arc<Self>,
        number: u64,
        mut decoder: Decoder<'_>,
        from: &Atom,
    ) -> bool {
        let Some(call) = self.calls.take(number) else { return false };
        self.demonitor_call(number, &call);
        let head = decoder.tuple().and_then(|count| Ok((count, decoder.term()?)));
        let is_answer = matches!(&head, Ok((Some(2), tag))
            if alias_of(tag).and_then(|alias| self.number_of(alias)) == Some(number));
        if !is_answer {
            let why = "the answer is not a pair of a tag and a value";
            call.fail_with(Reason::error(why));
            return true;
        }
        let missed_caller = Cell::default();
        let mut extension =
            Reading { core: self, by: 0, has_caller: false, missed_caller, from: Some(from) };
        let tokens = CarriedTokens::new(Arc::clone(&self.host), MessageKind::Plain, self.pid);
        let token = call.token;
        let (read, _) = tokens.carry(|| answer(token, self.codec, decoder, &mut extension));
        if read.is_err() {
            self.counters.undecodable();
        }
        true
    }

    /// Counts an answer to a call that is over (rule Zobs4).
    pub(crate) fn count_late_reply(&self) {
        self.counters.late();
        self.host.count_late_reply();
    }

    /// The tokens inside a message that is not sent: nobody will answer them.
    pub(crate) fn nested_not_sent(&self, begun: &[u64], why: NotSent) {
        for number in begun {
            match why {
                NotSent::Lost => self.call_is_lost(*number),
                NotSent::Stale | NotSent::Unknown => self.callee_is_gone(*number),
            }
        }
    }

    /// There is no connection to the callee: the request is not sent.
    pub(crate) fn call_is_lost(&self, number: u64) {
        if let Some(call) = self.calls.take(number) {
            call.fail_unsent();
        }
    }

    /// The callee belongs to an incarnation that has ended (rule Zid5).
    pub(crate) fn callee_is_gone(&self, number: u64) {
        if let Some(call) = self.calls.take(number) {
            let to = call.token.to();
            call.token.fail(CallError::NoProcess { to });
        }
    }

    /// Handles the end of the callee of a call to this node. Returns false if there is no such
    /// call.
    pub(crate) fn callee_ended(
        &self,
        node: &Atom,
        number: u64,
        reason: &Term,
        ended: Reason,
    ) -> bool {
        match self.calls.take_monitored(number, node) {
            Some(call) => {
                let (to, callee) = (call.token.to(), call.callee());
                call.token.fail(call_error(to, callee, reason, ended));
                true
            }
            None => false,
        }
    }
}

fn unserializable(to: Pid, why: String) -> SendError<()> {
    SendError::Unserializable { message: (), to, why: why.into() }
}

/// `{'$gen_call', From, ..`.
fn call_head(from: Term) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_MESSAGE);
    // A tuple of an atom and a caller can always be written.
    let _ = Term::tuple([Term::atom("$gen_call"), from, Term::nil()]).write(&mut bytes);
    // The message takes the place of the `[]`, which is one byte.
    bytes.pop();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall1_a_cast_begins_as_the_tuple_of_its_atom_and_a_term_does() {
        let mut bytes = Vec::new();
        Term::tuple([Term::atom("$gen_cast"), Term::nil()]).write(&mut bytes).unwrap();
        bytes.pop();
        assert_eq!(bytes, CAST);
    }
}
