//! The records of the items that a process takes, whatever their types: its flight recorder and
//! its trace (rules V16, V21).
//!
//! The mailbox and the context of a recorded process point at one log. A process that neither
//! records nor is traced has none, and its messages do not take the detour.

use crate::observe::trace_ring::TraceRing;
use crate::sync::Mutex;
use krarup_gen::{Recorded, RecordedItem, Timestamp, TraceEnd};
use std::collections::VecDeque;
use std::sync::Arc;

/// The flight recorder and the trace of a process.
#[derive(Default)]
pub(crate) struct ItemLog(Mutex<LogState>);

/// A log that a process is to use from now on; `None` if both parts are off.
pub(crate) struct ChangedLog(pub(crate) Option<Arc<ItemLog>>);

#[derive(Default)]
struct LogState {
    /// How many items the flight recorder keeps; 0: it is off.
    size: usize,
    /// How many items were recorded.
    count: u64,
    recorded: VecDeque<Recorded<RecordedItem>>,
    trace: Option<Arc<TraceRing>>,
}

impl ItemLog {
    /// Sets how many items the flight recorder keeps. The oldest are dropped if there are more.
    pub(crate) fn record(&self, items: usize) {
        let gone: Vec<_> = {
            let mut state = self.0.lock();
            state.size = items;
            let surplus = state.recorded.len().saturating_sub(items);
            state.recorded.drain(..surplus).collect()
        };
        drop(gone);
    }

    /// How many items the flight recorder keeps.
    pub(crate) fn size(&self) -> usize {
        self.0.lock().size
    }

    /// Returns the recorded items, the oldest first.
    pub(crate) fn recorded(&self) -> Vec<Recorded<RecordedItem>> {
        self.0.lock().recorded.iter().cloned().collect()
    }

    /// Sets the trace. Returns the one that it replaces.
    pub(crate) fn set_trace(&self, trace: Arc<TraceRing>) -> Option<Arc<TraceRing>> {
        self.0.lock().trace.replace(trace)
    }

    /// Ends the trace. Returns whether one was running.
    pub(crate) fn end_trace(&self, end: TraceEnd) -> bool {
        let trace = self.0.lock().trace.take();
        trace.is_some_and(|trace| trace.finish(end))
    }

    /// Whether a trace runs.
    pub(crate) fn is_tracing(&self) -> bool {
        self.0.lock().trace.as_ref().is_some_and(|trace| !trace.has_ended())
    }

    /// Whether no item is recorded.
    pub(crate) fn is_idle(&self) -> bool {
        self.size() == 0 && !self.is_tracing()
    }

    /// Records an item that the process has taken.
    pub(crate) fn note(&self, at: Timestamp, item: RecordedItem) {
        let mut state = self.0.lock();
        let trace = state.trace.clone();
        let copy = trace.is_some().then(|| item.clone());
        let mut oldest = None;
        if state.size > 0 {
            state.count += 1;
            if state.recorded.len() >= state.size {
                oldest = state.recorded.pop_front();
            }
            let recorded = Recorded::new(state.count, at, item);
            state.recorded.push_back(recorded);
        }
        drop(state);
        drop(oldest);
        if let Some((trace, item)) = trace.zip(copy) {
            trace.push(at, item);
        }
    }
}
