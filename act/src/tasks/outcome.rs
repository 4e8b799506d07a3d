//! The end of a task's process, and how its value comes out.

use crate::calls::reply::Reply;
use crate::host::host::{Alarm, Host, TimerKey};
use crate::lifecycle::owned_tasks::OwnedTasks;
use crate::process::asked_to_end::ask_to_end;
use crate::process::{bonds, current};
use crate::sync::{AtomicU8, Ordering};
use krarup_gen::{Pid, TaskError};
use std::sync::Arc;
use std::time::Duration;

/// Whether somebody has ended the task whose business that is, so that its end is no failure.
#[derive(Default)]
pub(super) struct WhyEnded(AtomicU8);

const OWNER: u8 = 1;
const TIMER: u8 = 2;

impl WhyEnded {
    /// The owner has dropped or ended the task.
    pub(super) fn by_owner(&self) {
        self.0.store(OWNER, Ordering::Release);
    }

    fn by_timer(&self) {
        self.0.store(TIMER, Ordering::Release);
    }

    fn is_by_timer(&self) -> bool {
        self.0.load(Ordering::Acquire) == TIMER
    }

    fn is_no_failure(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

/// The result of a task, as its owner gets it.
pub(super) type TaskResult<T> = Result<T, TaskError>;

/// What a task's process does at its end: it gives its value, or says why it has none. It lies
/// in the future of the process, so it is dropped in the last turn.
pub(super) struct TaskOutcome<T: Send + 'static> {
    pub(super) host: Arc<dyn Host>,
    pub(super) pid: Pid,
    /// The owner, if the task is linked to it.
    pub(super) linked_to: Option<Pid>,
    /// The tasks of the owner, of which this is one.
    pub(super) owned: Option<Arc<OwnedTasks>>,
    pub(super) why: Option<Arc<WhyEnded>>,
    pub(super) timeout: Option<Duration>,
    pub(super) timer: Option<TimerKey>,
    /// Taken when the value is given.
    pub(super) reply: Option<Reply<TaskResult<T>>>,
}

impl<T: Send + 'static> TaskOutcome<T> {
    /// Sets the timer, if the task has a timeout. Called in the first turn.
    pub(super) fn begin(&mut self) {
        let (Some(limit), Some(why)) = (self.timeout, &self.why) else { return };
        let (why, host, pid) = (Arc::clone(why), Arc::downgrade(&self.host), self.pid);
        // It holds no handle on the process's waker: the task may still be in a cycle of calls.
        let ring = move || {
            if let Some(host) = host.upgrade() {
                why.by_timer();
                ask_to_end(&*host, host.node_pid(), pid);
            }
        };
        let due = self.host.now() + limit;
        self.timer = Some(self.host.set_timer(due, Alarm::Run(Box::new(ring))));
    }

    /// Gives the value, as soon as the process has left the table of its node.
    pub(super) fn give(&mut self, value: T) {
        self.answer(Ok(value));
    }

    fn answer(&mut self, result: TaskResult<T>) {
        let Some(reply) = self.reply.take() else { return };
        if let Err(answer) = current::adopt(move |_, _| reply.send(result)) {
            // Outside any turn nothing comes later.
            answer(self.pid, current::OrphanCause::Dropped);
        }
    }
}

impl<T: Send + 'static> Drop for TaskOutcome<T> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.host.cancel_timer(timer);
        }
        if let Some(owned) = self.owned.take() {
            owned.remove(self.pid);
        }
        let Some(why) = &self.why else { return };
        // A task that was ended on purpose does not end its owner.
        if why.is_no_failure()
            && let Some(owner) = self.linked_to
            && let Some(process) = self.host.process(self.pid)
        {
            bonds::unlink(&*self.host, &process, owner);
        }
        if let Some(limit) = self.timeout
            && why.is_by_timer()
        {
            self.answer(Err(TaskError::Timeout(limit)));
        }
        // A token that is left fails with the reason of the end, as in every process.
    }
}
