//! Recording turns exactly: one recording at a time.
//!
//! ```text
//!   POST ──► begin ──► the node records ──► its time is over ──► rendered, kept ──► GET
//!                                                                      GET before: waits
//! ```

use crate::actions::record;
use crate::http::answer::{HttpAnswer, json};
use crate::http::body::BodyFields;
use crate::http::refusal::{Code, Refusal};
use crate::shared::Shared;
use crate::text::cut;
use crate::trace_events::TraceEvents;
use bytes::Bytes;
use hyper::StatusCode;
use krarup_act::TurnRecording;
use krarup_gen::{Pid, RecordTurnsError, RecordedTurns, TurnRecordingLimits};
use serde_json::{Map, Value, json as value};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::sleep;

/// How many turns are rendered before others are answered.
const AT_ONCE: usize = 512;

/// The name of the action that records turns.
pub(crate) const RECORD_TURNS: &str = "turns";

/// `POST /api/v1/turns`.
pub(crate) fn record_turns(
    shared: &Arc<Shared>,
    peer: IpAddr,
    body: Result<Vec<u8>, Refusal>,
) -> Result<HttpAnswer, Refusal> {
    let mut arguments = Map::new();
    let begin = |arguments: &mut Map<String, Value>| {
        let fields = BodyFields::read(&body?, &["ms"])?;
        let lasts = Duration::from_millis(fields.number("ms", 100, 10_000)?);
        fields.all().clone_into(arguments);
        begin_recording(shared, lasts)
    };
    let begun = begin(&mut arguments);
    let code = begun.as_ref().err().map(|refusal| refusal.code);
    record(shared, peer, RECORD_TURNS, None, arguments, code);
    let body = value!({ "done": true, "action": RECORD_TURNS, "pid": null, "recording": begun? });
    Ok(json(StatusCode::ACCEPTED, &body))
}

/// Begins a recording of this length. Returns its number.
fn begin_recording(shared: &Arc<Shared>, lasts: Duration) -> Result<u64, Refusal> {
    let limits = TurnRecordingLimits::lasting(lasts);
    let recording = shared.view.record_turns(limits).map_err(|error| {
        let code = match &error {
            RecordTurnsError::NodeStopped(_) => Code::Stopping,
            _ => Code::Busy,
        };
        Refusal::new(code, error.to_string())
    })?;
    let (number, rendered) = shared.recordings.add();
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        sleep(lasts).await;
        let events = render(&shared, recording).await;
        // Nobody may want it any more.
        let _ = rendered.send(Some(events));
    });
    Ok(number)
}

/// The recorded turns as Chrome trace events: a row of complete events for each worker.
async fn render(shared: &Shared, recording: TurnRecording) -> Bytes {
    let RecordedTurns { turns, lost, .. } = recording.finish();
    // Names are of now: processes that have ended have their pids alone.
    let picture = shared.sampling.picture().await;
    let called = |pid: Pid| {
        let row = picture.as_ref().and_then(|picture| picture.of(pid));
        let name = row.map(|row| {
            let name = row.identity.name.as_ref().map(ToString::to_string);
            name.unwrap_or_else(|| row.identity.behavior.to_string())
        });
        name.map_or_else(|| pid.to_string(), |name| cut(&name))
    };
    let mut events = TraceEvents::new(&turns);
    for some in turns.chunks(AT_ONCE) {
        some.iter().for_each(|turn| events.add_turn(turn, called));
        // Others are answered meanwhile.
        yield_now().await;
    }
    events.end(lost)
}
