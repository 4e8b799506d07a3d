//! `/api/v1/node`: the node as a whole.

use crate::api::process::SampleOf;
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::os::Os;
use crate::sampling::picture::{Picture, STATES};
use crate::shared::Shared;
use crate::time::{ms, rfc3339};
use hyper::StatusCode;
use krarup_gen::DispatcherStats;
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::SystemTime;

#[derive(Serialize)]
pub(crate) struct NodeBody {
    node: String,
    version: &'static str,
    api: &'static str,
    now_at: String,
    started_at: String,
    uptime_ms: f64,
    stopping: bool,
    processes: ProcessCounts,
    names: usize,
    aliases: usize,
    timers: usize,
    messages: Messages,
    dead_letters: u64,
    late_replies: u64,
    crashes: u64,
    restarts: u64,
    deadlocks: u64,
    calls_timed_out: u64,
    blocking: BlockingCounts,
    dispatchers: Vec<DispatcherBody>,
    os: Os,
    sample: SampleOf,
    access: AccessBody,
}

#[derive(Serialize)]
struct ProcessCounts {
    living: usize,
    user: usize,
    system: usize,
    spawned: u64,
    ended: u64,
    by_state: Map<String, Value>,
}

#[derive(Serialize)]
struct Messages {
    #[serde(rename = "in")]
    received: u64,
    #[serde(rename = "out")]
    sent: u64,
    handled: u64,
    waiting: u64,
}

#[derive(Serialize)]
struct BlockingCounts {
    threads: usize,
    work: usize,
}

#[derive(Serialize)]
struct AccessBody {
    actions: bool,
    read_token: bool,
}

#[derive(Serialize)]
struct DispatcherBody {
    name: String,
    workers: usize,
    parked: usize,
    searching: usize,
    blocked: usize,
    spares: usize,
    queued: usize,
    turns: u64,
    high_turns: u64,
    scheduled: u64,
    injected: u64,
    spills: u64,
    steals: u64,
    stolen: u64,
    parks: u64,
    wakes: u64,
    long_turns: u64,
    longest_turn_ms: f64,
    running_ms: f64,
    busy: Option<f64>,
}

/// `GET /api/v1/node`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    Ok(json(StatusCode::OK, &body(shared).await?))
}

pub(crate) async fn body(shared: &Shared) -> Result<NodeBody, Refusal> {
    let picture = shared.picture().await?;
    Ok(of(shared, &picture))
}

pub(crate) fn of(shared: &Shared, picture: &Picture) -> NodeBody {
    let stats = &picture.stats;
    let totals = shared.totals.update(picture);
    let counts = picture.sums();
    let by_state = STATES.iter().zip(counts.by_state);
    let living = counts.user + counts.system;
    NodeBody {
        node: shared.view.node_name().to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        api: "v1",
        now_at: rfc3339(SystemTime::now()),
        started_at: rfc3339(shared.started),
        uptime_ms: ms(shared.uptime()),
        stopping: shared.view.is_stopping(),
        processes: ProcessCounts {
            living,
            user: counts.user,
            system: counts.system,
            spawned: stats.spawned,
            ended: totals.ended.iter().map(|(_, count)| count).sum(),
            by_state: by_state.map(|(state, n)| ((*state).to_owned(), n.into())).collect(),
        },
        names: stats.names,
        aliases: stats.aliases,
        timers: stats.timers,
        messages: Messages {
            received: totals.received,
            sent: totals.sent,
            handled: totals.handled,
            waiting: counts.urgent + counts.system_lane + counts.main,
        },
        dead_letters: stats.dead_letters,
        late_replies: stats.late_replies,
        crashes: shared.view.crashes(u64::MAX, 1).next_seq - 1,
        restarts: totals.restarts.iter().map(|(_, count)| count).sum(),
        deadlocks: totals.deadlocks,
        calls_timed_out: totals.calls_timed_out,
        blocking: BlockingCounts { threads: stats.blocking_threads, work: stats.blocking_work },
        dispatchers: stats.dispatchers.iter().map(|it| dispatcher(it, picture)).collect(),
        os: Os::now(),
        sample: SampleOf::new(shared, picture),
        access: AccessBody {
            actions: shared.access.action_token.is_some(),
            read_token: shared.access.read_token.is_some(),
        },
    }
}

#[allow(clippy::cast_precision_loss, reason = "a share is a rounded number")]
fn dispatcher(stats: &DispatcherStats, picture: &Picture) -> DispatcherBody {
    let cpu = picture.sums().dispatchers.get(&*stats.name).map_or(0.0, |here| here.cpu);
    DispatcherBody {
        name: stats.name.clone(),
        workers: stats.workers,
        parked: stats.parked,
        searching: stats.searching,
        blocked: stats.blocked,
        spares: stats.spares,
        queued: stats.queued,
        turns: stats.turns,
        high_turns: stats.high_turns,
        scheduled: stats.scheduled,
        injected: stats.injected,
        spills: stats.spills,
        steals: stats.steals,
        stolen: stats.stolen,
        parks: stats.parks,
        wakes: stats.wakes,
        long_turns: stats.long_turns,
        longest_turn_ms: ms(stats.longest_turn),
        running_ms: ms(stats.running),
        busy: picture.window.map(|_| cpu / stats.workers.max(1) as f64),
    }
}
