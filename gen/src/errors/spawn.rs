//! The error of a spawn.

use crate::errors::order::OrderError;
use crate::errors::overflow::NoBound;
use crate::errors::record::TooManyRecorded;
use crate::errors::thread::ThreadError;
use crate::errors::wait::CannotWait;
use crate::one_line::OneLine;
use crate::{Name, NameError, Pid, Reason, Ref};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of a spawn. No part of the process remains.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpawnError {
    /// Its `init` failed or panicked, or the process was ended from outside (rule D2).
    Init(Reason),
    /// Another process has the name (rule N2).
    NameTaken {
        /// The name.
        name: Name,
        /// The process that has it.
        by: Pid,
    },
    /// The text is not a valid name.
    InvalidName(NameError),
    /// The text is not a valid label.
    InvalidLabel(NameError),
    /// The mailbox bound is 0.
    ZeroMailbox,
    /// An overflow rule was set for a mailbox without a bound.
    NoBound(NoBound),
    /// An order was set for a mailbox that cannot have one.
    Order(OrderError),
    /// Its flight recorder was to keep too many items.
    Record(TooManyRecorded),
    /// There is no dispatcher with this name.
    UnknownDispatcher(String),
    /// The dispatcher with this name runs a process on more than one thread, and all turns of this one must be on the
    /// same (rule R8).
    ManyThreads(String),
    /// A thread of its dispatcher could not be started.
    NoThread(ThreadError),
    /// `init` did not return within this time. The process was killed.
    Timeout(Duration),
    /// The node is stopping or has stopped (rule X2). From the beginning of a stop top-level
    /// processes cannot be spawned; children cannot be spawned when the time of their root is
    /// over.
    NodeStopping,
    /// The application to which the process would belong has been stopped (rule A6).
    ApplicationStopping(Name),
    /// This thread cannot wait for the start.
    CannotWait(CannotWait),
    /// The process was to watch this one, which belongs to another node, and this node has no
    /// connections (`Node::stop_with`; rule X1).
    NoConnection(Pid),
    /// The spawn was to make a monitor with this reference, which is that of a monitor that the process holds, or
    /// of one whose notice it has not received (rule L5). Each needs one of its own, by `make_ref` of the context.
    MonitorInUse(Ref),
}

impl From<NameError> for SpawnError {
    fn from(error: NameError) -> Self {
        SpawnError::InvalidName(error)
    }
}

impl From<NoBound> for SpawnError {
    fn from(error: NoBound) -> Self {
        SpawnError::NoBound(error)
    }
}

impl From<OrderError> for SpawnError {
    fn from(error: OrderError) -> Self {
        SpawnError::Order(error)
    }
}

impl From<TooManyRecorded> for SpawnError {
    fn from(error: TooManyRecorded) -> Self {
        SpawnError::Record(error)
    }
}

impl From<ThreadError> for SpawnError {
    fn from(error: ThreadError) -> Self {
        SpawnError::NoThread(error)
    }
}

impl From<CannotWait> for SpawnError {
    fn from(cause: CannotWait) -> Self {
        SpawnError::CannotWait(cause)
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::Init(reason) => write!(f, "init failed: {reason}"),
            SpawnError::NameTaken { name, by } => {
                write!(f, "name {} is taken by {by}", OneLine(name.as_str()))
            }
            SpawnError::InvalidName(error) => fmt::Display::fmt(error, f),
            SpawnError::InvalidLabel(error) => write!(f, "invalid label: {error}"),
            SpawnError::ZeroMailbox => {
                f.write_str("a mailbox bound of 0 would refuse every message")
            }
            SpawnError::NoBound(error) => fmt::Display::fmt(error, f),
            SpawnError::Order(error) => fmt::Display::fmt(error, f),
            SpawnError::Record(error) => fmt::Display::fmt(error, f),
            SpawnError::UnknownDispatcher(name) => write!(f, "unknown dispatcher {name:?}"),
            SpawnError::ManyThreads(name) => write!(
                f,
                "dispatcher {name:?} runs a process on many threads, and this one needs a pinned dispatcher"
            ),
            SpawnError::NoThread(error) => match error.dispatcher() {
                Some(name) => write!(f, "cannot start a thread of dispatcher {name:?}: {error}"),
                None => write!(f, "cannot start a thread: {error}"),
            },
            SpawnError::Timeout(limit) => write!(f, "init did not return within {limit:?}"),
            SpawnError::NodeStopping => f.write_str("node is stopping"),
            SpawnError::ApplicationStopping(name) => {
                write!(f, "application {name} is stopping")
            }
            SpawnError::CannotWait(cause) => fmt::Display::fmt(cause, f),
            SpawnError::NoConnection(pid) => write!(f, "no connection to the node of {pid}"),
            SpawnError::MonitorInUse(monitor) => {
                write!(f, "{monitor} is the reference of another monitor of this process")
            }
        }
    }
}

