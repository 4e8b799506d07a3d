//! An object of the API as lines: a field and its value, parts indented below their field, lists of
//! objects as columns. Nothing is left out but what is not there. Pure.

use crate::commands::columns::{ColumnWidths, aligned};
use crate::figures::{bytes, count, duration, growth, rate, share};
use crate::text::{printable, printable_lines, width};
use serde_json::{Map, Value};
use std::fmt::Write;

/// The widest object that stands on the line of its field.
const LINE: usize = 100;

/// The lines of an object.
pub(crate) fn outline(object: &Value) -> String {
    let mut text = String::new();
    if let Value::Object(fields) = object {
        add(&mut text, fields, 0);
    }
    text
}

/// The same without these fields.
pub(crate) fn outline_without(object: &Value, left_out: &[&str]) -> String {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.retain(|field, _| !left_out.contains(&field.as_str()));
    }
    outline(&object)
}

fn add(text: &mut String, fields: &Map<String, Value>, indent: usize) {
    // A list that is whole needs no line for it.
    let whole = |field: &str, value: &Value| field.ends_with("_more") && value == &Value::from(0);
    let there =
        || fields.iter().filter(|(field, value)| !is_nothing(value) && !whole(field, value));
    let widest = there().map(|(field, _)| width(&title(field))).max().unwrap_or(0);
    for (field, value) in there() {
        let line = format!("{:indent$}{}", "", title(field));
        match short(field, value) {
            Some(shown) => {
                let fill = " ".repeat((indent + widest + 2).saturating_sub(width(&line)));
                text.push_str(&line);
                text.push_str(&fill);
                text.push_str(&shown);
            }
            None => {
                text.push_str(&line);
                text.push_str(&long(value, indent + 2));
            }
        }
        let end = text.trim_end().len();
        text.truncate(end);
        text.push('\n');
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}

/// A value that stands on the line of its field.
fn short(field: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.contains('\n')).then(|| printable(text)),
        Value::Array(items) => {
            let each: Option<Vec<_>> = items.iter().map(|it| scalar(field, it)).collect();
            each.map(|each| each.join(", "))
        }
        Value::Object(fields) if !is_duration(fields) => {
            let there = fields.iter().filter(|(_, value)| !is_nothing(value));
            let each: Option<Vec<_>> = there
                .map(|(name, value)| {
                    let times = field.ends_with("_ms") && name != "count";
                    scalar(if times { field } else { name }, value)
                        .map(|value| format!("{} {value}", title(name)))
                })
                .collect();
            let line = each.map(|each| each.join(", "));
            line.filter(|line| width(line) <= LINE)
        }
        value => scalar(field, value),
    }
}

/// A duration of an inspection: `{"ms":1.5}`.
fn is_duration(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && fields.contains_key("ms")
}

/// A value that takes lines of its own, with the end of the line of its field.
fn long(value: &Value, indent: usize) -> String {
    let mut text = "\n".to_owned();
    match value {
        Value::Object(fields) => add(&mut text, fields, indent),
        Value::String(lines) => text.push_str(&indented(&printable_lines(lines), indent)),
        Value::Array(items) if items.iter().all(Value::is_object) => {
            text.push_str(&indented(&columns(items), indent));
        }
        Value::Array(items) => {
            for item in items {
                text.push_str(&indented(&short("", item).unwrap_or_else(|| json(item)), indent));
            }
        }
        _ => {}
    }
    text
}

fn indented(lines: &str, indent: usize) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
    text
}

