//! The waker with which the future of a process is polled.
//!
//! It is separate from the cell, to which addresses hold handles too, so that its own handles
//! can be counted. One handle belongs to the process; the holder of another can wake it. If the
//! only other handle of a process that waits for an answer is that of its call, nothing else
//! can wake it (rule C5). The standard library cannot report the cloning of a waker without
//! `unsafe`, but it counts the handles.

use super::cell::Cell;
use futures_task::ArcWake;
use std::sync::Arc;

pub(crate) struct ProcessWaker<M, C>(Arc<Cell<M, C>>);

impl<M: Send + 'static, C: Send + 'static> ProcessWaker<M, C> {
    pub(crate) fn new(cell: &Arc<Cell<M, C>>) -> Arc<Self> {
        Arc::new(ProcessWaker(Arc::clone(cell)))
    }

    /// How many handles exist beside the process's own.
    #[inline]
    pub(crate) fn handles(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

/// Schedules the process, in whatever phase it waits.
impl<M: Send + 'static, C: Send + 'static> ArcWake for ProcessWaker<M, C> {
    fn wake_by_ref(waker: &Arc<Self>) {
        waker.0.wake();
    }
}
