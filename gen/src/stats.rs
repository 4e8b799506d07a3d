//! Counters of a node.

/// What a node has counted since it started (rule X4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// Living processes.
    pub processes: usize,
    /// Processes spawned since the start.
    pub spawned: u64,
    /// Registered names.
    pub names: usize,
    /// Aliases that are not revoked.
    pub aliases: usize,
    /// Timers set and not yet fired or cancelled.
    pub timers: usize,
    /// Messages that were accepted and never handled, or sent to a dead process
    /// (rules M7 and D7).
    pub dead_letters: u64,
    /// Replies that came after their call had timed out or was given up (rule C3).
    pub late_replies: u64,
    /// Side threads for blocking work that are alive (they are started when needed, and end
    /// when idle).
    pub blocking_threads: usize,
    /// Blocking work that waits for a side thread or runs on one.
    pub blocking_work: usize,
    /// One entry per dispatcher.
    pub dispatchers: Vec<DispatcherStats>,
}

/// What a dispatcher has counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DispatcherStats {
    /// Its name.
    pub name: String,
    /// Its worker threads.
    pub workers: usize,
    /// Workers asleep now.
    pub parked: usize,
    /// Turns run.
    pub turns: u64,
    /// Processes put on the shared queue (from outside, or spilled).
    pub injected: u64,
    /// Batches stolen from another worker.
    pub steals: u64,
    /// Times a worker went to sleep.
    pub parks: u64,
    /// Workers held now by a turn that is longer than the limit set (rule R4).
    pub blocked: usize,
    /// Turns that were longer than the limit.
    pub long_turns: u64,
    /// Spare workers that fill in now.
    pub spares: usize,
}

impl NodeStats {
    /// The counters after `fill`: for hosts.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}

impl DispatcherStats {
    /// Counters at zero: for hosts, which fill them in.
    #[must_use]
    pub fn new(name: String, workers: usize) -> Self {
        DispatcherStats { name, workers, ..Self::default() }
    }

    /// The counters after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
