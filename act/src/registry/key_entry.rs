//! A key of a registry and its process.

use super::registry_core::RegistryCore;
use crate::addressing::address::Address;
use crate::memberships::records::Membership;
use krarup_gen::Pid;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

pub(crate) struct KeyEntry<K, M, C> {
    pub(crate) key: K,
    pub(crate) address: Address<M, C>,
    pub(crate) registry: Weak<RegistryCore<K, M, C>>,
}

impl<K, M, C> Membership for KeyEntry<K, M, C>
where
    K: Hash + Eq + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn end(&self, _: Pid) {
        if let Some(registry) = self.registry.upgrade() {
            registry.remove_entry(self);
        }
    }
}

/// An entry, found by its key.
pub(crate) struct ByKey<K, M, C>(pub(crate) Arc<KeyEntry<K, M, C>>);

impl<K, M, C> Borrow<K> for ByKey<K, M, C> {
    fn borrow(&self) -> &K {
        &self.0.key
    }
}

impl<K: Hash, M, C> Hash for ByKey<K, M, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl<K: PartialEq, M, C> PartialEq for ByKey<K, M, C> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<K: Eq, M, C> Eq for ByKey<K, M, C> {}
