//! A process under a name, whichever process has that name now.

use krarup::LookupError;
use krarup::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The way to a process that its supervisor may replace under the same name.
///
/// The address is looked up when it is first needed, and again when the process it belongs
/// to has ended.
pub(crate) struct Named<M, C = M> {
    node: Node,
    name: &'static str,
    last: Arc<Mutex<Option<Address<M, C>>>>,
}

impl<M: Send + 'static, C: Send + 'static> Named<M, C> {
    /// Creates the way to the process that has this name.
    pub(crate) fn new(node: &Node, name: &'static str) -> Self {
        Named { node: node.clone(), name, last: Arc::default() }
    }

    /// Returns the current address of the process.
    pub(crate) fn address(&self) -> Result<Address<M, C>, LookupError> {
        // No code panics while it holds the lock.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = last.as_ref().filter(|address| address.is_alive()) {
            return Ok(address.clone());
        }
        let address: Address<M, C> = self.node.lookup(self.name)?;
        Ok(last.insert(address).clone())
    }
}

impl<M, C> Clone for Named<M, C> {
    fn clone(&self) -> Self {
        Named { node: self.node.clone(), name: self.name, last: Arc::clone(&self.last) }
    }
}
