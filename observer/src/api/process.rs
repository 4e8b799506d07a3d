//! P: a process as a row of a list, and S: the picture it is from.

use crate::sampling::picture::{Picture, Row, state_text};
use crate::shared::Shared;
use crate::time::ms;
use serde::Serialize;

/// S: which picture an answer is from.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SampleOf {
    age_ms: f64,
    /// 0: nobody watches.
    period_ms: f64,
    cost_ms: f64,
    watchers: usize,
    window_ms: Option<f64>,
}

impl SampleOf {
    pub(crate) fn new(shared: &Shared, picture: &Picture) -> Self {
        SampleOf {
            age_ms: ms(picture.age()),
            period_ms: shared.sampling.period().map_or(0.0, ms),
            cost_ms: ms(picture.cost),
            watchers: shared.sampling.watchers(),
            window_ms: picture.window.map(ms),
        }
    }
}

/// P: a process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProcessRow {
    pub(crate) id: u64,
    pub(crate) pid: String,
    pub(crate) name: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) kind: String,
    pub(crate) behavior: String,
    pub(crate) state: &'static str,
    pub(crate) root: String,
    pub(crate) parent: Option<String>,
    pub(crate) dispatcher: String,
    pub(crate) class: String,
    pub(crate) urgent: usize,
    pub(crate) system: usize,
    pub(crate) main: usize,
    pub(crate) bound: Option<usize>,
    pub(crate) room_waiters: usize,
    #[serde(rename = "in")]
    pub(crate) received: u64,
    #[serde(rename = "out")]
    pub(crate) sent: u64,
    pub(crate) handled: u64,
    pub(crate) running_ms: f64,
    pub(crate) uptime_ms: f64,
    pub(crate) cpu: Option<f64>,
    pub(crate) in_rate: Option<f64>,
    pub(crate) handled_rate: Option<f64>,
    pub(crate) growth: Option<f64>,
    pub(crate) head_wait_ms: Option<f64>,
    pub(crate) waits_for: Option<String>,
    pub(crate) suspensions: u32,
    pub(crate) traced: bool,
    pub(crate) recorded: usize,
    pub(crate) shallow_bytes: usize,
}

impl ProcessRow {
    pub(crate) fn new(row: &Row, picture: &Picture) -> Self {
        let (sample, identity) = (&row.sample, &row.identity);
        ProcessRow {
            id: row.id(),
            pid: sample.pid.to_string(),
            name: identity.name.as_ref().map(ToString::to_string),
            label: identity.label.as_ref().map(ToString::to_string),
            kind: sample.kind.to_string(),
            behavior: identity.behavior.to_string(),
            state: state_text(sample.state),
            root: sample.root.to_string(),
            parent: sample.parent.map(|parent| parent.to_string()),
            dispatcher: identity.dispatcher.to_string(),
            class: sample.class.to_string(),
            urgent: sample.urgent,
            system: sample.system,
            main: sample.main,
            bound: sample.mailbox,
            room_waiters: sample.room_waiters,
            received: sample.messages_in,
            sent: sample.messages_out,
            handled: sample.handled,
            running_ms: ms(sample.running_time),
            uptime_ms: ms(sample.uptime),
            cpu: row.rates.map(|rates| rates.cpu),
            in_rate: row.rates.map(|rates| rates.received),
            handled_rate: row.rates.map(|rates| rates.handled),
            growth: row.rates.map(|rates| rates.growth),
            head_wait_ms: row.head_wait(picture.at).map(ms),
            waits_for: sample.waits.map(|wait| wait.on.to_string()),
            suspensions: sample.suspensions,
            traced: identity.traced,
            recorded: identity.recorded,
            shallow_bytes: identity.shallow_bytes,
        }
    }
}
