//! The process of a cron: it performs what its plan decides.
//!
//! ```text
//!   CronCalls ── request ──►┐                    ┌── begin a run ──► message, process, task
//!   its one timer ── look ──┼──► plan: decide ───┼── report ───────► tracing, reports of the node
//!   end of a run ── down ──►┘                    └── next look ────► its one timer
//! ```

use crate::checked_job::CheckedJob;
use crate::error::{AddJobError, JobError};
use crate::info::JobInfo;
use crate::job::{Begun, CronAsk, CronContext, CronRequest, Job, JobWork};
use crate::pattern::{Date, date, parse_zone};
use crate::plan::{ClockReading, CronPlan, JobDecision, JobId, MissedRuns};
use chrono_tz::Tz;
use krarup_act::{Actor, BehaviorContext, KILL_GRACE, Sleep, Watch, contain};
use krarup_gen::{
    CronEvent, CronTrouble, Down, Exit, Inspection, Pid, Reason, Ref, Result, RunDate, Timestamp,
    one_line,
};
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};

/// How many times are decided before the cron looks into its mailbox again.
const STEPS: usize = 1000;

/// How long a stop waits for the runs that go on, unless [`Cron::shutdown`] says otherwise.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// A process that runs jobs at the times of the wall clock (rules T7 to T14). See [`Job`] for what
/// they are, and [`CronCalls`](crate::CronCalls) for what can be asked of it.
///
/// A run that fails changes no later run. The processes of jobs are children of the cron and end
/// with it: a stop waits for them first. What a job does not do is logged as a warning of the
/// target `krarup` with the name of the `job`: a run that has failed, was missed, or was left out. The
/// same is a [`Report::Cron`](krarup_gen::Report::Cron) in `node.reports()` (rule X8).
///
/// ```
/// # mod krarup {
/// #     pub use {krarup_act as behavior, krarup_cron as cron, krarup_node as testing};
/// #     pub use {krarup_act::*, krarup_gen::*};
/// # }
/// use krarup::behavior::{Received, behavior_fn};
/// use krarup::cron::{Cron, CronCalls, Job};
/// use krarup::testing::Simulation;
/// use krarup::{Context, Result};
/// use std::time::Duration;
///
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let reports = node.spawn(|| behavior_fn(|mut ctx: Context<&str>| async move {
///     while let Received::Message(report) = ctx.receive().await {
///         println!("{report} at {:?}", ctx.wall_time());
///     }
///     Ok(())
/// })).start()?;
/// let cron = node.spawn_system(|| Cron::new().zone("Europe/Berlin")).name("cron").wait()?;
/// cron.add(Job::new("report", "30 2 * * MON-FRI").send_to(&reports, || "daily")).wait()?;
/// node.advance(Duration::from_secs(7 * 24 * 3600));
/// assert_eq!(cron.jobs().wait()?[0].runs, 5);
/// # Ok(())
/// # }
/// ```
pub struct Cron {
    zone: String,
    shutdown: Duration,
    /// Set by `init`.
    default_zone: Tz,
    plan: CronPlan,
    names: BTreeMap<String, JobId>,
    jobs: BTreeMap<JobId, NamedWork>,
    running: BTreeMap<Pid, JobId>,
    /// The timer of the next look, and when it is due.
    timer: Option<(Ref, Timestamp)>,
}

/// What the plan does not need to know of a job.
struct NamedWork {
    name: String,
    work: Box<dyn JobWork>,
    last_failure: Option<String>,
}

impl Default for Cron {
    fn default() -> Self {
        Self::new()
    }
}

impl Cron {
    /// Makes a cron without jobs, for the zone UTC.
    #[must_use]
    pub fn new() -> Self {
        Cron {
            zone: "UTC".to_owned(),
            shutdown: SHUTDOWN,
            default_zone: Tz::UTC,
            plan: CronPlan::default(),
            names: BTreeMap::new(),
            jobs: BTreeMap::new(),
            running: BTreeMap::new(),
            timer: None,
        }
    }

    /// Sets the time zone of jobs that have none of their own, such as `Europe/Berlin`. An unknown
    /// zone fails the spawn with [`UnknownZone`](crate::UnknownZone).
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = zone.into();
        self
    }

    /// Sets how long a stop waits for the runs that go on before it ends them; by default 5 s. A
    /// supervisor must give its child at least as long.
    #[must_use]
    pub fn shutdown(mut self, time: Duration) -> Self {
        self.shutdown = time;
        self
    }

    fn add(&mut self, at: ClockReading, job: Job) -> Result<(), AddJobError> {
        let CheckedJob { name, times, rules, since, work } =
            CheckedJob::new(job, self.default_zone)?;
        if self.names.contains_key(&name) {
            return Err(AddJobError::NameTaken { name });
        }
        let text = times.to_string();
        let Some(id) = self.plan.add(times, rules, since.map(date), at) else {
            return Err(AddJobError::NeverComes { name, times: text });
        };
        self.names.insert(name.clone(), id);
        self.jobs.insert(id, NamedWork { name, work, last_failure: None });
        Ok(())
    }

    /// The job of this name.
    fn find(&self, name: String) -> Result<JobId, JobError> {
        self.names.get(&name).copied().ok_or(JobError::NotFound { name })
    }

    fn forget(&mut self, id: JobId) {
        self.plan.remove(id);
        if let Some(job) = self.jobs.remove(&id) {
            self.names.remove(&job.name);
            // What it has captured is a user's.
            let _ = contain(|| drop(job));
        }
    }

    fn list(&self) -> Vec<JobInfo> {
        let jobs = self.jobs.iter();
        let system_time = |date: Option<_>| date.map(SystemTime::from);
        jobs.filter_map(|(id, named)| {
            let job = self.plan.job(*id)?;
            Some(JobInfo {
                name: named.name.clone(),
                pattern: job.times.to_string(),
                zone: job.times.zone().name().to_owned(),
                next: system_time(job.cursor),
                last: system_time(job.last),
                runs: job.runs,
                running: job.running(),
                missed: job.missed,
                skipped: job.skipped,
                failures: job.failures,
                last_failure: named.last_failure.clone(),
                paused: job.paused,
            })
        })
        .collect()
    }

    /// Does what is due, and sets the timer of the next look.
    fn follow(&mut self, ctx: &mut CronContext) {
        let mut steps = STEPS;
        while let Some(decision) = self.plan.decide(&mut steps) {
            match decision {
                JobDecision::Start(id) => self.start(ctx, id),
                JobDecision::Skipped(id, due) => {
                    self.log(id, |job| {
                        tracing::warn!(target: "krarup", job, %due, "run left out: one goes on");
                    });
                    self.report(ctx, id, |zone| CronTrouble::LeftOut { due: run_date(due, zone) });
                }
                JobDecision::Missed(id, MissedRuns { count: runs, more, last }) => {
                    self.log(id, |job| {
                        tracing::warn!(target: "krarup", job, runs, more, %last, "runs were missed");
                    });
                    let last = |zone| run_date(last, zone);
                    let missed = |zone| CronTrouble::Missed { runs, more, last: last(zone) };
                    self.report(ctx, id, missed);
                }
                JobDecision::Gone(id) => self.forget(id),
            }
        }
        let next = self.plan.wake(date(ctx.wall_time())).map(|wait| ctx.now() + wait);
        if next == self.timer.map(|(_, due)| due) {
            return;
        }
        if let Some((timer, _)) = self.timer.take() {
            ctx.disarm(timer);
        }
        self.timer = next.map(|due| {
            let timer = ctx.send_after(due.since(ctx.now()), CronRequest(CronAsk::Look));
            (timer, due)
        });
    }

    fn start(&mut self, ctx: &mut CronContext, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        match contain(|| job.work.begin(ctx, &job.name)).and_then(|begun| begun) {
            Ok(Begun::Done) => self.plan.ended(id, false),
            Ok(Begun::Runs(pid)) => drop(self.running.insert(pid, id)),
            Err(reason) => self.failed(ctx, id, &reason),
        }
    }

    fn failed(&mut self, ctx: &CronContext, id: JobId, reason: &Reason) {
        self.plan.ended(id, true);
        let text = contain(|| reason.to_string()).unwrap_or_else(|panic| panic.to_string());
        self.log(id, |job| {
            tracing::warn!(target: "krarup", job, reason = %one_line(&text), "run failed");
        });
        self.report(ctx, id, |_| CronTrouble::Failed { reason: text.clone() });
        if let Some(job) = self.jobs.get_mut(&id) {
            job.last_failure = Some(text);
        }
    }

    /// Logs something of a job. Contained: a subscriber of `tracing` is a user's.
    fn log(&self, id: JobId, log: impl FnOnce(&str)) {
        if let Some(job) = self.jobs.get(&id) {
            let _ = contain(|| log(&job.name));
        }
    }

    /// Reports something of a job, if anybody hears reports.
    fn report(&self, ctx: &CronContext, id: JobId, what: impl FnOnce(Tz) -> CronTrouble) {
        if let (Some(job), Some(planned)) = (self.jobs.get(&id), self.plan.job(id)) {
            let event = || CronEvent::new(&job.name, what(planned.times.zone()));
            ctx.supervision_log().report_cron(ctx.pid(), event);
        }
    }

    /// Waits until the runs that go on have ended, but no longer than this.
    async fn wait_for_all(&mut self, ctx: &mut CronContext, limit: Duration) {
        let due = ctx.now() + limit;
        while let Some((pid, _)) = self.running.first_key_value() {
            let (end, left) = (ctx.watch(*pid), due.since(ctx.now()));
            if !ended_before(end, ctx.sleep(left)).await {
                return;
            }
            self.running.pop_first();
        }
    }

    fn end_all(&self, ctx: &CronContext, reason: &Reason) {
        for pid in self.running.keys() {
            ctx.exit(*pid, reason.clone());
        }
    }
}

fn reading(ctx: &CronContext) -> ClockReading {
    ClockReading { now: ctx.now(), wall: date(ctx.wall_time()) }
}

fn run_date(due: Date, zone: Tz) -> RunDate {
    RunDate { at: SystemTime::from(due), text: due.with_timezone(&zone).to_rfc3339() }
}

/// Whether the process has ended before the time was over.
async fn ended_before(end: Watch, sleep: Sleep) -> bool {
    let (mut end, mut sleep) = (pin!(end), pin!(sleep));
    poll_fn(|cx| match end.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| false),
    })
    .await
}

