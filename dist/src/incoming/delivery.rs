//! The messages of a peer, on their way to mailboxes and to the calls that they answer.

use super::envelope::Envelope;
use super::{Dispatch, NET_KERNEL};
use crate::calls::caller::alias_of;
use crate::core::ClusterCore;
use crate::exports::Sys;
use crate::exports::inlet::{Inlet, RemoteMessage, Undelivered};
use krarup_act::{MessageKind, Process};
use krarup_gen::{Alias, CallError, DeadLetter, DeadLetterCause, Name, Pid, Ref, Target};
use krarup_wire::etf::{ExternalPid, Reference, Term};
use krarup_wire::frame::Payload;
use krarup_wire::{AliasRecipient, ControlMessage};
use std::sync::Arc;

impl Dispatch<'_> {
    pub(super) fn message(&self, control: ControlMessage, payload: &Payload<'_>) {
        match control {
            ControlMessage::Send { to } | ControlMessage::SendSender { to, .. } => {
                self.to_pid(&to, payload);
            }
            ControlMessage::RegSend { name, .. } => self.to_name(name.as_str(), payload),
            ControlMessage::AliasSend { alias, .. } => self.to_alias(&alias, payload),
            ControlMessage::AltactSend { from, to, exit: true, .. } => {
                if let AliasRecipient::Pid(to) = to
                    && let Ok(reason) = payload.decoder().last_term()
                {
                    self.signal(&from, &to, &reason);
                }
            }
            ControlMessage::AltactSend { to, .. } => match to {
                AliasRecipient::Pid(pid) => self.to_pid(&pid, payload),
                AliasRecipient::Name(name) => self.to_name(name.as_str(), payload),
                AliasRecipient::Alias(alias) => self.to_alias(&alias, payload),
            },
            _ => {}
        }
    }

    fn to_pid(&self, to: &ExternalPid, payload: &Payload<'_>) {
        if self.is_answer(payload) {
            return;
        }
        let Some(process) = self.core.local(to) else {
            if let Some(scope) = self.scope_of(to) {
                return self.to_scope(scope, payload);
            }
            return self.to_output(to, payload);
        };
        let inlet = self.core.exports.of_type(process.lane_types().0);
        // It is looked up for the rare request that needs it.
        let named = Arc::clone(&process);
        let sys = || {
            let name = named.info().name?;
            Some(self.core.exports.of_name(name.as_str())?.sys)
        };
        self.deliver(process, inlet, &|| sys().unwrap_or_default(), None, payload);
    }

    fn to_name(&self, name: &str, payload: &Payload<'_>) {
        if name == NET_KERNEL {
            return self.ping(payload);
        }
        let Some((process, sys)) = self.exported(name) else {
            if let Some(scope) = self.core.scope(name) {
                return self.to_scope(scope, payload);
            }
            if self.is_rex(name)
                && let Ok(message) = payload.decoder().last_term()
            {
                return self.rex(&message);
            }
            let is_lost = !self.is_greeting(payload);
            let to = is_lost.then(|| Name::new(name).ok().map(Target::from));
            return self.unreachable(to.flatten());
        };
        let inlet = self.core.exports.of_name(name).map(|export| export.inlet);
        self.deliver(process, inlet, &|| sys, None, payload);
    }

    fn to_alias(&self, alias: &Reference, payload: &Payload<'_>) {
        let Some(number) = self.core.number_of(alias) else {
            // Of an earlier incarnation of this node.
            if *alias.node() == self.core.me {
                return self.late();
            }
            return self.unreachable(None);
        };
        if self.core.answered(number, payload.decoder(), &self.peer.name) {
            return;
        }
        let alias = Alias::new(Ref::new(number));
        let process = self.core.host.by_alias(alias);
        let Some(process) = process.filter(crate::core::is_reachable) else {
            return self.late();
        };
        let inlet = self.core.exports.of_type(process.lane_types().0);
        self.deliver(process, inlet, &|| Sys::Status, Some(alias), payload);
    }

    /// Whether the message is an answer to a call, sent to the pid of the caller: by a node that
    /// knows no aliases. A late one is one, too (rule Zcall5).
    fn is_answer(&self, payload: &Payload<'_>) -> bool {
        let mut decoder = payload.decoder();
        if !matches!(decoder.tuple(), Ok(Some(2))) || decoder.list_length() != Some(1) {
            return false;
        }
        let Ok(tag) = decoder.term() else { return false };
        let Some(number) = alias_of(&tag).and_then(|alias| self.core.number_of(alias)) else {
            return false;
        };
        if self.core.answered(number, payload.decoder(), &self.peer.name) {
            return true;
        }
        // A process has told others its alias in such a tag.
        if self.core.host.by_alias(Alias::new(Ref::new(number))).is_some() {
            return false;
        }
        self.late();
        true
    }

    /// Counts an answer to a call that is over, as a local one (rules C3, Zobs4).
    fn late(&self) {
        self.peer.received.late();
        self.core.count_late_reply();
    }

    fn deliver(
        &self,
        to: Arc<dyn Process>,
        inlet: Option<Arc<dyn Inlet<ClusterCore>>>,
        sys: &dyn Fn() -> Sys,
        alias: Option<Alias>,
        payload: &Payload<'_>,
    ) {
        let mut decoder = payload.decoder();
        let codec = self.core.codec;
        let head = self.envelope(&mut decoder);
        let by = to.pid().id();
        if !self.may(|rights| &rights.sends, &to) {
            if let Envelope::Call(caller) | Envelope::System(caller) = head {
                caller.refuse(self.core, by, &CallError::NoProcess { to: to.pid() });
            }
            return self.dead_letter(to.pid().into(), DeadLetterCause::NoProcess);
        }
        let (kind, caller) = match head {
            Envelope::Call(caller) => (MessageKind::Call, Some(caller)),
            Envelope::Cast => (MessageKind::Cast, None),
            Envelope::System(caller) => {
                let request = decoder.term().unwrap_or_else(|_| Term::nil());
                let most = self.peer.rights.as_ref().map_or(Sys::All, |rights| rights.most_sys);
                return super::sys::serve(self.core, &to, sys().min(most), &caller, &request);
            }
            Envelope::Plain => {
                decoder = payload.decoder();
                (MessageKind::Plain, None)
            }
        };
        let Some(inlet) = inlet else {
            self.unreachable(Some(to.pid().into()));
            if let Some(caller) = caller {
                caller.refuse_undecodable(self.core, by, "the process takes no such messages");
            }
            return;
        };
        let from = &self.peer.name;
        let message = RemoteMessage { kind, caller: caller.clone(), alias, decoder, codec, from };
        let (pid, expected) = (to.pid(), to.lane_types().0);
        let Err(error) = inlet.deliver(self.core, to, message) else { return };
        match &error {
            Undelivered::Undecodable(_) | Undelivered::NoReply => {
                self.core.counters.undecodable();
                self.dead_letter(pid.into(), DeadLetterCause::Undecodable);
            }
            Undelivered::Refused(_) => {}
        }
        let Some(caller) = caller else {
            match &error {
                Undelivered::Refused(_) => self.dead_letter(pid.into(), DeadLetterCause::Overflow),
                // A caller is told why.
                Undelivered::Undecodable(why) => self.log_undecodable(pid, expected, why),
                Undelivered::NoReply => {
                    self.log_undecodable(pid, expected, "it is a call, and came as a cast");
                }
            }
            return;
        };
        match error {
            Undelivered::Undecodable(why) => caller.refuse_undecodable(self.core, by, &why),
            Undelivered::NoReply => {
                caller.refuse(self.core, by, &CallError::NoReply { to: pid });
            }
            Undelivered::Refused(error) => caller.refuse(self.core, by, &error),
        }
    }

    /// Logs why a cast cannot be read, with the name of its receiver if it has one.
    fn log_undecodable(&self, to: Pid, expected: &str, why: &str) {
        let name = self.core.host.process(to).and_then(|process| process.info().name);
        match name {
            Some(name) => self.core.log_undecodable(&self.peer.name, &name, expected, why),
            None => self.core.log_undecodable(&self.peer.name, &to, expected, why),
        }
    }

    /// Counts a message to nobody, and offers it as a dead letter if it has a receiver.
    pub(super) fn unreachable(&self, to: Option<Target>) {
        self.core.counters.unreachable();
        if let Some(to) = to {
            self.dead_letter(to, DeadLetterCause::NoProcess);
        }
    }

    /// Offers a message of the peer as a dead letter, as a local one (rule Zobs4).
    fn dead_letter(&self, to: Target, cause: DeadLetterCause) {
        self.peer.received.dead_letter();
        let letter = DeadLetter::new(to, None, "a message", cause);
        self.core.host.dead_letter(letter.of_node(self.peer.node.clone()));
    }

    /// `net_kernel` answers `is_auth` and nothing else (rule Zcall11).
    fn ping(&self, payload: &Payload<'_>) {
        let mut decoder = payload.decoder();
        let Envelope::Call(caller) = self.envelope(&mut decoder) else { return };
        let request = decoder.term();
        if let Ok(Term::Tuple(parts)) = &request
            && matches!(&parts[..], [Term::Atom(what), _] if *what == "is_auth")
        {
            caller.answerer(self.core, self.core.pid.id())(Ok(&Term::atom("yes")));
        }
    }
}
