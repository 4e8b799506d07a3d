//! What the view knows and shows. Pure: keys, sizes and news of the node come in with the time;
//! what to do next comes out. Nothing here reads a clock, a socket or a terminal.

use crate::text::printable;
use crate::top::query::{SortColumn, TopQuery};
use crate::top::shares::TopShares;
use serde_json::Value;
use std::time::Duration;

/// The most processes that a page of the API has.
const PAGE: u64 = 500;
/// No walk over processes makes a longer one.
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);
/// Rates need two pictures that are not further apart.
const WINDOW_MS: f64 = 10_000.0;

/// What happens to the view.
#[derive(Debug)]
pub(crate) enum TopInput {
    Key(TopKey),
    /// The lines of the terminal.
    Height(u16),
    News(TopNews),
    /// Time goes by.
    Tick,
    /// The program is told to end.
    End,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopKey {
    Letter(char),
    Enter,
    Escape,
    Erase,
    NextPage,
    PreviousPage,
    FirstPage,
    Interrupt,
}

/// What the node has said, or that it says nothing.
#[derive(Debug)]
pub(crate) enum TopNews {
    /// `/api/v1/node`.
    Node(Value),
    /// `/api/v1/findings`.
    Findings(Value),
    /// `/api/v1/processes`, as it was asked for; or why there is none.
    Processes(TopQuery, Result<Value, String>),
    /// There is no stream, and why.
    Lost(String),
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopStep {
    Draw,
    /// Ask for the processes of the query, and draw.
    Ask,
    Quit,
}

/// Whether what is shown is of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TopLink {
    /// Nothing was heard yet.
    Opening,
    Live,
    /// Nothing was heard for three periods.
    Stale(Duration),
    /// There is no connection for so long, and why.
    Offline(Duration, String),
}

/// The view.
#[derive(Debug)]
pub(crate) struct TopState {
    pub(crate) query: TopQuery,
    /// The filter is being typed.
    pub(crate) typing: bool,
    pub(crate) node: Value,
    pub(crate) findings: Value,
    pub(crate) processes: Value,
    /// Why the processes could not be had.
    pub(crate) refusal: Option<String>,
    /// Messages handled by second, and the share of a core, since the picture before.
    pub(crate) handled_rate: Option<f64>,
    pub(crate) cpu: Option<f64>,
    pub(crate) height: u16,
    period: Duration,
    now: Duration,
    heard: Option<Duration>,
    lost: Option<String>,
}

impl TopState {
    pub(crate) fn new(sort: SortColumn, period: Duration, height: u16) -> Self {
        TopState {
            query: TopQuery::new(sort, page(height)),
            typing: false,
            node: Value::Null,
            findings: Value::Null,
            processes: Value::Null,
            refusal: None,
            handled_rate: None,
            cpu: None,
            height,
            period,
            now: Duration::ZERO,
            heard: None,
            lost: None,
        }
    }

    /// Takes an input at a time since the start.
    pub(crate) fn apply(&mut self, input: TopInput, now: Duration) -> TopStep {
        self.now = now;
        match input {
            TopInput::Key(key) => self.key(key),
            TopInput::Height(height) => {
                self.height = height;
                self.query.limit = page(height);
                TopStep::Ask
            }
            TopInput::News(news) => self.news(news),
            TopInput::Tick => TopStep::Draw,
            TopInput::End => TopStep::Quit,
        }
    }

    /// Whether what is shown is of now.
    pub(crate) fn link(&self) -> TopLink {
        let silent = self.now.saturating_sub(self.heard.unwrap_or_default());
        match (&self.lost, self.heard) {
            (Some(why), _) => TopLink::Offline(silent, why.clone()),
            (None, None) => TopLink::Opening,
            (None, Some(_)) if silent > 3 * self.period() => TopLink::Stale(silent),
            (None, Some(_)) => TopLink::Live,
        }
    }

    /// The time between two pictures: a node with many processes makes it longer.
    fn period(&self) -> Duration {
        let told = self.node["sample"]["period_ms"].as_f64().unwrap_or(0.0) / 1000.0;
        let told = Duration::try_from_secs_f64(told).unwrap_or_default();
        self.period.max(told.min(LONGEST_PERIOD))
    }

    /// How many findings and dispatchers there are, and how many lines the processes have.
    pub(crate) fn shares(&self) -> TopShares {
        let length = |list: &Value| list.as_array().map_or(0, Vec::len);
        TopShares::of(
            usize::from(self.height),
            length(&self.node["dispatchers"]),
            length(&self.findings["findings"]),
        )
    }

