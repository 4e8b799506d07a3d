//! What a told node says: its processes, rings and bodies, and how lists and rings are read.

use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What is told of the node.
pub(crate) struct Scene {
    pub(crate) node: Value,
    pub(crate) processes: Vec<Value>,
    /// Rings by their routes: the items, each with its number.
    pub(crate) rings: BTreeMap<&'static str, Vec<Value>>,
    /// The bodies of `waits`, `pools`, `findings`, `turns`, `flow`, `health` and others, by their
    /// routes.
    pub(crate) bodies: BTreeMap<String, Value>,
    /// Answers of actions: the status and the body.
    pub(crate) refusals: BTreeMap<&'static str, (u16, &'static str)>,
    /// Actions that were done, and their bodies.
    pub(crate) done: Vec<(String, Value)>,
    /// Requests that came, their queries too.
    pub(crate) asked: Vec<String>,
    pub(crate) streams: usize,
    /// How often it was changed.
    pub(crate) changes: u64,
    /// The server stops.
    pub(crate) ended: bool,
    /// The rows of the last list, and what was asked.
    kept: RefCell<(String, Vec<usize>)>,
}

impl Scene {
    pub(crate) fn process(&self, id: &str) -> Option<Value> {
        let mut found = self
            .processes
            .iter()
            .find(|process| process["id"].as_u64().is_some_and(|known| Ok(known) == id.parse()))?
            .clone();
        let more = json!({"aliases": [], "links": [], "links_more": 0, "monitors": 0, "monitored_by": 1,
            "trapping": false, "stashed": 0, "ancestors": [{"pid": "<0.2.0>", "name": "user", "behavior": "Supervisor"}],
            "children": 0, "supervised_by": null, "message_type": "shop::Message", "command_type": null,
            "pool": null, "recorded_items": []});
        for (name, value) in more.as_object()? {
            if found.get(name).is_none() {
                found[name] = value.clone();
            }
        }
        Some(found)
    }

    pub(crate) fn list(&self, query: &BTreeMap<String, String>) -> Value {
        let number = |name: &str, or: usize| {
            query.get(name).and_then(|text| text.parse().ok()).unwrap_or(or)
        };
        let sort = query.get("sort").map_or("id", String::as_str);
        let texts = ["id", "name", "kind", "behavior", "state"];
        let usual = if texts.contains(&sort) { "asc" } else { "desc" };
        let order = query.get("order").map_or(usual, String::as_str);
        let filters = ["q", "state", "kind", "root"].map(|name| query.get(name));
        let key = format!("{} {sort} {order} {filters:?}", self.changes);
        // The order of 100 000 is worth keeping until something changes.
        let mut kept = self.kept.borrow_mut();
        if kept.0 != key {
            *kept = (key, self.rows(query, sort, order == "asc"));
        }
        let (offset, limit) = (number("offset", 0), number("limit", 50));
        let shown: Vec<&Value> =
            kept.1.iter().skip(offset).take(limit).map(|row| &self.processes[*row]).collect();
        json!({"total": self.processes.len(), "matched": kept.1.len(), "offset": offset,
            "limit": limit, "sort": sort, "order": order, "sample": self.node["sample"],
            "processes": shown})
    }

    // The rows that the filters keep, in their order.
    fn rows(&self, query: &BTreeMap<String, String>, sort: &str, ascending: bool) -> Vec<usize> {
        let text = query.get("q").map(|text| text.to_lowercase());
        let has = |process: &Value, part: &str| {
            ["name", "label", "behavior", "pid"].iter().any(|field| {
                process[*field].as_str().is_some_and(|value| value.to_lowercase().contains(part))
            })
        };
        let keeps = |process: &Value| {
            text.as_ref().is_none_or(|part| has(process, part))
                && ["state", "kind", "root"].iter().all(|field| {
                    query.get(*field).is_none_or(|value| process[*field] == json!(value))
                })
        };
        let mut rows: Vec<usize> =
            (0..self.processes.len()).filter(|row| keeps(&self.processes[*row])).collect();
        if rows.iter().all(|row| self.processes[*row][sort].is_number()) {
            let value = |row: usize| self.processes[row][sort].as_f64().unwrap_or_default();
            let mut by: Vec<(f64, usize)> = rows.iter().map(|row| (value(*row), *row)).collect();
            by.sort_by(|(a, _), (b, _)| if ascending { a.total_cmp(b) } else { b.total_cmp(a) });
            return by.into_iter().map(|(_, row)| row).collect();
        }
        rows.sort_by_cached_key(|row| self.processes[*row][sort].to_string());
        if !ascending {
            rows.reverse();
        }
        rows
    }

    pub(crate) fn ring(&self, name: &str, after: i64) -> Value {
        let all = &self.rings[name];
        let number = |item: &Value| item["seq"].as_i64().unwrap_or(0);
        let next = all.last().map_or(1, |item| number(item) + 1);
        let items: Vec<&Value> =
            all.iter().filter(|item| after < 0 || number(item) > after).collect();
        json!({"first_seq": all.first().map_or(next, number), "next_seq": next, "lost": 0, "items": items})
    }
}

