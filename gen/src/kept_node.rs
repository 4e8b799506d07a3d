//! A node that a cluster keeps connected.

use crate::NodeName;
use std::time::Duration;

/// A node that is kept connected (rule Zlive4), as `ClusterCalls::kept` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct KeptNode {
    /// The node.
    pub node: NodeName,
    /// Whether it is connected.
    pub is_connected: bool,
    /// How many dials, and connections that did not last for a minute, have failed in succession.
    /// What a discovery tells of the node does not end the succession.
    pub failures: u32,
    /// How long it waits until it is dialled again; `None` while it is connected or dialled.
    pub dialled_in: Option<Duration>,
}

impl KeptNode {
    /// Creates the description of a node that is dialled now and has not failed, for clusters to
    /// fill in.
    #[must_use]
    pub fn new(node: NodeName) -> Self {
        KeptNode { node, is_connected: false, failures: 0, dialled_in: None }
    }

    /// Returns the description after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
