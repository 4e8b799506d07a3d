//! `/api/v1/processes/{id}/inspect` and `/state`: what a process says of itself.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::PathNumber;
use crate::inspections::NoAnswer;
use crate::shared::Shared;
use crate::text::cut;
use crate::time::{ms, readable};
use hyper::StatusCode;
use krarup_gen::{DebugError, Inspection, Value as Item};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};
use tokio::time::timeout;

#[derive(Serialize)]
struct InspectBody {
    pid: String,
    name: Option<String>,
    took_ms: f64,
    items: Map<String, Value>,
}

#[derive(Serialize)]
struct StateBody {
    pid: String,
    name: Option<String>,
    took_ms: f64,
    #[serde(rename = "type")]
    type_name: &'static str,
    text: String,
}

/// `GET /api/v1/processes/{id}/inspect`.
pub(crate) async fn answer(
    shared: &Shared,
    id: PathNumber,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    let within = timeout_of(query)?;
    let pid = shared.process(&id)?;
    let name = shared.view.process_info(pid).and_then(|info| info.name);
    let outcome = shared.inspections.ask(&shared.view, pid, within).await;
    let (inspection, took) = outcome.map_err(|error| refusal(&pid.to_string(), error))?;
    let name = name.map(|name| name.to_string());
    let body =
        InspectBody { pid: pid.to_string(), name, took_ms: ms(took), items: items(&inspection) };
    Ok(json(StatusCode::OK, &body))
}

/// `GET /api/v1/processes/{id}/state`: the state as text, if the behaviour shows it so.
pub(crate) async fn state(
    shared: &Shared,
    id: PathNumber,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    let within = timeout_of(query)?;
    let pid = shared.process(&id)?;
    let name = shared.view.process_info(pid).and_then(|info| info.name);
    let began = Instant::now();
    let answered = timeout(within, shared.view.state_text(pid)).await;
    let late = |limit| refusal(&pid.to_string(), NoAnswer::Timeout(limit));
    let shown = answered.map_err(|_| late(within))?.map_err(|error| match error {
        DebugError::NoProcess(_) | DebugError::Terminated { .. } => {
            refusal(&pid.to_string(), NoAnswer::NoProcess)
        }
        DebugError::Timeout { limit, .. } => late(limit),
        _ => Refusal::new(Code::NotOffered, format!("{pid} does not offer its state as text")),
    })?;
    let body = StateBody {
        pid: pid.to_string(),
        name: name.map(|name| name.to_string()),
        took_ms: ms(began.elapsed()),
        type_name: shown.type_name,
        text: shown.text,
    };
    Ok(json(StatusCode::OK, &body))
}

fn timeout_of(query: Option<&str>) -> Result<Duration, Refusal> {
    let all = Parameters::read(query, &["timeout_ms"])?;
    Ok(Duration::from_millis(all.number("timeout_ms", 10..=5000, 1000)?))
}

fn refusal(pid: &str, error: NoAnswer) -> Refusal {
    match error {
        NoAnswer::Timeout(limit) => {
            Refusal::new(Code::Timeout, format!("{pid} did not answer within {}", readable(limit)))
        }
        NoAnswer::NoProcess => Refusal::new(Code::NoProcess, format!("{pid} has ended")),
        NoAnswer::NotOffered(text) => Refusal::new(Code::NotOffered, format!("{pid}: {text}")),
    }
}

/// The items of an inspection, in their order.
pub(crate) fn items(inspection: &Inspection) -> Map<String, Value> {
    inspection.iter().map(|(name, item)| (name.to_owned(), value(item, 0))).collect()
}

/// Values nest at most so deep.
const DEEPEST: usize = 32;

fn value(item: &Item, depth: usize) -> Value {
    match item {
        _ if depth == DEEPEST => Value::String("…".to_owned()),
        Item::Number(number) => (*number).into(),
        // JSON has no infinities: they are null.
        Item::Float(float) => json!(float),
        Item::Flag(flag) => (*flag).into(),
        Item::Text(text) => cut(text).into(),
        Item::Duration(duration) => json!({ "ms": ms(*duration) }),
        Item::List(list) => list.iter().map(|item| value(item, depth + 1)).collect(),
        Item::Record(record) => {
            let items = record.iter();
            Value::Object(
                items.map(|(name, item)| (name.to_owned(), value(item, depth + 1))).collect(),
            )
        }
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v25_values_that_json_cannot_say_are_null_and_a_u64_is_exact() {
        let inspection = Inspection::new()
            .with("nan", f64::NAN)
            .with("infinite", f64::INFINITY)
            .with("most", u64::MAX)
            .with("after", Duration::from_micros(1500))
            .with("list", vec![Item::from(true), Item::from("x")])
            .with("record", Inspection::new().with("b", 1_u64).with("a", 2_u64));
        let printed = serde_json::to_string(&items(&inspection)).unwrap();
        assert_eq!(
            printed,
            "{\"nan\":null,\"infinite\":null,\"most\":18446744073709551615,\"after\":{\"ms\":1.5},\
             \"list\":[true,\"x\"],\"record\":{\"b\":1,\"a\":2}}"
        );
    }
}
