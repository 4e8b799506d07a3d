//! `/api/v1/cluster`: the cluster of the node, connection by connection.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::cluster_row::{ClusterRow, ConnectionChanges};
use crate::sampling::picture::Picture;
use crate::shared::Shared;
use crate::time::{ms, rfc3339};
use hyper::StatusCode;
use krarup_gen::{ClusterStats, ConnectionGauges, KeptNode, Pid};
use serde::Serialize;
use serde_json::{Map, Value};

/// The most connections of an answer, and the most kept nodes.
pub(crate) const NODES: usize = 500;

#[derive(Serialize)]
pub(crate) struct ClusterBody {
    running: bool,
    node: String,
    id: Option<u64>,
    pid: Option<String>,
    address: Option<String>,
    encrypted: Option<bool>,
    bound_bytes: Option<usize>,
    connected: usize,
    connections: Vec<ConnectionBody>,
    more: usize,
    kept: Vec<KeptBody>,
    kept_more: usize,
    not_connected: usize,
    counters: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct ConnectionBody {
    node: String,
    creation: u32,
    id: Option<u64>,
    pid: Option<String>,
    dialled: bool,
    since_at: String,
    bytes_in: u64,
    bytes_out: u64,
    messages_in: u64,
    messages_out: u64,
    bytes_in_rate: Option<f64>,
    bytes_out_rate: Option<f64>,
    messages_in_rate: Option<f64>,
    messages_out_rate: Option<f64>,
    waiting_bytes: usize,
    most_waiting_bytes: usize,
    refusals: u64,
    refusals_rate: Option<f64>,
    links: usize,
    monitors: usize,
    foreign_monitors: usize,
    bound_processes: usize,
    functions: usize,
    spawned: usize,
    dead_letters: u64,
    late_replies: u64,
}

#[derive(Serialize)]
struct KeptBody {
    node: String,
    connected: bool,
    failures: u32,
    dialled_in_ms: Option<f64>,
}

/// `GET /api/v1/cluster`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let most = NODES as u64;
    let limit = Parameters::read(query, &["limit"])?.number("limit", 1..=most, most)?;
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(shared, &picture, usize::try_from(limit).unwrap_or(NODES))))
}

/// The cluster, with at most so many connections and at most so many kept nodes.
pub(crate) fn body(shared: &Shared, picture: &Picture, limit: usize) -> ClusterBody {
    let node = shared.view.node_name().to_owned();
    let Some(row) = &picture.cluster else { return without(node) };
    let cluster = &row.picture;
    let mut connections: Vec<_> = row.connections().collect();
    // What an operator looks for is told, however many there are.
    connections.sort_by_key(|(it, changes)| it.waiting <= cluster.bound && changes.refused == 0);
    let connections = connections.into_iter().take(limit);
    ClusterBody {
        running: true,
        node,
        id: Some(cluster.process.id()),
        pid: Some(cluster.process.to_string()),
        address: cluster.address.map(|address| address.to_string()),
        encrypted: Some(cluster.is_encrypted),
        bound_bytes: Some(cluster.bound),
        connected: cluster.connections.len(),
        connections: connections.map(|(it, changes)| connection(shared, it, changes)).collect(),
        more: cluster.connections.len().saturating_sub(limit),
        kept: kept(row, limit),
        kept_more: cluster.kept.len().saturating_sub(limit),
        not_connected: row.not_connected().count(),
        counters: Some(counters(&cluster.stats)),
    }
}

fn without(node: String) -> ClusterBody {
    ClusterBody {
        running: false,
        node,
        id: None,
        pid: None,
        address: None,
        encrypted: None,
        bound_bytes: None,
        connected: 0,
        connections: Vec::new(),
        more: 0,
        kept: Vec::new(),
        kept_more: 0,
        not_connected: 0,
        counters: None,
    }
}

fn connection(
    shared: &Shared,
    gauges: &ConnectionGauges,
    changes: ConnectionChanges,
) -> ConnectionBody {
    let rates = changes.rates;
    ConnectionBody {
        node: gauges.node.to_string(),
        creation: gauges.creation,
        id: gauges.process.map(Pid::id),
        pid: gauges.process.map(|pid| pid.to_string()),
        dialled: gauges.is_dialled,
        since_at: rfc3339(shared.moment(gauges.since)),
        bytes_in: gauges.bytes_in,
        bytes_out: gauges.bytes_out,
        messages_in: gauges.messages_in,
        messages_out: gauges.messages_out,
        bytes_in_rate: rates.map(|rates| rates.bytes_in),
        bytes_out_rate: rates.map(|rates| rates.bytes_out),
        messages_in_rate: rates.map(|rates| rates.messages_in),
        messages_out_rate: rates.map(|rates| rates.messages_out),
        waiting_bytes: gauges.waiting,
        most_waiting_bytes: gauges.most_waiting,
        refusals: gauges.refusals,
        refusals_rate: rates.map(|rates| rates.refusals),
        links: gauges.links,
        monitors: gauges.monitors,
        foreign_monitors: gauges.foreign_monitors,
        bound_processes: gauges.bound_processes,
        functions: gauges.functions,
        spawned: gauges.spawned,
        dead_letters: gauges.dead_letters,
        late_replies: gauges.late_replies,
    }
}

/// The kept nodes, those first that are not connected: a list that is cut has them.
fn kept(row: &ClusterRow, limit: usize) -> Vec<KeptBody> {
    let connected = row.picture.kept.iter().filter(|kept| kept.is_connected);
    let body = |kept: &KeptNode| KeptBody {
        node: kept.node.to_string(),
        connected: kept.is_connected,
        failures: kept.failures,
        dialled_in_ms: kept.dialled_in.map(ms),
    };
    row.not_connected().chain(connected).take(limit).map(body).collect()
}

fn counters(stats: &ClusterStats) -> Map<String, Value> {
    stats.counts().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}
