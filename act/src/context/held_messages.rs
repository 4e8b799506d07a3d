//! How a behaviour holds messages that it has received and not handled yet (rule M13).
//!
//! A process has handled a message when it receives the next one. A behaviour that receives
//! ahead, or handles several messages at once, says so by a value for each message. The value counts
//! the message as held ([`MessagesInHand`](crate::process::messages_in_hand::MessagesInHand)), and has
//! its watch if the message is a job of a pool.

use super::context::Context;
use crate::host::shared_host::SharedHost;
use crate::observe::watched_job::{Discarded, JobAhead, JobInFlight, Mark, Stale};
use crate::process::cell::Cell;
use crate::process::crash::ignore;
use crate::process::current::{self, OrphanCause};
use crate::process::messages_in_hand::HeldCount;
use krarup_gen::{CallError, DeadLetterCause, Pid};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A message that is not handled yet, for as long as this lives; made by
/// [`BehaviorContext::hold_message`](crate::BehaviorContext::hold_message).
///
/// Call [`HeldMessage::done`] when the message is handled, on any thread. If this is dropped, the
/// message is not waited for any more either, but it has failed: a job of a pool that was begun counts
/// as crashed.
#[must_use = "the message is not waited for any more when this is dropped"]
pub struct HeldMessage {
    // Before the count: a job has ended when nothing waits for it any more.
    job: HeldJob,
    _count: HeldCount,
}

/// The watch of a held message, if it is a job that a pool watches.
enum HeldJob {
    None,
    /// A `JobAhead` of the process's type of messages.
    Ahead(Box<dyn Any + Send>),
    InFlight(JobInFlight, Arc<SharedHost>),
}

impl HeldMessage {
    /// Reports that the message is handled.
    pub fn done(mut self) {
        if let HeldJob::InFlight(job, host) = std::mem::replace(&mut self.job, HeldJob::None) {
            job.end(host.host.now());
        }
    }

    /// Whether [`BehaviorContext::begin_held`](crate::BehaviorContext::begin_held) has an effect:
    /// the message is a watched job that was not begun.
    #[must_use]
    pub fn is_to_begin(&self) -> bool {
        matches!(self.job, HeldJob::Ahead(_))
    }

    fn take_ahead<M: 'static>(&mut self) -> Option<JobAhead<M>> {
        match std::mem::replace(&mut self.job, HeldJob::None) {
            HeldJob::Ahead(job) => job.downcast().ok().map(|job| *job),
            job => {
                self.job = job;
                None
            }
        }
    }
}

/// A held message whose time to live was over before it was begun; returned by
/// [`BehaviorContext::begin_held`](crate::BehaviorContext::begin_held).
#[must_use = "the message is to be discarded"]
pub struct ExpiredMessage<M, C> {
    cell: Arc<Cell<M, C>>,
    job: JobAhead<M>,
    waited: Duration,
}

impl<M: Send + 'static, C: Send + 'static> ExpiredMessage<M, C> {
    /// Drops the message as a pool drops one that expires in a mailbox (rule P9).
    pub fn discard(self, message: M, sender: Option<Pid>) {
        let ExpiredMessage { cell, job, waited } = self;
        cell.dead_letter::<M>(sender.map_or(0, Pid::id), Stale::<M>::CAUSE);
        let expired = CallError::Expired { to: cell.pid(), waited };
        let why = Discarded::Expired { waited };
        current::refusing(OrphanCause::Refused(&expired), || job.discard(message, why));
    }
}

impl<M, C> fmt::Debug for ExpiredMessage<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpiredMessage(waited {:?})", self.waited)
    }
}

impl fmt::Debug for HeldMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeldMessage")
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::hold_messages`](crate::BehaviorContext::hold_messages).
    pub(crate) fn hold_messages(&mut self) {
        self.cell.begin_to_hold();
    }

    /// See [`BehaviorContext::hold_message`](crate::BehaviorContext::hold_message).
    pub(crate) fn hold_message(&mut self) -> HeldMessage {
        let count = self.cell.begin_to_hold().hold();
        self.note_held_room();
        let ahead = self.cold.as_mut().and_then(|cold| cold.job_ahead.take());
        let job = ahead.map_or(HeldJob::None, |job| HeldJob::Ahead(Box::new(job)));
        HeldMessage { job, _count: count }
    }

    /// See [`BehaviorContext::begin_held`](crate::BehaviorContext::begin_held).
    pub(crate) fn begin_held(&self, held: &mut HeldMessage) -> Result<(), ExpiredMessage<M, C>> {
        let Some(job) = held.take_ahead::<M>() else { return Ok(()) };
        let now = self.now();
        if let Some(waited) = job.expired(now) {
            return Err(ExpiredMessage { cell: Arc::clone(&self.cell), job, waited });
        }
        held.job = HeldJob::InFlight(job.begin(now), Arc::clone(&self.cell.shared));
        Ok(())
    }

    /// See [`BehaviorContext::lose_held`](crate::BehaviorContext::lose_held).
    pub(crate) fn lose_held(&self, mut held: HeldMessage, message: M, sender: Option<Pid>) {
        match held.take_ahead::<M>() {
            Some(job) => {
                let sender = sender.map_or(0, Pid::id);
                self.cell.dead_letter::<M>(sender, DeadLetterCause::Unhandled);
                current::not_begun(|| ignore(|| job.discard(message, Discarded::WorkerEnded)));
            }
            None => self.dead_letter(message, sender),
        }
    }

    /// Notes how many of the held messages keep their room.
    pub(super) fn note_held_room(&self) {
        if let (Some(in_hand), Some(cold)) = (self.cell.in_hand(), &self.cold) {
            let kept = usize::try_from(cold.held).unwrap_or(usize::MAX);
            in_hand.note_in_mailbox(kept);
        }
    }

    /// Handles a mark that comes out of the mailbox. Everything before it was received.
    #[cold]
    pub(super) fn pass_mark(&self, mark: Mark) {
        match self.cell.in_hand() {
            Some(in_hand) => in_hand.mark(mark),
            None => drop(mark),
        }
    }
}
