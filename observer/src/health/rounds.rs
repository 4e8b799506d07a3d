//! A round of checks: those that are not young are run side by side, and waited for a short
//! time.

use crate::check::{Check, Health, Judge};
use crate::health::applications;
use crate::health::checks::CheckResult;
use crate::inspections::NoAnswer;
use crate::sampling::picture::{Picture, Row};
use crate::shared::Shared;
use crate::time::readable;
use krarup_gen::{Inspection, Pid, ProcessKind, Root};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The time limit of the checks of named processes that nobody configured.
const DEFAULT: Duration = Duration::from_secs(1);

/// Which checks are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckScope {
    Live,
    Ready,
    All,
}

impl CheckScope {
    pub(crate) fn has(self, live: bool, ready: bool) -> bool {
        match self {
            CheckScope::Live => live,
            CheckScope::Ready => ready,
            CheckScope::All => true,
        }
    }
}

/// Runs the checks of a scope, and returns how each was when it last answered.
pub(crate) async fn round(shared: &Arc<Shared>, scope: CheckScope) -> Vec<CheckResult> {
    let deadline = Instant::now() + shared.limits.probe;
    let mut names = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for check in planned(shared, scope).await {
        all.push(check.name());
        if !scope.has(check.live, check.ready) {
            continue;
        }
        let name = check.name();
        if shared.checks.begin(&name, check.live, check.ready, shared.limits.check) {
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                let began = Instant::now();
                let health = run(&shared, &check).await;
                shared.checks.end(&check.name(), health, began.elapsed());
            });
        }
        names.push(name);
    }
    if scope == CheckScope::All {
        shared.checks.keep(&all);
    }
    let mut results =
        if scope == CheckScope::Ready { Vec::new() } else { dispatchers(shared, deadline).await };
    let left = deadline.saturating_duration_since(Instant::now());
    let _ = timeout(left, shared.checks.answered(&names)).await;
    results.extend(shared.checks.results(&names));
    if scope != CheckScope::Live {
        results.extend(shared.startup.results(&shared.view));
        results.extend(applications::results(&shared.view));
    }
    results
}

/// How all checks were when they last ran, for findings and metrics. It runs none and asks nobody.
pub(crate) fn last_results(shared: &Shared) -> Vec<CheckResult> {
    let mut results = shared.checks.all();
    let dispatchers = shared.turns.last_probe().into_iter();
    results.extend(dispatchers.map(|found| {
        let health = found.is_late.map(|is_late| health_of_dispatcher(is_late, found.age));
        dispatcher(&found.dispatcher, health, found.age)
    }));
    results.extend(shared.startup.results(&shared.view));
    results.extend(applications::results(&shared.view));
    results
}

/// The checks of the program, one of each named process at the top of the user root, and one of each
/// process that readiness needs and that has ended.
async fn planned(shared: &Shared, scope: CheckScope) -> Vec<Check> {
    let mut checks = shared.checks.own.clone();
    if scope == CheckScope::Live {
        return checks;
    }
    let picture = shared.sampling.picture().await;
    let top = picture.as_deref().map(at_top).unwrap_or_default();
    let mut names: Vec<String> = top.iter().map(|(name, _)| name.clone()).collect();
    // In a stop all of them end.
    if !shared.view.is_stopping() {
        names.extend(shared.top_processes.failed(&shared.view, top.into_iter()));
        let ended = shared.startup.ended(&shared.view);
        // The program wants these for its readiness, whatever its own check of one is for.
        checks.iter_mut().filter(|it| ended.contains(&it.process)).for_each(|it| it.ready = true);
        names.extend(ended);
    }
    for name in names {
        if !checks.iter().any(|check| check.process == name) {
            checks.push(Check::inspect(name).ready().timeout(DEFAULT));
        }
    }
    checks
}

/// The named processes at the top of the user root.
fn at_top(picture: &Picture) -> Vec<(String, Pid)> {
    let rows = picture.rows.iter().filter(|row| row.sample.root == Root::User);
    let is_below =
        |row: &&Row| row.sample.parent.is_some_and(|parent| picture.of(parent).is_some());
    let top = rows.filter(|row| !is_below(row));
    top.filter_map(|row| Some((row.identity.name.as_ref()?.to_string(), row.sample.pid))).collect()
}

