//! V63: how long the turns of the observer's processes are while a walk goes over a node at rest.
//!
//! On a node at rest each walk but the first does the same work, turn by turn. So the least time of
//! a turn over several walks is what its work takes, and not for how long the system ran another
//! program meanwhile.

use crate::Measured;
use crate::client::{get, number};
use crate::figures::{Bar, median, told};
use crate::ring::BusyRing;
use krarup::observe::TurnRecordingLimits;
use krarup::observer::Observer;
use std::thread;
use std::time::Duration;

const WALKS: usize = 9;
/// A recording ends with a walk, or after this time.
const LONGEST: Duration = Duration::from_secs(60);
/// More than the shortest time between two walks.
const SPACING: Duration = Duration::from_millis(400);

pub(crate) fn run(size: usize) -> Measured {
    let ring = BusyRing::start("turns@localhost", size)?;
    let observer = Observer::new().listen("127.0.0.1:0").start(&ring.node).wait()?;
    let mut walks: Vec<Vec<f64>> = Vec::new();
    for walk in 1..=WALKS {
        thread::sleep(SPACING);
        let recording = ring.node.record_turns(TurnRecordingLimits::lasting(LONGEST))?;
        // A walk over very many may take longer than a client waits.
        let answer = get(observer.address(), "/api/v1/node");
        thread::sleep(SPACING);
        let turns = recording.finish().turns;
        let sampler = ring.node.whereis("observer.sampler").ok_or("there is no sampler")?;
        let own = turns.iter().filter(|turn| turn.pid == sampler);
        let took = own.map(|turn| turn.end.since(turn.begin).as_secs_f64() * 1e3);
        let took: Vec<f64> = took.collect();
        let most = took.iter().copied().fold(0.0, f64::max);
        let of = |field| answer.as_ref().ok().and_then(|it| number(it, field)).unwrap_or(f64::NAN);
        println!(
            "V63 {size} processes, walk {walk}: {} turns, the longest {most:.3} ms; cost_ms {}",
            took.len(),
            of("cost_ms"),
        );
        walks.push(took);
    }
    // One in which a client gave up waiting, or a reader kept a picture, has other turns.
    let alike = |walk: &Vec<f64>| walks.iter().filter(|other| other.len() == walk.len()).count();
    let usual = walks.iter().max_by_key(|walk| alike(walk)).map_or(0, Vec::len);
    let mut usual: Vec<&Vec<f64>> = walks.iter().filter(|walk| walk.len() == usual).collect();
    println!("V63 {size} processes: {} walks had the same number of turns", usual.len());
    let mut least = usual.pop().cloned().unwrap_or_default();
    for walk in usual {
        least.iter_mut().zip(walk).for_each(|(least, took)| *least = least.min(*took));
    }
    let most = least.iter().copied().fold(0.0, f64::max);
    let what = format!("{size} processes: longest turn by its least time, ms");
    told("V63", &what, most, Bar::AtMost(5.0));
    println!("V63 {size} processes: median turn by its least time, ms: {:.4}", median(least));
    ring.node.stop().wait()?;
    Ok(())
}
