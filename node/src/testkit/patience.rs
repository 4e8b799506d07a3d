//! Waits in a simulation for conditions that no probe is notified of, and limits how long code
//! takes.

use crate::simulation::simulation::Simulation;
use krarup_gen::Timestamp;
use std::time::Duration;

/// How many steps a failure shows.
const STEPS_SHOWN: usize = 12;

impl Simulation {
    /// Runs until the condition holds, and no further. `what` describes the condition in words.
    /// It is checked after every turn (Akka's `awaitAssert`).
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context};
    /// # use std::time::Duration;
    /// let sim = Simulation::new(1);
    /// sim.spawn(|| behavior_fn(|mut ctx: Context<()>| async move {
    ///     ctx.sleep(Duration::from_secs(3)).await;
    ///     ctx.register("awake")?;
    ///     ctx.receive().await;
    ///     Ok(())
    /// }))
    /// .start()
    /// .unwrap();
    /// let hour = Duration::from_secs(3600);
    /// sim.run_until(hour, "somebody is awake", || sim.whereis("awake").is_some());
    /// assert_eq!(sim.now().to_string(), "3s");
    /// ```
    ///
    /// # Panics
    /// Panics if it does not hold within this time.
    #[track_caller]
    pub fn run_until(&self, within: Duration, what: &str, mut condition: impl FnMut() -> bool) {
        let until = self.now() + within;
        while !condition() {
            if !self.step_until(until) && !condition() {
                let steps = self.last_steps().last(STEPS_SHOWN);
                panic!("condition not met within {within:?}: {what}\n{steps}");
            }
        }
    }

    /// Runs `body`, which must take at most this much virtual time.
    ///
    /// # Panics
    /// Panics if it takes longer.
    #[track_caller]
    pub fn within<T>(&self, at_most: Duration, body: impl FnOnce() -> T) -> T {
        let began: Timestamp = self.now();
        let value = body();
        let took = self.now() - began;
        if took > at_most {
            let steps = self.last_steps().last(STEPS_SHOWN);
            panic!("took {took:?}, expected at most {at_most:?}\n{steps}");
        }
        value
    }
}
