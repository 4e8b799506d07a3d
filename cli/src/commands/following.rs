//! Events as they come: a ring or a trace is asked again and again for what is new.

use crate::client::{ApiClient, ApiFailure};
use crate::commands::columns::{ColumnWidths, ListTable};
use crate::text::{printable, printable_json};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// How often is asked.
const PERIOD: Duration = Duration::from_millis(500);

/// Lines of events, the titles before the first.
pub(crate) struct EventLines {
    table: &'static ListTable,
    json: bool,
    widths: ColumnWidths,
    begun: bool,
}

impl EventLines {
    pub(crate) fn new(table: &'static ListTable, json: bool) -> Self {
        EventLines { table, json, widths: ColumnWidths::default(), begun: false }
    }

    /// The lines of an answer; empty if it has no items.
    pub(crate) fn of(&mut self, text: &str, body: &Value) -> String {
        let items = self.table.items(body);
        if items.is_empty() {
            return String::new();
        }
        if self.json {
            return format!("{}\n", printable_json(text.trim_end()));
        }
        let lost = body["lost"].as_u64().filter(|lost| *lost > 0 && self.begun);
        let mut lines = lost.map(|lost| format!("({lost} were lost)\n")).unwrap_or_default();
        if !self.begun {
            lines.push_str(&self.table.titles(items, &mut self.widths));
            self.begun = true;
        }
        lines + &self.table.lines(items, &mut self.widths)
    }
}

/// The number after which the next events are asked for. `asked` is the one of this answer; an
/// answer whose numbers are lower is that of a node that has begun anew.
fn next_after(body: &Value, items: &[Value], most: usize, asked: u64) -> u64 {
    let next = body["next_seq"].as_u64().unwrap_or(1).saturating_sub(1);
    let last = items.last().and_then(|item| item["seq"].as_u64());
    match last {
        _ if next < asked => 0,
        Some(last) if items.len() >= most => last,
        _ => next,
    }
}

/// Prints the events of a ring that come after those of `first`, an answer with at most
/// `first_most` of them. Ends with its reader. `route` is that of the ring, up to the value of
/// `after`.
pub(crate) fn follow_ring(
    client: &ApiClient,
    route: &str,
    first: &(String, Value),
    first_most: usize,
    lines: &mut EventLines,
    mut print: impl FnMut(&str) -> bool,
) -> Result<(), ApiFailure> {
    const MOST: usize = 500;
    let mut after = next_after(&first.1, lines.table.items(&first.1), first_most, 0);
    if !print(&lines.of(&first.0, &first.1)) {
        return Ok(());
    }
    loop {
        sleep(PERIOD);
        let (text, body) = client.body(&format!("{route}{after}&limit={MOST}"))?;
        let items = lines.table.items(&body);
        after = next_after(&body, items, MOST, after);
        if !print(&lines.of(&text, &body)) {
            return Ok(());
        }
    }
}

/// Prints the items of a trace until it has ended; its end is the answer.
pub(crate) fn follow_trace(
    client: &ApiClient,
    number: u64,
    lines: &mut EventLines,
    mut print: impl FnMut(&str) -> bool,
) -> Result<String, ApiFailure> {
    let mut after = 0;
    loop {
        let (text, body) = client.body(&format!("/api/v1/traces/{number}?after={after}"))?;
        let items = lines.table.items(&body);
        after = body["next_seq"].as_u64().unwrap_or(1).saturating_sub(1);
        // Texts of messages may take several answers.
        let whole = items.is_empty();
        if !print(&lines.of(&text, &body)) {
            return Ok(String::new());
        }
        match body["end"].as_str() {
            Some(end) if whole => return Ok(printable(end)),
            Some(_) => {}
            None => sleep(PERIOD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn v84_what_is_asked_for_next_follows_the_last_and_a_node_that_began_anew() {
        let items = [json!({ "seq": 7 }), json!({ "seq": 8 })];
        let body = |next: u64| json!({ "next_seq": next });
        assert_eq!(next_after(&body(9), &items, 500, 6), 8);
        assert_eq!(next_after(&body(20), &items, 500, 6), 19, "the others were not wanted");
        assert_eq!(next_after(&body(20), &items, 2, 6), 8, "there is more");
        assert_eq!(next_after(&body(20), &[], 2, 19), 19);
        assert_eq!(next_after(&body(3), &[], 2, 19), 0);
    }
}
