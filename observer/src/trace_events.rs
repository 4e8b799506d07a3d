//! Recorded turns as Chrome trace events, which Perfetto opens: a row of complete events for each
//! worker.

use bytes::Bytes;
use krarup_gen::{Pid, RecordedTurn};
use serde_json::{Value, json as value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// The events as text. They are written one by one, because a tree of values would take
/// many times the memory.
pub(crate) struct TraceEvents {
    text: Vec<u8>,
    lanes: BTreeMap<(Arc<str>, u64), usize>,
    names: BTreeMap<Pid, String>,
}

impl TraceEvents {
    /// Begins with the names of the workers that have run these turns.
    pub(crate) fn new(turns: &[RecordedTurn]) -> Self {
        let lane = |turn: &RecordedTurn| (Arc::clone(&turn.dispatcher), turn.worker);
        let workers: BTreeSet<_> = turns.iter().map(lane).collect();
        let lanes: BTreeMap<_, _> = workers.into_iter().zip(1..).collect();
        let mut events = TraceEvents {
            text: b"{\"traceEvents\":[".to_vec(),
            lanes: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        let name = |tid: usize, kind: &str, name: &str| value!({ "ph": "M", "pid": 1, "tid": tid, "name": kind, "args": { "name": name } });
        let _ = write!(events.text, "{}", name(0, "process_name", "turns"));
        for ((dispatcher, worker), lane) in &lanes {
            events.add(&name(*lane, "thread_name", &format!("{dispatcher} {worker}")));
        }
        events.lanes = lanes;
        events
    }

    /// Adds a turn. `called` is the name of a process.
    pub(crate) fn add_turn(&mut self, turn: &RecordedTurn, called: impl Fn(Pid) -> String) {
        let lane = self.lanes.get(&(Arc::clone(&turn.dispatcher), turn.worker)).copied();
        let name = self.names.entry(turn.pid).or_insert_with(|| called(turn.pid));
        let event = value!({
            "ph": "X",
            "pid": 1,
            "tid": lane,
            "ts": micros(Duration::from_nanos(turn.begin.as_nanos())),
            "dur": micros(turn.end - turn.begin),
            "name": name,
            "args": { "pid": turn.pid.to_string(), "handled": turn.handled },
        });
        self.add(&event);
    }

    fn add(&mut self, event: &Value) {
        // Writing to memory cannot fail, and the event has text keys.
        let _ = write!(self.text, ",{event}");
    }

    pub(crate) fn end(mut self, lost: u64) -> Bytes {
        let rest = "],\"displayTimeUnit\":\"ms\",\"otherData\":{\"lost\":";
        let _ = write!(self.text, "{rest}{lost}}}}}");
        Bytes::from(self.text)
    }
}

/// Microseconds, to the nanosecond.
fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::Timestamp;

    #[test]
    fn x13_turns_become_complete_events_in_the_rows_of_their_workers() {
        let turn = |dispatcher: &str, worker, id, begin, end, handled| {
            let at = Timestamp::from_nanos(begin);
            let mut turn = RecordedTurn::new(dispatcher.into(), worker, Pid::local(id, 1), at);
            (turn.end, turn.handled) = (Timestamp::from_nanos(end), handled);
            turn
        };
        let turns =
            [turn("pin", 9, 9, 500, 1_500, 0), turn("default", 1, 7, 2_000_000, 2_000_001, 3)];
        let whole = |turns: &[RecordedTurn], lost| {
            let mut events = TraceEvents::new(turns);
            turns.iter().for_each(|turn| events.add_turn(turn, |pid| format!("\"{pid}\"\n")));
            serde_json::from_slice::<Value>(&events.end(lost)).unwrap()
        };
        let expected = value!({
            "traceEvents": [
                { "ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": { "name": "turns" } },
                { "ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": { "name": "default 1" } },
                { "ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": { "name": "pin 9" } },
                {
                    "ph": "X", "pid": 1, "tid": 2, "ts": 0.5, "dur": 1.0, "name": "\"<0.9.0>\"\n",
                    "args": { "pid": "<0.9.0>", "handled": 0 }
                },
                {
                    "ph": "X", "pid": 1, "tid": 1, "ts": 2000.0, "dur": 0.001,
                    "name": "\"<0.7.0>\"\n", "args": { "pid": "<0.7.0>", "handled": 3 }
                },
            ],
            "displayTimeUnit": "ms",
            "otherData": { "lost": 4 },
        });
        assert_eq!(whole(&turns, 4), expected);
        let none = whole(&[], 0);
        assert_eq!(none["traceEvents"].as_array().map(Vec::len), Some(1));
    }
}
