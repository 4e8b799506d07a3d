//! V61 and V62: an observer that is watched, at a number of processes.

use crate::Measured;
use crate::client::{BenchWatcher, get, number};
use crate::figures::{Bar, compared, told};
use crate::ring::BusyRing;
use crate::system::{cpu, threads};
use krarup::observer::{Observer, RunningObserver};
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

/// Pairs of windows.
const WINDOWS: usize = 7;
/// The columns of which pages are asked for.
const COLUMNS: [&str; 7] = ["id", "name", "behavior", "main", "cpu", "growth", "handled"];

pub(crate) fn run(window: Duration, sizes: &[usize]) -> Measured {
    let pages =
        sizes.iter().map(|size| watched(window, *size)).collect::<Measured<Vec<Vec<f64>>>>()?;
    if let [small, .., large] = &pages[..] {
        let ratios = small.iter().zip(large).map(|(small, large)| large / small);
        for (column, ratio) in COLUMNS.iter().zip(ratios) {
            let what = format!("a page by {column} at the largest size to one at the smallest");
            told("V62", &what, ratio, Bar::AtMost(15.0));
        }
    }
    Ok(())
}

fn watched(window: Duration, size: usize) -> Measured<Vec<f64>> {
    let ring = BusyRing::start("watched@localhost", size)?;
    let before = threads();
    let observer = Observer::new().listen("127.0.0.1:0").start(&ring.node).wait()?;
    let own: BTreeSet<String> = threads().difference(&before).cloned().collect();
    let (mut pairs, mut spent, mut watched) = (Vec::new(), Duration::ZERO, Duration::ZERO);
    for _ in 0..WINDOWS {
        let off = ring.speed(window);
        let watching = BenchWatcher::start(observer.address())?;
        thread::sleep(Duration::from_secs(1));
        let (before, began) = (cpu(&own), Instant::now());
        pairs.push((off, ring.speed(window)));
        spent += cpu(&own).saturating_sub(before);
        watched += began.elapsed();
        if !watching.reads() {
            return Err("the stream said nothing".into());
        }
    }
    let rule = if size <= 10_000 { "V61" } else { "V62" };
    let what = format!("{size} processes: share of a core of the observer's threads");
    let share = spent.as_secs_f64() / watched.as_secs_f64();
    told(rule, &what, share, Bar::AtMost(0.01));
    compared(rule, &format!("{size} processes: speed watched to unwatched"), &pairs, 0.98);
    let pages = pages(&observer)?;
    for (column, page) in COLUMNS.iter().zip(&pages) {
        println!("{rule} {size} processes: a page of 50 by {column} takes {:.3} ms", page * 1e3);
    }
    let watching = BenchWatcher::start(observer.address())?;
    thread::sleep(Duration::from_secs(2));
    let node = get(observer.address(), "/api/v1/node")?;
    drop(watching);
    let of = |field| number(&node, field).unwrap_or(f64::NAN);
    println!("{rule} {size} processes: period_ms {}, cost_ms {}", of("period_ms"), of("cost_ms"));
    ring.node.stop().wait()?;
    Ok(pages)
}

/// The least times of a page of 50 while somebody watches, by column: what the work takes, and not
/// for how long the system ran another program meanwhile.
fn pages(observer: &RunningObserver) -> Measured<Vec<f64>> {
    let _watching = BenchWatcher::start(observer.address())?;
    thread::sleep(Duration::from_secs(2));
    let page = |sort: &str| {
        let mut least = f64::INFINITY;
        for _ in 0..25 {
            let began = Instant::now();
            get(observer.address(), &format!("/api/v1/processes?limit=50&sort={sort}"))?;
            least = least.min(began.elapsed().as_secs_f64());
        }
        Ok(least)
    };
    COLUMNS.iter().map(|sort| page(sort)).collect()
}
