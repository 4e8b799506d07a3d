//! The errors of a supervisor: one type per operation (rules S8 and B1).

use crate::back_off::BackOffError;
use crate::spec::{AutoShutdown, ChildId, Strategy};
use krarup_gen::{CallError, NameError, Pid, Reason};
use std::error::Error;
use std::fmt;

/// An invalid specification of a supervisor, or of a child added to one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Two children have the same id.
    #[error("two children have the id {id:?}")]
    DuplicateId {
        /// The id.
        id: ChildId,
    },
    /// The period of the restart intensity is zero.
    #[error("restart period is 0 s: it must be greater")]
    ZeroPeriod,
    /// A significant child under a supervisor without an auto-shutdown.
    #[error("child {id:?} is significant, but its supervisor has auto_shutdown never")]
    SignificantWithoutAutoShutdown {
        /// The child.
        id: ChildId,
    },
    /// A significant child that is permanent, so that its end never counts.
    #[error("child {id:?} is significant and permanent, so its end would never count")]
    SignificantPermanent {
        /// The child.
        id: ChildId,
    },
    /// The name of the child's process is not valid.
    #[error("child {id:?}: {error}")]
    InvalidName {
        /// The child.
        id: ChildId,
        /// The error of the name.
        #[source]
        error: NameError,
    },
    /// The bound of the child's mailbox is 0.
    #[error("child {id:?}: a mailbox of 0 messages accepts no message")]
    ZeroMailbox {
        /// The child.
        id: ChildId,
    },
    /// The child's back-off is invalid.
    #[error("child {id:?}: {error}")]
    BackOff {
        /// The child.
        id: ChildId,
        /// The error of the back-off.
        #[source]
        error: BackOffError,
    },
    /// A child that is restarted in place is restarted at once, so it cannot have a back-off.
    #[error("child {id:?} is restarted in place, so it cannot have a back-off")]
    BackOffInPlace {
        /// The child.
        id: ChildId,
    },
    /// A child that is restarted in place, under a supervisor that restarts others with it.
    #[error(
        "child {id:?} cannot be restarted in place under {strategy}, which restarts others with it"
    )]
    InPlaceInGroup {
        /// The child.
        id: ChildId,
        /// The strategy of its supervisor.
        strategy: Strategy,
    },
    /// A separate child under `simple_one_for_one`, where all children are made from the
    /// template.
    #[error("child {id:?} is not made from the template: simple_one_for_one has no other children")]
    ChildOfSimpleOneForOne {
        /// The child.
        id: ChildId,
    },
    /// A supervisor of partitions without any (rule G10).
    #[error("0 partitions have no place for a key")]
    NoPartitions,
    /// A supervisor of more partitions than can be (rule G10).
    #[error("{partitions} partitions exceed the limit of {most}")]
    TooManyPartitions {
        /// The number of partitions.
        partitions: usize,
        /// The greatest number.
        most: usize,
    },
    /// A limit of children under a strategy whose children are given by their specifications (rule
    /// S13).
    #[error("max_children {limit} needs simple_one_for_one, not {strategy}")]
    MaxChildren {
        /// The limit.
        limit: usize,
        /// The strategy of the supervisor.
        strategy: Strategy,
    },
    /// `auto_shutdown` under `simple_one_for_one`, where all children are alike.
    #[error("simple_one_for_one cannot have auto_shutdown {auto_shutdown}")]
    AutoShutdownOfSimpleOneForOne {
        /// The value that was set.
        auto_shutdown: AutoShutdown,
    },
}

/// A child failed to start, and so its supervisor failed to start (rule S2). This is the detail
/// of the `Reason::ShutdownWith` with which such a supervisor ends. In a tree the reasons nest.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedToStartChild {
    /// The child.
    pub id: ChildId,
    /// Why it failed.
    pub reason: Reason,
}

impl fmt::Display for FailedToStartChild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "child {:?} failed to start: {}", self.id, self.reason)
    }
}

impl Error for FailedToStartChild {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.reason.as_error())
    }
}

