//! An observer on a simulation: what it says of a span of time needs no real time to pass.
//!
//! The processes run when the test says so, in virtual time. The requests come from a thread of their
//! own over a real socket; the simulation runs while they wait for their answers.

use super::client::{HttpReply, get, start};
use crate::RunningObserver;
use krarup_act::{Actor, Address, Context, Pool};
use krarup_dist::{Cluster, Cookie, SimNetwork};
use krarup_gen::{Reason, Result};
use krarup_node::{Node, Simulation};
use krarup_supervisor::{ChildSpec, Supervisor};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const TENTH: Duration = Duration::from_millis(100);

/// A simulation with an observer.
pub(super) struct SimulatedObserver {
    pub(super) sim: Simulation,
    observer: RunningObserver,
}

impl SimulatedObserver {
    pub(super) fn start(seed: u64) -> Self {
        let sim = Simulation::new(seed);
        sim.add_dispatcher("observer");
        let observer = start(sim.node(), |it| it);
        SimulatedObserver { sim, observer }
    }

    pub(super) fn get(&self, target: &str) -> HttpReply {
        let (address, target) = (self.observer.address(), target.to_owned());
        let asked = thread::spawn(move || get(address, &target));
        while !asked.is_finished() {
            self.sim.run_until_idle();
            thread::yield_now();
        }
        asked.join().unwrap()
    }
}

/// Takes a message each 100 ms, or as soon as it comes.
struct Clerk {
    hurries: Arc<AtomicBool>,
}

impl Actor for Clerk {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, _: u32) -> Result {
        if !self.hurries.load(Ordering::Relaxed) {
            ctx.sleep(TENTH).await;
        }
        Ok(())
    }
}

impl SimulatedObserver {
    fn clerk(&self, name: &str, hurries: &Arc<AtomicBool>) -> Address<u32> {
        let hurries = Arc::clone(hurries);
        self.sim.spawn(move || Clerk { hurries: Arc::clone(&hurries) }).name(name).wait().unwrap()
    }

    /// A second in which each of these is sent a hundred messages.
    fn busy_second(&self, clerks: &[&Address<u32>]) {
        for number in 0..100 {
            clerks.iter().for_each(|clerk| clerk.send(number).unwrap());
            self.sim.advance(TENTH / 10);
        }
    }

    /// What the node is like now: all of it is of one picture.
    fn look(&self) -> NodeLook {
        NodeLook(self.get("/api/v1/snapshot").json())
    }
}

/// The answer of `/api/v1/snapshot`.
struct NodeLook(Value);

impl NodeLook {
    /// The names of the user's processes for which a field is as wanted.
    fn named(&self, field: &str, wanted: impl Fn(&Value) -> bool) -> Vec<&str> {
        let rows = self.0["processes"]["processes"].as_array().unwrap();
        let named = rows.iter().filter(|row| row["root"] == "user" && wanted(&row[field]));
        named.map(|row| row["name"].as_str().unwrap()).collect()
    }

    /// The names of the processes of which a finding of this code speaks.
    fn found(&self, code: &str) -> Vec<&str> {
        let all = self.0["findings"]["findings"].as_array().unwrap();
        let found = all.iter().filter(|finding| finding["code"] == code);
        found.map(|finding| finding["name"].as_str().unwrap()).collect()
    }
}

impl NodeLook {
    /// Since when the findings of this code last, in milliseconds.
    fn since(&self, code: &str) -> Vec<Option<f64>> {
        let all = self.0["findings"]["findings"].as_array().unwrap();
        let found = all.iter().filter(|finding| finding["code"] == code);
        found.map(|finding| finding["since_ms"].as_f64()).collect()
    }
}

#[test]
fn v97_a_full_pool_is_told_since_when_if_that_was_seen() {
    let it = SimulatedObserver::start(1);
    let slow = Arc::new(AtomicBool::new(false));
    let clerk = move || Clerk { hurries: Arc::clone(&slow) };
    let pool =
        it.sim.spawn(move || Pool::new(1, clerk).mailbox(100)).name("clerks").wait().unwrap();
    it.look();
    for expected in [None, Some(1000.0), Some(2000.0)] {
        it.sim.advance(SECOND);
        // The worker takes one, and is busy.
        while pool.send(1).is_ok() {}
        it.sim.run_until_idle();
        while pool.send(1).is_ok() {}
        assert_eq!(it.look().since("pool_full"), [expected]);
    }
    it.sim.stop().wait().unwrap();
}

