//! Records the last steps of a simulation, in a bounded record, and the living processes.
//!
//! A step is recorded when it begins, so that the events within a turn follow the turn. The
//! number of its messages is added when it is over, if the line is still there.

use crate::simulation::process_key::ProcessKey;
use crate::simulation::trace::{Run, Trace, TraceEvent, TraceStep, Who};
use crate::timers::clock::Clock;
use krarup_act::{Process, Sending};
use krarup_gen::{Name, Pid, Reason};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many steps are kept unless more are asked for: as many as a reader looks through, some 20 kB.
pub(crate) const STEPS: usize = 256;

pub(crate) struct Recorder {
    run: Run,
    clock: Arc<Clock>,
    record: Mutex<RecordedSteps>,
}

/// Whether the next step comes of a choice that was not the default.
type Deviates = Arc<AtomicBool>;

struct RecordedSteps {
    deviates: Deviates,
    steps: VecDeque<TraceStep>,
    /// The most steps that are kept, at least 1.
    most: usize,
    /// The number of discarded steps, which is the number of the first one that is left.
    forgotten: u64,
    living: BTreeMap<ProcessKey, Living>,
    /// The nodes that there were, by their creations. If there is one, no step names it.
    nodes: Vec<(u32, Name)>,
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
    pub(crate) fn new(run: Run, clock: Arc<Clock>, deviates: Deviates) -> Self {
        let record = RecordedSteps {
            deviates,
            steps: VecDeque::new(),
            most: STEPS,
            forgotten: 0,
            living: BTreeMap::new(),
            nodes: Vec::new(),
        };
        Recorder { run, clock, record: Mutex::new(record) }
    }

    /// Keeps the last `count` steps from now on, at least one.
    pub(crate) fn keep(&self, count: usize) {
        let mut record = self.record.lock();
        record.most = count.max(1);
        let superfluous = record.steps.len().saturating_sub(record.most);
        let dropped: Vec<TraceStep> = record.steps.drain(..superfluous).collect();
        record.forgotten += dropped.len() as u64;
    }

    pub(crate) fn node_is_made(&self, creation: u32, name: Name) {
        self.record.lock().nodes.push((creation, name));
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
        record.push(&self.clock, Some(who.pid), event);
        record.living.insert(who.pid.into(), Living { who, process, has_run: false });
    }

    pub(crate) fn named(&self, pid: Pid, name: Option<Name>) {
        if let Some(living) = self.record.lock().living.get_mut(&pid.into()) {
            living.who.name = name;
        }
    }

    pub(crate) fn ended(&self, pid: Pid, reason: &Reason) {
        // Formatting an error runs user code: not under the lock.
        let reason = reason.to_string();
        let mut record = self.record.lock();
        let Some(Living { who, process, .. }) = record.living.remove(&pid.into()) else { return };
        record.push(&self.clock, Some(pid), TraceEvent::Ended { who, reason });
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
        let record = self.record.lock();
        record.living.get(&pid.into()).filter(|living| !living.has_run).map(Candidate::of)
    }

    /// Records a fault that hits this process.
    pub(crate) fn fault(&self, pid: Option<Pid>, what: String) {
        self.record.lock().push(&self.clock, pid, TraceEvent::Fault(what));
    }

    pub(crate) fn network(&self, what: String) {
        self.record.lock().push(&self.clock, None, TraceEvent::Network(what));
    }

    pub(crate) fn sent(&self, sending: &Sending) {
        let mut record = self.record.lock();
        let who = |pid: Pid| record.living.get(&pid.into()).map(|living| living.who.clone());
        let event = TraceEvent::Sent { from: sending.from.and_then(who), sending: *sending };
        record.push(&self.clock, Some(sending.to), event);
    }

    pub(crate) fn codec_failed(&self, to: Pid, message: &'static str, error: String) {
        self.record.lock().push(&self.clock, Some(to), TraceEvent::Codec { message, error });
    }

    /// Drops the living processes of a node that ends: they keep their host alive, and so this
    /// record.
    pub(crate) fn forget_the_living(&self, creation: u32) {
        let mut record = self.record.lock();
        let all = std::mem::take(&mut record.living).into_iter();
        let (living, others): (BTreeMap<_, _>, _) =
            all.partition(|(_, living)| living.who.pid.creation() == creation);
        record.living = others;
        drop(record);
        drop(living);
    }

    /// Records a timer that was set in a turn of this process.
    pub(crate) fn timer_fires(&self, owner: Option<Pid>) {
        let mut record = self.record.lock();
        let who = owner.and_then(|pid| record.living.get(&pid.into()));
        let who = who.map(|living| living.who.clone());
        record.push(&self.clock, owner, TraceEvent::Timer { owner, who });
    }

    pub(crate) fn turn_begins(&self, number: u64, pid: Pid) -> Option<RunningTurn> {
        let mut record = self.record.lock();
        let living = record.living.get_mut(&pid.into())?;
        living.has_run = true;
        let (who, process) = (living.who.clone(), Arc::clone(&living.process));
        let event = TraceEvent::Turn { number, who, handled: 0 };
        let step = record.push(&self.clock, Some(pid), event);
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
    /// Appends a step at the node of this process. Returns its number.
    fn push(&mut self, clock: &Clock, pid: Option<Pid>, event: TraceEvent) -> u64 {
        if self.steps.len() >= self.most {
            self.steps.pop_front();
            self.forgotten += 1;
        }
        let node = pid.filter(|_| self.nodes.len() > 1).and_then(|pid| {
            let made = self.nodes.iter().find(|(creation, _)| *creation == pid.creation());
            made.map(|(_, name)| name.clone())
        });
        let deviates = self.deviates.load(Ordering::Relaxed);
        if deviates {
            self.deviates.store(false, Ordering::Relaxed);
        }
        self.steps.push_back(TraceStep { at: clock.now(), node, event, deviates });
        self.forgotten + self.steps.len() as u64 - 1
    }
}
