//! `/api/v1/findings`: what is worth a look, the worst first.
//!
//! Each finding is a named rule on pictures, counters and rings. What must last for a while was
//! seen by the pictures of those who watch.

use crate::api::cluster_findings::of_cluster;
use crate::api::finding::{Finding, Severity};
use crate::check::Health;
use crate::health::rounds;
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::picture::{Picture, Row};
use crate::shared::Shared;
use crate::time::readable;
use hyper::StatusCode;
use krarup_gen::{
    CurrentTurn, NodeStats, Pid, ProcessState, SupervisionAction, Timestamp, WaitKind,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The most findings of an answer.
pub(crate) const LISTED: usize = 200;

const GROWS: Duration = Duration::from_secs(10);
const FULL: Duration = Duration::from_secs(5);
const HEAD_WAITS: Duration = Duration::from_secs(10);
const BLOCKED: Duration = Duration::from_secs(1);
const WAITS: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_secs(5);
const INIT: Duration = Duration::from_secs(5);
const SUSPENDED: Duration = Duration::from_secs(60);
const DEADLOCK: Duration = Duration::from_secs(60);
const GAVE_UP: Duration = Duration::from_secs(600);
/// The decisions that are looked at.
const DECISIONS: usize = 1024;
/// So many workers of a pool of which the same is found are named one by one.
const NAMED_WORKERS: usize = 3;
/// Dead letters in a second.
const FLOOD: f64 = 100.0;

#[derive(Serialize)]
pub(crate) struct FindingsBody {
    findings: Vec<Finding>,
}

/// `GET /api/v1/findings`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let most = LISTED as u64;
    let limit = Parameters::read(query, &["limit"])?.number("limit", 1..=most, most)?;
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(shared, &picture, usize::try_from(limit).unwrap_or(LISTED))))
}

pub(crate) fn body(shared: &Shared, picture: &Picture, limit: usize) -> FindingsBody {
    let mut findings = all(shared, picture);
    findings.truncate(limit);
    FindingsBody { findings }
}

/// All findings, the worst first.
pub(crate) fn all(shared: &Shared, picture: &Picture) -> Vec<Finding> {
    let stats = shared.view.stats().unwrap_or_default();
    let turns = shared.view.current_turns();
    let mut found = of_processes(picture, &turns);
    found.extend(of_pools(picture));
    found.extend(picture.cluster.iter().flat_map(of_cluster));
    found.extend(of_node(shared, &stats, &turns));
    found.extend(of_rings(shared));
    found.extend(of_checks(shared));
    // The sort is stable: processes stay in their order.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    found
}

