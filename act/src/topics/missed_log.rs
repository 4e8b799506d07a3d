//! The log of missed events: ten lines a second at most for each topic (rule E7).

use crate::observe::report_rate::ReportRate;
use crate::process::crash::log_contained;
use crate::sync::Mutex;
use krarup_gen::{Timestamp, TopicId};

pub(crate) struct MissedLog(Mutex<ReportRate>);

impl MissedLog {
    pub(crate) fn new() -> Self {
        MissedLog(Mutex::new(ReportRate::default()))
    }

    /// Returns how many events the line was about, if there was one.
    pub(crate) fn note(&self, topic: &TopicId, missed: u64, now: Timestamp) -> Option<u64> {
        let missed = self.0.lock().report(missed, now)?;
        log_contained(|| {
            tracing::warn!(target: "krarup", %topic, missed, "subscribers have missed events");
        });
        Some(missed)
    }
}
