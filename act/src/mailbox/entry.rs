//! What lies in a mailbox.

use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::watched_job::{Job, Mark};
use krarup_gen::{Down, Exit, Reason, Ref};
use std::collections::VecDeque;

/// The number of the process a message is from; 0: from outside any process.
pub(crate) type SenderId = u64;

/// One entry of the Main lane.
pub(crate) struct MailboxEntry<M> {
    pub(crate) sender: SenderId,
    pub(crate) body: Body<M>,
}

impl<M> MailboxEntry<M> {
    /// Whether it counts towards the bound (rule M5).
    pub(crate) fn takes_room(&self) -> bool {
        match &self.body {
            Body::Message(_) => true,
            Body::Notice(notice) => matches!(**notice, Notice::Other(_) | Notice::Job(_)),
        }
    }

    /// What the message in it is called.
    pub(crate) fn type_name(&self) -> &'static str {
        if let Body::Notice(notice) = &self.body
            && let Notice::Other(other) = &**notice
        {
            return other.type_name();
        }
        std::any::type_name::<M>()
    }

    /// Whether a user loses something if nobody handles it (rule D7).
    pub(crate) fn is_letter(&self) -> bool {
        match &self.body {
            Body::Message(_) => true,
            Body::Notice(notice) => {
                matches!(**notice, Notice::Beyond(_) | Notice::Other(_) | Notice::Job(_))
            }
        }
    }
}

/// Entries in line. Boxed: an idle process has none.
pub(crate) type EntryQueue<M> = Option<Box<VecDeque<MailboxEntry<M>>>>;

/// A user's message, or one of the runtime's notices. Notices are boxed so that they
/// do not make every message larger.
///
/// The tag lies beside the message, not in bits that the message leaves unused: so a message
/// is copied as a whole. In pieces it would be written by halves and read by quarters, and
/// each such reading waits for the writing to get through to the cache.
#[repr(u64)]
pub(crate) enum Body<M> {
    Message(M),
    Notice(Box<Notice<M>>),
}

/// A notice on the Main lane: it keeps its place among the messages (rule M3) and
/// does not count towards the bound (rule M5).
pub(crate) enum Notice<M> {
    /// An exit signal, trapped. `link` is the number of the link it came by.
    Exit { exit: Exit, link: Option<u64> },
    /// A monitored process has ended.
    Down(Down),
    /// A timer of this process has fired.
    Timer(Ref),
    /// The idle timer of this number has rung.
    Idle(u64),
    /// End normally here, after everything that was accepted before.
    Finish,
    /// A message that does not count towards the bound: what the process has ordered itself.
    Beyond(M),
    /// A user's message of another type than the process's own; it counts towards the bound.
    Other(Dynamic),
    /// A user's message that somebody watches on its way; it counts towards the bound.
    Job(Job<M>),
    /// Everything that was accepted before has been handled: whoever holds the last copy of it
    /// drops it now.
    #[allow(dead_code, reason = "made to be dropped")]
    Mark(Mark),
}

/// One entry of the Urgent or System lane.
pub(crate) enum ControlEntry<C> {
    /// A user's message with [`krarup_gen::Priority`] High or Max.
    Message { sender: SenderId, message: C },
    /// An orderly stop (rule M3).
    Stop(Reason),
    /// Say what you are.
    Inspect(InspectRequest),
    /// Show your state (rule X5).
    State(Reply<Option<Dynamic>>),
    /// Say that you have come to this: a suspension is in effect (rule X5).
    Here(Reply<()>),
    /// As [`Notice::Exit`], over a link made urgent.
    Exit { exit: Exit, link: Option<u64> },
    /// As [`Notice::Down`], from a monitor made urgent.
    Down(Down),
}

impl<C> ControlEntry<C> {
    /// Whether a suspended process attends to it (rule X5).
    pub(crate) fn is_for_suspended(&self) -> bool {
        matches!(
            self,
            ControlEntry::Stop(_)
                | ControlEntry::Inspect(_)
                | ControlEntry::State(_)
                | ControlEntry::Here(_)
        )
    }
}
