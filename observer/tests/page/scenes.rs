//! Nodes that are told: one with everything wrong that the page explains, one with 100 000
//! processes.

use crate::scene::{Scene, healthy, process};
use serde_json::{Value, json};

/// The process with the growing mailbox.
pub(crate) const STOCK: u64 = 10;
/// Two that called each other.
pub(crate) const BILLING: u64 = 11;
pub(crate) const LEDGER: u64 = 12;
/// The full pool.
pub(crate) const WORKERS: u64 = 13;
/// The process that uses a whole core.
pub(crate) const PRICES: u64 = 20;
/// A name that would do something else if it were not escaped.
pub(crate) const ODD: &str = "odd <script>alert(1)</script> \"q\" \u{202e}back\u{7}";

/// A node with a growing mailbox, a deadlock, a full pool, a crash and its restart, waits, logs.
pub(crate) fn storm() -> Scene {
    let mut processes = vec![
        process(1, "system"),
        process(2, "user"),
        process(3, "shop"),
        process(STOCK, "stock"),
        process(BILLING, "billing"),
        process(LEDGER, "ledger"),
        process(WORKERS, "workers"),
        process(14, ""),
        process(PRICES, "prices"),
        process(30, ODD),
    ];
    for found in &mut processes {
        match found["id"].as_u64() {
            Some(1..=3) => found["kind"] = json!("supervisor"),
            Some(STOCK) => {
                found["main"] = json!(12_345);
                found["growth"] = json!(41.5);
                found["head_wait_ms"] = json!(2500.0);
                found["state"] = json!("running");
            }
            Some(WORKERS) => found["kind"] = json!("pool"),
            Some(PRICES) => found["cpu"] = json!(0.97),
            _ => {}
        }
    }
    let mut scene = healthy(processes);
    tell_bodies(&mut scene);
    tell_rings(&mut scene);
    for (field, count) in [("crashes", 1), ("restarts", 1), ("deadlocks", 1), ("dead_letters", 1)] {
        scene.node[field] = json!(count);
    }
    scene
}

fn tell_bodies(scene: &mut Scene) {
    let finding = |code: &str, severity: &str, id: u64, name: &str, text: &str| {
        json!({"code": code, "severity": severity, "pid": format!("<0.{id}.0>"), "name": name,
            "since_ms": 31_000.0, "text": text})
    };
    let call = |from: u64, to: u64, kind: &str| {
        json!({"from": format!("<0.{from}.0>"), "from_name": name(from), "to": format!("<0.{to}.0>"),
            "to_name": name(to), "kind": kind, "seen_ms": 8200.0})
    };
    let bodies = [
        (
            "findings",
            json!({"findings": [
                finding("deadlock", "critical", BILLING, "billing", "billing and ledger called each other in a circle"),
                finding("mailbox_grows", "warning", STOCK, "stock", "the mailbox of stock has 12345 messages and grows by 41.5 a second"),
                finding("pool_full", "warning", WORKERS, "workers", "the pool workers has no room, 80 of 80 places are taken"),
            ]}),
        ),
        ("pools", json!({"pools": [pool()], "more": 0})),
        ("cluster", cluster()),
        (
            "waits",
            json!({"edges": [call(PRICES, STOCK, "call"), call(STOCK, LEDGER, "call"), call(30, WORKERS, "room")],
            "more": 0, "chains": [{"pids": ["<0.20.0>", "<0.10.0>", "<0.12.0>"], "seen_ms": 8200.0}],
            "most_waited_for": [{"pid": "<0.12.0>", "name": "ledger", "by": 2}], "cycles": []}),
        ),
        (
            "turns",
            json!({"workers": [{"dispatcher": "default", "worker": 0, "pid": "<0.20.0>", "name": "prices",
            "behavior": "shop::Prices", "held_ms": 1200.0}], "behaviors": [{"behavior": "shop::Prices", "cpu": 0.97}]}),
        ),
        (
            "flow",
            json!({"window_ms": 10_000, "more": 0, "edges": [{"from": "<0.20.0>", "from_name": "prices",
            "to": "<0.10.0>", "to_name": "stock", "waiting": 12_345, "messages": 52_000}]}),
        ),
        (
            "health",
            json!({"status": "degraded", "live": true, "ready": true, "stopping": false, "uptime_ms": 1.5,
            "checks": [{"name": "process:shop", "live": false, "ready": true, "status": "degraded",
                "message": "4 of 5 children are active", "took_ms": 0.1, "age_ms": 12.0}]}),
        ),
        ("crashes/1", crash()),
        (
            "processes/10/inspect",
            json!({"pid": "<0.10.0>", "name": "stock", "took_ms": 0.2,
            "items": {"shelves": 12_000, "open": true, "last": ODD, "since": {"ms": 1.5}}}),
        ),
        (
            "processes/10/state",
            json!({"pid": "<0.10.0>", "name": "stock", "took_ms": 0.2, "type": "shop::Stock",
            "text": "Stock { shelves: 12 }"}),
        ),
        (
            "traces/1",
            json!({"trace": 1, "pid": "<0.10.0>", "state": "ended", "end": "items", "lost": 0, "next_seq": 2,
            "items": [{"seq": 1, "at_ms": 0.5, "lane": "main", "kind": "message", "type": "shop::Take",
                "sender": "<0.20.0>", "text": "Take { shelf: 7 }"}]}),
        ),
    ];
    for (route, body) in bodies {
        scene.bodies.insert(route.to_owned(), body);
    }
}