/// How the canaries of the dispatchers are.
async fn dispatchers(shared: &Shared, deadline: Instant) -> Vec<CheckResult> {
    let longest = shared.limits.canary;
    let is_late = |age: &Option<Duration>| age.is_none_or(|age| age >= longest);
    shared.turns.ask();
    while shared.turns.ages().iter().any(|(_, age)| is_late(age)) {
        let left = deadline.saturating_duration_since(Instant::now());
        // A turn between the look and the wait is seen after the next one, or at the end.
        let pause = left.min(Duration::from_millis(50));
        if left.is_zero() {
            break;
        }
        let _ = timeout(pause, shared.turns.changed()).await;
    }
    let result = |(name, age): (String, Option<Duration>)| {
        let is_late = is_late(&age);
        shared.turns.probed(&name, is_late);
        dispatcher(&name, Some(health_of_dispatcher(is_late, age)), age)
    };
    shared.turns.ages().into_iter().map(result).collect()
}

/// How a dispatcher is whose canary had its last turn so long ago.
fn health_of_dispatcher(is_late: bool, age: Option<Duration>) -> Health {
    if !is_late {
        return Health::Ok;
    }
    let since = age.map_or_else(|| "yet".to_owned(), |age| format!("for {} s", age.as_secs()));
    Health::Down(format!("its canary has had no turn {since}"))
}

fn dispatcher(name: &str, health: Option<Health>, age: Option<Duration>) -> CheckResult {
    let now = Instant::now();
    CheckResult {
        name: format!("dispatcher:{name}"),
        live: true,
        ready: false,
        health,
        took: Duration::ZERO,
        at: age.and_then(|age| now.checked_sub(age)).unwrap_or(now),
        asked: None,
    }
}

async fn run(shared: &Shared, check: &Check) -> Health {
    let name = &check.process;
    let Some(pid) = shared.view.whereis(name) else {
        let why = shared.top_processes.why(name);
        return Health::Down(why.unwrap_or_else(|| format!("there is no process {name}")));
    };
    let answer = shared.inspections.ask(&shared.view, pid, check.timeout).await;
    match (answer, &check.judge) {
        (Ok((inspection, _)), Some(judge)) => judged(judge, &inspection),
        (Ok((inspection, _)), None) => usual(shared, pid, &inspection),
        (Err(NoAnswer::Timeout(_)), _) => {
            Health::Down(format!("{name} did not answer within {}", readable(check.timeout)))
        }
        (Err(NoAnswer::NoProcess), _) => Health::Down(format!("{name} has ended")),
        (Err(NoAnswer::NotOffered(text)), Some(_)) => {
            Health::Down(format!("{name} answers no inspection: {text}"))
        }
        // It had a turn, and has nothing to say of itself.
        (Err(NoAnswer::NotOffered(_)), None) => Health::Ok,
    }
}

fn judged(judge: &Judge, inspection: &Inspection) -> Health {
    let judged = catch_unwind(AssertUnwindSafe(|| judge(inspection)));
    judged.unwrap_or_else(|panic| {
        // The payload is the program's: its destructor may panic, too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
        Health::Down("its judge panicked".to_owned())
    })
}

/// What an answer means if the program does not say.
fn usual(shared: &Shared, pid: Pid, inspection: &Inspection) -> Health {
    let Some(info) = shared.view.process_info(pid) else {
        return Health::Down("it has ended".to_owned());
    };
    if info.kind == ProcessKind::Supervisor {
        let (specs, active) = (inspection.number("specs"), inspection.number("active"));
        return match (specs, active) {
            (Some(specs), Some(active)) if active < specs => {
                Health::Degraded(format!("{active} of {specs} children"))
            }
            _ => Health::Ok,
        };
    }
    let Some(pool) = &info.pool else { return Health::Ok };
    match (pool.workers, pool.places) {
        (0, places) if places > 0 => Health::Down(format!("none of {places} workers")),
        (workers, places) if workers < places => {
            Health::Degraded(format!("{workers} of {places} workers"))
        }
        _ if pool.draining => Health::Degraded("it is drained".to_owned()),
        _ => Health::Ok,
    }
}
