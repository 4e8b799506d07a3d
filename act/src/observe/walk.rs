//! A walk over the processes of a node, in steps of bounded size.

use crate::host::host::{Host, TableCursor};
use crate::process::process::Process;
use krarup_gen::Sample;
use std::sync::Arc;

/// A walk over all processes of a node; see [`NodeView::walk`](crate::NodeView::walk).
///
/// It begins with the first step, and is over when a step has returned `None`.
#[derive(Debug, Default)]
pub struct Walk {
    cursor: TableCursor,
    /// Kept between the steps for its memory.
    processes: Vec<Arc<dyn Process>>,
    is_over: bool,
}

impl Walk {
    /// Creates a walk that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Walk::default()
    }

    /// Whether a step has returned `None`.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The samples of the next processes. Processes that have ended since they were copied are
    /// left out, so there may be none.
    pub(super) fn step(&mut self, host: &dyn Host) -> Option<Vec<Sample>> {
        if self.is_over || !host.next_processes(&mut self.cursor, &mut self.processes) {
            self.end();
            return None;
        }
        let mut samples = Vec::with_capacity(self.processes.len());
        // Each handle is dropped as soon as it was used, because the last one on a process that
        // has ended frees its cell.
        samples.extend(self.processes.drain(..).filter_map(|process| process.sample()));
        Some(samples)
    }

    pub(super) fn end(&mut self) {
        self.is_over = true;
        self.processes = Vec::new();
    }
}
