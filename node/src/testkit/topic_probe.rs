//! Probes of topics.

use crate::simulation::simulation::Simulation;
use crate::testkit::probe::Probe;
use krarup_act::Topic;
use std::fmt;

impl<'a, T: Clone + fmt::Debug + Send + Sync + 'static> Probe<'a, T> {
    /// Makes a probe that is subscribed to a topic, from now on (rule E12). Events that the topic
    /// has kept are not among those it expects.
    ///
    /// ```
    /// # use krarup_node::{Probe, Simulation};
    /// # use std::time::Duration;
    /// let sim = Simulation::new(1);
    /// let prices = sim.open_topic::<u32>("prices").open().unwrap();
    /// let probe = Probe::of(&sim, &prices.topic());
    /// prices.publish(7).unwrap();
    /// probe.expect_message(Duration::ZERO, &7);
    /// ```
    ///
    /// # Panics
    /// Panics if the topic has ended, and as [`Probe::spawn`] does.
    #[must_use]
    #[track_caller]
    pub fn of(sim: &'a Simulation, topic: &Topic<T>) -> Self {
        let probe = Probe::spawn(sim);
        let topic = topic.clone();
        if let Err(error) = probe.run(move |ctx| ctx.subscribe(&topic).start().map(drop)) {
            panic!("{error}");
        }
        probe
    }
}
