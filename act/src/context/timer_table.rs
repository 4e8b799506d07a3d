//! The timers of a process (rule T1). Their actions are kept here; the host keeps only the due
//! times.
//!
//! A timer for the process itself puts a notice into its mailbox. When the notice is received,
//! the message is taken out of this table. A cancelled timer has no entry any more, so a
//! notice that was already sent has no effect. A timer for another process acts when it is
//! due, on the host's thread. It also sends a notice, so that its entry is removed.

use crate::host::host::TimerKey;
use crate::traces::trace_context::TraceContext;
use krarup_gen::{Ref, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// The timers of one process.
pub(crate) struct ProcessTimers<M>(BTreeMap<Ref, ProcessTimer<M>>);

pub(crate) struct ProcessTimer<M> {
    pub(crate) key: TimerKey,
    pub(crate) due: Timestamp,
    pub(crate) action: TimerAction<M>,
}

pub(crate) enum TimerAction<M> {
    Once(M),
    Again {
        period: Duration,
        message: Box<dyn FnMut() -> M + Send>,
    },
    /// Set in a trace context; its message begins a trace that is linked with that one.
    Linked(Box<(TimerAction<M>, TraceContext)>),
    /// The action runs elsewhere when it is due.
    Elsewhere,
}

impl<M> ProcessTimers<M> {
    pub(crate) const fn new() -> Self {
        ProcessTimers(BTreeMap::new())
    }

    pub(crate) fn insert(&mut self, timer: Ref, entry: ProcessTimer<M>) {
        self.0.insert(timer, entry);
    }

    pub(crate) fn remove(&mut self, timer: Ref) -> Option<ProcessTimer<M>> {
        self.0.remove(&timer)
    }

    pub(crate) fn get(&self, timer: Ref) -> Option<&ProcessTimer<M>> {
        self.0.get(&timer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys, to be cancelled, and the actions.
    pub(crate) fn into_parts(self) -> (Vec<TimerKey>, Vec<TimerAction<M>>) {
        self.0.into_values().map(|timer| (timer.key, timer.action)).unzip()
    }
}
