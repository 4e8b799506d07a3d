//! What can be next in a simulation, and how a schedule names it.

use crate::simulation::due_timers::Due;
use crate::simulation::ready_lists::{Candidates, ReadyLists};
use crate::simulation::schedule::StepName;
use crate::simulation::seeded::NamedItems;
use krarup_act::{NetworkEvent, Ready};

/// Work that may block: see [`Host::block`](krarup_act::Host::block).
pub(crate) struct SimulatedWork {
    /// The creation of the node.
    pub(crate) node: u32,
    pub(crate) run: Box<dyn FnOnce() + Send>,
}

/// The next step.
pub(crate) enum NextStep {
    Turn(Ready, u64),
    Timer(Due),
    Work(SimulatedWork),
    Network(NetworkEvent),
}

/// What could be next, as a schedule names it: a process by its number, all else by its place.
pub(crate) struct NextSteps<'a> {
    pub(crate) ready: &'a ReadyLists,
    pub(crate) candidates: &'a Candidates,
    /// The ends of the processes, the timers, the work and the events of the network.
    pub(crate) bounds: [usize; 4],
    /// How many processes were passed over for the last turn, and for those before it.
    pub(crate) passed: usize,
}

impl NextSteps<'_> {
    /// The number of a process, which is the same on each run.
    fn number(&self, step: usize) -> usize {
        usize::try_from(self.ready.candidate(self.candidates, step).id()).unwrap_or(usize::MAX)
    }
}

impl NamedItems for NextSteps<'_> {
    fn default_item(&self) -> usize {
        if self.passed < self.bounds[0] { self.passed } else { 0 }
    }

    fn name(&self, step: usize) -> usize {
        let kind = self.bounds.iter().filter(|end| **end <= step).count();
        match kind.checked_sub(1) {
            None => StepName::of(0, self.number(step)),
            Some(before) => StepName::of(kind, step - self.bounds[before]),
        }
    }

    fn find(&self, name: usize) -> Option<usize> {
        let (kind, number) = StepName::parts(name);
        let Some(before) = kind.checked_sub(1) else {
            return (0..self.bounds[0]).find(|step| self.number(*step) == number);
        };
        let (begin, end) = (self.bounds[before], *self.bounds.get(kind)?);
        (number < end - begin).then(|| begin + number)
    }
}
