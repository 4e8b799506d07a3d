//! The columns of the processes: what they show of a row of the API, and how wide they are. Pure.

use crate::figures::{count, duration, growth, rate, share};
use crate::text::printable;
use ratatui::layout::Constraint;
use serde_json::Value;

/// A column of the table.
pub(crate) struct ProcessColumn {
    pub(crate) title: &'static str,
    /// The column of the API that it shows.
    pub(crate) name: &'static str,
    pub(crate) width: Constraint,
    pub(crate) right: bool,
    pub(crate) text: fn(&Value) -> String,
}

const fn column(
    title: &'static str,
    name: &'static str,
    width: Constraint,
    right: bool,
    text: fn(&Value) -> String,
) -> ProcessColumn {
    ProcessColumn { title, name, width, right, text }
}

pub(crate) const COLUMNS: [ProcessColumn; 10] = [
    column("PID", "id", Constraint::Length(11), false, |row| text(&row["pid"])),
    column("NAME", "name", Constraint::Min(12), false, called),
    column("STATE", "state", Constraint::Length(9), false, |row| text(&row["state"])),
    column("MAILBOX", "main", Constraint::Length(8), true, |row| count(row["main"].as_u64())),
    column("GROWTH", "growth", Constraint::Length(9), true, |row| growth(row["growth"].as_f64())),
    column("CPU", "cpu", Constraint::Length(7), true, |row| share(row["cpu"].as_f64())),
    column("HANDLED", "handled_rate", Constraint::Length(10), true, |row| {
        rate(row["handled_rate"].as_f64())
    }),
    column("WAITS", "head_wait_ms", Constraint::Length(10), true, |row| {
        duration(row["head_wait_ms"].as_f64())
    }),
    column("TIME", "running_ms", Constraint::Length(10), true, |row| {
        duration(row["running_ms"].as_f64())
    }),
    column("BEHAVIOUR", "behavior", Constraint::Min(12), false, |row| {
        short(&text(&row["behavior"]))
    }),
];
/// How many of them a screen of 80 columns has.
pub(crate) const NARROW: usize = 7;

pub(crate) fn text(value: &Value) -> String {
    printable(value.as_str().unwrap_or_default())
}

/// The name of a process, or its label, or what it does.
pub(crate) fn called(row: &Value) -> String {
    let known = row["name"].as_str().or_else(|| row["label"].as_str());
    known.map_or_else(|| short(&text(&row["behavior"])), printable)
}

/// The part of a type's path that says most: `app::stock::Stock<app::A>` is `Stock<app::A>`.
pub(crate) fn short(path: &str) -> String {
    let (outer, inner) = path.split_at(path.find(['<', '{', '(']).unwrap_or(path.len()));
    // A closure has no name of its own.
    let outer = outer.rsplit("::").find(|part| !part.is_empty()).unwrap_or(outer);
    format!("{outer}{inner}")
}

/// The width of a column that takes what the others leave.
pub(crate) fn name_width(width: u16, columns: &[ProcessColumn]) -> usize {
    let fixed = |column: &ProcessColumn| match column.width {
        Constraint::Length(width) => usize::from(width),
        _ => 0,
    };
    let taken: usize = columns.iter().map(fixed).sum::<usize>() + columns.len() - 1;
    let open = columns.iter().filter(|column| fixed(column) == 0).count().max(1);
    usize::from(width).saturating_sub(taken) / open
}
