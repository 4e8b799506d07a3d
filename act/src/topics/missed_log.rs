//! The log of missed events: ten lines a second at most for each topic (rule E7).

use crate::process::crash::log_contained;
use crate::sync::Mutex;
use krarup_gen::{Timestamp, TopicId};
use std::time::Duration;

/// The most lines within a second. The events of the others are counted in the next line.
const LINES_PER_SECOND: u32 = 10;

pub(crate) struct MissedLog(Mutex<MissedRate>);

#[derive(Default)]
struct MissedRate {
    since: Timestamp,
    lines: u32,
    unsaid: u64,
}

impl MissedRate {
    /// Returns how many events the next line reports, if there may be one now.
    fn reported(&mut self, missed: u64, now: Timestamp) -> Option<u64> {
        self.unsaid += missed;
        if now.since(self.since) >= Duration::from_secs(1) {
            self.since = now;
            self.lines = 0;
        }
        if self.lines == LINES_PER_SECOND {
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.unsaid))
    }
}

impl MissedLog {
    pub(crate) fn new() -> Self {
        MissedLog(Mutex::new(MissedRate::default()))
    }

    pub(crate) fn note(&self, topic: &TopicId, missed: u64, now: Timestamp) {
        let reported = self.0.lock().reported(missed, now);
        if let Some(missed) = reported {
            log_contained(|| {
                tracing::warn!(target: "krarup", %topic, missed, "subscribers have missed events");
            });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn e7_missed_events_are_reported_ten_times_a_second_at_most_and_none_is_left_out() {
        let mut rate = MissedRate::default();
        let at = |millis| Timestamp::default() + Duration::from_millis(millis);
        let lines: u64 = (0..50).filter_map(|_| rate.reported(2, at(5))).sum();
        assert_eq!(lines, 20);
        assert_eq!(rate.reported(1, at(999)), None);
        // The 80 that were not said, and those two.
        assert_eq!(rate.reported(1, at(1000)), Some(82));
        assert_eq!(rate.reported(1, at(1001)), Some(1));
    }
}
