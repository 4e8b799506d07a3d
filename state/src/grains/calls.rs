//! What is sent to grains, and how.

use krarup_act::{Address, Call, Reply, SendOrWait};
use krarup_gen::SendError;

/// A message to one grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToGrain<K, M> {
    /// Which.
    pub key: K,
    /// What it gets.
    pub message: M,
}

/// What the process can be told that keeps the grains.
#[derive(Debug)]
pub enum GrainCommand<K> {
    /// The grain of this key is to go: it finishes what it has accepted, and comes back with the
    /// next message. What it has set aside goes with it, as dead letters (rule M9).
    Release(K),
}

/// The address of a [`crate::Grains`].
///
/// What one does with an address, and with one grain of many:
///
/// | with a process | with the grain of a key |
/// |---|---|
/// | `send`, `call`, `send_or_wait` | [`GrainCalls::send_to`], [`GrainCalls::call_to`], [`GrainCalls::send_or_wait_to`], or the same of the address with a [`ToGrain`] |
/// | `finish` | [`GrainCalls::release`] |
/// | `reserve`, `recipient` | none: which grain's room is wanted is in the message, so it cannot be reserved before that is there ([`SendError::NotReservable`]) |
/// | `send_high`, `inspect`, `stop`, `monitor`, `info` | those of the keeper; of the grain by its name, while it is there |
pub type GrainAddress<K, M> = Address<ToGrain<K, M>, GrainCommand<K>>;

/// How to reach grains, on the address of their [`crate::Grains`].
pub trait GrainCalls<K, M>
where
    K: Send + 'static,
    M: Send + 'static,
{
    /// Sends to the grain of this key; it is made if it is not there.
    ///
    /// # Errors
    /// Those of [`Address::send`]; all give key and message back. [`SendError::Full`]: the
    /// grain's mailbox is full, or as many messages wait for its coming.
    fn send_to(&self, key: K, message: M) -> Result<(), SendError<ToGrain<K, M>>>;

    /// Calls the grain of this key; as [`Address::call`].
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

    /// As [`GrainCalls::send_to`], and waits while there is no room: `.await` it, or `.wait()` on a
    /// plain thread; as [`Address::send_or_wait`]. Places go to those that wait in the order in
    /// which they came, whether the grain is there, comes or goes; at one that is there the first of
    /// them stands in the line of its mailbox, for all.
    fn send_or_wait_to(&self, key: K, message: M) -> SendOrWait<ToGrain<K, M>, GrainCommand<K>>;

    /// Lets the grain of this key go; it comes back with the next message. What a grain says of
    /// itself when it knows that it is done for now.
    ///
    /// # Errors
    /// Those of [`Address::send_high`].
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
