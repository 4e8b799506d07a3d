//! What Linux tells about the threads and the memory of this program.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// The ids of the threads of this program.
pub(crate) fn threads() -> BTreeSet<String> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// How often these threads have given up their core by themselves.
pub(crate) fn switches(threads: &BTreeSet<String>) -> u64 {
    let of = |id: &String| {
        let status = fs::read_to_string(format!("/proc/self/task/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    threads.iter().filter_map(of).sum()
}

/// The CPU time of these threads, to the nanosecond.
pub(crate) fn cpu(threads: &BTreeSet<String>) -> Duration {
    let of = |id: &String| {
        let stat = fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.iter().filter_map(of).sum())
}

/// The resident memory of this program in KiB.
pub(crate) fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
