//! A job, before it is added to a cron, and the messages of a cron, of which it is a part.

use crate::error::{AddJobError, JobError};
use crate::info::JobInfo;
use krarup_act::{Context, Reply};
use krarup_gen::{CallError, Pid, Result};
use std::fmt;
use std::time::{Duration, SystemTime};

/// A job of a [`Cron`](crate::Cron): a name, when it runs, what it does then.
///
/// ```
/// # mod krarup { pub use {krarup_act::*, krarup_cron as cron}; }
/// use krarup::Address;
/// use krarup::cron::{Job, Missed, RunsAtOnce};
/// use std::time::Duration;
///
/// enum Make { Daily }
/// # async fn clean() {}
///
/// fn jobs(reports: &Address<Make>) -> [Job; 2] {
///     [
///         Job::new("report", "30 2 * * MON-FRI")
///             .zone("Europe/Berlin")
///             .missed(Missed::Once)
///             .grace(Duration::from_secs(6 * 3600))
///             .send_to(reports, || Make::Daily),
///         Job::new("clean", "*/10 * * * *").overlap(RunsAtOnce::Wait).task(clean),
///     ]
/// }
/// # let _ = (jobs, Make::Daily);
/// ```
pub struct Job {
    pub(crate) name: String,
    pub(crate) when: JobWhen,
    pub(crate) zone: Option<String>,
    pub(crate) rules: JobRules,
    pub(crate) since: Option<SystemTime>,
    pub(crate) work: Option<Box<dyn JobWork>>,
}

/// When a job runs, as it was given.
pub(crate) enum JobWhen {
    Pattern(String),
    Once(SystemTime),
}

/// How a plan decides about the runs of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobRules {
    pub(crate) overlap: RunsAtOnce,
    pub(crate) missed: Missed,
    pub(crate) grace: Duration,
}

/// What happens if a run is due while an earlier one of its job goes on (rule T11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RunsAtOnce {
    /// The run is left out, counted and reported.
    #[default]
    Skip,
    /// The run begins when the earlier ones have ended.
    Wait,
    /// The runs go on at the same time, any number of them.
    Any,
}

/// What happens to runs that were missed: the clock was set forward past them, the machine was
/// suspended, or no cron was there (rule T10). Missed runs are counted and reported. After 1000 in a
/// row those that no run makes up for are passed over at once, and the report says that there were
/// more; so years of missed minutes cost no more than a day of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missed {
    /// They are left out.
    #[default]
    Skip,
    /// The last of them is made up for.
    Once,
    /// All of them are made up for, in their order.
    All,
}

impl Job {
    fn at(name: String, when: JobWhen) -> Self {
        let rules = JobRules {
            overlap: RunsAtOnce::default(),
            missed: Missed::default(),
            grace: Duration::MAX,
        };
        Job { name, when, zone: None, rules, since: None, work: None }
    }

    /// Makes a job that runs at the times of a pattern: five fields for minute, hour, day, month
    /// and day of the week; six with seconds before them, seven with years behind them. `L`, `#`,
    /// `W`, names and `@daily` are those of the library croner. The pattern is checked when the
    /// job is added.
    #[must_use = "a job does not run until it is added to a cron"]
    pub fn new(name: impl Into<String>, pattern: impl Into<String>) -> Self {
        Self::at(name.into(), JobWhen::Pattern(pattern.into()))
    }

    /// Makes a job that runs once, at this date. It is removed when its run has ended. A date that has
    /// passed, or beyond the year 4999, is an error when the job is added (rule T13).
    #[must_use = "a job does not run until it is added to a cron"]
    pub fn once(name: impl Into<String>, at: SystemTime) -> Self {
        Self::at(name.into(), JobWhen::Once(at))
    }

    /// Sets the time zone of the pattern, such as `Europe/Berlin`; by default that of the cron.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Sets what happens if a run is due while an earlier one goes on; by default
    /// [`RunsAtOnce::Skip`].
    #[must_use]
    pub fn overlap(mut self, runs: RunsAtOnce) -> Self {
        self.rules.overlap = runs;
        self
    }

    /// Sets what happens to missed runs; by default [`Missed::Skip`].
    #[must_use]
    pub fn missed(mut self, missed: Missed) -> Self {
        self.rules.missed = missed;
        self
    }

    /// Sets how late a missed run may be made up for; by default any time later.
    #[must_use]
    pub fn grace(mut self, time: Duration) -> Self {
        self.rules.grace = time;
        self
    }

    /// Has the times after this date count as missed if they have passed: the last run that the
    /// program remembers from before its start ([`JobInfo::last`]). A job without it
    /// begins with the first time after it was added.
    #[must_use]
    pub fn since(mut self, last_run: SystemTime) -> Self {
        self.since = Some(last_run);
        self
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The work of a job. It is a user's code, so its callers contain it.
pub(crate) trait JobWork: Send + 'static {
    /// The name of the receiver of its messages, if it goes by a name.
    fn receiver(&self) -> Option<&str> {
        None
    }

    /// Begins a run.
    ///
    /// # Errors
    /// The run has failed already.
    fn begin(&mut self, ctx: &mut CronContext, job: &str) -> Result<Begun>;
}

/// A run that has begun.
pub(crate) enum Begun {
    /// It has ended, too.
    Done,
    /// It ends with this process.
    Runs(Pid),
}

/// The context of a cron.
pub(crate) type CronContext = Context<CronRequest>;

/// A request to a cron; made by the methods of [`CronCalls`](crate::CronCalls).
pub struct CronRequest(pub(crate) CronAsk);

/// The reply token of a request that may fail.
pub(crate) type CronAnswer<T, E> = Reply<Result<T, E>>;

pub(crate) enum CronAsk {
    Add(Box<Job>, CronAnswer<(), AddJobError>),
    Remove(String, CronAnswer<(), JobError>),
    Pause(String, CronAnswer<(), JobError>),
    Resume(String, CronAnswer<(), JobError>),
    RunNow(String, CronAnswer<(), JobError>),
    NextRuns(String, usize, CronAnswer<Vec<SystemTime>, JobError>),
    Jobs(CronAnswer<Vec<JobInfo>, CallError>),
    /// From the cron to itself: a run may be due.
    Look,
}

impl fmt::Debug for CronRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            CronAsk::Add(..) => "Add",
            CronAsk::Remove(..) => "Remove",
            CronAsk::Pause(..) => "Pause",
            CronAsk::Resume(..) => "Resume",
            CronAsk::RunNow(..) => "RunNow",
            CronAsk::NextRuns(..) => "NextRuns",
            CronAsk::Jobs(..) => "Jobs",
            CronAsk::Look => "Look",
        })
    }
}
