//! Crash reports in the log: one line for each.
//!
//! A worker that panics is normal in this service: its client gets the reason, and the pool
//! gets a new worker. The standard report, with a backtrace if one is requested, would hide
//! everything else. So a panic in a process prints one line, and at most a few lines are
//! printed in a second. Panics anywhere else are bugs and print the standard report.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The most lines printed in one second.
const LINES: u64 = 10;

/// What is printed for a panic in a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// One line for each.
    Lines,
    /// Nothing: the clients that cause the crashes count them.
    Nothing,
}

/// The current second, and the panics in it.
struct Second {
    began: Instant,
    panics: u64,
}

impl Second {
    /// Counts one more panic. Returns whether it gets a line, and, if this panic begins a
    /// new second, how many panics of the last one got none.
    fn count(&mut self, now: Instant) -> (bool, u64) {
        let mut unsaid = 0;
        if now.duration_since(self.began) >= Duration::from_secs(1) {
            unsaid = self.panics.saturating_sub(LINES);
            *self = Second { began: now, panics: 0 };
        }
        self.panics += 1;
        (self.panics <= LINES, unsaid)
    }
}

/// Sets the hook. Must be called before the node starts: the node puts its own hook, which
/// records where the panic was raised, in front of the one it finds.
pub(crate) fn report(report: Report) {
    let otherwise = take_hook();
    let second = Mutex::new(Second { began: Instant::now(), panics: 0 });
    set_hook(Box::new(move |info| {
        if !krarup::behavior::is_in_process() {
            otherwise(info);
        } else if report == Report::Lines {
            one_line(info, &second);
        }
    }));
}

fn one_line(info: &PanicHookInfo<'_>, second: &Mutex<Second>) {
    // No code panics while it holds the lock. If it happened all the same, losing the
    // report is better than losing the service.
    let Ok(mut second) = second.lock() else { return };
    let (has_line, unsaid) = second.count(Instant::now());
    if unsaid > 0 {
        eprintln!("gateway: {unsaid} more panics in that second");
    }
    if !has_line {
        return;
    }
    let payload = info.payload();
    let text = payload.downcast_ref::<&'static str>().copied();
    let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("a value that is not text");
    match info.location() {
        Some(location) => eprintln!("gateway: a process panicked: {message} ({location})"),
        None => eprintln!("gateway: a process panicked: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_beyond_the_lines_of_a_second_are_only_counted() {
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        let mut second = Second { began, panics: 0 };
        let lines = |second: &mut Second, panics, millis| {
            (0..panics).filter(|_| second.count(at(millis)).0).count()
        };
        assert_eq!(lines(&mut second, 13, 999), 10);
        // This panic begins the next second.
        assert_eq!(second.count(at(1000)), (true, 3));
        assert_eq!(lines(&mut second, 13, 1999), 9);
        assert_eq!(second.count(at(2000)), (true, 4));
        // No panic was left out.
        assert_eq!(second.count(at(9000)), (true, 0));
    }
}
