//! The tasks of a process: those that end with it (rule J2).
//!
//! The set is one of the cleaners of its owner, so a process without tasks has none. A task that
//! ends removes itself. The owner ends the others in its last turn, before its name is free.

use crate::sync::Mutex;
use krarup_gen::Pid;
use std::collections::BTreeSet;
use std::fmt;

/// The label of the behaviour of a task.
pub(crate) const TASK_LABEL: &str = "task";

/// The pids of the tasks of a process.
pub(crate) struct OwnedTasks(Mutex<Option<BTreeSet<Pid>>>);

impl OwnedTasks {
    pub(crate) fn new() -> Self {
        OwnedTasks(Mutex::new(Some(BTreeSet::new())))
    }

    /// Adds a task. Returns false if the owner has ended.
    pub(crate) fn add(&self, task: Pid) -> bool {
        match &mut *self.0.lock() {
            Some(tasks) => tasks.insert(task),
            None => false,
        }
    }

    /// Removes a task that ends.
    pub(crate) fn remove(&self, task: Pid) {
        if let Some(tasks) = &mut *self.0.lock() {
            tasks.remove(&task);
        }
    }

    /// Takes the tasks that are left, in the order of their pids. No task can be added from now
    /// on.
    pub(crate) fn close(&self) -> BTreeSet<Pid> {
        self.0.lock().take().unwrap_or_default()
    }
}

impl fmt::Debug for OwnedTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnedTasks(..)")
    }
}
