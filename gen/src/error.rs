//! One error type per operation.

use crate::{Name, NameError, Pid, Reason};
use std::fmt;
use std::time::Duration;

/// The error of a send; it gives the message back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The mailbox is full (rule M5), or all workers of the pool are (rule P2).
    Full(M),
    /// The process has ended or never existed (rule M7).
    NoProcess(M),
    /// The receiver belongs to another node, and this node has no connections.
    NoConnection(M),
    /// The pool has no workers (rule P5).
    NoWorkers(M),
    /// The rate limit of the pool is reached.
    RateLimited {
        /// The message.
        message: M,
        /// When the next message will be accepted, if no other sender takes the token.
        retry_after: Duration,
    },
    /// The pool is drained: it finishes its jobs and accepts no new ones.
    Draining(M),
    /// The receiver is known only from the message, so no room can be reserved before (grains).
    NotReservable(M),
    /// No room became free within this time (rule M6). For senders that wait for room.
    Timeout {
        /// The message.
        message: M,
        /// The time that the sender waited.
        limit: Duration,
    },
    /// `wait` was used inside a process, which must `await` instead, or a process waits for
    /// room in its own mailbox.
    WaitInProcess(M),
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    WaitInRuntime(M),
    /// The simulation has nothing left to do, so room can never come.
    Stalled(M),
    /// The receiver takes messages of another type.
    WrongType {
        /// The message.
        message: M,
        /// The type the receiver takes.
        expected: &'static str,
        /// The type of the message.
        found: &'static str,
    },
}

impl<M> SendError<M> {
    /// Returns the message that was not accepted.
    pub fn into_message(self) -> M {
        match self {
            SendError::Full(message)
            | SendError::NoProcess(message)
            | SendError::NoConnection(message)
            | SendError::NoWorkers(message)
            | SendError::RateLimited { message, .. }
            | SendError::Draining(message)
            | SendError::NotReservable(message)
            | SendError::WaitInProcess(message)
            | SendError::WaitInRuntime(message)
            | SendError::Stalled(message)
            | SendError::Timeout { message, .. }
            | SendError::WrongType { message, .. } => message,
        }
    }

    /// Returns the same error about another message. For wrappers that put a user's message
    /// into one of their own.
    pub fn map<N>(self, f: impl FnOnce(M) -> N) -> SendError<N> {
        match self {
            SendError::Full(message) => SendError::Full(f(message)),
            SendError::NoProcess(message) => SendError::NoProcess(f(message)),
            SendError::NoConnection(message) => SendError::NoConnection(f(message)),
            SendError::NoWorkers(message) => SendError::NoWorkers(f(message)),
            SendError::RateLimited { message, retry_after } => {
                SendError::RateLimited { message: f(message), retry_after }
            }
            SendError::Draining(message) => SendError::Draining(f(message)),
            SendError::NotReservable(message) => SendError::NotReservable(f(message)),
            SendError::WaitInProcess(message) => SendError::WaitInProcess(f(message)),
            SendError::WaitInRuntime(message) => SendError::WaitInRuntime(f(message)),
            SendError::Stalled(message) => SendError::Stalled(f(message)),
            SendError::Timeout { message, limit } => {
                SendError::Timeout { message: f(message), limit }
            }
            SendError::WrongType { message, expected, found } => {
                SendError::WrongType { message: f(message), expected, found }
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
        matches!(self, SendError::Full(_))
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Full(_) => f.write_str("mailbox full"),
            SendError::NoProcess(_) => f.write_str("no such process"),
            SendError::NoConnection(_) => f.write_str("no connection to the node of the process"),
            SendError::NoWorkers(_) => f.write_str("pool has no workers"),
            SendError::RateLimited { retry_after, .. } => {
                write!(f, "too many jobs; the next one is taken in {retry_after:?}")
            }
            SendError::Draining(_) => f.write_str("pool is drained"),
            SendError::NotReservable(_) => {
                f.write_str("no room can be reserved before the message is known")
            }
            SendError::Timeout { limit, .. } => write!(f, "no room within {limit:?}"),
            SendError::WaitInProcess(_) => f.write_str(
                "use `.await` in a process; a process cannot wait for room in its own mailbox",
            ),
            SendError::WaitInRuntime(_) => f.write_str(
                "this thread drives an async runtime, which `.wait()` would block: use `.await`",
            ),
            SendError::Stalled(_) => f.write_str("the simulation ran out of events"),
            SendError::WrongType { expected, found, .. } => {
                write!(f, "wrong message type {found}: the receiver takes {expected}")
            }
        }
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Full(_) => f.write_str("Full(..)"),
            SendError::NoProcess(_) => f.write_str("NoProcess(..)"),
            SendError::NoConnection(_) => f.write_str("NoConnection(..)"),
            SendError::NoWorkers(_) => f.write_str("NoWorkers(..)"),
            SendError::RateLimited { retry_after, .. } => {
                write!(f, "RateLimited {{ retry_after: {retry_after:?} }}")
            }
            SendError::Draining(_) => f.write_str("Draining(..)"),
            SendError::NotReservable(_) => f.write_str("NotReservable(..)"),
            SendError::Timeout { limit, .. } => write!(f, "Timeout {{ limit: {limit:?} }}"),
            SendError::WaitInProcess(_) => f.write_str("WaitInProcess(..)"),
            SendError::WaitInRuntime(_) => f.write_str("WaitInRuntime(..)"),
            SendError::Stalled(_) => f.write_str("Stalled(..)"),
            SendError::WrongType { expected, .. } => {
                write!(f, "WrongType {{ expected: {expected} }}")
            }
        }
    }
}

