//! The registry, as its users see it (rules G6 to G8).

use super::key_call::KeyCall;
use super::registry_core::RegistryCore;
use crate::addressing::address::Address;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::process::crash::drop_contained;
use krarup_gen::KeySendError;
use std::any::type_name;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// Processes by keys of any type: Elixir's `Registry` with unique keys.
///
/// A registry is a value. Its clones are the same registry, and everything that has one can look up.
/// There is one living process for a key, and any number of keys for a process (rule G6). A process
/// registers itself ([`Context::register_in`]), and its keys are free when it has ended, before anybody
/// is told of it (rule G7): its successor registers in `init`. A registry keeps no process alive and
/// is kept alive by none (rule G8). `M` and `C` are the types of an [`Address`].
///
/// The key's `Hash` and `Eq` run under a lock of the registry. They must not use the registry.
///
/// ```
/// # mod krarup { pub use {krarup_act as groups, krarup_act::*, krarup_gen::*}; }
/// use krarup::groups::Registry;
/// use krarup::{Actor, Context, Reply, Result};
///
/// enum Say {
///     Add(u32),
///     Count(Reply<u32>),
/// }
///
/// struct Session {
///     id: u64,
///     sessions: Registry<u64, Say>,
///     count: u32,
/// }
///
/// impl Actor for Session {
///     type Message = Say;
///
///     async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
///         ctx.register_in(&self.sessions, self.id)?;
///         Ok(())
///     }
///
///     async fn handle_message(&mut self, _: &mut Context<Say>, message: Say) -> Result {
///         match message {
///             Say::Add(n) => self.count += n,
///             Say::Count(reply) => reply.send(self.count),
///         }
///         Ok(())
///     }
/// }
///
/// async fn count(sessions: &Registry<u64, Say>) -> Result<u32> {
///     if sessions.get(&7).is_none() {
///         return Ok(0);
///     }
///     sessions.send(&7, Say::Add(1)).map_err(|refused| refused.without_message())?;
///     Ok(sessions.call(&7, Say::Count).await?)
/// }
/// # let _ = count;
/// ```
pub struct Registry<K, M, C = M> {
    core: Arc<RegistryCore<K, M, C>>,
}

impl<K, M, C> Registry<K, M, C> {
    /// Creates a registry without keys.
    #[must_use]
    pub fn new() -> Self {
        Registry { core: RegistryCore::new() }
    }

    /// Returns the number of keys at this moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.core.len()
    }

    /// Returns whether it has no keys at this moment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K, M, C> Registry<K, M, C>
where
    K: Hash + Eq + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    pub(crate) fn core(&self) -> &RegistryCore<K, M, C> {
        &self.core
    }

    /// Returns the process of this key. By then it may have ended: it refuses what is sent to it.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<Address<M, C>> {
        self.core.get(key)
    }

    /// Sends a message to the process of this key.
    ///
    /// # Errors
    /// [`KeySendError`], with the message: no process has the key, or it has refused the message.
    pub fn send(&self, key: &K, message: M) -> Result<(), KeySendError<M>> {
        match self.get(key) {
            None => Err(KeySendError::NoProcess { message }),
            Some(address) => address.send(message).map_err(KeySendError::Refused),
        }
    }

    /// Calls the process that has this key now, as [`Address::call`] does. Nothing is sent until the
    /// call is awaited, or waited for on a plain thread. The default timeout is 5 s.
    pub fn call<T, F>(&self, key: &K, request: F) -> KeyCall<M, C, T, F>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> M,
    {
        KeyCall::new(self.get(key), request)
    }

    /// Returns the keys of a moment, in the order of the pids of their processes.
    #[must_use]
    pub fn keys(&self) -> Vec<K>
    where
        K: Clone,
    {
        let mut keys = Vec::new();
        self.for_each(|key, _| keys.push(key.clone()));
        keys
    }

    /// Calls `visit` with each key of a moment and its process, in the order of the pids. Others may
    /// use the registry meanwhile, `visit` too.
    pub fn for_each(&self, mut visit: impl FnMut(&K, &Address<M, C>)) {
        for entry in self.core.entries() {
            visit(&entry.key, &entry.address);
            // It may have been removed meanwhile.
            drop_contained(entry);
        }
    }

    /// Removes a key of the process of this context. Returns whether it was its key.
    pub fn unregister(&self, ctx: &Context<M, C>, key: &K) -> bool {
        self.core.unregister(key, ctx.pid())
    }

    /// Removes all keys of the process of this context, and returns how many it had. It looks at all
    /// keys of the registry.
    pub fn unregister_all(&self, ctx: &Context<M, C>) -> usize {
        let own = ctx.pid();
        let entries = self.core.entries();
        let owned = entries.iter().filter(|entry| entry.address.pid().is_same_process(own));
        let removed = owned.filter(|entry| self.core.unregister(&entry.key, own)).count();
        entries.into_iter().for_each(drop_contained);
        removed
    }
}

impl<K, M, C> Clone for Registry<K, M, C> {
    fn clone(&self) -> Self {
        Registry { core: Arc::clone(&self.core) }
    }
}

impl<K, M, C> Default for Registry<K, M, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, M, C> fmt::Debug for Registry<K, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry<{}, {}>({} keys)", type_name::<K>(), type_name::<M>(), self.len())
    }
}
