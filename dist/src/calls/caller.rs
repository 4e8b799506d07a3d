//! A caller on another node: Erlang's `From`, `{Pid, Tag}`.
//!
//! It is answered with `{Tag, Value}`: to the alias in the tag if there is one, else to the
//! pid. OTP's caller monitors its callee with the very reference of that alias. So a call that
//! will not be answered fails by that monitor, at once, and nobody else hears of it (rule
//! Zcall3).

use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::peers::ConnectionId;

/// A caller.
#[derive(Clone, Debug)]
pub(crate) struct RemoteCaller {
    pub(crate) pid: ExternalPid,
    pub(crate) tag: Term,
    pub(crate) way: AnswerWay,
}

/// How an answer gets to its caller. No answer dials a node that has asked this one (rule Zlive5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AnswerWay {
    /// Over the connection over which the call has come: its loss has failed the call.
    Over(ConnectionId),
    /// Over any connection that is up: another process of its node has passed the token on, and its caller may still
    /// wait.
    IfConnected,
    /// Its node is dialled: another node has passed the token on, and its caller does not hear of a loss between its
    /// node and this one.
    Dial,
}

impl RemoteCaller {
    pub(crate) fn from_term(from: &Term) -> Option<Self> {
        let Term::Tuple(parts) = from else { return None };
        let [Term::Pid(pid), tag] = &parts[..] else { return None };
        let pid = ExternalPid::clone(pid);
        Some(RemoteCaller { pid, tag: tag.clone(), way: AnswerWay::Dial })
    }

    /// Binds it to the connection over which its call has come from this node.
    pub(crate) fn over(mut self, node: &Atom, connection: ConnectionId) -> Self {
        if self.pid.node == *node {
            self.way = AnswerWay::Over(connection);
        }
        self
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
