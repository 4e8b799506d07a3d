//! The choices of a simulation, each from the seed or a schedule.

use super::{Simulated, SimulatedState};
use crate::simulation::next_step::{NextStep, NextSteps};
use crate::simulation::schedule::{ChoiceKind, Schedule};

impl Simulated {
    /// The choices so far, if a schedule is followed.
    pub(crate) fn choices(&self) -> Option<Schedule> {
        self.state.lock().seeded.so_far()
    }

    pub(crate) fn random(&self) -> u64 {
        self.state.lock().seeded.number()
    }

    /// Chooses one of `count` things for a test.
    pub(crate) fn choose_of(&self, count: usize) -> usize {
        self.state.lock().seeded.choose(ChoiceKind::Test, count)
    }

    /// Chooses what is next; `None` if nothing can be.
    pub(super) fn choose(&self) -> Option<NextStep> {
        let mut faults = self.faults.lock();
        let mut state = self.state.lock();
        let SimulatedState { ready, due, seeded, works, events, passed, .. } = &mut *state;
        let now = self.clock.now();
        let holds_any = faults.holds_any(now);
        let holds = |pid| faults.holds(pid);
        let candidates = ready.candidates(if holds_any { Some(&holds) } else { None });
        let timers = due.choices();
        let before_events = candidates.count + timers + works.len();
        let count = before_events + events.ready(now);
        if count == 0 {
            return None;
        }
        let steps = NextSteps {
            ready,
            candidates: &candidates,
            bounds: [candidates.count, candidates.count + timers, before_events, count],
            passed: *passed,
        };
        let chosen = seeded.choose_named(ChoiceKind::Step, count, &steps);
        if chosen >= before_events {
            return events.take(now, chosen - before_events).map(NextStep::Network);
        }
        if chosen >= candidates.count + timers {
            return Some(NextStep::Work(works.remove(chosen - candidates.count - timers)));
        }
        if chosen >= candidates.count {
            return due.take(chosen - candidates.count).map(NextStep::Timer);
        }
        *passed = chosen;
        let (ready, number) = ready.take(&candidates, chosen);
        Some(NextStep::Turn(ready, number))
    }
}
