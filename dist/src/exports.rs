//! What other nodes may reach: names, and the types whose messages are understood.
//!
//! Nothing is reachable because it exists. A name is reachable when it was exported with its
//! message type. A pid is reachable when this node has sent it out, and its process takes
//! messages of a type that the cluster carries (rules Zmsg10, Zsec4).

pub(crate) mod inlet;
pub(crate) mod statistics;
pub(crate) mod typed;

use krarup_gen::Name;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Which of OTP's `sys` requests an exported process obeys (rule Zcall12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sys {
    /// `get_status`, which tells nothing of its state.
    #[default]
    Status,
    /// Also `get_state` and `statistics`.
    Read,
    /// Also `suspend`, `resume` and `terminate`.
    All,
}

/// An exported name.
pub(crate) struct ExportedName<I: ?Sized> {
    pub(crate) inlet: Arc<I>,
    /// The type of its messages.
    pub(crate) message: &'static str,
    pub(crate) sys: Sys,
}

impl<I: ?Sized> Clone for ExportedName<I> {
    fn clone(&self) -> Self {
        ExportedName { inlet: Arc::clone(&self.inlet), message: self.message, sys: self.sys }
    }
}

/// The exported names and the carried types, with what reads their messages.
pub(crate) struct Exports<I: ?Sized> {
    names: RwLock<HashMap<String, ExportedName<I>>>,
    types: RwLock<HashMap<&'static str, Arc<I>>>,
}

impl<I: ?Sized> Default for Exports<I> {
    fn default() -> Self {
        Exports { names: RwLock::default(), types: RwLock::default() }
    }
}

impl<I: ?Sized> Exports<I> {
    /// Adds what reads messages of the type with this name, unless there is such a thing.
    pub(crate) fn add_type(&self, name: &'static str, inlet: impl FnOnce() -> Arc<I>) -> Arc<I> {
        Arc::clone(self.types.write().entry(name).or_insert_with(inlet))
    }

    /// Exports a name, in place of an export with the same type of messages.
    ///
    /// # Errors
    /// The type of the messages with which the name is exported, if it is another one. Its callers
    /// would no longer be understood.
    pub(crate) fn add_name(
        &self,
        name: &Name,
        export: ExportedName<I>,
    ) -> Result<(), &'static str> {
        let mut names = self.names.write();
        let exported = names.get(name.as_str()).map(|export| export.message);
        if let Some(exported) = exported.filter(|exported| *exported != export.message) {
            return Err(exported);
        }
        let before = names.insert(name.as_str().to_owned(), export);
        drop(names);
        drop(before);
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = self.names.write().remove(name);
        removed.is_some()
    }

    pub(crate) fn of_name(&self, name: &str) -> Option<ExportedName<I>> {
        self.names.read().get(name).cloned()
    }

    pub(crate) fn of_type(&self, name: &str) -> Option<Arc<I>> {
        self.types.read().get(name).cloned()
    }
}
