//! The store: which process holds which key.
//!
//! A [`Registry`] is a value, shared by its clones; each reads it without asking anyone. A process
//! enters itself, and is no member any more when it has ended. So the store only owns the registry: its
//! next incarnation has an empty one.

use crate::element::ElementRequest;
use krarup::groups::Registry;
use krarup::prelude::*;

/// The name of the process.
pub(crate) const STORE: &str = "lease_cache.store";

/// The elements by their keys.
pub(crate) type Keys = Registry<String, ElementRequest>;

/// Owns the registry.
#[derive(Default)]
pub(crate) struct Store {
    keys: Keys,
}

impl Actor for Store {
    type Message = Reply<Keys>;

    async fn handle_message(&mut self, _: &mut Context<Reply<Keys>>, reply: Reply<Keys>) -> Result {
        reply.send(self.keys.clone());
        Ok(())
    }
}