#[test]
fn v11_the_process_that_takes_a_tenth_of_what_it_is_sent_is_named_and_no_other() {
    let it = SimulatedObserver::start(1);
    let (slow, quick) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let late = it.clerk("late", &slow);
    let others: Vec<_> = (0..3).map(|n| it.clerk(&format!("quick {n}"), &quick)).collect();
    let clerks: Vec<&Address<u32>> = others.iter().chain([&late]).collect();
    let grows = |field: &Value| field.as_f64().is_some_and(|growth| growth > 0.0);
    it.busy_second(&clerks);
    it.look();
    for second in 1..=11 {
        it.busy_second(&clerks);
        let seen = it.look();
        assert_eq!(
            seen.named("growth", |it| it.as_f64().is_some_and(|it| (85.0..95.0).contains(&it))),
            ["late"]
        );
        assert_eq!(seen.named("growth", grows), ["late"]);
        assert_eq!(seen.named("head_wait_ms", |wait| !wait.is_null()), ["late"]);
        let expected: &[&str] = if second < 10 { &[] } else { &["late"] };
        assert_eq!(seen.found("mailbox_grows"), expected, "after {second} s");
    }
    // One whose first message stays first in line is told so: it has waited for the span.
    late.suspend().wait().unwrap();
    for _ in 0..3 {
        it.sim.advance(5 * SECOND);
        it.look();
    }
    it.sim.advance(SECOND);
    let seen = it.look();
    assert_eq!(seen.named("head_wait_ms", |wait| wait.as_f64() > Some(10_000.0)), ["late"]);
    assert_eq!(seen.found("head_waits"), ["late"]);
    // It catches up: all of that goes.
    slow.store(true, Ordering::Relaxed);
    assert!(late.resume());
    it.sim.advance(SECOND);
    let seen = it.look();
    assert_eq!(seen.named("main", |main| *main == 0).len(), 4);
    assert_eq!(seen.named("growth", grows), [""; 0]);
    assert_eq!(seen.named("head_wait_ms", |wait| !wait.is_null()), [""; 0]);
    assert_eq!((seen.found("mailbox_grows").len(), seen.found("head_waits").len()), (0, 0));
    it.sim.stop().wait().unwrap();
}

#[test]
fn v87_the_same_of_many_workers_of_a_pool_is_one_finding_and_hides_no_other() {
    for (size, expected) in [(3, 3), (250, 1)] {
        let it = SimulatedObserver::start(1);
        let hurries = Arc::new(AtomicBool::new(false));
        let clerk = move || Clerk { hurries: Arc::clone(&hurries) };
        let pool = it.sim.spawn(move || Pool::new(size, clerk).mailbox(100));
        let pool = pool.name("clerks").wait().unwrap();
        for _ in 0..12 {
            while pool.send(1).is_ok() {}
            it.look();
            it.sim.advance(SECOND);
        }
        while pool.send(1).is_ok() {}
        let seen = it.look();
        assert_eq!(seen.found("pool_full"), ["clerks"], "{size}");
        let all = seen.0["findings"]["findings"].as_array().unwrap();
        let full: Vec<&Value> = all.iter().filter(|it| it["code"] == "mailbox_full").collect();
        assert_eq!(full.len(), expected, "{all:?}");
        if expected == 1 {
            assert_eq!(full[0]["pid"], pool.pid().to_string());
            let text = full[0]["text"].as_str().unwrap();
            let begin =
                format!("{size} workers of the pool clerks, one of them: the mailbox of Clerk");
            assert!(text.starts_with(&begin), "{text}");
        }
        it.sim.stop().wait().unwrap();
    }
}

#[test]
fn v91_a_kept_node_is_found_while_it_does_not_come() {
    let it = SimulatedObserver::start(5);
    let net = SimNetwork::new();
    let join = |node: &Node, settings: fn(Cluster) -> Cluster| {
        let (net, cookie) = (net.clone(), Cookie::new("secret").unwrap());
        let cluster = move || settings(Cluster::new(cookie).network(&net));
        node.spawn_system(cluster).wait().unwrap();
    };
    join(it.sim.node(), |cluster| cluster.keep(["far@sim"]));
    let look = || {
        let seen = it.look();
        let far = seen.0["cluster"]["kept"][0].clone();
        let failures = far["failures"].as_u64().unwrap();
        let is_missing = far["connected"] == false && failures >= 3;
        let expected: &[&str] = if is_missing { &["far@sim"] } else { &[] };
        assert_eq!(seen.found("kept_node_missing"), expected, "{far}");
        (far["connected"] == true, failures)
    };
    let failures: Vec<u64> = (0..12)
        .map(|_| {
            it.sim.advance(SECOND);
            look().1
        })
        .collect();
    assert!(failures.is_sorted() && failures.contains(&2) && failures.contains(&3), "{failures:?}");
    let far = it.sim.beside("far@sim").unwrap();
    join(&far, |cluster| cluster);
    it.sim.advance(60 * SECOND);
    assert!(look().0);
    it.sim.stop().wait().unwrap();
}

