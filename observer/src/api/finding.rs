//! A finding: what is worth a look, how bad it is, and of which process.

use crate::time::ms;
use krarup_gen::Pid;
use serde::Serialize;
use std::time::Duration;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Info,
    Warning,
    Critical,
}

/// The severities, as metrics name them.
pub(crate) const SEVERITIES: [&str; 3] = ["info", "warning", "critical"];

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    severity: &'static str,
    pid: Option<String>,
    name: Option<String>,
    pub(crate) since_ms: Option<f64>,
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) level: Severity,
}

impl Finding {
    pub(crate) fn new(code: &'static str, level: Severity, text: String) -> Self {
        let severity = SEVERITIES[level as usize];
        Finding { code, severity, pid: None, name: None, since_ms: None, text, level }
    }

    pub(crate) fn since(mut self, since: Duration) -> Self {
        self.since_ms = Some(ms(since));
        self
    }

    /// Since when it lasts; not told if that is not known: it was found for the first time, and may have
    /// begun at any moment since the look before.
    pub(crate) fn since_known(mut self, since: Option<Duration>) -> Self {
        self.since_ms = since.filter(|since| !since.is_zero()).map(ms);
        self
    }

    /// Of a node of the cluster, which is no process.
    pub(crate) fn named(mut self, node: String) -> Self {
        self.name = Some(node);
        self
    }

    pub(crate) fn of(mut self, pid: Pid, name: Option<String>) -> Self {
        self.pid = Some(pid.to_string());
        self.name = name;
        self
    }
}
