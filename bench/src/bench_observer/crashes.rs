//! V64 and V65: an observer of a node whose processes crash.

use crate::ALLOCATED;
use crate::Measured;
use crate::client::{BenchWatcher, get, number};
use crate::figures::{Bar, RingSpeed, float, median, told};
use crate::system::{cpu, resident_kib, threads};
use krarup::observer::Observer;
use krarup::{Actor, Address, Context, Node, Reason, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Crashes of a storm: 100 000 in a minute.
const A_SECOND: u64 = 1667;
/// Processes that may be on their way to their crash.
const AHEAD: u64 = 1000;
/// Pairs of windows.
const WINDOWS: usize = 9;

/// Fails on its first message, and counts when its state is dropped.
struct Crasher {
    ended: Arc<AtomicU64>,
}

impl Actor for Crasher {
    type Message = u64;

    async fn handle_message(&mut self, _: &mut Context<u64>, number: u64) -> Result {
        Err(Reason::error(format!("storm {number}")))
    }
}

impl Drop for Crasher {
    fn drop(&mut self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Spawns processes that crash, as many as it is told.
struct CrashParent {
    spawned: u64,
    ended: Arc<AtomicU64>,
}

impl Actor for CrashParent {
    type Message = u64;

    async fn handle_message(&mut self, ctx: &mut Context<u64>, more: u64) -> Result {
        for _ in 0..more {
            let ended = Arc::clone(&self.ended);
            let child = ctx.spawn(move || Crasher { ended }).start()?;
            child.send(self.spawned).map_err(|_| Reason::error("no room"))?;
            self.spawned += 1;
        }
        Ok(())
    }
}

/// A node with a parent of crashing processes.
struct CrashingNode {
    node: Node,
    parent: Address<u64>,
    ordered: u64,
    ended: Arc<AtomicU64>,
}

impl CrashingNode {
    fn start(name: &str) -> Measured<Self> {
        let node = Node::builder(name).workers(2).start()?;
        let ended = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&ended);
        let parent =
            node.spawn(move || CrashParent { spawned: 0, ended: count.clone() }).start()?;
        Ok(CrashingNode { node, parent, ordered: 0, ended })
    }

    fn order(&mut self, crashes: u64) -> Measured {
        self.parent.send(crashes).map_err(|_| "the parent has no room")?;
        self.ordered += crashes;
        Ok(())
    }

    /// How many have not crashed yet.
    fn ahead(&self) -> u64 {
        self.ordered - self.ended.load(Ordering::Relaxed)
    }

    /// Crashes as fast as it can over a window, at most `rate` in a second.
    fn crash(&mut self, window: Duration, rate: Option<u64>) -> Measured<RingSpeed> {
        let all = threads();
        let (before, spent) = (self.ended.load(Ordering::Relaxed), cpu(&all));
        let (began, first) = (Instant::now(), self.ordered);
        while began.elapsed() < window {
            let due = rate.map_or(u64::MAX, |rate| {
                first + rate * u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) / 1000
            });
            if self.ahead() < AHEAD && self.ordered < due {
                self.order((AHEAD / 2).min(due - self.ordered))?;
            } else {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let crashed = float(self.ended.load(Ordering::Relaxed) - before);
        let spent = cpu(&all).saturating_sub(spent).as_secs_f64();
        let wall = crashed / began.elapsed().as_secs_f64();
        Ok(RingSpeed { wall, cpu: crashed / spent })
    }
}

/// V65: with and without an observer, as fast as they can, and then at the rate of the rule.
pub(crate) fn storm(window: Duration) -> Measured {
    let mut without = CrashingNode::start("calm@localhost")?;
    let mut with = CrashingNode::start("storm@localhost")?;
    let observer = Observer::new().listen("127.0.0.1:0").start(&with.node).wait()?;
    let mut pairs = Vec::new();
    for _ in 0..WINDOWS {
        pairs.push((without.crash(window, None)?, with.crash(window, None)?));
    }
    println!("V65 crashes in a second without an observer: {:.0}", pairs[0].0.wall);
    // A crash costs about as much as its report, so the rule is about a storm at its rate.
    let ratios = pairs.iter().map(|(off, on)| on.cpu / off.cpu).collect();
    println!(
        "V65 crashes as fast as they can, to those without, by CPU time: {:.3}",
        median(ratios)
    );
    let _watching = BenchWatcher::start(observer.address())?;
    let (mut slowest, mut least) = (Duration::ZERO, f64::INFINITY);
    for _ in 0..window.as_secs().max(1) {
        let off = without.crash(Duration::from_secs(1), Some(A_SECOND))?.wall;
        least = least.min(with.crash(Duration::from_secs(1), Some(A_SECOND))?.wall / off);
        let asked = Instant::now();
        get(observer.address(), "/api/v1/crashes?limit=50&after=-1")?;
        slowest = slowest.max(asked.elapsed());
    }
    told("V65", "least rate of a storm, to that without an observer", least, Bar::AtLeast(0.9));
    told(
        "V65",
        "slowest answer in the storm, ms",
        slowest.as_secs_f64() * 1e3,
        Bar::AtMost(1000.0),
    );
    let crashes = get(observer.address(), "/api/v1/crashes?limit=500&after=-1")?;
    let of = |field| number(&crashes, field).unwrap_or(f64::NAN);
    told("V65", "crashes in the ring", of("next_seq") - of("first_seq"), Bar::AtMost(256.0));
    without.node.stop().wait()?;
    with.node.stop().wait()?;
    Ok(())
}

/// V64: memory over a run with crashes at the rate of a storm, a stream, pages and scrapes.
pub(crate) fn memory(window: Duration) -> Measured {
    const RESTS: u32 = 60;
    let mut node = CrashingNode::start("memory@localhost")?;
    let observer = Observer::new().listen("127.0.0.1:0").start(&node.node).wait()?;
    let mut allocated = Vec::new();
    for rest in 0..RESTS {
        let began = Instant::now();
        let watching = BenchWatcher::start(observer.address())?;
        while began.elapsed() < window / RESTS {
            node.crash(Duration::from_millis(200), Some(A_SECOND))?;
            for target in ["/metrics", "/api/v1/processes?sort=cpu", "/api/v1/crashes?after=-1"] {
                get(observer.address(), target)?;
            }
        }
        drop(watching);
        while node.ahead() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        // The stream's reader and its connection end, and the last picture is small.
        thread::sleep(Duration::from_millis(300));
        get(observer.address(), "/api/v1/node")?;
        let bytes = float(ALLOCATED.allocated() as u64);
        let resident = resident_kib().unwrap_or(0);
        println!("V64 rest {rest}: {:.0} KiB allocated, {resident} KiB resident", bytes / 1024.0);
        allocated.push(bytes);
    }
    let quarter = allocated.len() / 4;
    let most = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    let least = |part: &[f64]| part.iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = least(&allocated[3 * quarter..]) / most(&allocated[..quarter]);
    told("V64", "memory of the last quarter, to that of the first", ratio, Bar::AtMost(1.05));
    node.node.stop().wait()?;
    Ok(())
}
