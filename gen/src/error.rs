//! One error type per operation.

use crate::{Name, NameError, Pid, Reason};
use std::fmt;
use std::time::Duration;

/// A message was not accepted; it is given back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The mailbox is full (rule M5), or all workers of the pool are (rule P2).
    Full(M),
    /// The process is dead or was never there (rule M7).
    NoProcess(M),
    /// The receiver is of another node, and this one talks to none.
    NoConnection(M),
    /// The pool has no workers (rule P5).
    NoWorkers(M),
    /// The pool takes no more jobs in a second than it was told to.
    RateLimited {
        /// The message.
        message: M,
        /// When the next one will be taken, if nobody else is faster.
        retry_after: Duration,
    },
    /// The pool is drained: it finishes what it has and takes nothing new.
    Draining(M),
    /// Where it goes is in the message, so no room can be reserved before it is there: at grains.
    NotReservable(M),
    /// No room came within this time (rule M6): for one who waits for it.
    Timeout {
        /// The message.
        message: M,
        /// The time it was waited for.
        limit: Duration,
    },
    /// `wait` was used inside a process, which must `await` instead, or a process waits for
    /// room in its own mailbox.
    WaitInProcess(M),
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    WaitInRuntime(M),
    /// The simulation has nothing left to do, so room can never come.
    Stalled(M),
    /// The receiver takes messages of another type: its own and the one sent.
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
    /// The message that was not accepted.
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

    /// The same error about another message: for a wrapper that puts a user's message
    /// into one of its own.
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

    /// The error without the message: what can be returned with `?` from a handler even
    /// if the message cannot be shared between threads.
    pub fn without_message(self) -> SendError<()> {
        self.map(drop)
    }

    /// Whether the receiver lives but has no room.
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
            SendError::WaitInProcess(_) => {
                f.write_str("a process must await room, and cannot wait for its own")
            }
            SendError::WaitInRuntime(_) => f.write_str(
                "this thread drives an async runtime: use `.await`, for `.wait()` would stop it",
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

/// A call got no reply (rule C1).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No reply came in time. The request may still be handled; a late reply is
    /// dropped (rule C3).
    #[error("no reply within {0:?}")]
    Timeout(Duration),
    /// The callee ended, for this reason, before it answered (rule C2). It may have begun to
    /// handle the request.
    #[error("callee terminated: {0}")]
    Terminated(Reason),
    /// The callee ended, for this reason, while the request waited in its queue (rule C2): no
    /// handler has seen it, so it can be made again without being done twice.
    #[error("callee terminated before it began the request: {0}")]
    NotBegun(Reason),
    /// The callee's mailbox is full, or all workers of the pool are.
    #[error("mailbox full")]
    Full,
    /// The pool has no workers.
    #[error("pool has no workers")]
    NoWorkers,
    /// The pool takes no more jobs in a second than it was told to; the next one is taken after
    /// this time, if nobody else is faster.
    #[error("too many jobs; the next one is taken in {0:?}")]
    RateLimited(Duration),
    /// The pool is drained: it finishes what it has and takes nothing new.
    #[error("pool is drained")]
    Draining,
    /// The callee has no room that could be reserved before the request is known: grains, which
    /// are called by their address and not by a recipient.
    #[error("no room can be reserved before the request is known")]
    NotReservable,
    /// The request waited for so long at a worker of the pool that its time to live was over; it
    /// was not handled.
    #[error("the request waited {0:?}, longer than its time to live")]
    Expired(Duration),
    /// There is no such process.
    #[error("no such process")]
    NoProcess,
    /// The callee is gone because its node has stopped, or has come so far with its stop that
    /// nobody takes its place (rule X2). Until then calls go on.
    #[error("node has stopped")]
    NodeStopped,
    /// The reply token was dropped unanswered by a callee that lives on.
    #[error("the request was dropped without a reply")]
    NoReply,
    /// A process called itself (rule C5).
    #[error("process {0} calls itself")]
    CallsItself(Pid),
    /// The call would close a cycle of processes that wait for each other (rule C5); it was
    /// not made.
    #[error("deadlock: {0}")]
    Deadlock(CallCycle),
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process must await, not wait: waiting would hold its worker")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime: use `.await`, for `.wait()` would stop it")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so the reply can never come.
    #[error("the simulation ran out of events before the reply came")]
    Stalled,
}