/// A node with these processes and nothing wrong.
pub(crate) fn healthy(processes: Vec<Value>) -> Scene {
    let living = processes.len();
    let mut bodies = BTreeMap::new();
    for (route, body) in [
        ("findings", json!({"findings": []})),
        ("pools", json!({"pools": [], "more": 0})),
        ("cluster", no_cluster()),
        (
            "waits",
            json!({"edges": [], "more": 0, "chains": [], "most_waited_for": [], "cycles": []}),
        ),
        (
            "turns",
            json!({"workers": [{"dispatcher": "default", "worker": 0, "pid": null, "name": null,
            "behavior": null, "held_ms": null}], "behaviors": []}),
        ),
        ("flow", json!({"window_ms": 1000, "edges": [], "more": 0})),
        (
            "health",
            json!({"status": "ok", "live": true, "ready": true, "stopping": false, "uptime_ms": 1.5,
            "checks": []}),
        ),
        ("tree", tree(&processes)),
    ] {
        bodies.insert(route.to_owned(), body);
    }
    let rings = ["crashes", "restarts", "dead_letters", "deadlocks", "actions", "logs"];
    Scene {
        node: node(living),
        processes,
        rings: rings.into_iter().map(|name| (name, Vec::new())).collect(),
        bodies,
        refusals: BTreeMap::new(),
        done: Vec::new(),
        asked: Vec::new(),
        streams: 0,
        changes: 0,
        ended: false,
        kept: RefCell::default(),
    }
}

/// The body of `/cluster` where none runs.
pub(crate) fn no_cluster() -> Value {
    json!({"running": false, "node": "shop", "id": null, "pid": null, "address": null, "encrypted": null,
        "bound_bytes": null, "connected": 0, "connections": [], "more": 0, "kept": [], "kept_more": 0,
        "not_connected": 0, "counters": null})
}

/// The body of `/node` with so many living processes.
pub(crate) fn node(living: usize) -> Value {
    json!({"node": "shop", "version": "0.1.0", "api": "v1", "now_at": "2026-03-01T12:00:00.000Z",
        "started_at": "2026-03-01T10:00:00.000Z", "uptime_ms": 7_200_000.0, "stopping": false,
        "processes": {"living": living, "user": living, "system": 0, "spawned": living, "ended": 0,
            "by_state": {"init": 0, "idle": living, "scheduled": 0, "running": 0, "waiting": 0, "suspended": 0}},
        "names": 3, "aliases": 0, "timers": 1,
        "messages": {"in": 20_000, "out": 20_000, "handled": 20_000, "waiting": 0},
        "dead_letters": 0, "late_replies": 0, "crashes": 0, "restarts": 0, "deadlocks": 0, "calls_timed_out": 0,
        "blocking": {"threads": 0, "work": 0},
        "dispatchers": [{"name": "default", "workers": 2, "parked": 1, "searching": 0, "blocked": 0, "spares": 0,
            "queued": 0, "turns": 12_345, "high_turns": 0, "scheduled": 0, "injected": 0, "spills": 0, "steals": 0,
            "stolen": 0, "parks": 0, "wakes": 0, "long_turns": 0, "longest_turn_ms": 1.5, "running_ms": 10.0,
            "busy": 0.25}],
        "os": {"cpu_ms": 100.0, "resident_bytes": 20_000_000, "threads": 6, "open_files": 12},
        "sample": {"age_ms": 1.0, "period_ms": 1000, "cost_ms": 0.1, "watchers": 1, "window_ms": 1000},
        "access": {"actions": true, "read_token": false}})
}

/// An idle actor of this number and name, or without one if it is empty.
pub(crate) fn process(id: u64, name: &str) -> Value {
    json!({"id": id, "pid": format!("<0.{id}.0>"), "name": if name.is_empty() { Value::Null } else { json!(name) },
        "label": null, "kind": "actor", "behavior": "shop::Order", "state": "idle", "root": "user", "parent": 2,
        "dispatcher": "default", "class": "normal", "urgent": 0, "system": 0, "main": 0, "bound": 20_000,
        "room_waiters": 0, "in": 0, "out": 0, "handled": 0, "running_ms": 0.0, "uptime_ms": 60_000.0, "cpu": 0.0,
        "in_rate": 0.0, "handled_rate": 0.0, "growth": 0.0, "head_wait_ms": null, "waits_for": null,
        "suspensions": 0, "traced": false, "recorded": 0, "shallow_bytes": 720})
}

fn tree(processes: &[Value]) -> Value {
    let branch = |process: &Value, children: Vec<Value>, more: usize| {
        let mut branch = Map::new();
        for field in ["id", "pid", "name", "kind", "behavior", "state", "root", "main", "handled"] {
            branch.insert(field.to_owned(), process[field].clone());
        }
        branch.insert("restarts".to_owned(), json!(0));
        branch.insert("children".to_owned(), json!(children));
        branch.insert("more".to_owned(), json!(more));
        Value::Object(branch)
    };
    let leaves: Vec<Value> =
        processes.iter().skip(1).take(200).map(|leaf| branch(leaf, Vec::new(), 0)).collect();
    let more = processes.len().saturating_sub(1 + leaves.len());
    let roots: Vec<Value> =
        processes.first().map(|root| branch(root, leaves, more)).into_iter().collect();
    json!({"total": processes.len(), "shown": processes.len().min(201), "roots": roots})
}
