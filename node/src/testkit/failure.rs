//! The failure of a probe whose expectation was not met.

use crate::simulation::trace::Trace;
use crate::testkit::probe::Probe;
use crate::testkit::probe_process::{Arrived, ProbeMail};
use krarup_gen::Pid;
use std::fmt;
use std::time::Duration;

/// How many steps a failure shows.
const STEPS_SHOWN: usize = 12;

impl<M: fmt::Debug + Send + 'static> Probe<'_, M> {
    #[track_caller]
    pub(crate) fn fail(
        &self,
        what: &str,
        within: Duration,
        came: Option<&Arrived<M>>,
        passed: &[Arrived<M>],
    ) -> ! {
        let came = match came {
            Some(came) => format!("there came {}", self.describe(came)),
            None if !self.node.is_alive(self.pid()) => "it has ended".to_owned(),
            None if passed.is_empty() => format!("nothing arrived until {}", self.sim.now()),
            None => format!("no match arrived until {}", self.sim.now()),
        };
        let before = passed.iter().map(|item| ("before", self.describe(item)));
        let waiting = self.kept.arrived.lock();
        let behind = waiting.iter().map(|item| ("behind", self.describe(item)));
        let around: String = before
            .chain(behind)
            .map(|(when, item)| ["\n  ", when, " that: ", &item].concat())
            .collect();
        drop(waiting);
        let steps: Trace = self.sim.last_steps().last(STEPS_SHOWN);
        panic!("{} expected {what} within {within:?}, but {came}{around}\n{steps}", self.label());
    }

    fn describe(&self, arrived: &Arrived<M>) -> String {
        let from = match arrived.from {
            Some(pid) => format!("from {}", self.name_of(pid)),
            None => "from outside".to_owned(),
        };
        let at = arrived.at;
        match &arrived.item {
            ProbeMail::Message(message) => format!("{message:?} at {at} {from}"),
            ProbeMail::Other(other) => format!("a {} at {at} {from}", other.type_name()),
            ProbeMail::Exit(exit) => {
                format!("an exit signal of {} at {at}: {}", self.name_of(exit.pid), exit.reason)
            }
            ProbeMail::Down(down) => {
                let whom =
                    down.pid().map_or_else(|| down.target.to_string(), |pid| self.name_of(pid));
                format!("the end of {whom}, monitored, at {at}: {}", down.reason)
            }
        }
    }

    pub(crate) fn label(&self) -> String {
        format!("probe {}", self.name_of(self.pid()))
    }

    /// The pid, with the name if the process lives and has one.
    pub(crate) fn name_of(&self, pid: Pid) -> String {
        match self.node.process_info(pid).and_then(|info| info.name) {
            Some(name) => format!("{pid} {name:?}"),
            None => pid.to_string(),
        }
    }
}
