//! The commands that do something, mostly to a process. Nothing is asked back: the outcome is told in
//! words.

use crate::client::{ApiClient, ApiFailure};
use crate::commands::arguments::{ApiArguments, GivenValue};
use crate::commands::process_name::FoundProcess;
use crate::text::printable;
use krarup_page::tools::ToolRoute;
use serde_json::{Map, Value};
use std::fmt::Write;
use thiserror::Error;

/// Why an action is not done.
#[derive(Debug, Error)]
#[error("{action}{} failed: {failure}{hint}", of(.process.as_ref()))]
pub(crate) struct ActionFailed {
    action: &'static str,
    process: Option<FoundProcess>,
    failure: ApiFailure,
    hint: &'static str,
}

/// What an observer says of an action that is done.
pub(crate) struct ActionDone {
    /// The answer as it came.
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// Has an action done, to a process if it is given.
pub(crate) fn act(
    client: &ApiClient,
    asked: &ApiArguments,
    process: Option<&FoundProcess>,
) -> Result<ActionDone, ActionFailed> {
    let route = asked.command.route();
    let failed = |failure: ApiFailure| {
        let lost = matches!(failure, ApiFailure::NoAnswer { reached: true, .. });
        let hint = if lost {
            "; it may have been done all the same: krarup actions URL tells"
        } else {
            ""
        };
        ActionFailed { action: route.name, process: process.cloned(), failure, hint }
    };
    let ToolRoute::Acts(action) = route.does else { return Err(failed(client.no_observer(200))) };
    let target = match process {
        Some(process) => format!("/api/v1/processes/{}/{action}", process.id),
        None => format!("/api/v1/{action}"),
    };
    let body = Value::Object(fields(asked)).to_string();
    let headers = [("content-type", "application/json".to_owned())];
    let (status, text) = client.post(&target, &headers, body.as_bytes()).map_err(failed)?;
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    if body["done"] == true {
        Ok(ActionDone { text, body })
    } else {
        Err(failed(client.no_observer(status)))
    }
}

fn of(process: Option<&FoundProcess>) -> String {
    process.map(|process| format!(" of {process}")).unwrap_or_default()
}

/// The outcome in words: the process, and what else the observer says.
pub(crate) fn told(process: Option<&FoundProcess>, done: &ActionDone) -> String {
    let action = printable(done.body["action"].as_str().unwrap_or_default());
    let process = process.map(|process| format!(" {process}")).unwrap_or_default();
    let mut text = format!("done: {action}{process}");
    for (field, value) in done.body.as_object().into_iter().flatten() {
        if !["done", "action", "pid"].contains(&field.as_str()) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Writing to a text cannot fail.
            let _ = write!(text, ", {}", printable(&format!("{field} {value}").replace('_', " ")));
        }
    }
    text + "\n"
}

/// The fields of the body.
fn fields(asked: &ApiArguments) -> Map<String, Value> {
    let each = asked.given.iter().filter_map(|given| {
        let value = match &given.value {
            GivenValue::Number(number) => Value::from(i64::try_from(*number).ok()?),
            GivenValue::Text(text) => Value::from(text.as_str()),
            // No action has a process in its body.
            GivenValue::Process(_) => return None,
        };
        Some((given.argument.name.to_owned(), value))
    });
    each.collect()
}
