//! The items of a TOML document, with their lines. This module knows no keys.

use super::error::{Origin, SettingsError, SettingsFault};
use std::path::PathBuf;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

/// How many characters of a text an error message shows.
const SHOWN: usize = 60;

/// A key with its value and place.
#[derive(Clone, Debug)]
pub(crate) struct SettingLine {
    pub(crate) key: String,
    pub(crate) at: Origin,
    pub(crate) given: Given,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    Table(Vec<SettingLine>),
    Text(String),
    /// The text of an environment variable: a number or a boolean where one is expected.
    Variable(String),
    /// The number, or `None` if it is beyond all bounds; and the number as written.
    Whole(Option<i128>, String),
    Switch(bool),
    /// The number, and as written.
    Float(f64, String),
    /// Values with their places.
    List(Vec<(Origin, Given)>),
    Other {
        found: &'static str,
        shown: String,
    },
}

impl Given {
    /// The value, for an error message about it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Given::Table(_) => "a table".to_owned(),
            Given::Text(text) | Given::Variable(text) => format!("{:?}", beginning(text)),
            Given::Whole(_, written) | Given::Float(_, written) => beginning(written),
            Given::Switch(on) => on.to_string(),
            Given::List(_) => "a list".to_owned(),
            Given::Other { shown, .. } => beginning(shown),
        }
    }

    /// The value with its type, for an error message about the type.
    pub(crate) fn found(&self) -> String {
        match self {
            Given::Table(_) => "a table".to_owned(),
            Given::Text(_) | Given::Variable(_) => format!("the text {}", self.shown()),
            Given::Whole(..) => format!("the number {}", self.shown()),
            Given::Switch(on) => format!("the boolean {on}"),
            Given::Float(..) => format!("a floating-point number, {}", self.shown()),
            Given::List(_) => "a list".to_owned(),
            Given::Other { found, shown } => format!("{found}, {}", beginning(shown)),
        }
    }
}

/// The beginning of a text, long enough to find it by.
pub(super) fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}..", &text[..end]),
    }
}

/// The places at which the lines of a text begin.
struct LineStarts<'a> {
    text: &'a str,
    begin: Vec<usize>,
    /// The file or the variable that has the text.
    of: Origin,
}

impl<'a> LineStarts<'a> {
    fn new(text: &'a str, of: Origin) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let begin = [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect();
        LineStarts { text, begin, of }
    }

    fn at(&self, byte: usize) -> Origin {
        let line = self.begin.partition_point(|begin| *begin <= byte).max(1);
        // A variable is short, and mostly one line.
        let line = self.of.variable.is_none().then_some(line);
        Origin { line, ..self.of.clone() }
    }

    /// The text of a line, counted from 1.
    fn line(&self, line: usize) -> &'a str {
        self.text.lines().nth(line - 1).unwrap_or_default()
    }
}

/// Parses a text into its items, in their order.
pub(crate) fn parse(
    text: &str,
    file: Option<Arc<PathBuf>>,
) -> Result<Vec<SettingLine>, SettingsError> {
    let lines = LineStarts::new(text, Origin { file, ..Origin::default() });
    let table = DeTable::parse(text).map_err(|error| {
        let at = lines.at(error.span().map_or(text.len(), |span| span.start));
        let text = beginning(lines.line(at.line.unwrap_or(1)));
        at.error(SettingsFault::NoToml { text, message: error.message().to_owned() })
    })?;
    Ok(items(table.get_ref(), &lines))
}

fn items(table: &DeTable<'_>, lines: &LineStarts<'_>) -> Vec<SettingLine> {
    let mut items: Vec<_> = table
        .iter()
        .map(|(key, value)| {
            let at = lines.at(key.span().start);
            let given = given(value, lines);
            (key.span().start, SettingLine { key: key.get_ref().to_string(), at, given })
        })
        .collect();
    items.sort_by_key(|(at, _)| *at);
    items.into_iter().map(|(_, item)| item).collect()
}

fn given(value: &Spanned<DeValue<'_>>, lines: &LineStarts<'_>) -> Given {
    match value.get_ref() {
        DeValue::Table(table) => Given::Table(items(table, lines)),
        DeValue::String(text) => Given::Text(text.to_string()),
        DeValue::Integer(number) => {
            let value = i128::from_str_radix(number.as_str(), number.radix()).ok();
            Given::Whole(value, number.to_string())
        }
        DeValue::Float(float) => {
            let written = float.to_string();
            Given::Float(written.replace('_', "").parse().unwrap_or(f64::NAN), written)
        }
        DeValue::Boolean(value) => Given::Switch(*value),
        DeValue::Datetime(date) => other("a date", date.to_string()),
        DeValue::Array(values) => {
            let one =
                |value: &Spanned<DeValue<'_>>| (lines.at(value.span().start), given(value, lines));
            Given::List(values.iter().map(one).collect())
        }
    }
}

/// What the text of an environment variable is if it is no text: a value of TOML, else the text.
pub(crate) fn other_than_text(variable: &str, at: &Origin) -> Given {
    const KEY: &str = "value = ";
    let document = format!("{KEY}{variable}");
    let lines = LineStarts::new(&document, at.clone());
    let value = DeTable::parse(&document).ok().and_then(|table| {
        // A line break can add keys.
        let [(_, value)] = &table.get_ref().iter().collect::<Vec<_>>()[..] else { return None };
        Some(given(value, &lines))
    });
    value
        .filter(|value| !matches!(value, Given::Text(_)))
        .unwrap_or_else(|| Given::Text(variable.to_owned()))
}

fn other(found: &'static str, shown: String) -> Given {
    Given::Other { found, shown }
}

/// The items of a table that has been parsed already.
pub(crate) fn items_of(table: &toml::Table) -> Vec<SettingLine> {
    table
        .iter()
        .map(|(key, value)| SettingLine {
            key: key.clone(),
            at: Origin::default(),
            given: of(value),
        })
        .collect()
}

fn of(value: &Value) -> Given {
    match value {
        Value::Table(table) => Given::Table(items_of(table)),
        Value::String(text) => Given::Text(text.clone()),
        Value::Integer(number) => Given::Whole(Some((*number).into()), number.to_string()),
        Value::Float(float) => Given::Float(*float, float.to_string()),
        Value::Boolean(value) => Given::Switch(*value),
        Value::Datetime(date) => other("a date", date.to_string()),
        Value::Array(values) => {
            Given::List(values.iter().map(|value| (Origin::default(), of(value))).collect())
        }
    }
}
