//! What happens to a supervisor, and what it does about it: the words in which
//! [`crate::plan`] and the behaviour talk.

use crate::children::ChildKey;
use crate::error::{DeleteChildError, RestartChildError, StartChildError, TerminateChildError};
use crate::spec::{ChildId, ChildRules, Shutdown};
use krarup_gen::{Pid, Reason, Timestamp};
use std::time::Duration;

/// When something happened, and what chance says to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventTime {
    pub(crate) now: Timestamp,
    pub(crate) random: u64,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum PlanEvent<F> {
    /// The supervisor starts; its static children have been added.
    Begin,
    /// An exit notice came, from whomever.
    Exited { pid: Pid, reason: Reason },
    /// The message of an earlier [`Action::TryAgain`] came.
    TryAgain(ChildKey),
    /// An API call that changes something came.
    Request(ChildRequest<F>),
    /// The parent, or somebody by an orderly stop, ends the supervisor.
    Stop(Reason),
    /// The child of [`Action::Start`] runs.
    Started(Pid),
    /// Its `init` said that there is nothing to do.
    Ignored,
    /// It failed to start.
    Failed(Reason),
    /// The child of [`Action::Stop`], or all those of [`Action::StopTogether`], have
    /// ended.
    Stopped,
}

/// An API call that changes something (rule S8).
#[derive(Clone, Debug)]
pub(crate) enum ChildRequest<F> {
    Start(ChildRules, F),
    Terminate(ChildId),
    /// By pid, for dynamic children. Whether that process is alive decides the answer
    /// if it is none of them.
    TerminatePid {
        pid: Pid,
        alive: bool,
    },
    Restart(ChildId),
    Delete(ChildId),
}

/// What to do next. `Start`, `Stop` and `StopTogether` are to be reported on; after
/// the others, and when there is none, the supervisor goes back to its lane.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Start this child and wait until its `init` has returned.
    Start(ChildKey),
    /// Stop this process and wait until it has ended.
    Stop { key: ChildKey, pid: Pid, shutdown: Shutdown },
    /// Stop them all at once, with one time limit for all, and wait.
    StopTogether { pids: Vec<Pid>, shutdown: Shutdown },
    /// Put a message about this child into the supervisor's own lane, last: at once, or
    /// when this time has passed. An earlier wait of the child is void.
    TryAgain { key: ChildKey, wait: Option<Duration> },
    /// Answer the request.
    Reply(RequestOutcome),
    /// End, for this reason. All children have ended.
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
    /// This child failed in the supervisor's own start.
    StartFailed(ChildId),
    /// The restart of this child would have been one too many.
    RestartIntensity(ChildId),
    /// This significant child ended by itself.
    AutoShutdown(ChildId),
    /// It was told to.
    Told,
}
