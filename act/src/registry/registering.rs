//! A process registers itself (rule G6).

use super::registry::Registry;
use crate::context::Context;
use krarup_gen::RegisterKeyError;
use std::hash::Hash;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Registers this process under a key, until it ends or unregisters
    /// ([`Registry::unregister`]). It may have any number of keys.
    ///
    /// # Errors
    /// [`RegisterKeyError`]: a living process has the key (this one too), or this process has ended (a
    /// context can be moved out of its process). Nothing has changed.
    pub fn register_in<K>(
        &self,
        registry: &Registry<K, M, C>,
        key: K,
    ) -> Result<(), RegisterKeyError>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        registry.core().register(key, self.address())
    }
}
