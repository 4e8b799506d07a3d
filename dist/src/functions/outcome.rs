//! How the outcome of a function is said: as `erpc` and as `rpc` define it (rule Zcall8).
//!
//! | outcome | `erpc:execute_call/4` | `erpc:execute_cast/3` | `rex` |
//! |---|---|---|---|
//! | value `V` | `{Res, return, V}` | `normal` | `V` |
//! | throw `T` | `{Res, throw, T}` | `{{nocatch, T}, Stack}` | `T` |
//! | exit `R` | `{Res, exit, R}` | `R` | `{badrpc, {'EXIT', R}}` |
//! | error `R`, panic | `{Res, error, R, Stack}` | `{R, Stack}` | `{badrpc, {'EXIT', {R, Stack}}}` |
//! | ended from outside, with `R` | `R` | `R` | `{badrpc, {'EXIT', R}}` |

use crate::functions::exception::{ExceptionClass, TermException};
use crate::functions::request::FunctionResult;
use crate::peer::signal::SignalPayload;
use crate::terms::reason::reason_to_term;
use crate::terms::written::written_or;
use krarup_gen::{CallError, Reason};
use krarup_wire::etf::Term;

/// The outcome of a function.
#[derive(Debug)]
pub(crate) enum FunctionOutcome {
    /// The bytes of a term.
    Value(Vec<u8>),
    Raised(TermException),
    /// Its process has ended for this reason.
    Ended(Reason),
}

impl FunctionOutcome {
    /// The outcome of a process that was to send this answer.
    pub(crate) fn of(answer: Result<FunctionResult, CallError>) -> Self {
        let reason = match answer {
            Ok(Ok(value)) => return FunctionOutcome::Value(value),
            Ok(Err(exception)) => return FunctionOutcome::Raised(exception),
            Err(CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. }) => {
                reason
            }
            Err(_) => Reason::Killed,
        };
        match reason {
            Reason::Panic(_) => {
                FunctionOutcome::Raised(TermException::error(reason_to_term(&reason)))
            }
            reason => FunctionOutcome::Ended(reason),
        }
    }

    /// The outcome of a function that is not served.
    pub(crate) fn undefined(frame: Term) -> Self {
        let undefined = TermException::error(Term::atom("undef"));
        FunctionOutcome::Raised(undefined.at(Term::list([frame])))
    }

    /// The reason of a process that runs `erpc:execute_call/4`.
    pub(crate) fn of_call(self, result: Term) -> SignalPayload {
        let class = |class| Term::atom(class);
        SignalPayload::Term(match self {
            FunctionOutcome::Value(value) => {
                return SignalPayload::Bytes(ending([result, class("return")], value));
            }
            FunctionOutcome::Raised(TermException { class: of, reason, stack }) => match of {
                ExceptionClass::Error => Term::tuple([result, class("error"), reason, stack]),
                ExceptionClass::Exit => Term::tuple([result, class("exit"), reason]),
                ExceptionClass::Throw => Term::tuple([result, class("throw"), reason]),
            },
            FunctionOutcome::Ended(reason) => reason_to_term(&reason),
        })
    }

    /// The reason of a process that runs `erpc:execute_cast/3`.
    pub(crate) fn of_cast(self) -> SignalPayload {
        SignalPayload::Term(match self {
            FunctionOutcome::Value(_) => Term::atom("normal"),
            FunctionOutcome::Raised(TermException { class, reason, stack }) => match class {
                ExceptionClass::Error => Term::tuple([reason, stack]),
                ExceptionClass::Exit => reason,
                ExceptionClass::Throw => {
                    Term::tuple([Term::tuple([Term::atom("nocatch"), reason]), stack])
                }
            },
            FunctionOutcome::Ended(reason) => reason_to_term(&reason),
        })
    }

    /// The value of an old `rpc`, as bytes.
    pub(crate) fn of_rex(self) -> Vec<u8> {
        let exit = |reason| Term::tuple([Term::atom("EXIT"), reason]);
        let bad = |reason| Term::tuple([Term::atom("badrpc"), exit(reason)]);
        let term = match self {
            FunctionOutcome::Value(value) => return value,
            FunctionOutcome::Raised(TermException { class, reason, stack }) => match class {
                ExceptionClass::Error => bad(Term::tuple([reason, stack])),
                ExceptionClass::Exit => bad(reason),
                ExceptionClass::Throw => reason,
            },
            FunctionOutcome::Ended(reason) => bad(reason_to_term(&reason)),
        };
        written_or(&term, bad)
    }
}

