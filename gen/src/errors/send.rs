//! The error of a send.

use crate::errors::wait::CannotWait;
use crate::{Alias, Pid};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of a send; it gives the message back, and names the receiver.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The mailbox is full (rule M5), or all workers of the pool are (rule P2).
    Full {
        /// The message.
        message: M,
        /// The process that was to receive it.
        to: Pid,
    },
    /// The process has ended or never existed (rule M7).
    NoProcess {
        /// The message.
        message: M,
        /// The process that was to receive it.
        to: Pid,
    },
    /// No process has this name (rule N2).
    NoName {
        /// The message.
        message: M,
        /// The name to which it was sent.
        name: String,
    },
    /// The alias has been revoked, or no process has made it (rule N5).
    Revoked {
        /// The message.
        message: M,
        /// The alias to which it was sent.
        alias: Alias,
    },
    /// The receiver belongs to another node, and this node has no connections.
    NoConnection {
        /// The message.
        message: M,
        /// The process that was to receive it.
        to: Pid,
    },
    /// The pool has no workers (rule P5).
    NoWorkers {
        /// The message.
        message: M,
        /// The pool.
        to: Pid,
    },
    /// The rate limit of the pool is reached.
    RateLimited {
        /// The message.
        message: M,
        /// The pool.
        to: Pid,
        /// When the next message will be accepted, if no other sender takes the token.
        retry_after: Duration,
    },
    /// The pool is drained: it finishes its jobs and accepts no new ones.
    Draining {
        /// The message.
        message: M,
        /// The pool.
        to: Pid,
    },
    /// The receiver is known only from the message, so no room can be reserved before (grains).
    NotReservable {
        /// The message.
        message: M,
        /// The process of the grains.
        to: Pid,
    },
    /// No room became free within this time (rule M6). For senders that wait for room.
    Timeout {
        /// The message.
        message: M,
        /// The process that was to receive it.
        to: Pid,
        /// The time that the sender waited.
        limit: Duration,
    },
    /// The sender is the receiver: it would wait for room that only it can make.
    OwnMailbox {
        /// The message.
        message: M,
        /// The process that waits for room in its own mailbox.
        to: Pid,
    },
    /// This thread cannot wait for room.
    CannotWait {
        /// The message.
        message: M,
        /// The cause.
        cause: CannotWait,
    },
    /// The receiver is on another node, and the message cannot be written for it (rule
    /// Zmsg14).
    Unserializable {
        /// The message.
        message: M,
        /// The process that was to receive it.
        to: Pid,
        /// What cannot be written.
        why: Box<str>,
    },
    /// The receiver has a name on another node, and this node cannot reach that one.
    NoNode {
        /// The message.
        message: M,
        /// The name of the node.
        node: String,
    },
    /// The receiver takes messages of another type.
    WrongType {
        /// The message.
        message: M,
        /// The process that was to receive it.
        to: Pid,
        /// The two types. Boxed, so that this rare error does not make the others larger.
        types: Box<MessageTypes>,
    },
}

/// The types of a message that its receiver does not take: see [`SendError::WrongType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTypes {
    /// The type that the receiver takes.
    pub expected: &'static str,
    /// The type of the message.
    pub found: &'static str,
    /// The types of commands that the receiver takes and that its address was to take, if these differ: for a pool the second
    /// type of its address is its command type.
    pub commands: Option<(&'static str, &'static str)>,
}

impl<M> SendError<M> {
    /// Returns the message that was not accepted.
    pub fn into_message(self) -> M {
        match self {
            SendError::Full { message, .. }
            | SendError::NoProcess { message, .. }
            | SendError::NoName { message, .. }
            | SendError::Revoked { message, .. }
            | SendError::NoConnection { message, .. }
            | SendError::NoWorkers { message, .. }
            | SendError::RateLimited { message, .. }
            | SendError::Draining { message, .. }
            | SendError::NotReservable { message, .. }
            | SendError::Timeout { message, .. }
            | SendError::OwnMailbox { message, .. }
            | SendError::CannotWait { message, .. }
            | SendError::Unserializable { message, .. }
            | SendError::NoNode { message, .. }
            | SendError::WrongType { message, .. } => message,
        }
    }

    /// Returns the same error about another message. For wrappers that put a user's message
    /// into one of their own.
    pub fn map<N>(self, f: impl FnOnce(M) -> N) -> SendError<N> {
        let (error, message) = self.replace(());
        error.replace(f(message)).0
    }

