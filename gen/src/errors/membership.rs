//! The errors of groups and registries: one for each operation.

use crate::{CallError, NameError, Pid, SendError};
use std::error::Error;
use std::fmt;

/// The error of joining a group. Nothing has changed (rules G1, G2, G5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The text is not a valid name of a group.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// The process has ended.
    #[error("{0} has ended and joins no group")]
    NoProcess(Pid),
    /// The process belongs to another node, which joins it itself.
    #[error("{0} is a process of another node, which must join it itself")]
    NotLocal(Pid),
}

/// The error of leaving a group (rule G1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaveError {
    /// The process is not a member.
    #[error("{pid} is not a member of group {group:?}")]
    NotJoined {
        /// The process.
        pid: Pid,
        /// The group.
        group: String,
    },
    /// The process belongs to another node, which has it leave itself (rule G5).
    #[error("{0} is a process of another node, which must have it leave itself")]
    NotLocal(Pid),
}

/// The error of watching a group (rule G3). Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchGroupError {
    /// The text is not a valid name of a group.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// The process that watches has ended (a context can be moved out of its process).
    #[error("{0} has ended and watches no group")]
    NoProcess(Pid),
}

/// The error of registering a process under a key. Nothing has changed (rule G6).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterKeyError {
    /// A living process has the key.
    #[error("the key is taken by {by}")]
    Taken {
        /// The process that has it.
        by: Pid,
    },
    /// The process has ended.
    #[error("{0} has ended and registers no key")]
    NoProcess(Pid),
}

/// The error of a send to a key; it gives the message back (rule G7).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySendError<M> {
    /// No process has the key.
    NoProcess {
        /// The message.
        message: M,
    },
    /// The process has refused the message.
    Refused(SendError<M>),
}

impl<M> KeySendError<M> {
    /// Returns the message that was not accepted.
    pub fn into_message(self) -> M {
        match self {
            KeySendError::NoProcess { message } => message,
            KeySendError::Refused(refused) => refused.into_message(),
        }
    }

    /// Returns the error without the message. A handler can return this with `?` even if the message
    /// cannot be shared between threads.
    pub fn without_message(self) -> KeySendError<()> {
        match self {
            KeySendError::NoProcess { .. } => KeySendError::NoProcess { message: () },
            KeySendError::Refused(refused) => KeySendError::Refused(refused.without_message()),
        }
    }
}

impl<M> fmt::Display for KeySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySendError::NoProcess { .. } => f.write_str("no process has the key"),
            KeySendError::Refused(refused) => fmt::Display::fmt(refused, f),
        }
    }
}

/// Prints everything but the message, which need not have a `Debug`.
impl<M> fmt::Debug for KeySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySendError::NoProcess { .. } => f.write_str("NoProcess"),
            KeySendError::Refused(refused) => f.debug_tuple("Refused").field(refused).finish(),
        }
    }
}

/// It prints the error of the send as it is, which has no source.
impl<M> Error for KeySendError<M> {}

/// The error of a call to a key (rule G7).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyCallError {
    /// No process has the key.
    #[error("no process has the key")]
    NoProcess,
    /// The call has failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_groups_name_the_process_and_the_group() {
        let pid = Pid::local(7, 0);
        let left = LeaveError::NotJoined { pid, group: "stock".to_owned() };
        for (text, expected) in [
            (JoinError::NoProcess(pid).to_string(), "<0.7.0> has ended and joins no group"),
            (
                JoinError::NotLocal(pid).to_string(),
                "<0.7.0> is a process of another node, which must join it itself",
            ),
            (left.to_string(), "<0.7.0> is not a member of group \"stock\""),
            (
                LeaveError::NotLocal(pid).to_string(),
                "<0.7.0> is a process of another node, which must have it leave itself",
            ),
            (WatchGroupError::NoProcess(pid).to_string(), "<0.7.0> has ended and watches no group"),
        ] {
            assert_eq!(text, expected);
        }
        let empty = NameError::Empty;
        assert_eq!(JoinError::from(empty.clone()).to_string(), empty.to_string());
        assert_eq!(WatchGroupError::from(empty.clone()).to_string(), empty.to_string());
    }

    #[test]
    fn g7_the_errors_of_keys_name_the_process_and_give_the_message_back() {
        let to = Pid::local(7, 0);
        assert_eq!(RegisterKeyError::Taken { by: to }.to_string(), "the key is taken by <0.7.0>");
        let ended = RegisterKeyError::NoProcess(to).to_string();
        assert_eq!(ended, "<0.7.0> has ended and registers no key");
        let none = KeySendError::NoProcess { message: 3 };
        let shown = (none.to_string(), format!("{none:?}"), none.without_message());
        assert_eq!((shown.0.as_str(), shown.1.as_str()), ("no process has the key", "NoProcess"));
        assert_eq!(shown.2.into_message(), ());
        let full = KeySendError::Refused(SendError::Full { message: 3, to });
        assert_eq!(full.to_string(), "the mailbox of <0.7.0> is full");
        assert_eq!(format!("{full:?}"), "Refused(Full { to: <0.7.0>, .. })");
        assert_eq!(full.clone().into_message(), 3);
        let without = KeySendError::Refused(SendError::Full { message: (), to });
        assert_eq!(full.without_message(), without);
        assert_eq!(KeyCallError::NoProcess.to_string(), "no process has the key");
        let call = CallError::NoProcess { to };
        assert_eq!(KeyCallError::from(call.clone()).to_string(), call.to_string());
    }
}
