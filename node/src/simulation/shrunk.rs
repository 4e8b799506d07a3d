//! The shrunk run of a failing seed: its schedule, and the steps that matter.

use crate::simulation::one_run::run;
use crate::simulation::schedule::Schedule;
use crate::simulation::seed_file::FILE_STEPS;
use crate::simulation::shrinking::{Shrinking, is_same_failure};
use crate::simulation::simulation::Simulation;
use crate::simulation::trace::{Run, Trace};
use krarup_act::contain_quietly;
use krarup_gen::{Reason, Result};
use std::fmt;
use tracing::subscriber::{NoSubscriber, with_default};

/// How many of the last steps are printed, besides those that deviate.
const LAST: usize = 12;

/// A run that fails as the seed does, with as few choices that deviate from the order of arrival
/// as were found.
///
/// It prints its schedule, the steps that deviate (`>`), and the last ones.
#[derive(Clone, Debug)]
pub struct ShrunkFailure {
    schedule: Schedule,
    before: Schedule,
    reason: Reason,
    steps: Trace,
    runs: u32,
}

/// The run of a failing seed, made again, did not fail in the same way: the body depends on something besides the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoesNotFailAgain;

impl ShrunkFailure {
    /// Shrinks a failure; `None` if there is nothing to shrink, or no run is wanted.
    ///
    /// # Errors
    /// [`DoesNotFailAgain`]
    pub(crate) fn of(
        first: Run,
        reason: &Reason,
        most_runs: u32,
        body: &mut impl FnMut(&Simulation) -> Result,
    ) -> Result<Option<Self>, DoesNotFailAgain> {
        if most_runs == 0 {
            return Ok(None);
        }
        let mut fails = |schedule: &Schedule, keep: Option<usize>| {
            // The failure was reported; these runs are a search.
            let silently = || contain_quietly(|| again(schedule, keep, body));
            let (made, outcome, steps) = with_default(NoSubscriber::new(), silently).ok()?;
            let reason = outcome.err().filter(|other| is_same_failure(reason, other))?;
            Some((made, reason, steps))
        };
        let Some((before, ..)) = fails(&Schedule::of_seed(first), None) else {
            return Err(DoesNotFailAgain);
        };
        if before.deviations() == 0 {
            return Ok(None);
        }
        let mut shrinking = Shrinking::new(before.clone(), most_runs, |schedule: &Schedule| {
            Some(fails(schedule, None)?.0)
        });
        let best = shrinking.search();
        let runs = shrinking.runs + 1;
        let found = fails(&best, Some(FILE_STEPS));
        Ok(found.map(|(schedule, reason, steps)| ShrunkFailure {
            schedule,
            before,
            reason,
            steps,
            runs,
        }))
    }

    /// Returns the schedule. Its text is what `KRARUP_SCHEDULE` takes.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the choices of the run before it was shrunk.
    #[must_use]
    pub fn before(&self) -> &Schedule {
        &self.before
    }

    /// Returns a simulation in which the same body fails.
    #[must_use]
    pub fn replay(&self) -> Simulation {
        Simulation::with_schedule(self.schedule.clone())
    }

    /// Returns the panic of the body, with its place, or the error that it returned.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns the steps of the run, the last 65 536 if there are more.
    #[must_use]
    pub fn last_steps(&self) -> &Trace {
        &self.steps
    }

    /// Returns how many runs the search took.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs
    }
}

/// One run of a schedule: the choices that were made, how the body ended, and the steps.
fn again(
    schedule: &Schedule,
    keep: Option<usize>,
    body: &mut impl FnMut(&Simulation) -> Result,
) -> (Schedule, Result, Trace) {
    let sim = Simulation::with_schedule(schedule.clone());
    if let Some(keep) = keep {
        sim.keep_steps(keep);
    }
    let outcome = run(&sim, body);
    let made = sim.choices().unwrap_or_else(|| schedule.clone());
    (made, outcome, sim.last_steps())
}

impl fmt::Display for ShrunkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShrunkFailure { schedule, before, reason, steps, runs } = self;
        let of = |it: &Schedule| format!("{} of {} choices", it.deviations(), it.choices());
        writeln!(
            f,
            "shrunk in {runs} runs, from {} that deviate from the order of arrival to {}: {reason}",
            of(before),
            of(schedule)
        )?;
        write!(f, "it fails again with KRARUP_SCHEDULE={schedule}")?;
        let last = steps.len().saturating_sub(LAST);
        let mut left_out = steps.omitted;
        for (number, step) in steps.steps.iter().enumerate() {
            if number < last && !step.deviates {
                left_out += 1;
                continue;
            }
            if std::mem::take(&mut left_out) > 0 {
                f.write_str("\n  ..")?;
            }
            write!(f, "\n{} {step}", if step.deviates { '>' } else { ' ' })?;
        }
        Ok(())
    }
}
