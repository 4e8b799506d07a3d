//! A caller on another node: Erlang's `From`, `{Pid, Tag}`.
//!
//! It is answered with `{Tag, Value}`: to the alias in the tag if there is one, else to the
//! pid. OTP's caller monitors its callee with the very reference of that alias. So a call that
//! will not be answered fails by that monitor, at once, and nobody else hears of it (rule
//! Zcall3).

use krarup_wire::etf::{ExternalPid, Reference, Term};

/// A caller.
#[derive(Clone, Debug)]
pub(crate) struct RemoteCaller {
    pub(crate) pid: ExternalPid,
    pub(crate) tag: Term,
}

impl RemoteCaller {
    pub(crate) fn from_term(from: &Term) -> Option<Self> {
        let Term::Tuple(parts) = from else { return None };
        let [Term::Pid(pid), tag] = &parts[..] else { return None };
        Some(RemoteCaller { pid: ExternalPid::clone(pid), tag: tag.clone() })
    }

    /// The alias in its tag, which is also the reference of its monitor.
    pub(crate) fn alias(&self) -> Option<&Reference> {
        alias_of(&self.tag)
    }
}

/// The reference in a tag `[alias | Ref]`.
pub(crate) fn alias_of(tag: &Term) -> Option<&Reference> {
    let Term::Improper(list) = tag else { return None };
    match (list.elements(), list.tail()) {
        ([Term::Atom(alias)], Term::Reference(reference)) if *alias == "alias" => Some(reference),
        _ => None,
    }
}
