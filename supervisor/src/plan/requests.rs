//! How a plan handles requests (rule S8). A request reaches a plan at rest, and is answered at
//! once, or when the child has been started or stopped.

use super::{Plan, PlanPhase, StartPurpose};
use crate::action::{Action, ChildRequest, RequestOutcome};
use crate::children::{ChildKey, ChildProcess};
use crate::error::{DeleteChildError, RestartChildError, StartChildError, TerminateChildError};
use crate::spec::{ChildId, ChildRules};

#[allow(clippy::unnecessary_wraps, reason = "a part of a step has the type of a step")]
impl<F> Plan<F> {
    pub(super) fn request(&mut self, request: ChildRequest<F>) -> Option<Action> {
        match request {
            ChildRequest::Start(rules, start) => self.start_child(rules, start),
            ChildRequest::Terminate(id) => match self.children.by_id(&id) {
                _ if self.is_simple() => {
                    terminated(Err(TerminateChildError::SimpleOneForOne { id }))
                }
                Some(key) => self.terminate(key),
                None => terminated(Err(TerminateChildError::NotFound { child: format!("{id:?}") })),
            },
            ChildRequest::TerminatePid { pid, alive } => match self.children.by_pid(pid) {
                Some(key) if self.is_simple() => self.terminate(key),
                // It may have been a child: children that have ended are removed.
                None if self.is_simple() && !alive => terminated(Ok(())),
                _ => terminated(Err(TerminateChildError::NotFound { child: pid.to_string() })),
            },
            ChildRequest::Restart(id) => self.restart_child(id),
            ChildRequest::Delete(id) => {
                Some(Action::Reply(RequestOutcome::Delete(self.delete_child(id))))
            }
        }
    }

    /// The specification is checked first: an invalid one is refused whatever its id.
    fn start_child(&mut self, rules: ChildRules, start: F) -> Option<Action> {
        if !self.is_simple() {
            let id = rules.id.clone();
            let refused = match rules.check(&self.flags) {
                Err(bad) => Some(StartChildError::BadSpec(bad)),
                Ok(()) => self.process_of(&id).map(|(_, process)| match process {
                    ChildProcess::Running(pid) => StartChildError::AlreadyStarted { id, pid },
                    ChildProcess::None | ChildProcess::Restarting(_) => {
                        StartChildError::AlreadyPresent { id }
                    }
                }),
            };
            if let Some(error) = refused {
                return Some(Action::Reply(RequestOutcome::Start(Err(error))));
            }
        }
        // Those that wait for their restart are children too; one that was ignored is none.
        if let Some(limit) = self.flags.max_children
            && self.children.len() >= limit
        {
            return Some(Action::Reply(RequestOutcome::Start(Err(StartChildError::Full {
                limit,
            }))));
        }
        let key = self.children.add(rules, start);
        self.start(key, StartPurpose::Add)
    }

    /// Causes no restart and no auto-shutdown, and cancels a pending retry.
    fn terminate(&mut self, key: ChildKey) -> Option<Action> {
        let child = self.children.get(key)?;
        if let Some(pid) = child.pid() {
            let shutdown = child.rules.shutdown();
            self.phase = PlanPhase::Terminating(key);
            return Some(Action::Stop { key, pid, shutdown });
        }
        self.forget(key);
        terminated(Ok(()))
    }

    fn restart_child(&mut self, id: ChildId) -> Option<Action> {
        let refused = if self.is_simple() {
            RestartChildError::SimpleOneForOne { id }
        } else {
            match self.process_of(&id) {
                Some((key, ChildProcess::None)) => return self.start(key, StartPurpose::Revive),
                Some((_, ChildProcess::Running(pid))) => RestartChildError::Running { id, pid },
                Some((_, ChildProcess::Restarting(_))) => RestartChildError::Restarting { id },
                None => RestartChildError::NotFound { id },
            }
        };
        Some(Action::Reply(RequestOutcome::Restart(Err(refused))))
    }

    fn delete_child(&mut self, id: ChildId) -> Result<(), DeleteChildError> {
        if self.is_simple() {
            return Err(DeleteChildError::SimpleOneForOne { id });
        }
        match self.process_of(&id) {
            Some((key, ChildProcess::None)) => {
                self.children.remove(key);
                Ok(())
            }
            Some((_, ChildProcess::Running(pid))) => Err(DeleteChildError::Running { id, pid }),
            Some((_, ChildProcess::Restarting(_))) => Err(DeleteChildError::Restarting { id }),
            None => Err(DeleteChildError::NotFound { id }),
        }
    }

    fn process_of(&self, id: &ChildId) -> Option<(ChildKey, ChildProcess)> {
        let key = self.children.by_id(id)?;
        Some((key, self.children.get(key)?.process()))
    }
}

#[allow(clippy::unnecessary_wraps, reason = "a part of a step has the type of a step")]
fn terminated(result: Result<(), TerminateChildError>) -> Option<Action> {
    Some(Action::Reply(RequestOutcome::Terminate(result)))
}
