//! One run of an application: what its processes, its keeper and those who wait share.

use crate::applications::error::StartApplicationError;
use crate::once_value::OnceValue;
use krarup_gen::{Name, Pid, Reason, SpawnError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// One run of an application, from its start to the end of its last process.
pub(crate) struct ApplicationRun {
    pub(crate) name: Name,
    /// Its number, from 1, which no other run of the node has.
    pub(crate) number: u64,
    /// The living processes that belong to it.
    living: AtomicUsize,
    /// No process is admitted any more.
    closed: AtomicBool,
    /// The first process: its top process.
    top: OnceLock<Pid>,
    /// The end of its top process.
    pub(crate) top_end: Arc<OnceValue<Reason>>,
    /// Set when it is asked to stop.
    pub(crate) asked: Arc<OnceValue<()>>,
    /// The outcome of its start.
    pub(crate) up: Arc<OnceValue<Result<(), StartApplicationError>>>,
    /// Set when it is over, with the number of processes that could not be ended.
    pub(crate) over: Arc<OnceValue<usize>>,
    /// Whether `on_stop` has been started.
    pub(crate) has_prepared: AtomicBool,
}

impl ApplicationRun {
    pub(crate) fn new(name: Name, number: u64) -> Arc<Self> {
        Arc::new(ApplicationRun {
            name,
            number,
            living: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            top: OnceLock::new(),
            top_end: Arc::default(),
            asked: Arc::default(),
            up: Arc::default(),
            over: Arc::default(),
            has_prepared: AtomicBool::new(false),
        })
    }

    /// Counts a process that is about to be admitted, unless the run is closed.
    pub(crate) fn enter(&self, pid: Pid) -> Result<(), SpawnError> {
        // Count before reading the flag: who closes the run and then counts none has missed
        // none.
        self.living.fetch_add(1, Ordering::SeqCst);
        if self.closed.load(Ordering::SeqCst) {
            self.leave();
            return Err(SpawnError::ApplicationStopping(self.name.clone()));
        }
        let _ = self.top.get_or_init(|| pid);
        Ok(())
    }

    /// Takes a process off the count: it has left the registry, or was not admitted.
    pub(crate) fn leave(&self) {
        self.living.fetch_sub(1, Ordering::SeqCst);
    }

    /// Records the end of the top process. Its host calls this before anybody is told.
    pub(crate) fn note_end(&self, pid: Pid, reason: &Reason) {
        if self.top() == Some(pid) {
            self.top_end.set(reason.clone());
        }
    }

    /// The pid of its top process, when that has been admitted.
    pub(crate) fn top(&self) -> Option<Pid> {
        self.top.get().copied()
    }

    pub(crate) fn living(&self) -> usize {
        self.living.load(Ordering::SeqCst)
    }

    /// Admits no process any more.
    pub(crate) fn close(&self) {
        let _ = self.closed.swap(true, Ordering::SeqCst);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(self.up.value(), Some(Ok(())))
    }
}
