//! Workers that are starting. The pool process spawns them and serves in the meantime.
//!
//! ```text
//!   spawned ──► initialising ──► initialised              a worker
//!                    │   └─────► failed                   an error
//!                    │ the time limit
//!                    ▼
//!                 killed ──────► ended                    an error: `Timeout`
//!                    │ the time limit again
//!                    ▼
//!                 left behind: it blocks its thread       an error: `Timeout`
//! ```
//!
//! User code that blocks its thread ends only by returning. So a pool waits for the end of a
//! killed worker no longer than it has waited for its start.

use crate::addressing::address::Address;
use crate::calls::deadline::Sleep;
use crate::host::host::Host;
use krarup_gen::{Exit, Pid, SpawnError};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Why a worker is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerPurpose {
    /// It is one of the first workers of the pool.
    First,
    /// It replaces this worker, which has ended.
    Replacement(Pid),
    /// It gets a new place.
    Added,
}

/// Ready when the `init` of a worker has returned.
pub(super) type WorkerInit = Pin<Box<dyn Future<Output = Result<(), SpawnError>> + Send>>;

/// A worker that is starting.
struct WorkerStart<M, C> {
    purpose: WorkerPurpose,
    worker: Address<M, C>,
    init: WorkerInit,
    /// The end of its time limit.
    alarm: Sleep,
    killed: bool,
    /// Its exit notice, if that arrived before the result of its start.
    exit: Option<Exit>,
}

/// The result of a start.
pub(super) struct Started<M, C> {
    pub(super) purpose: WorkerPurpose,
    pub(super) worker: Address<M, C>,
    pub(super) outcome: Result<(), SpawnError>,
    /// The exit notice of the worker, if it has ended since.
    pub(super) exit: Option<Exit>,
    /// Whether the worker was killed and has not ended.
    pub(super) left_behind: bool,
}

/// The workers that are starting.
pub(super) struct Starts<M, C> {
    limit: Duration,
    starts: Vec<WorkerStart<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Starts<M, C> {
    /// Makes an empty list. Each worker may take this long to initialise.
    pub(super) fn new(limit: Duration) -> Self {
        Starts { limit, starts: Vec::new() }
    }

    /// Adds a worker that was just spawned.
    pub(super) fn begin(
        &mut self,
        purpose: WorkerPurpose,
        worker: Address<M, C>,
        init: WorkerInit,
    ) {
        let alarm = Sleep::new(Arc::clone(worker.host()), self.limit);
        let start = WorkerStart { purpose, worker, init, alarm, killed: false, exit: None };
        self.starts.push(start);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// How many workers are starting for such a purpose.
    pub(super) fn count(&self, of: impl Fn(WorkerPurpose) -> bool) -> usize {
        self.starts.iter().filter(|start| of(start.purpose)).count()
    }

    /// Whether this worker is starting.
    pub(super) fn has(&self, pid: Pid) -> bool {
        self.starts.iter().any(|start| start.worker.pid() == pid)
    }

    /// Records the exit notice of a worker that may have started before.
    pub(super) fn note_exit(&mut self, exit: Exit) {
        if let Some(start) = self.starts.iter_mut().find(|s| s.worker.pid() == exit.pid) {
            start.exit = Some(exit);
        }
    }

    /// Gives up all workers that are starting.
    pub(super) fn take_all(&mut self) -> Vec<Address<M, C>> {
        self.starts.drain(..).map(|start| start.worker).collect()
    }

    /// Polls for the next worker that has started or has failed to.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Started<M, C>> {
        for index in 0..self.starts.len() {
            if let Poll::Ready((outcome, left_behind)) = self.starts[index].poll(self.limit, cx) {
                let WorkerStart { purpose, worker, exit, .. } = self.starts.remove(index);
                return Poll::Ready(Started { purpose, worker, outcome, exit, left_behind });
            }
        }
        Poll::Pending
    }
}

impl<M: Send + 'static, C: Send + 'static> WorkerStart<M, C> {
    fn poll(
        &mut self,
        limit: Duration,
        cx: &mut Context<'_>,
    ) -> Poll<(Result<(), SpawnError>, bool)> {
        match self.init.as_mut().poll(cx) {
            Poll::Ready(Err(_)) if self.killed => {
                return Poll::Ready((Err(SpawnError::Timeout(limit)), false));
            }
            Poll::Ready(outcome) => return Poll::Ready((outcome, false)),
            Poll::Pending => {}
        }
        if Pin::new(&mut self.alarm).poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.killed {
            return Poll::Ready((Err(SpawnError::Timeout(limit)), true));
        }
        self.killed = true;
        let host: Arc<dyn Host> = Arc::clone(self.worker.host());
        self.alarm = Sleep::new(host, limit);
        self.worker.process().kill();
        self.poll(limit, cx)
    }
}
