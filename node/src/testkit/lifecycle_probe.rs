//! Probes of the node itself: spawned processes, ended processes, and dead letters.

use crate::simulation::simulation::Simulation;
use crate::testkit::probe::Probe;
use krarup_gen::{DeadLetter, DeadLetterCause, Label, Lifecycle, Name, Pid, Reason};
use std::time::Duration;

impl<'a> Probe<'a, Lifecycle> {
    /// Makes a probe that is notified of the lifecycle of all other processes, from now on.
    ///
    /// ```
    /// # use krarup_node::{Probe, Simulation};
    /// # use krarup_act::{behavior_fn, Context};
    /// # use krarup_gen::Reason;
    /// # use std::time::Duration;
    /// let sim = Simulation::new(1);
    /// let lives = Probe::of_lives(&sim);
    /// let parent = sim.spawn(|| behavior_fn(|ctx: Context<()>| async move {
    ///     let child = behavior_fn(|_: Context<()>| async { Err(Reason::error("not today")) });
    ///     ctx.spawn(|| child).name("child").start()?;
    ///     Ok(())
    /// }));
    /// parent.start().unwrap();
    /// let child = lives.expect_spawned(Duration::ZERO, "child");
    /// assert_eq!(lives.expect_ended(Duration::ZERO, child).to_string(), "not today");
    /// ```
    ///
    /// # Panics
    /// Panics as [`Probe::spawn`] does.
    #[must_use]
    #[track_caller]
    pub fn of_lives(sim: &'a Simulation) -> Self {
        let probe = Probe::spawn(sim);
        sim.subscribe_lifecycle(probe.recipient());
        probe
    }

    /// Expects that a process with this name is spawned, or one with this type name as its
    /// behaviour, with or without its path. Returns its pid. Earlier events are dropped.
    ///
    /// # Panics
    /// Panics if none is spawned within this time.
    #[track_caller]
    pub fn expect_spawned(&self, within: Duration, who: &str) -> Pid {
        let is_called = |name: &Option<Name>, behavior: &Label| {
            let short = behavior.to_string();
            name.as_ref().is_some_and(|name| name.as_str() == who)
                || behavior.full() == who
                || short == who
                || short.split('<').next() == Some(who)
        };
        let spawned = self.fish(within, &format!("the spawn of {who:?}"), |life| {
            matches!(life, Lifecycle::Spawned { name, behavior, .. } if is_called(name, behavior))
        });
        spawned.pid()
    }

    /// Expects that this process ends. Returns its reason. Earlier events are dropped.
    ///
    /// # Panics
    /// Panics if it does not end within this time.
    #[track_caller]
    pub fn expect_ended(&self, within: Duration, pid: Pid) -> Reason {
        let what = format!("the end of {}", self.name_of(pid));
        let is_its_end =
            |life: &Lifecycle| matches!(life, Lifecycle::Ended { pid: ended, .. } if *ended == pid);
        match self.fish(within, &what, is_its_end) {
            Lifecycle::Ended { reason, .. } => reason,
            // Not reached: `fish` has selected an end.
            _ => Reason::Normal,
        }
    }
}

impl<'a> Probe<'a, DeadLetter> {
    /// Makes a probe that is notified of every dead letter for other processes, from now on.
    ///
    /// # Panics
    /// Panics as [`Probe::spawn`] does.
    #[must_use]
    #[track_caller]
    pub fn of_dead_letters(sim: &'a Simulation) -> Self {
        let probe = Probe::spawn(sim);
        sim.subscribe_dead_letters(probe.recipient());
        probe
    }

    /// Expects that the next dead letter is a message of type `T`. Returns its cause.
    ///
    /// # Panics
    /// Panics if it is of another type, or none arrives within this time.
    #[track_caller]
    pub fn expect_dead_letter<T>(&self, within: Duration) -> DeadLetterCause {
        let name = std::any::type_name::<T>();
        let what = format!("a dead letter of a {name}");
        self.expect_that(within, &what, |letter| letter.message == name).cause
    }
}
