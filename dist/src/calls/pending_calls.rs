//! The calls from this node to others that have no answer yet (rules Zcall4, Zcall5).
//!
//! A call is a monitor and a message with the same fresh reference. The answer names that
//! reference, and so does the notice that the callee has ended. Whichever comes first takes the
//! entry; what comes later finds none.

use krarup_act::LentReply;
use krarup_gen::{CallError, Name, NodeName, Pid, Reason, Target, UndeliveredCause};
use krarup_wire::Monitored;
use krarup_wire::codec::{Extension, ReadError, TermCodec};
use krarup_wire::etf::{Atom, Decoder, ExternalPid, Term};
use parking_lot::Mutex;
use serde::de::{DeserializeSeed, Deserializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// A call without an answer.
pub(crate) struct PendingCall {
    pub(crate) token: LentReply,
    pub(crate) node: Atom,
    /// The monitor of the call; a token inside a message has none.
    pub(crate) monitor: Option<(ExternalPid, Monitored)>,
}

impl PendingCall {
    /// The callee.
    pub(crate) fn callee(&self) -> Target {
        let named = match &self.monitor {
            Some((_, Monitored::Name(name))) => Name::new(name.as_str()).ok(),
            _ => None,
        };
        match (named, NodeName::new(self.node.as_str())) {
            (Some(name), Ok(node)) => Target::Remote(name, node),
            _ => self.token.to().into(),
        }
    }

    /// Fails the call: its request was not sent, because there is no connection.
    pub(crate) fn fail_unsent(self) {
        let (to, cause) = (Box::new(self.callee()), UndeliveredCause::NoConnection);
        self.token.fail(CallError::Undelivered { to, cause });
    }

    /// Fails the call: its callee has ended with this reason, or cannot answer.
    pub(crate) fn fail_with(self, reason: Reason) {
        let to = self.token.to();
        self.token.fail(CallError::Terminated { to, reason });
    }
}

/// The calls of a node, by the numbers of their references.
#[derive(Default)]
pub(crate) struct Calls {
    pending: Mutex<BTreeMap<u64, PendingCall>>,
}

impl Calls {
    pub(crate) fn insert(&self, number: u64, call: PendingCall) {
        self.pending.lock().insert(number, call);
    }

    pub(crate) fn take(&self, number: u64) -> Option<PendingCall> {
        self.pending.lock().remove(&number)
    }

    /// Takes a call to a process of this node, which has monitored it.
    pub(crate) fn take_monitored(&self, number: u64, node: &Atom) -> Option<PendingCall> {
        let mut pending = self.pending.lock();
        let is_told = |call: &PendingCall| call.node == *node && call.monitor.is_some();
        if pending.get(&number).is_some_and(is_told) { pending.remove(&number) } else { None }
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.lock().len()
    }

    /// Fails all calls to this node, to which a connection is lost, or could not be made
    /// (`was_up` is false): then no request was sent.
    pub(crate) fn lost(&self, node: &Atom, was_up: bool) {
        let lost: Vec<PendingCall> = {
            let mut pending = self.pending.lock();
            let numbers: Vec<u64> =
                pending.iter().filter(|(_, call)| call.node == *node).map(|(n, _)| *n).collect();
            numbers.iter().filter_map(|number| pending.remove(number)).collect()
        };
        for call in lost {
            if was_up {
                call.fail_with(Reason::NoConnection);
            } else {
                call.fail_unsent();
            }
        }
    }
}

/// Answers a call with the next term, which must be the last.
pub(crate) fn answer(
    token: LentReply,
    codec: TermCodec,
    decoder: Decoder<'_>,
    extension: &mut dyn Extension,
) -> Result<(), ReadError> {
    struct Seed(LentReply);

    impl<'de> DeserializeSeed<'de> for Seed {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            self.0.answer(&mut <dyn erased_serde::Deserializer<'_>>::erase(deserializer));
            Ok(())
        }
    }

    codec.read_seed(decoder, extension, Seed(token))
}

/// The error of a call to `to`, which has ended with this reason, or refuses the call (rules
/// Zcall3, Zcall4). `callee` names it.
pub(crate) fn call_error(to: Pid, callee: Target, reason: &Term, ended: Reason) -> CallError {
    if let Term::Tuple(parts) = reason
        && let [Term::Atom(refused), why] = &parts[..]
        && *refused == "refused"
        && let Some(error) = refusal(to, callee, why)
    {
        return error;
    }
    match ended {
        Reason::NoProcess => CallError::NoProcess { to },
        reason => CallError::Terminated { to, reason },
    }
}

fn refusal(to: Pid, callee: Target, why: &Term) -> Option<CallError> {
    let text = |text: &Term| match text {
        Term::Binary(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    let time = |ms: &Term| match ms {
        Term::Int(ms) => Some(Duration::from_millis(u64::try_from(*ms).ok()?)),
        _ => None,
    };
    match why {
        Term::Atom(why) => match why.as_str() {
            "no_reply" => Some(CallError::NoReply { to }),
            "full" => Some(CallError::Full { to }),
            "no_workers" => Some(CallError::NoWorkers { to }),
            "draining" => Some(CallError::Draining { to }),
            _ => None,
        },
        Term::Tuple(parts) => match &parts[..] {
            [Term::Atom(why), ms] if *why == "rate_limited" => {
                time(ms).map(|retry_after| CallError::RateLimited { to, retry_after })
            }
            // No handler has seen the request: it is refused where it is read.
            [Term::Atom(why), cause] if *why == "undecodable" => {
                let cause = UndeliveredCause::Undecodable(text(cause)?.into());
                Some(CallError::Undelivered { to: Box::new(callee), cause })
            }
            [Term::Atom(why), cause] if *why == "unserializable" => {
                let cause = text(cause)?;
                let reason = Reason::error(format!("the answer cannot be written: {cause}"));
                Some(CallError::Terminated { to, reason })
            }
            [Term::Atom(why), ms] if *why == "expired" => {
                time(ms).map(|waited| CallError::Expired { to, waited })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The term that says why a call of another node will not be answered (rule Zcall3).
pub(crate) fn refusal_term(error: &CallError) -> Term {
    let refused = |why| Term::tuple([Term::atom("refused"), why]);
    let timed = |why, time: &Duration| {
        let ms = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Term::tuple([Term::atom(why), Term::Int(ms)])
    };
    refused(match error {
        CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. } => {
            return crate::terms::reason::reason_to_term(reason);
        }
        CallError::NoProcess { .. } | CallError::Revoked { .. } => return Term::atom("noproc"),
        CallError::NodeStopped { .. }
        | CallError::Undelivered { cause: UndeliveredCause::NoConnection, .. } => {
            return Term::atom("noconnection");
        }
        // The token was passed on: a handler has seen the request of the caller.
        error @ CallError::Undelivered { .. } => {
            return crate::terms::reason::reason_to_term(&Reason::error(error.to_string()));
        }
        CallError::Full { .. } => Term::atom("full"),
        CallError::NoWorkers { .. } => Term::atom("no_workers"),
        CallError::Draining { .. } => Term::atom("draining"),
        CallError::RateLimited { retry_after, .. } => timed("rate_limited", retry_after),
        CallError::Expired { waited, .. } => timed("expired", waited),
        _ => Term::atom("no_reply"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::reason::reason_from_term;

    #[test]
    fn zcall3_a_refused_call_has_the_same_error_at_a_caller_of_another_node() {
        let to = Pid::remote(9, 3, 1);
        for error in [
            CallError::NoReply { to },
            CallError::Full { to },
            CallError::NoWorkers { to },
            CallError::Draining { to },
            CallError::RateLimited { to, retry_after: Duration::from_millis(7) },
            CallError::Expired { to, waited: Duration::from_millis(9) },
            CallError::NoProcess { to },
            CallError::Terminated { to, reason: Reason::Shutdown },
        ] {
            let term = refusal_term(&error);
            assert_eq!(call_error(to, to.into(), &term, reason_from_term(&term)), error, "{term}");
        }
        let odd = Term::tuple([Term::atom("refused"), Term::Int(1)]);
        let error = call_error(to, to.into(), &odd, reason_from_term(&odd));
        assert!(matches!(error, CallError::Terminated { reason: Reason::Error(_), .. }), "{error}");
    }

    #[test]
    fn zcall4_a_token_that_was_passed_on_in_vain_does_not_say_that_no_handler_has_seen_its_request()
    {
        let to = Pid::remote(9, 3, 1);
        for (cause, said) in [
            (UndeliveredCause::NoConnection, "<3.9.0> terminated: no connection"),
            (
                UndeliveredCause::Undecodable("a float".into()),
                "<3.9.0> terminated: {error,<<\"the request did not reach <0.7.0>: its node cannot read it: a float\">>}",
            ),
        ] {
            let passed = Box::new(Pid::local(7, 1).into());
            let term = refusal_term(&CallError::Undelivered { to: passed, cause });
            let error = call_error(to, to.into(), &term, reason_from_term(&term));
            assert_eq!((error.to_string().as_str(), error.was_begun()), (said, true));
        }
    }
}