impl Error for SpawnError {
    /// Errors that are printed as they are have no source.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SpawnError::Init(reason) => Some(reason.as_error()),
            SpawnError::InvalidLabel(error) => Some(error),
            SpawnError::NoThread(error) => Some(error),
            SpawnError::NameTaken { .. }
            | SpawnError::InvalidName(_)
            | SpawnError::ZeroMailbox
            | SpawnError::NoBound(_)
            | SpawnError::Order(_)
            | SpawnError::Record(_)
            | SpawnError::UnknownDispatcher(_)
            | SpawnError::ManyThreads(_)
            | SpawnError::Timeout(_)
            | SpawnError::NodeStopping
            | SpawnError::ApplicationStopping(_)
            | SpawnError::CannotWait(_)
            | SpawnError::NoConnection(_)
            | SpawnError::MonitorInUse(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Panic;
    use std::io;
    use std::sync::Arc;

    #[test]
    fn b1_a_spawn_error_names_the_cause_and_the_value() {
        let panic = Reason::Panic(Arc::new(Panic::new("boom".into(), Some("a.rs:1:2".into()))));
        let (by, name) = (Pid::local(7, 1), Name::new("stock").unwrap());
        let shop = Name::new("shop").unwrap();
        let thread = ThreadError::from(io::Error::other("no memory"));
        for (error, said, source) in [
            (
                SpawnError::Init(panic),
                "init failed: panic: boom at a.rs:1:2",
                Some("boom at a.rs:1:2"),
            ),
            (SpawnError::NameTaken { name, by }, "name stock is taken by <0.7.0>", None),
            (SpawnError::from(NameError::Empty), "a name must not be empty", None),
            (
                SpawnError::InvalidLabel(NameError::Empty),
                "invalid label: a name must not be empty",
                Some("a name must not be empty"),
            ),
            (SpawnError::ZeroMailbox, "a mailbox bound of 0 would refuse every message", None),
            (
                SpawnError::from(NoBound),
                "an overflow rule was set for a mailbox without a bound, which is never full",
                None,
            ),
            (
                SpawnError::from(OrderError::DropsOldest),
                "a mailbox that drops its oldest message cannot have an order",
                None,
            ),
            (
                SpawnError::from(TooManyRecorded::check(300).unwrap_err()),
                "cannot record 300 items: at most 256",
                None,
            ),
            (SpawnError::UnknownDispatcher("disk".into()), "unknown dispatcher \"disk\"", None),
            (
                SpawnError::ManyThreads("disk".into()),
                "dispatcher \"disk\" runs a process on many threads, and this one needs a pinned dispatcher",
                None,
            ),
            (SpawnError::from(thread), "cannot start a thread: no memory", Some("no memory")),
            (SpawnError::Timeout(Duration::from_secs(3)), "init did not return within 3s", None),
            (SpawnError::NodeStopping, "node is stopping", None),
            (SpawnError::ApplicationStopping(shop), "application shop is stopping", None),
            (SpawnError::from(CannotWait::Stalled), "the simulation ran out of events", None),
            (SpawnError::NoConnection(by), "no connection to the node of <0.7.0>", None),
            (
                SpawnError::MonitorInUse(Ref::new(9)),
                "#Ref<0.9> is the reference of another monitor of this process",
                None,
            ),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.source().map(ToString::to_string).as_deref(), source, "{said}");
        }
    }
}
