//! Who may connect, and what the nodes that do may reach.
//!
//! ```text
//!   name ──► allowed? ──► the cookie of that node ──► connected ──► NodeRights ──► exports,
//!            Cluster::allow   Cluster::cookie_for                   Cluster::policy  functions
//! ```
//!
//! The name is looked at first: a node that is not allowed learns nothing of any cookie (rule
//! Zsec3). What is not exported or served is reached by nobody; rights narrow that further, by
//! node, and never widen it (rule Zsec4).

pub(crate) mod admission;
pub(crate) mod node_pattern;
pub(crate) mod node_rights;
pub(crate) mod reach;