    /// Returns the same error about another message, and the message. The one list of all kinds of error, which is
    /// compiled for each pair of types.
    fn replace<N>(self, message: N) -> (SendError<N>, M) {
        match self {
            SendError::Full { message: old, to } => (SendError::Full { message, to }, old),
            SendError::NoProcess { message: old, to } => {
                (SendError::NoProcess { message, to }, old)
            }
            SendError::NoName { message: old, name } => (SendError::NoName { message, name }, old),
            SendError::Revoked { message: old, alias } => {
                (SendError::Revoked { message, alias }, old)
            }
            SendError::NoConnection { message: old, to } => {
                (SendError::NoConnection { message, to }, old)
            }
            SendError::NoWorkers { message: old, to } => {
                (SendError::NoWorkers { message, to }, old)
            }
            SendError::RateLimited { message: old, to, retry_after } => {
                (SendError::RateLimited { message, to, retry_after }, old)
            }
            SendError::Draining { message: old, to } => (SendError::Draining { message, to }, old),
            SendError::NotReservable { message: old, to } => {
                (SendError::NotReservable { message, to }, old)
            }
            SendError::Timeout { message: old, to, limit } => {
                (SendError::Timeout { message, to, limit }, old)
            }
            SendError::OwnMailbox { message: old, to } => {
                (SendError::OwnMailbox { message, to }, old)
            }
            SendError::CannotWait { message: old, cause } => {
                (SendError::CannotWait { message, cause }, old)
            }
            SendError::Unserializable { message: old, to, why } => {
                (SendError::Unserializable { message, to, why }, old)
            }
            SendError::NoNode { message: old, node } => (SendError::NoNode { message, node }, old),
            SendError::WrongType { message: old, to, types } => {
                (SendError::WrongType { message, to, types }, old)
            }
        }
    }

    /// Returns the error without the message. A handler can return this with `?` even if the
    /// message cannot be shared between threads.
    pub fn without_message(self) -> SendError<()> {
        self.map(drop)
    }

    /// Returns whether the receiver is alive but has no room.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, SendError::Full { .. })
    }
}

impl SendError<()> {
    /// Returns the same error about this message: the reverse of [`SendError::without_message`].
    pub fn with_message<M>(self, message: M) -> SendError<M> {
        self.replace(message).0
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Full { to, .. } => write!(f, "the mailbox of {to} is full"),
            SendError::NoProcess { to, .. } => write!(f, "{to} has ended or never existed"),
            SendError::NoName { name, .. } => write!(f, "no process has the name {name:?}"),
            SendError::Revoked { alias, .. } => {
                write!(f, "{alias} has been revoked or never existed")
            }
            SendError::NoConnection { to, .. } => write!(f, "no connection to the node of {to}"),
            SendError::NoWorkers { to, .. } => write!(f, "pool {to} has no workers"),
            SendError::RateLimited { to, retry_after, .. } => {
                write!(
                    f,
                    "pool {to} is at its rate limit: it takes the next job in {retry_after:?}"
                )
            }
            SendError::Draining { to, .. } => write!(f, "pool {to} is drained"),
            SendError::NotReservable { to, .. } => {
                write!(f, "no room can be reserved at {to} before the message is known")
            }
            SendError::Timeout { to, limit, .. } => {
                write!(f, "no room in the mailbox of {to} within {limit:?}")
            }
            SendError::OwnMailbox { to, .. } => {
                write!(f, "{to} cannot wait for room in its own mailbox")
            }
            SendError::CannotWait { cause, .. } => fmt::Display::fmt(cause, f),
            SendError::Unserializable { to, why, .. } => {
                write!(f, "the message to {to} cannot be sent to another node: {why}")
            }
            SendError::NoNode { node, .. } => write!(f, "no connection to the node {node:?}"),
            SendError::WrongType { to, types, .. } => match types.commands {
                None => {
                    write!(f, "{to} takes messages of type {}, not {}", types.expected, types.found)
                }
                Some((expected, found)) => write!(
                    f,
                    "{to} has an Address<{}, {expected}>, not an Address<{}, {found}>",
                    types.expected, types.found
                ),
            },
        }
    }
}

/// Prints everything but the message, which need not have a `Debug`.
impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, to) = match self {
            SendError::Full { to, .. } => ("Full", to),
            SendError::NoProcess { to, .. } => ("NoProcess", to),
            SendError::NoName { name, .. } => {
                return f.debug_struct("NoName").field("name", name).finish_non_exhaustive();
            }
            SendError::Revoked { alias, .. } => {
                return f.debug_struct("Revoked").field("alias", alias).finish_non_exhaustive();
            }
            SendError::NoConnection { to, .. } => ("NoConnection", to),
            SendError::NoWorkers { to, .. } => ("NoWorkers", to),
            SendError::RateLimited { to, .. } => ("RateLimited", to),
            SendError::Draining { to, .. } => ("Draining", to),
            SendError::NotReservable { to, .. } => ("NotReservable", to),
            SendError::Timeout { to, .. } => ("Timeout", to),
            SendError::OwnMailbox { to, .. } => ("OwnMailbox", to),
            SendError::CannotWait { cause, .. } => {
                return f.debug_struct("CannotWait").field("cause", cause).finish_non_exhaustive();
            }
            SendError::NoNode { node, .. } => {
                return f.debug_struct("NoNode").field("node", node).finish_non_exhaustive();
            }
            SendError::Unserializable { to, .. } => ("Unserializable", to),
            SendError::WrongType { to, .. } => ("WrongType", to),
        };
        let mut fields = f.debug_struct(variant);
        fields.field("to", to);
        match self {
            SendError::RateLimited { retry_after, .. } => {
                fields.field("retry_after", retry_after);
            }
            SendError::Timeout { limit, .. } => {
                fields.field("limit", limit);
            }
            SendError::Unserializable { why, .. } => {
                fields.field("why", why);
            }
            SendError::WrongType { types, .. } => {
                fields.field("expected", &types.expected).field("found", &types.found);
                if let Some(commands) = &types.commands {
                    fields.field("commands", commands);
                }
            }
            _ => {}
        }
        fields.finish_non_exhaustive()
    }
}