/// Fails at each message.
struct Failing;

impl Actor for Failing {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Err(Reason::error("the printer has no paper"))
    }
}

#[test]
fn v18_the_timeline_of_a_supervisor_that_gives_up_has_every_step_in_order() {
    let it = SimulatedObserver::start(3);
    let worker = || ChildSpec::worker("worker", || Failing).name("worker");
    let other = || ChildSpec::worker("other", || Failing);
    let supervisor =
        move || Supervisor::one_for_one().intensity(2, 60 * SECOND).child(other()).child(worker());
    let supervisor = it.sim.spawn(supervisor).name("watcher").wait().unwrap();
    let timeline = || -> Vec<Value> {
        let body = it.get("/api/v1/restarts?limit=500").json();
        let all = body["items"].as_array().unwrap().clone();
        all.into_iter().filter(|item| item["by"]["name"] == "watcher").collect()
    };
    for fails in 1..=3 {
        it.sim.advance(SECOND);
        let worker: Address<()> = it.sim.lookup("worker").unwrap();
        worker.send(()).unwrap();
        it.sim.run_until_idle();
        // While it lives its crash says how near it is to its limit.
        let crash = it.get(&format!("/api/v1/crashes/{fails}")).json();
        let decision = &crash["decision"];
        assert_eq!((&decision["intensity"], &decision["period_ms"]), (&2.into(), &60_000.0.into()));
        let what = if fails < 3 { "restarting" } else { "gave_up" };
        assert_eq!((&decision["what"], &decision["count"]), (&what.into(), &fails.min(2).into()));
        // Half of its intensity is used, until it has given up.
        let storm = if fails < 3 { vec!["watcher"] } else { vec![] };
        let seen = it.look();
        assert_eq!(seen.found("restart_storm"), storm);
        // Since the first restart of the period.
        let since = seen.since("restart_storm");
        assert_eq!(
            since,
            storm.iter().map(|_| Some(f64::from(fails - 1) * 1000.0)).collect::<Vec<_>>()
        );
    }
    let events = timeline();
    let told: Vec<(&str, &str, u64, Option<u64>)> = events
        .iter()
        .map(|event| {
            let text = |field: &str| event[field].as_str().unwrap();
            (text("what"), text("child"), event["count"].as_u64().unwrap(), event["crash"].as_u64())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("started", "other", 0, None),
            ("started", "worker", 0, None),
            ("ended", "worker", 0, Some(1)),
            ("restarting", "worker", 1, Some(1)),
            ("started", "worker", 1, None),
            ("ended", "worker", 1, Some(2)),
            ("restarting", "worker", 2, Some(2)),
            ("started", "worker", 2, None),
            ("ended", "worker", 2, Some(3)),
            ("gave_up", "worker", 2, None),
            ("stopped", "other", 2, None),
        ]
    );
    let by = supervisor.pid().to_string();
    assert!(
        events.iter().all(|event| event["by"]["pid"] == by && event["by"]["kind"] == "supervisor")
    );
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|two| two[0] < two[1]), "{seqs:?}");
    let moments: Vec<&str> = events.iter().map(|event| event["at"].as_str().unwrap()).collect();
    assert!(moments.is_sorted(), "{moments:?}");
    let ended = events.iter().filter(|event| event["what"] == "ended");
    assert!(ended.clone().all(|event| event["reason"] == "the printer has no paper"));
    assert_eq!(it.look().found("gave_up"), ["watcher"]);
    it.sim.stop().wait().unwrap();
}

#[test]
fn v8_rows_whose_values_are_told_as_equal_are_in_the_order_of_their_numbers() {
    let it = SimulatedObserver::start(5);
    let hurries = Arc::new(AtomicBool::new(true));
    let first = it.clerk("first", &hurries).pid().id();
    it.sim.advance(Duration::from_nanos(300));
    let second = it.clerk("second", &hurries).pid().id();
    it.sim.advance(SECOND + Duration::from_nanos(200));
    let body = it.get("/api/v1/processes?root=user&sort=uptime_ms&order=asc").json();
    let rows = body["processes"].as_array().unwrap();
    let told: Vec<_> =
        rows.iter().map(|row| (row["uptime_ms"].clone(), row["id"].clone())).collect();
    assert_eq!(told, [(1000.0.into(), first.into()), (1000.0.into(), second.into())]);
    it.sim.stop().wait().unwrap();
}
