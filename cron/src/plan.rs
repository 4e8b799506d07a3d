//! The plan of a cron: which job runs next, and what becomes of runs that are late.
//!
//! A pure machine: jobs, times and ends of runs go in, decisions come out. Nothing here reads a
//! clock, sends or spawns.
//!
//! ```text
//!             last look                                            this look
//!   wall ────────┼──────────────┬───────────────────────┬─────────────┼──────────► next look
//!                │   missed     │       the time since the last look  │   to come,
//!                │  (the clock was set    │     late, but not missed  │   at most a minute away
//!                │   forward past them)   │                           │
//! ```
//!
//! The clock goes on by as much as the node's own time does, unless somebody sets it or the machine
//! sleeps. So a run is *missed* if it is later than the time since the last look: then the clock
//! has jumped past it. A run that is late because the cron had no turn is not missed (rules T8,
//! T9).
//!
//! Each job has a *cursor*, the first of its times that was not decided yet, and remembers the last
//! time it ran for. If the clock is set back, cursors go back with it, but never to a time that the
//! job has run for (rules T8, T9).
//!
//! Missed times are counted one by one up to [`COUNTED`] in a row. Then the cursor passes over those
//! of the rest that no run makes up for: a machine that boots in 1970 and is told the date must not
//! walk over each minute since then (rule T10).

use crate::job::{JobRules, Missed, RunsAtOnce};
use crate::pattern::{Date, RunTimes, earlier, time_between};
use krarup_gen::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::time::Duration;

/// The plan looks at the wall clock at least this often while it has jobs (rule T9).
const LOOK: Duration = Duration::from_secs(60);

/// A run that is later than the time since the last look by less than this was not missed: the
/// system corrects its clock in small steps.
const STEP: Duration = Duration::from_secs(1);

/// So many missed times in a row are counted one by one (rule T10). They take a millisecond.
const COUNTED: u64 = 1000;

/// The number of a job: jobs that are due together run in this order (rule T8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobId(u64);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobDecision {
    /// Begin a run of the job.
    Start(JobId),
    /// Report that a run was left out, because an earlier one goes on.
    Skipped(JobId, Date),
    /// Report that runs were missed.
    Missed(JobId, MissedRuns),
    /// Forget the job: its time never comes again, and its last run has ended.
    Gone(JobId),
}

/// Runs of a job that were missed in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissedRuns {
    pub(crate) count: u64,
    /// Whether there were more than the count, which were passed over.
    pub(crate) more: bool,
    pub(crate) last: Date,
}

/// A job of the plan.
pub(crate) struct PlannedJob {
    pub(crate) times: RunTimes,
    rules: JobRules,
    /// The first time that was not decided yet; `None` while paused, and when no time comes.
    pub(crate) cursor: Option<Date>,
    pub(crate) paused: bool,
    /// The last of its times that the job has run for, or has left out.
    ran_for: Option<Date>,
    /// Times up to here are missed: they were before the job was added.
    missed_until: Option<Date>,
    /// The runs that were missed in a row so far.
    gap: Option<MissedRuns>,
    running: u64,
    waiting: u64,
    /// Those that waited when the job was paused, and wait until it is resumed.
    held: u64,
    pub(crate) last: Option<Date>,
    pub(crate) runs: u64,
    pub(crate) missed: u64,
    pub(crate) skipped: u64,
    pub(crate) failures: u64,
}

/// The two times at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    pub(crate) now: Timestamp,
    pub(crate) wall: Date,
}

/// See the module.
#[derive(Default)]
pub(crate) struct CronPlan {
    jobs: BTreeMap<JobId, PlannedJob>,
    /// The cursors of all jobs that have one.
    due: BTreeSet<(Date, JobId)>,
    next_id: u64,
    /// The last look at which nothing was left to be decided, and this one.
    last: Option<ClockReading>,
    look: Option<ClockReading>,
    /// What was decided and is to be done next, in reverse order.
    decided: Vec<JobDecision>,
}

impl CronPlan {
    /// Adds a job. `None` if its time never comes.
    pub(crate) fn add(
        &mut self,
        times: RunTimes,
        rules: JobRules,
        since: Option<Date>,
        at: ClockReading,
    ) -> Option<JobId> {
        let cursor = times.after(since.unwrap_or(at.wall))?;
        let id = JobId(self.next_id);
        self.next_id += 1;
        self.due.insert((cursor, id));
        let planned = PlannedJob {
            times,
            rules,
            cursor: Some(cursor),
            paused: false,
            ran_for: since,
            missed_until: since.map(|_| at.wall),
            gap: None,
            running: 0,
            waiting: 0,
            held: 0,
            last: None,
            runs: 0,
            missed: 0,
            skipped: 0,
            failures: 0,
        };
        self.jobs.insert(id, planned);
        Some(id)
    }

