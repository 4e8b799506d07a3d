//! What is resident, taken at each rest, and whether it grows.
//!
//! Allocators keep what they once had, and a process that has grown to its load stays there:
//! so the first quarter of the rests is the warm-up, and the greatest of it is what the run needs.
//! It has grown if even the least of the last quarter is more than that by a tenth and 8 MiB.
//! What leaks with every message or every process passes this within minutes; a single
//! peak does not.

use std::fmt;
use std::fs;

#[derive(Default)]
pub(crate) struct Memory {
    kilobytes: Vec<u64>,
}

const SLACK: u64 = 8 * 1024;

impl Memory {
    pub(crate) fn note(&mut self) {
        self.kilobytes.extend(status("VmRSS:"));
    }

    pub(crate) fn has_grown(&self) -> bool {
        let quarter = self.kilobytes.len().div_ceil(4);
        let warm = self.kilobytes.iter().take(quarter).max();
        let last = self.kilobytes.iter().rev().take(quarter).min();
        match (warm, last) {
            (Some(warm), Some(last)) => *last > warm + warm / 10 + SLACK,
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
