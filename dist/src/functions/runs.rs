//! The calls of functions that one peer has begun and that have no outcome yet.

use krarup_gen::Pid;
use krarup_wire::etf::Reference;
use std::collections::{BTreeMap, HashMap};

/// The runs of a peer, by their numbers. `S` is what says an outcome.
#[derive(Debug)]
pub(crate) struct Runs<S> {
    runs: BTreeMap<u64, PeerRun<S>>,
    /// Those whose callers can give up, by the references of their requests.
    by_reference: HashMap<Reference, u64>,
}

#[derive(Debug)]
struct PeerRun<S> {
    reference: Option<Reference>,
    phase: RunPhase<S>,
}

#[derive(Debug)]
enum RunPhase<S> {
    /// The request was not answered yet.
    Starting,
    /// It ended before the request was answered.
    Ended(S),
    Running(Pid),
}

impl<S> Default for Runs<S> {
    fn default() -> Self {
        Runs { runs: BTreeMap::new(), by_reference: HashMap::new() }
    }
}

impl<S> Runs<S> {
    /// Adds a run. Returns false if there is one with this reference.
    pub(crate) fn add(&mut self, number: u64, reference: Option<Reference>) -> bool {
        if let Some(reference) = &reference {
            if self.by_reference.contains_key(reference) {
                return false;
            }
            self.by_reference.insert(reference.clone(), number);
        }
        self.runs.insert(number, PeerRun { reference, phase: RunPhase::Starting });
        true
    }

    /// The request was answered. Returns the outcome if it is known already.
    pub(crate) fn begun(&mut self, number: u64, process: Pid) -> Option<S> {
        let run = self.runs.get_mut(&number)?;
        match std::mem::replace(&mut run.phase, RunPhase::Running(process)) {
            RunPhase::Ended(outcome) => {
                self.remove(number);
                Some(outcome)
            }
            _ => None,
        }
    }

    /// The outcome is known. Returns it, and its process, if it is to be said now.
    pub(crate) fn ended(&mut self, number: u64, outcome: S) -> Option<(Pid, S)> {
        let run = self.runs.get_mut(&number)?;
        if let RunPhase::Running(process) = run.phase {
            self.remove(number);
            return Some((process, outcome));
        }
        run.phase = RunPhase::Ended(outcome);
        None
    }

    /// The caller has given up. Returns the process that is to end.
    pub(crate) fn given_up(&mut self, reference: &Reference) -> Option<Pid> {
        let number = *self.by_reference.get(reference)?;
        match self.remove(number)?.phase {
            RunPhase::Running(process) => Some(process),
            _ => None,
        }
    }

    /// The request was refused.
    pub(crate) fn refused(&mut self, number: u64) {
        self.remove(number);
    }

    fn remove(&mut self, number: u64) -> Option<PeerRun<S>> {
        let run = self.runs.remove(&number)?;
        if let Some(reference) = &run.reference {
            self.by_reference.remove(reference);
        }
        Some(run)
    }

    /// The connection is lost. Returns the processes that are to end.
    pub(crate) fn clear(&mut self) -> Vec<Pid> {
        self.by_reference.clear();
        let runs = std::mem::take(&mut self.runs);
        let running = runs.into_values().filter_map(|run| match run.phase {
            RunPhase::Running(process) => Some(process),
            _ => None,
        });
        running.collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_wire::etf::Atom;

    fn reference(word: u32) -> Reference {
        Reference::new(Atom::fixed("a@b"), 4, &[word]).unwrap()
    }

    #[test]
    fn zcall8_an_outcome_before_the_reply_is_said_behind_it_and_once() {
        let mut runs = Runs::default();
        assert!(runs.add(1, Some(reference(1))));
        assert!(!runs.add(2, Some(reference(1))));
        assert_eq!(runs.ended(1, "first"), None);
        assert_eq!(runs.begun(1, Pid::local(7, 1)), Some("first"));
        assert_eq!((runs.ended(1, "second"), runs.len()), (None, 0));
        assert!(runs.by_reference.is_empty());
    }

    #[test]
    fn zcall8_nothing_is_said_after_the_caller_has_given_up_or_the_connection_was_lost() {
        let mut runs = Runs::default();
        let process = Pid::local(7, 1);
        for number in 1..4 {
            let word = u32::try_from(number).unwrap();
            assert!(runs.add(number, (number < 3).then(|| reference(word))));
            assert_eq!(runs.begun(number, process), None);
        }
        assert_eq!(runs.given_up(&reference(1)), Some(process));
        assert_eq!(runs.given_up(&reference(1)), None);
        assert_eq!(runs.ended(1, "late"), None);
        assert_eq!(runs.clear(), [process, process]);
        assert_eq!((runs.ended(2, "late"), runs.ended(3, "late"), runs.len()), (None, None, 0));
        assert_eq!(runs.given_up(&reference(2)), None);
    }
}
