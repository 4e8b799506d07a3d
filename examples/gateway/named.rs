//! A process under a name, whichever process that is now.

use krarup::prelude::*;
use std::sync::{Arc, Mutex};

/// The way to a process that its supervisor may replace: the name stays.
///
/// The address is looked up when it is first wanted, and again when the process it
/// belongs to has died.
pub(crate) struct Named<M, C = M> {
    node: Node,
    name: &'static str,
    last: Arc<Mutex<Option<Address<M, C>>>>,
}

impl<M: Send + 'static, C: Send + 'static> Named<M, C> {
    /// The process that has this name.
    pub(crate) fn new(node: &Node, name: &'static str) -> Self {
        Named { node: node.clone(), name, last: Arc::default() }
    }

    /// Its address now.
    pub(crate) fn address(&self) -> Result<Address<M, C>, CallError> {
        // Nothing panics while it is held.
        let mut last = self.last.lock().map_err(|_| CallError::NoProcess)?;
        if let Some(address) = last.as_ref().filter(|address| address.is_alive()) {
            return Ok(address.clone());
        }
        let address: Address<M, C> =
            self.node.lookup(self.name).map_err(|_| CallError::NoProcess)?;
        Ok(last.insert(address).clone())
    }
}

impl<M, C> Clone for Named<M, C> {
    fn clone(&self) -> Self {
        Named { node: self.node.clone(), name: self.name, last: Arc::clone(&self.last) }
    }
}
