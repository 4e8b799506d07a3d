//! The log of a supervisor (rule S12): OTP's supervisor, crash and progress reports as
//! structured `tracing` events.
//!
//! All events have the target `krarup` and the fields `supervisor`, its pid, `supervisor_name`, its
//! registered name if it has one, and `count`, the number of restarts it has counted. Events about a
//! child have `child`, its id, and, if they exist, `pid` and `reason`. The name is looked up for a
//! subscriber that wants the event, and for no other.
//!
//! | event | level |
//! |---|---|
//! | child started | info; debug if a dynamic supervisor was asked to start it |
//! | child ignored | info; debug if a dynamic supervisor was asked to start it |
//! | child ended | warn if the reason is abnormal, else info; debug if it was dynamic and is not restarted |
//! | child restarting | warn |
//! | child restarting in place | warn |
//! | child waits for its restart | info |
//! | child failed to start | error |
//! | child stopped | info, debug if it was dynamic; warn if it did not end as requested |
//! | child cannot be ended and is abandoned | error |
//! | supervisor gives up | error |
//! | supervisor ends | info |
//!
//! A dynamic supervisor is one whose children come from a template (`simple_one_for_one`). What it
//! does on request, and the ends in order of its children, are routine: at debug, and neither among the
//! decisions that the node remembers (rule V18) nor among its reports (rule X8). A thousand sessions
//! in a second would fill the log and push out the restarts.

use crate::action::SupervisorEnd;
use crate::spec::{ChildId, Shutdown, Strategy, SupervisorFlags};
use krarup_act::{SupervisionLog, contain};
use krarup_gen::{
    Name, Pid, Reason, ReasonRecord, RestartKind, SupervisionAction, SupervisionEvent, one_line,
};
use std::time::Duration;
use tracing::field::display;

/// Tells the log an event of a supervisor. The name is looked up only for a subscriber that wants it.
macro_rules! log {
    ($level:ident, $reporter:expr, $($field:tt)+) => {
        tell(|| tracing::$level!(
            target: "krarup", supervisor = %$reporter.supervisor,
            supervisor_name = $reporter.name().as_ref().map(Name::as_str), $($field)+
        ))
    };
}

/// Reports the events of one supervisor.
#[derive(Debug)]
pub(crate) struct Reporter {
    supervisor: Pid,
    node: SupervisionLog,
    strategy: &'static str,
    intensity: (u32, Duration),
    /// Its children come from a template.
    is_dynamic: bool,
}

impl Reporter {
    pub(crate) fn new(supervisor: Pid, node: SupervisionLog, flags: &SupervisorFlags) -> Self {
        let (strategy, intensity) = (flags.strategy.as_str(), (flags.intensity, flags.period));
        let is_dynamic = flags.strategy == Strategy::SimpleOneForOne;
        Reporter { supervisor, node, strategy, intensity, is_dynamic }
    }

    /// The name of the supervisor, for the log.
    fn name(&self) -> Option<Name> {
        self.node.name_of(self.supervisor)
    }

    /// Has the node remember an event, if it remembers any.
    fn record(
        &self,
        what: SupervisionAction,
        child: Option<&ChildId>,
        count: u64,
        fill: impl FnOnce(&mut SupervisionEvent),
    ) {
        self.node.record(|| {
            SupervisionEvent::new(self.supervisor, what).with(|event| {
                event.child = child.map(ToString::to_string);
                event.count = count;
                event.strategy = Some(self.strategy);
                event.intensity = Some(self.intensity);
                fill(event);
            })
        });
    }

    /// `asked`: by a request for one more child.
    pub(crate) fn started(&self, child: &ChildId, pid: Pid, count: u64, asked: bool) {
        if self.is_dynamic && asked {
            return log!(debug, self, child = %one_line(child), %pid, count, "child started");
        }
        self.record(SupervisionAction::Started, Some(child), count, |event| event.pid = Some(pid));
        log!(info, self, child = %one_line(child), %pid, count, "child started");
    }

    /// `asked`: by a request for one more child.
    pub(crate) fn ignored(&self, child: &ChildId, count: u64, asked: bool) {
        if self.is_dynamic && asked {
            return log!(debug, self, child = %one_line(child), count, "child ignored");
        }
        self.record(SupervisionAction::Ignored, Some(child), count, |_| {});
        log!(info, self, child = %one_line(child), count, "child ignored");
    }

    pub(crate) fn failed(&self, child: &ChildId, reason: &Reason, count: u64) {
        self.record(SupervisionAction::Failed, Some(child), count, |event| {
            event.reason = Some(ReasonRecord::of(reason));
        });
        log!(error, self, child = %one_line(child), reason = %one_line(reason), count, "child failed to start");
    }

