//! The charts: what changes from left to right, and the workloads that are measured at each point.

/// One chart.
pub(crate) struct Chart {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What changes from left to right.
    pub(crate) axis: &'static str,
    pub(crate) points: &'static [u32],
    pub(crate) lines: &'static [Line],
}

/// One line of a chart: a workload.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// The arguments of `bench-krarup` at a point, and the work, which may be divided.
    pub(crate) run: fn(u64) -> PointRun,
}

/// One run of `bench-krarup`.
pub(crate) struct PointRun {
    pub(crate) options: Vec<String>,
    pub(crate) workload: &'static str,
    pub(crate) size: u64,
    pub(crate) count: Option<u64>,
}

impl PointRun {
    fn of(workload: &'static str, size: u64) -> Self {
        PointRun { options: Vec::new(), workload, size, count: None }
    }

    fn among(workload: &'static str, size: u64, count: u64) -> Self {
        PointRun { count: Some(count), ..Self::of(workload, size) }
    }

    fn with(self, option: &str, number: u64) -> Self {
        PointRun { options: vec![option.to_owned(), number.to_string()], ..self }
    }
}

macro_rules! lines {
    ($($name:literal: $run:expr,)*) => { &[$(Line { name: $name, run: $run }),*] };
}

pub(crate) const CHARTS: &[Chart] = &[
    Chart {
        name: "workers",
        title: "Cost by the number of workers, on the cores that there are",
        axis: "workers",
        points: &[1, 2, 4, 8],
        lines: lines! {
            "pingpong": |at| PointRun::of("pingpong", 1_000_000).with("--workers", at),
            "pairs": |at| PointRun::of("pairs", 20_000).with("--workers", at),
            "fanin": |at| PointRun::of("fanin", 5_000_000).with("--workers", at),
            "call64": |at| PointRun::of("call64", 1_000_000).with("--workers", at),
            "big": |at| PointRun::of("big", 10_000).with("--workers", at),
            "spawn": |at| PointRun::of("spawn", 500_000).with("--workers", at),
        },
    },
    Chart {
        name: "processes",
        title: "Cost by the number of processes",
        axis: "processes",
        points: &[1_000, 10_000, 100_000, 1_000_000],
        lines: lines! {
            "two of them busy (crowd)": |at| PointRun::among("crowd", 1_000_000, at),
            "one token around (ring)": |at| PointRun::among("ring", 3_000_000, at),
            "all of them busy (pairs)": |at| PointRun::among("pairs", 4_000_000 / at, at / 2),
        },
    },
    Chart {
        name: "depth",
        title: "Cost by the number of messages that wait",
        axis: "messages in the mailbox",
        points: &[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000],
        // A round of one message costs as much as a wake-up of a thread.
        lines: lines! { "depth": |at| PointRun::among("depth", (2_000 * at).min(2_000_000), at), },
    },
    Chart {
        name: "size",
        title: "Cost by the size of a message",
        axis: "bytes",
        points: &[8, 16, 32, 64, 128, 256, 512, 1_024],
        lines: lines! { "sized": |at| PointRun::among("sized", 1_000_000, at), },
    },
    Chart {
        name: "budget",
        title: "Cost by the number of messages in a turn",
        axis: "messages in a turn",
        points: &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
        lines: lines! {
            "fanin": |at| PointRun::of("fanin", 5_000_000).with("--throughput", at),
            "fanout": |at| PointRun::of("fanout", 5_000_000).with("--throughput", at),
            "pool-native": |at| PointRun::of("pool-native", 2_000_000).with("--throughput", at),
            "big": |at| PointRun::of("big", 10_000).with("--throughput", at),
        },
    },
];
