//! `explain_restart`: from a process or a crash to the first cause, the decision and the
//! successor.

use crate::http::refusal::{Code, Refusal};
use crate::mcp::arguments::path_number;
use crate::mcp::reads::{Reads, ToolAnswer};
use serde_json::{Map, Value, json as value};

/// The newest crashes: as many as are remembered.
const CRASHES: &str = "/api/v1/crashes?after=-1&limit=500";

/// Finds the crash that is meant, and tells of it.
pub(super) async fn explained(node: &impl Reads, given: &Map<String, Value>) -> ToolAnswer {
    let bad = |refusal: Refusal| refusal.body();
    if let Some(strange) = given.keys().find(|name| !["seq", "id"].contains(&name.as_str())) {
        let message = format!("there is no parameter {strange:?}; there are: seq id");
        return Err(bad(Refusal::parameter(Code::UnknownParameter, strange, message)));
    }
    let number = |name: &str| match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => path_number(name, given).map(Some).map_err(bad),
    };
    let seq = match (number("seq")?, number("id")?) {
        (Some(_), Some(_)) => {
            let message = "either seq or id, not both";
            return Err(bad(Refusal::parameter(Code::BadParameter, "id", message)));
        }
        (Some(seq), None) => seq,
        (None, id) => newest(&node.get(CRASHES).await?, id).map_err(bad)?,
    };
    Ok(told(&node.get(&format!("/api/v1/crashes/{seq}")).await?))
}

/// The number of the newest crash, or of the newest of a process or of its predecessor.
fn newest(crashes: &Value, id: Option<u64>) -> Result<u64, Refusal> {
    let pid = id.map(|id| format!("<0.{id}.0>"));
    let meant = |crash: &&Value| {
        let Some(pid) = &pid else { return true };
        [&crash["pid"], &crash["replaced_by"]].into_iter().any(|it| it == pid.as_str())
    };
    let items = crashes["items"].as_array().map_or(&[][..], Vec::as_slice);
    let seq = items.iter().rev().find(meant).and_then(|crash| crash["seq"].as_u64());
    seq.ok_or_else(|| {
        let whose = pid.map_or_else(String::new, |pid| format!(" of {pid}, or of one before it"));
        Refusal::new(Code::NoEntry, format!("no crash is remembered{whose}"))
    })
}

/// The parts of a crash that explain a restart.
fn told(crash: &Value) -> Value {
    let own = value!({ "pid": crash["pid"], "name": crash["name"], "reason": crash["reason"] });
    let chain = crash["cause"]["chain"].as_array();
    let first = chain.and_then(|chain| chain.last()).unwrap_or(&own);
    value!({
        "seq": crash["seq"],
        "at": crash["at"],
        "pid": crash["pid"],
        "name": crash["name"],
        "behavior": crash["behavior"],
        "reason": crash["reason"],
        "first_cause": first,
        "in_hand": crash["in_hand"],
        "watched_by": crash["watched_by"],
        "decision": crash["decision"],
        "replaced_by": crash["replaced_by"],
        "explanation": crash["explanation"],
    })
}