    pub(crate) fn remove(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(&id)
            && let Some(cursor) = job.cursor
        {
            self.due.remove(&(cursor, id));
        }
        if self.jobs.is_empty() {
            // A first job must not be judged by a look of long ago.
            (self.last, self.look) = (None, None);
        }
    }

    pub(crate) fn job(&self, id: JobId) -> Option<&PlannedJob> {
        self.jobs.get(&id)
    }

    /// Has a job miss no time and run at none, until it is resumed.
    pub(crate) fn pause(&mut self, id: JobId) {
        self.set_cursor(id, |_| None);
        if let Some(job) = self.jobs.get_mut(&id) {
            if !job.paused {
                job.held = take(&mut job.waiting);
            }
            job.paused = true;
        }
    }

    /// Has a job go on with the runs that waited and the first time to come. If there is neither, it is gone.
    pub(crate) fn resume(&mut self, id: JobId, at: ClockReading) -> Option<JobDecision> {
        let job = self.jobs.get_mut(&id).filter(|job| job.paused)?;
        job.paused = false;
        job.waiting += take(&mut job.held);
        self.begin_waiting(id);
        self.set_cursor(id, |job| job.after(at.wall));
        self.gone(id)
    }

    /// Begins a look. [`CronPlan::decide`] says what is to be done.
    pub(crate) fn begin(&mut self, at: ClockReading) {
        if self.last.is_some_and(|last| at.wall < last.wall) {
            self.set_back(at.wall);
            self.last = Some(at);
        }
        self.look = Some(at);
    }

    /// What is to be done next in this look. At most `steps` times are decided; then the rest
    /// waits for the next look.
    pub(crate) fn decide(&mut self, steps: &mut usize) -> Option<JobDecision> {
        loop {
            if let Some(decision) = self.decided.pop() {
                return Some(decision);
            }
            let look = self.look?;
            match self.due.first() {
                Some(&(due, id)) if due <= look.wall => {
                    *steps = steps.checked_sub(1)?;
                    self.step(id, due, look);
                }
                _ => {
                    self.last = self.look.take();
                    return None;
                }
            }
        }
    }

    /// How long until the next look; `None` if nothing is to come.
    pub(crate) fn wake(&self, wall: Date) -> Option<Duration> {
        let (due, _) = self.due.first()?;
        Some(time_between(wall, *due).min(LOOK))
    }

    /// Counts a run that somebody wants now, whatever the pattern says.
    pub(crate) fn run_now(&mut self, id: JobId, at: ClockReading) {
        self.run(id, at.wall, None);
    }