impl<M> std::error::Error for SendError<M> {}

/// The error of a call that got no reply (rule C1).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No reply came in time. The request may still be handled; a late reply is dropped (rule
    /// C3).
    #[error("no reply within {0:?}")]
    Timeout(Duration),
    /// The callee ended, for this reason, before it replied (rule C2). It may have begun to
    /// handle the request.
    #[error("callee terminated: {0}")]
    Terminated(Reason),
    /// The callee ended, for this reason, while the request waited in its queue (rule C2).
    ///
    /// No handler has seen the request, so it can be made again without being handled twice.
    #[error("callee terminated before it handled the request: {0}")]
    NotBegun(Reason),
    /// The callee's mailbox is full, or all workers of the pool are.
    #[error("mailbox full")]
    Full,
    /// The pool has no workers.
    #[error("pool has no workers")]
    NoWorkers,
    /// The rate limit of the pool is reached. The next request is accepted after this time, if
    /// no other sender takes the token.
    #[error("too many jobs; the next one is taken in {0:?}")]
    RateLimited(Duration),
    /// The pool is drained: it finishes its jobs and accepts no new ones.
    #[error("pool is drained")]
    Draining,
    /// The callee has no room that can be reserved before the request is known (grains). Call
    /// it by its address, not by a recipient.
    #[error("no room can be reserved before the request is known")]
    NotReservable,
    /// The request waited at a worker of the pool longer than its time to live. It was not
    /// handled.
    #[error("the request waited {0:?}, longer than its time to live")]
    Expired(Duration),
    /// There is no such process.
    #[error("no such process")]
    NoProcess,
    /// The callee does not exist because its node has stopped, or is so far in its stop that no
    /// process replaces the callee (rule X2). Until then calls continue to work.
    #[error("node has stopped")]
    NodeStopped,
    /// The callee dropped the reply token without a reply, and is still alive.
    #[error("the request was dropped without a reply")]
    NoReply,
    /// A process called itself (rule C5).
    #[error("process {0} calls itself")]
    CallsItself(Pid),
    /// The call would close a cycle of processes that wait for each other (rule C5). It was not
    /// made.
    #[error("deadlock: {0}")]
    Deadlock(CallCycle),
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process cannot use `.wait()`, which would block its worker: use `.await`")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime, which `.wait()` would block: use `.await`")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so the reply can never come.
    #[error("the simulation ran out of events before the reply came")]
    Stalled,
}

impl CallError {
    /// Returns whether the callee may have begun to handle the request. If not, the call can be
    /// made again, to the same or another process, without being handled twice.
    ///
    /// ```
    /// # use krarup_gen::{CallError, Reason};
    /// assert!(!CallError::Full.was_begun());
    /// assert!(!CallError::NotBegun(Reason::error("the one before it failed")).was_begun());
    /// assert!(CallError::Terminated(Reason::error("boom")).was_begun());
    /// ```
    #[must_use]
    pub const fn was_begun(&self) -> bool {
        match self {
            CallError::NotBegun(_)
            | CallError::Full
            | CallError::NoWorkers
            | CallError::RateLimited(_)
            | CallError::Draining
            | CallError::NotReservable
            | CallError::Expired(_)
            | CallError::NoProcess
            | CallError::WaitInProcess
            | CallError::WaitInRuntime => false,
            // A call into a cycle has been made if a route or a fallback closes the cycle.
            CallError::Timeout(_)
            | CallError::Terminated(_)
            | CallError::NodeStopped
            | CallError::NoReply
            | CallError::CallsItself(_)
            | CallError::Deadlock(_)
            | CallError::Stalled => true,
        }
    }

