//! `/api/v1/turns`: which processes run now, and which behaviours took the time.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::picture::{Picture, Row};
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
use krarup_gen::{CurrentTurn, Pid, ProcessState};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most behaviours of an answer.
const BEHAVIORS: usize = 200;

#[derive(Serialize)]
pub(crate) struct TurnsBody {
    workers: Vec<RunningProcess>,
    behaviors: Vec<BehaviorShare>,
}

#[derive(Serialize)]
struct RunningProcess {
    dispatcher: String,
    /// `None`: it has a thread of its own, or its turn has ended since the picture.
    worker: Option<usize>,
    pid: String,
    name: Option<String>,
    behavior: String,
    /// How long the turn that it is in now has been seen. `None`: it is in none any more.
    held_ms: Option<f64>,
}

#[derive(Serialize)]
struct BehaviorShare {
    behavior: String,
    cpu: f64,
}

/// `GET /api/v1/turns`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(shared, &picture)))
}

pub(crate) fn body(shared: &Shared, picture: &Picture) -> TurnsBody {
    let turns = shared.view.current_turns();
    let turns: BTreeMap<Pid, &CurrentTurn> = turns.iter().map(|turn| (turn.pid, turn)).collect();
    let runs = |row: &&Row| row.sample.state == ProcessState::Running;
    // The sampler runs in every sample, because it takes it.
    let running = picture.rows.iter().filter(runs).filter(|row| row.sample.pid != picture.sampler);
    let workers =
        running.map(|row| (row, turns.get(&row.sample.pid))).map(|(row, turn)| RunningProcess {
            dispatcher: row.identity.dispatcher.to_string(),
            worker: turn.and_then(|turn| turn.worker),
            pid: row.sample.pid.to_string(),
            name: row.identity.name.as_ref().map(ToString::to_string),
            behavior: row.identity.behavior.to_string(),
            held_ms: turn.map(|turn| ms(turn.held)),
        });
    let behaviors = picture.sums().behaviors.iter();
    let mut behaviors: Vec<(&str, f64)> = behaviors.map(|(label, it)| (&**label, it.cpu)).collect();
    behaviors.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let share = |(behavior, cpu): (&str, f64)| BehaviorShare { behavior: behavior.to_owned(), cpu };
    TurnsBody {
        workers: workers.collect(),
        behaviors: behaviors.into_iter().take(BEHAVIORS).map(share).collect(),
    }
}
