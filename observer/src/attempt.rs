//! An attempt to act, as it is recorded.

use crate::time::rfc3339;
use serde_json::{Map, Value, json as value};
use std::net::IpAddr;
use std::time::SystemTime;

/// An attempt to act.
pub(crate) struct Attempt {
    pub(crate) at: SystemTime,
    pub(crate) peer: IpAddr,
    pub(crate) action: &'static str,
    /// The number of the process, as far as it is one.
    pub(crate) id: Option<u64>,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) outcome: &'static str,
    pub(crate) code: Option<&'static str>,
}

impl Attempt {
    pub(crate) fn item(&self, seq: u64) -> Value {
        value!({
            "seq": seq,
            "at": rfc3339(self.at),
            "peer": self.peer.to_string(),
            "action": self.action,
            "pid": self.id.map(|id| format!("<0.{id}.0>")),
            "arguments": self.arguments,
            "outcome": self.outcome,
            "code": self.code,
        })
    }
}