    fn key(&mut self, key: TopKey) -> TopStep {
        if key == TopKey::Interrupt {
            return TopStep::Quit;
        }
        if self.typing {
            return self.typed(key);
        }
        let shown = self.shares().processes.max(1) as u64;
        match key {
            TopKey::Letter('q') => return TopStep::Quit,
            TopKey::Letter('/') => {
                self.typing = true;
                return TopStep::Draw;
            }
            TopKey::Letter('r') => {
                self.query.reversed = !self.query.reversed;
                self.query.offset = 0;
            }
            TopKey::Letter(letter) => match SortColumn::of_key(letter) {
                Some(sort) => {
                    self.query =
                        TopQuery { sort, reversed: false, offset: 0, ..self.query.clone() };
                }
                None => return TopStep::Draw,
            },
            TopKey::Escape => {
                self.query.filter.clear();
                self.query.offset = 0;
            }
            TopKey::NextPage => {
                let matched = self.processes["matched"].as_u64().unwrap_or(0);
                if self.query.offset + shown >= matched {
                    return TopStep::Draw;
                }
                self.query.offset += shown;
            }
            TopKey::PreviousPage => self.query.offset = self.query.offset.saturating_sub(shown),
            TopKey::FirstPage => self.query.offset = 0,
            TopKey::Enter | TopKey::Erase | TopKey::Interrupt => return TopStep::Draw,
        }
        TopStep::Ask
    }

    /// A key while the filter is being typed.
    fn typed(&mut self, key: TopKey) -> TopStep {
        match key {
            TopKey::Letter(letter) => self.query.type_filter(letter),
            TopKey::Erase => {
                self.query.filter.pop();
                self.query.offset = 0;
            }
            TopKey::Escape => {
                self.query.filter.clear();
                self.query.offset = 0;
                self.typing = false;
            }
            TopKey::Enter => {
                self.typing = false;
                return TopStep::Draw;
            }
            _ => return TopStep::Draw,
        }
        TopStep::Ask
    }

    fn news(&mut self, news: TopNews) -> TopStep {
        match news {
            TopNews::Node(node) => {
                self.heard = Some(self.now);
                self.lost = None;
                self.meet(node);
                return TopStep::Ask;
            }
            TopNews::Findings(findings) => {
                self.heard = Some(self.now);
                self.findings = findings;
            }
            TopNews::Processes(query, answer) if query == self.query => match answer {
                Ok(processes) => {
                    self.processes = processes;
                    self.refusal = None;
                }
                Err(why) => self.refusal = Some(printable(&why)),
            },
            // Asked before a key was pressed.
            TopNews::Processes(..) => {}
            TopNews::Lost(why) => self.lost = Some(printable(&why)),
        }
        TopStep::Draw
    }