impl CallError {
    /// Whether the callee may have begun to handle the request. If not, the call can be made
    /// again, there or elsewhere, and nothing is done twice.
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
            // A call into a cycle is made, where a route or a fallback closes the cycle.
            CallError::Timeout(_)
            | CallError::Terminated(_)
            | CallError::NodeStopped
            | CallError::NoReply
            | CallError::CallsItself(_)
            | CallError::Deadlock(_)
            | CallError::Stalled => true,
        }
    }

    /// Why the callee ended, if that is what the call failed with: [`CallError::Terminated`]
    /// and [`CallError::NotBegun`].
    #[must_use]
    pub const fn end(&self) -> Option<&Reason> {
        match self {
            CallError::Terminated(reason) | CallError::NotBegun(reason) => Some(reason),
            _ => None,
        }
    }
}

/// Processes of which each waits for the next, and the last for the first (rule C5): the
/// caller, whom it called, whom that one waits for, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCycle(Box<[Pid]>);

impl CallCycle {
    /// The cycle of these processes: for hosts.
    #[must_use]
    pub fn new(processes: Vec<Pid>) -> Self {
        CallCycle(processes.into())
    }

    /// The processes; the caller whose call closed the cycle is the first.
    #[must_use]
    pub fn pids(&self) -> &[Pid] {
        &self.0
    }
}

impl fmt::Display for CallCycle {
    /// `<0.1.0> waits for <0.2.0> waits for <0.1.0>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pid in &*self.0 {
            write!(f, "{pid} waits for ")?;
        }
        self.0.first().map_or(Ok(()), |first| fmt::Display::fmt(first, f))
    }
}

/// A process was not spawned; nothing of it is left behind.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// Its `init` failed or panicked, or was ended from outside (rule D2).
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
    /// The text cannot be a name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// A mailbox bound of 0 was asked for.
    #[error("a mailbox bound of 0 would refuse every message")]
    ZeroMailbox,
    /// Something was chosen for a full mailbox that has no bound.
    #[error(transparent)]
    NoBound(#[from] NoBound),
    /// A mailbox that drops its oldest message was to have an order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// There is no dispatcher of that name.
    #[error("unknown dispatcher {0:?}")]
    UnknownDispatcher(String),
    /// A thread of its dispatcher could not be started, for this reason.
    #[error("cannot start a thread: {0}")]
    NoThread(String),
    /// `init` did not return within the time set; the process was killed.
    #[error("init did not return within {0:?}")]
    Timeout(Duration),
    /// The node is stopping or has stopped (rule X2). From the beginning of a stop this is the
    /// answer to a spawn of a top-level process; to that of a child, when the time of its root is over.
    #[error("node is stopping")]
    NodeStopping,
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process must await, not wait: waiting would hold its worker")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime: use `.await`, for `.wait()` would stop it")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so `init` can never return.
    #[error("the simulation ran out of events before init returned")]
    Stalled,
    /// It was to watch this process, which is of another node, and this one talks to none
    /// (`Node::stop_with`; rule X1).
    #[error("no connection to the node of process {0}")]
    NoConnection(Pid),
}

/// Blocking work was not run; it has been dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The node has stopped, or it stopped before the work began (rule X2).
    #[error("node has stopped: the blocking work was not run")]
    NodeStopped,
    /// There is no side thread yet, and none can be started, for this reason.
    #[error("cannot start a thread for blocking work: {0}")]
    NoThread(String),
    /// The node was built without a pool of this name.
    #[error("the node has no blocking pool named {0:?}: the blocking work was not run")]
    UnknownPool(String),
}

/// Something was chosen for a full mailbox, but it has no bound and is never full (rule M6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an overflow was chosen for a mailbox without a bound, which is never full")]
pub struct NoBound;

/// An order was chosen for a mailbox that drops its oldest message when it is full (rule M12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mailbox that drops its oldest message takes its messages in the order of their arrival")]
pub struct OrderError;

/// What is to be done at a full mailbox was not chosen anew; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverflowError {
    /// The mailbox has no bound.
    #[error(transparent)]
    NoBound(#[from] NoBound),
    /// The mailbox has an order, and was to drop its oldest message.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// A process was not given the name it asked for; nothing has changed (rule N2).
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
    /// The process has a name already; it can have one.
    #[error("the process has the name {name} already")]
    AlreadyNamed {
        /// The name it has.
        name: Name,
    },
    /// The text cannot be a name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
}

/// A name could not be resolved to a typed address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// Nobody has the name or pid.
    #[error("no process {0}")]
    NoProcess(String),
    /// The pid is of another node, and this one talks to none.
    #[error("no connection to the node of process {0}")]
    NoConnection(Pid),
    /// The process takes other messages, or other commands on its control lanes (a pool's
    /// address is an `Address<M, PoolCommand>`).
    #[error(
        "process {process} has an Address<{}, {}>, not an Address<{}, {}>",
        expected.0, expected.1, found.0, found.1
    )]
    WrongType {
        /// The name or pid looked up.
        process: String,
        /// What the lanes of the process take: Main, and the control lanes.
        expected: (&'static str, &'static str),
        /// The types asked for.
        found: (&'static str, &'static str),
    },
}

