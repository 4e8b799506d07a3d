//! Messages that nobody handled.

use crate::{Pid, Target};
use std::fmt;

/// A message that nobody handled, as those hear of it who subscribed (rules M7, D7).
///
/// The message itself is not in it: one that could not be sent has gone back to its sender,
/// and one that was accepted is dropped, so that the calls in it fail at once (rule C2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Whom it was for.
    pub to: Target,
    /// The process that sent it; `None` if it came from outside any process.
    pub from: Option<Pid>,
    /// The type of the message.
    pub message: &'static str,
    /// Why nobody handled it.
    pub cause: DeadLetterCause,
}

impl DeadLetter {
    /// A dead letter: for hosts.
    #[must_use]
    pub fn new(
        to: impl Into<Target>,
        from: Option<Pid>,
        message: &'static str,
        cause: DeadLetterCause,
    ) -> Self {
        DeadLetter { to: to.into(), from, message, cause }
    }
}

impl fmt::Display for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.message, self.to)?;
        if let Some(from) = self.from {
            write!(f, " from {from}")?;
        }
        write!(f, ": {}", self.cause)
    }
}

/// Why nobody handled a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterCause {
    /// It was sent to a process that is dead or never was; the sender has it back.
    NoProcess,
    /// It was accepted, and its receiver ended before it handled it.
    Unhandled,
    /// A full mailbox dropped it, as it was told to (rule M6).
    Overflow,
    /// It was sent to an alias that has been revoked; the sender has it back (rule N5).
    Revoked,
    /// It waited at a worker of a pool for longer than its time to live.
    Expired,
}

impl fmt::Display for DeadLetterCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeadLetterCause::NoProcess => "no such process",
            DeadLetterCause::Unhandled => "receiver ended before it handled it",
            DeadLetterCause::Overflow => "dropped by a full mailbox",
            DeadLetterCause::Revoked => "alias was revoked",
            DeadLetterCause::Expired => "waited longer than its time to live",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_a_dead_letter_prints_what_it_was_for_whom_from_whom_and_why() {
        let (to, from) = (Pid::local(7, 1), Pid::local(8, 1));
        let letter = DeadLetter::new(to, Some(from), "Order", DeadLetterCause::NoProcess);
        assert_eq!(letter.to_string(), "Order to <0.7.0> from <0.8.0>: no such process");
        for (cause, said) in [
            (DeadLetterCause::Unhandled, "receiver ended before it handled it"),
            (DeadLetterCause::Overflow, "dropped by a full mailbox"),
            (DeadLetterCause::Revoked, "alias was revoked"),
            (DeadLetterCause::Expired, "waited longer than its time to live"),
        ] {
            let letter = DeadLetter::new(to, None, "Order", cause);
            assert_eq!(letter.to_string(), format!("Order to <0.7.0>: {said}"));
        }
    }
}
