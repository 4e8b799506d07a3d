//! The columns of each list of the API.

use crate::commands::columns::{ListColumn, ListTable, left, right};
use crate::figures::{bytes, count, duration, rate, share};
use crate::text::printable;
use crate::top::columns::{COLUMNS, called, short, text};
use serde_json::Value;

/// The columns of `krarup top`.
const PROCESS: [ListColumn; COLUMNS.len()] = {
    let mut all = [left("", called); COLUMNS.len()];
    let mut place = 0;
    while place < COLUMNS.len() {
        let shown = &COLUMNS[place];
        all[place] = ListColumn { title: shown.title, right: shown.right, text: shown.text };
        place += 1;
    }
    all
};

const SEQ: ListColumn = right("SEQ", |item| printable(&item["seq"].to_string()));
const AT: ListColumn = left("AT", |item| text(&item["at"]));
const PID: ListColumn = left("PID", |item| text(&item["pid"]));
const REASON: ListColumn = left("REASON", |item| text(&item["reason"]));

pub(crate) const PROCESSES: ListTable =
    ListTable { field: "processes", columns: &PROCESS, empty: "no processes" };

pub(crate) const FINDINGS: ListTable = ListTable {
    field: "findings",
    columns: &[
        left("SEVERITY", |item| text(&item["severity"])),
        left("CODE", |item| text(&item["code"])),
        PID,
        right("SINCE", |item| duration(item["since_ms"].as_f64())),
        left("TEXT", |item| text(&item["text"])),
    ],
    empty: "nothing is wrong",
};

pub(crate) const POOLS: ListTable = ListTable {
    field: "pools",
    columns: &[
        PID,
        left("NAME", |item| text(&item["name"])),
        right("WORKERS", |item| of(item, "workers", "places")),
        right("WAITING", |item| count(item["waiting"].as_u64())),
        right("FILL", |item| share(item["fill"].as_f64())),
        right("FORWARDED", |item| rate(item["forwarded_rate"].as_f64())),
        right("REFUSED", |item| rate(item["unhandled_rate"].as_f64())),
        right("CRASHED", |item| count(item["crashed"].as_u64())),
        right("RESTARTS", |item| count(item["restarts"].as_u64())),
        left("DRAINING", |item| yes_or_no(&item["draining"])),
        left("WORKER", |item| short(&text(&item["worker_behavior"]))),
    ],
    empty: "no pools",
};

pub(crate) const CONNECTIONS: ListTable = ListTable {
    field: "connections",
    columns: &[
        left("NODE", |item| text(&item["node"])),
        PID,
        left("SINCE", |item| text(&item["since_at"])),
        right("IN", |item| bytes(item["bytes_in"].as_u64())),
        right("OUT", |item| bytes(item["bytes_out"].as_u64())),
        right("MESSAGES IN", |item| count(item["messages_in"].as_u64())),
        right("MESSAGES OUT", |item| count(item["messages_out"].as_u64())),
        right("WAITING", |item| bytes(item["waiting_bytes"].as_u64())),
        right("REFUSED", |item| count(item["refusals"].as_u64())),
        right("LINKS", |item| count(item["links"].as_u64())),
        right("MONITORS", |item| {
            count(
                item["monitors"]
                    .as_u64()
                    .zip(item["foreign_monitors"].as_u64())
                    .map(|(a, b)| a + b),
            )
        }),
        left("DIALLED", |item| yes_or_no(&item["dialled"])),
    ],
    empty: "no connections",
};

pub(crate) const KEPT: ListTable = ListTable {
    field: "kept",
    columns: &[
        left("KEPT NODE", |item| text(&item["node"])),
        left("CONNECTED", |item| yes_or_no(&item["connected"])),
        right("FAILURES", |item| count(item["failures"].as_u64())),
        right("DIALLED IN", |item| duration(item["dialled_in_ms"].as_f64())),
    ],
    empty: "",
};

pub(crate) const CRASHES: ListTable = ListTable {
    field: "items",
    columns: &[
        SEQ,
        AT,
        PID,
        left("NAME", called),
        left("KIND", |item| text(&item["kind"])),
        left("REPLACED BY", |item| text(&item["replaced_by"])),
        REASON,
    ],
    empty: "no crashes",
};

pub(crate) const RESTARTS: ListTable = ListTable {
    field: "items",
    columns: &[
        SEQ,
        AT,
        left("BY", |item| who(&item["by"]["pid"], &item["by"]["name"])),
        left("CHILD", |item| text(&item["child"])),
        left("WHAT", |item| text(&item["what"])),
        PID,
        right("COUNT", |item| count(item["count"].as_u64())),
        right("CRASH", |item| item["crash"].as_u64().map_or_else(String::new, |it| it.to_string())),
        REASON,
    ],
    empty: "no restarts",
};

