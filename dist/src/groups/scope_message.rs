//! The messages to the process of a scope.

use super::scope_signal::ScopeSignal;
use crate::events::NodeEvent;
use krarup_gen::{GroupChange, Timestamp};
use krarup_wire::etf::Atom;

#[derive(Debug)]
pub(crate) enum ScopeMessage {
    /// A process of this node has joined or left a group.
    Own(GroupChange),
    /// A node has come up or is lost.
    Node(NodeEvent),
    /// A scope of this node says something, with its weight.
    Signal(Atom, ScopeSignal, usize),
    /// Messages of this node were missed before this one.
    Missed(Atom),
    /// The time has come to send what is owed.
    Owed,
    /// This time has come, at which nodes that have not answered are greeted again.
    GreetingsDue(Timestamp),
}

impl From<GroupChange> for ScopeMessage {
    fn from(change: GroupChange) -> Self {
        ScopeMessage::Own(change)
    }
}

impl From<NodeEvent> for ScopeMessage {
    fn from(event: NodeEvent) -> Self {
        ScopeMessage::Node(event)
    }
}
