//! Searches for the interleaving that breaks a program.
//!
//! One seed is one order of turns. [`Simulation::explore`] runs the same body with many seeds
//! and stops at the first that fails. It reports the seed, the failure, and the last steps
//! before it. The seed fails again whenever it is run, so it can be examined, and kept as a
//! test.

use crate::options::THROUGHPUT;
use crate::simulation::recorder::STEPS;
use crate::simulation::seed_file::{self, FILE_STEPS, SeedFile};
use crate::simulation::simulation::Simulation;
use crate::simulation::trace::{Run, Trace};
use crate::simulation::trace_json::json_of;
use krarup_act::contain;
use krarup_gen::{Reason, Result};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::Path;

impl Simulation {
    /// Runs `body` with a new simulation for each seed, and stops at the first seed at which
    /// `body` panics or returns an error. Odd seeds have turns of one message, so that the next
    /// process is chosen anew after each message. An empty range runs nothing.
    ///
    /// A panic in a process ends that process, not the test: `body` must check its own
    /// conditions.
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
    ///     Ok(())
    /// });
    /// ```
    ///
    /// # Panics
    /// Panics if a seed fails, with the text of the [`FailingSeed`].
    #[track_caller]
    pub fn explore(seeds: Range<u64>, body: impl FnMut(&Simulation) -> Result) {
        if let Err(failing) = Self::try_explore(seeds, body) {
            panic!("{failing}");
        }
    }

    /// As [`Simulation::explore`], but returns the failure. Returns how many seeds were run.
    ///
    /// If the environment has the variable `KRARUP_SEED_FILES` with the path of a folder, both write
    /// the failing seed into a file of it, named by the thread (which has the name of the test) and
    /// the seed. The file has the steps from the start, the last 65 536 if there are more.
    /// `krarup view FILE` opens it in the page of the observer: step by step, forwards and backwards.
    ///
    /// # Errors
    /// The first seed that fails.
    pub fn try_explore(
        seeds: Range<u64>,
        mut body: impl FnMut(&Simulation) -> Result,
    ) -> Result<u64, Box<FailingSeed>> {
        let mut explored = 0;
        let folder = seed_file::wanted();
        for seed in seeds {
            let throughput = if seed % 2 == 0 { THROUGHPUT } else { 1 };
            let sim = Simulation::with_throughput(seed, throughput);
            if folder.is_some() {
                sim.keep_steps(FILE_STEPS);
            }
            let outcome = contain(|| body(&sim)).flatten().and_then(|()| all_came_through(&sim));
            if let Err(reason) = outcome {
                let run = Run { seed, throughput };
                let steps = sim.last_steps();
                let mut failing = FailingSeed { run, reason, steps, file: None };
                failing.file =
                    folder.map(|folder| SeedFile::write(&folder, seed, &failing.to_json()));
                return Err(Box::new(failing));
            }
            explored += 1;
        }
        Ok(explored)
    }
}

/// Returns an error if a message failed in its codec.
fn all_came_through(sim: &Simulation) -> Result {
    sim.carried().failures.into_iter().next().map_or(Ok(()), |failure| Err(failure.into()))
}

/// A seed at which the body of [`Simulation::explore`] failed.
///
/// It prints the seed, the failure, how to run it again, and the last steps.
#[derive(Clone, Debug)]
pub struct FailingSeed {
    run: Run,
    reason: Reason,
    steps: Trace,
    /// If one was wanted.
    file: Option<SeedFile>,
}

impl FailingSeed {
    /// Returns the seed.
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
    /// [`Simulation::with_throughput`] if its turns had one message.
    #[must_use]
    pub fn replay(&self) -> Simulation {
        Simulation::with_throughput(self.run.seed, self.run.throughput)
    }

    /// Returns the panic of the body, with its place, or the error that it returned.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
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
        writeln!(f, "seed {seed} fails: {}", self.reason)?;
        write!(f, "it fails again with ")?;
        match seed.checked_add(1) {
            Some(next) => writeln!(f, "Simulation::explore({seed}..{next}, ..) or {}", self.run)?,
            None => writeln!(f, "{}", self.run)?,
        }
        if let Some(file) = &self.file {
            writeln!(f, "{file}")?;
        }
        if self.steps.len() > STEPS {
            return fmt::Display::fmt(&self.steps.clone().last(STEPS), f);
        }
        fmt::Display::fmt(&self.steps, f)
    }
}

impl Error for FailingSeed {}