fn name(id: u64) -> Value {
    match id {
        STOCK => json!("stock"),
        BILLING => json!("billing"),
        LEDGER => json!("ledger"),
        WORKERS => json!("workers"),
        PRICES => json!("prices"),
        _ => json!(ODD),
    }
}

/// A pool of 4 workers with 20 places each, and no room.
pub(crate) fn pool() -> Value {
    let members: Vec<Value> = (0..4)
        .map(|at| json!({"id": 14 + at, "pid": format!("<0.{}.0>", 14 + at), "state": "running", "main": 20,
            "handled": 1000, "cpu": 0.4}))
        .collect();
    json!({"id": WORKERS, "pid": "<0.13.0>", "name": "workers", "worker_behavior": "shop::Renderer", "size": 4,
        "places": 4, "workers": 4, "capacity": 80, "waiting": 80, "room_waiters": 1, "fill": 1.0,
        "forwarded": 120_000, "unhandled": 21_034, "rate_limited": 0, "diverted": 0, "expired": 0, "lost": 0,
        "crashed": 1, "restarts": 1, "stuck": 0, "draining": false, "forwarded_rate": 880.0, "unhandled_rate": 811.0,
        "wait_ms": null, "service_ms": null, "members": members, "members_more": 0})
}

/// A cluster with two connections, of which one refuses, and a kept node that is missing.
pub(crate) fn cluster() -> Value {
    let connection = |node: &str, id: u64, waiting: u64, refusals: u64| {
        json!({"node": node, "creation": 7, "id": id, "pid": format!("<0.{id}.0>"), "dialled": true,
            "since_at": "2026-03-01T11:00:00.000Z", "bytes_in": 20_480, "bytes_out": 3_145_728, "messages_in": 210,
            "messages_out": 52_000, "bytes_in_rate": 512.0, "bytes_out_rate": 10_240.0, "messages_in_rate": 1.5,
            "messages_out_rate": 120.0, "waiting_bytes": waiting, "most_waiting_bytes": 2_000_000,
            "refusals": refusals, "refusals_rate": 3.0, "links": 1, "monitors": 2, "foreign_monitors": 0,
            "bound_processes": 2, "functions": 0, "spawned": 0, "dead_letters": 4, "late_replies": 0})
    };
    let kept = |node: &str, connected: bool, failures: u32, dialled: Value| json!({"node": node, "connected": connected, "failures": failures, "dialled_in_ms": dialled});
    json!({"running": true, "node": "shop@10.0.0.1", "id": 40, "pid": "<0.40.0>", "address": "10.0.0.1:9100",
        "encrypted": false, "bound_bytes": 1_048_576, "connected": 2,
        "connections": [connection("bank@10.0.0.2", 41, 0, 0), connection("depot@10.0.0.3", 42, 1_100_000, 17)],
        "more": 0, "kept": [kept("mail@10.0.0.4", false, 5, json!(12_500.0)), kept("bank@10.0.0.2", true, 0, Value::Null)],
        "kept_more": 0, "not_connected": 1, "counters": {"unreachable": 0, "late": 3, "failed_handshakes": 5}})
}

