//! What cleans up after a process when its state is gone (rule O9; Otavia's `AutoCleanable`).

use crate::process::crash::{contain, tell};
use krarup_gen::{Pid, Reason};

/// Cleans up, once.
pub(crate) type CleanerFn = Box<dyn FnOnce(&Ended<'_>) + Send>;

/// How a process has ended, for what cleans up after it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Who it was.
    pub pid: Pid,
    /// Why.
    pub reason: &'a Reason,
}

/// The cleaners of one process. They lie in its cell and not in its future: so they outlast
/// the state, however that goes.
#[derive(Default)]
pub(crate) struct Cleaners(Vec<CleanerFn>);

impl Cleaners {
    pub(crate) fn add(&mut self, cleaner: CleanerFn) {
        self.0.push(cleaner);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs them, the last one first. One that panics does not keep the others from running,
    /// nor does it change why the process has ended.
    #[inline]
    pub(crate) fn run(self, pid: Pid, reason: &Reason) {
        for cleaner in self.0.into_iter().rev() {
            clean(cleaner, &Ended { pid, reason });
        }
    }
}

#[cold]
fn clean(cleaner: CleanerFn, ended: &Ended<'_>) {
    if let Err(panic) = contain(|| cleaner(ended)) {
        let pid = ended.pid;
        tell(|| tracing::error!(target: "krarup", %pid, %panic, "a cleaner panicked"));
    }
}
