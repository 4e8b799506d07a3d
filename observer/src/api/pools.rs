//! `/api/v1/pools`: the pools, worker by worker.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::picture::{Picture, PoolRow, state_text};
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
use krarup_gen::Latency;
use serde::Serialize;

/// The most pools of an answer, and the most workers of a pool.
pub(crate) const POOLS: usize = 200;
const MEMBERS: usize = 256;

#[derive(Serialize)]
pub(crate) struct PoolsBody {
    pools: Vec<PoolBody>,
    more: usize,
}

/// L: a pool.
#[derive(Serialize)]
pub(crate) struct PoolBody {
    id: u64,
    pid: String,
    name: Option<String>,
    worker_behavior: String,
    size: usize,
    places: usize,
    workers: usize,
    capacity: Option<usize>,
    waiting: usize,
    room_waiters: usize,
    fill: Option<f64>,
    forwarded: u64,
    unhandled: u64,
    rate_limited: u64,
    diverted: u64,
    expired: u64,
    lost: u64,
    crashed: u64,
    restarts: u64,
    stuck: u64,
    draining: bool,
    forwarded_rate: Option<f64>,
    unhandled_rate: Option<f64>,
    wait_ms: Option<Quantiles>,
    service_ms: Option<Quantiles>,
    members: Vec<Member>,
    members_more: usize,
}

/// Q: the distribution of durations, in milliseconds.
#[derive(Serialize)]
struct Quantiles {
    count: u64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

#[derive(Serialize)]
struct Member {
    id: u64,
    pid: String,
    state: Option<&'static str>,
    main: Option<usize>,
    handled: Option<u64>,
    cpu: Option<f64>,
}

/// `GET /api/v1/pools`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let limit =
        Parameters::read(query, &["limit"])?.number("limit", 1..=POOLS as u64, POOLS as u64)?;
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(&picture, usize::try_from(limit).unwrap_or(POOLS))))
}

pub(crate) fn body(picture: &Picture, limit: usize) -> PoolsBody {
    let pools = picture.pools.iter().take(limit);
    PoolsBody {
        pools: pools.map(|(id, pool)| of(*id, pool, picture)).collect(),
        more: picture.pools.len().saturating_sub(limit),
    }
}

/// The pool with this number.
pub(crate) fn of(id: u64, pool: &PoolRow, picture: &Picture) -> PoolBody {
    let row = picture.row(id);
    let gauges = &pool.gauges;
    PoolBody {
        id,
        pid: row.map_or_else(String::new, |row| row.sample.pid.to_string()),
        name: row.and_then(|row| row.identity.name.as_ref()).map(ToString::to_string),
        worker_behavior: gauges.worker_behavior.to_string(),
        size: gauges.size,
        places: gauges.places,
        workers: gauges.workers,
        capacity: gauges.capacity,
        waiting: gauges.waiting,
        room_waiters: gauges.room_waiters,
        fill: pool.fill(),
        forwarded: gauges.forwarded,
        unhandled: gauges.unhandled,
        rate_limited: gauges.rate_limited,
        diverted: gauges.diverted,
        expired: gauges.expired,
        lost: gauges.lost,
        crashed: gauges.crashed,
        restarts: gauges.restarts,
        stuck: gauges.stuck,
        draining: gauges.draining,
        forwarded_rate: pool.forwarded_rate,
        unhandled_rate: pool.unhandled_rate,
        wait_ms: gauges.wait.as_ref().map(quantiles),
        service_ms: gauges.service.as_ref().map(quantiles),
        members: gauges.members.iter().take(MEMBERS).map(|pid| member(*pid, picture)).collect(),
        members_more: gauges.members.len().saturating_sub(MEMBERS),
    }
}

fn quantiles(latency: &Latency) -> Quantiles {
    Quantiles {
        count: latency.count,
        mean: ms(latency.mean),
        p50: ms(latency.p50),
        p90: ms(latency.p90),
        p99: ms(latency.p99),
        max: ms(latency.max),
    }
}

fn member(pid: krarup_gen::Pid, picture: &Picture) -> Member {
    let row = picture.of(pid);
    Member {
        id: pid.id(),
        pid: pid.to_string(),
        state: row.map(|row| state_text(row.sample.state)),
        main: row.map(|row| row.sample.main),
        handled: row.map(|row| row.sample.handled),
        cpu: row.and_then(|row| row.rates).map(|rates| rates.cpu),
    }
}