impl Actor for Cron {
    type Message = CronRequest;

    async fn init(&mut self, ctx: &mut CronContext) -> Result {
        self.default_zone = parse_zone(&self.zone)?;
        // A child that fails ends only its own run, and all end with the cron.
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut CronContext, request: CronRequest) -> Result {
        let at = reading(ctx);
        if matches!(request.0, CronAsk::Look) {
            self.timer = None;
        }
        // What is due goes before what is asked, so that a request sees and changes the present.
        self.plan.begin(at);
        self.follow(ctx);
        match request.0 {
            CronAsk::Add(job, answer) => answer.send(self.add(at, *job)),
            CronAsk::Remove(name, answer) => {
                answer.send(self.find(name).map(|id| self.forget(id)));
            }
            CronAsk::Pause(name, answer) => {
                answer.send(self.find(name).map(|id| self.plan.pause(id)));
            }
            CronAsk::Resume(name, answer) => {
                let found = self.find(name);
                if let Ok(id) = found
                    && let Some(JobDecision::Gone(id)) = self.plan.resume(id, at)
                {
                    self.forget(id);
                }
                answer.send(found.map(drop));
            }
            CronAsk::RunNow(name, answer) => {
                let found = self.find(name);
                if let Ok(id) = found {
                    self.plan.run_now(id, at);
                    self.follow(ctx);
                }
                answer.send(found.map(drop));
            }
            CronAsk::NextRuns(name, count, answer) => {
                let dates = self.find(name).map(|id| self.plan.next_runs(id, at.wall, count));
                answer.send(dates.map(|dates| dates.into_iter().map(SystemTime::from).collect()));
            }
            CronAsk::Jobs(answer) => answer.send(Ok(self.list())),
            CronAsk::Look => return Ok(()),
        }
        self.follow(ctx);
        Ok(())
    }

