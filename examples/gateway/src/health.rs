//! Health and process tree: what the processes report about themselves.

use crate::gateway::Gateway;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use krarup::observe::ProcessTree;
use krarup::prelude::*;
use krarup::{LookupError, Pending};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a healthy process may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reports whether the service works, from its processes' answers to `inspect`.
///
/// `ok`: every part answers and is complete. `degraded`: the service runs with fewer
/// workers than it should have, and their replacements are being started. `down`, with
/// status 503: a part does not answer, or no worker is alive.
pub(crate) async fn health(State(gateway): State<Arc<Gateway>>) -> Response {
    let mut problems = Vec::new();
    let mut note = |part: &str, answer: Result<Inspection, String>| match answer {
        Ok(inspection) => inspection,
        Err(problem) => {
            problems.push(format!("{part}: {problem}"));
            Inspection::new()
        }
    };
    let supervisor = gateway.supervisor.address().map(|supervisor| supervisor.inspect());
    let supervisor = note("supervisor", answer(supervisor).await);
    let pool = gateway.pool.address().map(|pool| pool.inspect());
    let pool = note("workers", answer(pool).await);
    let latency = |item: &str| match pool.value(item) {
        Some(krarup::observe::Value::Record(record)) => record
            .iter()
            .map(|(name, value)| match value {
                krarup::observe::Value::Duration(time) => {
                    (format!("{name}_ms"), json!(millis(*time)))
                }
                other => (name.to_owned(), json!(other.to_string().parse::<u64>().ok())),
            })
            .collect(),
        _ => Value::Null,
    };
    let aggregator = gateway.aggregator.address().map(|aggregator| aggregator.inspect());
    let aggregator = note("aggregator", answer(aggregator).await);

    let (live, configured) = (pool.number("workers"), pool.number("pool_size"));
    if live == Some(0) {
        problems.push("workers: none is alive".into());
    }
    if supervisor.number("active") != supervisor.number("specs") {
        problems.push("supervisor: not all its children are alive".into());
    }
    let status = match (problems.is_empty(), live == configured) {
        (false, _) => "down",
        (true, false) => "degraded",
        (true, true) => "ok",
    };
    let code = if status == "down" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let waiting = gateway.pool.address().map_or(0, |pool| pool.waiting());
    let body = json!({
        "status": status,
        "problems": problems,
        "uptime_seconds": gateway.node.now().since(krarup::Timestamp::ZERO).as_secs_f64(),
        "workers": {
            "configured": configured,
            "live": live,
            "restarts": pool.number("worker_restarts"),
            "waiting": waiting,
            "messages_forwarded": pool.number("messages_forwarded"),
            "messages_unhandled": pool.number("messages_unhandled"),
            "jobs_expired": pool.number("jobs_expired"),
            "jobs_lost": pool.number("jobs_lost"),
            "jobs_crashed": pool.number("jobs_crashed"),
            "wait": latency("wait"),
            "service": latency("service"),
        },
        "aggregator": {
            "texts": aggregator.number("texts"),
            "words": aggregator.number("words"),
            "vocabulary": aggregator.number("vocabulary"),
        },
        "supervisor": {
            "children": supervisor.number("specs"),
            "live": supervisor.number("active"),
            "restarts": supervisor.number("restarts"),
        },
        "jobs": {
            "sent": gateway.jobs.load(Ordering::Relaxed),
            "sent_again": gateway.again.load(Ordering::Relaxed),
        },
    });
    (code, Json(body)).into_response()
}

/// Milliseconds, to the microsecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Returns the answer of a process, if it comes in time.
async fn answer(
    asked: Result<Pending<Inspection, CallError>, LookupError>,
) -> Result<Inspection, String> {
    match tokio::time::timeout(PATIENCE, asked.map_err(|error| error.to_string())?).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}

/// Shows the processes of the node, each below the one that spawned it.
pub(crate) async fn tree(State(gateway): State<Arc<Gateway>>) -> Response {
    let restarts = restarts(&gateway).await;
    let trees: Vec<Value> =
        gateway.node.tree().iter().map(|tree| process(tree, &restarts, SHOWN)).collect();
    Json(json!({ "node": gateway.node.name(), "processes": trees })).into_response()
}

/// How often a process was restarted, and how often its workers were, as far as known.
#[derive(Default)]
struct Restarts {
    itself: Option<u64>,
    workers: Option<u64>,
}

/// Returns the restarts of the supervisor's children and of the pool's workers. Processes
/// that do not answer are left out.
async fn restarts(gateway: &Gateway) -> HashMap<Pid, Restarts> {
    let mut restarts: HashMap<Pid, Restarts> = HashMap::new();
    if let Ok(supervisor) = gateway.supervisor.address()
        && let Ok(children) = supervisor.which_children().timeout(PATIENCE).await
    {
        for child in &children {
            if let Some(pid) = child.state.pid() {
                restarts.entry(pid).or_default().itself = Some(child.restarts);
            }
        }
    }
    if let Ok(pool) = gateway.pool.address()
        && let Ok(inspection) = answer(Ok(pool.inspect())).await
    {
        restarts.entry(pool.pid()).or_default().workers = inspection.number("worker_restarts");
    }
    restarts
}

/// How many levels of the tree are shown: JSON parsers reject input that is nested deeper.
const SHOWN: u32 = 32;

fn process(tree: &ProcessTree, restarts: &HashMap<Pid, Restarts>, generations: u32) -> Value {
    let ProcessTree { process: info, children } = tree;
    let shown = if generations > 1 { children.as_slice() } else { &[] };
    let children: Vec<Value> =
        shown.iter().map(|child| process(child, restarts, generations - 1)).collect();
    let restarts = restarts.get(&info.pid);
    json!({
        "pid": info.pid.to_string(),
        "name": info.name.as_ref().map(ToString::to_string),
        "behavior": info.behavior.to_string(),
        "state": info.state.to_string(),
        "lanes": { "urgent": info.urgent, "system": info.system, "main": info.main },
        "mailbox": info.mailbox,
        "handled": info.handled,
        "restarts": restarts.and_then(|restarts| restarts.itself),
        "worker_restarts": restarts.and_then(|restarts| restarts.workers),
        "uptime_seconds": info.uptime.as_secs_f64(),
        "children": children,
    })
}
