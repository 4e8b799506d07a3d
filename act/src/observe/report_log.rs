//! The reports of a node: who hears of them, and how often each kind is reported (rules X8, X9,
//! X11).
//!
//! A report is made where the thing happens, and only if somebody hears of it. It is published to
//! all subscribers but those that it is about, and but the process whose turn it is: what comes of
//! handling a report is not reported to its handler, which might have no end.

use crate::observe::report_rate::ReportRate;
use crate::process::current;
use krarup_gen::{Name, Pid, Report, ReportHead, ReportKind, ReportLevel, Timestamp};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What hears of the reports of a node: its topic of reports.
pub trait ReportListener: Send + Sync {
    /// Whether anybody hears of a report now. One need not be made if not.
    fn is_heard(&self) -> bool;

    /// Passes a report to all but the processes that it is about.
    fn hear(&self, report: Report, about: &[Pid]);
}

/// The reports of a node. For hosts.
#[derive(Default)]
pub struct ReportLog {
    /// Set when the topic is first asked for; until then a report costs a look.
    listener: OnceLock<Arc<dyn ReportListener>>,
    rates: Mutex<[ReportRate; ReportKind::ALL.len()]>,
}

impl ReportLog {
    /// Sets what hears of reports from now on. The first one stays.
    pub fn tell(&self, listener: Arc<dyn ReportListener>) {
        // Another thread has set the same topic of the node.
        let _ = self.listener.set(listener);
    }

    /// Whether somebody hears of reports. One need not be made if not.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.listener.get().is_some_and(|listener| listener.is_heard())
    }

    /// Publishes a report of this kind, if somebody hears of it and its kind is not thinned now.
    /// `about`: the processes that it is about, the main one first; they do not hear of it. `make`
    /// makes it of its head. `application`: the one of the main process.
    pub fn publish(
        &self,
        kind: ReportKind,
        level: ReportLevel,
        about: &[Pid],
        application: Option<&Name>,
        now: Timestamp,
        make: impl FnOnce(ReportHead) -> Report,
    ) {
        let Some(listener) = self.listener.get().filter(|listener| listener.is_heard()) else {
            return;
        };
        let Some(count) = self.rates.lock()[kind as usize].report(1, now) else { return };
        let head = ReportHead::new(now, about.first().copied(), level, count - 1);
        let head = head.of(application.cloned());
        let mut about = about.to_vec();
        about.extend(current::pid());
        listener.hear(make(head), &about);
    }
}

impl fmt::Debug for ReportLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportLog").field("is_heard", &self.is_heard()).finish_non_exhaustive()
    }
}
