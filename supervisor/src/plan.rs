//! The decisions of a supervisor. Input: state, event and time. Output: the next action.
//!
//! Nothing in this file starts, stops or messages a process, reads a clock or uses random
//! numbers. The behaviour (`supervisor.rs`) passes an event to the [`Plan`], executes the one
//! [`Action`] that it returns, and reports the result, which is the next event.
//!
//! ```text
//!                 Exited, TryAgain, Request, Stop
//!                 (one item of the supervisor's lane)
//!                               |
//!             .-----------------v-----------------.
//!             |               Resting             |
//!             '--+------------------------------+-'
//!   Begin,       |                              |  a group restart, terminate_child,
//!   one_for_one, |                              |  the end of the supervisor
//!   start_child  |    the group is stopped      |
//!          .-----v------.<--------------.-------v-----.
//!          |  Starting  |               |  Stopping   |
//!          '-+--------+-'-------------->'-+---------+-'
//!   Started, |        |  the first start  |         | all are stopped
//!   Ignored, |        |  of all failed    | Stopped |
//!   Failed   v        |                   v         v
//!        next child   | a restart     child        End: no more
//!        or Resting   v failed        before       decisions
//!                  TryAgain           it
//! ```
//!
//! As in OTP, only one action runs at a time. Meanwhile the supervisor takes nothing from its
//! lane, so every exit and request finds the plan at rest. This is also why a failed restart is
//! not repeated at once: `TryAgain` is a message to itself, which goes behind those that are
//! waiting (rule S6), or arrives when the child's back-off is over (rule S10). One question is
//! answered at any time: whether a process may continue with a new state ([`Plan::may_restart_in_place`]).
//!
//! The corresponding code of OTP's `supervisor.erl`:
//!
//! | `supervisor.erl` | here |
//! |---|---|
//! | `init_children`, `start_children`, `do_start_child` | [`PlanEvent::Begin`], `start`, `started`, `ignored`, `failed`, `start_next` |
//! | `handle_info({'EXIT', ..})`, `restart_child`, `do_restart` | `exited`, in `restarts.rs` |
//! | `do_auto_shutdown` | `is_over` |
//! | `restart/2`, `add_restart` | `restart`, [`RestartWindow`] |
//! | `restart/3`, by strategy | `group_of`, then `stop_before` and `start` |
//! | `{try_again, ..}`, `handle_cast({try_again_restart, ..})` | `try_again`, [`PlanEvent::TryAgain`] |
//! | `handle_call`, clause by clause | `requests.rs` |
//! | `terminate`, `terminate_children`, `terminate_dynamic_children` | `stop_all`, `stop_before` |
//! | `shutdown`, `do_terminate` | the execution of an [`Action::Stop`]: `plan_executor.rs` |
//! | `del_child` | `forget` |

use crate::action::{Action, EventTime, PlanEvent, RequestOutcome, SupervisorEnd};
use crate::children::{Child, ChildKey, ChildProcess, Children};
use crate::error::{FailedToStartChild, RestartChildError, StartChildError};
use crate::spec::{ChildRules, Strategy, SupervisorFlags};
use krarup_gen::{Pid, Reason, RestartWindow};
use std::time::Duration;

/// Why a child is being started, which decides the consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartPurpose {
    /// The supervisor's own start: all children, in order.
    Begin,
    /// A restart of this child alone.
    Restart,
    /// A restart of this child and those after it.
    GroupRestart,
    /// `start_child`.
    Add,
    /// `restart_child`.
    Revive,
}

#[derive(Clone, Debug)]
enum PlanPhase {
    Resting,
    Starting {
        key: ChildKey,
        purpose: StartPurpose,
    },
    /// `key` is being stopped, then those before it down to `first`.
    Stopping {
        key: ChildKey,
        first: ChildKey,
        then: AfterStop,
    },
    StoppingTogether(Reason),
    /// `terminate_child`.
    Terminating(ChildKey),
    Ended,
}

/// What follows when a range of children has been stopped.
#[derive(Clone, Debug)]
enum AfterStop {
    StartAgain,
    /// A restart after this wait, because of `key`, whose last process is `last`.
    TryAgain {
        key: ChildKey,
        last: Option<Pid>,
        wait: Duration,
    },
    End(Reason),
}

/// The state of a supervisor's decisions. The plan stores an `F` for each child, which the
/// behaviour needs to start the child.
#[derive(Clone, Debug)]
pub(crate) struct Plan<F> {
    flags: SupervisorFlags,
    children: Children<F>,
    window: RestartWindow,
    restarts: u64,
    phase: PlanPhase,
    ending: Option<SupervisorEnd>,
}

