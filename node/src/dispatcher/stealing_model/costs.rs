//! What the steps of a worker cost, in nanoseconds. Each is an assumption, of the size that was measured on two
//! cores or is known of servers (docs/performance.md).

/// A process from the worker's own queue.
pub(super) const QUEUE: u64 = 10;
/// A look at a queue that another core writes: a cache line from there.
pub(super) const LOOK: u64 = 100;
/// The first turn of a process that ran on another core: some ten cache lines.
pub(super) const CARRIED: u64 = 1_000;
/// The first pause of a search; each of the next is twice as long.
pub(super) const ROUND_SPIN: u64 = 5;
/// A yield to the system.
pub(super) const ROUND_YIELD: u64 = 500;
/// From the call that wakes a thread until it runs.
pub(super) const WAKE: u64 = 20_000;
