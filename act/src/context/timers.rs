//! The timers a process holds (rule T1): what is due is kept here, the host keeps only when.
//!
//! A timer of a process's own message puts a notice into its mailbox, and the message comes
//! out of this table when the notice is taken: a timer that was cancelled has no entry
//! any more, so nothing comes of a notice that was under way. One that acts on others acts
//! when it is due, on the host's thread, and leaves a notice too, so that its entry goes.

use crate::host::host::TimerKey;
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
    /// Something that is done elsewhere when it is due.
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

    /// The keys, to be cancelled, and what would have been done.
    pub(crate) fn into_parts(self) -> (Vec<TimerKey>, Vec<TimerAction<M>>) {
        self.0.into_values().map(|timer| (timer.key, timer.action)).unzip()
    }
}
