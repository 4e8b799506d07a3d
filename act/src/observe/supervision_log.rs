//! How supervisors, pools, restarts in place and crons tell their node what they decide (rule S12), and
//! what went wrong (rule X8).

use crate::context::Context;
use crate::host::host::Host;
use crate::observe::recording::{name_of, record_supervision};
use crate::process::crash::contain;
use krarup_gen::{
    CronEvent, Name, OverdueStop, Pid, Report, ReportHead, ReportKind, ReportLevel, Reported,
    RestartKind, SupervisionEvent, TaskShutdown,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Tells the node what a supervisor decides. For behaviours that supervise others; made by
/// [`BehaviorContext::supervision_log`](crate::BehaviorContext::supervision_log).
#[derive(Clone)]
pub struct SupervisionLog {
    host: Arc<dyn Host>,
}

impl SupervisionLog {
    pub(crate) fn of(host: &Arc<dyn Host>) -> Self {
        SupervisionLog { host: Arc::clone(host) }
    }

    /// Records an event, if the node remembers such events; otherwise it is not made. The name
    /// and the kind of the process `by` and the number of the crash report are filled in.
    pub fn record(&self, event: impl FnOnce() -> SupervisionEvent) {
        record_supervision(&*self.host, event);
    }

    /// Reports that a child did not stop within `limit` and was killed (rule X8).
    pub fn report_overdue(&self, by: Pid, child: Pid, limit: Duration) {
        self.report(ReportKind::Overdue, &[child, by], |head| {
            Report::Overdue(Reported::new(head, OverdueStop::new(child, Some(by), limit)))
        });
    }

    /// Reports a task that was ended because the process `tasks` stops (rules J9, X8).
    pub fn report_task_shutdown(&self, tasks: Pid, task: Pid, limit: Duration) {
        self.report(ReportKind::Task, &[task, tasks], |head| {
            Report::Task(Reported::new(head, TaskShutdown::new(task, tasks, limit)))
        });
    }

    /// Reports what happened to a job of the cron `by` (rules T8, T10, T11, X8). If nobody hears
    /// reports it is not made.
    pub fn report_cron(&self, by: Pid, make: impl FnOnce() -> CronEvent) {
        let heard = self.host.records().is_some_and(|records| records.reports.is_heard());
        if heard && let Ok(event) = contain(make) {
            self.report(ReportKind::Cron, &[by], |head| Report::Cron(Reported::new(head, event)));
        }
    }

    fn report(&self, kind: ReportKind, about: &[Pid], make: impl FnOnce(ReportHead) -> Report) {
        if let Some(records) = self.host.records() {
            let application = self.host.application().map(|(name, _)| name);
            let (level, now) = (ReportLevel::Warn, self.host.now());
            records.reports.publish(kind, level, about, application, now, make);
        }
    }

    /// The registered name of a process that lives, for a line of the log.
    #[must_use]
    pub fn name_of(&self, pid: Pid) -> Option<Name> {
        name_of(&*self.host, pid)
    }

    /// Counts a state that has failed and is replaced.
    pub fn count_restart(&self, kind: RestartKind) {
        self.host.count_restart(kind);
    }

    /// Counts a supervisor that gives up.
    pub fn count_given_up(&self) {
        self.host.count_given_up();
    }
}

impl fmt::Debug for SupervisionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SupervisionLog")
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::supervision_log`](crate::BehaviorContext::supervision_log).
    pub(crate) fn supervision_log(&self) -> SupervisionLog {
        SupervisionLog::of(self.host())
    }
}
