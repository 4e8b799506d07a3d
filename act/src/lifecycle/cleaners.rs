//! Cleaners: functions that run when the state of a process has been dropped (rule O9;
//! Otavia's `AutoCleanable`).

use crate::process::crash::{contain, log_contained};
use krarup_gen::{Pid, Reason};

/// A cleaner; it runs once.
pub(crate) type CleanerFn = Box<dyn FnOnce(&Ended<'_>) + Send>;

/// The end of a process, as its cleaners see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// The pid of the process.
    pub pid: Pid,
    /// The reason of the end.
    pub reason: &'a Reason,
}

/// The cleaners of one process. They are in its cell and not in its future, so they outlive
/// the state, however the process ends.
#[derive(Default)]
pub(crate) struct Cleaners(Vec<CleanerFn>);

impl Cleaners {
    pub(crate) fn add(&mut self, cleaner: CleanerFn) {
        self.0.push(cleaner);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs the cleaners in reverse order of registration. A panic in one does not keep the
    /// others from running, nor does it change the reason of the end.
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
        log_contained(|| tracing::error!(target: "krarup", %pid, %panic, "a cleaner panicked"));
    }
}