#[allow(clippy::unnecessary_wraps, reason = "a part of a step has the type of a step")]
impl<F> Plan<F> {
    /// A supervisor without children. The flags must have passed `SupervisorFlags::check`.
    pub(crate) fn new(flags: SupervisorFlags) -> Self {
        let window = RestartWindow::new(flags.intensity, flags.period);
        let (children, phase) = (Children::new(), PlanPhase::Resting);
        Plan { flags, children, window, restarts: 0, phase, ending: None }
    }

    /// Adds a static child, which [`PlanEvent::Begin`] starts.
    pub(crate) fn add(&mut self, rules: ChildRules, start: F) {
        self.children.add(rules, start);
    }

    pub(crate) fn flags(&self) -> &SupervisorFlags {
        &self.flags
    }

    pub(crate) fn children(&self) -> &Children<F> {
        &self.children
    }

    /// The restarts counted since the supervisor began; one for a group.
    pub(crate) fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Whether a child is being started because somebody has asked for one more.
    pub(crate) fn adds_a_child(&self) -> bool {
        matches!(self.phase, PlanPhase::Starting { purpose: StartPurpose::Add, .. })
    }

    /// Why the supervisor is ending, from the moment of that decision.
    pub(crate) fn ending(&self) -> Option<&SupervisorEnd> {
        self.ending.as_ref()
    }

    /// Handles an event and returns the next action. A supervisor that has ended returns none.
    pub(crate) fn step(&mut self, event: PlanEvent<F>, at: EventTime) -> Option<Action> {
        match std::mem::replace(&mut self.phase, PlanPhase::Resting) {
            PlanPhase::Resting => self.decide(event, at),
            PlanPhase::Starting { key, purpose } => match event {
                PlanEvent::Started(pid) => self.started(key, purpose, pid),
                PlanEvent::Ignored => self.ignored(key, purpose),
                PlanEvent::Failed(reason) => self.failed(key, purpose, reason, at),
                _ => self.untimely(PlanPhase::Starting { key, purpose }),
            },
            PlanPhase::Stopping { key, first, then } => match event {
                PlanEvent::Stopped => {
                    self.forget(key);
                    self.stop_before(Some(key), first, then)
                }
                _ => self.untimely(PlanPhase::Stopping { key, first, then }),
            },
            PlanPhase::StoppingTogether(reason) => match event {
                PlanEvent::Stopped => self.end(reason),
                _ => self.untimely(PlanPhase::StoppingTogether(reason)),
            },
            PlanPhase::Terminating(key) => match event {
                PlanEvent::Stopped => {
                    self.forget(key);
                    Some(Action::Reply(RequestOutcome::Terminate(Ok(()))))
                }
                _ => self.untimely(PlanPhase::Terminating(key)),
            },
            PlanPhase::Ended => {
                self.phase = PlanPhase::Ended;
                None
            }
        }
    }

    /// Handles an item from the lane.
    fn decide(&mut self, event: PlanEvent<F>, at: EventTime) -> Option<Action> {
        match event {
            PlanEvent::Begin => {
                let first = self.children.from(ChildKey::FIRST)?;
                self.start(first, StartPurpose::Begin)
            }
            PlanEvent::Exited { pid, reason } => self.exited(pid, &reason, at),
            PlanEvent::TryAgain(key) => match self.children.get(key) {
                Some(child) if child.is_due(at.now) => self.restart(key, at.now),
                // Cancelled by terminate_child, started by another restart, or delayed again.
                _ => None,
            },
            PlanEvent::Request(request) => self.request(request),
            PlanEvent::Stop(reason) => self.stop_all(SupervisorEnd::Told, reason),
            _ => self.untimely(PlanPhase::Resting),
        }
    }

    /// Ignores an event that does not fit the phase: a report on an action that was not
    /// returned, or an item from the lane while an action is running. The behaviour must produce
    /// neither.
    fn untimely(&mut self, phase: PlanPhase) -> Option<Action> {
        self.phase = phase;
        debug_assert!(false, "an unexpected event in phase {:?}", self.phase);
        None
    }

    // -- starting

    fn start(&mut self, key: ChildKey, purpose: StartPurpose) -> Option<Action> {
        self.phase = PlanPhase::Starting { key, purpose };
        Some(Action::Start(key))
    }

    fn started(&mut self, key: ChildKey, purpose: StartPurpose, pid: Pid) -> Option<Action> {
        self.children.set(key, ChildProcess::Running(pid));
        let is_simple = self.is_simple();
        if let Some(child) = self.children.get_mut(key) {
            if matches!(purpose, StartPurpose::Restart | StartPurpose::GroupRestart) {
                child.restarts += 1;
            }
            if is_simple && child.is_temporary() {
                child.start = None;
            }
        }
        self.start_next(key, purpose, Some(pid))
    }

