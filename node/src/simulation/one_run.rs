//! One run of the body of an exploration.

use crate::simulation::simulation::Simulation;
use krarup_act::contain;
use krarup_gen::Result;

/// Runs the body once. What it says comes before messages that failed in their codecs.
pub(crate) fn run(sim: &Simulation, body: &mut impl FnMut(&Simulation) -> Result) -> Result {
    contain(|| body(sim)).unwrap_or_else(Err).and_then(|()| all_came_through(sim))
}

/// Returns an error if a message failed in its codec.
fn all_came_through(sim: &Simulation) -> Result {
    sim.carried().failures.into_iter().next().map_or(Ok(()), |failure| Err(failure.into()))
}
