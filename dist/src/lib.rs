//! The cluster of a Krarup node: it joins Erlang/OTP nodes, and Krarup nodes join each other,
//! by OTP's own distribution protocol.
//!
//! ```text
//!   Cluster ── listens, dials, is registered at epmd
//!   ├─ listener ── connections, one process each: handshake, frames, ticks
//!   └─ connections that were dialled
//!
//!   core ── what they share: peers, exports, calls, identities
//!   └─ peers, one for each other node: queue, links, monitors
//!      └─ RemoteProcess: the stand-in of a process there, for links and monitors
//! ```
//!
//! A process here and one there are linked, monitored and called as two processes of one node.
//! What a wire cannot keep (bounds, permits, inspections) is not promised: a process of another
//! node is a [`Recipient`](krarup_act::Recipient), not an address.
//!
//! Nothing is reachable because it exists: see [`ClusterCalls::export`], and
//! [`ClusterCalls::serve`] for functions.

#![forbid(unsafe_code)]
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod calls;
mod cluster;
mod cluster_calls;
mod connection;
mod cookie;
mod core;
mod counters;
mod discovery;
mod encryption;
mod epmd;
mod error;
mod events;
mod exports;
mod functions;
mod groups;
mod handle;
mod has_cluster;
mod incoming;
mod keeping;
mod listening;
mod messages;
mod one_shot;
mod peer;
mod peer_log;
mod remote_spawns;
mod requests;
mod rights;
mod rpc;
mod simulated;
mod terms;

pub use cluster::Cluster;
pub use cluster_calls::ClusterCalls;
pub use cookie::{cookie_from_env, cookie_from_home};
pub use discovery::Discovery;
pub use discovery::dns::DnsDiscovery;
pub use discovery::epmd_discovery::EpmdDiscovery;
pub use discovery::error::DiscoveryError;
pub use discovery::news::DiscoveryNews;
pub use error::{
    ClusterError, ConnectionError, CookieFileError, FunctionNameError, QueueLimitsError,
    RegistrationError, ServeError, StartError,
};
pub use events::NodeEvent;
pub use exports::Sys;
pub use exports::typed::Served;
pub use functions::arguments::FunctionArguments;
pub use functions::call::FunctionCall;
pub use functions::exception::{ExceptionClass, TermException};
pub use groups::group_names::GroupNames;
pub use groups::term_groups::TermGroups;
pub use handle::ClusterHandle;
pub use has_cluster::{ClusterAddress, HasCluster};
#[doc(inline)]
pub use krarup_gen::{ClusterStats, KeptNode};
#[cfg(feature = "tls")]
pub use krarup_io::{Tls, TlsError, TlsVersion};
pub use krarup_wire::DistributionFlags;
pub use krarup_wire::etf;
pub use krarup_wire::handshake::{Cookie, CookieError};
pub use krarup_wire::{AliasRecipient, ControlMessage, Monitored};
pub use messages::ClusterMessage;
pub use peer::connection_info::ConnectionInfo;
pub use peer::control_trace::{ControlTrace, TracedControl};
pub use remote_spawns::error::RemoteSpawnError;
pub use remote_spawns::spawn::RemoteSpawn;
pub use rights::node_pattern::{NodePattern, NodePatternError};
pub use rights::node_rights::NodeRights;
pub use rights::reach::Reach;
pub use rpc::call::RpcCall;
pub use rpc::error::RpcError;
pub use simulated::network::SimNetwork;
pub use terms::info::Info;
pub use terms::reason::{ReasonTerm, reason_from_term, reason_to_term};
pub use terms::term_message::TermMessage;