/// Objects with the same fields, without the columns that none of them has.
fn columns(items: &[Value]) -> String {
    let fields: Vec<&String> = items
        .first()
        .and_then(Value::as_object)
        .map(|first| first.keys().collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .filter(|field| !items.iter().all(|item| is_nothing(&item[*field])))
        .collect();
    let number = |field: &&String| items.iter().any(|item| item[*field].is_number());
    let right: Vec<bool> = fields.iter().map(number).collect();
    let mut lines = vec![fields.iter().map(|field| title(field).to_uppercase()).collect()];
    lines.extend(items.iter().map(|item| {
        let cell = |field: &&String| {
            let value = &item[*field];
            if is_nothing(value) {
                return String::new();
            }
            short(field, value).unwrap_or_else(|| json(value))
        };
        fields.iter().map(cell).collect()
    }));
    aligned(lines, &right, &mut ColumnWidths::default())
}

fn json(value: &Value) -> String {
    printable(&value.to_string())
}

/// A field as it is shown: durations and sizes have their unit in the value.
fn title(field: &str) -> String {
    let bare = field.strip_suffix("_ms").or_else(|| field.strip_suffix("_bytes"));
    printable(bare.unwrap_or(field))
}

/// A value that has no parts.
fn scalar(field: &str, value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => String::new(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => printable(text),
        Value::Number(_) if field.ends_with("_ms") => duration(value.as_f64()),
        Value::Number(_) if field.ends_with("_bytes") => bytes(value.as_u64()),
        Value::Number(_) if field.ends_with("_rate") => rate(value.as_f64()),
        Value::Number(_) if field == "growth" => growth(value.as_f64()),
        Value::Number(_) if ["cpu", "busy", "fill"].contains(&field) => share(value.as_f64()),
        // Numbers of things, which one types again.
        Value::Number(number) if ["id", "seq", "crash", "trace"].contains(&field) => {
            number.to_string()
        }
        Value::Number(number) => {
            number.as_u64().map_or_else(|| number.to_string(), |number| count(Some(number)))
        }
        Value::Object(fields) if is_duration(fields) => duration(fields["ms"].as_f64()),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn v84_an_object_is_lines_of_fields_and_values() {
        let object = json!({
            "id": 12345, "main": 12345, "uptime_ms": 1500.0, "resident_bytes": 1536,
            "cpu": 0.5, "in_rate": 3.0, "growth": 2.0, "trapping": false, "label": null,
            "links": [], "links_more": 0, "rows_more": 1, "aliases": ["#a", "#b"], "lag": { "ms": 12.0 }, "says": { "n": 1, "lag": { "ms": 2.0 } }, "less": -3, "half": 0.5,
            "messages": { "in": 1, "out": 2, "none": null },
            "wait_ms": { "count": 3, "p50": 1.5 },
            "processes": { "living": 3, "by_state": { "idle": 2, "running": 1 } },
            "members": [
                { "pid": "<0.1.0>", "main": 1, "cpu": null },
                { "pid": "<0.22.0>", "main": 10_000, "cpu": null },
            ],
            "steps": [[1, 2], [3]],
            "text": "a\n  b",
        });
        let expected = "\
id         12345
main       12 345
uptime     1.5 s
resident   1.5 KiB
cpu        50 %
in_rate    3/s
growth     +2/s
trapping   no
rows_more  1
aliases    #a, #b
lag        12 ms
says       n 1, lag 2 ms
less       -3
half       0.5
messages   in 1, out 2
wait       count 3, p50 1.5 ms
processes
  living    3
  by_state  idle 2, running 1
members
  PID         MAIN
  <0.1.0>        1
  <0.22.0>  10 000
steps
  1, 2
  3
text
  a
    b
";
        assert_eq!(outline(&object), expected);
        assert_eq!(outline_without(&json!({ "a": 1, "b": 2 }), &["a"]), "b  2\n");
        assert_eq!(outline(&json!([1])), "");
    }

    #[test]
    fn v24_no_text_of_an_object_acts_on_a_terminal() {
        let hostile = "\u{1b}[2J\u{9b}\r\u{202e}x";
        let mut object = json!({
            "plain": hostile, "lines": format!("{hostile}\n{hostile}"), "list": [hostile],
            "nested": { "deep": { "deeper": [hostile, { "a": hostile }] } },
            "rows": [{ "a": hostile, "b": { "c": [hostile] } }],
        });
        object[hostile] = json!({ hostile: hostile });
        object["rows"][0][hostile] = json!(1);
        let shown = outline(&object);
        assert!(shown.chars().all(|letter| letter == '\n' || !letter.is_control()), "{shown}");
        assert!(!shown.contains('\u{202e}'));
    }
}