pub(crate) const DEAD_LETTERS: ListTable = ListTable {
    field: "items",
    columns: &[
        SEQ,
        AT,
        left("TO", |item| text(&item["to"])),
        left("FROM", |item| text(&item["from"])),
        left("NODE", |item| text(&item["node"])),
        left("CAUSE", |item| text(&item["cause"])),
        left("MESSAGE", |item| text(&item["message"])),
    ],
    empty: "no dead letters",
};

pub(crate) const DEADLOCKS: ListTable =
    ListTable { field: "items", columns: &[SEQ, AT, left("CYCLE", cycle)], empty: "no deadlocks" };

pub(crate) const ACTIONS: ListTable = ListTable {
    field: "items",
    columns: &[
        SEQ,
        AT,
        left("FROM", |item| text(&item["peer"])),
        left("ACTION", |item| text(&item["action"])),
        PID,
        left("OUTCOME", |item| text(&item["outcome"])),
        left("CODE", |item| text(&item["code"])),
        left("ARGUMENTS", |item| fields(&item["arguments"])),
    ],
    empty: "no actions",
};

pub(crate) const LOGS: ListTable = ListTable {
    field: "items",
    columns: &[
        SEQ,
        AT,
        left("LEVEL", |item| text(&item["level"])),
        PID,
        left("TARGET", |item| text(&item["target"])),
        left("MESSAGE", |item| {
            format!("{} {}", text(&item["message"]), fields(&item["fields"])).trim().to_owned()
        }),
    ],
    empty: "no log events (a program keeps warnings and errors with recent_logs, others with its level)",
};

pub(crate) const TRACE: ListTable = ListTable {
    field: "items",
    columns: &[
        SEQ,
        right("AT", |item| duration(item["at_ms"].as_f64())),
        left("LANE", |item| text(&item["lane"])),
        left("KIND", |item| text(&item["kind"])),
        left("FROM", |item| text(&item["sender"])),
        left("TYPE", |item| text(&item["type"])),
        left("TEXT", |item| text(&item["text"])),
    ],
    empty: "no messages",
};

pub(crate) const FLOW: ListTable = ListTable {
    field: "edges",
    columns: &[
        left("FROM", |item| who(&item["from"], &item["from_name"])),
        left("TO", |item| who(&item["to"], &item["to_name"])),
        right("MESSAGES", |item| count(item["messages"].as_u64())),
        right("WAITING", |item| count(item["waiting"].as_u64())),
    ],
    empty: "no samples of the last minute show who sends: they are taken while somebody looks, so ask again",
};

pub(crate) const WAITS: ListTable = ListTable {
    field: "edges",
    columns: &[
        left("WAITS", |item| who(&item["from"], &item["from_name"])),
        left("FOR", |item| who(&item["to"], &item["to_name"])),
        left("KIND", |item| text(&item["kind"])),
        right("SEEN", |item| duration(item["seen_ms"].as_f64())),
    ],
    empty: "nobody waits for another",
};

pub(crate) const MOST_WAITED_FOR: ListTable = ListTable {
    field: "most_waited_for",
    columns: &[
        left("MOST WAITED FOR", |item| who(&item["pid"], &item["name"])),
        right("BY", |item| count(item["by"].as_u64())),
    ],
    empty: "",
};

pub(crate) const RUNNING: ListTable = ListTable {
    field: "workers",
    columns: &[
        left("DISPATCHER", |item| text(&item["dispatcher"])),
        right("WORKER", |item| count(item["worker"].as_u64())),
        PID,
        left("NAME", called),
        right("HELD", |item| duration(item["held_ms"].as_f64())),
    ],
    empty: "no process runs",
};

pub(crate) const SHARES: ListTable = ListTable {
    field: "behaviors",
    columns: &[
        right("CPU", |item| share(item["cpu"].as_f64())),
        left("BEHAVIOUR", |item| text(&item["behavior"])),
    ],
    empty: "",
};

pub(crate) const CHECKS: ListTable = ListTable {
    field: "checks",
    columns: &[
        left("STATUS", |item| text(&item["status"])),
        left("CHECK", |item| text(&item["name"])),
        left("OF", |item| {
            let of = [("live", item["live"] == true), ("ready", item["ready"] == true)];
            of.iter().filter(|(_, is)| *is).map(|(of, _)| *of).collect::<Vec<_>>().join(" ")
        }),
        right("TOOK", |item| duration(item["took_ms"].as_f64())),
        left("MESSAGE", |item| text(&item["message"])),
    ],
    empty: "no checks",
};

