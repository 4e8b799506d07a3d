//! A side of a workload as a process of its own, and what is measured of it.

use crate::failure::PeerFailure;
use crate::load;
use crate::side::PeerSide;
use crate::workload::Workload;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What was measured of one side in one round.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    /// Whether more is better.
    pub(crate) more_is_better: bool,
}

/// A process that is ended with its handle.
struct SideProcess(Child);

impl Drop for SideProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(words: &[String]) -> Result<SideProcess, PeerFailure> {
    let program = std::env::current_exe()?;
    let child =
        Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    Ok(SideProcess(child))
}

/// The first line that a process prints.
fn first_line(child: &mut SideProcess) -> Result<String, PeerFailure> {
    let mut line = String::new();
    if let Some(output) = child.0.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    Ok(line.trim().to_owned())
}

/// Measures a side within its own process.
pub(crate) fn of_process(
    workload: Workload,
    side: PeerSide,
    size: usize,
) -> Result<Vec<Figure>, PeerFailure> {
    let mut child =
        start(&["measure".into(), workload.to_string(), side.to_string(), size.to_string()])?;
    let line = first_line(&mut child)?;
    let value = line.parse().map_err(|_| failed(workload, side, &line))?;
    Ok(vec![Figure { name: "ns", value, more_is_better: false }])
}

/// Measures a side whose server is its own process.
pub(crate) fn of_server(
    workload: Workload,
    side: PeerSide,
    connections: usize,
    seconds: u64,
) -> Result<Vec<Figure>, PeerFailure> {
    let mut child = start(&["serve".into(), workload.to_string(), side.to_string()])?;
    let line = first_line(&mut child)?;
    let address: SocketAddr = line.parse().map_err(|_| failed(workload, side, &line))?;
    let before = resident_bytes(&child)?;
    let mut most = before;
    let used = processor_time(&child)?;
    let seen = load::run(workload, address, connections, Duration::from_secs(seconds), || {
        most = most.max(resident_bytes(&child).unwrap_or(0));
    })?;
    let used = processor_time(&child)?.saturating_sub(used);
    let memory = most.saturating_sub(before) / connections as u64;
    let figure = |name, value, more_is_better| Figure { name, value, more_is_better };
    let mut figures = vec![
        figure("requests/s", seen.rate, true),
        figure("cpu us/request", used.as_secs_f64() * 1e6 / load::as_f64(seen.all), false),
        figure("p50 us", seen.p50, false),
        figure("p99 us", seen.p99, false),
        figure("bytes/connection", load::as_f64(memory), false),
    ];
    if workload.refuses() {
        figures.push(figure("refused/s", seen.refused, true));
    }
    Ok(figures)
}

fn failed(workload: Workload, side: PeerSide, line: &str) -> PeerFailure {
    PeerFailure::Side { workload, side, why: format!("it printed {line:?}") }
}

fn resident_bytes(child: &SideProcess) -> Result<u64, PeerFailure> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.0.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes: u64 =
        line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Ok(kilobytes * 1024)
}

/// The hundredths of a second that Linux counts in.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used of the processors.
fn processor_time(child: &SideProcess) -> Result<Duration, PeerFailure> {
    let line = fs::read_to_string(format!("/proc/{}/stat", child.0.id()))?;
    // The name of the program is in brackets; its times are the 14th and 15th field.
    let fields = line.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    Ok(TICK * ticks)
}
