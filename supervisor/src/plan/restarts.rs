//! How a plan handles the end of a child: whether it is restarted, with which others, when, and
//! whether the limit is exceeded (rules S1, S4 to S6, S9, S10).
//!
//! ```text
//! exited -- not to be restarted ----------------------> forget, is_over?
//!    |
//!    | to be restarted, with a back-off: put_off -> stop its group, try_again, wait
//!    |                                                           |
//!    '--> restart <--------------- TryAgain comes ---------------'
//!            |                                        ^
//!            |-- too many: stop_all, end              | in plan.rs
//!            '-- stop its group, start it again --> failed: try_again
//! ```

use super::{AfterStop, Plan, PlanPhase, StartPurpose};
use crate::action::{Action, EventTime, SupervisorEnd};
use crate::children::{Child, ChildKey, ChildProcess};
use crate::spec::{AutoShutdown, RestartType, Strategy};
use krarup_gen::{Pid, Reason, Timestamp};
use std::time::Duration;

#[allow(clippy::unnecessary_wraps, reason = "a part of a step has the type of a step")]
impl<F> Plan<F> {
    /// Handles a child that ended by itself (rules S4 and S9).
    pub(super) fn exited(&mut self, pid: Pid, reason: &Reason, at: EventTime) -> Option<Action> {
        let key = self.children.running(pid)?;
        let child = self.children.get(key)?;
        let again = match child.rules.restart {
            RestartType::Permanent => true,
            RestartType::Transient => reason.is_abnormal(),
            RestartType::Temporary => false,
        };
        if again {
            return match self.back_off(key, at) {
                None => self.restart(key, at.now),
                Some(wait) => self.put_off(key, wait),
            };
        }
        let (id, significant) = (child.rules.id.clone(), child.rules.significant);
        self.forget(key);
        if significant && self.is_over() {
            return self.stop_all(SupervisorEnd::AutoShutdown(id), Reason::Shutdown);
        }
        None
    }

    /// Whether the supervisor ends, now that a significant child has ended and is not restarted.
    /// A child that will be tried again has not ended (rule S1).
    fn is_over(&self) -> bool {
        let goes_on =
            |child: &Child<F>| child.rules.significant && child.process() != ChildProcess::None;
        match self.flags.auto_shutdown {
            AutoShutdown::Never => false,
            AutoShutdown::AnySignificant => true,
            AutoShutdown::AllSignificant => !self.children.iter().any(|(_, child)| goes_on(child)),
        }
    }

    /// Counts the restart and executes it according to the strategy (rules S1, S5, S6).
    pub(super) fn restart(&mut self, key: ChildKey, now: Timestamp) -> Option<Action> {
        if !self.window.record(now) {
            let id = self.children.get(key)?.rules.id.clone();
            self.forget(key);
            return self.stop_all(SupervisorEnd::RestartIntensity(id), Reason::Shutdown);
        }
        self.restarts += 1;
        let Some(first) = self.group_of(key) else { return self.start(key, StartPurpose::Restart) };
        self.children.set(key, ChildProcess::None);
        self.stop_before(None, first, AfterStop::StartAgain)
    }

    /// The first child of the group that is restarted with this child; `None`: it is alone.
    fn group_of(&self, key: ChildKey) -> Option<ChildKey> {
        match self.flags.strategy {
            Strategy::OneForOne | Strategy::SimpleOneForOne => None,
            Strategy::RestForOne => Some(key),
            Strategy::OneForAll => Some(ChildKey::FIRST),
        }
    }

    /// How long the restart of this child waits (rule S10).
    pub(super) fn back_off(&mut self, key: ChildKey, at: EventTime) -> Option<Duration> {
        let child = self.children.get_mut(key)?;
        let back_off = child.rules.back_off?;
        Some(child.streak.lengthen(&back_off, at.now, at.random))
    }

    /// Delays a restart. The children of a group depend on each other, so the others do not run
    /// meanwhile: they have been stopped when the wait begins.
    fn put_off(&mut self, key: ChildKey, wait: Duration) -> Option<Action> {
        let last = self.children.get(key)?.pid();
        let Some(first) = self.group_of(key) else { return self.try_again(key, last, Some(wait)) };
        self.children.set(key, ChildProcess::None);
        self.stop_before(None, first, AfterStop::TryAgain { key, last, wait })
    }

    pub(super) fn try_again(
        &mut self,
        key: ChildKey,
        last: Option<Pid>,
        wait: Option<Duration>,
    ) -> Option<Action> {
        self.children.set(key, ChildProcess::Restarting(last));
        Some(Action::TryAgain { key, wait })
    }

    /// Whether a child whose state has failed may continue with a new one in the same process
    /// (rule S10). If so, it is a restart, counted like any other. If not, its process ends, and
    /// the plan handles that end when it is notified of it; there a supervisor that exceeds its
    /// intensity ends.
    ///
    /// It can be called at any time, also while an action is running: the child that is being
    /// started or stopped might wait for this one.
    pub(crate) fn may_restart_in_place(&mut self, key: ChildKey, now: Timestamp) -> bool {
        let is_ending = match self.phase {
            PlanPhase::Terminating(other) => other == key,
            _ => self.ending.is_some(),
        };
        let is_alone = self.group_of(key).is_none();
        let Some(child) = self.children.get_mut(key) else { return false };
        if is_ending || child.is_temporary() || !is_alone || !self.window.has_room(now) {
            return false;
        }
        child.restarts += 1;
        self.restarts += 1;
        self.window.record(now)
    }
}
