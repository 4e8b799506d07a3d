//! How the lines of the screen are shared out. Pure.

/// How the lines of the screen are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TopShares {
    pub(crate) dispatchers: usize,
    pub(crate) findings: usize,
    pub(crate) processes: usize,
}

impl TopShares {
    /// Lines that are always there: three of the node, the headings of the findings and of the
    /// processes, the names of the columns, the keys.
    const FIXED: usize = 7;

    pub(crate) fn of(height: usize, dispatchers: usize, findings: usize) -> Self {
        let free = height.saturating_sub(TopShares::FIXED);
        let dispatchers = dispatchers.clamp(1, 3).min(free);
        // At least half of the rest is for the processes.
        let free = free - dispatchers;
        let findings = findings.clamp(1, 5).min(free / 2);
        TopShares { dispatchers, findings, processes: free - findings }
    }
}