    /// Returns the reason of the callee, for [`CallError::Terminated`] and
    /// [`CallError::NotBegun`].
    #[must_use]
    pub const fn end(&self) -> Option<&Reason> {
        match self {
            CallError::Terminated(reason) | CallError::NotBegun(reason) => Some(reason),
            _ => None,
        }
    }
}

/// A cycle of processes that each wait for the next, and the last for the first (rule C5).
///
/// The first is the caller, the second its callee, the third the callee of that one, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The error of a spawn. No part of the process remains.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// Its `init` failed or panicked, or the process was ended from outside (rule D2).
    #[error("init failed: {0}")]
    Init(Reason),
    /// Another process has the name (rule N2).
    #[error("name {name} is taken by {by}")]
    NameTaken {
        /// The name.
        name: Name,
        /// The process that has it.
        by: Pid,
    },
    /// The text is not a valid name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// The mailbox bound is 0.
    #[error("a mailbox bound of 0 would refuse every message")]
    ZeroMailbox,
    /// An overflow rule was set for a mailbox without a bound.
    #[error(transparent)]
    NoBound(#[from] NoBound),
    /// An order was set for a mailbox that drops its oldest message.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// There is no dispatcher with this name.
    #[error("unknown dispatcher {0:?}")]
    UnknownDispatcher(String),
    /// A thread of its dispatcher could not be started, for this reason.
    #[error("cannot start a thread: {0}")]
    NoThread(String),
    /// `init` did not return within this time. The process was killed.
    #[error("init did not return within {0:?}")]
    Timeout(Duration),
    /// The node is stopping or has stopped (rule X2). From the beginning of a stop top-level
    /// processes cannot be spawned; children cannot be spawned when the time of their root is
    /// over.
    #[error("node is stopping")]
    NodeStopping,
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process cannot use `.wait()`, which would block its worker: use `.await`")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime, which `.wait()` would block: use `.await`")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so `init` can never return.
    #[error("the simulation ran out of events before init returned")]
    Stalled,
    /// The process was to watch this one, which belongs to another node, and this node has no
    /// connections (`Node::stop_with`; rule X1).
    #[error("no connection to the node of process {0}")]
    NoConnection(Pid),
}

/// The error of blocking work that was not run. The work has been dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The node has stopped, or it stopped before the work began (rule X2).
    #[error("node has stopped: the blocking work was not run")]
    NodeStopped,
    /// There is no side thread, and none can be started, for this reason.
    #[error("cannot start a thread for blocking work: {0}")]
    NoThread(String),
    /// The node was built without a blocking pool of this name.
    #[error("the node has no blocking pool named {0:?}: the blocking work was not run")]
    UnknownPool(String),
}

/// An overflow rule was set for a mailbox without a bound, which is never full (rule M6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an overflow rule was set for a mailbox without a bound, which is never full")]
pub struct NoBound;

/// An order was set for a mailbox that drops its oldest message when it is full (rule M12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mailbox that drops its oldest message cannot have an order")]
pub struct OrderError;

/// The error of a change of the overflow rule. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverflowError {
    /// The mailbox has no bound.
    #[error(transparent)]
    NoBound(#[from] NoBound),
    /// The mailbox has an order, so it cannot drop its oldest message.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// The error of a process that did not get a name. Nothing has changed (rule N2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another process has the name.
    #[error("name {name} is taken by {by}")]
    NameTaken {
        /// The name.
        name: Name,
        /// The process that has it.
        by: Pid,
    },
    /// The process has ended.
    #[error("no such process")]
    NoProcess,
    /// The process has a name already; it can have only one.
    #[error("the process already has the name {name}")]
    AlreadyNamed {
        /// The name it has.
        name: Name,
    },
    /// The text is not a valid name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
}

/// The error of a lookup of a typed address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No process has the name or pid.
    #[error("no process {0}")]
    NoProcess(String),
    /// The pid belongs to another node, and this node has no connections.
    #[error("no connection to the node of process {0}")]
    NoConnection(Pid),
    /// The process takes other messages, or other commands on its control lanes (the address of
    /// a pool is an `Address<M, PoolCommand>`).
    #[error(
        "process {process} has an Address<{}, {}>, not an Address<{}, {}>",
        expected.0, expected.1, found.0, found.1
    )]
    WrongType {
        /// The name or pid looked up.
        process: String,
        /// The types that the process takes on Main and on the control lanes.
        expected: (&'static str, &'static str),
        /// The types that were asked for.
        found: (&'static str, &'static str),
    },
}

