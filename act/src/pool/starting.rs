//! Workers that are starting: the pool's process spawns them and serves meanwhile.
//!
//! ```text
//!   spawned ──► initialising ──► initialised              a worker
//!                    │   └─────► failed                   an error
//!                    │ the time is over
//!                    ▼
//!                 killed ──────► ended                    an error: `Timeout`
//!                    │ the same time again
//!                    ▼
//!                 given up: it blocks its thread          an error: `Timeout`, and it is left behind
//! ```
//!
//! Nothing but a return can end user code that blocks its thread. So a pool waits for the end of
//! a worker that it has killed no longer than it has waited for its start.

use crate::addressing::address::Address;
use crate::calls::deadline::Sleep;
use crate::host::host::Host;
use krarup_gen::{Exit, Pid, SpawnError};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// What a worker is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerPurpose {
    /// One of those that the pool begins with.
    First,
    /// The place of this worker, which has ended.
    Replacement(Pid),
    /// A place of its own.
    Added,
}

/// Ready when the `init` of a worker has returned.
pub(super) type WorkerInit = Pin<Box<dyn Future<Output = Result<(), SpawnError>> + Send>>;

/// A worker that is starting.
struct WorkerStart<M, C> {
    purpose: WorkerPurpose,
    worker: Address<M, C>,
    init: WorkerInit,
    /// When its time is over.
    alarm: Sleep,
    killed: bool,
    /// It has been heard to have ended, before it was known to have started.
    exit: Option<Exit>,
}

/// What came of a start.
pub(super) struct Started<M, C> {
    pub(super) purpose: WorkerPurpose,
    pub(super) worker: Address<M, C>,
    pub(super) outcome: Result<(), SpawnError>,
    /// The worker has ended since.
    pub(super) exit: Option<Exit>,
    /// The worker has not ended, though it was killed.
    pub(super) left_behind: bool,
}

/// The workers that are starting.
pub(super) struct Starts<M, C> {
    limit: Duration,
    starts: Vec<WorkerStart<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Starts<M, C> {
    /// None yet. Each may take this long to initialise.
    pub(super) fn new(limit: Duration) -> Self {
        Starts { limit, starts: Vec::new() }
    }

    /// Waits for a worker that was just spawned.
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

    /// How many start for such a purpose.
    pub(super) fn count(&self, of: impl Fn(WorkerPurpose) -> bool) -> usize {
        self.starts.iter().filter(|start| of(start.purpose)).count()
    }

    /// Whether this worker is starting.
    pub(super) fn has(&self, pid: Pid) -> bool {
        self.starts.iter().any(|start| start.worker.pid() == pid)
    }

    /// A worker has ended that may have started before.
    pub(super) fn note_exit(&mut self, exit: Exit) {
        if let Some(start) = self.starts.iter_mut().find(|s| s.worker.pid() == exit.pid) {
            start.exit = Some(exit);
        }
    }

    /// Gives all of them up: those that are starting now.
    pub(super) fn take_all(&mut self) -> Vec<Address<M, C>> {
        self.starts.drain(..).map(|start| start.worker).collect()
    }

    /// The next that has started, or has failed to.
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