/// The error of `start_child`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StartChildError {
    /// There is a child with this id and without a process; `restart_child` starts it.
    AlreadyPresent {
        /// The id.
        id: ChildId,
    },
    /// There is a running child with this id.
    AlreadyStarted {
        /// The id.
        id: ChildId,
        /// Its process.
        pid: Pid,
    },
    /// The specification is invalid.
    BadSpec(SpecError),
    /// The supervisor has as many children as it may have (rule S13).
    Full {
        /// The most children: [`Supervisor::max_children`](crate::Supervisor::max_children).
        limit: usize,
    },
    /// The supervisor was told to stop while it started the children before this one (rule S14).
    Stopping,
    /// The child failed to start; its specification is not kept.
    Failed {
        /// The id.
        id: ChildId,
        /// Why it failed.
        reason: Reason,
    },
    /// The supervisor did not answer.
    Call(CallError),
}

impl From<SpecError> for StartChildError {
    fn from(error: SpecError) -> Self {
        StartChildError::BadSpec(error)
    }
}

impl From<CallError> for StartChildError {
    fn from(error: CallError) -> Self {
        StartChildError::Call(error)
    }
}

impl fmt::Display for StartChildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartChildError::AlreadyPresent { id } => write!(f, "child {id:?} is already present"),
            StartChildError::AlreadyStarted { id, pid } => {
                write!(f, "child {id:?} is already started as {pid}")
            }
            StartChildError::BadSpec(error) => fmt::Display::fmt(error, f),
            StartChildError::Full { limit } => {
                write!(f, "the supervisor has {limit} children, which is its limit")
            }
            StartChildError::Stopping => f.write_str("the supervisor is stopping"),
            StartChildError::Failed { id, reason } => {
                write!(f, "child {id:?} failed to start: {reason}")
            }
            StartChildError::Call(error) => write!(f, "supervisor: {error}"),
        }
    }
}

impl Error for StartChildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StartChildError::AlreadyPresent { .. }
            | StartChildError::AlreadyStarted { .. }
            | StartChildError::Full { .. }
            | StartChildError::Stopping => None,
            // Its text is the text of this error.
            StartChildError::BadSpec(error) => error.source(),
            StartChildError::Failed { reason, .. } => Some(reason.as_error()),
            StartChildError::Call(error) => Some(error),
        }
    }
}

/// The error of `terminate_child`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TerminateChildError {
    /// There is no such child.
    #[error("no child {child}")]
    NotFound {
        /// The id or pid asked for.
        child: String,
    },
    /// Under `simple_one_for_one` a child is terminated by its pid.
    #[error("under simple_one_for_one a child is terminated by its pid, not by its id {id:?}")]
    SimpleOneForOne {
        /// The id asked for.
        id: ChildId,
    },
    /// The supervisor did not answer.
    #[error("supervisor: {0}")]
    Call(#[from] CallError),
}

/// The error of `restart_child`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RestartChildError {
    /// There is no such child.
    NotFound {
        /// The id.
        id: ChildId,
    },
    /// The child runs.
    Running {
        /// The id.
        id: ChildId,
        /// Its process.
        pid: Pid,
    },
    /// The supervisor is about to start the child again.
    Restarting {
        /// The id.
        id: ChildId,
    },
    /// Under `simple_one_for_one` a child that has ended is removed.
    SimpleOneForOne {
        /// The id asked for.
        id: ChildId,
    },
    /// The child failed to start; its specification is kept, and the start is not retried.
    Failed {
        /// The id.
        id: ChildId,
        /// Why it failed.
        reason: Reason,
    },
    /// The supervisor did not answer.
    Call(CallError),
}

impl From<CallError> for RestartChildError {
    fn from(error: CallError) -> Self {
        RestartChildError::Call(error)
    }
}

