//! Reasons as terms, and terms as reasons (rule Zlink9).
//!
//! | reason | term |
//! |---|---|
//! | `Normal`, `Shutdown`, `Kill`, `Killed` | `normal`, `shutdown`, `kill`, `killed` |
//! | `NoProcess`, `NoConnection` | `noproc`, `noconnection` |
//! | `ShutdownWith(detail)` | `{shutdown, Detail}` |
//! | `Panic(panic)` | `{panic, <<"text">>}` |
//! | `Error(error)` | `{error, <<"text">>}` |
//!
//! Any other term is an error of type [`ReasonTerm`], which prints as in Erlang and is written
//! as the same term again.

use krarup_gen::Reason;
use krarup_wire::etf::Term;
use std::fmt;

/// A reason of another node that has no variant of its own.
#[derive(Clone, PartialEq)]
pub struct ReasonTerm(pub Term);

impl fmt::Display for ReasonTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for ReasonTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for ReasonTerm {}

/// Returns the reason that a term stands for.
#[must_use]
pub fn reason_from_term(term: &Term) -> Reason {
    let other = || Reason::error(ReasonTerm(term.clone()));
    match term {
        Term::Atom(atom) => match atom.as_str() {
            "normal" => Reason::Normal,
            "shutdown" => Reason::Shutdown,
            "kill" => Reason::Kill,
            "killed" => Reason::Killed,
            "noproc" => Reason::NoProcess,
            "noconnection" => Reason::NoConnection,
            _ => other(),
        },
        Term::Tuple(parts) => match &parts[..] {
            [Term::Atom(atom), detail] if *atom == "shutdown" => {
                Reason::shutdown(ReasonTerm(detail.clone()))
            }
            _ => other(),
        },
        _ => other(),
    }
}

/// Returns the term of a reason. It runs the `Display` of the error in the reason.
#[must_use]
pub fn reason_to_term(reason: &Reason) -> Term {
    let tagged = |tag, detail| Term::tuple([Term::atom(tag), detail]);
    if let Some(ReasonTerm(term)) = reason.downcast_ref() {
        return match reason {
            Reason::ShutdownWith(_) => tagged("shutdown", term.clone()),
            _ => term.clone(),
        };
    }
    match reason {
        Reason::Normal => Term::atom("normal"),
        Reason::Shutdown => Term::atom("shutdown"),
        Reason::Kill => Term::atom("kill"),
        Reason::Killed => Term::atom("killed"),
        Reason::NoProcess => Term::atom("noproc"),
        Reason::NoConnection => Term::atom("noconnection"),
        Reason::ShutdownWith(_) => {
            let text = reason.to_string();
            tagged("shutdown", Term::binary(text.strip_prefix("shutdown: ").unwrap_or(&text)))
        }
        Reason::Panic(panic) => tagged("panic", Term::binary(panic.to_string())),
        error => tagged("error", Term::binary(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zlink9_reasons_cross_as_terms_and_come_back() {
        for (reason, text) in [
            (Reason::Normal, "normal"),
            (Reason::Shutdown, "shutdown"),
            (Reason::Kill, "kill"),
            (Reason::Killed, "killed"),
            (Reason::NoProcess, "noproc"),
            (Reason::NoConnection, "noconnection"),
        ] {
            assert_eq!(reason_to_term(&reason).to_string(), text);
            assert_eq!(reason_from_term(&Term::atom(text)), reason);
        }
        assert_eq!(reason_to_term(&Reason::error("why")).to_string(), "{error,<<\"why\">>}");
        assert_eq!(reason_to_term(&Reason::shutdown("why")).to_string(), "{shutdown,<<\"why\">>}");
        for term in [
            Term::tuple([Term::atom("what"), Term::Int(1)]),
            Term::tuple([Term::atom("shutdown"), Term::list([Term::Int(1)])]),
            Term::Int(7),
            Term::tuple([Term::atom("error"), Term::binary("why")]),
        ] {
            assert_eq!(reason_to_term(&reason_from_term(&term)), term);
        }
        assert_eq!(reason_from_term(&Term::atom("boom")).to_string(), "boom");
    }
}
