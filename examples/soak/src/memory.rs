//! The allocated memory, measured at each rest, and whether it grows.
//!
//! The allocator counts the bytes, not the system: the resident size follows the high-water
//! marks of the allocator's arenas, which rise for an hour even if nothing leaks. A process
//! keeps the size that its load has once required. So the rests of the first five minutes,
//! or of the first quarter of a shorter run, are the warm-up, and the largest of them is
//! what the run needs. Memory has grown if even the smallest rest of the last quarter is
//! larger than that by a twentieth, and in a shorter run by a MiB more. A leak with every
//! message or every process exceeds this within minutes; a single peak does not.

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
    /// How many of them belong to the warm-up of a long run; `None` during the warm-up.
    warm: Option<usize>,
}

/// After this time, a run needs no more memory than it has needed before.
const WARM_UP: Duration = Duration::from_secs(300);

/// How much a shorter run may grow, in bytes, beyond the twentieth.
const SLACK: usize = 1024 * 1024;

impl Memory {
    /// Records the bytes that are allocated now. `elapsed` is the time since the start.
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

/// Returns the number of threads of this program, where it is known.
pub(crate) fn threads() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"))?;
    line.split_whitespace().next()?.parse().ok()
}
