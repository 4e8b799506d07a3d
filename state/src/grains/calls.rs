//! Messages to grains, and how to send them.

use krarup_act::{Address, Call, Reply, SendOrWait};
use krarup_gen::SendError;

/// A message to one grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToGrain<K, M> {
    /// The key of the grain.
    pub key: K,
    /// The message for the grain.
    pub message: M,
}

/// A command for the keeper of the grains.
#[derive(Debug)]
#[non_exhaustive]
pub enum GrainCommand<K> {
    /// Ends the grain of this key, also one that has not started yet. It finishes the messages it has
    /// accepted, and is spawned again by the next message. Stashed messages are dead letters (rule M9).
    Release(K),
}

/// The address of a [`Grains`](crate::Grains).
///
/// The operations on an address, and on one of many grains:
///
/// | on a process | on the grain of a key |
/// |---|---|
/// | `send`, `call`, `send_or_wait` | [`GrainCalls::send_to`], [`GrainCalls::call_to`], [`GrainCalls::send_or_wait_to`], or the same method of the address with a [`ToGrain`] |
/// | `finish` | [`GrainCalls::release`] |
/// | `reserve`, `recipient` | not available: the key is part of the message, so room cannot be reserved before the message exists ([`SendError::NotReservable`]) |
/// | `send_high`, `inspect`, `stop`, `monitor`, `info` | act on the keeper; for a grain, look it up by its name while it is running |
pub type GrainAddress<K, M> = Address<ToGrain<K, M>, GrainCommand<K>>;

/// Operations on grains: a trait of the address of their [`Grains`](crate::Grains).
pub trait GrainCalls<K, M>
where
    K: Send + 'static,
    M: Send + 'static,
{
    /// Sends to the grain of this key, and spawns it if it is not running.
    ///
    /// # Errors
    /// The errors of [`Address::send`]; each gives the key and the message back.
    /// [`SendError::Full`] means that the grain's mailbox is full, or that as many
    /// messages are already held for its start.
    fn send_to(&self, key: K, message: M) -> Result<(), SendError<ToGrain<K, M>>>;

    /// Calls the grain of this key, as [`Address::call`] does.
    #[allow(
        clippy::type_complexity,
        reason = "a call names its request, and a closure has no name"
    )]
    fn call_to<T, F>(
        &self,
        key: K,
        request: F,
    ) -> Call<'_, ToGrain<K, M>, GrainCommand<K>, T, impl FnOnce(Reply<T>) -> ToGrain<K, M> + Send>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send;

    /// Sends as [`GrainCalls::send_to`] does, and waits while there is no room. The wait
    /// is used with `.await`, or with `.wait()` on a plain thread, as for
    /// [`Address::send_or_wait`]. Room goes to the waiting senders in the order of their
    /// arrival, whether the grain is running, starting or ending. While it is running, the
    /// first of them waits in the line of its mailbox on behalf of all.
    fn send_or_wait_to(&self, key: K, message: M) -> SendOrWait<ToGrain<K, M>, GrainCommand<K>>;

    /// Ends the grain of this key when it has handled what was sent to it before, also if it has not
    /// started yet; the next message spawns it again. A grain can use this on itself when it knows that
    /// it has no more work for now.
    ///
    /// # Errors
    /// The errors of [`Address::send_high`].
    fn release(&self, key: K) -> Result<(), SendError<GrainCommand<K>>>;
}

impl<K, M> GrainCalls<K, M> for GrainAddress<K, M>
where
    K: Send + 'static,
    M: Send + 'static,
{
    fn send_to(&self, key: K, message: M) -> Result<(), SendError<ToGrain<K, M>>> {
        self.send(ToGrain { key, message })
    }

    #[allow(clippy::type_complexity, reason = "as at the trait")]
    fn call_to<T, F>(
        &self,
        key: K,
        request: F,
    ) -> Call<'_, ToGrain<K, M>, GrainCommand<K>, T, impl FnOnce(Reply<T>) -> ToGrain<K, M> + Send>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M + Send,
    {
        self.call(move |reply| ToGrain { key, message: request(reply) })
    }

    fn send_or_wait_to(&self, key: K, message: M) -> SendOrWait<ToGrain<K, M>, GrainCommand<K>> {
        self.send_or_wait(ToGrain { key, message })
    }

    fn release(&self, key: K) -> Result<(), SendError<GrainCommand<K>>> {
        self.send_high(GrainCommand::Release(key))
    }
}
