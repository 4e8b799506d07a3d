//! Answers that are more than one list, as text. Pure.

use crate::commands::columns::ListTable;
use crate::commands::lists::{
    CHECKS, CONNECTIONS, DISPATCHERS, KEPT, MOST_WAITED_FOR, RUNNING, SHARES, WAITS,
};
use crate::commands::outline::{outline, outline_without};
use crate::figures::{count, duration};
use crate::text::printable_lines;
use crate::top::columns::text;
use serde_json::Value;
use std::fmt::Write;

/// The totals of a node, and its dispatchers.
pub(crate) fn node(body: &Value) -> String {
    format!("{}\n{}", outline_without(body, &["dispatchers"]), DISPATCHERS.text(body))
}

/// The checks of a node.
pub(crate) fn health(body: &Value) -> String {
    format!("{}\n{}", outline_without(body, &["checks"]), CHECKS.text(body))
}

/// A crash: its explanation first, the recipe of a test last.
pub(crate) fn crash(body: &Value) -> String {
    let explanation = printable_lines(body["explanation"].as_str().unwrap_or_default());
    let recipe = printable_lines(body["recipe"].as_str().unwrap_or_default());
    let rest = outline_without(body, &["explanation", "recipe"]);
    format!("{explanation}\n\n{rest}\nrecipe of a test:\n\n{}\n", recipe.trim_end())
}

/// What a process says of itself.
pub(crate) fn inspection(body: &Value) -> String {
    outline(body)
}

/// The state of a process as it shows it.
pub(crate) fn state(body: &Value) -> String {
    format!(
        "{}\n{}\n",
        outline_without(body, &["text"]),
        printable_lines(body["text"].as_str().unwrap_or_default()).trim_end()
    )
}

/// A process, and what it says of itself or why it says nothing.
pub(crate) fn process(body: &Value, inspection: Result<Value, String>) -> String {
    let mut all = body.clone();
    all["inspection"] = match inspection {
        Ok(mut answer) => answer["items"].take(),
        Err(why) => Value::from(why),
    };
    outline(&all)
}

/// Who waits for whom, the longest chains, who is waited for most, cycles.
pub(crate) fn waits(body: &Value) -> String {
    let mut shown = WAITS.text(body);
    for chain in body["chains"].as_array().into_iter().flatten() {
        let seen = duration(chain["seen_ms"].as_f64());
        // Writing to a text cannot fail.
        let _ = writeln!(shown, "chain of {seen}: {}", pids(&chain["pids"]));
    }
    for cycle in body["cycles"].as_array().into_iter().flatten() {
        let _ = writeln!(shown, "cycle: {}", pids(cycle));
    }
    shown + &part(&MOST_WAITED_FOR, body)
}

/// The cluster, its connections, and the nodes that are kept.
pub(crate) fn cluster(body: &Value) -> String {
    if body["running"] != true {
        return "no cluster runs\n".to_owned();
    }
    let lists = ["running", "connections", "more", "kept", "kept_more"];
    let mut shown = format!("{}\n{}", outline_without(body, &lists), CONNECTIONS.text(body));
    let left_out = |field: &str| more(body[field].as_u64().unwrap_or(0));
    shown += &left_out("more");
    shown + &part(&KEPT, body) + &left_out("kept_more")
}

/// How many items a list does not have.
pub(crate) fn more(left_out: u64) -> String {
    if left_out == 0 { String::new() } else { format!("and {} more\n", count(Some(left_out))) }
}

/// The processes that run, and the shares of behaviours.
pub(crate) fn turns(body: &Value) -> String {
    RUNNING.text(body) + &part(&SHARES, body)
}

/// A list that is shown only if it has something.
fn part(table: &ListTable, body: &Value) -> String {
    if table.items(body).is_empty() { String::new() } else { format!("\n{}", table.text(body)) }
}

fn pids(list: &Value) -> String {
    let each = list.as_array().into_iter().flatten().map(text);
    each.collect::<Vec<_>>().join(" -> ")
}
