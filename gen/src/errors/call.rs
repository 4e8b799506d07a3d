//! The errors of a call, and of a call by name, each of which may hold the other.

use crate::errors::lookup::LookupError;
use crate::errors::named::RetryError;
use crate::errors::wait::CannotWait;
use crate::{Alias, Name, Pid, Reason, Target};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of a call that got no reply (rule C1).
///
/// `to` is the callee: the process that was called, or the worker or grain that the request was
/// handed to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// No reply came in time. The request may still be handled; a late reply is dropped (rule
    /// C3).
    Timeout {
        /// The callee.
        to: Pid,
        /// The time that the caller waited.
        limit: Duration,
    },
    /// The callee ended before it replied (rule C2). It may have begun to handle the request.
    Terminated {
        /// The process that had the request when it ended.
        to: Pid,
        /// The reason with which it ended.
        reason: Reason,
    },
    /// The callee ended while the request waited in its queue (rule C2).
    ///
    /// No handler has seen the request, so it can be made again without being handled twice.
    NotBegun {
        /// The process that had the request when it ended.
        to: Pid,
        /// The reason with which it ended.
        reason: Reason,
    },
    /// The callee's mailbox is full, or all workers of the pool are.
    Full {
        /// The callee.
        to: Pid,
    },
    /// The pool has no workers.
    NoWorkers {
        /// The pool.
        to: Pid,
    },
    /// The rate limit of the pool is reached.
    RateLimited {
        /// The pool.
        to: Pid,
        /// When the next request will be accepted, if no other sender takes the token.
        retry_after: Duration,
    },
    /// The pool is drained: it finishes its jobs and accepts no new ones.
    Draining {
        /// The pool.
        to: Pid,
    },
    /// The callee has no room that can be reserved before the request is known (grains). Call
    /// it by its address, not by a recipient.
    NotReservable {
        /// The process of the grains.
        to: Pid,
    },
    /// The request waited at a worker of the pool longer than its time to live. It was not
    /// handled.
    Expired {
        /// The worker.
        to: Pid,
        /// The time that the request waited.
        waited: Duration,
    },
    /// The callee has ended or never existed.
    NoProcess {
        /// The callee.
        to: Pid,
    },
    /// The callee was called by an alias that has been revoked (rule N5).
    Revoked {
        /// The alias.
        alias: Alias,
    },
    /// The callee does not exist because its node has stopped, or is so far in its stop that no
    /// process replaces the callee (rule X2). Until then calls continue to work.
    NodeStopped {
        /// The callee.
        to: Pid,
    },
    /// The reply token was dropped without a reply by a process that is still alive.
    NoReply {
        /// The callee.
        to: Pid,
    },
    /// The request did not reach the callee, which is on another node (rule Zcall4).
    ///
    /// No handler has seen it, so it can be made again without being handled twice.
    Undelivered {
        /// The callee, by the name and the node with which it was called, if it was.
        to: Box<Target>,
        /// Why the request did not reach it.
        cause: UndeliveredCause,
    },
    /// A process called itself (rule C5), so its answer is not waited for.
    ///
    /// The request is not sent if that is seen before. A pool, another route or the fallback of a
    /// full mailbox may hand it on to the caller: then it was sent, and the process may handle it
    /// later. So [`was_begun`](Self::was_begun) is true.
    CallsItself(Pid),
    /// The call would close a cycle of processes that wait for each other (rule C5), so its answer
    /// is not waited for.
    ///
    /// The request is not sent if that is seen before. It was sent, and its receiver may handle it
    /// later, where that is seen only then: where a pool, another route or a fallback hands it on,
    /// where it takes reserved room, and where the callee begins to wait at the same moment. So
    /// [`was_begun`](Self::was_begun) is true.
    Deadlock(CallCycle),
    /// The call was to take room that was reserved at another process (rule H8). No request was made, and the room was
    /// given back.
    PermitOfOther {
        /// The callee.
        to: Pid,
        /// The process at which the room was reserved.
        of: Pid,
    },
    /// This thread cannot wait for the reply.
    CannotWait(CannotWait),
    /// The callee had to call another process by its name, made no such call, and has passed that
    /// error on (rule H9). Made by `From<NamedCallError>`, which turns the error of an attempt
    /// into that error itself.
    Named(Box<NamedCallError>),
}