/// No error of a send has a source: none holds a [`Reason`](crate::Reason), and [`CannotWait`] is
/// printed as it is.
impl<M> Error for SendError<M> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ref;

    const TIME: Duration = Duration::from_secs(3);

    /// One error of each kind, its text, and its debug text.
    fn send_errors() -> Vec<(SendError<u8>, &'static str, &'static str)> {
        let (message, to) = (7, Pid::local(7, 1));
        let types = Box::new(MessageTypes { expected: "Order", found: "u8", commands: None });
        vec![
            (
                SendError::Full { message, to },
                "the mailbox of <0.7.0> is full",
                "Full { to: <0.7.0>, .. }",
            ),
            (
                SendError::NoProcess { message, to },
                "<0.7.0> has ended or never existed",
                "NoProcess { to: <0.7.0>, .. }",
            ),
            (
                SendError::NoName { message, name: "stock".into() },
                "no process has the name \"stock\"",
                "NoName { name: \"stock\", .. }",
            ),
            (
                SendError::Revoked { message, alias: Alias::new(Ref::new(3)) },
                "#Alias<0.3> has been revoked or never existed",
                "Revoked { alias: #Alias<0.3>, .. }",
            ),
            (
                SendError::NoConnection { message, to },
                "no connection to the node of <0.7.0>",
                "NoConnection { to: <0.7.0>, .. }",
            ),
            (
                SendError::NoWorkers { message, to },
                "pool <0.7.0> has no workers",
                "NoWorkers { to: <0.7.0>, .. }",
            ),
            (
                SendError::RateLimited { message, to, retry_after: TIME },
                "pool <0.7.0> is at its rate limit: it takes the next job in 3s",
                "RateLimited { to: <0.7.0>, retry_after: 3s, .. }",
            ),
            (
                SendError::Draining { message, to },
                "pool <0.7.0> is drained",
                "Draining { to: <0.7.0>, .. }",
            ),
            (
                SendError::NotReservable { message, to },
                "no room can be reserved at <0.7.0> before the message is known",
                "NotReservable { to: <0.7.0>, .. }",
            ),
            (
                SendError::Timeout { message, to, limit: TIME },
                "no room in the mailbox of <0.7.0> within 3s",
                "Timeout { to: <0.7.0>, limit: 3s, .. }",
            ),
            (
                SendError::OwnMailbox { message, to },
                "<0.7.0> cannot wait for room in its own mailbox",
                "OwnMailbox { to: <0.7.0>, .. }",
            ),
            (
                SendError::CannotWait { message, cause: CannotWait::Stalled },
                "the simulation ran out of events",
                "CannotWait { cause: Stalled, .. }",
            ),
            (
                SendError::Unserializable { message, to, why: "a map key".into() },
                "the message to <0.7.0> cannot be sent to another node: a map key",
                "Unserializable { to: <0.7.0>, why: \"a map key\", .. }",
            ),
            (
                SendError::NoNode { message, node: "shop@far".into() },
                "no connection to the node \"shop@far\"",
                "NoNode { node: \"shop@far\", .. }",
            ),
            (
                SendError::WrongType { message, to, types },
                "<0.7.0> takes messages of type Order, not u8",
                "WrongType { to: <0.7.0>, expected: \"Order\", found: \"u8\", .. }",
            ),
        ]
    }

    #[test]
    fn m7_every_send_error_returns_its_message() {
        for (error, said, called) in send_errors() {
            assert_eq!((error.to_string().as_str(), format!("{error:?}").as_str()), (said, called));
            assert!(error.source().is_none(), "{called}");
            assert_eq!(error.is_full(), called.starts_with("Full "), "{called}");
            assert_eq!(error.clone().into_message(), 7, "{called}");
            // The same error about another message.
            let mapped = error.clone().map(|message| u64::from(message) + 1);
            assert_eq!(
                (mapped.to_string().as_str(), format!("{mapped:?}").as_str()),
                (said, called)
            );
            assert_eq!(mapped.into_message(), 8, "{called}");
            assert_eq!(error.without_message().to_string(), said);
        }
    }

    /// Every send returns it, so it holds no more than a message, a pid, a time, and the variant.
    #[test]
    fn the_error_of_a_send_is_small() {
        assert_eq!(size_of::<Result<(), SendError<u64>>>(), 8 + 16 + 16 + 8);
    }
}
