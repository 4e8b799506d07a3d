//! Searches for the interleaving that breaks a program.
//!
//! One seed is one order of turns. [`Simulation::explore`] runs the same body with many seeds
//! and stops at the first that fails. It reports the seed, the failure, and the last steps
//! before it. The seed fails again whenever it is run, so it can be examined, and kept as a
//! test. The run is shrunk to one with as few choices that matter as can be found.

use crate::options::THROUGHPUT;
use crate::simulation::explore_settings::{ExploreSettings, NothingExplored};
use crate::simulation::one_run::run;
use crate::simulation::recorder::STEPS;
use crate::simulation::schedule::Schedule;
use crate::simulation::seed_file::{FILE_STEPS, SeedFile};
use crate::simulation::shrinking::MOST_CHOICES;
use crate::simulation::shrunk::{DoesNotFailAgain, ShrunkFailure};
use crate::simulation::simulation::Simulation;
use crate::simulation::trace::{Run, Trace};
use crate::simulation::trace_json::json_of;
use krarup_gen::{Reason, Result};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::Path;

impl Simulation {
    /// Runs `body` with a new simulation for each seed, and stops at the first seed at which
    /// `body` panics or returns an error. Odd seeds have turns of one message, so that the next
    /// process is chosen anew after each message.
    ///
    /// A process that crashes, by a panic or an error, fails no seed. It ends, and nothing else does:
    /// `body` must check its own conditions. That nothing has crashed is one of them:
    /// `assert!(sim.view().crashes(0, 1).items.is_empty())`.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context, Received};
    /// Simulation::explore(0..100, |sim| {
    ///     let echo = sim.spawn(|| behavior_fn(|mut ctx: Context<u32>| async move {
    ///         while let Received::Message(_) = ctx.receive().await {}
    ///         Ok(())
    ///     }));
    ///     let echo = echo.wait()?;
    ///     echo.send(1)?;
    ///     sim.run_until_idle();
    ///     assert_eq!(echo.info().handled, 1);
    ///     assert!(sim.view().crashes(0, 1).items.is_empty());
    ///     Ok(())
    /// });
    /// ```
    ///
    /// # Panics
    /// Panics if a seed fails, with the text of the [`FailingSeed`]. Panics if no seed can be run,
    /// because the range is empty or a variable of the environment is not valid: a test that runs
    /// nothing could not fail.
    #[track_caller]
    pub fn explore(seeds: Range<u64>, body: impl FnMut(&Simulation) -> Result) {
        if let Err(failing) = Self::try_explore(seeds, body) {
            panic!("{failing}");
        }
    }

    /// As [`Simulation::explore`], but returns the failure. Returns how many seeds were run.
    ///
    /// A failure is **shrunk**: the body is run again, up to 400 times and for a minute, to find a run with fewer choices
    /// that differ from the order of arrival, and that still fails in the same way
    /// ([`FailingSeed::shrunk`]). `KRARUP_SHRINK=0` in the environment leaves that out, another
    /// number is the most runs. Panics and logs of these runs are not printed. A run of more than 4 million turns is not
    /// shrunk.
    ///
    /// `KRARUP_SCHEDULE` with the text of a [`Schedule`] runs that schedule instead of the seeds, if
    /// its seed is among them.
    ///
    /// If the environment has the variable `KRARUP_SEED_FILES` with the path of a folder, both write
    /// the failing seed into a file of it, named by the thread (which has the name of the test) and
    /// the seed. The file has the steps from the start, the last 65 536 if there are more.
    /// `krarup view FILE` opens it in the page of the observer: step by step, forwards and backwards.
    ///
    /// # Errors
    /// The first seed that fails. If the range is empty, or `KRARUP_SHRINK` or `KRARUP_SCHEDULE` has
    /// a value that is not valid, an error that names it; no seed was run.
    pub fn try_explore(
        seeds: Range<u64>,
        body: impl FnMut(&Simulation) -> Result,
    ) -> Result<u64, Box<FailingSeed>> {
        match ExploreSettings::of_environment() {
            Ok(settings) => explore_with(seeds, &settings, body),
            Err(why) => Err(Box::new(FailingSeed::nothing_explored(seeds.start, why))),
        }
    }
}

