//! Measures what an observer costs, off, idle and watched, in one run (rules V59 to V63).
//!
//! ```text
//! cargo run --release -p bench-krarup --features observer --bin bench-observer -- [SECONDS] [PROCESSES ..]
//! ```
//!
//! `SECONDS` (5) is the length of a measured window; `PROCESSES` (10000 100000) are the sizes of the
//! watched node. Speeds are medians of five interleaved windows. Each line has the rule, the figure,
//! its bar, and whether it is kept. Figures of a busy machine say little. Linux only.

#![forbid(unsafe_code)]

use krarup::observer::{Observer, RunningObserver};
use krarup::{Actor, Address, Context, Node, Result};
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const WINDOWS: usize = 5;
/// Tokens that go round the ring of processes, so that the workers always have work.
const TOKENS: usize = 64;
/// A tick of `/proc/*/stat`.
const TICK: Duration = Duration::from_millis(10);

type Measured<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// A process of a ring: hands a token on, and counts.
struct RingSeat {
    next: Option<Address<RingMessage>>,
    hops: Arc<AtomicU64>,
    runs: Arc<AtomicBool>,
}

enum RingMessage {
    Next(Address<RingMessage>),
    Token,
}

impl Actor for RingSeat {
    type Message = RingMessage;

    async fn handle_message(&mut self, _: &mut Context<RingMessage>, it: RingMessage) -> Result {
        match it {
            RingMessage::Next(next) => self.next = Some(next),
            RingMessage::Token if !self.runs.load(Ordering::Relaxed) => {}
            RingMessage::Token => {
                self.hops.fetch_add(1, Ordering::Relaxed);
                if let Some(next) = &self.next {
                    let _ = next.send(RingMessage::Token);
                }
            }
        }
        Ok(())
    }
}

/// A node whose processes are a ring.
struct BusyRing {
    node: Node,
    seats: Vec<Address<RingMessage>>,
    hops: Arc<AtomicU64>,
    runs: Arc<AtomicBool>,
}

impl BusyRing {
    fn start(name: &str, size: usize) -> Measured<Self> {
        let node = Node::builder(name).workers(2).start()?;
        let (hops, runs) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let seats = (0..size)
            .map(|_| {
                let (hops, runs) = (Arc::clone(&hops), Arc::clone(&runs));
                let seat = move || RingSeat { next: None, hops: hops.clone(), runs: runs.clone() };
                Ok(node.spawn(seat).start()?)
            })
            .collect::<Measured<Vec<_>>>()?;
        for (place, seat) in seats.iter().enumerate() {
            seat.send(RingMessage::Next(seats[(place + 1) % size].clone())).map_err(|_| "full")?;
        }
        Ok(BusyRing { node, seats, hops, runs })
    }

