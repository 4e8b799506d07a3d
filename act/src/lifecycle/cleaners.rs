//! Cleaners: functions that run when the state of a process has been dropped (rule O9;
//! Otavia's `AutoCleanable`).

use crate::lifecycle::owned_tasks::OwnedTasks;
use crate::process::crash::{contain, log_contained};
use krarup_gen::{Pid, Reason, one_line};
use std::sync::Arc;

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

/// What is done at the end of a process.
enum CleanUp {
    Run(CleanerFn),
    /// Its tasks are ended.
    End(Arc<OwnedTasks>),
}

/// The cleaners of one process. They are in its cell and not in its future, so they outlive
/// the state, however the process ends.
#[derive(Default)]
pub(crate) struct Cleaners(Vec<CleanUp>);

impl Cleaners {
    pub(crate) fn add(&mut self, cleaner: CleanerFn) {
        self.0.push(CleanUp::Run(cleaner));
    }

    /// The tasks of the process. A process that had none has a place for them from now on.
    pub(crate) fn tasks(&mut self) -> Arc<OwnedTasks> {
        for cleaner in &self.0 {
            if let CleanUp::End(tasks) = cleaner {
                return Arc::clone(tasks);
            }
        }
        let tasks = Arc::new(OwnedTasks::new());
        // First in the list, so last to be run: the tasks end in turns of their own anyway.
        self.0.insert(0, CleanUp::End(Arc::clone(&tasks)));
        tasks
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs the cleaners in reverse order of registration, and then `end` for each task. A panic
    /// in one does not keep the others from running, nor does it change the reason of the end.
    #[inline]
    pub(crate) fn run(self, pid: Pid, reason: &Reason, end: impl Fn(Pid)) {
        for cleaner in self.0.into_iter().rev() {
            match cleaner {
                CleanUp::Run(cleaner) => clean(cleaner, &Ended { pid, reason }),
                // The executor of a task's dispatcher may be a user's.
                CleanUp::End(tasks) => {
                    tasks.close().into_iter().for_each(|task| drop(contain(|| end(task))));
                }
            }
        }
    }
}

#[cold]
fn clean(cleaner: CleanerFn, ended: &Ended<'_>) {
    if let Err(panic) = contain(|| cleaner(ended)) {
        let pid = ended.pid;
        log_contained(
            || tracing::error!(target: "krarup", %pid, panic = %one_line(&panic), "a cleaner panicked"),
        );
    }
}