/// What is found of processes. A pool that is full has full workers, of which there may be more than
/// an answer has findings: of the workers of one pool it is one finding.
fn of_processes(picture: &Picture, turns: &[CurrentTurn]) -> Vec<Finding> {
    let long = turns.iter().filter(|turn| turn.is_long).map(|turn| (turn.pid, turn));
    let long: BTreeMap<Pid, &CurrentTurn> = long.collect();
    let mut found = Vec::new();
    let mut of_workers: BTreeMap<(Pid, &'static str), Vec<Finding>> = BTreeMap::new();
    for row in picture.rows.iter() {
        let pool = row.sample.parent.filter(|parent| picture.pools.contains_key(&parent.id()));
        for finding in of_process(row, picture, long.get(&row.sample.pid).copied()) {
            match pool {
                Some(pool) => of_workers.entry((pool, finding.code)).or_default().push(finding),
                None => found.push(finding),
            }
        }
    }
    for ((pool, _), findings) in of_workers {
        if findings.len() > NAMED_WORKERS {
            found.extend(of_many_workers(pool, picture.name(pool), findings));
        } else {
            found.extend(findings);
        }
    }
    found
}

/// One finding for these of the workers of a pool, with the words of that which lasts longest.
fn of_many_workers(pool: Pid, name: Option<String>, findings: Vec<Finding>) -> Option<Finding> {
    let count = findings.len();
    let lasts = |finding: &Finding| finding.since_ms.unwrap_or(0.0);
    let mut longest = findings.into_iter().max_by(|a, b| lasts(a).total_cmp(&lasts(b)))?;
    let called = name.clone().unwrap_or_else(|| pool.to_string());
    longest.text = format!("{count} workers of the pool {called}, one of them: {}", longest.text);
    Some(longest.of(pool, name))
}

/// What is found of a process. `long` is its turn if that is too long.
fn of_process(row: &Row, picture: &Picture, long: Option<&CurrentTurn>) -> Vec<Finding> {
    let (sample, now) = (&row.sample, picture.at);
    let mut found = Vec::new();
    let mut find = |code, level, since: Duration, text: String| {
        let name = row.identity.name.as_ref().map(ToString::to_string);
        found.push(Finding::new(code, level, text).since(since).of(sample.pid, name));
    };
    let lasts = |since: Option<Timestamp>, least: Duration| {
        since.map(|since| now.since(since)).filter(|lasted| *lasted >= least)
    };
    let who = || match &row.identity.name {
        Some(name) => format!("{name} ({})", sample.pid),
        None => format!("{} {}", row.identity.behavior, sample.pid),
    };
    if let Some(since) = lasts(row.since().grows, GROWS) {
        let text = format!("the mailbox of {} grows: {} wait", who(), sample.main);
        find("mailbox_grows", Severity::Warning, since, text);
    }
    if let Some(since) = lasts(row.since().full, FULL) {
        let text = format!("the mailbox of {} is at its bound of {}", who(), sample.main);
        find("mailbox_full", Severity::Warning, since, text);
    }
    if let Some(since) = lasts(row.since().head, HEAD_WAITS) {
        let text = format!("the same message is first in line at {}: {} wait", who(), sample.main);
        find("head_waits", Severity::Warning, since, text);
    }
    // One that handles messages goes on, however slowly. The first who looks has no rates.
    if let Some(turn) = long.filter(|_| row.rates.is_none_or(|rates| rates.handled == 0.0)) {
        let text = format!("{} holds a worker of {}", who(), row.identity.dispatcher);
        find("long_turn", Severity::Warning, turn.held, text);
    }
    if let Some(wait) = sample.waits.filter(|wait| wait.kind == WaitKind::Call)
        && let Some(since) = lasts(row.since().waits, WAITS)
    {
        let text = format!("{} waits for an answer of {}", who(), wait.on);
        find("waits_long", Severity::Warning, since, text);
    }
    if sample.state == ProcessState::Init && sample.uptime >= INIT {
        find("init_slow", Severity::Warning, sample.uptime, format!("{} is still in init", who()));
    }
    if let Some(since) = lasts(row.since().suspended, SUSPENDED) {
        find("suspended_long", Severity::Info, since, format!("{} is suspended", who()));
    }
    found
}

fn of_pools(picture: &Picture) -> Vec<Finding> {
    let mut found = Vec::new();
    for (id, pool) in &picture.pools {
        let Some(row) = picture.row(*id) else { continue };
        let (pid, name) = (row.sample.pid, picture.name(row.sample.pid));
        let called = name.clone().unwrap_or_else(|| pid.to_string());
        let gauges = &pool.gauges;
        let full = pool.is_full();
        if full || pool.refused > 0 {
            let text = if full {
                format!("the pool {called} has no room: {} wait", gauges.waiting)
            } else {
                format!("the pool {called} refused {} since the walk before", pool.refused)
            };
            let finding = Finding::new("pool_full", Severity::Warning, text);
            let since = pool.full.map(|since| picture.at.since(since));
            found.push(finding.of(pid, name.clone()).since_known(since));
        }
        let short = pool.short.map(|since| picture.at.since(since));
        if let Some(since) = short.filter(|since| *since >= SHORT) {
            let text =
                format!("the pool {called} has {} of {} workers", gauges.workers, gauges.places);
            found.push(
                Finding::new("pool_short", Severity::Warning, text).of(pid, name).since(since),
            );
        }
    }
    found
}

fn of_node(shared: &Shared, stats: &NodeStats, turns: &[CurrentTurn]) -> Vec<Finding> {
    let now = Instant::now();
    let blocked = shared.remembered.blocked(stats, turns, now).into_iter();
    let blocked = blocked.filter(|(_, since)| *since >= BLOCKED).map(|(name, since)| {
        let text = format!("all workers of the dispatcher {name} are held by long turns");
        Finding::new("workers_blocked", Severity::Critical, text).since(since)
    });
    let rate = shared.remembered.dead_letters(stats.dead_letters, now);
    let flood = (rate >= FLOOD).then(|| {
        let text = format!("{rate:.0} dead letters in a second");
        Finding::new("dead_letter_flood", Severity::Warning, text)
    });
    blocked.chain(flood).collect()
}

/// The restarts of a supervisor within its period.
struct RestartStorm {
    restarts: u32,
    name: Option<String>,
    intensity: u32,
    period: Duration,
    /// How long ago the first of them was.
    since: Duration,
}

fn of_rings(shared: &Shared) -> Vec<Finding> {
    let Some(now) = shared.view.now() else { return Vec::new() };
    let mut found = Vec::new();
    for recorded in shared.view.deadlocks(0, LISTED).items {
        let since = now.since(recorded.at);
        if since <= DEADLOCK {
            let pids = recorded.item.cycle.pids().iter().zip(&recorded.item.names);
            let who = pids.map(|(pid, name)| {
                name.as_ref().map_or_else(|| pid.to_string(), ToString::to_string)
            });
            let text = format!(
                "these called each other in a circle: {}",
                who.collect::<Vec<_>>().join(", ")
            );
            found.push(Finding::new("deadlock", Severity::Critical, text).since(since));
        }
    }
    // By supervisor, how many restarts in its period, and how long ago the first of them was.
    let mut storms: BTreeMap<Pid, RestartStorm> = BTreeMap::new();
    let mut given_up = BTreeSet::new();
    for recorded in shared.view.restarts(0, DECISIONS).items {
        let (event, since) = (&*recorded.item, now.since(recorded.at));
        let name = event.by_name.as_ref().map(ToString::to_string);
        let who = name.clone().unwrap_or_else(|| event.by.to_string());
        if event.what == SupervisionAction::GaveUp {
            given_up.insert(event.by);
        }
        if event.what == SupervisionAction::GaveUp && since <= GAVE_UP {
            let finding = Finding::new(
                "gave_up",
                Severity::Critical,
                format!("the supervisor {who} gave up"),
            );
            found.push(finding.of(event.by, name).since(since));
        } else if let (SupervisionAction::Restarting, Some((intensity, period))) =
            (event.what, event.intensity)
            && since <= period
        {
            // The oldest decision comes first.
            let storm = RestartStorm { restarts: 0, name, intensity, period, since };
            storms.entry(event.by).or_insert(storm).restarts += 1;
        }
    }
    for (pid, RestartStorm { restarts: count, name, intensity, period, since }) in storms {
        // One that has given up restarts nothing any more.
        if count * 2 >= intensity && !given_up.contains(&pid) {
            let who = name.clone().unwrap_or_else(|| pid.to_string());
            let text = format!(
                "{who} restarted {count} times in {}; it gives up after {intensity}",
                readable(period)
            );
            let finding = Finding::new("restart_storm", Severity::Warning, text);
            found.push(finding.of(pid, name).since(since));
        }
    }
    found
}

fn of_checks(shared: &Shared) -> Vec<Finding> {
    let down = rounds::last_results(shared).into_iter().filter_map(|result| match result.health {
        Some(Health::Down(message)) => Some((result.name, message)),
        _ => None,
    });
    let finding = |(name, message)| {
        Finding::new(
            "check_down",
            Severity::Critical,
            format!("the check {name} is down: {message}"),
        )
    };
    down.map(finding).collect()
}