fn explore_with(
    seeds: Range<u64>,
    settings: &ExploreSettings,
    mut body: impl FnMut(&Simulation) -> Result,
) -> Result<u64, Box<FailingSeed>> {
    if seeds.is_empty() {
        let first = seeds.start;
        let why = NothingExplored::EmptyRange(seeds);
        return Err(Box::new(FailingSeed::nothing_explored(first, why)));
    }
    // It may be a schedule of another exploration.
    let scheduled = settings.schedule.as_ref();
    if let Some(schedule) = scheduled.filter(|schedule| seeds.contains(&schedule.run.seed)) {
        let sim = Simulation::with_schedule(schedule.clone());
        sim.keep_steps(FILE_STEPS);
        let outcome = run(&sim, &mut body);
        return outcome.map(|()| 1).map_err(|reason| {
            let mut failing = failing(settings, schedule.run, reason, sim.last_steps());
            failing.explored = Explored::Schedule(schedule.clone());
            Box::new(failing)
        });
    }
    let mut explored = 0;
    for seed in seeds {
        let throughput = if seed % 2 == 0 { THROUGHPUT } else { 1 };
        let sim = Simulation::with_throughput(seed, throughput);
        if settings.folder.is_some() {
            sim.keep_steps(FILE_STEPS);
        }
        if let Err(reason) = run(&sim, &mut body) {
            let mut failing = failing(settings, Run { seed, throughput }, reason, sim.last_steps());
            // A run that is as long as a whole search is not run again.
            let most_runs = if sim.turns() > MOST_CHOICES { 0 } else { settings.most_runs };
            drop(sim);
            match ShrunkFailure::of(failing.run, &failing.reason, most_runs, &mut body) {
                Ok(shrunk) => failing.shrunk = shrunk,
                Err(DoesNotFailAgain) => failing.repeats = false,
            }
            return Err(Box::new(failing));
        }
        explored += 1;
    }
    Ok(explored)
}

fn failing(settings: &ExploreSettings, run: Run, reason: Reason, steps: Trace) -> FailingSeed {
    let mut failing = FailingSeed::new(run, reason, steps);
    let folder = settings.folder.as_ref();
    failing.file = folder.map(|folder| SeedFile::write(folder, run.seed, &failing.to_json()));
    failing
}

/// A seed at which the body of [`Simulation::explore`] failed, or why no seed was run.
///
/// It prints the seed, the failure, how to run it again, and the [`ShrunkFailure`], or the last steps
/// if there is none.
#[derive(Clone, Debug)]
pub struct FailingSeed {
    run: Run,
    explored: Explored,
    reason: Reason,
    steps: Trace,
    /// If one was wanted.
    file: Option<SeedFile>,
    shrunk: Option<ShrunkFailure>,
    /// Whether the run fails again, as far as that was tried.
    repeats: bool,
}

/// What an exploration has run last.
#[derive(Clone, Debug)]
enum Explored {
    Seed,
    /// The schedule of the environment.
    Schedule(Schedule),
    Nothing,
}

impl FailingSeed {
    fn new(run: Run, reason: Reason, steps: Trace) -> Self {
        let explored = Explored::Seed;
        FailingSeed { run, explored, reason, steps, file: None, shrunk: None, repeats: true }
    }

    fn nothing_explored(first: u64, why: NothingExplored) -> Self {
        let run = Run { seed: first, throughput: THROUGHPUT };
        let steps = Trace { run, omitted: 0, steps: Vec::new() };
        FailingSeed { explored: Explored::Nothing, ..Self::new(run, why.into(), steps) }
    }

    /// Returns the seed; the first one of the range if none was run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.run.seed
    }

    /// Returns the most messages of a turn.
    #[must_use]
    pub fn throughput(&self) -> u32 {
        self.run.throughput
    }

    /// Returns a simulation in which the same body fails: [`Simulation::new`] with this seed, or
    /// [`Simulation::with_throughput`] if its turns had one message, or
    /// [`Simulation::with_schedule`] if the environment had a schedule.
    #[must_use]
    pub fn replay(&self) -> Simulation {
        if let Explored::Schedule(schedule) = &self.explored {
            return Simulation::with_schedule(schedule.clone());
        }
        Simulation::with_throughput(self.run.seed, self.run.throughput)
    }

    /// Returns the panic of the body, with its place, or the error that it returned; or why no seed
    /// was run.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns a simpler run that fails in the same way: the one that was found with the fewest
    /// deviations from the order of arrival. `None` if the body did not fail again, if shrinking is off, or if nothing
    /// can be left out.
    #[must_use]
    pub fn shrunk(&self) -> Option<&ShrunkFailure> {
        self.shrunk.as_ref()
    }

    /// Returns false if the same run was made again and did not fail in this way: then the body depends on something
    /// besides the seed. (It is not made again if `KRARUP_SHRINK` is 0.)
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the last steps before the failure.
    #[must_use]
    pub fn last_steps(&self) -> &Trace {
        &self.steps
    }

    /// Returns the seed, the failure and the last steps as a file that `krarup view FILE` opens in
    /// the page of the observer.
    #[must_use]
    pub fn to_json(&self) -> String {
        json_of(&self.steps, Some(&self.reason))
    }

    /// Returns the path of its file, if one was wanted and written
    /// ([`Simulation::try_explore`]).
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_ref().and_then(SeedFile::path)
    }
}

