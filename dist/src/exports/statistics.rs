//! The statistics of OTP's `sys:statistics/2`: what a process has done since they were turned on
//! (rule Zcall12).
//!
//! A process counts always. What is kept here, for the processes that were asked, is what their
//! counters were at that time; so a process that nobody asks pays nothing.

use krarup_gen::{Pid, ProcessInfo};
use krarup_wire::etf::Term;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// When the statistics of processes were turned on, and what their counters were.
#[derive(Debug, Default)]
pub(crate) struct SysStatistics {
    begins: Mutex<BTreeMap<Pid, StatisticsBegin>>,
}

#[derive(Clone, Copy, Debug)]
struct StatisticsBegin {
    at: SystemTime,
    handled: u64,
    messages_in: u64,
    messages_out: u64,
}

impl SysStatistics {
    /// Turns the statistics of a process on, unless they are.
    pub(crate) fn begin(&self, at: SystemTime, of: &ProcessInfo) {
        let (handled, messages_in, messages_out) = (of.handled, of.messages_in, of.messages_out);
        let begin = StatisticsBegin { at, handled, messages_in, messages_out };
        self.begins.lock().entry(of.pid).or_insert(begin);
    }

    /// Turns the statistics of a process off.
    pub(crate) fn end(&self, of: Pid) {
        self.begins.lock().remove(&of);
    }

    /// The statistics of a process, as `sys` writes them; `no_statistics` if they are off.
    pub(crate) fn read(&self, now: SystemTime, of: &ProcessInfo) -> Term {
        let begin = self.begins.lock().get(&of.pid).copied();
        let Some(begin) = begin else { return Term::atom("no_statistics") };
        let pair = |name, value| Term::tuple([Term::atom(name), value]);
        let since = |name, now: u64, then: u64| pair(name, number(now.saturating_sub(then)));
        Term::list([
            pair("start_time", date(begin.at)),
            pair("current_time", date(now)),
            since("reductions", of.handled, begin.handled),
            since("messages_in", of.messages_in, begin.messages_in),
            since("messages_out", of.messages_out, begin.messages_out),
        ])
    }

    /// Forgets the processes that have ended.
    pub(crate) fn forget(&self, lives: impl Fn(Pid) -> bool) {
        let known: Vec<Pid> = self.begins.lock().keys().copied().collect();
        for pid in known.into_iter().filter(|pid| !lives(*pid)) {
            self.end(pid);
        }
    }
}

/// A time as Erlang's `{{Year, Month, Day}, {Hour, Minute, Second}}`, of UTC: the system's zone is
/// not known here.
fn date(time: SystemTime) -> Term {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let triple = |parts: [u64; 3]| Term::tuple(parts.map(number));
    let clock = [second / 3_600, second / 60 % 60, second % 60];
    Term::tuple([triple([year, month, day]), triple(clock)])
}

fn number(number: u64) -> Term {
    Term::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The year, month and day of a number of days since 1970 (Howard Hinnant, `civil_from_days`): years
/// are counted from March on, so that the day of a leap year is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn zcall12_times_are_dates_of_utc() {
        for (seconds, shown) in [
            (0, "{{1970,1,1},{0,0,0}}"),
            (951_782_400, "{{2000,2,29},{0,0,0}}"),
            (1_709_251_199, "{{2024,2,29},{23,59,59}}"),
            (1_709_251_200, "{{2024,3,1},{0,0,0}}"),
            (4_107_542_399, "{{2100,2,28},{23,59,59}}"),
            (4_107_542_400, "{{2100,3,1},{0,0,0}}"),
            (1_798_761_599, "{{2026,12,31},{23,59,59}}"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(date(time).to_string(), shown);
        }
    }
}
