//! The requests to a cron (rule T13).

use crate::error::{AddJobError, JobError};
use crate::info::JobInfo;
use crate::job::{CronAnswer, CronAsk, CronRequest, Job};
use krarup_act::{Address, Pending};
use krarup_gen::{CallError, CannotWait};
use std::time::SystemTime;

/// The address of a [`Cron`](crate::Cron).
pub type CronAddress = Address<CronRequest>;

/// How many times [`CronCalls::next_runs`] returns at most.
pub(crate) const MOST_NEXT_RUNS: usize = 1000;

/// The requests to a [`Cron`](crate::Cron), on its address. Await them, or `.wait()` for them on a
/// plain thread. Each takes no longer than a call (rule C1).
///
/// ```
/// # mod krarup { pub use {krarup_cron as cron, krarup_gen::*, krarup_node as testing}; }
/// use krarup::Result;
/// use krarup::cron::{AddJobError, Cron, CronAddress, CronCalls, Job, JobError};
/// use krarup::testing::Simulation;
///
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let cron: CronAddress = node.spawn_system(Cron::new).wait()?;
/// let noon = || Job::new("noon", "0 12 * * *").task(|| async { println!("noon") });
/// cron.add(noon()).wait()?;
/// assert!(matches!(cron.add(noon()).wait(), Err(AddJobError::NameTaken { .. })));
///
/// cron.run_now("noon").wait()?;
/// cron.pause("noon").wait()?;
/// let jobs = cron.jobs().wait()?;
/// assert_eq!((jobs[0].runs, jobs[0].next), (1, None));
///
/// cron.unpause("noon").wait()?;
/// assert_eq!(cron.next_runs("noon", 3).wait()?.len(), 3);
/// cron.remove("noon").wait()?;
/// assert_eq!(cron.remove("noon").wait(), Err(JobError::NotFound { name: "noon".into() }));
/// # Ok(())
/// # }
/// ```
pub trait CronCalls {
    /// Adds a job. Jobs end with the cron: one that a supervisor starts again has none.
    ///
    /// # Errors
    /// [`AddJobError`]; nothing has changed, unless the cron did not answer.
    fn add(&self, job: Job) -> Pending<(), AddJobError>;

    /// Removes a job. A run that goes on ends by itself.
    ///
    /// # Errors
    /// [`JobError`].
    fn remove(&self, name: impl Into<String>) -> Pending<(), JobError>;

    /// Has a job not run until [`CronCalls::unpause`]. The times until then do not count as missed. A run
    /// that goes on ends by itself; one that waits for it ([`RunsAtOnce::Wait`](crate::RunsAtOnce::Wait)) waits until
    /// then too. A job that is paused stays so.
    ///
    /// # Errors
    /// [`JobError`].
    fn pause(&self, name: impl Into<String>) -> Pending<(), JobError>;

    /// Has a paused job run again, at its next time. A job whose time does not come any more is
    /// removed. (`resume` is an operation of every address: that of a suspended process.)
    ///
    /// # Errors
    /// [`JobError`].
    fn unpause(&self, name: impl Into<String>) -> Pending<(), JobError>;

    /// Runs a job now, whether or not it is paused. Its [`RunsAtOnce`](crate::RunsAtOnce) holds;
    /// its times stay as they are.
    ///
    /// # Errors
    /// [`JobError`].
    fn run_now(&self, name: impl Into<String>) -> Pending<(), JobError>;

    /// Lists the jobs, in the order in which they were added.
    ///
    /// # Errors
    /// The cron did not answer.
    fn jobs(&self) -> Pending<Vec<JobInfo>, CallError>;

    /// Returns the next times of a job, or of a paused job those that it would have: as many as
    /// asked for, if there are so many, and at most 1000.
    ///
    /// # Errors
    /// [`JobError`].
    fn next_runs(
        &self,
        name: impl Into<String>,
        count: usize,
    ) -> Pending<Vec<SystemTime>, JobError>;
}

impl CronCalls for CronAddress {
    fn add(&self, job: Job) -> Pending<(), AddJobError> {
        ask(self, move |answer| CronAsk::Add(Box::new(job), answer))
    }

    fn remove(&self, name: impl Into<String>) -> Pending<(), JobError> {
        let name = name.into();
        ask(self, move |answer| CronAsk::Remove(name, answer))
    }

    fn pause(&self, name: impl Into<String>) -> Pending<(), JobError> {
        let name = name.into();
        ask(self, move |answer| CronAsk::Pause(name, answer))
    }

    fn unpause(&self, name: impl Into<String>) -> Pending<(), JobError> {
        let name = name.into();
        ask(self, move |answer| CronAsk::Resume(name, answer))
    }

    fn run_now(&self, name: impl Into<String>) -> Pending<(), JobError> {
        let name = name.into();
        ask(self, move |answer| CronAsk::RunNow(name, answer))
    }

    fn jobs(&self) -> Pending<Vec<JobInfo>, CallError> {
        ask(self, CronAsk::Jobs)
    }

    fn next_runs(
        &self,
        name: impl Into<String>,
        count: usize,
    ) -> Pending<Vec<SystemTime>, JobError> {
        let (name, count) = (name.into(), count.min(MOST_NEXT_RUNS));
        ask(self, move |answer| CronAsk::NextRuns(name, count, answer))
    }
}

fn ask<T, E>(
    cron: &CronAddress,
    request: impl FnOnce(CronAnswer<T, E>) -> CronAsk + Send + 'static,
) -> Pending<T, E>
where
    T: Send + 'static,
    E: From<CallError> + From<CannotWait> + Send + 'static,
{
    let to = cron.clone();
    Pending::new(cron.node_host(), async move {
        to.call(move |answer| CronRequest(request(answer))).await?
    })
}
