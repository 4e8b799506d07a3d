//! What is served, by module, name and arity.

use krarup_wire::etf::Atom;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// The name of a function: its module, its own name, and the number of its arguments.
pub(crate) type FunctionName = (Atom, Atom, u8);

/// Functions or factories.
pub(crate) struct FunctionTable<F: ?Sized> {
    entries: RwLock<HashMap<FunctionName, Arc<F>>>,
}

impl<F: ?Sized> Default for FunctionTable<F> {
    fn default() -> Self {
        FunctionTable { entries: RwLock::default() }
    }
}

impl<F: ?Sized> FunctionTable<F> {
    /// Adds an entry. Returns false if the name is taken.
    pub(crate) fn add(&self, name: FunctionName, entry: Arc<F>) -> bool {
        let mut entries = self.entries.write();
        let is_free = !entries.contains_key(&name);
        if is_free {
            entries.insert(name, entry);
            return true;
        }
        drop(entries);
        // It is the user's, and dropped without the lock.
        drop(entry);
        false
    }

    /// Removes an entry. Returns whether there was one.
    pub(crate) fn remove(&self, name: &FunctionName) -> bool {
        let removed = self.entries.write().remove(name);
        removed.is_some()
    }

    pub(crate) fn find(&self, name: &FunctionName) -> Option<Arc<F>> {
        self.entries.read().get(name).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.read().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall7_a_name_stands_for_one_function_of_one_arity() {
        let table = FunctionTable::<u8>::default();
        let name = |arity| (Atom::fixed("stock"), Atom::fixed("add"), arity);
        assert!(table.is_empty());
        assert!(table.add(name(1), Arc::new(1)) && table.add(name(2), Arc::new(2)));
        assert!(!table.add(name(1), Arc::new(3)));
        assert_eq!(table.find(&name(1)).as_deref(), Some(&1));
        assert_eq!(table.find(&name(3)), None);
        assert!(table.remove(&name(1)) && !table.remove(&name(1)));
        assert_eq!((table.find(&name(1)), table.is_empty()), (None, false));
    }
}
