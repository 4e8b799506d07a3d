//! The calls from this node to others that have no answer yet (rules Zcall4, Zcall5).
//!
//! A call is a monitor and a message with the same fresh reference. The answer names that
//! reference, and so does the notice that the callee has ended. Whichever comes first takes the
//! entry; what comes later finds none.

use krarup_act::LentReply;
use krarup_gen::{CallError, Pid, Reason};
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

    /// Fails all calls to this node.
    pub(crate) fn lost(&self, node: &Atom) {
        let lost: Vec<PendingCall> = {
            let mut pending = self.pending.lock();
            let numbers: Vec<u64> =
                pending.iter().filter(|(_, call)| call.node == *node).map(|(n, _)| *n).collect();
            numbers.iter().filter_map(|number| pending.remove(number)).collect()
        };
        for call in lost {
            call.fail_with(Reason::NoConnection);
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
/// Zcall3, Zcall4).
pub(crate) fn call_error(to: Pid, reason: &Term, ended: Reason) -> CallError {
    if let Term::Tuple(parts) = reason
        && let [Term::Atom(refused), why] = &parts[..]
        && *refused == "refused"
        && let Some(error) = refusal(to, why)
    {
        return error;
    }
    match ended {
        Reason::NoProcess => CallError::NoProcess { to },
        reason => CallError::Terminated { to, reason },
    }
}

fn refusal(to: Pid, why: &Term) -> Option<CallError> {
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
        CallError::NodeStopped { .. } => return Term::atom("noconnection"),
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
            assert_eq!(call_error(to, &term, reason_from_term(&term)), error, "{term}");
        }
        let odd = Term::tuple([Term::atom("refused"), Term::Int(1)]);
        let error = call_error(to, &odd, reason_from_term(&odd));
        assert!(matches!(error, CallError::Terminated { reason: Reason::Error(_), .. }), "{error}");
    }
}
