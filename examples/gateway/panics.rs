//! What a crash looks like in the log: one line.
//!
//! A worker that panics is everyday business here: its client gets the reason, the pool
//! gets a new worker. The standard report, with a backtrace if one is asked for, would
//! bury everything else, so panics of processes print one line each, and no more than a
//! few in a second. Panics anywhere else are bugs and print as always.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Lines in one second.
const LINES: u64 = 10;

/// What is printed of the panics of processes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// A line each.
    Lines,
    /// Nothing: whoever crashes them counts them.
    Nothing,
}

/// The current second, and the panics in it.
struct Second {
    began: Instant,
    panics: u64,
}

/// Sets the hook. To be called before the node starts: it puts its own hook, which notes
/// where the panic was raised, before the one it finds.
pub(crate) fn report(report: Report) {
    let otherwise = take_hook();
    let second = Mutex::new(Second { began: Instant::now(), panics: 0 });
    set_hook(Box::new(move |info| {
        if !krarup::is_in_process() {
            otherwise(info);
        } else if report == Report::Lines {
            one_line(info, &second);
        }
    }));
}

fn one_line(info: &PanicHookInfo<'_>, second: &Mutex<Second>) {
    // Nothing panics while it is held, and if so: no report is better than no service.
    let Ok(mut second) = second.lock() else { return };
    if second.began.elapsed() >= Duration::from_secs(1) {
        if second.panics > LINES {
            eprintln!("gateway: {} more panics in that second", second.panics - LINES);
        }
        *second = Second { began: Instant::now(), panics: 0 };
    }
    second.panics += 1;
    if second.panics > LINES {
        return;
    }
    let message = info.payload_as_str().unwrap_or("a value that is no text");
    match info.location() {
        Some(location) => eprintln!("gateway: a process panicked: {message} ({location})"),
        None => eprintln!("gateway: a process panicked: {message}"),
    }
}
