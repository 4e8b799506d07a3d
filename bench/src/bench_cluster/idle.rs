//! What idle connections cost a server: looked at from outside, by the system's figures.

use crate::agreement::TICK_SECONDS;
use crate::failure::ClusterFailure;
use crate::side_process::SideProcess;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// After this time a server has done what new connections bring.
const SETTLE: Duration = Duration::from_secs(1);
/// The size of a page of memory, and the ticks of a second of processor time, of Linux.
const PAGE: f64 = 4096.0;
const TICKS: f64 = 100.0;
/// From this number of connections on, processor time is measured over two tick times.
const MANY: u64 = 50;

/// Has the client connect so many nodes to the server. Returns the kilobytes of each connection, and
/// the microseconds of processor time that 100 of them take in a second.
pub(crate) fn measure(
    client: &mut SideProcess,
    server: &SideProcess,
    size: u64,
) -> Result<Vec<f64>, ClusterFailure> {
    let window = Duration::from_secs(if size >= MANY { 2 * TICK_SECONDS } else { 1 });
    let server = server.id();
    let before = resident(server)?;
    client.measure("idle", size)?;
    thread::sleep(SETTLE);
    let (began, used) = (Instant::now(), processor(server)?);
    let bytes = resident(server)? - before;
    thread::sleep(window);
    let used = (processor(server)? - used) / began.elapsed().as_secs_f64();
    client.measure("idle_end", 1)?;
    #[expect(clippy::cast_precision_loss, reason = "some hundred connections")]
    let size = size as f64;
    Ok(vec![bytes / 1e3 / size, used * 1e6 * 100.0 / size])
}

/// The bytes of memory that a process occupies.
fn resident(process: u32) -> Result<f64, ClusterFailure> {
    field(&fs::read_to_string(format!("/proc/{process}/statm"))?, 1).map(|pages| pages * PAGE)
}

/// The seconds of processor time that a process has used.
fn processor(process: u32) -> Result<f64, ClusterFailure> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in brackets, may contain spaces.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    Ok((field(rest, 11)? + field(rest, 12)?) / TICKS)
}

fn field(text: &str, at: usize) -> Result<f64, ClusterFailure> {
    let found = text.split_whitespace().nth(at).and_then(|word| word.parse().ok());
    found.ok_or_else(|| ClusterFailure::Node(format!("no number {at} in {text:?}")))
}