impl fmt::Display for RestartChildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestartChildError::NotFound { id } => write!(f, "no child {id:?}"),
            RestartChildError::Running { id, pid } => {
                write!(f, "child {id:?} is running as {pid}")
            }
            RestartChildError::Restarting { id } => write!(f, "child {id:?} is restarting"),
            RestartChildError::SimpleOneForOne { id } => {
                write!(f, "simple_one_for_one has no restart_child of {id:?}")
            }
            RestartChildError::Failed { id, reason } => {
                write!(f, "child {id:?} failed to start: {reason}")
            }
            RestartChildError::Call(error) => write!(f, "supervisor: {error}"),
        }
    }
}

impl Error for RestartChildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RestartChildError::NotFound { .. }
            | RestartChildError::Running { .. }
            | RestartChildError::Restarting { .. }
            | RestartChildError::SimpleOneForOne { .. } => None,
            RestartChildError::Failed { reason, .. } => Some(reason.as_error()),
            RestartChildError::Call(error) => Some(error),
        }
    }
}

/// The error of `delete_child`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteChildError {
    /// There is no such child.
    #[error("no child {id:?}")]
    NotFound {
        /// The id.
        id: ChildId,
    },
    /// The child runs; terminate it first.
    #[error("child {id:?} is running as {pid}")]
    Running {
        /// The id.
        id: ChildId,
        /// Its process.
        pid: Pid,
    },
    /// The supervisor is about to start the child again; terminate it first.
    #[error("child {id:?} is restarting")]
    Restarting {
        /// The id.
        id: ChildId,
    },
    /// Under `simple_one_for_one` a child that has ended is removed.
    #[error("simple_one_for_one has no delete_child of {id:?}")]
    SimpleOneForOne {
        /// The id asked for.
        id: ChildId,
    },
    /// The supervisor did not answer.
    #[error("supervisor: {0}")]
    Call(#[from] CallError),
}

