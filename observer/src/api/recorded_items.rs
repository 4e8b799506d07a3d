//! Items that a process has taken, as flight recorders and traces show them; `/api/v1/traces/{n}`.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::PathNumber;
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
use krarup_act::TraceReader;
use krarup_gen::{Recorded, RecordedItem};
use serde::Serialize;
use serde_json::{Value, json as value};
use std::time::Duration;

/// The most bytes of texts in one answer. JSON may print each as six.
const TEXTS: usize = 512 << 10;

/// The state of a trace, and some of its items.
#[derive(Serialize)]
pub(crate) struct TraceBody {
    trace: u64,
    pid: String,
    state: &'static str,
    pub(crate) end: Option<&'static str>,
    lost: u64,
    /// The number after those of this answer.
    pub(crate) next_seq: u64,
    items: Vec<Value>,
    /// Whether more items are known than this answer has.
    #[serde(skip)]
    more: bool,
}

impl TraceBody {
    /// Whether nothing follows.
    pub(crate) fn is_last(&self) -> bool {
        self.end.is_some() && !self.more
    }
}

/// `GET /api/v1/traces/{n}`.
pub(crate) fn answer(
    shared: &Shared,
    number: PathNumber,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    let all = Parameters::read(query, &["after"])?;
    let after = all.number("after", 0..=u64::MAX, 0)?;
    let found = number.ok().and_then(|number| Some((number, shared.traces.of(number)?)));
    let (number, reader) =
        found.ok_or_else(|| Refusal::new(Code::NoEntry, "there is no trace of this number"))?;
    Ok(json(StatusCode::OK, &trace(number, &reader, after)))
}

/// The items of a trace above `after`.
pub(crate) fn trace(number: u64, reader: &TraceReader, after: u64) -> TraceBody {
    let found = reader.page(after, usize::MAX);
    let (mut bytes, mut next_seq, mut more) = (0, found.page.next_seq, false);
    let mut items = Vec::new();
    for recorded in &found.page.items {
        bytes += recorded.item.text.as_ref().map_or(0, String::len);
        if bytes > TEXTS {
            (next_seq, more) = (recorded.seq, true);
            break;
        }
        items.push(item(recorded));
    }
    TraceBody {
        trace: number,
        pid: reader.pid().to_string(),
        state: if found.end.is_some() { "ended" } else { "running" },
        end: found.end.map(krarup_gen::TraceEnd::as_str),
        lost: found.page.lost,
        next_seq,
        items,
        more,
    }
}

/// One item. `at_ms` is the time since the start of the node.
pub(crate) fn item(recorded: &Recorded<RecordedItem>) -> Value {
    let item = &recorded.item;
    value!({
        "seq": recorded.seq,
        "at_ms": ms(Duration::from_nanos(recorded.at.as_nanos())),
        "lane": item.lane.as_str(),
        "kind": item.kind.as_str(),
        "type": item.type_name,
        "sender": item.sender.map(|sender| sender.to_string()),
        "text": item.text,
    })
}

/// All items of a flight recorder, as far as their texts fit.
pub(crate) fn items(recorded: &[Recorded<RecordedItem>]) -> Vec<Value> {
    let mut bytes = 0;
    let mut newest: Vec<Value> = recorded
        .iter()
        .rev()
        .take_while(|recorded| {
            bytes += recorded.item.text.as_ref().map_or(0, String::len);
            bytes <= TEXTS
        })
        .map(item)
        .collect();
    newest.reverse();
    newest
}