    /// A run has ended.
    pub(crate) fn ended(&mut self, id: JobId, failed: bool) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.running = job.running.saturating_sub(1);
        job.failures += u64::from(failed);
        if !self.begin_waiting(id) {
            let gone = self.gone(id);
            self.decided.extend(gone);
        }
    }

    /// Begins a run that waits for those before it, if they have ended. Returns whether it has.
    fn begin_waiting(&mut self, id: JobId) -> bool {
        let waits = |job: &&mut PlannedJob| job.running == 0 && job.waiting > 0;
        let Some(job) = self.jobs.get_mut(&id).filter(waits) else { return false };
        job.waiting -= 1;
        let of = job.ran_for.or(job.last);
        job.start(of);
        self.decided.push(JobDecision::Start(id));
        true
    }

    /// The next times of a job, at most `count`.
    pub(crate) fn next_runs(&self, id: JobId, wall: Date, count: usize) -> Vec<Date> {
        let Some(job) = self.jobs.get(&id) else { return Vec::new() };
        let first = if job.paused { job.after(wall) } else { job.cursor };
        std::iter::successors(first, |date| job.times.after(*date)).take(count).collect()
    }

    /// Decides about the first time of the plan, and about all those up to it that it passes over.
    fn step(&mut self, id: JobId, due: Date, look: ClockReading) {
        let missed_until = self.missed_until(look);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let missed_until = job.missed_until.unwrap_or(missed_until).max(missed_until);
        let missed_until = missed_until.min(look.wall);
        let (missed, rules) = (due <= missed_until, job.rules);
        let due = if missed { job.miss(due, missed_until, look.wall) } else { due };
        self.set_cursor(id, |job| job.times.after(due));
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let more = missed && job.cursor.is_some_and(|next| next <= missed_until);
        let in_time = !missed || time_between(due, look.wall) <= rules.grace;
        let runs = match rules.missed {
            _ if !missed => true,
            Missed::Skip => false,
            Missed::Once => in_time && !more,
            Missed::All => in_time,
        };
        let gap = if more { None } else { job.gap.take() };
        if runs {
            self.run(id, due, Some(due));
        } else {
            let gone = self.gone(id);
            self.decided.extend(gone);
        }
        // They are popped from the end: the report comes first.
        self.decided.extend(gap.map(|runs| JobDecision::Missed(id, runs)));
    }

    /// Runs a job for one of its times, or without one.
    fn run(&mut self, id: JobId, at: Date, of: Option<Date>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.ran_for = job.ran_for.max(of);
        match job.rules.overlap {
            RunsAtOnce::Skip if job.running > 0 => {
                job.skipped += 1;
                self.decided.push(JobDecision::Skipped(id, at));
            }
            RunsAtOnce::Wait if job.running > 0 => job.waiting += 1,
            _ => {
                job.start(Some(at));
                self.decided.push(JobDecision::Start(id));
            }
        }
    }

    /// Times up to this one are missed: see the module.
    fn missed_until(&self, look: ClockReading) -> Date {
        let elapsed = self.last.map_or(Duration::ZERO, |last| look.now.since(last.now));
        match self.last {
            Some(_) => earlier(look.wall, elapsed.saturating_add(STEP)),
            None => Date::MIN_UTC,
        }
    }

    /// Has the jobs run again at the times that come anew, except those that they have run for.
    fn set_back(&mut self, wall: Date) {
        let ids: Vec<_> = self.due.iter().map(|(_, id)| *id).collect();
        for id in ids {
            self.set_cursor(id, |job| job.after(wall).into_iter().chain(job.cursor).min());
        }
    }

    fn set_cursor(&mut self, id: JobId, cursor: impl FnOnce(&PlannedJob) -> Option<Date>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let (before, after) = (job.cursor, cursor(job));
        job.cursor = after;
        if let Some(before) = before {
            self.due.remove(&(before, id));
        }
        if let Some(after) = after {
            self.due.insert((after, id));
        }
    }

    /// Whether the job has nothing to do any more.
    fn gone(&self, id: JobId) -> Option<JobDecision> {
        let job = self.jobs.get(&id)?;
        let idle = job.running == 0 && job.waiting == 0;
        (idle && job.cursor.is_none() && !job.paused).then_some(JobDecision::Gone(id))
    }
}

impl PlannedJob {
    /// The first time after this date that the job has not run for.
    fn after(&self, wall: Date) -> Option<Date> {
        self.times.after(self.ran_for.map_or(wall, |ran| ran.max(wall)))
    }

    /// Counts a time that was missed. Returns it, or the last of the missed ones that it passes
    /// over: after [`COUNTED`] all but those that a run may make up for.
    fn miss(&mut self, due: Date, missed_until: Date, wall: Date) -> Date {
        let (count, more) = self.gap.map_or((0, false), |gap| (gap.count, gap.more));
        let left_out_until = match self.rules.missed {
            Missed::Skip | Missed::Once => missed_until,
            Missed::All => missed_until.min(too_late(wall, self.rules.grace)),
        };
        let passes = count >= COUNTED && due <= left_out_until;
        let last = if passes { self.times.last_of(due, left_out_until) } else { due };
        if !passes {
            self.missed += 1;
        }
        let gap = MissedRuns { count: count + u64::from(!passes), more: more || passes, last };
        self.gap = Some(gap);
        last
    }

    fn start(&mut self, at: Option<Date>) {
        self.running += 1;
        self.runs += 1;
        self.last = self.last.max(at);
    }

    pub(crate) fn running(&self) -> u64 {
        self.running
    }
}

/// The last date that is too long ago for a run to be made up for.
fn too_late(wall: Date, grace: Duration) -> Date {
    earlier(wall, grace.saturating_add(Duration::from_nanos(1)))
}

#[cfg(test)]
mod random_patterns;
#[cfg(test)]
mod tests;
