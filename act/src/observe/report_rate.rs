//! How often the node reports things of one kind: ten times a second at most (rule X9).

use krarup_gen::Timestamp;
use std::time::Duration;

/// The most reports within a second. The others are counted in the next one.
const REPORTS_PER_SECOND: u32 = 10;

/// The recent number of reports of one kind.
#[derive(Debug, Default)]
pub struct ReportRate {
    since: Timestamp,
    reports: u32,
    left_out: u64,
}

impl ReportRate {
    /// Counts `count` things that may be reported now. If there may be a report, returns how many
    /// it stands for: these, and those that were left out since the last one.
    pub fn report(&mut self, count: u64, now: Timestamp) -> Option<u64> {
        self.left_out += count;
        if now.since(self.since) >= Duration::from_secs(1) {
            self.since = now;
            self.reports = 0;
        }
        if self.reports == REPORTS_PER_SECOND {
            return None;
        }
        self.reports += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn x9_there_are_ten_reports_a_second_at_most_and_none_is_left_out_of_the_sum() {
        let mut rate = ReportRate::default();
        let at = |millis| Timestamp::default() + Duration::from_millis(millis);
        let reports: u64 = (0..50).filter_map(|_| rate.report(2, at(5))).sum();
        assert_eq!(reports, 20);
        assert_eq!(rate.report(1, at(999)), None);
        // The 80 that were not reported, and those two.
        assert_eq!(rate.report(1, at(1000)), Some(82));
        assert_eq!(rate.report(1, at(1001)), Some(1));
    }
}