    /// The child keeps its specification without a process, unless it is temporary (rule S2) or
    /// dynamic: then it is removed. OTP 25 keeps a dynamic child without a process when it is
    /// ignored in a restart, and crashes because of it later.
    fn ignored(&mut self, key: ChildKey, purpose: StartPurpose) -> Option<Action> {
        self.forget(key);
        self.start_next(key, purpose, None)
    }

    /// Continues after a child that has been started, or ignored.
    fn start_next(
        &mut self,
        key: ChildKey,
        purpose: StartPurpose,
        pid: Option<Pid>,
    ) -> Option<Action> {
        match purpose {
            StartPurpose::Begin | StartPurpose::GroupRestart => {
                let next = self.children.after(key)?;
                self.start(next, purpose)
            }
            StartPurpose::Restart => None,
            StartPurpose::Add => Some(Action::Reply(RequestOutcome::Start(Ok(pid)))),
            StartPurpose::Revive => Some(Action::Reply(RequestOutcome::Restart(Ok(pid)))),
        }
    }

    fn failed(
        &mut self,
        key: ChildKey,
        purpose: StartPurpose,
        reason: Reason,
        at: EventTime,
    ) -> Option<Action> {
        let child = self.children.get(key)?;
        let id = child.rules.id.clone();
        match purpose {
            StartPurpose::Begin => {
                let detail = FailedToStartChild { id: id.clone(), reason };
                self.stop_all(SupervisorEnd::StartFailed(id), Reason::shutdown(detail))
            }
            StartPurpose::Restart | StartPurpose::GroupRestart => {
                let last = match child.process() {
                    ChildProcess::Running(pid) => Some(pid),
                    ChildProcess::Restarting(last) => last,
                    ChildProcess::None => None,
                };
                let wait = self.back_off(key, at);
                self.try_again(key, last, wait)
            }
            StartPurpose::Add => {
                self.children.remove(key);
                Some(Action::Reply(RequestOutcome::Start(Err(StartChildError::Failed {
                    id,
                    reason,
                }))))
            }
            StartPurpose::Revive => {
                Some(Action::Reply(RequestOutcome::Restart(Err(RestartChildError::Failed {
                    id,
                    reason,
                }))))
            }
        }
    }

    // -- stopping

    /// Stops every child, after which the supervisor ends for this reason.
    fn stop_all(&mut self, ending: SupervisorEnd, reason: Reason) -> Option<Action> {
        self.ending = Some(ending);
        if !self.is_simple() {
            return self.stop_before(None, ChildKey::FIRST, AfterStop::End(reason));
        }
        let running = self.children.iter().filter_map(|(_, child)| Some((child, child.pid()?)));
        let (children, pids): (Vec<_>, Vec<_>) = running.unzip();
        // All dynamic children have the rules of the one template.
        let Some(shutdown) = children.first().map(|child| child.rules.shutdown()) else {
            return self.end(reason);
        };
        self.phase = PlanPhase::StoppingTogether(reason);
        Some(Action::StopTogether { pids, shutdown })
    }

    /// Stops the last child before `end` that has a process and is not before `first`. The
    /// children after it have been stopped (rule S3).
    fn stop_before(
        &mut self,
        mut end: Option<ChildKey>,
        first: ChildKey,
        then: AfterStop,
    ) -> Option<Action> {
        while let Some(key) = self.children.last_between(first, end) {
            let child = self.children.get(key)?;
            if let Some(pid) = child.pid() {
                let shutdown = child.rules.shutdown();
                self.phase = PlanPhase::Stopping { key, first, then };
                return Some(Action::Stop { key, pid, shutdown });
            }
            self.forget(key);
            end = Some(key);
        }
        match then {
            AfterStop::End(reason) => self.end(reason),
            AfterStop::StartAgain => {
                let next = self.children.from(first)?;
                self.start(next, StartPurpose::GroupRestart)
            }
            AfterStop::TryAgain { key, last, wait } => self.try_again(key, last, Some(wait)),
        }
    }

    fn end(&mut self, reason: Reason) -> Option<Action> {
        self.phase = PlanPhase::Ended;
        Some(Action::End(reason))
    }

    /// Records that the child has no process and is not started again. A temporary or dynamic
    /// child is removed with its spec.
    fn forget(&mut self, key: ChildKey) {
        let temporary = self.children.get(key).is_some_and(Child::is_temporary);
        if temporary || self.is_simple() {
            self.children.remove(key);
        } else {
            self.children.set(key, ChildProcess::None);
        }
    }

    /// Whether the children are those of one factory, and known by their pids.
    pub(crate) fn is_simple(&self) -> bool {
        self.flags.strategy == Strategy::SimpleOneForOne
    }
}

mod requests;
mod restarts;

#[cfg(test)]
mod model;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiting_tests;
