//! Watched jobs: messages whose progress is watched, from the acceptance into a mailbox until
//! the process receives the next message.
//!
//! ```text
//!   accepted ──► waits in the mailbox ──► in hand ──► done        the process receives again
//!                    │            │          └──────► crashed     the process has ended
//!                    │            └─────────────────► lost        the process has ended
//!                    └──────────────────────────────► expired     its time to live is over
//! ```
//!
//! Most messages are not watched and pay nothing for this: a watched message is sent as a
//! boxed notice.

use crate::traces::carried::CarriedContext;
use crate::traces::open_span::OpenSpan;
use krarup_gen::{DeadLetterCause, Timestamp};
use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A mark behind messages in mailboxes. When its last copy is dropped, everything before the
/// copies has been handled or lost.
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
    /// The worker at which it waited has ended, or no worker was left to take it.
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

/// The watcher of the jobs of one process, as far as it needs no message.
pub(crate) trait ProgressWatcher: Send + Sync {
    /// The process begins a job.
    fn begin(&self, waited: Duration, now: Timestamp);

    /// The process has finished the job.
    fn end(&self, took: Duration);

    /// The process has ended during the job.
    fn crash(&self);

    /// The process begins a job, and may have others in progress. Returns the number of this one.
    fn begin_one(&self, waited: Duration, now: Timestamp) -> u64;

    /// It has finished that job, or has ended or failed during it if no time is given.
    fn end_one(&self, number: u64, took: Option<Duration>);
}

/// The watcher of the jobs of one process.
pub(crate) trait JobWatcher<M>: ProgressWatcher {
    /// A job is not handled; the watcher gets its message.
    fn discard(&self, job: M, why: Discarded);
}

/// A message that is watched, or in a trace context.
pub struct WatchedJob<M> {
    /// Taken when the job is begun, discarded or given back.
    message: Option<M>,
    watch: Option<Arc<dyn JobWatcher<M>>>,
    context: Option<Box<CarriedContext>>,
    accepted: Timestamp,
    /// When its time to live is over.
    due: Timestamp,
}

impl<M> WatchedJob<M> {
    pub(crate) fn new(
        message: M,
        watch: Arc<dyn JobWatcher<M>>,
        accepted: Timestamp,
        due: Timestamp,
    ) -> Self {
        WatchedJob { message: Some(message), watch: Some(watch), context: None, accepted, due }
    }

    /// Makes a job that is in a trace context, and not watched.
    pub(crate) fn in_context(message: M, context: Box<CarriedContext>) -> Self {
        let (accepted, due) = (context.sent, Timestamp::MAX);
        WatchedJob { message: Some(message), watch: None, context: Some(context), accepted, due }
    }

    /// Sets its trace context, unless it has one.
    pub(crate) fn set_context(&mut self, context: impl FnOnce() -> Option<Box<CarriedContext>>) {
        if self.context.is_none() {
            self.context = context();
        }
    }

    /// Takes its trace context out.
    pub(crate) fn take_context(&mut self) -> Option<Box<CarriedContext>> {
        self.context.take()
    }

    /// Returns the message, unless it was taken.
    pub(crate) fn message(&self) -> Option<&M> {
        self.message.as_ref()
    }

    /// As [`WatchedJob::message`], to change the message in transit.
    pub(crate) fn message_mut(&mut self) -> Option<&mut M> {
        self.message.as_mut()
    }

    /// Takes the message; it is not watched any more.
    pub(crate) fn into_message(mut self) -> M {
        // The message is taken once, by the caller that consumes the job.
        self.message.take().expect("a job has its message until it is consumed")
    }

    /// Returns when the job was accepted, and when its time to live is over.
    pub(crate) fn times(&self) -> (Timestamp, Timestamp) {
        (self.accepted, self.due)
    }

    /// Takes the message out of a job whose process begins it later, and its watch.
    pub(crate) fn take_ahead(mut self) -> (M, Option<JobAhead<M>>) {
        let message = self.message.take().expect("a job has its message until it is consumed");
        let (accepted, due) = self.times();
        (message, self.watch.take().map(|watch| JobAhead { watch, accepted, due }))
    }

