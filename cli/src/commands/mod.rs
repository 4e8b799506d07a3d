//! The commands that are one request to the API each: they read something, or do something, mostly
//! to a process.

mod acting;
pub(crate) mod arguments;
pub(crate) mod catalog;
mod columns;
mod following;
pub(crate) mod help;
mod lists;
mod outline;
mod process_name;
mod reports;

use crate::client::{ApiClient, ApiFailure};
use crate::target::encoded;
use crate::text::printable_json;
use acting::{ActionFailed, act, told};
use arguments::{ApiArguments, GivenValue};
use catalog::Shown;
use columns::ListTable;
use following::{EventLines, follow_ring, follow_trace};
use process_name::{FoundProcess, ProcessNameError};
use serde_json::Value;
use std::fmt::Write;
use std::thread::sleep;
use std::time::Duration;
use thiserror::Error;

/// Between the two pictures of processes that rates need.
const WINDOW: Duration = Duration::from_millis(500);
/// The items of a ring in an answer, if no other number is asked for.
const LISTED: usize = 50;

/// Why a command fails.
#[derive(Debug, Error)]
pub(crate) enum ApiCommandError {
    #[error("{0}")]
    Api(#[from] ApiFailure),
    #[error("{0}")]
    Process(#[from] ProcessNameError),
    #[error("{0}")]
    Action(#[from] ActionFailed),
    #[error("a check of the node is down")]
    Down,
}

/// Does what a command line asks for. `print` is false if the reader has gone.
pub(crate) fn run(
    client: &ApiClient,
    asked: &ApiArguments,
    mut print: impl FnMut(&str) -> bool,
) -> Result<(), ApiCommandError> {
    let process = asked.process.as_ref().map(|name| name.find(client)).transpose()?;
    if asked.command.route().acts() {
        return acted(client, asked, process.as_ref(), print);
    }
    let route = target(client, asked, process.as_ref())?;
    let (mut text, mut body) = client.body(&route)?;
    // Rates are those since the picture before, of which there is none if nobody has looked.
    if body["sample"].get("window_ms").is_some_and(Value::is_null) && body["processes"].is_array() {
        sleep(WINDOW);
        (text, body) = client.body(&route)?;
    }
    if body.get(asked.first_field()).is_none() {
        return Err(client.no_observer(200).into());
    }
    if let (true, Shown::Ring(table, _)) = (asked.follow, &asked.command.shows) {
        let mut lines = EventLines::new(table, asked.json);
        let base = ring_base(client, asked)?;
        // An answer with the newest leaves none out.
        let most = if asked.number("after").is_some_and(|after| after >= 0) {
            asked.number("limit").map_or(LISTED, |it| usize::try_from(it).unwrap_or(LISTED))
        } else {
            usize::MAX
        };
        return Ok(follow_ring(client, &base, &(text, body), most, &mut lines, print)?);
    }
    print(&shown(client, asked, process.as_ref(), &text, &body));
    if body["status"] == "down" { Err(ApiCommandError::Down) } else { Ok(()) }
}

/// An answer as it is printed.
fn shown(
    client: &ApiClient,
    asked: &ApiArguments,
    process: Option<&FoundProcess>,
    text: &str,
    body: &Value,
) -> String {
    match (&asked.command.shows, asked.one()) {
        _ if asked.json => json(text),
        (_, Some((_, shows))) => shows(body),
        (Shown::List(table) | Shown::Ring(table, _), None) => table.text(body) + &rest(table, body),
        (Shown::Text(shows), None) => shows(body),
        (Shown::Process, None) => {
            let id = process.map_or(0, |process| process.id);
            let inspection = client.json(&format!("/api/v1/processes/{id}/inspect"));
            reports::process(body, inspection.map_err(|error| error.to_string()))
        }
        (Shown::Json | Shown::Done | Shown::Trace | Shown::Turns, None) => json(text),
    }
}

/// How many more there are than a list shows.
fn rest(table: &ListTable, body: &Value) -> String {
    let listed = table.items(body).len() as u64;
    let offset = body["offset"].as_u64().unwrap_or(0);
    let matched = body["matched"].as_u64().unwrap_or(0).saturating_sub(offset);
    let more = body["more"].as_u64().unwrap_or_else(|| matched.saturating_sub(listed));
    reports::more(more)
}

fn json(text: &str) -> String {
    format!("{}\n", printable_json(text.trim_end()))
}

/// Does an action, and tells of it; the items of a trace follow. Of recorded turns there is the file
/// alone.
fn acted(
    client: &ApiClient,
    asked: &ApiArguments,
    process: Option<&FoundProcess>,
    mut print: impl FnMut(&str) -> bool,
) -> Result<(), ApiCommandError> {
    let done = act(client, asked, process)?;
    if let Shown::Turns = asked.command.shows {
        print(&json(&turns(client, asked, &done.body)?));
        return Ok(());
    }
    print(&if asked.json { json(&done.text) } else { told(process, &done) });
    let trace = done.body["trace"].as_u64();
    if let (Shown::Trace, Some(number)) = (&asked.command.shows, trace) {
        let mut lines = EventLines::new(&lists::TRACE, asked.json);
        let end = follow_trace(client, number, &mut lines, &mut print)?;
        if !asked.json {
            print(&format!("the trace ended: {end}\n"));
        }
    }
    Ok(())
}

/// The turns of the recording that has begun, when it is over.
fn turns(client: &ApiClient, asked: &ApiArguments, done: &Value) -> Result<String, ApiFailure> {
    let number = done["recording"].as_u64().ok_or_else(|| client.no_observer(202))?;
    let ms = asked.number("ms").and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
    let text = client.late(&format!("/api/v1/turns/{number}"), Duration::from_millis(ms))?;
    if text.starts_with("{\"traceEvents\":[") { Ok(text) } else { Err(client.no_observer(200)) }
}

/// The path of a route, with its query.
fn target(
    client: &ApiClient,
    asked: &ApiArguments,
    process: Option<&FoundProcess>,
) -> Result<String, ProcessNameError> {
    let mut target = asked.route().path().to_owned();
    if let Some(process) = process {
        target = target.replace("{id}", &process.id.to_string());
    }
    if let Some(seq) = &asked.seq {
        return Ok(target.replace("{seq}", seq));
    }
    let mut query = parameters(client, asked)?;
    // Of a ring the newest are asked for.
    if asked.command.follows() && asked.number("after").is_none() {
        query.push_str("&after=-1");
    }
    if !query.is_empty() {
        target.push('?');
        target.push_str(&query[1..]);
    }
    Ok(target)
}

/// The route of a ring up to the value of `after`; it is asked for as many as there may be.
fn ring_base(client: &ApiClient, asked: &ApiArguments) -> Result<String, ProcessNameError> {
    let mut base = format!("{}?", asked.command.route().path());
    for part in parameters(client, asked)?.split('&').filter(|part| !part.is_empty()) {
        if !part.starts_with("after=") && !part.starts_with("limit=") {
            base.push_str(part);
            base.push('&');
        }
    }
    Ok(base + "after=")
}

/// Each parameter that is given, with an `&` before it.
fn parameters(client: &ApiClient, asked: &ApiArguments) -> Result<String, ProcessNameError> {
    let mut query = String::new();
    for given in &asked.given {
        let value = match &given.value {
            GivenValue::Number(number) => number.to_string(),
            GivenValue::Text(text) => encoded(text),
            GivenValue::Process(name) => name.find(client)?.id.to_string(),
        };
        // Writing to a text cannot fail.
        let _ = write!(query, "&{}={value}", given.argument.name);
    }
    Ok(query)
}
