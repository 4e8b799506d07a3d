//! Sends of messages that are boxed: those that are watched, and those in a trace context.

use super::cell::Cell;
use super::current;
use super::reservation::ReservedRoom;
use crate::cold_box::ColdBox;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::observe::watched_job::WatchedJob;
use crate::traces::open_span::OpenSpan;
use krarup_gen::{DeadLetterCause, Lane, SendError};
use std::any::type_name;

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Sends a message that is watched on its way. The watch ends if this process does not put
    /// the message into its own mailbox.
    pub(crate) fn send_job(&self, mut job: WatchedJob<M>, sender: u64) -> Result<(), SendError<M>> {
        if let Some(route) = self.route() {
            return route.send_job(job, sender);
        }
        if current::is_traced() {
            job.set_context(|| current::carry(&*self.host, self.pid(), Lane::Main));
        }
        match self.reserve(None) {
            Ok(ReservedRoom::Here) => {
                let body = Body::Notice(ColdBox::new(Notice::Job(job)));
                match self.try_fill_here(MailboxEntry { sender, body }) {
                    Err(MailboxEntry { body: Body::Notice(notice), .. }) => {
                        match notice.into_inner() {
                            Notice::Job(job) => Err(SendError::NoProcess {
                                message: job.into_message(),
                                to: self.pid(),
                            }),
                            _ => Ok(()),
                        }
                    }
                    _ => Ok(()),
                }
            }
            Ok(held) => {
                self.fill(held, job.into_message(), sender);
                Ok(())
            }
            Err(error) => Err(error.with_message(job.into_message())),
        }
    }

    /// The message, boxed with its context if this thread runs in one.
    pub(super) fn body(&self, message: M) -> Body<M> {
        if current::is_traced()
            && let Some(context) = current::carry(&*self.host, self.pid(), Lane::Main)
        {
            return Body::Notice(ColdBox::new(Notice::Job(WatchedJob::in_context(
                message, context,
            ))));
        }
        Body::Message(message)
    }

    /// As [`Cell::send_from`], in the trace context of this thread (`crate::traces`).
    #[cold]
    #[inline(never)]
    pub(super) fn send_in_context(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        let Some(context) = current::carry(&*self.host, self.pid(), Lane::Main) else {
            // Too many sends; no second count.
            let _outer = current::without_context();
            return self.send_from(message, sender);
        };
        let sent = self.send_job(WatchedJob::in_context(message, context.clone()), sender);
        if let Err(SendError::NoProcess { .. }) = sent {
            OpenSpan::lost(&context, type_name::<M>(), DeadLetterCause::NoProcess.as_str());
        }
        sent
    }

    /// As [`Cell::pass_on`], for a message that is watched or in a trace context.
    #[cold]
    pub(crate) fn pass_job_on(&self, mut job: WatchedJob<M>, sender: u64) {
        // It is sent once more by the span that has sent it.
        let by = job.take_context().and_then(|context| context.parent.or(context.link));
        let _entered = by.map(current::enter_context);
        if self.send_from(job.into_message(), sender).is_err() {
            self.dead_letter::<M>(sender, DeadLetterCause::Unhandled);
        }
    }
}
