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
