//! `/api/v1/processes`: sorted, filtered and paged here, not by the client.

use crate::api::process::{ProcessRow, SampleOf};
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::picture::{Picture, Row, STATES, state_text};
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
pub(crate) use krarup_page::words::PROCESS_PARAMETERS as PARAMETERS;
use krarup_page::words::{ORDERS, PROCESS_KINDS as KINDS, PROCESS_ROOTS, PROCESS_SORTS as SORTS};
use serde::Serialize;
use std::cmp::Ordering;

/// The most bytes of the text of a filter.
const FILTER: usize = 64;
const NAME: usize = 255;

/// Which processes are asked for, in which order.
#[derive(Clone, Debug)]
pub(crate) struct ProcessQuery {
    limit: usize,
    offset: usize,
    sort: &'static str,
    descends: bool,
    /// In lower case.
    q: Option<String>,
    state: Option<&'static str>,
    kind: Option<&'static str>,
    behavior: Option<String>,
    dispatcher: Option<String>,
    root: Option<&'static str>,
    parent: Option<u64>,
    min_main: usize,
}

impl ProcessQuery {
    pub(crate) fn read(all: &Parameters) -> Result<Self, Refusal> {
        let sort = all.one_of("sort", &SORTS)?.unwrap_or("id");
        let texts = ["id", "name", "kind", "behavior", "state"];
        let order = all.one_of("order", &ORDERS)?;
        let whole = |name, most, default| {
            all.number(name, 0..=most, default).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
        };
        Ok(ProcessQuery {
            limit: usize::try_from(all.number("limit", 1..=500, 50)?).unwrap_or(500),
            offset: whole("offset", 1_000_000_000, 0)?,
            sort,
            descends: order.map_or(!texts.contains(&sort), |order| order == "desc"),
            q: all.short("q", FILTER)?.map(str::to_ascii_lowercase),
            state: all.one_of("state", &STATES)?,
            kind: all.one_of("kind", &KINDS)?,
            behavior: all.short("behavior", NAME)?.map(str::to_owned),
            dispatcher: all.short("dispatcher", NAME)?.map(str::to_owned),
            root: all.one_of("root", &PROCESS_ROOTS)?,
            parent: all.some_number("parent", 0..=u64::MAX)?,
            min_main: whole("min_main", u64::MAX, 0)?,
        })
    }

    /// The same with fewer rows.
    pub(crate) fn at_most(&self, rows: usize) -> Self {
        ProcessQuery { limit: self.limit.min(rows), ..self.clone() }
    }

    fn keeps(&self, row: &Row) -> bool {
        let (sample, identity) = (&row.sample, &row.identity);
        let is = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);
        sample.main >= self.min_main
            && is(self.state, state_text(sample.state))
            && self.kind.is_none_or(|kind| sample.kind.to_string() == kind)
            && self.root.is_none_or(|root| sample.root.to_string() == root)
            && self.parent.is_none_or(|parent| sample.parent.is_some_and(|it| it.id() == parent))
            && is(self.behavior.as_deref(), &identity.behavior)
            && is(self.dispatcher.as_deref(), &identity.dispatcher)
            && self.q.as_deref().is_none_or(|q| finds(row, q))
    }

    /// The rows of the page, in order: by the column, what has no value last, then by number. And
    /// how many rows match. All rows are read once, and only those of the page are sorted, so the
    /// time of a page is linear in the number of processes (rule V62).
    fn page<'a>(&self, picture: &'a Picture) -> (Vec<&'a Row>, usize) {
        let matching = picture.rows.iter().filter(|row| self.keeps(row));
        if self.sort == "id" {
            // They are in this order.
            let rows: Vec<&Row> = matching.collect();
            let (begin, end) = self.bounds(rows.len());
            let place = |place: usize| if self.descends { rows.len() - 1 - place } else { place };
            return ((begin..end).map(|it| rows[place(it)]).collect(), rows.len());
        }
        let order = |(one, a): &(Key<'_>, &Row), (other, b): &(Key<'_>, &Row)| {
            one.order(other, self.descends).then_with(|| a.id().cmp(&b.id()))
        };
        let mut keyed: Vec<(Key<'_>, &Row)> =
            matching.map(|row| (Key::of(self.sort, row, picture), row)).collect();
        let matched = keyed.len();
        let (begin, end) = self.bounds(matched);
        if end < keyed.len() {
            keyed.select_nth_unstable_by(end, order);
            keyed.truncate(end);
        }
        if begin < keyed.len() {
            keyed.select_nth_unstable_by(begin, order);
        }
        let page = &mut keyed[begin..];
        page.sort_unstable_by(order);
        (page.iter().map(|(_, row)| *row).collect(), matched)
    }

    /// The first place of the page and the one behind it, of so many.
    fn bounds(&self, matched: usize) -> (usize, usize) {
        let end = self.offset.saturating_add(self.limit).min(matched);
        (self.offset.min(end), end)
    }
}

