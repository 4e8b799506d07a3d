//! The record of a storm: which processes are alive, what was sent, and which rules were broken.

use krarup::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A child's place in the specification of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChildPosition {
    /// The parent, as specified.
    pub(crate) group: &'static str,
    pub(crate) index: usize,
    /// The most live processes at a time.
    pub(crate) at_most: usize,
    /// No later child of the same parent may be alive when this one starts, or is stopped.
    pub(crate) in_order: bool,
}

#[derive(Default)]
struct RecordState {
    /// By parent and position: an incarnation of a supervisor does not know the children of an
    /// earlier one that was killed, which may still be ending.
    alive: HashMap<(Pid, ChildPosition), usize>,
    starts: HashMap<(Pid, ChildPosition), u64>,
    faults: Vec<String>,
}

impl RecordState {
    fn check_order(&mut self, parent: Pid, position: ChildPosition, what: &str) {
        let is_later =
            |other: &ChildPosition| other.group == position.group && other.index > position.index;
        let later = self.alive.iter().find(|((of, other), alive)| {
            position.in_order && *of == parent && is_later(other) && **alive > 0
        });
        if let Some(((_, later), _)) = later {
            let fault = format!("{position:?} {what} under {parent} while {later:?} is alive");
            self.faults.push(fault);
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct StormRecord {
    state: Arc<Mutex<RecordState>>,
    /// Starts may fail.
    pub(crate) is_storming: Arc<AtomicBool>,
    pub(crate) messages: Arc<MessageCounts>,
}

impl StormRecord {
    fn state(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the start of an incarnation, which is alive until the returned value is dropped.
    pub(crate) fn started(&self, parent: Pid, position: ChildPosition) -> Incarnation {
        let mut state = self.state();
        state.check_order(parent, position, "starts");
        *state.starts.entry((parent, position)).or_default() += 1;
        let alive = state.alive.entry((parent, position)).or_default();
        *alive += 1;
        if *alive > position.at_most {
            let fault = format!("{alive} of {position:?} are alive under {parent}");
            state.faults.push(fault);
        }
        Incarnation { record: self.clone(), parent, position }
    }

    /// A child is stopped by its supervisor.
    pub(crate) fn stopped(&self, incarnation: &Incarnation) {
        self.state().check_order(incarnation.parent, incarnation.position, "is stopped");
    }

    pub(crate) fn alive(&self) -> usize {
        self.state().alive.values().sum()
    }

    pub(crate) fn starts(&self, parent: Pid, position: ChildPosition) -> u64 {
        self.state().starts.get(&(parent, position)).copied().unwrap_or_default()
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        self.state().faults.clone()
    }
}

/// A live incarnation. It is removed from the record when this is dropped with the state.
pub(crate) struct Incarnation {
    record: StormRecord,
    parent: Pid,
    position: ChildPosition,
}

impl Drop for Incarnation {
    fn drop(&mut self) {
        let mut state = self.record.state();
        let alive = state.alive.get_mut(&(self.parent, self.position));
        *alive.expect("its start was recorded") -= 1;
    }
}

/// What became of the messages: each is written and, at the end, has been handled, given
/// back to its sender, or lost with a process.
#[derive(Debug, Default)]
pub(crate) struct MessageCounts {
    pub(crate) sent: AtomicU64,
    pub(crate) handled: AtomicU64,
    pub(crate) returned: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// A message that is counted wherever it ends.
pub(crate) struct CountedMessage(Option<Arc<MessageCounts>>);

impl CountedMessage {
    pub(crate) fn new(record: &StormRecord) -> Self {
        record.messages.sent.fetch_add(1, Ordering::SeqCst);
        CountedMessage(Some(Arc::clone(&record.messages)))
    }

    pub(crate) fn handled(mut self) {
        self.0.take().expect("not yet counted").handled.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn returned(mut self) {
        self.0.take().expect("not yet counted").returned.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for CountedMessage {
    fn drop(&mut self) {
        if let Some(messages) = self.0.take() {
            messages.lost.fetch_add(1, Ordering::SeqCst);
        }
    }
}
