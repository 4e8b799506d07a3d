//! A message that somebody watches on its way: from its acceptance into a mailbox until its
//! process asks for the next one.
//!
//! ```text
//!   accepted ──► waits in the mailbox ──► in hand ──► done        the process receives again
//!                    │            │          └──────► crashed     the process has ended
//!                    │            └─────────────────► lost        the process has ended
//!                    └──────────────────────────────► expired     its time to live is over
//! ```
//!
//! Most messages are watched by nobody and pay nothing for this: a watched one travels as a
//! notice, in a box.

use krarup_gen::{DeadLetterCause, Timestamp};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Put behind messages in mailboxes: the last copy of it is dropped when all that was before
/// the copies has been handled, or is lost.
pub(crate) type Mark = Arc<dyn Any + Send + Sync>;

/// Why a job that was accepted has not been handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Discarded {
    /// It waited for longer than its time to live.
    Expired {
        /// How long it waited.
        waited: Duration,
    },
    /// The worker at which it waited has ended.
    WorkerEnded,
}

impl fmt::Display for Discarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Discarded::Expired { waited } => {
                write!(f, "waited {waited:?}, longer than its time to live")
            }
            Discarded::WorkerEnded => f.write_str("the worker at which it waited has ended"),
        }
    }
}

/// Who watches the jobs of one process.
pub(crate) trait JobWatcher<M>: Send + Sync {
    /// The process takes one in hand.
    fn begin(&self, waited: Duration, now: Timestamp);

    /// It is done with it.
    fn end(&self, took: Duration);

    /// It has ended with it in hand.
    fn crash(&self);

    /// One is not handled; whoever gets it here is the last.
    fn discard(&self, job: M, why: Discarded);
}

/// A message that is watched.
pub struct Job<M> {
    /// Taken when it is handled, discarded or given back.
    message: Option<M>,
    watch: Arc<dyn JobWatcher<M>>,
    accepted: Timestamp,
    /// When its time to live is over.
    due: Timestamp,
}

impl<M> Job<M> {
    pub(crate) fn new(
        message: M,
        watch: Arc<dyn JobWatcher<M>>,
        accepted: Timestamp,
        due: Timestamp,
    ) -> Self {
        Job { message: Some(message), watch, accepted, due }
    }

    /// The message, as long as the job has it.
    pub(crate) fn message(&self) -> Option<&M> {
        self.message.as_ref()
    }

    /// As [`Job::message`], to be changed on its way.
    pub(crate) fn message_mut(&mut self) -> Option<&mut M> {
        self.message.as_mut()
    }

    /// The message alone, which nobody watches any more.
    pub(crate) fn into_message(mut self) -> M {
        // It is taken once, by who takes the job apart.
        self.message.take().expect("a job has its message until it is taken apart")
    }

    /// When it was accepted, and when its time to live is over.
    pub(crate) fn times(&self) -> (Timestamp, Timestamp) {
        (self.accepted, self.due)
    }

    /// The same job, watched by somebody else from now on.
    pub(crate) fn handed_to(mut self, watch: Arc<dyn JobWatcher<M>>) -> Self {
        self.watch = watch;
        self
    }

    /// Begins it, unless its time is over.
    pub(crate) fn begin(mut self, now: Timestamp) -> Result<(M, InHand<M>), Stale<M>> {
        let waited = now - self.accepted;
        let message = self.message.take().expect("a job has its message until it is taken apart");
        let watch = Arc::clone(&self.watch);
        if now > self.due {
            return Err(Stale { message, watch, waited });
        }
        watch.begin(waited, now);
        Ok((message, InHand { watch: Some(watch), since: now }))
    }
}

/// A job that has waited too long.
pub(crate) struct Stale<M> {
    message: M,
    watch: Arc<dyn JobWatcher<M>>,
    pub(crate) waited: Duration,
}

impl<M> Stale<M> {
    /// Why nobody handles it, for those who count such.
    pub(crate) const CAUSE: DeadLetterCause = DeadLetterCause::Expired;

    pub(crate) fn discard(self) {
        let why = Discarded::Expired { waited: self.waited };
        self.watch.discard(self.message, why);
    }
}

/// One that is dropped was not handled.
impl<M> Drop for Job<M> {
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            self.watch.discard(message, Discarded::WorkerEnded);
        }
    }
}

impl<M> fmt::Debug for Job<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job(accepted at {})", self.accepted)
    }
}

/// The job that a process has in hand; dropped with the process, if that ends with it.
pub(crate) struct InHand<M> {
    watch: Option<Arc<dyn JobWatcher<M>>>,
    since: Timestamp,
}

impl<M> InHand<M> {
    /// The process has handled it.
    pub(crate) fn end(mut self, now: Timestamp) {
        if let Some(watch) = self.watch.take() {
            watch.end(now - self.since);
        }
    }
}

impl<M> Drop for InHand<M> {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.crash();
        }
    }
}
