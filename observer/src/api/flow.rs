//! `/api/v1/flow`: from whom to whom messages go, as far as samples tell.
//!
//! A sample has the sender of the first message that waits. So an edge is seen only while
//! messages wait, and all that a process received since the sample before is counted to that
//! sender.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::picture::Picture;
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
use serde::Serialize;
use std::cmp::Reverse;

#[derive(Serialize)]
pub(crate) struct FlowBody {
    window_ms: Option<f64>,
    edges: Vec<FlowEdge>,
    more: usize,
}

#[derive(Serialize)]
struct FlowEdge {
    from: String,
    from_name: Option<String>,
    to: String,
    to_name: Option<String>,
    waiting: usize,
    messages: u64,
}

/// `GET /api/v1/flow`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let all = Parameters::read(query, &["limit"])?;
    let limit = usize::try_from(all.number("limit", 1..=1000, 200)?).unwrap_or(200);
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(&picture, limit)))
}

pub(crate) fn body(picture: &Picture, limit: usize) -> FlowBody {
    let edges = picture.rows.iter().filter_map(|row| {
        let from = row.sample.head_sender?;
        Some(FlowEdge {
            from: from.to_string(),
            from_name: picture.name(from),
            to: row.sample.pid.to_string(),
            to_name: row.identity.name.as_ref().map(ToString::to_string),
            waiting: row.sample.urgent + row.sample.system + row.sample.main,
            messages: row.rates.map_or(0, |rates| rates.new),
        })
    });
    let mut edges: Vec<FlowEdge> = edges.collect();
    edges.sort_by_key(|edge| Reverse((edge.waiting, edge.messages)));
    let more = edges.len().saturating_sub(limit);
    edges.truncate(limit);
    FlowBody { window_ms: picture.window.map(ms), edges, more }
}
