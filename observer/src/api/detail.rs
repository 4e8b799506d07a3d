//! `/api/v1/processes/{id}`: one process.

use crate::api::pools::{self, PoolBody};
use crate::api::process::ProcessRow;
use crate::api::recorded_items;
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::PathNumber;
use crate::restarts::KnownRestarts;
use crate::sampling::identity::{ProcessIdentity, SharedTexts};
use crate::sampling::picture::{Picture, Row};
use crate::shared::Shared;
use hyper::StatusCode;
use krarup_gen::{ManagedChild, Pid, ProcessInfo, ProcessKind};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The most links, aliases and ancestors of an answer.
const LISTED: usize = 256;

/// A process, and what one asks for of one process alone.
#[derive(Serialize)]
pub(crate) struct Detail {
    #[serde(flatten)]
    row: ProcessRow,
    aliases: Vec<String>,
    links: Vec<Linked>,
    links_more: usize,
    monitors: usize,
    monitored_by: usize,
    trapping: bool,
    stashed: usize,
    ancestors: Vec<AncestorBody>,
    children: usize,
    supervised_by: Option<SupervisedBy>,
    message_type: &'static str,
    command_type: &'static str,
    pool: Option<PoolBody>,
    recorded_items: Vec<Value>,
}

#[derive(Serialize)]
struct Linked {
    pid: String,
    name: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct AncestorBody {
    pid: String,
    name: Option<String>,
    behavior: Option<String>,
}

#[derive(Serialize)]
struct SupervisedBy {
    pid: String,
    name: Option<String>,
    kind: String,
    child: Option<String>,
    restarts: u64,
}

/// `GET /api/v1/processes/{id}`.
pub(crate) async fn answer(
    shared: &Shared,
    id: PathNumber,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    let pid = shared.process(&id)?;
    let picture = shared.picture().await?;
    // It may have ended since: then the picture is what is known of it.
    let info = shared.view.process_info(pid);
    let Some(row) = row(shared, pid, info.as_ref(), &picture) else {
        return Err(Refusal::new(Code::NoProcess, format!("{pid} has ended")));
    };
    let children = picture.rows.iter().filter(|other| other.sample.parent == Some(pid)).count();
    let recorded = recorded_items::items(&shared.view.recorded(pid));
    let restarts = KnownRestarts::of(&shared.view);
    let child = match supervisor_of(&row, &picture) {
        Some(supervisor) => shared.children.ask(&shared.view, supervisor, pid).await,
        None => None,
    };
    let detail = detail(&row, info.as_ref(), children, &picture, &restarts, child, recorded);
    Ok(json(StatusCode::OK, &detail))
}

/// The details of the first processes of a picture, with the numbers of the picture.
pub(crate) async fn details<'a>(
    shared: &'a Arc<Shared>,
    picture: &'a Picture,
    most: usize,
) -> impl Iterator<Item = Detail> + 'a {
    let mut asked = supervised(shared, picture, most).await;
    let mut children: BTreeMap<Pid, usize> = BTreeMap::new();
    for parent in picture.rows.iter().filter_map(|row| row.sample.parent) {
        *children.entry(parent).or_default() += 1;
    }
    let restarts = KnownRestarts::of(&shared.view);
    picture.rows.iter().take(most).map(move |row| {
        let info = shared.view.process_info(row.sample.pid);
        let children = children.get(&row.sample.pid).copied().unwrap_or(0);
        let recorded = recorded_items::items(&shared.view.recorded(row.sample.pid));
        let child = asked.remove(&row.sample.pid);
        detail(row, info.as_ref(), children, picture, &restarts, child, recorded)
    })
}

/// The children of supervisors among the first processes of a picture. All are asked for at once.
async fn supervised(
    shared: &Arc<Shared>,
    picture: &Picture,
    most: usize,
) -> BTreeMap<Pid, ManagedChild> {
    let mut asked = JoinSet::new();
    for row in picture.rows.iter().take(most) {
        let (shared, pid) = (Arc::clone(shared), row.sample.pid);
        if let Some(supervisor) = supervisor_of(row, picture) {
            asked.spawn(async move {
                shared.children.ask(&shared.view, supervisor, pid).await.map(|child| (pid, child))
            });
        }
    }
    let mut children = BTreeMap::new();
    while let Some(answer) = asked.join_next().await {
        children.extend(answer.ok().flatten());
    }
    children
}