    /// Whether its progress is watched.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Replaces the watcher of the job.
    pub(crate) fn handed_to(mut self, watch: Arc<dyn JobWatcher<M>>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Begins the job, unless its time to live is over.
    pub(crate) fn begin(mut self, now: Timestamp) -> Result<(M, InHand), Stale<M>> {
        let waited = now - self.accepted;
        let message = self.message.take().expect("a job has its message until it is consumed");
        let watch = self.watch.clone();
        if now > self.due {
            if let Some(context) = &self.context {
                OpenSpan::lost(context, type_name::<M>(), DeadLetterCause::Expired.as_str());
            }
            return Err(Stale { message, watch, waited });
        }
        if let Some(watch) = &watch {
            watch.begin(waited, now);
        }
        Ok((message, InHand { watch: watch.map(|watch| watch as _), since: now }))
    }
}

/// A watched job whose message was received ahead of its turn. It still waits.
pub(crate) struct JobAhead<M> {
    watch: Arc<dyn JobWatcher<M>>,
    accepted: Timestamp,
    due: Timestamp,
}

impl<M: Send + 'static> JobAhead<M> {
    /// How long it has waited, if that is longer than its time to live.
    pub(crate) fn expired(&self, now: Timestamp) -> Option<Duration> {
        (now > self.due).then(|| now - self.accepted)
    }

    /// Begins the job, beside others of the same process.
    pub(crate) fn begin(self, now: Timestamp) -> JobInFlight {
        let watch = self.watch as Arc<dyn ProgressWatcher>;
        let number = watch.begin_one(now - self.accepted, now);
        JobInFlight { watch: Some(watch), number, since: now }
    }

    /// Passes out the message of a job that is not done.
    pub(crate) fn discard(self, message: M, why: Discarded) {
        self.watch.discard(message, why);
    }
}

/// A job of several that a process does at the same time. If this is dropped, the job has failed.
pub(crate) struct JobInFlight {
    watch: Option<Arc<dyn ProgressWatcher>>,
    number: u64,
    since: Timestamp,
}

impl JobInFlight {
    pub(crate) fn end(mut self, now: Timestamp) {
        if let Some(watch) = self.watch.take() {
            watch.end_one(self.number, Some(now - self.since));
        }
    }
}

impl Drop for JobInFlight {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.end_one(self.number, None);
        }
    }
}

/// A job whose time to live was over before it began.
pub(crate) struct Stale<M> {
    message: M,
    watch: Option<Arc<dyn JobWatcher<M>>>,
    pub(crate) waited: Duration,
}

impl<M> Stale<M> {
    /// The cause of its dead letter.
    pub(crate) const CAUSE: DeadLetterCause = DeadLetterCause::Expired;

    pub(crate) fn discard(self) {
        let why = Discarded::Expired { waited: self.waited };
        match self.watch {
            Some(watch) => watch.discard(self.message, why),
            None => drop(self.message),
        }
    }
}

/// A job that is dropped with its message was not handled.
impl<M> Drop for WatchedJob<M> {
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            if let Some(context) = &self.context {
                OpenSpan::lost(context, type_name::<M>(), DeadLetterCause::Unhandled.as_str());
            }
            match &self.watch {
                Some(watch) => watch.discard(message, Discarded::WorkerEnded),
                None => drop(message),
            }
        }
    }
}

impl<M> fmt::Debug for WatchedJob<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job(accepted at {})", self.accepted)
    }
}

/// The job in progress. If the process ends during it, this is dropped with the process.
pub(crate) struct InHand {
    watch: Option<Arc<dyn ProgressWatcher>>,
    since: Timestamp,
}

impl InHand {
    /// A message in a trace context that is not watched.
    pub(crate) const NOT_WATCHED: Self = InHand { watch: None, since: Timestamp::ZERO };

    /// Reports that the process has handled the job.
    pub(crate) fn end(mut self, now: Timestamp) {
        if let Some(watch) = self.watch.take() {
            watch.end(now - self.since);
        }
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.crash();
        }
    }
}
