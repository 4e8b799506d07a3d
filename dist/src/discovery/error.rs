//! Why a discovery has no answer.

use crate::error::RegistrationError;
use krarup_gen::NodeName;
use std::error::Error;
use std::io;

/// Why a node was not found, or why it is not known which nodes there are (rule Zhs9).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// No discovery knows the node: it has no fixed address, and there is no port mapper to ask.
    #[error("no discovery knows the node {node}")]
    Unknown {
        /// The node.
        node: NodeName,
    },
    /// The resolver of the system has no address of the host.
    #[error("the host {host:?} cannot be resolved: {source}")]
    Host {
        /// The host.
        host: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The port mapper does not answer, or does not know the node.
    #[error(transparent)]
    Epmd(#[from] RegistrationError),
    /// The discovery has panicked.
    #[error("the discovery has panicked: {0}")]
    Panicked(String),
    /// A failure of a user's discovery.
    #[error("{0}")]
    Other(#[source] Box<dyn Error + Send + Sync>),
}

impl DiscoveryError {
    /// Wraps any error of a user's discovery.
    pub fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        DiscoveryError::Other(error.into())
    }
}