/// A tuple whose last element is written already.
pub(crate) fn ending<const N: usize>(first: [Term; N], mut last: Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(last.len() + 64);
    let whole = Term::tuple(first.into_iter().chain([Term::nil()]));
    // The first elements were read, or are atoms.
    let _ = whole.write(&mut bytes);
    // The last element takes the place of the `[]`, which is one byte.
    bytes.pop();
    bytes.append(&mut last);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::Pid;
    use krarup_wire::etf::Decoder;
    use std::sync::Arc;

    fn bytes(term: &Term) -> Vec<u8> {
        let mut bytes = Vec::new();
        term.write(&mut bytes).unwrap();
        bytes
    }

    fn shown(payload: SignalPayload) -> String {
        match payload {
            SignalPayload::Term(term) => term.to_string(),
            SignalPayload::Bytes(bytes) => Decoder::new(&bytes).last_term().unwrap().to_string(),
            _ => unreachable!("an outcome is a term"),
        }
    }

    #[test]
    fn zcall8_outcomes_are_said_as_erpc_and_rpc_define_them() {
        let to = Pid::local(7, 1);
        let oops = || Term::atom("oops");
        let panic = Reason::Panic(Arc::new(krarup_gen::Panic::new("boom".into(), None)));
        let ended = |reason| Err(CallError::Terminated { to, reason });
        let frame = || Term::list([Term::atom("frame")]);
        for (answer, call, cast, rex) in [
            (Ok(Ok(bytes(&Term::Int(7)))), "{1,return,7}", "normal", "7"),
            (
                Ok(Err(TermException::error(oops()).at(frame()))),
                "{1,error,oops,[frame]}",
                "{oops,[frame]}",
                "{badrpc,{'EXIT',{oops,[frame]}}}",
            ),
            (
                Ok(Err(TermException::exit(oops()))),
                "{1,exit,oops}",
                "oops",
                "{badrpc,{'EXIT',oops}}",
            ),
            (
                Ok(Err(TermException::throw(oops()))),
                "{1,throw,oops}",
                "{{nocatch,oops},[]}",
                "oops",
            ),
            (ended(Reason::Killed), "killed", "killed", "{badrpc,{'EXIT',killed}}"),
            (
                Err(CallError::NotBegun { to, reason: Reason::Shutdown }),
                "shutdown",
                "shutdown",
                "{badrpc,{'EXIT',shutdown}}",
            ),
            (
                ended(panic),
                "{1,error,{panic,<<\"boom\">>},[]}",
                "{{panic,<<\"boom\">>},[]}",
                "{badrpc,{'EXIT',{{panic,<<\"boom\">>},[]}}}",
            ),
        ] {
            let outcome = || FunctionOutcome::of(answer.clone());
            assert_eq!(shown(outcome().of_call(Term::Int(1))), call);
            assert_eq!(shown(outcome().of_cast()), cast);
            assert_eq!(shown(SignalPayload::Bytes(outcome().of_rex())), rex);
        }
    }

    #[test]
    fn zterm11_an_exception_that_nobody_could_read_is_replaced() {
        let deep = || (0..5000).fold(Term::nil(), |inner, _| Term::list([inner]));
        let why = "{error,<<\"the reason cannot be written: a message nested deeper than 2044 is over the limit\">>}";
        for raised in [TermException::error(deep()), TermException::throw(deep())] {
            let value = FunctionOutcome::Raised(raised).of_rex();
            let said = format!("{{badrpc,{{'EXIT',{why}}}}}");
            assert_eq!(shown(SignalPayload::Bytes(value)), said);
        }
    }
}