/// The error of a process or node that did not stop as requested.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// There is no such process.
    #[error("no such process")]
    NoProcess,
    /// It ended with another reason than the requested one.
    #[error("process ended with another reason: {0}")]
    Other(Reason),
    /// A process that waits for its own end would wait for ever. It calls `ctx.stop()`, or
    /// returns.
    #[error("process {0} cannot wait for its own end")]
    StopsItself(Pid),
    /// It has not ended within this time, and was not killed.
    #[error("process has not stopped within {0:?}")]
    Timeout(Duration),
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process cannot use `.wait()`, which would block its worker: use `.await`")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime, which `.wait()` would block: use `.await`")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so the process can never end.
    #[error("the simulation ran out of events before the process ended")]
    Stalled,
}

/// The error of debugging a live process (rule X5).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DebugError {
    /// There is no such process.
    #[error("no such process")]
    NoProcess,
    /// It ended in the meantime, for this reason.
    #[error("process terminated: {0}")]
    Terminated(Reason),
    /// It has not answered within this time, because it is inside a handler.
    #[error("process has not answered within {0:?}")]
    Timeout(Duration),
    /// It does not offer its state.
    #[error("process {0} does not offer its state")]
    NotOffered(Pid),
    /// Its state is of another type.
    #[error("the state is a {found}, not a {expected}")]
    WrongType {
        /// The type that was asked for.
        expected: &'static str,
        /// The type of the state.
        found: &'static str,
    },
    /// A process cannot wait for itself.
    #[error("process {0} cannot debug itself")]
    DebugsItself(Pid),
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process cannot use `.wait()`, which would block its worker: use `.await`")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime, which `.wait()` would block: use `.await`")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so the answer can never come.
    #[error("the simulation ran out of events before the process answered")]
    Stalled,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Panic;
    use std::sync::Arc;

    const TIME: Duration = Duration::from_secs(3);

    /// One error of each kind, its text, and its debug text.
    fn send_errors() -> Vec<(SendError<u8>, &'static str, &'static str)> {
        let waits = "use `.await` in a process; a process cannot wait for room in its own mailbox";
        let drives =
            "this thread drives an async runtime, which `.wait()` would block: use `.await`";
        vec![
            (SendError::Full(7), "mailbox full", "Full(..)"),
            (SendError::NoProcess(7), "no such process", "NoProcess(..)"),
            (
                SendError::NoConnection(7),
                "no connection to the node of the process",
                "NoConnection(..)",
            ),
            (SendError::NoWorkers(7), "pool has no workers", "NoWorkers(..)"),
            (
                SendError::RateLimited { message: 7, retry_after: TIME },
                "too many jobs; the next one is taken in 3s",
                "RateLimited { retry_after: 3s }",
            ),
            (SendError::Draining(7), "pool is drained", "Draining(..)"),
            (
                SendError::NotReservable(7),
                "no room can be reserved before the message is known",
                "NotReservable(..)",
            ),
            (
                SendError::Timeout { message: 7, limit: TIME },
                "no room within 3s",
                "Timeout { limit: 3s }",
            ),
            (SendError::WaitInProcess(7), waits, "WaitInProcess(..)"),
            (SendError::WaitInRuntime(7), drives, "WaitInRuntime(..)"),
            (SendError::Stalled(7), "the simulation ran out of events", "Stalled(..)"),
            (
                SendError::WrongType { message: 7, expected: "Order", found: "u8" },
                "wrong message type u8: the receiver takes Order",
                "WrongType { expected: Order }",
            ),
        ]
    }

    #[test]
    fn m7_every_send_error_returns_its_message() {
        for (error, said, called) in send_errors() {
            assert_eq!((error.to_string().as_str(), format!("{error:?}").as_str()), (said, called));
            assert_eq!(error.is_full(), called == "Full(..)", "{called}");
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

    /// One error of each kind, its text, and whether its request may have been begun.
    fn call_errors() -> Vec<(CallError, &'static str, bool)> {
        let drives =
            "this thread drives an async runtime, which `.wait()` would block: use `.await`";
        let waits = "a process cannot use `.wait()`, which would block its worker: use `.await`";
        let [one, two] = [Pid::local(1, 1), Pid::local(2, 1)];
        let deadlock = "deadlock: <0.1.0> waits for <0.2.0> waits for <0.1.0>";
        vec![
            (CallError::Timeout(TIME), "no reply within 3s", true),
            (CallError::Terminated(Reason::Killed), "callee terminated: killed", true),
            (
                CallError::NotBegun(Reason::Killed),
                "callee terminated before it handled the request: killed",
                false,
            ),
            (CallError::Full, "mailbox full", false),
            (CallError::NoWorkers, "pool has no workers", false),
            (CallError::RateLimited(TIME), "too many jobs; the next one is taken in 3s", false),
            (CallError::Draining, "pool is drained", false),
            (
                CallError::NotReservable,
                "no room can be reserved before the request is known",
                false,
            ),
            (
                CallError::Expired(TIME),
                "the request waited 3s, longer than its time to live",
                false,
            ),
            (CallError::NoProcess, "no such process", false),
            (CallError::NodeStopped, "node has stopped", true),
            (CallError::NoReply, "the request was dropped without a reply", true),
            (CallError::CallsItself(one), "process <0.1.0> calls itself", true),
            (CallError::Deadlock(CallCycle::new(vec![one, two])), deadlock, true),
            (CallError::WaitInProcess, waits, false),
            (CallError::WaitInRuntime, drives, false),
            (CallError::Stalled, "the simulation ran out of events before the reply came", true),
        ]
    }

    #[test]
    fn c2_a_call_error_states_the_cause_and_whether_a_retry_is_safe() {
        for (error, said, was_begun) in call_errors() {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.was_begun(), was_begun, "{error}");
            let ended = matches!(error, CallError::Terminated(_) | CallError::NotBegun(_));
            assert_eq!(error.end(), ended.then_some(&Reason::Killed), "{error}");
        }
        let cycle = CallCycle::new(vec![Pid::local(3, 1), Pid::local(1, 1)]);
        assert_eq!(cycle.pids(), [Pid::local(3, 1), Pid::local(1, 1)]);
        assert_eq!(CallCycle::new(Vec::new()).to_string(), "");
    }

    #[test]
    fn b1_each_error_names_the_cause_and_the_value() {
        let panic = Reason::Panic(Arc::new(Panic::new("boom".into(), Some("a.rs:1:2".into()))));
        let name = || Name::new("stock").unwrap();
        let (by, text) = (Pid::local(7, 1), String::from);
        let said = [
            SpawnError::Init(panic).to_string(),
            SpawnError::NameTaken { name: name(), by }.to_string(),
            SpawnError::from(NameError::Empty).to_string(),
            SpawnError::UnknownDispatcher(text("disk")).to_string(),
            SpawnError::NoThread(text("no memory")).to_string(),
            SpawnError::Timeout(TIME).to_string(),
            SpawnError::NoConnection(by).to_string(),
            BlockError::NoThread(text("no memory")).to_string(),
            BlockError::UnknownPool(text("disk")).to_string(),
            RegisterError::NameTaken { name: name(), by }.to_string(),
            RegisterError::AlreadyNamed { name: name() }.to_string(),
            LookupError::NoProcess(text("\"stock\"")).to_string(),
            LookupError::NoConnection(by).to_string(),
            LookupError::WrongType {
                process: text("stock"),
                expected: ("Order", "PoolCommand"),
                found: ("u8", "u16"),
            }
            .to_string(),
            StopError::Other(Reason::Killed).to_string(),
            StopError::StopsItself(by).to_string(),
            StopError::Timeout(TIME).to_string(),
            DebugError::Terminated(Reason::Killed).to_string(),
            DebugError::Timeout(TIME).to_string(),
            DebugError::NotOffered(by).to_string(),
            DebugError::WrongType { expected: "Stock", found: "u8" }.to_string(),
            DebugError::DebugsItself(by).to_string(),
        ];
        let expected = [
            "init failed: panic: boom at a.rs:1:2",
            "name stock is taken by <0.7.0>",
            "a name must not be empty",
            "unknown dispatcher \"disk\"",
            "cannot start a thread: no memory",
            "init did not return within 3s",
            "no connection to the node of process <0.7.0>",
            "cannot start a thread for blocking work: no memory",
            "the node has no blocking pool named \"disk\": the blocking work was not run",
            "name stock is taken by <0.7.0>",
            "the process already has the name stock",
            "no process \"stock\"",
            "no connection to the node of process <0.7.0>",
            "process stock has an Address<Order, PoolCommand>, not an Address<u8, u16>",
            "process ended with another reason: killed",
            "process <0.7.0> cannot wait for its own end",
            "process has not stopped within 3s",
            "process terminated: killed",
            "process has not answered within 3s",
            "process <0.7.0> does not offer its state",
            "the state is a u8, not a Stock",
            "process <0.7.0> cannot debug itself",
        ];
        assert_eq!(said, expected);
    }
}
