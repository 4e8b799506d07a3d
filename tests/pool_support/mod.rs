//! What the tests of pools share: a worker that does what its jobs say.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use crate::support::Log;
use krarup::observe::Inspection;
use krarup::pool::PoolStatistics;
use krarup::prelude::*;
use std::time::Duration;

/// What a [`Worker`] is told to do.
pub(crate) enum Job {
    /// Says who did it.
    Who(Reply<Pid>),
    /// Notes that it was done: `pid number`.
    Note(u32),
    /// Notes that it was done, when this time has passed.
    Slow(u32, Duration),
    /// Answers when this time has passed.
    Ask(Reply<Pid>, Duration),
    /// Ends the worker.
    End(Reason),
    /// Waits for ever.
    Hang,
}

/// Does its jobs, and notes them.
pub(crate) struct Worker(pub(crate) Log);

impl Actor for Worker {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        match job {
            Job::Who(reply) => reply.send(ctx.pid()),
            Job::Note(number) => self.0.note(format!("{} {number}", ctx.pid())),
            Job::Slow(number, time) => {
                ctx.sleep(time).await;
                self.0.note(format!("{} {number}", ctx.pid()));
            }
            Job::Ask(reply, time) => {
                ctx.sleep(time).await;
                reply.send(ctx.pid());
            }
            Job::End(reason) => return Err(reason),
            Job::Hang => std::future::pending().await,
        }
        Ok(())
    }
}

pub(crate) type PoolAddress = Address<Job, PoolCommand>;

/// A factory of workers that note what they do.
pub(crate) fn workers(log: &Log) -> impl Fn() -> Worker + Clone + Send + Sync + 'static {
    let log = log.clone();
    move || Worker(log.clone())
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn who(pool: &PoolAddress) -> Pid {
    pool.call(Job::Who).wait().unwrap()
}

/// Keeps every worker busy with one job of this length.
pub(crate) fn occupy(sim: &Simulation, pool: &PoolAddress, time: Duration) {
    for _ in 0..pool.workers().wait().unwrap().len() {
        pool.send(Job::Slow(999, time)).unwrap();
    }
    sim.run_until_idle();
}

pub(crate) fn numbers(pool: &PoolAddress) -> PoolStatistics {
    pool.statistics().wait().unwrap()
}

pub(crate) fn inspect(pool: &PoolAddress) -> Inspection {
    pool.inspect().wait().unwrap()
}

/// The number at the end of each line.
pub(crate) fn done(log: &Log) -> Vec<u32> {
    log.lines().iter().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
}
