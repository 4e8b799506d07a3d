//! `/api/v1/snapshot`: all that can be read, in one file.
//!
//! Details of processes and crashes are in it as far as there is room in an answer.

use crate::api::processes::{self, ProcessQuery};
use crate::api::{
    cluster, crash_items, detail, findings, flow, node, pools, rings, tree, turns, waits,
};
use crate::event_ring::After;
use crate::health::probes;
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::http::route::RingName;
use crate::limits;
use crate::shared::Shared;
use hyper::StatusCode;
use serde_json::{Value, json as value};
use std::sync::Arc;

/// The most processes, edges and items of a ring in the file.
const PROCESSES: &str = "limit=500";
const EDGES: usize = 2000;
const FLOWS: usize = 1000;
const ITEMS: usize = 256;
/// The most processes with their details.
const DETAILS: usize = 500;
/// The bytes of an answer that are not given away to details.
const SPARE: usize = 1 << 10;

/// `GET /api/v1/snapshot`.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    let health = probes::body(shared).await;
    let picture = shared.picture().await?;
    let asked = ProcessQuery::read(&Parameters::read(Some(PROCESSES), &processes::PARAMETERS)?)?;
    let ring = |ring| rings::body(shared, ring, After::Newest, ITEMS);
    let mut snapshot: Value = value!({
        "snapshot": "krarup",
        "api": "v1",
        "node": node::of(shared, &picture),
        "health": health,
        "processes": processes::body(shared, &picture, &asked),
        "tree": tree::body(shared, &picture, tree::TreeQuery::default())?,
        "waits": waits::body(&picture, EDGES),
        "pools": pools::body(&picture, pools::POOLS),
        "cluster": cluster::body(shared, &picture, cluster::NODES),
        "findings": findings::body(shared, &picture, findings::LISTED),
        "flow": flow::body(&picture, FLOWS),
        "turns": turns::body(shared, &picture),
        "crashes": ring(RingName::Crashes),
        "restarts": ring(RingName::Restarts),
        "dead_letters": ring(RingName::DeadLetters),
        "deadlocks": ring(RingName::Deadlocks),
        "actions": ring(RingName::Actions),
        "logs": ring(RingName::Logs),
    });
    // What is made of texts and numbers can be written as text.
    let length = serde_json::to_string(&snapshot).map_or(0, |text| text.len());
    let mut room = limits::ANSWER.saturating_sub(length + SPARE);
    let mut crashes = fitting(crash_items::newest(shared, ITEMS), &mut room);
    crashes.reverse();
    let processes = detail::details(shared, &picture, DETAILS).await;
    let processes = fitting(processes.filter_map(|it| serde_json::to_value(it).ok()), &mut room);
    snapshot["process_details"] = processes.into();
    snapshot["crash_details"] = crashes.into();
    Ok(json(StatusCode::OK, &snapshot))
}

/// The first values that there is room for, in bytes.
fn fitting(values: impl Iterator<Item = Value>, room: &mut usize) -> Vec<Value> {
    let fits = |value: &Value| {
        // A comma follows.
        let left = room.checked_sub(value.to_string().len() + 1);
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    values.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v26_details_are_taken_while_there_is_room() {
        let mut room = 12;
        let all = ["aaa", "bbb", "c"].map(Value::from);
        assert_eq!(fitting(all.into_iter(), &mut room), ["aaa", "bbb"]);
        assert_eq!(room, 0);
        assert!(fitting([Value::Null].into_iter(), &mut room).is_empty());
    }
}