    /// The node as it is now: rates are of the difference, unless it is another node.
    fn meet(&mut self, node: Value) {
        let same = |field: &str| self.node[field] == node[field];
        if !(same("node") && same("started_at")) {
            (self.findings, self.processes) = (Value::Null, Value::Null);
            self.query.offset = 0;
            self.node = Value::Null;
        }
        let since = |path: &[&str]| {
            let of = |node: &Value| path.iter().fold(node, |value, field| &value[*field]).as_f64();
            Some(of(&node)? - of(&self.node)?)
        };
        let passed = since(&["uptime_ms"]).filter(|ms| *ms > 0.0 && *ms <= WINDOW_MS);
        let share = |ms: Option<f64>| Some(ms? / passed?);
        self.handled_rate = share(since(&["messages", "handled"])).map(|rate| rate * 1000.0);
        self.cpu = share(since(&["os", "cpu_ms"]));
        self.node = node;
    }
}

/// How many processes are asked for: as many as there are lines.
fn page(height: u16) -> u64 {
    u64::from(height).clamp(1, PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PERIOD: Duration = Duration::from_secs(1);

    fn state() -> TopState {
        TopState::new(SortColumn::default(), PERIOD, 24)
    }

    fn node(started: &str, uptime: f64, handled: u64) -> TopInput {
        TopInput::News(TopNews::Node(json!({
            "node": "shop@localhost", "started_at": started, "uptime_ms": uptime,
            "messages": { "handled": handled }, "os": { "cpu_ms": uptime / 2.0 },
            "sample": { "period_ms": 1000.0 }, "dispatchers": [],
        })))
    }

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn v81_a_key_sorts_and_asks_and_an_answer_to_the_query_before_is_not_shown() {
        let mut top = state();
        let before = top.query.clone();
        assert_eq!(top.apply(TopInput::Key(TopKey::Letter('m')), PERIOD), TopStep::Ask);
        assert_eq!(top.query.parameters(), "limit=24&offset=0&sort=main&order=desc");
        let late = TopNews::Processes(before, Ok(json!({ "sort": "cpu" })));
        top.apply(TopInput::News(late), PERIOD);
        assert_eq!(top.processes, Value::Null);
        let asked = TopNews::Processes(top.query.clone(), Ok(json!({ "sort": "main" })));
        top.apply(TopInput::News(asked), PERIOD);
        assert_eq!(top.processes["sort"], "main");
        assert_eq!(top.apply(TopInput::Key(TopKey::Letter('r')), PERIOD), TopStep::Ask);
        assert!(top.query.ascends());
        // A key of nothing does nothing.
        assert_eq!(top.apply(TopInput::Key(TopKey::Letter('z')), PERIOD), TopStep::Draw);
    }

    #[test]
    fn v81_a_filter_is_typed_and_its_letters_are_no_keys() {
        let mut top = state();
        for letter in "/qr".chars() {
            assert_ne!(top.apply(TopInput::Key(TopKey::Letter(letter)), PERIOD), TopStep::Quit);
        }
        assert_eq!((top.typing, top.query.filter.as_str()), (true, "qr"));
        assert_eq!(top.apply(TopInput::Key(TopKey::Erase), PERIOD), TopStep::Ask);
        assert_eq!(top.apply(TopInput::Key(TopKey::Enter), PERIOD), TopStep::Draw);
        assert_eq!((top.typing, top.query.filter.as_str()), (false, "q"));
        assert_eq!(top.apply(TopInput::Key(TopKey::Escape), PERIOD), TopStep::Ask);
        assert_eq!(top.query.filter, "");
        assert_eq!(top.apply(TopInput::Key(TopKey::Letter('/')), PERIOD), TopStep::Draw);
        assert_eq!(top.apply(TopInput::Key(TopKey::Interrupt), PERIOD), TopStep::Quit);
    }

    #[test]
    fn v81_pages_stay_within_what_there_is() {
        let mut top = state();
        let shown = top.shares().processes as u64;
        let answer = TopNews::Processes(top.query.clone(), Ok(json!({ "matched": shown + 1 })));
        top.apply(TopInput::News(answer), PERIOD);
        assert_eq!(top.apply(TopInput::Key(TopKey::NextPage), PERIOD), TopStep::Ask);
        assert_eq!(top.query.offset, shown);
        assert_eq!(top.apply(TopInput::Key(TopKey::NextPage), PERIOD), TopStep::Draw);
        top.apply(TopInput::Key(TopKey::PreviousPage), PERIOD);
        top.apply(TopInput::Key(TopKey::PreviousPage), PERIOD);
        assert_eq!(top.query.offset, 0);
        for height in [0, 1, 7, 8, 24, u16::MAX] {
            assert_eq!(top.apply(TopInput::Height(height), PERIOD), TopStep::Ask);
            assert!((1..=500).contains(&top.query.limit));
            let shares = top.shares();
            let lines = shares.dispatchers + shares.findings + shares.processes;
            assert!(lines <= usize::from(height), "{height}: {shares:?}");
        }
    }

    #[test]
    fn v81_a_connection_is_lost_and_found_again() {
        let mut top = state();
        assert_eq!(top.link(), TopLink::Opening);
        assert_eq!(top.apply(node("a", 1000.0, 10), second(1)), TopStep::Ask);
        assert_eq!(top.link(), TopLink::Live);
        top.apply(TopInput::Tick, second(4));
        assert_eq!(top.link(), TopLink::Live);
        top.apply(TopInput::Tick, second(5));
        assert_eq!(top.link(), TopLink::Stale(second(4)));
        top.apply(TopInput::News(TopNews::Lost("no\u{1b}route".to_owned())), second(6));
        assert_eq!(top.link(), TopLink::Offline(second(5), "no\\u{1b}route".to_owned()));
        assert_eq!(top.node["node"], "shop@localhost", "what was known stays");
        top.apply(node("a", 7000.0, 610), second(7));
        assert_eq!(top.link(), TopLink::Live);
        assert_eq!((top.handled_rate, top.cpu), (Some(100.0), Some(0.5)));
    }

    #[test]
    fn v81_another_node_has_no_rates_from_the_one_before() {
        let mut top = state();
        top.apply(node("a", 60_000.0, 1000), second(1));
        top.apply(TopInput::News(TopNews::Findings(json!({ "findings": [1, 2] }))), second(1));
        top.apply(node("b", 61_000.0, 2000), second(2));
        assert_eq!((top.handled_rate, top.cpu), (None, None));
        assert_eq!(top.findings, Value::Null);
        // Two pictures that are too far apart make no rate either.
        top.apply(node("b", 90_000.0, 3000), second(31));
        assert_eq!(top.handled_rate, None);
    }
}