impl CallError {
    /// Returns whether the callee may have begun to handle the request. If not, the call can be
    /// made again, to the same or another process, without being handled twice.
    ///
    /// ```
    /// # use krarup_gen::{CallError, Pid, Reason};
    /// # let to = Pid::local(7, 1);
    /// let reason = Reason::error("boom");
    /// assert!(!CallError::Full { to }.was_begun());
    /// assert!(!CallError::NotBegun { to, reason: reason.clone() }.was_begun());
    /// assert!(CallError::Terminated { to, reason }.was_begun());
    /// ```
    #[must_use]
    pub const fn was_begun(&self) -> bool {
        match self {
            CallError::NotBegun { .. }
            | CallError::Full { .. }
            | CallError::NoWorkers { .. }
            | CallError::RateLimited { .. }
            | CallError::Draining { .. }
            | CallError::NotReservable { .. }
            | CallError::Expired { .. }
            | CallError::NoProcess { .. }
            | CallError::Revoked { .. }
            | CallError::Undelivered { .. }
            | CallError::PermitOfOther { .. }
            | CallError::CannotWait(CannotWait::InProcess | CannotWait::InRuntime) => false,
            // A call into a cycle has been made if a route or a fallback closes the cycle.
            CallError::Timeout { .. }
            | CallError::Terminated { .. }
            | CallError::NodeStopped { .. }
            | CallError::NoReply { .. }
            | CallError::CallsItself(_)
            | CallError::Deadlock(_)
            | CallError::CannotWait(CannotWait::Stalled) => true,
            CallError::Named(error) => error.was_begun(),
        }
    }

    /// Returns the reason of the callee, for [`CallError::Terminated`] and
    /// [`CallError::NotBegun`].
    #[must_use]
    pub const fn end(&self) -> Option<&Reason> {
        match self {
            CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. } => {
                Some(reason)
            }
            _ => None,
        }
    }
}

impl From<CannotWait> for CallError {
    fn from(cause: CannotWait) -> Self {
        CallError::CannotWait(cause)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Timeout { to, limit } => {
                write!(f, "call to {to} timed out after {limit:?}")
            }
            CallError::Terminated { to, reason } => write!(f, "{to} terminated: {reason}"),
            CallError::NotBegun { to, reason } => {
                write!(f, "{to} terminated before it handled the request: {reason}")
            }
            CallError::Full { to } => write!(f, "the mailbox of {to} is full"),
            CallError::NoWorkers { to } => write!(f, "pool {to} has no workers"),
            CallError::RateLimited { to, retry_after } => {
                write!(
                    f,
                    "pool {to} is at its rate limit: it takes the next job in {retry_after:?}"
                )
            }
            CallError::Draining { to } => write!(f, "pool {to} is drained"),
            CallError::NotReservable { to } => {
                write!(f, "no room can be reserved at {to} before the request is known")
            }
            CallError::Expired { to, waited } => {
                write!(f, "the request waited {waited:?} at {to}, longer than its time to live")
            }
            CallError::NoProcess { to } => write!(f, "{to} has ended or never existed"),
            CallError::Revoked { alias } => {
                write!(f, "{alias} has been revoked or never existed")
            }
            CallError::NodeStopped { to } => write!(f, "the node of {to} has stopped"),
            CallError::NoReply { to } => write!(f, "{to} dropped the request without a reply"),
            CallError::Undelivered { to, cause } => {
                write!(f, "the request did not reach {to}: {cause}")
            }
            CallError::CallsItself(pid) => write!(f, "process {pid} calls itself"),
            CallError::Deadlock(cycle) => write!(f, "deadlock: {cycle}"),
            CallError::PermitOfOther { to, of } => {
                write!(f, "call to {to} into room that was reserved at {of}")
            }
            CallError::CannotWait(cause) => fmt::Display::fmt(cause, f),
            CallError::Named(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CallError::Named(error) => error.source(),
            error => error.end().map(|reason| reason.as_error() as _),
        }
    }
}

