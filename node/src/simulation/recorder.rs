//! Records the last steps of a simulation, in a bounded record, and the living processes.
//!
//! A step is recorded when it begins, so that the events within a turn follow the turn. The
//! number of its messages is added when it is over, if the line is still there.

use crate::simulation::trace::{Run, Trace, TraceEvent, TraceStep, Who};
use crate::timers::clock::Clock;
use krarup_act::{Process, Sending};
use krarup_gen::{Name, Pid, Reason};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The most steps that are kept: as many as a reader looks through, some 20 kB.
const STEPS: usize = 256;

pub(crate) struct Recorder {
    run: Run,
    clock: Arc<Clock>,
    record: Mutex<RecordedSteps>,
}

#[derive(Default)]
struct RecordedSteps {
    steps: VecDeque<TraceStep>,
    /// The number of discarded steps, which is the number of the first one that is left.
    forgotten: u64,
    living: BTreeMap<Pid, Living>,
}

struct Living {
    who: Who,
    process: Arc<dyn Process>,
    has_run: bool,
}

/// A process that a fault may hit.
pub(crate) struct Candidate {
    pub(crate) pid: Pid,
    pub(crate) name: Option<Name>,
    pub(crate) process: Arc<dyn Process>,
    label: String,
}

impl Candidate {
    fn of(Living { who, process, .. }: &Living) -> Self {
        let label = who.to_string();
        Candidate { pid: who.pid, name: who.name.clone(), process: Arc::clone(process), label }
    }

    /// Its name in the trace.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }
}

/// A turn that is running.
pub(crate) struct RunningTurn {
    step: u64,
    process: Arc<dyn Process>,
    handled: u64,
}

impl Recorder {
    pub(crate) fn new(run: Run, clock: Arc<Clock>) -> Self {
        Recorder { run, clock, record: Mutex::new(RecordedSteps::default()) }
    }

    pub(crate) fn run(&self) -> Run {
        self.run
    }

    pub(crate) fn trace(&self) -> Trace {
        let record = self.record.lock();
        let steps = record.steps.iter().cloned().collect();
        Trace { run: self.run, omitted: record.forgotten, steps }
    }

    pub(crate) fn spawned(&self, process: Arc<dyn Process>, name: Option<Name>) {
        let who = Who { pid: process.pid(), name, behavior: process.behavior() };
        let event = TraceEvent::Spawned { who: who.clone(), parent: process.parent() };
        let mut record = self.record.lock();
        record.push(&self.clock, event);
        record.living.insert(who.pid, Living { who, process, has_run: false });
    }

    pub(crate) fn named(&self, pid: Pid, name: Option<Name>) {
        if let Some(living) = self.record.lock().living.get_mut(&pid) {
            living.who.name = name;
        }
    }

    pub(crate) fn ended(&self, pid: Pid, reason: &Reason) {
        // Formatting an error runs user code: not under the lock.
        let reason = reason.to_string();
        let mut record = self.record.lock();
        let Some(Living { who, process, .. }) = record.living.remove(&pid) else { return };
        record.push(&self.clock, TraceEvent::Ended { who, reason });
        drop(record);
        // It may be the last handle.
        drop(process);
    }

    /// The living processes, in the order in which they were spawned.
    pub(crate) fn living(&self) -> Vec<Candidate> {
        self.record.lock().living.values().map(Candidate::of).collect()
    }

    /// The process, if it lives and has not had a turn.
    pub(crate) fn newcomer(&self, pid: Pid) -> Option<Candidate> {
        self.record.lock().living.get(&pid).filter(|living| !living.has_run).map(Candidate::of)
    }

    pub(crate) fn fault(&self, what: String) {
        self.record.lock().push(&self.clock, TraceEvent::Fault(what));
    }

    pub(crate) fn sent(&self, sending: &Sending) {
        let mut record = self.record.lock();
        let who = |pid| record.living.get(&pid).map(|living| living.who.clone());
        let event = TraceEvent::Sent { from: sending.from.and_then(who), sending: *sending };
        record.push(&self.clock, event);
    }

    pub(crate) fn codec_failed(&self, message: &'static str, error: String) {
        self.record.lock().push(&self.clock, TraceEvent::Codec { message, error });
    }

    /// Drops the living processes when the simulation ends: they keep their host alive, and so
    /// this record.
    pub(crate) fn forget_the_living(&self) {
        let living = std::mem::take(&mut self.record.lock().living);
        drop(living);
    }

    /// Records a timer that was set in a turn of this process.
    pub(crate) fn timer_fires(&self, owner: Option<Pid>) {
        let mut record = self.record.lock();
        let who = owner.and_then(|pid| record.living.get(&pid)).map(|living| living.who.clone());
        record.push(&self.clock, TraceEvent::Timer { owner, who });
    }

    pub(crate) fn turn_begins(&self, number: u64, pid: Pid) -> Option<RunningTurn> {
        let mut record = self.record.lock();
        let living = record.living.get_mut(&pid)?;
        living.has_run = true;
        let (who, process) = (living.who.clone(), Arc::clone(&living.process));
        let step = record.push(&self.clock, TraceEvent::Turn { number, who, handled: 0 });
        drop(record);
        let handled = process.handled();
        Some(RunningTurn { step, process, handled })
    }

    pub(crate) fn turn_is_over(&self, turn: &RunningTurn) {
        let messages = turn.process.handled().saturating_sub(turn.handled);
        let mut record = self.record.lock();
        let place = turn.step.checked_sub(record.forgotten);
        let step = place.and_then(|place| record.steps.get_mut(usize::try_from(place).ok()?));
        if let Some(TraceStep { event: TraceEvent::Turn { handled, .. }, .. }) = step {
            *handled = messages;
        }
    }
}

impl RecordedSteps {
    /// Appends a step. Returns its number.
    fn push(&mut self, clock: &Clock, event: TraceEvent) -> u64 {
        if self.steps.len() == STEPS {
            self.steps.pop_front();
            self.forgotten += 1;
        }
        self.steps.push_back(TraceStep { at: clock.now(), event });
        self.forgotten + self.steps.len() as u64 - 1
    }
}