/// Whether a text is in the name, the label, the behaviour or the pid of a process.
fn finds(row: &Row, q: &str) -> bool {
    let has = |text: &str| text.to_ascii_lowercase().contains(q);
    let identity = &row.identity;
    identity.name.as_ref().is_some_and(|name| has(name.as_str()))
        || identity.label.as_ref().is_some_and(|label| has(label.as_str()))
        || has(&identity.behavior)
        || has(&row.sample.pid.to_string())
}

/// What rows are sorted by: the values as they are told, so that rows with equal values are in the
/// order of their numbers.
enum Key<'a> {
    Text(&'a str),
    Number(u64),
    Float(f64),
    Nothing,
}

impl<'a> Key<'a> {
    fn of(sort: &str, row: &'a Row, picture: &Picture) -> Self {
        let (sample, identity) = (&row.sample, &row.identity);
        let float = |value: Option<f64>| value.map_or(Key::Nothing, Key::Float);
        match sort {
            "name" => identity.name.as_ref().map_or(Key::Nothing, |name| Key::Text(name.as_str())),
            "kind" => Key::Text(
                KINDS.iter().find(|kind| **kind == sample.kind.to_string()).unwrap_or(&"process"),
            ),
            "behavior" => Key::Text(&identity.behavior),
            "state" => Key::Text(state_text(sample.state)),
            "urgent" => Key::Number(sample.urgent as u64),
            "system" => Key::Number(sample.system as u64),
            "main" => Key::Number(sample.main as u64),
            "in" => Key::Number(sample.messages_in),
            "out" => Key::Number(sample.messages_out),
            "handled" => Key::Number(sample.handled),
            "running_ms" => Key::Float(ms(sample.running_time)),
            "uptime_ms" => Key::Float(ms(sample.uptime)),
            "cpu" => float(row.rates.map(|rates| rates.cpu)),
            "in_rate" => float(row.rates.map(|rates| rates.received)),
            "handled_rate" => float(row.rates.map(|rates| rates.handled)),
            "growth" => float(row.rates.map(|rates| rates.growth)),
            "head_wait_ms" => float(row.head_wait(picture.at).map(ms)),
            _ => Key::Number(identity.shallow_bytes as u64),
        }
    }

    fn order(&self, other: &Self, descends: bool) -> Ordering {
        let order = match (self, other) {
            (Key::Nothing, Key::Nothing) => return Ordering::Equal,
            (Key::Nothing, _) => return Ordering::Greater,
            (_, Key::Nothing) => return Ordering::Less,
            (Key::Text(one), Key::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
            (Key::Number(one), Key::Number(other)) => one.cmp(other),
            (Key::Float(one), Key::Float(other)) => one.total_cmp(other),
            // One column has one kind of key.
            _ => Ordering::Equal,
        };
        if descends { order.reverse() } else { order }
    }
}

#[derive(Serialize)]
pub(crate) struct ProcessesBody {
    total: usize,
    matched: usize,
    offset: usize,
    limit: usize,
    sort: &'static str,
    order: &'static str,
    sample: SampleOf,
    processes: Vec<ProcessRow>,
}

/// `GET /api/v1/processes`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let asked = ProcessQuery::read(&Parameters::read(query, &PARAMETERS)?)?;
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(shared, &picture, &asked)))
}

pub(crate) fn body(shared: &Shared, picture: &Picture, asked: &ProcessQuery) -> ProcessesBody {
    let (page, matched) = asked.page(picture);
    ProcessesBody {
        total: picture.rows.len(),
        matched,
        offset: asked.offset,
        limit: asked.limit,
        sort: asked.sort,
        order: if asked.descends { "desc" } else { "asc" },
        sample: SampleOf::new(shared, picture),
        processes: page.into_iter().map(|row| ProcessRow::new(row, picture)).collect(),
    }
}