/// A process or node did not stop as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// There is no such process.
    #[error("no such process")]
    NoProcess,
    /// It ended, but for another reason than the one asked for.
    #[error("process ended with another reason: {0}")]
    Other(Reason),
    /// A process that waits for its own end would wait for ever: it calls
    /// `ctx.stop()`, or returns.
    #[error("process {0} waits for its own end")]
    StopsItself(Pid),
    /// It has not ended within the time set, and was not killed.
    #[error("process has not stopped within {0:?}")]
    Timeout(Duration),
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process must await, not wait: waiting would hold its worker")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime: use `.await`, for `.wait()` would stop it")]
    WaitInRuntime,
    /// The simulation has nothing left to do, so the end can never come.
    #[error("the simulation ran out of events before the process ended")]
    Stalled,
}

/// A living process could not be debugged (rule X5).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DebugError {
    /// There is no such process.
    #[error("no such process")]
    NoProcess,
    /// It ended meanwhile, for this reason.
    #[error("process terminated: {0}")]
    Terminated(Reason),
    /// It has not come to it within this time: it is inside a handler.
    #[error("process has not answered within {0:?}")]
    Timeout(Duration),
    /// It does not offer its state.
    #[error("process {0} does not offer its state")]
    NotOffered(Pid),
    /// Its state is of another type.
    #[error("the state is a {found}, not a {expected}")]
    WrongType {
        /// The type asked for.
        expected: &'static str,
        /// The type of the state.
        found: &'static str,
    },
    /// A process cannot wait for itself.
    #[error("process {0} debugs itself")]
    DebugsItself(Pid),
    /// `wait` was used inside a process, which must `await` instead.
    #[error("a process must await, not wait: waiting would hold its worker")]
    WaitInProcess,
    /// `wait` was used on the thread that drives a runtime, as in `#[tokio::test]`: use `.await`.
    #[error("this thread drives an async runtime: use `.await`, for `.wait()` would stop it")]
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

    /// One of each kind, what it says, and what it is called.
    fn send_errors() -> Vec<(SendError<u8>, &'static str, &'static str)> {
        let waits = "a process must await room, and cannot wait for its own";
        let drives =
            "this thread drives an async runtime: use `.await`, for `.wait()` would stop it";
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
    fn m7_a_message_that_was_not_accepted_comes_back_out_of_every_error() {
        for (error, said, called) in send_errors() {
            assert_eq!((error.to_string().as_str(), format!("{error:?}").as_str()), (said, called));
            assert_eq!(error.is_full(), called == "Full(..)", "{called}");
            assert_eq!(error.clone().into_message(), 7, "{called}");
            // About another message it is the same error.
            let mapped = error.clone().map(|message| u64::from(message) + 1);
            assert_eq!(
                (mapped.to_string().as_str(), format!("{mapped:?}").as_str()),
                (said, called)
            );
            assert_eq!(mapped.into_message(), 8, "{called}");
            assert_eq!(error.without_message().to_string(), said);
        }
    }

    /// One of each kind, what it says, and whether its request may have been begun.
    fn call_errors() -> Vec<(CallError, &'static str, bool)> {
        let drives =
            "this thread drives an async runtime: use `.await`, for `.wait()` would stop it";
        let waits = "a process must await, not wait: waiting would hold its worker";
        let [one, two] = [Pid::local(1, 1), Pid::local(2, 1)];
        let deadlock = "deadlock: <0.1.0> waits for <0.2.0> waits for <0.1.0>";
        vec![
            (CallError::Timeout(TIME), "no reply within 3s", true),
            (CallError::Terminated(Reason::Killed), "callee terminated: killed", true),
            (
                CallError::NotBegun(Reason::Killed),
                "callee terminated before it began the request: killed",
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
    fn c2_a_call_that_failed_says_why_and_whether_it_can_be_made_again() {
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
    fn b1_what_was_not_done_says_why_and_names_the_value() {
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
            "the process has the name stock already",
            "no process \"stock\"",
            "no connection to the node of process <0.7.0>",
            "process stock has an Address<Order, PoolCommand>, not an Address<u8, u16>",
            "process ended with another reason: killed",
            "process <0.7.0> waits for its own end",
            "process has not stopped within 3s",
            "process terminated: killed",
            "process has not answered within 3s",
            "process <0.7.0> does not offer its state",
            "the state is a u8, not a Stock",
            "process <0.7.0> debugs itself",
        ];
        assert_eq!(said, expected);
    }
}
