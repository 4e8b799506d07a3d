//! A caller on another node: Erlang's `From`, `{Pid, Tag}`.
//!
//! It is answered with `{Tag, Value}`: to the alias in the tag if there is one, else to the
//! pid. OTP's caller monitors its callee with the very reference of that alias. So a call that
//! will not be answered fails by that monitor, at once, and nobody else hears of it (rule
//! Zcall3). A call to many at once has one alias for all, and a monitor for each callee:
//!
//! ```text
//!  one callee:    [alias | Ref]              answered to Ref, monitored with Ref
//!  many callees:  [[alias | Ref] | Monitor]  answered to Ref, monitored with Monitor
//!  older nodes:   anything else              answered to Pid, its monitor is not known
//! ```

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

    /// The alias in its tag.
    pub(crate) fn alias(&self) -> Option<&Reference> {
        alias_of(&self.tag).or_else(|| many_callees(&self.tag).map(|(alias, _)| alias))
    }

    /// The reference of the monitor with which its call began.
    pub(crate) fn monitor(&self) -> Option<&Reference> {
        alias_of(&self.tag).or_else(|| many_callees(&self.tag).map(|(_, monitor)| monitor))
    }
}

/// The alias and the monitor in a tag `[[alias | Ref] | Monitor]`.
fn many_callees(tag: &Term) -> Option<(&Reference, &Reference)> {
    let Term::Improper(list) = tag else { return None };
    match (list.elements(), list.tail()) {
        ([inner], Term::Reference(monitor)) => Some((alias_of(inner)?, monitor)),
        _ => None,
    }
}

/// The reference in a tag `[alias | Ref]`, which the calls of this node have.
pub(crate) fn alias_of(tag: &Term) -> Option<&Reference> {
    let Term::Improper(list) = tag else { return None };
    match (list.elements(), list.tail()) {
        ([Term::Atom(alias)], Term::Reference(reference)) if *alias == "alias" => Some(reference),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall1_the_alias_and_the_monitor_of_a_call_to_one_and_to_many() {
        let node = Atom::fixed("a@b");
        let reference = |word| Reference::new(node.clone(), 4, &[word]).unwrap();
        let tag = |head, tail: u32| Term::list_with_tail([head], reference(tail).into());
        let read = |tag: Term| {
            let pid = ExternalPid { node: node.clone(), id: 1, serial: 0, creation: 4 };
            let caller = RemoteCaller::from_term(&Term::tuple([pid.into(), tag])).unwrap();
            (caller.alias().cloned(), caller.monitor().cloned())
        };
        let alias = || Term::atom("alias");
        assert_eq!(read(tag(alias(), 1)), (Some(reference(1)), Some(reference(1))));
        assert_eq!(read(tag(tag(alias(), 1), 2)), (Some(reference(1)), Some(reference(2))));
        for other in [
            reference(1).into(),
            tag(Term::atom("other"), 1),
            tag(tag(Term::atom("other"), 1), 2),
            tag(tag(tag(alias(), 1), 2), 3),
            Term::list_with_tail([tag(alias(), 1)], Term::Int(2)),
        ] {
            assert_eq!(read(other), (None, None));
        }
    }
}