/// The error of `get_childspec`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GetChildSpecError {
    /// There is no such child.
    #[error("no child {child}")]
    NotFound {
        /// The id or pid asked for.
        child: String,
    },
    /// The supervisor did not answer.
    #[error("supervisor: {0}")]
    Call(#[from] CallError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn id() -> ChildId {
        "a".into()
    }

    #[test]
    fn a_refused_specification_names_the_fault_and_the_child() {
        let name = SpecError::InvalidName { id: id(), error: NameError::Empty };
        let error = BackOffError::ZeroMin;
        let named = [NameError::Empty.to_string(), error.to_string()];
        let (any, group) = (AutoShutdown::AnySignificant, Strategy::OneForAll);
        for (error, text) in [
            (SpecError::DuplicateId { id: id() }, "two children have the id \"a\""),
            (SpecError::ZeroPeriod, "restart period is 0 s: it must be greater"),
            (
                SpecError::SignificantWithoutAutoShutdown { id: id() },
                "child \"a\" is significant, but its supervisor has auto_shutdown never",
            ),
            (
                SpecError::SignificantPermanent { id: id() },
                "child \"a\" is significant and permanent, so its end would never count",
            ),
            (name, &format!("child \"a\": {}", named[0])),
            (
                SpecError::ZeroMailbox { id: id() },
                "child \"a\": a mailbox of 0 messages accepts no message",
            ),
            (SpecError::BackOff { id: id(), error }, &format!("child \"a\": {}", named[1])),
            (
                SpecError::BackOffInPlace { id: id() },
                "child \"a\" is restarted in place, so it cannot have a back-off",
            ),
            (
                SpecError::InPlaceInGroup { id: id(), strategy: group },
                "child \"a\" cannot be restarted in place under one_for_all, which restarts others with it",
            ),
            (
                SpecError::ChildOfSimpleOneForOne { id: id() },
                "child \"a\" is not made from the template: simple_one_for_one has no other children",
            ),
            (
                SpecError::AutoShutdownOfSimpleOneForOne { auto_shutdown: any },
                "simple_one_for_one cannot have auto_shutdown any_significant",
            ),
            (SpecError::NoPartitions, "0 partitions have no place for a key"),
            (
                SpecError::TooManyPartitions { partitions: 9, most: 8 },
                "9 partitions exceed the limit of 8",
            ),
            (
                SpecError::MaxChildren { limit: 3, strategy: group },
                "max_children 3 needs simple_one_for_one, not one_for_all",
            ),
        ] {
            assert_eq!(error.to_string(), text);
            let source = error.source().map(ToString::to_string);
            assert_eq!(
                source,
                named.iter().find(|inner| text.ends_with(*inner)).cloned(),
                "{text}"
            );
            let start = StartChildError::from(error);
            assert_eq!(start.to_string(), text);
            assert_eq!(start.source().map(ToString::to_string), source, "{text}");
        }
        for (error, text) in [
            (BackOffError::ZeroMin, "a back-off that begins with 0 s never waits"),
            (
                BackOffError::MaxUnderMin {
                    min: Duration::from_secs(2),
                    max: Duration::from_secs(1),
                },
                "a back-off from 2s cannot end at 1s",
            ),
            (BackOffError::Jitter(1.5), "a jitter of 1.5 is not within 0 and 1"),
            (BackOffError::ZeroReset, "a back-off that is reset after 0 s never grows"),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn a_refused_request_names_the_child_and_the_reason() {
        let (pid, reason, call) =
            (Pid::local(7, 0), Reason::error("no"), CallError::NoProcess { to: Pid::local(8, 0) });
        let failed = "child \"a\" failed to start: no";
        let running = "child \"a\" is running as <0.7.0>";
        let restarting = "child \"a\" is restarting";
        let silent = format!("supervisor: {call}");
        let errors: [(Box<dyn Error>, &str); 23] = [
            (Box::new(FailedToStartChild { id: id(), reason: reason.clone() }), failed),
            (
                Box::new(StartChildError::AlreadyPresent { id: id() }),
                "child \"a\" is already present",
            ),
            (
                Box::new(StartChildError::AlreadyStarted { id: id(), pid }),
                "child \"a\" is already started as <0.7.0>",
            ),
            (Box::new(StartChildError::Failed { id: id(), reason: reason.clone() }), failed),
            (
                Box::new(StartChildError::Full { limit: 3 }),
                "the supervisor has 3 children, which is its limit",
            ),
            (Box::new(StartChildError::Stopping), "the supervisor is stopping"),
            (Box::new(StartChildError::from(call.clone())), &silent),
            (Box::new(TerminateChildError::NotFound { child: "\"a\"".into() }), "no child \"a\""),
            (
                Box::new(TerminateChildError::SimpleOneForOne { id: id() }),
                "under simple_one_for_one a child is terminated by its pid, not by its id \"a\"",
            ),
            (Box::new(TerminateChildError::from(call.clone())), &silent),
            (Box::new(RestartChildError::NotFound { id: id() }), "no child \"a\""),
            (Box::new(RestartChildError::Running { id: id(), pid }), running),
            (Box::new(RestartChildError::Restarting { id: id() }), restarting),
            (
                Box::new(RestartChildError::SimpleOneForOne { id: id() }),
                "simple_one_for_one has no restart_child of \"a\"",
            ),
            (Box::new(RestartChildError::Failed { id: id(), reason }), failed),
            (Box::new(RestartChildError::from(call.clone())), &silent),
            (Box::new(DeleteChildError::NotFound { id: id() }), "no child \"a\""),
            (Box::new(DeleteChildError::Running { id: id(), pid }), running),
            (Box::new(DeleteChildError::Restarting { id: id() }), restarting),
            (
                Box::new(DeleteChildError::SimpleOneForOne { id: id() }),
                "simple_one_for_one has no delete_child of \"a\"",
            ),
            (Box::new(DeleteChildError::from(call.clone())), &silent),
            (Box::new(GetChildSpecError::NotFound { child: "<0.7.0>".into() }), "no child <0.7.0>"),
            (Box::new(GetChildSpecError::from(call.clone())), &silent),
        ];
        for (error, text) in errors {
            assert_eq!(error.to_string(), text);
            let cause = error.source().map(ToString::to_string);
            let expected = match text {
                _ if text == silent => Some(call.to_string()),
                _ if text == failed => Some("no".to_owned()),
                _ => None,
            };
            assert_eq!(cause, expected, "{text}");
        }
    }
}
