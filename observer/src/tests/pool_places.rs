//! What is told of pools that have other places than were configured, and of what they refuse.
#![allow(clippy::float_cmp, reason = "all are small whole numbers")]

use super::metrics::{parse, value};
use super::virtual_time::SimulatedObserver;
use krarup_act::{Actor, Context, Pool, Rate};
use krarup_gen::{Reason, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Does not start while it has no license.
struct Licensed(Arc<AtomicBool>);

impl Actor for Licensed {
    type Message = u32;

    async fn init(&mut self, _: &mut Context<u32>) -> Result {
        if self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(Reason::error("no license")) }
    }

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Ok(())
    }
}

/// What is told of the pool `jobs`: by its check, by the metrics, and by the finding `pool_short` after
/// six seconds. The check is looked at until it says what is `expected`, or was run five times: it may have no answer
/// within its second of real time.
fn told(it: &SimulatedObserver, expected: &str) -> (String, [f64; 2], Vec<String>) {
    it.get("/api/v1/findings");
    it.sim.advance(Duration::from_secs(6));
    // A check is run at most twice a second of real time.
    let (mut runs, mut youngest, mut status) = (0, f64::MAX, String::new());
    while runs < 6 {
        let health = it.get("/health").json();
        let check = &health["checks"][0];
        assert_eq!(check["name"], "process:jobs");
        let age = check["age_ms"].as_f64().unwrap_or(0.0);
        // The first run may be that of before.
        runs += u32::from(age < youngest);
        youngest = age;
        let text = |field: &str| check[field].as_str().unwrap_or_default();
        status = format!("{} {}", text("status"), text("message")).trim().to_owned();
        if runs > 1 && status == expected {
            break;
        }
    }
    let found = parse(&it.get("/metrics").body);
    let gauge = |name: &str| value(&found, name, &[("pool", "jobs")]);
    let findings = it.get("/api/v1/findings").json();
    let short = findings["findings"].as_array().unwrap().iter();
    let short = short.filter(|finding| finding["code"] == "pool_short");
    let texts = short.map(|finding| finding["text"].as_str().unwrap().to_owned()).collect();
    (status, [gauge("krarup_pool_workers"), gauge("krarup_pool_size")], texts)
}

#[test]
fn v94_a_pool_is_short_of_the_workers_that_it_has_places_for_now() {
    let it = SimulatedObserver::start(1);
    let license = Arc::new(AtomicBool::new(true));
    let worker = {
        let license = Arc::clone(&license);
        move || Licensed(Arc::clone(&license))
    };
    let pool = it.sim.spawn(move || Pool::new(4, worker)).name("jobs").wait().unwrap();
    let well = |workers: f64| ("ok".to_owned(), [workers, workers], Vec::new());
    assert_eq!(told(&it, "ok"), well(4.0));
    // It was made smaller on purpose, to one and to none.
    pool.remove_workers(3).wait().unwrap();
    assert_eq!(told(&it, "ok"), well(1.0));
    pool.remove_workers(1).wait().unwrap();
    assert_eq!(told(&it, "ok"), well(0.0));
    // It was made larger, and loses half of its workers.
    pool.add_workers(8).wait().unwrap();
    assert_eq!(told(&it, "ok"), well(8.0));
    license.store(false, Ordering::Relaxed);
    let members = it.get("/api/v1/pools").json()["pools"][0]["members"].clone();
    for member in &members.as_array().unwrap()[..4] {
        let pid = it.sim.node().view().by_number(member["id"].as_u64().unwrap()).unwrap();
        it.sim.node().kill(pid);
    }
    let (status, gauges, short) = told(&it, "degraded 4 of 8 workers");
    assert_eq!((status.as_str(), gauges), ("degraded 4 of 8 workers", [4.0, 8.0]));
    assert_eq!(short, ["the pool jobs has 4 of 8 workers"]);
    license.store(true, Ordering::Relaxed);
    it.sim.advance(Duration::from_secs(60));
    assert_eq!(told(&it, "ok"), well(8.0));
    it.sim.stop().wait().unwrap();
}

#[test]
fn v14_a_reservation_that_a_pool_refuses_is_told_by_the_metrics_of_the_pool() {
    let it = SimulatedObserver::start(1);
    let worker = || Licensed(Arc::new(AtomicBool::new(true)));
    let rate = Rate::per_second(1.0).burst(1);
    let pool = it.sim.spawn(move || Pool::new(1, worker).rate(rate)).name("jobs");
    let pool = pool.wait().unwrap();
    drop(pool.reserve().unwrap());
    // The permit that was not used gave its token back.
    pool.send(1).unwrap();
    pool.reserve().unwrap_err();
    let found = parse(&it.get("/metrics").body);
    let counter = |name: &str| value(&found, name, &[("pool", "jobs")]);
    let causes = ["krarup_pool_rate_limited_total", "krarup_pool_diverted_total"];
    assert_eq!(causes.map(counter), [1.0, 0.0]);
    assert!(counter("krarup_pool_unhandled_total") >= 1.0);
    // No message was given back to a sender.
    let given_back = value(&found, "krarup_sends_refused_total", &[("cause", "rate_limited")]);
    assert_eq!(given_back, 0.0);
    it.sim.stop().wait().unwrap();
}
