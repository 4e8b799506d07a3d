//! The workloads, by name.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Echo,
    Line,
    Words,
    Counter,
    CounterWorkers,
    CounterTask,
    CounterLimits,
    Limited,
    LimitedBuffer,
    Timers,
    TimersFire,
    Block,
    Restarts,
}

impl Workload {
    const ALL: [Workload; 13] = [
        Workload::Echo,
        Workload::Line,
        Workload::Words,
        Workload::Counter,
        Workload::CounterWorkers,
        Workload::CounterTask,
        Workload::CounterLimits,
        Workload::Limited,
        Workload::LimitedBuffer,
        Workload::Timers,
        Workload::TimersFire,
        Workload::Block,
        Workload::Restarts,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::Echo => "echo",
            Workload::Line => "line",
            Workload::Words => "words",
            Workload::Counter => "counter",
            Workload::CounterWorkers => "counter-workers",
            Workload::CounterTask => "counter-task",
            Workload::CounterLimits => "counter-limits",
            Workload::Limited => "limited",
            Workload::LimitedBuffer => "limited-buffer",
            Workload::Timers => "timers",
            Workload::TimersFire => "timers-fire",
            Workload::Block => "block",
            Workload::Restarts => "restarts",
        }
    }

    /// Whether this process sends requests to a server.
    pub(crate) fn is_served(self) -> bool {
        self.is_http() || matches!(self, Workload::Echo | Workload::Line)
    }

    /// Whether the requests are those of HTTP.
    pub(crate) fn is_http(self) -> bool {
        matches!(
            self,
            Workload::Words
                | Workload::Counter
                | Workload::CounterWorkers
                | Workload::CounterTask
                | Workload::CounterLimits
                | Workload::Limited
                | Workload::LimitedBuffer
        )
    }

    /// Whether the server refuses requests if there are too many.
    pub(crate) fn refuses(self) -> bool {
        matches!(self, Workload::Words | Workload::Limited | Workload::LimitedBuffer)
    }

    /// The sizes that are measured if none is given.
    fn sizes(self) -> &'static [usize] {
        match self {
            Workload::Echo | Workload::Line => &[100, 1_000, 9_000],
            // Fewer than can wait, and more.
            Workload::Words | Workload::Limited | Workload::LimitedBuffer => &[16, 512],
            Workload::Counter
            | Workload::CounterWorkers
            | Workload::CounterTask
            | Workload::CounterLimits => &[64],
            Workload::Timers => &[1_000, 10_000, 100_000, 1_000_000],
            Workload::TimersFire => &[1_000, 100_000, 1_000_000],
            Workload::Block => &[50_000],
            Workload::Restarts => &[100_000],
        }
    }

    /// All workloads with all their sizes.
    pub(crate) fn all() -> Vec<(Workload, usize)> {
        Self::ALL.into_iter().flat_map(Self::with_sizes).collect()
    }

    pub(crate) fn with_sizes(self) -> impl Iterator<Item = (Workload, usize)> {
        self.sizes().iter().map(move |&size| (self, size))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
