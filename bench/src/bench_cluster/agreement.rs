//! What this program and the sides that it starts agree on.

/// The argument by which this program becomes a side.
pub(crate) const SIDE_FLAG: &str = "--side";

/// The tick time of all nodes, in seconds.
pub(crate) const TICK_SECONDS: u64 = 8;