impl fmt::Display for FailingSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.run.seed;
        if let Explored::Nothing = self.explored {
            return write!(f, "no seed was run: {}", self.reason);
        }
        writeln!(f, "seed {seed} fails: {}", self.reason)?;
        if self.repeats {
            write!(f, "it fails again with ")?;
        } else {
            writeln!(
                f,
                "run again, it did not fail in this way: the body depends on something besides the seed, such as a \
                 clock, a static variable, or the order of a HashMap"
            )?;
            write!(f, "the seed was run with ")?;
        }
        match (&self.explored, seed.checked_add(1)) {
            (Explored::Schedule(schedule), _) => writeln!(f, "KRARUP_SCHEDULE={schedule}")?,
            (_, Some(next)) => {
                writeln!(f, "Simulation::explore({seed}..{next}, ..) or {}", self.run)?;
            }
            (_, None) => writeln!(f, "{}", self.run)?,
        }
        if let Some(file) = &self.file {
            writeln!(f, "{file}")?;
        }
        if let Some(shrunk) = &self.shrunk {
            return fmt::Display::fmt(shrunk, f);
        }
        if self.steps.len() > STEPS {
            return fmt::Display::fmt(&self.steps.clone().last(STEPS), f);
        }
        fmt::Display::fmt(&self.steps, f)
    }
}

impl Error for FailingSeed {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn settings(schedule: Option<&str>, most_runs: u32) -> ExploreSettings {
        let schedule = schedule.map(|text| text.parse().unwrap());
        ExploreSettings { folder: None, most_runs, schedule }
    }

    /// Fails if three chosen numbers add up.
    fn sums(sim: &Simulation) -> Result {
        let sum: usize = (0..3).map(|_| sim.choose(10)).sum();
        if sum < 20 { Ok(()) } else { Err(Reason::error(format!("{sum} is too much"))) }
    }

    #[test]
    fn y4_a_schedule_of_the_environment_is_run_if_its_seed_is_asked_for() {
        let chosen = settings(Some("7.1.3:t0=9,t1=8,t2=7"), 0);
        let failing = explore_with(0..10, &chosen, sums).unwrap_err();
        assert_eq!((failing.seed(), failing.reason()), (7, &Reason::error("24 is too much")));
        assert!(failing.shrunk().is_none());
        // The seed may pass without it.
        let again = "it fails again with KRARUP_SCHEDULE=7.1.3:t0=9,t1=8,t2=7\nthe last";
        assert!(failing.to_string().contains(again), "{failing}");
        assert_eq!(sums(&failing.replay()).unwrap_err(), *failing.reason());
        assert_eq!(explore_with(0..10, &settings(Some("7.1.3"), 0), sums).unwrap(), 1);
        // Another exploration of the same program has other seeds.
        let runs = Cell::new(0);
        let counted = |_: &Simulation| {
            runs.set(runs.get() + 1);
            Ok(())
        };
        assert_eq!(explore_with(10..15, &chosen, counted).unwrap(), 5);
        assert_eq!(runs.get(), 5);
    }

    #[test]
    fn y4_a_failure_that_does_not_come_again_is_not_said_to() {
        let runs = Cell::new(0);
        let once = |_: &Simulation| {
            runs.set(runs.get() + 1);
            if runs.get() == 8 { Err(Reason::error("once")) } else { Ok(()) }
        };
        let failing = explore_with(0..100, &settings(None, 400), once).unwrap_err();
        let text = failing.to_string();
        assert!(!failing.repeats() && failing.shrunk().is_none() && runs.get() == 9);
        assert!(
            text.contains("\nrun again, it did not fail in this way") && text.contains("7..8"),
            "{text}"
        );
        assert!(!text.contains("it fails again"), "{text}");
        let failing = explore_with(0..100, &settings(None, 400), sums).unwrap_err();
        assert!(failing.repeats() && failing.to_string().contains("\nit fails again with"));
    }

    #[test]
    fn y4_a_failure_is_shrunk_within_the_runs_that_are_allowed() {
        let failing = explore_with(0..100, &settings(None, 400), sums).unwrap_err();
        let shrunk = failing.shrunk().unwrap();
        assert_eq!(shrunk.schedule().choices(), 3);
        assert!(shrunk.schedule().deviations() <= failing.shrunk().unwrap().before().deviations());
        assert!(explore_with(0..100, &settings(None, 0), sums).unwrap_err().shrunk().is_none());
        let one = explore_with(0..100, &settings(None, 1), sums).unwrap_err();
        assert_eq!(one.shrunk().unwrap().runs(), 2);
        // Nothing can be left out.
        let fails = |_: &Simulation| Err(Reason::error("no"));
        assert!(explore_with(0..1, &settings(None, 400), fails).unwrap_err().shrunk().is_none());
    }
}
