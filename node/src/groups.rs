//! The groups of a node (rules G1 to G5).

use crate::node::Node;
use krarup_act::{Groups, Host};
use std::sync::Arc;

impl Node {
    /// Returns the process groups of this node: to look up members, and to have processes join and
    /// leave. A process itself uses [`Context::join`](krarup_act::Context::join).
    #[must_use]
    pub fn groups(&self) -> Groups {
        Groups::of(Arc::clone(self.dispatcher_host()) as Arc<dyn Host>)
    }
}
