//! Lists as aligned columns of text. Pure.

use crate::figures::NONE;
use crate::text::{fitted, width};
use serde_json::Value;

/// The widest a cell is, and the last one of a line. The whole text stands in the JSON.
const WIDEST: usize = 100;
const WIDEST_LAST: usize = 400;

/// A column: what it shows of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListColumn {
    pub(crate) title: &'static str,
    pub(crate) right: bool,
    /// Its texts are harmless for a terminal.
    pub(crate) text: fn(&Value) -> String,
}

/// A column of texts.
pub(crate) const fn left(title: &'static str, text: fn(&Value) -> String) -> ListColumn {
    ListColumn { title, right: false, text }
}

/// A column of numbers.
pub(crate) const fn right(title: &'static str, text: fn(&Value) -> String) -> ListColumn {
    ListColumn { title, right: true, text }
}

/// How a list in a body is shown.
#[derive(Debug)]
pub(crate) struct ListTable {
    /// The field of the body that has the list.
    pub(crate) field: &'static str,
    pub(crate) columns: &'static [ListColumn],
    /// What is said of an empty list.
    pub(crate) empty: &'static str,
}

/// The widths of columns, which only grow: later lines of a list that is followed stand below
/// the earlier ones.
#[derive(Default)]
pub(crate) struct ColumnWidths(Vec<usize>);

impl ListTable {
    /// The items of a body.
    pub(crate) fn items<'a>(&self, body: &'a Value) -> &'a [Value] {
        body[self.field].as_array().map_or(&[], Vec::as_slice)
    }

    /// The whole list.
    pub(crate) fn text(&self, body: &Value) -> String {
        let items = self.items(body);
        if items.is_empty() {
            return format!("{}\n", self.empty);
        }
        let mut widths = ColumnWidths::default();
        self.titles(items, &mut widths) + &self.lines(items, &mut widths)
    }

    /// The line of the titles, as wide as these items need it.
    pub(crate) fn titles(&self, items: &[Value], widths: &mut ColumnWidths) -> String {
        let titles = vec![self.columns.iter().map(|column| column.title.to_owned()).collect()];
        widths.widen(&self.cells(items));
        self.aligned(titles, widths)
    }

    /// A line for each item.
    pub(crate) fn lines(&self, items: &[Value], widths: &mut ColumnWidths) -> String {
        self.aligned(self.cells(items), widths)
    }

    fn cells(&self, items: &[Value]) -> Vec<Vec<String>> {
        let line = |item: &Value| self.columns.iter().map(|it| (it.text)(item)).collect();
        items.iter().map(line).collect()
    }

    fn aligned(&self, lines: Vec<Vec<String>>, widths: &mut ColumnWidths) -> String {
        let right: Vec<bool> = self.columns.iter().map(|column| column.right).collect();
        aligned(lines, &right, widths)
    }
}

impl ColumnWidths {
    fn widen(&mut self, lines: &[Vec<String>]) {
        for line in lines {
            self.0.resize(self.0.len().max(line.len()), 0);
            for (widest, cell) in self.0.iter_mut().zip(line) {
                *widest = (*widest).max(width(cell).min(WIDEST));
            }
        }
    }
}

/// Lines of cells, two spaces between them. An empty cell is a dash.
pub(crate) fn aligned(
    mut lines: Vec<Vec<String>>,
    right: &[bool],
    widths: &mut ColumnWidths,
) -> String {
    for line in &mut lines {
        let last = line.len();
        for (place, cell) in line.iter_mut().enumerate() {
            let most = if place + 1 == last { WIDEST_LAST } else { WIDEST };
            *cell = if cell.is_empty() { NONE.to_owned() } else { fitted(cell, most) };
        }
    }
    widths.widen(&lines);
    let mut text = String::new();
    for line in lines {
        let mut shown = String::new();
        for (place, cell) in line.iter().enumerate() {
            let fill = " ".repeat(widths.0[place].saturating_sub(width(cell)));
            let gap = if place == 0 { "" } else { "  " };
            shown.push_str(gap);
            if right.get(place) == Some(&true) {
                shown.push_str(&fill);
                shown.push_str(cell);
            } else {
                shown.push_str(cell);
                let ends = place + 1 == line.len();
                shown.push_str(if ends { "" } else { &fill });
            }
        }
        text.push_str(&shown);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::columns::text;
    use serde_json::json;

    const TABLE: ListTable = ListTable {
        field: "items",
        columns: &[
            left("NAME", |item| text(&item["name"])),
            right("N", |item| item["n"].to_string()),
            left("WHY", |item| text(&item["why"])),
        ],
        empty: "no items",
    };

    #[test]
    fn v84_columns_are_as_wide_as_their_cells() {
        let body = json!({ "items": [
            { "name": "東京", "n": 7, "why": "a" },
            { "name": null, "n": 1234, "why": "\u{1b}[2Jb\nc" },
        ] });
        let expected = "NAME     N  WHY\n東京     7  a\n-     1234  \\u{1b}[2Jb\\u{a}c\n";
        assert_eq!(TABLE.text(&body), expected);
        assert_eq!(TABLE.text(&json!({ "items": [] })), "no items\n");
        assert_eq!(TABLE.text(&json!({ "items": 7 })), "no items\n");
        let long =
            json!({ "items": [{ "name": "x".repeat(500), "n": 1, "why": "y".repeat(500) }] });
        let shown = TABLE.text(&long);
        let expected = format!("{}…  1  {}…", "x".repeat(99), "y".repeat(399));
        assert_eq!(shown.lines().nth(1), Some(expected.as_str()));
    }

    #[test]
    fn v84_later_lines_stand_below_the_earlier_ones() {
        let item = |name: &str| vec![json!({ "name": name, "n": 1, "why": "w" })];
        let mut widths = ColumnWidths::default();
        assert_eq!(TABLE.titles(&item("abcdef"), &mut widths), "NAME    N  WHY\n");
        assert_eq!(TABLE.lines(&item("abcdef"), &mut widths), "abcdef  1  w\n");
        assert_eq!(TABLE.lines(&item("a"), &mut widths), "a       1  w\n");
    }
}
