//! Probes of the node itself: who is spawned, who ends, and what nobody handles.

use crate::simulation::simulation::Simulation;
use crate::testkit::probe::Probe;
use krarup_gen::{DeadLetter, DeadLetterCause, Label, Lifecycle, Name, Pid, Reason};
use std::time::Duration;

impl<'a> Probe<'a, Lifecycle> {
    /// A probe that is told of the life of all other processes, from now on.
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
    /// As [`Probe::spawn`].
    #[must_use]
    #[track_caller]
    pub fn of_lives(sim: &'a Simulation) -> Self {
        let probe = Probe::spawn(sim);
        sim.subscribe_lifecycle(probe.recipient());
        probe
    }

    /// A process of this name is spawned, or of a behaviour whose type is called so, with its path
    /// or without: its pid. What else happens before is passed over.
    ///
    /// # Panics
    /// If none is within this time.
    #[track_caller]
    pub fn expect_spawned(&self, within: Duration, who: &str) -> Pid {
        let is_called = |name: &Option<Name>, behavior: &Label| {
            let short = behavior.to_string();
            name.as_ref().is_some_and(|name| name.as_str() == who)
                || behavior.full() == who
                || short == who
                || short.split('<').next() == Some(who)
        };
        let spawned = self.fish(within, &format!("the birth of {who:?}"), |life| {
            matches!(life, Lifecycle::Spawned { name, behavior, .. } if is_called(name, behavior))
        });
        spawned.pid()
    }

    /// This process ends: its reason. What else happens before is passed over.
    ///
    /// # Panics
    /// If it does not within this time.
    #[track_caller]
    pub fn expect_ended(&self, within: Duration, pid: Pid) -> Reason {
        let what = format!("the end of {}", self.name_of(pid));
        let is_its_end =
            |life: &Lifecycle| matches!(life, Lifecycle::Ended { pid: ended, .. } if *ended == pid);
        match self.fish(within, &what, is_its_end) {
            Lifecycle::Ended { reason, .. } => reason,
            // Not reached: it was looked for.
            _ => Reason::Normal,
        }
    }
}

impl<'a> Probe<'a, DeadLetter> {
    /// A probe that is told of every message to others that nobody handles, from now on.
    ///
    /// # Panics
    /// As [`Probe::spawn`].
    #[must_use]
    #[track_caller]
    pub fn of_dead_letters(sim: &'a Simulation) -> Self {
        let probe = Probe::spawn(sim);
        sim.subscribe_dead_letters(probe.recipient());
        probe
    }

    /// The next dead letter is of a message of type `T`: why nobody handled it.
    ///
    /// # Panics
    /// If it is of another, or none comes within this time.
    #[track_caller]
    pub fn expect_dead_letter<T>(&self, within: Duration) -> DeadLetterCause {
        let name = std::any::type_name::<T>();
        let what = format!("a dead letter of a {name}");
        self.expect_that(within, &what, |letter| letter.message == name).cause
    }
}
