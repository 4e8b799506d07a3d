//! What is sent to grains, and how.

use krarup_act::{Address, Call, Reply};
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
    /// next message.
    Release(K),
}

/// The address of a [`crate::Grains`].
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

    fn release(&self, key: K) -> Result<(), SendError<GrainCommand<K>>> {
        self.send_high(GrainCommand::Release(key))
    }
}
