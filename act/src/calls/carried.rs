//! Reply tokens in messages that leave the node or come from another one.
//!
//! A cluster writes and reads messages with serde. A reply token has no contents that could be
//! written. While a message is written, its tokens are **lent** to the cluster, which answers
//! them when the answer comes. While one is read, the callers' rights are **offered**, and each
//! token in the message takes one of them:
//!
//! ```text
//!  write:  Reply ──► CarriedTokens::lent: LentReply ──► the table of calls of the cluster
//!  read:   CarriedTokens::offered: Answerer ──► Reply::to
//! ```
//!
//! Both lists belong to the message in progress, so they lie beside it on the thread that
//! writes or reads it.

use crate::calls::reply::{Answer, Reply};
use crate::calls::slot::SlotSender;
use crate::host::host::Host;
use krarup_gen::{CallError, Pid, Reason};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// The name of a serialized token.
const REPLY: &str = "krarup.Reply";

/// How a message is sent, or has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// As a call: its sender waits for an answer.
    Call,
    /// As a cast.
    Cast,
    /// As it is.
    Plain,
}

/// Answers a caller on another node, or fails its call.
pub type Answerer = Box<dyn FnOnce(Result<&dyn erased_serde::Serialize, CallError>) + Send>;

/// The tokens of the message that is written or read on this thread.
pub struct CarriedTokens {
    /// How the message has come; when it is written, how it is to be sent.
    pub kind: MessageKind,
    /// The tokens that were lent, in the order in which they were written.
    pub lent: Vec<LentReply>,
    /// The rights to answer that tokens can take. Each is taken once.
    pub offered: Vec<Option<Answerer>>,
    /// The process that is to receive the message. Errors of the calls in it name this process.
    to: Pid,
    host: Arc<dyn Host>,
}

thread_local! {
    static CARRIED: RefCell<Option<CarriedTokens>> = const { RefCell::new(None) };
}

impl CarriedTokens {
    /// Creates empty lists for a message to the process `to`, which a process of this host
    /// writes or reads.
    pub fn new(host: Arc<dyn Host>, kind: MessageKind, to: Pid) -> Self {
        CarriedTokens { kind, lent: Vec::new(), offered: Vec::new(), to, host }
    }

    /// Writes or reads a message, and returns the lists with the result.
    pub fn carry<R>(self, work: impl FnOnce() -> R) -> (R, CarriedTokens) {
        /// Restores the lists of an outer message, also if `work` panics.
        struct Restore(Option<CarriedTokens>);

        impl Drop for Restore {
            fn drop(&mut self) {
                let outer = self.0.take();
                drop(CARRIED.with(|place| place.replace(outer)));
            }
        }

        let host = Arc::clone(&self.host);
        let (kind, to) = (self.kind, self.to);
        let restore = Restore(CARRIED.with(|place| place.replace(Some(self))));
        let result = work();
        let carried = CARRIED.with(RefCell::take);
        drop(restore);
        // `work` cannot take the lists away.
        (result, carried.unwrap_or_else(|| CarriedTokens::new(host, kind, to)))
    }

    /// Uses the lists of the message in progress; `None` if there is no message.
    pub fn with<R>(work: impl FnOnce(&mut CarriedTokens) -> R) -> Option<R> {
        CARRIED.with(|place| place.try_borrow_mut().ok()?.as_mut().map(work))
    }

    pub(crate) fn host() -> Option<Arc<dyn Host>> {
        CarriedTokens::with(|carried| Arc::clone(&carried.host))
    }

    /// Adds a right to answer, and returns its number.
    pub fn offer(&mut self, answerer: Answerer) -> u64 {
        self.offered.push(Some(answerer));
        self.offered.len() as u64 - 1
    }
}

impl fmt::Debug for CarriedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CarriedTokens")
            .field("kind", &self.kind)
            .field("lent", &self.lent.len())
            .field("offered", &self.offered.len())
            .finish_non_exhaustive()
    }
}

/// A reply token that was lent to the cluster, without its type.
pub struct LentReply {
    to: Pid,
    slot: Box<dyn Lent>,
}

