//! The entries of a mailbox.

use crate::addressing::dynamic::Dynamic;
use crate::cold_box::ColdBox;
use crate::observe::watched_job::{Mark, WatchedJob};
use crate::topics::event_ticket::EventTicket;
use crate::traces::carried::CarriedContext;
use krarup_gen::{Down, Exit, Ref};
use std::collections::VecDeque;

/// The number of the sending process; 0 if the message came from outside any process.
pub(crate) type SenderId = u64;

/// One entry of the Main lane.
pub(crate) struct MailboxEntry<M> {
    /// Of an event, the number of the subscription.
    pub(crate) sender: SenderId,
    pub(crate) body: Body<M>,
}

impl<M> MailboxEntry<M> {
    /// Whether it counts towards the bound (rule M5).
    pub(crate) fn takes_room(&self) -> bool {
        match &self.body {
            Body::Message(_) => true,
            Body::Event(_) => false,
            Body::Notice(notice) => matches!(**notice, Notice::Other(..) | Notice::Job(_)),
        }
    }

    /// The process that has sent it; 0 if none has.
    pub(crate) fn sender(&self) -> SenderId {
        if let Body::Event(_) = &self.body { 0 } else { self.sender }
    }

    /// The message in it, of the process's own type, unless it lies elsewhere.
    pub(crate) fn message(&self) -> Option<&M> {
        match &self.body {
            Body::Message(message) | Body::Event(message) => Some(message),
            Body::Notice(notice) => match &**notice {
                Notice::Beyond(message) | Notice::BeyondTraced(message, _) => Some(message),
                Notice::Job(job) => job.message(),
                _ => None,
            },
        }
    }

    /// Takes the user's message out, unless it is another entry.
    pub(crate) fn into_message(self) -> Result<M, Self> {
        match self.body {
            Body::Message(message) => Ok(message),
            Body::Event(_) => Err(self),
            Body::Notice(notice) => match notice.into_inner() {
                Notice::Job(job) => Ok(job.into_message()),
                notice => Err(MailboxEntry { body: Body::Notice(ColdBox::new(notice)), ..self }),
            },
        }
    }

    /// Returns the name of the type of the message in it.
    pub(crate) fn type_name(&self) -> &'static str {
        if let Body::Notice(notice) = &self.body
            && let Notice::Other(other, _) = &**notice
        {
            return other.type_name();
        }
        std::any::type_name::<M>()
    }

    /// The trace context of a message that was sent beyond the bound, or is of another type than the process's own.
    pub(crate) fn context(&self) -> Option<&CarriedContext> {
        match &self.body {
            Body::Notice(notice) => match &**notice {
                Notice::BeyondTraced(_, context) | Notice::Other(_, Some(context)) => Some(context),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is a user's message, which is a dead letter if it is not handled (rule D7).
    pub(crate) fn is_letter(&self) -> bool {
        match &self.body {
            Body::Message(_) | Body::Event(_) => true,
            Body::Notice(notice) => match &**notice {
                Notice::Beyond(_)
                | Notice::BeyondTraced(..)
                | Notice::Other(..)
                | Notice::Job(_) => true,
                Notice::Event(ticket) => ticket.is_letter(),
                _ => false,
            },
        }
    }
}

/// Queued entries. Boxed, because an idle process has none.
pub(crate) type EntryQueue<M> = Option<ColdBox<VecDeque<MailboxEntry<M>>>>;

/// A user's message, or a notice of the runtime. Notices are boxed so that they do not make
/// every message larger.
///
/// The tag lies beside the message, not in bits that the message leaves unused, so that a
/// message is copied with accesses of one width. Otherwise it would be written in halves and
/// read in quarters, and each such read stalls until the write has reached the cache.
#[repr(u64)]
pub(crate) enum Body<M> {
    Message(M),
    Notice(ColdBox<Notice<M>>),
    /// A message that was made of an event of a topic (`crate::topics::direct`). It does not count
    /// towards the bound.
    Event(M),
}

/// A notice on the Main lane. It keeps its place among the messages (rule M3). It does not count
/// towards the bound (rule M5), unless its variant says so.
pub(crate) enum Notice<M> {
    /// A trapped exit signal. `link` is the number of the link that delivered it.
    Exit { exit: Exit, link: Option<u64> },
    /// A monitored process has ended.
    Down(Down),
    /// A timer of this process has fired.
    Timer(Ref),
    /// An alarm of the behaviour has fired.
    Alarm(Ref),
    /// The idle timer with this number has fired.
    Idle(u64),
    /// A request to end normally, after everything that was accepted before.
    Finish,
    /// A message that does not count towards the bound, because the process requested it
    /// itself.
    Beyond(M),
    /// A ticket for an event of a topic, which waits at the subscription (rule E7).
    Event(EventTicket<M>),
    /// A user's message of another type than the process's own, with the trace context in which
    /// it was sent; it counts towards the bound.
    Other(Dynamic, Option<Box<CarriedContext>>),
    /// As `Beyond`, in a trace context.
    BeyondTraced(M, Box<CarriedContext>),
    /// A user's message whose progress is watched, or in a trace context; it counts towards the
    /// bound.
    Job(WatchedJob<M>),
    /// A mark behind everything that was accepted before. When it is dropped all of that has
    /// been handled; a waiter sees the drop of the last copy.
    #[allow(dead_code, reason = "held only for its destructor")]
    Mark(Mark),
}
