//! Errors of starting an observer.

use crate::metrics::program_families::MetricFlaw;
use crate::token::TokenError;
use krarup_gen::{CannotWait, SpawnError, ThreadError};
use krarup_node::NodeError;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why an observer could not be started. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserverError {
    /// The address is not one, or its host is not known.
    #[error("{address:?} is not an address to listen on: {error}")]
    Address {
        /// The address as it was given.
        address: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The address is not a loopback address, and there is no read token.
    #[error("{0} can be reached from other machines, and there is no read token")]
    OpenToTheWorld(SocketAddr),
    /// A token is not one.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The action token and the read token are the same.
    #[error("the action token and the read token are the same")]
    SameToken,
    /// A host that is to be allowed is not the name of a host.
    #[error("{0:?} is not a host name without a port")]
    Host(String),
    /// An origin that is to be allowed is not one.
    #[error("{0:?} is not an origin, like https://example.org")]
    Origin(String),
    /// The name of a process to check is not one.
    #[error("{0:?} is not a name of a process to check")]
    CheckName(String),
    /// The time limit of a check is not from 1 ms to 10 s.
    #[error("the check {check:?} has a time limit of {time:?}, which is not from 1 ms to 10 s")]
    CheckTime {
        /// The name of the check.
        check: String,
        /// The limit.
        time: Duration,
    },
    /// Two checks have the same name.
    #[error("the check {0:?} is there twice")]
    CheckTwice(String),
    /// The name of a watched process is not one.
    #[error("{0:?} is not a name of a process")]
    WatchedName(String),
    /// The name of a process that is to start is not one.
    #[error("{0:?} is not a name of a process that could start")]
    ReadyName(String),
    /// A family of the program's own metrics cannot be served (rule V86).
    #[error("the metric family {family:?} of the program cannot be served: {flaw}")]
    Metric {
        /// The name of the family.
        family: String,
        /// Why not.
        #[source]
        flaw: MetricFlaw,
    },
    /// The dispatcher of the observer cannot be added.
    #[error("the dispatcher of the observer cannot be added: {0}")]
    Dispatcher(#[source] NodeError),
    /// The processes of the observer cannot be started. The name `observer` is taken if the node
    /// has an observer already.
    #[error("the observer cannot be started: {0}")]
    Spawn(#[source] SpawnError),
    /// The system has no thread left.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// This thread cannot wait.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}
