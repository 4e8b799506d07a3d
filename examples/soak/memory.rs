//! What is allocated, counted at each rest, and whether it grows.
//!
//! The bytes are counted by the allocator and not by the system: what is resident follows the
//! highest marks of the allocator's arenas, which rise for an hour though nothing leaks. A process that has
//! grown to its load stays there. So the rests of the first five minutes, or the first quarter of them
//! in a shorter run, are the warm-up, and the greatest of them is what the run needs. It has grown if
//! even the least of the last quarter is more than that by a twentieth; in a shorter run, by a
//! MiB more. What leaks with every message or every process passes this within minutes; a
//! single peak does not.

use cap::Cap;
use std::alloc::System;
use std::fmt;
use std::fs;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[derive(Default)]
pub(crate) struct Memory {
    bytes: Vec<usize>,
    /// How many of them are the warm-up of a long run; none, while it lasts.
    warm: Option<usize>,
}

/// After this, a run needs no more than it has needed.
const WARM_UP: Duration = Duration::from_mins(5);

/// What a shorter run may grow by, in bytes, beside the twentieth.
const SLACK: usize = 1024 * 1024;

impl Memory {
    /// Notes what is allocated now, so long after the begin.
    pub(crate) fn note(&mut self, elapsed: Duration) {
        self.bytes.push(ALLOCATOR.allocated());
        if elapsed > WARM_UP && self.warm.is_none() {
            self.warm = Some(self.bytes.len());
        }
    }

    pub(crate) fn has_grown(&self) -> bool {
        let quarter = self.bytes.len().div_ceil(4);
        let slack = if self.warm.is_some() { 0 } else { SLACK };
        let warm = self.bytes.iter().take(self.warm.unwrap_or(quarter)).max();
        let last = self.bytes.iter().rev().take(quarter).min();
        match (warm, last) {
            (Some(warm), Some(last)) => *last > warm + warm / 20 + slack,
            _ => false,
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: Option<&usize>| bytes.map_or(0, |bytes| bytes / 1024);
        let (first, last) = (kib(self.bytes.first()), kib(self.bytes.last()));
        write!(f, "{last} KiB allocated (first {first}, most {})", kib(self.bytes.iter().max()))
    }
}

/// The threads of this program, where that is known.
pub(crate) fn threads() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"))?;
    line.split_whitespace().next()?.parse().ok()
}
