//! The waker with which the future of a process is polled.
//!
//! It is apart from the cell, to which addresses hold handles too, so that its own handles can be
//! counted: one is the process's, and whoever holds another can wake the process. A process
//! that waits for an answer and has no handle out but that of its call can be woken by
//! nothing else (rule C5). The standard library lets nobody see a waker being cloned without
//! `unsafe`; it does count the handles.

use super::cell::Cell;
use futures_task::ArcWake;
use std::sync::Arc;

pub(crate) struct ProcessWaker<M, C>(Arc<Cell<M, C>>);

impl<M: Send + 'static, C: Send + 'static> ProcessWaker<M, C> {
    pub(crate) fn new(cell: &Arc<Cell<M, C>>) -> Arc<Self> {
        Arc::new(ProcessWaker(Arc::clone(cell)))
    }

    /// How many handles are out, beside the process's own.
    #[inline]
    pub(crate) fn handles(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

/// Waking schedules the process, wherever it waits.
impl<M: Send + 'static, C: Send + 'static> ArcWake for ProcessWaker<M, C> {
    fn wake_by_ref(waker: &Arc<Self>) {
        waker.0.wake();
    }
}
