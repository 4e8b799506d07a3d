//! Running a simulation: turns, and virtual time.

use crate::simulation::simulation::{Simulation, simulated};
use krarup_act::Host;
use krarup_gen::{Pid, Timestamp};
use std::time::Duration;

impl Simulation {
    /// Sets the most turns at one instant of virtual time, and the most in one wait (`.wait()`,
    /// [`Simulation::block_on`]); 10 million by default, zero counts as 1. A program that does not come to rest, or
    /// does not do what is waited for, then fails its test and does not hang it: the method that runs the simulation
    /// panics, with the last steps (rule Y7).
    ///
    /// ```should_panic
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context, Received};
    /// let sim = Simulation::new(1);
    /// sim.turn_limit(1000);
    /// let busy = sim.spawn(|| behavior_fn(|mut ctx: Context<()>| async move {
    ///     while let Received::Message(()) = ctx.receive().await {
    ///         ctx.address().send(()).unwrap();
    ///     }
    ///     Ok(())
    /// }));
    /// busy.start().unwrap().send(()).unwrap();
    /// sim.run_until_idle(); // it never is
    /// ```
    pub fn turn_limit(&self, turns: u64) {
        simulated(&self.host).turn_limit.set(turns);
    }

    /// Returns how many turns there were.
    pub(crate) fn turns(&self) -> u64 {
        simulated(&self.host).turns()
    }

    /// Runs one turn of a ready process that the seed chooses. Returns the process, or `None` if
    /// none is ready.
    ///
    /// # Panics
    /// After more turns than the limit, of which none has let time pass ([`Simulation::turn_limit`]).
    pub fn step(&self) -> Option<Pid> {
        simulated(&self.host).step()
    }

    /// Runs turns until no process is ready; time does not advance. Returns the number of turns. Called by a process, also of
    /// another node, it runs none: a process does not run others within its turn.
    ///
    /// # Panics
    /// If that is never, see [`Simulation::turn_limit`].
    pub fn run_until_idle(&self) -> u64 {
        let mut turns = 0;
        while self.step().is_some() {
            turns += 1;
        }
        turns
    }

    /// Advances virtual time by this much, and runs everything that becomes due at its due time.
    ///
    /// # Panics
    /// If the processes do not come to rest at some time, see [`Simulation::turn_limit`].
    pub fn advance(&self, by: Duration) {
        let until = self.host.now() + by;
        while self.step_until(until) {}
        self.run_until_idle();
    }

    /// Runs one turn, or advances time to the next timer that is due by then. If there is
    /// neither, advances time to `until` and returns false.
    pub(crate) fn step_until(&self, until: Timestamp) -> bool {
        if self.step().is_some() {
            return true;
        }
        match simulated(&self.host).next_due() {
            Some(due) if due <= until && self.now() < Timestamp::MAX => {
                self.move_to(due);
                true
            }
            _ => {
                self.move_to(until);
                false
            }
        }
    }

    /// Runs one turn of this process if it is ready, without a choice of the seed.
    pub(crate) fn step_of(&self, pid: Pid) -> bool {
        simulated(&self.host).step_of(pid)
    }

    fn move_to(&self, to: Timestamp) {
        simulated(&self.host).move_to(to);
    }
}
