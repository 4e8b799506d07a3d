//! The events that a supervisor's plan handles and the actions that it decides: the interface
//! between [`plan`](crate::plan) and the behaviour.

use crate::children::ChildKey;
use crate::error::{DeleteChildError, RestartChildError, StartChildError, TerminateChildError};
use crate::spec::{ChildId, ChildRules, Shutdown};
use krarup_gen::{Pid, Reason, Timestamp};
use std::time::Duration;

/// The time of an event, and a random number for the decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventTime {
    pub(crate) now: Timestamp,
    pub(crate) random: u64,
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) enum PlanEvent<F> {
    /// The supervisor starts; its static children have been added.
    Begin,
    /// An exit notice from any process.
    Exited { pid: Pid, reason: Reason },
    /// The message of an earlier [`Action::TryAgain`].
    TryAgain(ChildKey),
    /// A request that changes the children.
    Request(ChildRequest<F>),
    /// The parent, or an orderly stop by another process, ends the supervisor.
    Stop(Reason),
    /// The child of [`Action::Start`] runs.
    Started(Pid),
    /// Its `init` returned [`Ignore`](crate::Ignore).
    Ignored,
    /// It failed to start.
    Failed(Reason),
    /// The child of [`Action::Stop`], or all those of [`Action::StopTogether`], have ended.
    Stopped,
}

/// A request that changes the children (rule S8).
#[derive(Clone, Debug)]
pub(crate) enum ChildRequest<F> {
    Start(ChildRules, F),
    Terminate(ChildId),
    /// By pid, for dynamic children. If the process is not a child, whether it is alive decides
    /// the answer.
    TerminatePid {
        pid: Pid,
        alive: bool,
    },
    Restart(ChildId),
    Delete(ChildId),
}

/// The next action. The behaviour reports the result of `Start`, `Stop` and `StopTogether`.
/// After the others, and when there is no action, the supervisor receives the next item from its
/// lane.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Starts this child and waits until its `init` has returned.
    Start(ChildKey),
    /// Stops this process and waits until it has ended.
    Stop { key: ChildKey, pid: Pid, shutdown: Shutdown },
    /// Stops all of them at once, with one time limit for all, and waits.
    StopTogether { pids: Vec<Pid>, shutdown: Shutdown },
    /// Sends a message about this child to the supervisor's own lane, at the end: at once, or
    /// when this time has passed. It replaces an earlier wait of the child.
    TryAgain { key: ChildKey, wait: Option<Duration> },
    /// Answers the request.
    Reply(RequestOutcome),
    /// Ends the supervisor for this reason. All children have ended.
    End(Reason),
}

/// The answer to a [`ChildRequest`]; `None` for a child whose `init` was ignored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequestOutcome {
    Start(Result<Option<Pid>, StartChildError>),
    Terminate(Result<(), TerminateChildError>),
    Restart(Result<Option<Pid>, RestartChildError>),
    Delete(Result<(), DeleteChildError>),
}

/// Why a supervisor ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SupervisorEnd {
    /// This child failed during the supervisor's own start.
    StartFailed(ChildId),
    /// The restart of this child would have exceeded the intensity.
    RestartIntensity(ChildId),
    /// This significant child ended by itself.
    AutoShutdown(ChildId),
    /// It was told to stop.
    Told,
}
