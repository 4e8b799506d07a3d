//! What the system tells of the program: `/proc` on Linux, nothing elsewhere.

use serde::Serialize;
use std::fs;

/// Numbers of the operating system. `None`: it does not tell.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Os {
    pub(crate) cpu_ms: Option<f64>,
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) threads: Option<u64>,
    pub(crate) open_files: Option<u64>,
}

/// The ticks of a second of the clock of the clock by which Linux counts time: of all its platforms
/// that matter.
const TICKS: f64 = 100.0;

impl Os {
    /// Asks the system.
    pub(crate) fn now() -> Os {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        let files = fs::read_dir("/proc/self/fd").ok();
        Os {
            cpu_ms: cpu_ms(&fs::read_to_string("/proc/self/stat").unwrap_or_default()),
            resident_bytes: field("VmRSS:").map(|kilobytes| kilobytes * 1024),
            threads: field("Threads:"),
            // One of them is the folder that is read.
            open_files: files.map(|files| (files.count() as u64).saturating_sub(1)),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "exact below millions of years")]
fn cpu_ms(stat: &str) -> Option<f64> {
    // The name of the program, in brackets, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + system) as f64 * 1000.0 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v32_the_time_of_a_program_with_a_strange_name_is_read() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 1 0 0 0 150 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_ms(stat), Some(2000.0));
        assert_eq!(cpu_ms(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn v32_linux_tells_all_numbers() {
        let Os { cpu_ms, resident_bytes, threads, open_files } = Os::now();
        assert!(
            cpu_ms.is_some()
                && resident_bytes > Some(0)
                && threads > Some(0)
                && open_files > Some(0)
        );
    }
}
