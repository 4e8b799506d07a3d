//! Pages out of a file: processes sorted and filtered, rings, edges. As an observer does it. Pure.

use crate::view::parameters::ViewParameters;
use crate::view::refusal::ViewRefusal;
pub(crate) use krarup_page::words::PROCESS_PARAMETERS as PARAMETERS;
use krarup_page::words::{LOG_LEVELS as LEVELS, ORDERS, PROCESS_SORTS as SORTS};
use serde_json::{Value, json};
use std::cmp::Ordering;

const TEXTS: [&str; 5] = ["id", "name", "kind", "behavior", "state"];

/// The processes of a file that are asked for, in the order that is asked for.
pub(crate) fn processes(body: &Value, asked: &ViewParameters) -> Result<Value, ViewRefusal> {
    let sort = asked.one_of("sort", &SORTS)?.unwrap_or("id");
    let order = asked.one_of("order", &ORDERS)?;
    let order = order.unwrap_or(if TEXTS.contains(&sort) { "asc" } else { "desc" });
    let limit = asked.size("limit", 1, 500, 50)?;
    let offset = asked.size("offset", 0, 1_000_000_000, 0)?;
    let least = asked.number("min_main", 0, u64::MAX)?.unwrap_or(0);
    let parent = asked.number("parent", 0, u64::MAX)?;
    let q = asked.text("q").map(str::to_ascii_lowercase);
    let is = |row: &Value, field: &str| asked.text(field).is_none_or(|wanted| row[field] == wanted);
    let keeps = |row: &&Value| {
        row["main"].as_u64().unwrap_or(0) >= least
            && ["state", "kind", "behavior", "dispatcher", "root"]
                .iter()
                .all(|field| is(row, field))
            && parent.is_none_or(|parent| row["parent"].as_str().and_then(id_of) == Some(parent))
            && q.as_ref().is_none_or(|q| finds(row, q))
    };
    let all = body["processes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut rows: Vec<&Value> = all.iter().filter(keeps).collect();
    rows.sort_by(|one, other| {
        let order = compared(&one[sort], &other[sort], order == "desc");
        order.then_with(|| one["id"].as_u64().cmp(&other["id"].as_u64()))
    });
    let page: Vec<&Value> = rows.iter().skip(offset).take(limit).copied().collect();
    Ok(json!({
        "total": body["total"], "matched": rows.len(), "offset": offset, "limit": limit,
        "sort": sort, "order": order, "sample": body["sample"], "processes": page,
    }))
}

/// The number of a pid.
fn id_of(pid: &str) -> Option<u64> {
    pid.split('.').nth(1)?.parse().ok()
}

/// Whether a text is in the name, the label, the behaviour or the pid of a process.
fn finds(row: &Value, q: &str) -> bool {
    ["name", "label", "behavior", "pid"]
        .iter()
        .any(|field| row[*field].as_str().is_some_and(|text| text.to_ascii_lowercase().contains(q)))
}

/// Texts by their bytes, numbers by size, what is not there last.
fn compared(one: &Value, other: &Value, descends: bool) -> Ordering {
    let order = match (one.is_null(), other.is_null()) {
        (false, false) => match (one.as_str(), other.as_str()) {
            (Some(one), Some(other)) => one.as_bytes().cmp(other.as_bytes()),
            _ => match (one.as_u64(), other.as_u64()) {
                (Some(one), Some(other)) => one.cmp(&other),
                _ => one.as_f64().unwrap_or(0.0).total_cmp(&other.as_f64().unwrap_or(0.0)),
            },
        },
        (one, other) => return one.cmp(&other),
    };
    if descends { order.reverse() } else { order }
}

/// The items of a ring above a number, or the newest.
pub(crate) fn ring(body: &Value, asked: &ViewParameters) -> Result<Value, ViewRefusal> {
    let limit = asked.size("limit", 1, 500, 50)?;
    let newest = asked.text("after") == Some("-1");
    let after = if newest { 0 } else { asked.number("after", 0, u64::MAX)?.unwrap_or(0) };
    let pid = asked.number("pid", 0, u64::MAX)?;
    let level = asked.one_of("level", &LEVELS)?;
    let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
    let worst = level.and_then(rank).unwrap_or(usize::MAX);
    let all = body["items"].as_array().map_or(&[][..], Vec::as_slice);
    let seq = |item: &Value| item["seq"].as_u64().unwrap_or(0);
    let wanted = |item: &&Value| {
        seq(item) > after
            && pid.is_none_or(|pid| item["pid"].as_str().and_then(id_of) == Some(pid))
            && item["level"].as_str().and_then(rank).is_none_or(|rank| rank <= worst)
    };
    let found: Vec<&Value> = all.iter().filter(wanted).collect();
    let skipped = if newest { found.len().saturating_sub(limit) } else { 0 };
    let items: Vec<&Value> = found.into_iter().skip(skipped).take(limit).collect();
    let next = body["next_seq"].as_u64().unwrap_or(1);
    // The file has the newest items of the ring.
    let first = all.first().map_or(next, seq);
    let lost = if newest { 0 } else { first.saturating_sub(after.saturating_add(1)) };
    Ok(json!({ "first_seq": first, "next_seq": next, "lost": lost, "items": items }))
}

/// A list with `edges` and `more`, cut to a length.
pub(crate) fn edges(body: &Value, limit: usize) -> Value {
    let mut body = body.clone();
    let Some(edges) = body.get_mut("edges").and_then(Value::as_array_mut) else { return body };
    let cut = edges.len().saturating_sub(limit);
    edges.truncate(limit);
    let more = body["more"].as_u64().unwrap_or(0).saturating_add(cut as u64);
    body["more"] = more.into();
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> ViewParameters {
        let known: Vec<&str> = PARAMETERS.into_iter().chain(["after", "pid", "level"]).collect();
        ViewParameters::read(query, &known).unwrap()
    }

    fn ids(query: &str) -> Vec<u64> {
        let row = |id: u64, name: Value, main: u64, cpu: Value| {
            json!({
                "id": id, "pid": format!("<0.{id}.0>"), "name": name, "label": null,
                "behavior": "app::Stock", "state": "idle", "kind": "actor", "main": main, "cpu": cpu,
                "root": "user", "dispatcher": "default", "parent": if id == 1 { Value::Null } else { json!("<0.1.0>") },
            })
        };
        let body = json!({ "total": 9, "sample": {}, "processes": [
            row(1, json!("b"), 0, json!(0.5)),
            row(2, Value::Null, 7, Value::Null),
            row(3, json!("A"), u64::MAX, json!(0.25)),
            row(4, json!("a"), 7, json!(0.5)),
        ]});
        let page = processes(&body, &asked(query)).unwrap();
        assert_eq!(page["total"], 9);
        page["processes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_u64().unwrap())
            .collect()
    }

    #[test]
    fn v26_processes_of_a_file_are_sorted_and_filtered_as_an_observer_does() {
        assert_eq!(ids(""), [1, 2, 3, 4]);
        assert_eq!(ids("order=desc"), [4, 3, 2, 1]);
        assert_eq!(ids("sort=name"), [3, 4, 1, 2], "by bytes, none last");
        assert_eq!(ids("sort=name&order=desc"), [1, 4, 3, 2]);
        assert_eq!(ids("sort=main"), [3, 2, 4, 1], "ties by number");
        assert_eq!(ids("sort=cpu&order=asc"), [3, 1, 4, 2]);
        assert_eq!(ids("min_main=7&limit=2&offset=1"), [3, 4]);
        assert_eq!(ids("q=a"), [1, 2, 3, 4], "it is in the behaviour");
        assert_eq!(ids("q=0.3."), [3]);
        assert_eq!(ids("parent=1"), [2, 3, 4]);
        assert_eq!(ids("state=running"), [] as [u64; 0]);
        assert_eq!(ids("kind=actor&root=user&dispatcher=default&behavior=app::Stock").len(), 4);
    }

    #[test]
    fn v26_rings_of_a_file_tell_what_it_does_not_have() {
        let item = |seq: u64, level: &str| json!({ "seq": seq, "pid": "<0.7.0>", "level": level });
        let body = json!({ "first_seq": 1, "next_seq": 14, "lost": 0, "items": [item(11, "warn"), item(12, "error"), item(13, "warn")] });
        let page = |query: &str| {
            let page = ring(&body, &asked(query)).unwrap();
            let items = page["items"].as_array().unwrap().clone();
            let items: Vec<u64> = items.iter().map(|item| item["seq"].as_u64().unwrap()).collect();
            assert_eq!(
                (page["first_seq"].as_u64(), page["next_seq"].as_u64()),
                (Some(11), Some(14))
            );
            (page["lost"].as_u64().unwrap(), items)
        };
        assert_eq!(page(""), (10, vec![11, 12, 13]));
        assert_eq!(page("after=11&limit=1"), (0, vec![12]));
        assert_eq!(page("after=-1&limit=2"), (0, vec![12, 13]));
        assert_eq!(page("after=18446744073709551615"), (0, vec![]));
        assert_eq!(page("level=error"), (10, vec![12]));
        assert_eq!(page("pid=8"), (10, vec![]));
        let empty = ring(&json!({ "next_seq": 1, "items": [] }), &asked("")).unwrap();
        assert_eq!(empty, json!({ "first_seq": 1, "next_seq": 1, "lost": 0, "items": [] }));
    }

    #[test]
    fn v26_edges_that_are_cut_are_counted() {
        let body = json!({ "window_ms": 1, "edges": [1, 2, 3], "more": 4 });
        assert_eq!(edges(&body, 2), json!({ "window_ms": 1, "edges": [1, 2], "more": 5 }));
        assert_eq!(edges(&body, 3), body);
    }
}
