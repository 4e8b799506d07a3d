//! The overflow choice: what a full mailbox does with one more message (rule M6).

use crate::addressing::recipient::Recipient;
use krarup_gen::Pid;
use std::fmt;
use std::sync::Arc;

/// What a full mailbox does with one more message. Chosen when a process is spawned
/// ([`Spawn::overflow`](crate::Spawn::overflow)).
///
/// | choice | the sender | what is lost |
/// |---|---|---|
/// | [`Refuse`](Overflow::Refuse) (default) | gets the message back as `Full` | nothing |
/// | [`DropOldest`](Overflow::DropOldest) | continues | the message that waited longest |
/// | [`DropNewest`](Overflow::DropNewest) | continues | the message |
/// | [`divert`](Overflow::divert) | continues | nothing, unless the fallback is full too: then `Full` |
///
/// A dropped message is counted as a dead letter and offered to the subscribers of dead
/// letters. A call in it fails with `NoReply`.
#[non_exhaustive]
pub enum Overflow<M> {
    /// The sender gets its message back.
    Refuse,
    /// The message that has waited longest is dropped, for receivers to which the newest
    /// messages are worth most (readings of a sensor). The process then takes its messages one
    /// by one, not in batches.
    DropOldest,
    /// The new message is dropped as if it had been accepted, for receivers to which the
    /// oldest messages are worth most.
    DropNewest,
    /// Another process gets the message, wrapped; see [`Overflow::divert`].
    Divert(Divert<M>),
}

/// The fallback to which a full mailbox diverts messages; made by [`Overflow::divert`].
pub struct Divert<M> {
    pub(crate) to: Recipient<Diverted<M>>,
    pub(crate) tag: Arc<str>,
}

/// A message that a full mailbox has diverted to its fallback (Ergo's `MessageFallback`). Its
/// sender is the original one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverted<M> {
    /// The process whose mailbox was full.
    pub origin: Pid,
    /// The tag that was given to [`Overflow::divert`], so that one fallback can serve several
    /// processes.
    pub tag: Arc<str>,
    /// The message.
    pub message: M,
}

impl<M: Send + 'static> Overflow<M> {
    /// Diverts messages that exceed the bound to a fallback process, with a tag. If the
    /// fallback is full or dead as well the sender gets `Full`. Cycles of fallbacks end the
    /// same way, because no process is tried twice for one message; so do chains of more than 64.
    ///
    /// ```
    /// # use krarup_act::{Address, Diverted, Overflow};
    /// # struct Job;
    /// enum Spare { Job(Diverted<Job>) }
    /// impl From<Diverted<Job>> for Spare {
    ///     fn from(diverted: Diverted<Job>) -> Self { Spare::Job(diverted) }
    /// }
    /// # fn example(spare: &Address<Spare>) -> Overflow<Job> {
    /// Overflow::divert(spare.recipient(), "jobs")
    /// # }
    /// ```
    pub fn divert(to: Recipient<Diverted<M>>, tag: impl AsRef<str>) -> Self {
        Overflow::Divert(Divert { to, tag: tag.as_ref().into() })
    }
}

impl<M> Clone for Divert<M> {
    fn clone(&self) -> Self {
        Divert { to: self.to.clone(), tag: Arc::clone(&self.tag) }
    }
}

impl<M: Send + 'static> fmt::Debug for Divert<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Divert({}, {:?})", self.to.pid(), self.tag)
    }
}

impl<M: Send + 'static> fmt::Debug for Overflow<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overflow::Refuse => f.write_str("Refuse"),
            Overflow::DropOldest => f.write_str("DropOldest"),
            Overflow::DropNewest => f.write_str("DropNewest"),
            Overflow::Divert(divert) => fmt::Debug::fmt(divert, f),
        }
    }
}
