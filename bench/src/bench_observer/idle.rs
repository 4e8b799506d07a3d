//! V59 and V60: an observer at which nobody looks.

use crate::Measured;
use crate::client::get;
use crate::figures::{Bar, compared, float, told};
use crate::ring::BusyRing;
use crate::system::{switches, threads};
use krarup::observer::Observer;
use std::thread;
use std::time::Duration;

/// Pairs of windows.
const WINDOWS: usize = 9;

pub(crate) fn run(window: Duration) -> Measured {
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
    let more = (switches(&all) - at_rest).saturating_sub(off);
    let what = "wake-ups at rest with an idle observer, more than without";
    told("V60", what, float(more), Bar::AtMost(0.0));
    let pairs: Vec<_> = (0..WINDOWS).map(|_| (without.speed(window), with.speed(window))).collect();
    compared("V59", "speed of a ring with an idle observer, to that without", &pairs, 0.99);
    without.node.stop().wait()?;
    with.node.stop().wait()?;
    Ok(())
}
