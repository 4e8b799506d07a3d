//! Messages that no process handled.

use crate::{NodeName, Pid, Target};
use std::fmt;

/// A message that no process handled, as subscribers receive it (rules M7, D7).
///
/// The message itself is not included. A message that could not be sent was returned to its
/// sender. A message that was accepted is dropped, so that the calls in it fail at once (rule
/// C2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeadLetter {
    /// The receiver it was sent to.
    pub to: Target,
    /// The process that sent it; `None` if it came from outside any process.
    pub from: Option<Pid>,
    /// The node that sent it; `None` if it is this one (rule Zobs4).
    pub node: Option<NodeName>,
    /// The type of the message.
    pub message: &'static str,
    /// Why no process handled it.
    pub cause: DeadLetterCause,
}

impl DeadLetter {
    /// Creates a dead letter. For hosts.
    #[must_use]
    pub fn new(
        to: impl Into<Target>,
        from: Option<Pid>,
        message: &'static str,
        cause: DeadLetterCause,
    ) -> Self {
        DeadLetter { to: to.into(), from, node: None, message, cause }
    }

    /// Sets the node that sent it. For hosts.
    #[must_use]
    pub fn of_node(mut self, node: NodeName) -> Self {
        self.node = Some(node);
        self
    }
}

impl fmt::Display for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.message, self.to)?;
        match (&self.node, self.from) {
            (None, None) => {}
            (None, Some(from)) => write!(f, " from {from}")?,
            // The receiver is here, and the sender there.
            (Some(node), None) => write!(f, " of this node, sent by {node}")?,
            (Some(node), Some(from)) => write!(f, " of this node, sent by {from} of {node}")?,
        }
        write!(f, ": {}", self.cause)
    }
}

/// Why no process handled a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DeadLetterCause {
    /// It was sent to a process that has ended or never existed. The sender got it back.
    NoProcess,
    /// It was accepted, and its receiver ended before it handled the message.
    Unhandled,
    /// A full mailbox dropped it, by its overflow rule (rule M6).
    Overflow,
    /// It was sent to an alias that has been revoked. The sender got it back (rule N5).
    Revoked,
    /// It waited at a worker of a pool longer than its time to live.
    Expired,
    /// It came from another node, and is not a message of its receiver's type (rule Zmsg8).
    Undecodable,
    /// Its receiver is on another node, and there was no connection: none could be made, or it was
    /// lost before the message was written (rule Zmsg16).
    NoConnection,
    /// It is the result of the receiver's own work (`ctx.pipe` and its like, rule C6), which came after
    /// the receiver had ended. No process has sent it, so none has lost it: a node that stops under load
    /// has many.
    LateResult,
}

impl fmt::Display for DeadLetterCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeadLetterCause::NoProcess => "no such process",
            DeadLetterCause::Unhandled => "receiver ended before it handled the message",
            DeadLetterCause::Overflow => "dropped by a full mailbox",
            DeadLetterCause::Revoked => "alias was revoked",
            DeadLetterCause::Expired => "waited longer than its time to live",
            DeadLetterCause::Undecodable => "is not a message that the receiver takes",
            DeadLetterCause::NoConnection => "no connection to the receiver's node",
            DeadLetterCause::LateResult => "result of the receiver's own work, after its end",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_a_dead_letter_prints_its_type_receiver_sender_and_cause() {
        let (to, from) = (Pid::local(7, 1), Pid::local(8, 1));
        let letter = DeadLetter::new(to, Some(from), "Order", DeadLetterCause::NoProcess);
        assert_eq!(letter.to_string(), "Order to <0.7.0> from <0.8.0>: no such process");
        let node = NodeName::new("b@host").unwrap();
        let letter = DeadLetter::new(to, None, "Order", DeadLetterCause::NoProcess);
        let letter = letter.of_node(node);
        let said = "Order to <0.7.0> of this node, sent by b@host: no such process";
        assert_eq!(letter.to_string(), said);
        let letter = DeadLetter { from: Some(from), ..letter };
        let said = "Order to <0.7.0> of this node, sent by <0.8.0> of b@host: no such process";
        assert_eq!(letter.to_string(), said);
        for (cause, said) in [
            (DeadLetterCause::Unhandled, "receiver ended before it handled the message"),
            (DeadLetterCause::Overflow, "dropped by a full mailbox"),
            (DeadLetterCause::Revoked, "alias was revoked"),
            (DeadLetterCause::Expired, "waited longer than its time to live"),
            (DeadLetterCause::NoConnection, "no connection to the receiver's node"),
            (DeadLetterCause::LateResult, "result of the receiver's own work, after its end"),
        ] {
            let letter = DeadLetter::new(to, None, "Order", cause);
            assert_eq!(letter.to_string(), format!("Order to <0.7.0>: {said}"));
        }
    }
}
