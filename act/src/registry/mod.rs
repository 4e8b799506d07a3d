//! Registries: processes by keys of any type (rules G6 to G9).
//!
//! ```text
//!   Registry<K, M>: a value, shared by its clones
//!     16 shards by key:  ┌─ RwLock ─────────────┐
//!       get  ── read ──► │ key ► KeyEntry       │◄── the record of the process in `Memberships`
//!       register ─ write │        key, address, │
//!                        │        the registry ─┼──► weak: the end of the process removes the entry
//!                        └──────────────────────┘
//! ```
//!
//! - **One entry** for a key: the shard and the record of the process share it. So a key is stored
//!   once, and costs no more than its entry, a pointer here and one place there (G9).
//! - **One living process for a key.** Whether the key is free and the process lives is looked at, and
//!   the entry is added, under the lock of the shard. The end of a process removes its entries before
//!   its name is free and before anybody is told (G7).
//! - **Users' code.** The key's `Hash` and `Eq` are the only code of a user that runs under a lock.
//!   Keys are cloned and dropped without it.

pub(crate) mod key_call;
pub(crate) mod registering;
#[allow(clippy::module_inception, reason = "the module is named after its main type `Registry`")]
pub(crate) mod registry;
pub(crate) mod registry_core;