/// The supervisor that has spawned a process.
fn supervisor_of(row: &Row, picture: &Picture) -> Option<Pid> {
    let parent = picture.of(row.sample.parent?)?;
    (parent.sample.kind == ProcessKind::Supervisor).then_some(parent.sample.pid)
}

/// The row of a process: its numbers of now, with the rates of the picture.
fn row(shared: &Shared, pid: Pid, info: Option<&ProcessInfo>, picture: &Picture) -> Option<Row> {
    let old = picture.of(pid);
    let (Some(info), Some(sample)) = (info, shared.view.sample(pid)) else { return old.cloned() };
    let identity = ProcessIdentity::of(info, &mut SharedTexts::default(), picture.at);
    let now = Row::new(sample, Arc::new(identity), None, picture.at);
    Some(match old {
        Some(old) => Row { rates: old.rates, since: old.since.clone(), ..now },
        None => now,
    })
}

fn detail(
    row: &Row,
    info: Option<&ProcessInfo>,
    children: usize,
    picture: &Picture,
    restarts: &KnownRestarts,
    child: Option<ManagedChild>,
    recorded_items: Vec<Value>,
) -> Detail {
    let pid = row.sample.pid;
    let parent = row.sample.parent.and_then(|parent| picture.of(parent));
    let watches = |kind| matches!(kind, ProcessKind::Supervisor | ProcessKind::Pool);
    let supervised_by =
        parent.filter(|parent| watches(parent.sample.kind)).map(|parent| SupervisedBy {
            pid: parent.sample.pid.to_string(),
            name: picture.name(parent.sample.pid),
            kind: parent.sample.kind.to_string(),
            restarts: match (picture.pools.get(&parent.id()), &child) {
                (Some(pool), _) => pool.gauges.restarts,
                (None, Some(child)) => child.restarts,
                (None, None) => restarts.count(pid),
            },
            // A supervisor that does not answer: what the newest decisions tell.
            child: child
                .map(|child| child.id)
                .or_else(|| restarts.child(pid).map(ToOwned::to_owned)),
        });
    let links = info.map_or(&[][..], |info| &info.links);
    let linked = |pid: &Pid| Linked { pid: pid.to_string(), name: picture.name(*pid) };
    let aliases = info.map_or(&[][..], |info| &info.aliases).iter();
    let number = |of: fn(&ProcessInfo) -> usize| info.map_or(0, of);
    Detail {
        row: ProcessRow::new(row, picture),
        aliases: aliases.take(LISTED).map(ToString::to_string).collect(),
        links: links.iter().take(LISTED).map(linked).collect(),
        links_more: links.len().saturating_sub(LISTED),
        monitors: number(|info| info.monitors),
        monitored_by: number(|info| info.monitored_by),
        trapping: info.is_some_and(|info| info.trapping),
        stashed: number(|info| info.stashed),
        ancestors: ancestors(row, picture),
        children,
        supervised_by,
        message_type: info.map_or("", |info| info.message_type),
        command_type: info.map_or("", |info| info.command_type),
        pool: picture.pools.get(&row.id()).map(|pool| pools::of(row.id(), pool, picture)),
        recorded_items,
    }
}

/// Who spawned it, who spawned that one, and so on.
fn ancestors(row: &Row, picture: &Picture) -> Vec<AncestorBody> {
    let mut ancestors = Vec::new();
    let mut next = row.sample.parent;
    while let Some(pid) = next.filter(|_| ancestors.len() < LISTED) {
        let row = picture.of(pid);
        ancestors.push(AncestorBody {
            pid: pid.to_string(),
            name: picture.name(pid),
            behavior: row.map(|row| row.identity.behavior.to_string()),
        });
        next = row.and_then(|row| row.sample.parent);
    }
    ancestors
}