    /// Messages in a second, over a window.
    fn speed(&self, window: Duration) -> f64 {
        self.runs.store(true, Ordering::Relaxed);
        for seat in self.seats.iter().step_by((self.seats.len() / TOKENS).max(1)).take(TOKENS) {
            let _ = seat.send(RingMessage::Token);
        }
        let (before, began) = (self.hops.load(Ordering::Relaxed), Instant::now());
        thread::sleep(window);
        let hops = self.hops.load(Ordering::Relaxed) - before;
        let speed = float(hops) / began.elapsed().as_secs_f64();
        self.runs.store(false, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        speed
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The ids of the threads of this program.
fn threads() -> BTreeSet<String> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// How often these threads have given up their core by themselves.
fn switches(threads: &BTreeSet<String>) -> u64 {
    let of = |id: &String| {
        let status = fs::read_to_string(format!("/proc/self/task/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    threads.iter().filter_map(of).sum()
}

/// The CPU time of these threads.
fn cpu(threads: &BTreeSet<String>) -> Duration {
    let of = |id: &String| {
        let stat = fs::read_to_string(format!("/proc/self/task/{id}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
        Some(fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?)
    };
    TICK * threads.iter().filter_map(of).sum::<u32>()
}

fn get(address: SocketAddr, target: &str) -> Measured<String> {
    let mut socket = TcpStream::connect(address)?;
    write!(socket, "GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The first number after a field of an answer.
fn number(answer: &str, field: &str) -> Option<f64> {
    let rest = answer.split(&format!("\"{field}\":")).nth(1)?;
    let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
    rest[..end].parse().ok()
}

/// Reads a stream with a period of a second until it is dropped.
struct BenchWatcher {
    socket: TcpStream,
    newest: Arc<AtomicU64>,
}

impl BenchWatcher {
    fn start(address: SocketAddr) -> Measured<Self> {
        let mut socket = TcpStream::connect(address)?;
        let target = "/api/v1/stream?topics=node,processes,findings&period_ms=1000&sort=cpu";
        write!(socket, "GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        let (mut reader, newest) = (socket.try_clone()?, Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&newest);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                count.fetch_add(read as u64, Ordering::Relaxed);
            }
        });
        Ok(BenchWatcher { socket, newest })
    }
}

impl Drop for BenchWatcher {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

fn told(rule: &str, what: &str, figure: f64, bar: f64, kept: bool) {
    let word = if kept { "pass" } else { "FAIL" };
    println!("{rule} {what}: {figure:.4} (bar {bar}) {word}");
}

/// V59 and V60: an observer at which nobody looks.
fn idle(window: Duration) -> Measured {
    let without = BusyRing::start("off@localhost", 2)?;
    let with = BusyRing::start("on@localhost", 2)?;
    let before = threads();
    let at_rest = switches(&before);
    thread::sleep(window);
    // This thread sleeps once.
    let off = switches(&before) - at_rest;
    let observer = Observer::new().listen("127.0.0.1:0").start(&with.node).wait()?;
    get(observer.address(), "/api/v1/node")?;
    thread::sleep(Duration::from_secs(6));
    let all = threads();
    let at_rest = switches(&all);
    thread::sleep(window);
    let on = switches(&all) - at_rest;
    told(
        "V60",
        "wake-ups at rest with an idle observer, more than without",
        float(on.saturating_sub(off)),
        0.0,
        on <= off,
    );
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for _ in 0..WINDOWS {
        off.push(without.speed(window));
        on.push(with.speed(window));
    }
    let ratio = median(on) / median(off);
    told(
        "V59",
        "speed of a ring with an idle observer, to that without",
        ratio,
        0.99,
        ratio >= 0.99,
    );
    without.node.stop().wait()?;
    with.node.stop().wait()?;
    Ok(())
}

/// V61, V62 and V63: an observer that is watched, at a number of processes.
fn watched(window: Duration, size: usize) -> Measured<f64> {
    let ring = BusyRing::start("watched@localhost", size)?;
    let before = threads();
    let observer = Observer::new().listen("127.0.0.1:0").start(&ring.node).wait()?;
    let own: BTreeSet<String> = threads().difference(&before).cloned().collect();
    let (mut off, mut on, mut share) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..WINDOWS {
        off.push(ring.speed(window));
        let watching = BenchWatcher::start(observer.address())?;
        thread::sleep(Duration::from_secs(1));
        let (spent, began) = (cpu(&own), Instant::now());
        on.push(ring.speed(window));
        share.push(cpu(&own).saturating_sub(spent).as_secs_f64() / began.elapsed().as_secs_f64());
        if watching.newest.load(Ordering::Relaxed) == 0 {
            return Err("the stream said nothing".into());
        }
    }
    let rule = if size <= 10_000 { "V61" } else { "V62" };
    let ratio = median(on) / median(off);
    let share = median(share);
    told(
        rule,
        &format!("{size} processes: share of a core of the observer's threads"),
        share,
        0.01,
        share <= 0.01,
    );
    told(
        rule,
        &format!("{size} processes: speed watched to unwatched"),
        ratio,
        0.98,
        ratio >= 0.98,
    );
    let page = page(&observer)?;
    println!("{rule} {size} processes: a sorted page of 50 takes {:.3} ms", page * 1e3);
    let watching = BenchWatcher::start(observer.address())?;
    thread::sleep(Duration::from_secs(2));
    let node = get(observer.address(), "/api/v1/node")?;
    drop(watching);
    let period = number(&node, "period_ms").unwrap_or(0.0);
    let of_observer = node.split("\"name\":\"observer\"").nth(1).unwrap_or_default();
    let longest = number(of_observer, "longest_turn_ms").unwrap_or(f64::NAN);
    println!("{rule} {size} processes: period_ms {period}");
    told(
        "V63",
        &format!("{size} processes: longest turn of the observer's dispatcher, ms"),
        longest,
        5.0,
        longest <= 5.0,
    );
    ring.node.stop().wait()?;
    Ok(page)
}

/// The median time of a page of 50 while somebody watches, over the columns.
fn page(observer: &RunningObserver) -> Measured<f64> {
    let _watching = BenchWatcher::start(observer.address())?;
    thread::sleep(Duration::from_secs(2));
    let mut took = Vec::new();
    for sort in
        ["id", "name", "behavior", "main", "cpu", "growth", "handled"].iter().cycle().take(35)
    {
        let began = Instant::now();
        get(observer.address(), &format!("/api/v1/processes?limit=50&sort={sort}"))?;
        took.push(began.elapsed().as_secs_f64());
    }
    Ok(median(took))
}

fn main() -> Measured {
    let mut words = env::args().skip(1);
    let seconds = words.next().map_or(Ok(5), |word| word.parse())?;
    let sizes = words.map(|word| word.parse()).collect::<std::result::Result<Vec<usize>, _>>()?;
    let sizes = if sizes.is_empty() { vec![10_000, 100_000] } else { sizes };
    let window = Duration::from_secs(seconds);
    idle(window)?;
    let pages = sizes.iter().map(|size| watched(window, *size)).collect::<Measured<Vec<f64>>>()?;
    if let [small, .., large] = pages[..] {
        told(
            "V62",
            "a page at the largest size to one at the smallest",
            large / small,
            15.0,
            large <= 15.0 * small,
        );
    }
    Ok(())
}
