//! The shared part of a registry: its entries, by key.

use crate::addressing::address::Address;
use crate::memberships::records::{Membership, number_of};
use crate::process::crash::drop_contained;
use crate::sync::RwLock;
use krarup_gen::{Pid, RegisterKeyError};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Weak};

const SHARDS: usize = 16;

pub(crate) struct RegistryCore<K, M, C> {
    /// Of the shards and in them: keys may come from outside, so it is seeded.
    hasher: RandomState,
    shards: [RwLock<HashSet<KeyedEntry<K, M, C>>>; SHARDS],
    itself: Weak<Self>,
}

impl<K, M, C> RegistryCore<K, M, C> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new_cyclic(|itself| RegistryCore {
            hasher: RandomState::new(),
            shards: Default::default(),
            itself: Weak::clone(itself),
        })
    }

    /// The number of keys at this moment.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }
}

impl<K, M, C> RegistryCore<K, M, C>
where
    K: Hash + Eq + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn shard(&self, key: &K) -> &RwLock<HashSet<KeyedEntry<K, M, C>>> {
        // The remainder of a division by 16 fits any integer.
        &self.shards[usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0)]
    }

    pub(crate) fn get(&self, key: &K) -> Option<Address<M, C>> {
        self.shard(key).read().get(key).map(|entry| entry.0.address.clone())
    }

    /// Registers a process, unless the key is taken or the process has ended (rule G6).
    pub(crate) fn register(&self, key: K, address: Address<M, C>) -> Result<(), RegisterKeyError> {
        let (process, host) = (address.process(), Arc::clone(address.host()));
        let entry = Arc::new(KeyEntry { key, address, registry: Weak::clone(&self.itself) });
        let mut shard = self.shard(&entry.key).write();
        let refused = if let Some(taken) = shard.get(&entry.key) {
            RegisterKeyError::Taken { by: taken.0.address.pid() }
        } else if host.memberships().begin(&*process, Arc::clone(&entry) as _) {
            shard.insert(KeyedEntry(entry));
            return Ok(());
        } else {
            RegisterKeyError::NoProcess(process.pid())
        };
        drop(shard);
        drop_contained(entry);
        Err(refused)
    }

    /// Removes the key, if it is this process's. Returns whether it was.
    pub(crate) fn unregister(&self, key: &K, pid: Pid) -> bool {
        let mut shard = self.shard(key).write();
        let is_own = |entry: &KeyedEntry<K, M, C>| entry.0.address.pid().is_same_process(pid);
        if !shard.get(key).is_some_and(is_own) {
            return false;
        }
        let removed = shard.take(key);
        let record = removed.as_ref().and_then(|KeyedEntry(entry)| {
            entry.address.host().memberships().forget(pid, number_of(entry))
        });
        drop(shard);
        drop_contained(record);
        drop_contained(removed);
        true
    }

    /// Removes an entry whose process has ended.
    pub(crate) fn remove_entry(&self, entry: &KeyEntry<K, M, C>) {
        let mut shard = self.shard(&entry.key).write();
        let is_it = |held: &KeyedEntry<K, M, C>| std::ptr::eq(&raw const *held.0, entry);
        let removed =
            if shard.get(&entry.key).is_some_and(is_it) { shard.take(&entry.key) } else { None };
        drop(shard);
        drop_contained(removed);
    }

    /// The entries of this moment, in the order of the pids, and those of one process in an order that
    /// depends on the keys only. Each shard is copied at once.
    pub(crate) fn entries(&self) -> Vec<Arc<KeyEntry<K, M, C>>> {
        let mut entries = Vec::with_capacity(self.len());
        for shard in &self.shards {
            entries.extend(shard.read().iter().map(|KeyedEntry(entry)| Arc::clone(entry)));
        }
        // Not by `hasher`, whose seed differs from run to run.
        let fixed = |key: &K| {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            hasher.finish()
        };
        entries.sort_by_cached_key(|entry| (entry.address.pid(), fixed(&entry.key)));
        entries
    }
}

impl<K, M, C> Drop for RegistryCore<K, M, C> {
    /// The records of the processes go with the registry, for they may outlive it for long.
    fn drop(&mut self) {
        for shard in &self.shards {
            // The hash is that of the key, which never changes.
            #[allow(clippy::mutable_key_type, reason = "its address is no part of the hash")]
            let entries = std::mem::take(&mut *shard.write());
            for entry in entries {
                let address = &entry.0.address;
                let host = Arc::clone(address.host());
                let record = host.memberships().forget(address.pid_of(), number_of(&entry.0));
                drop_contained(record);
                drop_contained(entry);
            }
        }
    }
}

/// A key and its process.
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
pub(crate) struct KeyedEntry<K, M, C>(pub(crate) Arc<KeyEntry<K, M, C>>);

impl<K, M, C> Borrow<K> for KeyedEntry<K, M, C> {
    fn borrow(&self) -> &K {
        &self.0.key
    }
}

impl<K: Hash, M, C> Hash for KeyedEntry<K, M, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl<K: PartialEq, M, C> PartialEq for KeyedEntry<K, M, C> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<K: Eq, M, C> Eq for KeyedEntry<K, M, C> {}