    async fn handle_down(&mut self, ctx: &mut CronContext, down: Down) -> Result {
        if let Some(pid) = down.pid()
            && let Some(id) = self.running.remove(&pid)
        {
            // The exit notice of its link says nothing more.
            ctx.unlink(pid);
            if down.reason.is_abnormal() {
                self.failed(ctx, id, &down.reason);
            } else {
                self.plan.ended(id, false);
            }
            self.follow(ctx);
        }
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut CronContext, exit: Exit) -> Result {
        // The end of a run is its down notice, and a run that lives ends nobody.
        let ignored = self.running.contains_key(&exit.pid) || exit.reason == Reason::Normal;
        if ignored { Ok(()) } else { Err(exit.reason) }
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("jobs", self.jobs.len()).with("running", self.running.len())
    }

    async fn terminate(&mut self, ctx: &mut CronContext, _: &Reason) {
        self.wait_for_all(ctx, self.shutdown).await;
        self.end_all(ctx, &Reason::Shutdown);
        self.wait_for_all(ctx, KILL_GRACE).await;
        self.end_all(ctx, &Reason::Kill);
    }
}

/// What jobs have captured is a user's: one that panics must not keep the next from being dropped.
impl Drop for Cron {
    fn drop(&mut self) {
        for (_, job) in std::mem::take(&mut self.jobs) {
            let _ = contain(|| drop(job));
        }
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cron")
            .field("zone", &self.zone)
            .field("jobs", &self.jobs.len())
            .finish_non_exhaustive()
    }
}
