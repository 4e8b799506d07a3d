//! The runs in virtual time are the list of the pattern (rule T7).

#[path = "../../src/plan/random_patterns.rs"]
mod random_patterns;

use crate::support::{DAY, cron};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use krarup_act::{Context, Received, behavior_fn};
use krarup_cron::{CronCalls, Job};
use krarup_node::Simulation;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

type Runs = Arc<Mutex<Vec<Vec<SystemTime>>>>;

/// Runs patterns for some days of virtual time from a date on, and compares.
fn compare(seed: u64, from: DateTime<Utc>, days: u32, jobs: &[(String, Tz)]) -> usize {
    let sim = Simulation::new(seed);
    sim.set_wall_time(from.into());
    let runs: Runs = Arc::new(Mutex::new(vec![Vec::new(); jobs.len()]));
    let of_listener = Arc::clone(&runs);
    let listener = sim.spawn(move || {
        behavior_fn(move |mut ctx: Context<usize>| async move {
            loop {
                if let Received::Message(job) = ctx.receive().await {
                    of_listener.lock().unwrap()[job].push(ctx.wall_time());
                }
            }
        })
    });
    let (listener, cron) = (listener.start().unwrap(), cron(&sim));
    for (job, (pattern, zone)) in jobs.iter().enumerate() {
        let name = format!("job {job}");
        let new = Job::new(name, pattern).zone(zone.name()).send_to(&listener, move || job);
        cron.add(new).wait().unwrap();
    }
    sim.advance(DAY * days);
    let until = DateTime::<Utc>::from(sim.wall_time());
    let mut count = 0;
    for ((pattern, zone), runs) in jobs.iter().zip(&*runs.lock().unwrap()) {
        let listed = pattern.parse::<croner::Cron>().unwrap();
        let listed: Vec<SystemTime> = listed
            .iter_after(from.with_timezone(zone))
            .take_while(|time| *time <= until)
            .map(SystemTime::from)
            .collect();
        assert_eq!(runs, &listed, "{pattern} in {zone} from {from}");
        count += runs.len();
    }
    count
}

#[test]
fn t7_the_runs_of_100_random_patterns_near_the_changes_of_20_years_are_those_of_the_pattern() {
    let jobs = random_patterns::random_patterns(100);
    let mut count = 0;
    for year in 2020..2040 {
        for from in ["03-28", "10-24", "11-01"] {
            let from = format!("{year}-{from}T00:00:30Z").parse().unwrap();
            count += compare(1, from, 2, &jobs);
        }
    }
    assert!(count > 10_000, "{count}");
}