/// The item of the ring of crashes with this number.
pub(crate) fn crash_item(seq: u64) -> Value {
    json!({"seq": seq, "at": "2026-03-01T11:59:30.250Z", "pid": "<0.99.0>", "name": "renderer", "label": null,
        "behavior": "shop::Renderer", "kind": "panic", "reason": "index out of bounds: the len is 3",
        "watched_by": {"pid": "<0.13.0>", "name": "workers", "kind": "pool"}, "replaced_by": "<0.14.0>"})
}

fn crash() -> Value {
    let mut crash = crash_item(1);
    let more = json!({"cause": {"kind": "own", "by": null,
            "chain": [{"pid": "<0.99.0>", "name": "renderer", "reason": "index out of bounds: the len is 3"}]},
        "panic": {"message": "index out of bounds: the len is 3", "location": "src/render.rs:41:9"},
        "in_hand": {"kind": "message", "type": "shop::Job", "sender": "<0.10.0>", "text": "Job { order: 4711 }"},
        "recorded": [{"seq": 1, "at_ms": 1.0, "lane": "main", "kind": "message", "type": "shop::Job",
            "sender": "<0.10.0>", "text": "Job { order: 4711 }"}],
        "lanes": {"urgent": 0, "system": 0, "main": 19}, "letters_lost": 19, "handled": 1204, "uptime_ms": 381_000.0,
        "running_ms": 2210.0, "dispatcher": "default", "ancestors": [], "links": [],
        "decision": {"what": "restart", "strategy": "one for one", "intensity": 5, "period_ms": 10_000.0, "count": 2},
        "explanation": "The worker renderer of the pool workers panicked while it handled a Job from stock; \
            the pool started <0.14.0> in its place, which was restart 2 of at most 5 in 10 s.",
        "recipe": "#[test]\nfn the_crash_of_renderer() { todo!() }\n"});
    for (field, value) in more.as_object().expect("an object") {
        crash[field] = value.clone();
    }
    crash
}

fn tell_rings(scene: &mut Scene) {
    let by = json!({"pid": "<0.13.0>", "name": "workers", "kind": "pool"});
    let event = |seq: u64, what: &str, crash: Value| {
        json!({"seq": seq, "at": "2026-03-01T11:59:30.251Z", "by": by, "child": "worker-2", "what": what,
            "pid": "<0.99.0>", "reason": "index out of bounds", "count": 2, "crash": crash})
    };
    let rings = [
        ("crashes", vec![crash_item(1)]),
        (
            "restarts",
            vec![
                event(1, "ended", json!(1)),
                event(2, "restarting", json!(1)),
                event(3, "started", Value::Null),
            ],
        ),
        (
            "dead_letters",
            vec![
                json!({"seq": 1, "at": "2026-03-01T11:59:31.000Z", "to": "<0.99.0>", "from": "<0.10.0>",
            "message": "shop::Job", "cause": "no_process"}),
            ],
        ),
        (
            "deadlocks",
            vec![
                json!({"seq": 1, "at": "2026-03-01T11:59:00.000Z", "pids": ["<0.11.0>", "<0.12.0>"],
            "names": ["billing", "ledger"]}),
            ],
        ),
        (
            "logs",
            vec![
                json!({"seq": 1, "at": "2026-03-01T11:59:32.000Z", "level": "warn", "target": "shop::stock",
            "pid": "<0.10.0>", "message": "a shelf was empty", "fields": {"shelf": 7}}),
            ],
        ),
    ];
    for (ring, items) in rings {
        scene.rings.insert(ring, items);
    }
}

/// A healthy node with so many processes; the mailbox of the last is the deepest.
pub(crate) fn crowd(processes: u64) -> Scene {
    let mut all: Vec<Value> =
        (1..=processes).map(|id| process(id, &format!("session.{id}"))).collect();
    for (at, found) in all.iter_mut().enumerate() {
        found["main"] = json!(at % 1000);
    }
    if let Some(last) = all.last_mut() {
        last["main"] = json!(5000);
    }
    healthy(all)
}