/// The error of a call to whichever process has a name (rules H3 to H6).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NamedCallError {
    /// No process had the name, as long as the call waited for one. The request was not made.
    #[error("no process had the name {:?} within {waited:?}", name.as_str())]
    NoName {
        /// The name.
        name: Name,
        /// The time that was waited since the call was made.
        waited: Duration,
    },
    /// No process has the name, and the node stops. The request was not made.
    #[error("no process has the name {:?}, and the node stops", name.as_str())]
    NodeStopped {
        /// The name.
        name: Name,
    },
    /// No process has the name, and the caller is asked to stop, or the server for whose request the call is made (rule
    /// H10). The request was not made.
    #[error("no process has the name {:?}, and who waits for it is asked to stop", name.as_str())]
    Stopping {
        /// The name.
        name: Name,
    },
    /// A process has the name, and it takes other messages.
    #[error(transparent)]
    Lookup(LookupError),
    /// The last attempt has failed, and there is no further one: the policy has none for this
    /// error, or no time is left.
    #[error("{error} (attempt {attempts})")]
    Call {
        /// The error of the last attempt.
        #[source]
        error: CallError,
        /// How many attempts were made.
        attempts: u32,
    },
    /// The policy is not valid. Nothing was done.
    #[error(transparent)]
    Retry(#[from] RetryError),
    /// This thread cannot wait for the reply. Nothing was done.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

impl NamedCallError {
    /// Returns whether a process may have begun to handle the request of the last attempt; see
    /// [`CallError::was_begun`].
    #[must_use]
    pub const fn was_begun(&self) -> bool {
        matches!(self, NamedCallError::Call { error, .. } if error.was_begun())
            || matches!(self, NamedCallError::CannotWait(CannotWait::Stalled))
    }

    /// Returns the error of the last attempt, if there was one.
    #[must_use]
    pub const fn call(&self) -> Option<&CallError> {
        match self {
            NamedCallError::Call { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// For a process that answers a call by a call by name: `reply.fail(error.into())` passes the error on
/// (rule H9). Of an attempt it is the error of that attempt, without their number, so that the
/// caller matches [`CallError::Timeout`] as if it had called that process itself.
impl From<NamedCallError> for CallError {
    fn from(error: NamedCallError) -> Self {
        match error {
            NamedCallError::Call { error, .. } => error,
            NamedCallError::CannotWait(cause) => CallError::CannotWait(cause),
            error => CallError::Named(Box::new(error)),
        }
    }
}

/// Why a request did not reach its callee on another node (rule Zcall4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndeliveredCause {
    /// Too much waits to be sent to the node of the callee (rule Zmsg13).
    Full,
    /// There is no connection to its node: none could be made while the request waited for one
    /// (rule Zhs10), or the cluster has ended (rule Zlive7). A connection that is lost while the
    /// call waits for its answer is [`CallError::Terminated`] with
    /// [`Reason::NoConnection`](crate::Reason::NoConnection).
    NoConnection,
    /// The request cannot be written, for this reason. The next attempt fails in the same way.
    Unserializable(Box<str>),
    /// The other node cannot read the request as a message of the callee, for this reason (rule
    /// Zmsg8). The next attempt fails in the same way.
    Undecodable(Box<str>),
}

impl fmt::Display for UndeliveredCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UndeliveredCause::Full => f.write_str("too much waits to be sent to its node"),
            UndeliveredCause::NoConnection => f.write_str("no connection to its node"),
            UndeliveredCause::Unserializable(why) => write!(f, "it cannot be written: {why}"),
            UndeliveredCause::Undecodable(why) => write!(f, "its node cannot read it: {why}"),
        }
    }
}

/// A cycle of processes that each wait for the next, and the last for the first (rule C5).
///
/// The first is the caller, the second its callee, the third the callee of that one, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallCycle(Box<[Pid]>);

impl CallCycle {
    /// Creates the cycle of these processes. For hosts.
    #[must_use]
    pub fn new(processes: Vec<Pid>) -> Self {
        CallCycle(processes.into())
    }

    /// Returns the processes. The first is the caller whose call closed the cycle.
    #[must_use]
    pub fn pids(&self) -> &[Pid] {
        &self.0
    }
}

impl fmt::Display for CallCycle {
    /// Prints `<0.1.0> waits for <0.2.0> waits for <0.1.0>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pid in &*self.0 {
            write!(f, "{pid} waits for ")?;
        }
        self.0.first().map_or(Ok(()), |first| fmt::Display::fmt(first, f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeName, Ref};

    const TIME: Duration = Duration::from_secs(3);

    fn undelivered(to: impl Into<Target>, cause: UndeliveredCause) -> CallError {
        CallError::Undelivered { to: Box::new(to.into()), cause }
    }

    /// One error of each kind, its text, and whether its request may have been begun.
    fn call_errors() -> Vec<(CallError, &'static str, bool)> {
        let (to, reason) = (Pid::local(7, 1), Reason::Killed);
        let [one, two] = [Pid::local(1, 1), Pid::local(2, 1)];
        let stock = || (Name::new("stock").unwrap(), NodeName::new("shop@host").unwrap());
        let deadlock = "deadlock: <0.1.0> waits for <0.2.0> waits for <0.1.0>";
        vec![
            (CallError::Timeout { to, limit: TIME }, "call to <0.7.0> timed out after 3s", true),
            (
                CallError::Terminated { to, reason: reason.clone() },
                "<0.7.0> terminated: killed",
                true,
            ),
            (
                CallError::NotBegun { to, reason },
                "<0.7.0> terminated before it handled the request: killed",
                false,
            ),
            (CallError::Full { to }, "the mailbox of <0.7.0> is full", false),
            (CallError::NoWorkers { to }, "pool <0.7.0> has no workers", false),
            (
                CallError::RateLimited { to, retry_after: TIME },
                "pool <0.7.0> is at its rate limit: it takes the next job in 3s",
                false,
            ),
            (CallError::Draining { to }, "pool <0.7.0> is drained", false),
            (
                CallError::NotReservable { to },
                "no room can be reserved at <0.7.0> before the request is known",
                false,
            ),
            (
                CallError::Expired { to, waited: TIME },
                "the request waited 3s at <0.7.0>, longer than its time to live",
                false,
            ),
            (CallError::NoProcess { to }, "<0.7.0> has ended or never existed", false),
            (
                CallError::Revoked { alias: Alias::new(Ref::new(3)) },
                "#Alias<0.3> has been revoked or never existed",
                false,
            ),
            (CallError::NodeStopped { to }, "the node of <0.7.0> has stopped", true),
            (CallError::NoReply { to }, "<0.7.0> dropped the request without a reply", true),
            (
                undelivered(stock(), UndeliveredCause::Full),
                "the request did not reach \"stock\" at shop@host: too much waits to be sent to its node",
                false,
            ),
            (
                undelivered(to, UndeliveredCause::NoConnection),
                "the request did not reach <0.7.0>: no connection to its node",
                false,
            ),
            (
                undelivered(stock(), UndeliveredCause::Unserializable("NaN".into())),
                "the request did not reach \"stock\" at shop@host: it cannot be written: NaN",
                false,
            ),
            (
                undelivered(stock(), UndeliveredCause::Undecodable("a float".into())),
                "the request did not reach \"stock\" at shop@host: its node cannot read it: a float",
                false,
            ),
            (CallError::CallsItself(one), "process <0.1.0> calls itself", true),
            (CallError::Deadlock(CallCycle::new(vec![one, two])), deadlock, true),
            (
                CallError::PermitOfOther { to: one, of: two },
                "call to <0.1.0> into room that was reserved at <0.2.0>",
                false,
            ),
            (
                CannotWait::InProcess.into(),
                "a process cannot use `.wait()`, which would block its worker: use `.await`",
                false,
            ),
            (
                CannotWait::InRuntime.into(),
                "this thread drives an async runtime, which `.wait()` would block: use `.await`",
                false,
            ),
            (CannotWait::Stalled.into(), "the simulation ran out of events", true),
            (
                NamedCallError::NodeStopped { name: stock().0 }.into(),
                "no process has the name \"stock\", and the node stops",
                false,
            ),
        ]
    }

    #[test]
    fn c2_a_call_error_states_the_cause_and_whether_a_retry_is_safe() {
        for (error, said, was_begun) in call_errors() {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.was_begun(), was_begun, "{error}");
            let ended = matches!(error, CallError::Terminated { .. } | CallError::NotBegun { .. });
            assert_eq!(error.end(), ended.then_some(&Reason::Killed), "{error}");
            let source = error.source().map(ToString::to_string);
            assert_eq!(source.as_deref(), ended.then_some("killed"), "{error}");
        }
        let cycle = CallCycle::new(vec![Pid::local(3, 1), Pid::local(1, 1)]);
        assert_eq!(cycle.pids(), [Pid::local(3, 1), Pid::local(1, 1)]);
        assert_eq!(CallCycle::new(Vec::new()).to_string(), "");
    }

    #[test]
    fn h3_the_error_of_a_call_to_a_name_states_the_cause_and_whether_it_was_begun() {
        let to = Pid::local(7, 1);
        let call = |error| NamedCallError::Call { error, attempts: 2 };
        let ended = call(CallError::Terminated { to, reason: Reason::Killed });
        for (error, said, was_begun) in [
            (
                NamedCallError::NoName { name: stock(), waited: TIME },
                "no process had the name \"stock\" within 3s",
                false,
            ),
            (
                NamedCallError::NodeStopped { name: stock() },
                "no process has the name \"stock\", and the node stops",
                false,
            ),
            (
                NamedCallError::Stopping { name: stock() },
                "no process has the name \"stock\", and who waits for it is asked to stop",
                false,
            ),
            (
                NamedCallError::Lookup(LookupError::NoName("stock".into())),
                "no process has the name \"stock\"",
                false,
            ),
            (ended.clone(), "<0.7.0> terminated: killed (attempt 2)", true),
            (call(CallError::Full { to }), "the mailbox of <0.7.0> is full (attempt 2)", false),
            (RetryError::NoAttempts.into(), "a call with 0 attempts is not made", false),
            (CannotWait::Stalled.into(), "the simulation ran out of events", true),
            (
                CannotWait::InRuntime.into(),
                "this thread drives an async runtime, which `.wait()` would block: use `.await`",
                false,
            ),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.was_begun(), was_begun, "{error}");
        }
        assert!(ended.call().is_some() && ended.source().is_some());
        assert_eq!(NamedCallError::NodeStopped { name: stock() }.call(), None);
    }

    #[test]
    fn h9_the_error_of_a_call_by_name_is_passed_on_as_that_of_its_last_attempt() {
        let timeout = CallError::Timeout { to: Pid::local(7, 1), limit: TIME };
        let error = NamedCallError::Call { error: timeout.clone(), attempts: 2 };
        assert_eq!(CallError::from(error), timeout);
        let cause = CannotWait::InProcess;
        assert_eq!(CallError::from(NamedCallError::from(cause)), CallError::CannotWait(cause));
        for error in [
            NamedCallError::NoName { name: stock(), waited: TIME },
            NamedCallError::NodeStopped { name: stock() },
            NamedCallError::Stopping { name: stock() },
            NamedCallError::Lookup(LookupError::NoName("stock".into())),
            RetryError::NoAttempts.into(),
        ] {
            let passed_on = CallError::from(error.clone());
            assert_eq!(passed_on.to_string(), error.to_string());
            assert!(!passed_on.was_begun() && passed_on.source().is_none());
            assert_eq!(passed_on, CallError::Named(Box::new(error)));
        }
    }

    fn stock() -> Name {
        Name::new("stock").unwrap()
    }
}
