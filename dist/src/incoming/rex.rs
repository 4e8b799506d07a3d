//! The old `rpc`, by the name `rex`: for C nodes, and for `rpc:block_call` of OTP. The name is
//! there as soon as a function is served (rule Zglobal3).
//!
//! | message | answer |
//! |---|---|
//! | `{Pid, {call, M, F, Args, Leader}}` | `{rex, Value}` |
//! | `{'$gen_call', From, {call, M, F, Args, Leader}}`, `block_call` | `{Tag, Value}` |
//! | `{'$gen_cast', {cast, M, F, Args, Leader}}` | - |
//! | `{Pid, features_request}` | `{features_reply, Node, [erpc]}` |

use super::Dispatch;
use super::spawning::Wanted;
use crate::calls::caller::RemoteCaller;
use crate::functions::asker::Asker;
use crate::functions::outcome::FunctionOutcome;
use crate::peer::signal::SignalPayload;
use crate::rights::reach::Reach;
use krarup_gen::Reason;
use krarup_wire::ControlMessage;
use krarup_wire::etf::{ExternalPid, Term};

/// The name of the server of the old `rpc`.
pub(super) const REX: &str = "rex";

impl Dispatch<'_> {
    /// Whether this name is that of the old `rpc`, and functions are served.
    pub(super) fn is_rex(&self, name: &str) -> bool {
        name == REX
            && !self.core.functions.is_empty()
            && self.exported(name).is_none()
            && self.peer.rights.as_ref().is_none_or(|rights| rights.calls != Reach::Nothing)
    }

    /// Handles a message to `rex`.
    pub(super) fn rex(&self, message: &Term) {
        let Term::Tuple(parts) = message else { return self.unreachable(None) };
        match &parts[..] {
            [Term::Pid(to), Term::Atom(request)] if *request == "features_request" => {
                self.features(to);
            }
            [Term::Pid(to), request] if self.is_of_peer(to) => {
                self.call_of_rex(Asker::Rex(ExternalPid::clone(to)), request, &["call"]);
            }
            [Term::Atom(kind), from, request] if *kind == "$gen_call" => {
                match RemoteCaller::from_term(from) {
                    Some(caller) if self.is_of_peer(&caller.pid) => {
                        let asker = Asker::RexCall(caller);
                        self.call_of_rex(asker, request, &["call", "block_call"]);
                    }
                    _ => self.unreachable(None),
                }
            }
            [Term::Atom(kind), request] if *kind == "$gen_cast" => {
                self.call_of_rex(Asker::Nobody, request, &["cast"]);
            }
            _ => self.unreachable(None),
        }
    }

    fn is_of_peer(&self, pid: &ExternalPid) -> bool {
        pid.node == self.peer.name
    }

    fn features(&self, to: &ExternalPid) {
        if !self.is_of_peer(to) {
            return self.unreachable(None);
        }
        let features = Term::list([Term::atom("erpc")]);
        let reply = [Term::atom("features_reply"), self.core.me.clone().into(), features];
        let from = self.core.named(self.core.pid);
        let control = ControlMessage::SendSender { from, to: to.clone() };
        self.say(0, control, SignalPayload::Term(Term::tuple(reply)));
    }

    fn call_of_rex(&self, asker: Asker, request: &Term, kinds: &[&str]) {
        let wanted = match request {
            Term::Tuple(parts) => match &parts[..] {
                [Term::Atom(kind), wanted @ .., _] if kinds.contains(&kind.as_str()) => {
                    Wanted::read(wanted)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(wanted) = wanted else { return self.unreachable(None) };
        let process = || (0, self.core.named(self.core.pid));
        let Some(function) = self.served(&wanted) else {
            let payload = asker.payload(FunctionOutcome::undefined(wanted.frame()));
            return self.push(asker.signal(process(), payload));
        };
        // The asker is gone with a run that was begun.
        let refused = match &asker {
            Asker::Rex(to) => Asker::Rex(to.clone()),
            Asker::RexCall(caller) => Asker::RexCall(caller.clone()),
            _ => Asker::Nobody,
        };
        match self.run(&*function, asker, &wanted.arguments, &|_| ()) {
            Ok(Some((_, gate))) => gate.send(()).unwrap_or_default(),
            Ok(None) => {}
            Err(why) => {
                let why = Reason::error(crate::terms::reason::ReasonTerm(Term::atom(why)));
                let payload = refused.payload(FunctionOutcome::Ended(why));
                self.push(refused.signal(process(), payload));
            }
        }
    }
}