    /// `for_good`: an end in order is not followed by a restart.
    pub(crate) fn ended(
        &self,
        child: &ChildId,
        pid: Pid,
        reason: &Reason,
        count: u64,
        for_good: bool,
    ) {
        if self.is_dynamic && for_good && !reason.is_abnormal() {
            return log!(debug, self, child = %one_line(child), %pid, reason = %one_line(reason), count, "child ended");
        }
        self.record(SupervisionAction::Ended, Some(child), count, |event| {
            event.pid = Some(pid);
            event.reason = Some(ReasonRecord::of(reason));
        });
        if reason.is_abnormal() {
            log!(warn, self, child = %one_line(child), %pid, reason = %one_line(reason), count, "child ended");
        } else {
            log!(info, self, child = %one_line(child), %pid, reason = %one_line(reason), count, "child ended");
        }
    }

    /// `ended` is the end that caused the restart, or `None` for a retry.
    pub(crate) fn restarting(&self, child: &ChildId, ended: Option<(Pid, &Reason)>, count: u64) {
        self.node.count_restart(RestartKind::Supervisor);
        self.record(SupervisionAction::Restarting, Some(child), count, |event| {
            event.pid = ended.map(|(pid, _)| pid);
            event.reason = ended.map(|(_, reason)| ReasonRecord::of(reason));
        });
        let (pid, reason) = ended.unzip();
        let (pid, reason) = (pid.map(display), reason.map(|reason| display(one_line(reason))));
        log!(warn, self, child = %one_line(child), pid, reason, count, "child restarting");
    }

    pub(crate) fn restarting_in_place(
        &self,
        child: &ChildId,
        pid: Pid,
        reason: &Reason,
        count: u64,
    ) {
        self.record(SupervisionAction::InPlace, Some(child), count, |event| {
            event.pid = Some(pid);
            event.reason = Some(ReasonRecord::of(reason));
        });
        log!(warn, self, child = %one_line(child), %pid, reason = %one_line(reason), count, "child restarting in place");
    }

    pub(crate) fn waiting(&self, child: &ChildId, wait: Duration, count: u64) {
        self.record(SupervisionAction::Waiting, Some(child), count, |event| {
            event.wait = Some(wait);
        });
        log!(info, self, child = %one_line(child), ?wait, count, "child waits for its restart");
    }

    pub(crate) fn stopped(
        &self,
        child: &ChildId,
        pid: Pid,
        reason: &Reason,
        asked: Shutdown,
        count: u64,
    ) {
        let as_told = match asked {
            // A child that was already ending did not disobey.
            _ if matches!(reason, Reason::NoProcess) => true,
            Shutdown::BrutalKill => matches!(reason, Reason::Killed),
            Shutdown::Timeout(_) | Shutdown::Infinity => !reason.is_abnormal(),
        };
        if self.is_dynamic && as_told {
            return log!(debug, self, child = %one_line(child), %pid, reason = %one_line(reason), count, "child stopped");
        }
        self.record(SupervisionAction::Stopped, Some(child), count, |event| {
            event.pid = Some(pid);
            event.reason = Some(ReasonRecord::of(reason));
        });
        if let (Shutdown::Timeout(limit), Reason::Killed) = (asked, reason) {
            self.node.report_overdue(self.supervisor, pid, limit);
        }
        if as_told {
            log!(info, self, child = %one_line(child), %pid, reason = %one_line(reason), count, "child stopped");
        } else {
            log!(warn, self, child = %one_line(child), %pid, reason = %one_line(reason), count, shutdown = %asked, "child stopped");
        }
    }

    pub(crate) fn left_behind(&self, child: &ChildId, pid: Pid, count: u64) {
        self.record(SupervisionAction::Abandoned, Some(child), count, |event| {
            event.pid = Some(pid);
        });
        log!(error, self, child = %one_line(child), %pid, count, "child cannot be ended and is abandoned");
    }

    pub(crate) fn ending(&self, ending: &SupervisorEnd, count: u64) {
        let (what, child) = match ending {
            SupervisorEnd::RestartIntensity(child) | SupervisorEnd::StartFailed(child) => {
                self.node.count_given_up();
                (SupervisionAction::GaveUp, Some(child))
            }
            SupervisorEnd::AutoShutdown(child) => (SupervisionAction::EndedInOrder, Some(child)),
            SupervisorEnd::Told => (SupervisionAction::EndedInOrder, None),
        };
        self.record(what, child, count, |_| {});
        match ending {
            SupervisorEnd::RestartIntensity(child) => {
                log!(error, self, child = %one_line(child), count, cause = "reached maximum restart intensity", "supervisor gives up");
            }
            SupervisorEnd::StartFailed(child) => {
                log!(error, self, child = %one_line(child), count, cause = "child failed to start", "supervisor gives up");
            }
            SupervisorEnd::AutoShutdown(child) => {
                log!(info, self, child = %one_line(child), count, cause = "significant child ended", "supervisor ends");
            }
            SupervisorEnd::Told => {
                log!(info, self, count, cause = "stop requested", "supervisor ends");
            }
        }
    }
}

/// Calls the log subscriber, which is user code and must not end a supervisor.
fn tell(event: impl FnOnce()) {
    let _ = contain(event);
}
