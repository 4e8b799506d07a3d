//! What is resident, taken at each rest, and whether it grows.
//!
//! Allocators keep what they once had, and a process that has grown to its load stays there.
//! So the rests of the first five minutes, or the first quarter of them in a shorter run, are the
//! warm-up, and the greatest of them is what the run needs. It has grown if even the least of the
//! last quarter is more than that by a twentieth; in a shorter run, by some MiB more. What leaks with
//! every message or every process passes this within minutes; a single peak does not.

use std::fmt;
use std::fs;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Memory {
    kilobytes: Vec<u64>,
    /// How many of them are the warm-up of a long run; none, while it lasts.
    warm: Option<usize>,
}

/// After this, a run needs no more than it has needed.
const WARM_UP: Duration = Duration::from_mins(5);

/// What a run of seconds may grow by, in kB, beside the twentieth.
const SLACK: u64 = 8 * 1024;

impl Memory {
    /// Notes what is resident now, so long after the begin.
    pub(crate) fn note(&mut self, elapsed: Duration) {
        self.kilobytes.extend(status("VmRSS:"));
        if elapsed > WARM_UP && self.warm.is_none() {
            self.warm = Some(self.kilobytes.len());
        }
    }

    pub(crate) fn has_grown(&self) -> bool {
        let quarter = self.kilobytes.len().div_ceil(4);
        let slack = if self.warm.is_some() { 0 } else { SLACK };
        let warm = self.kilobytes.iter().take(self.warm.unwrap_or(quarter)).max();
        let last = self.kilobytes.iter().rev().take(quarter).min();
        match (warm, last) {
            (Some(warm), Some(last)) => *last > warm + warm / 20 + slack,
            _ => false,
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kilobytes.first(), self.kilobytes.last(), self.kilobytes.iter().max()) {
            (Some(first), Some(last), Some(most)) => {
                write!(f, "{last} kB resident (first {first}, most {most})")
            }
            _ => f.write_str("what is resident is not known here"),
        }
    }
}

/// The threads of this program, where that is known.
pub(crate) fn threads() -> Option<u64> {
    status("Threads:")
}

/// A number that Linux tells of this program.
fn status(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
