//! `krarup mcp`: the tools of an observer for clients of the Model Context Protocol that speak on
//! stdio.
//!
//! ```text
//!   client ── a line of JSON ──► stdin    POST /mcp ──► observer
//!   client ◄── a line of JSON ── stdout   ◄── answer ──┘
//! ```
//!
//! Each message is handed on, and each answer handed back, so the tools, their names and their
//! answers are those of `/mcp`. There is no session: a node that is gone and back is found again.
//! A message that cannot be handed on gets an error of the protocol. Nothing but messages is
//! written on stdout.

use crate::client::{ApiClient, ApiFailure};
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// The longest message that an observer takes.
const LONGEST: usize = 16 << 10;
/// Codes of JSON-RPC.
const NO_JSON: i64 = -32_700;
const NO_REQUEST: i64 = -32_600;
const NOT_HANDED_ON: i64 = -32_000;

/// Hands messages on until there are no more.
pub(crate) fn serve(
    client: &ApiClient,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut version = None;
    while let Some(line) = next_line(&mut input)? {
        let answer = match line {
            Ok(line) if line.trim_ascii().is_empty() => continue,
            Ok(line) => answer(client, &line, &mut version),
            Err(TooLong) => {
                let message = format!("a message has at most {LONGEST} bytes");
                Some(error(&Value::Null, NO_REQUEST, &message))
            }
        };
        if let Some(answer) = answer {
            // Serialized again, so that it is one line.
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

struct TooLong;

/// The next line, without its end. One that is too long is skipped.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, TooLong>>> {
    let mut line = Vec::new();
    let most = u64::try_from(LONGEST + 1).unwrap_or(u64::MAX);
    if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_some() || line.len() <= LONGEST {
        return Ok(Some(Ok(line)));
    }
    loop {
        line.clear();
        let read = input.by_ref().take(most).read_until(b'\n', &mut line)?;
        if read == 0 || line.ends_with(b"\n") {
            return Ok(Some(Err(TooLong)));
        }
    }
}

/// The answer to one message; `None` if it needs none.
fn answer(client: &ApiClient, line: &[u8], version: &mut Option<String>) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(error(&Value::Null, NO_JSON, "the message is not JSON"));
    };
    if !message.is_object() {
        return Some(error(&Value::Null, NO_REQUEST, "the message is no object"));
    }
    let asks = message["method"].is_string() && !message["id"].is_null();
    let answered = match client.post("/mcp", &headers(&message, version.as_deref()), line) {
        Ok((_, text)) => match serde_json::from_str::<Value>(&text) {
            Ok(answer) if answer["jsonrpc"] == "2.0" => Ok(answer),
            _ => Err(format!("the observer does not answer as a server of MCP: {}", cut(&text))),
        },
        Err(ApiFailure::Refused { code, .. }) if code == "no_route" => {
            Err("the observer has no tools: its program is built without the feature mcp".into())
        }
        Err(failure) => Err(failure.to_string()),
    };
    let answer = match answered {
        Ok(answer) => answer,
        Err(why) => error(&message["id"], NOT_HANDED_ON, &why),
    };
    if let Some(agreed) = answer["result"]["protocolVersion"].as_str() {
        *version = Some(agreed.to_owned());
    }
    asks.then_some(answer)
}

/// The headers that the protocol has over HTTP for what the message says.
fn headers(message: &Value, agreed: Option<&str>) -> Vec<(&'static str, String)> {
    let meta = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
    ];
    // The first message agrees on the version.
    let first = message["method"] == "initialize";
    if let Some(version) = meta.as_str().or(agreed.filter(|_| !first)) {
        headers.push(("mcp-protocol-version", version.to_owned()));
    }
    for (header, value) in
        [("mcp-method", &message["method"]), ("mcp-name", &message["params"]["name"])]
    {
        if let Some(value) = value.as_str() {
            headers.push((header, value.to_owned()));
        }
    }
    headers.retain(|(_, value)| value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    headers
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}
