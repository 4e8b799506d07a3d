//! What the tests share: simulations, a record of runs, dates.

use chrono::{DateTime, Utc};
use krarup_act::{Address, Context, Received, behavior_fn};
use krarup_cron::{Cron, CronAddress, CronCalls, Job, JobInfo};
use krarup_node::Simulation;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn simulations() -> impl Iterator<Item = Simulation> {
    (0..20).flat_map(|seed| [Simulation::new(seed), Simulation::with_throughput(seed, 1)])
}

/// A cron in UTC.
pub(crate) fn cron(sim: &Simulation) -> CronAddress {
    sim.spawn_system(Cron::new).name("cron").wait().unwrap()
}

/// What has happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<String>>>);

impl Record {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A process that records the texts it gets, with the wall time at which they come.
pub(crate) fn listener(sim: &Simulation, record: &Record) -> Address<&'static str> {
    let record = record.clone();
    let process = sim.spawn(move || {
        behavior_fn(move |mut ctx: Context<&'static str>| async move {
            loop {
                if let Received::Message(text) = ctx.receive().await {
                    record.note(format!("{text} {}", show(ctx.wall_time())));
                }
            }
        })
    });
    process.start().unwrap()
}

/// A wall time as text.
pub(crate) fn show(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%F %T").to_string()
}

pub(crate) fn at(text: &str) -> SystemTime {
    text.parse::<DateTime<Utc>>().unwrap().into()
}

pub(crate) fn info(cron: &CronAddress, name: &str) -> JobInfo {
    let jobs = cron.jobs().wait().unwrap();
    jobs.into_iter().find(|job| job.name == name).unwrap()
}

/// A job that takes some time, and records its begin and its end.
pub(crate) fn slow(name: &'static str, pattern: &str, record: &Record, takes: Duration) -> Job {
    let record = record.clone();
    Job::new(name, pattern).spawn(move || {
        let record = record.clone();
        behavior_fn(move |ctx: Context<()>| async move {
            record.note(format!("{name} begins {}", show(ctx.wall_time())));
            ctx.sleep(takes).await;
            record.note(format!("{name} ends {}", show(ctx.wall_time())));
            Ok(())
        })
    })
}