pub(crate) const DISPATCHERS: ListTable = ListTable {
    field: "dispatchers",
    columns: &[
        left("DISPATCHER", |item| text(&item["name"])),
        right("WORKERS", |item| count(item["workers"].as_u64())),
        right("BUSY", |item| share(item["busy"].as_f64())),
        right("QUEUED", |item| count(item["queued"].as_u64())),
        right("BLOCKED", |item| count(item["blocked"].as_u64())),
        right("SPARES", |item| count(item["spares"].as_u64())),
        right("TURNS", |item| count(item["turns"].as_u64())),
        right("LONG TURNS", |item| count(item["long_turns"].as_u64())),
        right("LONGEST", |item| duration(item["longest_turn_ms"].as_f64())),
    ],
    empty: "no dispatchers",
};

/// A process by its pid and, if it has one, its name.
fn who(pid: &Value, name: &Value) -> String {
    let name = text(name);
    if name.is_empty() { text(pid) } else { format!("{} {name}", text(pid)) }
}

fn yes_or_no(value: &Value) -> String {
    if *value == true { "yes" } else { "no" }.to_owned()
}

fn of(item: &Value, part: &str, whole: &str) -> String {
    format!("{}/{}", count(item[part].as_u64()), count(item[whole].as_u64()))
}

/// The processes of a cycle; the last one calls the first.
fn cycle(item: &Value) -> String {
    let pids = item["pids"].as_array().map_or(&[][..], Vec::as_slice).iter().enumerate();
    let each = pids.map(|(place, pid)| who(pid, &item["names"][place]));
    each.collect::<Vec<_>>().join(" -> ")
}

/// The fields of an object on one line, as `name=value`.
fn fields(object: &Value) -> String {
    let all = object.as_object().into_iter().flatten();
    let each = all.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        printable(&format!("{name}={value}"))
    });
    each.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ALL: [&ListTable; 19] = [
        &PROCESSES,
        &FINDINGS,
        &POOLS,
        &CONNECTIONS,
        &KEPT,
        &CRASHES,
        &RESTARTS,
        &DEAD_LETTERS,
        &DEADLOCKS,
        &ACTIONS,
        &LOGS,
        &TRACE,
        &FLOW,
        &WAITS,
        &MOST_WAITED_FOR,
        &RUNNING,
        &SHARES,
        &CHECKS,
        &DISPATCHERS,
    ];

    #[test]
    fn v24_no_list_lets_a_text_act_on_a_terminal() {
        let hostile = "\u{1b}]0;owned\u{7}\u{9b}2J\r\n\u{202e}x";
        let part = json!({ hostile: hostile });
        let mut item = json!({ "seq": hostile, "by": { "pid": hostile, "name": hostile } });
        for field in [
            "pid",
            "name",
            "label",
            "behavior",
            "state",
            "severity",
            "code",
            "text",
            "kind",
            "to",
            "worker_behavior",
            "replaced_by",
            "reason",
            "at",
            "child",
            "what",
            "from",
            "node",
            "since_at",
            "cause",
            "message",
            "peer",
            "action",
            "outcome",
            "level",
            "target",
            "lane",
            "sender",
            "type",
            "from_name",
            "to_name",
            "dispatcher",
            "status",
        ] {
            item[field] = hostile.into();
        }
        item["arguments"] = part.clone();
        item["fields"] = part;
        (item["pids"], item["names"]) = (json!([hostile]), json!([hostile]));
        for table in ALL {
            let text = table.text(&json!({ table.field: [item, {}, 7, null] }));
            assert_eq!(text.lines().count(), 5, "{text}");
            let active = |it: char| it != '\n' && (it.is_control() || it == '\u{202e}');
            assert!(!text.contains(active), "{text}");
        }
    }

    #[test]
    fn v84_events_tell_who_did_what_to_whom() {
        let deadlock = json!({ "items": [{
            "seq": 3, "at": "2026-01-01T00:00:00.000Z", "pids": ["<0.1.0>", "<0.2.0>"],
            "names": ["stock", null],
        }] });
        let text = DEADLOCKS.text(&deadlock);
        assert_eq!(
            text.lines().nth(1),
            Some("  3  2026-01-01T00:00:00.000Z  <0.1.0> stock -> <0.2.0>")
        );
        let log = json!({ "items": [{
            "seq": 1, "at": "T", "level": "warn", "target": "shop", "pid": null, "message": "late",
            "fields": { "ms": 7, "of": "stock" },
        }] });
        assert!(LOGS.text(&log).ends_with("warn   -    shop    late ms=7 of=stock\n"));
    }
}