impl LentReply {
    /// Answers with the value that the deserializer holds. If it holds no value of the token's
    /// type, the call fails.
    pub fn answer(self, value: &mut dyn erased_serde::Deserializer<'_>) {
        let LentReply { to, slot } = self;
        slot.answer(to, value);
    }

    /// Returns the process that was to receive the message with the token.
    #[must_use]
    pub const fn to(&self) -> Pid {
        self.to
    }

    /// Fails the call.
    pub fn fail(self, error: CallError) {
        self.slot.fail(error);
    }

    /// Returns the token to its message, which was not sent.
    pub fn give_back(self) {
        self.slot.give_back();
    }

    /// Whether its caller still waits.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.slot.is_awaited()
    }
}

impl fmt::Debug for LentReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LentReply").field("to", &self.to).finish_non_exhaustive()
    }
}

trait Lent: Send {
    fn answer(self: Box<Self>, to: Pid, value: &mut dyn erased_serde::Deserializer<'_>);
    fn fail(self: Box<Self>, error: CallError);
    fn give_back(self: Box<Self>);
    fn is_awaited(&self) -> bool;
}

struct LentSlot<T>(SlotSender<Answer<T>>);

impl<T: DeserializeOwned + Send + 'static> Lent for LentSlot<T> {
    fn answer(self: Box<Self>, to: Pid, value: &mut dyn erased_serde::Deserializer<'_>) {
        let answer = erased_serde::deserialize::<T>(value).map_err(|error| {
            let reason = Reason::error(format!("the answer cannot be read: {error}"));
            Box::new(CallError::Terminated { to, reason })
        });
        self.0.send_or_late(answer);
    }

    fn fail(self: Box<Self>, error: CallError) {
        self.0.send_or_late(Err(Box::new(error)));
    }

    fn give_back(self: Box<Self>) {
        self.0.give_back();
    }

    fn is_awaited(&self) -> bool {
        self.0.is_awaited()
    }
}

/// Lends a token of the message in progress, and returns its number. For messages that
/// implement `Serialize` themselves.
///
/// # Errors
/// No message is in progress: the token exists within a cluster only.
pub fn lend<T>(reply: &Reply<T>) -> Result<u64, NoMessage>
where
    T: DeserializeOwned + Send + 'static,
{
    CarriedTokens::with(|carried| {
        let slot = Box::new(LentSlot(reply.slot.lend()));
        carried.lent.push(LentReply { to: carried.to, slot });
        carried.lent.len() as u64 - 1
    })
    .ok_or(NoMessage)
}

/// Takes the right to answer with this number as a token. For messages that implement
/// `Deserialize` themselves.
///
/// # Errors
/// There is no such right, or it was taken.
pub fn claim<T>(number: u64) -> Result<Reply<T>, NoMessage>
where
    T: Serialize + Send + 'static,
{
    let take = |carried: &mut CarriedTokens| {
        let offered = carried.offered.get_mut(usize::try_from(number).ok()?)?;
        Some((carried.to, offered.take()?))
    };
    let (to, answerer) = CarriedTokens::with(take).flatten().ok_or(NoMessage)?;
    Ok(Reply::to(to, move |answer: Result<T, CallError>| match answer {
        Ok(value) => answerer(Ok(&value)),
        Err(error) => answerer(Err(error)),
    }))
}

/// A reply token was written or read without a message of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a reply token can be written only in a message to another node")]
pub struct NoMessage;

impl<T: DeserializeOwned + Send + 'static> Serialize for Reply<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = lend(self).map_err(S::Error::custom)?;
        serializer.serialize_newtype_struct(REPLY, &number)
    }
}

impl<'de, T: Serialize + Send + 'static> Deserialize<'de> for Reply<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl<'de> Visitor<'de> for Number {
            type Value = u64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a caller")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<u64, D::Error> {
                u64::deserialize(inner)
            }
        }

        let number = deserializer.deserialize_newtype_struct(REPLY, Number)?;
        claim(number).map_err(D::Error::custom)
    }
}
