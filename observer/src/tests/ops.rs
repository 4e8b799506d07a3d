//! `ops/alerts.yml` and `ops/grafana.json` ask only for what `/metrics` serves, and the table of
//! `docs/observer.md` is what it serves.

use super::client::observed;
use super::metrics::{ParsedFamilies, pool, scrape};
use crate::http::route::ObserverRoute;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Labels that Prometheus adds to each series.
const SCRAPED: [&str; 2] = ["instance", "job"];
/// Functions and aggregations of `PromQL` that the files use.
const FUNCTIONS: [&str; 11] = [
    "absent",
    "changes",
    "deriv",
    "histogram_quantile",
    "increase",
    "label_values",
    "max",
    "rate",
    "sum",
    "time",
    "topk",
];
/// Words that are neither metrics nor functions.
const WORDS: [&str; 5] = ["and", "bool", "by", "or", "unless"];
/// What a counter must be within.
const GROWTH: [&str; 2] = ["rate(", "increase("];

/// The values of each label of each sample that a node serves.
type ServedLabels = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn served(found: &ParsedFamilies) -> ServedLabels {
    let mut served = ServedLabels::new();
    for (name, labels) in found.values().flat_map(|family| family.samples.keys()) {
        let of_name = served.entry(name.clone()).or_default();
        for (label, value) in labels {
            of_name.entry(label.clone()).or_default().insert(value.clone());
        }
    }
    served
}

/// A node whose metrics have every family.
fn everything() -> ParsedFamilies {
    let check = crate::Check::inspect("jobs").ready();
    let (node, observer) = observed(|it| it.watch_names(["jobs"]).check(check));
    let _cluster = super::cluster::cluster(&node, |it| it);
    pool(&node, "jobs").send(1).unwrap();
    let found = scrape(observer.address());
    node.stop().wait().unwrap();
    found
}

fn file(name: &str) -> String {
    let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What an expression of `PromQL` asks for.
#[derive(Debug, Default)]
struct PromExpression {
    metrics: Vec<MetricSelector>,
    /// The labels that its aggregations keep.
    kept: BTreeSet<String>,
}

/// A metric with the values that its labels must have.
#[derive(Debug)]
struct MetricSelector {
    name: String,
    matchers: Vec<(String, String)>,
    grows: bool,
}

impl PromExpression {
    /// Reads an expression. Panics at a word that is not known.
    fn read(text: &str) -> PromExpression {
        let mut read = PromExpression::default();
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            let rest = &text[at..];
            if letter == '"' || letter == '[' {
                let close = if letter == '"' { '"' } else { ']' };
                at += 2 + rest[1..].find(close).unwrap_or_else(|| panic!("{text}"));
                continue;
            }
            if !letter.is_ascii_alphabetic() {
                // The letters of a number, such as `1e9`, belong to it.
                let number = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
                at += if letter.is_ascii_digit() {
                    number.unwrap_or(rest.len())
                } else {
                    letter.len_utf8()
                };
                continue;
            }
            let word = &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())];
            let before = &text[..at];
            at += word.len();
            let after = text[at..].trim_start();
            if word == "by" {
                let labels =
                    after.strip_prefix('(').and_then(|it| it.split_once(')')).expect(text).0;
                read.kept.extend(labels.split(',').map(|label| label.trim().to_owned()));
                at = text.len() - after.len() + labels.len() + 2;
            } else if after.starts_with('(') || after.starts_with("by ") {
                assert!(FUNCTIONS.contains(&word), "{word} is no function: {text}");
            } else if !WORDS.contains(&word) {
                let matchers = after.strip_prefix('{').map(|it| it.split_once('}').expect(text).0);
                if let Some(matchers) = matchers {
                    at = text.len() - after.len() + matchers.len() + 2;
                }
                read.metrics.push(MetricSelector {
                    name: word.to_owned(),
                    matchers: matchers.map_or_else(Vec::new, read_matchers),
                    grows: GROWTH.iter().any(|growth| before.ends_with(growth)),
                });
            }
        }
        read
    }

    /// Holds it against what is served.
    fn check(&self, text: &str, served: &ServedLabels) {
        let mut labels: BTreeSet<&str> = SCRAPED.into();
        for metric in &self.metrics {
            let name = &metric.name;
            let known = served.get(name).unwrap_or_else(|| panic!("there is no {name}: {text}"));
            labels.extend(known.keys().map(String::as_str));
            let counts =
                ["_total", "_bucket", "_count", "_sum"].iter().any(|it| name.ends_with(it));
            assert_eq!(counts, metric.grows, "{name} grows: {text}");
            for (label, wanted) in &metric.matchers {
                if SCRAPED.contains(&label.as_str()) {
                    continue;
                }
                let values =
                    known.get(label).unwrap_or_else(|| panic!("{name} has no {label}: {text}"));
                for value in wanted.split('|') {
                    assert!(values.contains(value), "{label} is never {value}: {text}");
                }
            }
        }
        for label in &self.kept {
            assert!(labels.contains(label.as_str()), "there is no label {label}: {text}");
        }
    }

    /// Holds the labels that a text shows, between braces, against those of its series.
    fn check_shown(&self, shown: &str, prefix: &str, served: &ServedLabels) {
        for part in shown.split("{{").skip(1) {
            let inside = part.split_once("}}").unwrap_or_else(|| panic!("{shown}")).0.trim();
            if inside == "$value" {
                continue;
            }
            let label = inside.strip_prefix(prefix).unwrap_or_else(|| panic!("{shown}"));
            let has = |metric: &MetricSelector| served[&metric.name].contains_key(label);
            let known = if self.kept.is_empty() {
                SCRAPED.contains(&label) || self.metrics.iter().any(has)
            } else {
                self.kept.contains(label)
            };
            assert!(known, "its series have no {label}: {shown}");
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn read_matchers(text: &str) -> Vec<(String, String)> {
    let matcher = |text: &str| {
        let (label, value) = text.split_once('=').unwrap_or_else(|| panic!("{text}"));
        let value = value.trim_start_matches('~').trim_matches('"');
        (label.trim().trim_end_matches('!').to_owned(), value.to_owned())
    };
    text.split(',').map(matcher).collect()
}

/// An alert as the file has it.
#[derive(Default)]
struct AlertRule {
    name: String,
    expression: String,
    severity: String,
    texts: Vec<String>,
}

/// Reads the alerts. Every line must have one of the forms that the file uses.
fn read_alerts(text: &str) -> Vec<AlertRule> {
    let mut alerts: Vec<AlertRule> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if ["groups:", "  - name: krarup", "    rules:"].contains(&line) {
            continue;
        }
        if let Some(name) = line.strip_prefix("      - alert: ") {
            alerts.push(AlertRule { name: name.to_owned(), ..AlertRule::default() });
            continue;
        }
        let alert = alerts.last_mut().expect("an alert");
        if let Some(expression) = line.strip_prefix("        expr: ") {
            // What a plain text of YAML may not have.
            assert!(!expression.contains(": ") && !expression.contains(" #"), "{line}");
            expression.clone_into(&mut alert.expression);
        } else if let Some(time) = line.strip_prefix("        for: ") {
            let number = time.strip_suffix('m').and_then(|time| time.parse::<u32>().ok());
            assert!(number.is_some(), "{line}");
        } else if let Some(severity) = line.strip_prefix("          severity: ") {
            severity.clone_into(&mut alert.severity);
        } else if let Some((_, text)) = line
            .strip_prefix("          ")
            .and_then(|line| line.split_once(": "))
            .filter(|(key, _)| ["summary", "description"].contains(key))
        {
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            let text = text.filter(|text| !text.contains(['"', '\\'])).expect(line);
            alert.texts.push(text.to_owned());
        } else {
            assert!(["        labels:", "        annotations:"].contains(&line), "{line:?}");
        }
    }
    alerts
}

#[test]
fn v32_the_alerts_ask_for_what_is_served() {
    let served = served(&everything());
    let alerts = read_alerts(&file("ops/alerts.yml"));
    assert!(alerts.len() >= 20, "{} alerts", alerts.len());
    let names: BTreeSet<&str> = alerts.iter().map(|alert| alert.name.as_str()).collect();
    assert_eq!(names.len(), alerts.len(), "two alerts have one name");
    for alert in &alerts {
        assert!(["critical", "warning"].contains(&alert.severity.as_str()), "{}", alert.name);
        assert_eq!(alert.texts.len(), 2, "{}", alert.name);
        let expression = PromExpression::read(&alert.expression);
        assert!(!expression.metrics.is_empty(), "{}", alert.name);
        expression.check(&alert.expression, &served);
        for text in &alert.texts {
            expression.check_shown(text, "$labels.", &served);
            let routes = text.split(' ').filter(|word| word.starts_with('/'));
            for route in routes.map(|route| route.trim_end_matches([',', '.', ':'])) {
                let path = route.split('?').next().unwrap_or_default();
                assert!(ObserverRoute::find(path).is_some(), "{route} is no route: {text}");
            }
        }
    }
}

#[test]
fn v32_the_dashboard_asks_for_what_is_served() {
    let served = served(&everything());
    let dashboard: Value = serde_json::from_str(&file("ops/grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut asked = BTreeSet::new();
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "an id twice: {panel}");
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(x < 24 && taken.insert((x, y)), "panels overlap: {panel}");
            }
        }
        let targets = panel["targets"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        assert_eq!(targets.is_empty(), panel["type"] == "row", "{panel}");
        for target in targets {
            let text = target["expr"].as_str().unwrap();
            let expression = PromExpression::read(text);
            expression.check(text, &served);
            expression.check_shown(target["legendFormat"].as_str().unwrap(), "", &served);
            asked.extend(expression.metrics.into_iter().map(|metric| metric.name));
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let query = variable["query"].as_str().unwrap();
        if variable["type"] == "query" {
            let (metric, label) = query.trim_end_matches(')').split_once(", ").expect("a label");
            PromExpression::read(&metric.replace("label_values(", "")).check(query, &served);
            assert!(SCRAPED.contains(&label), "{query}");
        }
    }
    assert!(asked.len() > 50, "the dashboard asks for {} metrics", asked.len());
}

#[test]
fn v32_the_table_of_the_docs_is_what_is_served() {
    let mut documented = BTreeSet::new();
    let page = file("docs/observer.md");
    let (_, table) = page.split_once("\n## Metrics\n").expect("the metrics");
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels] = cells[..] else { panic!("{line}") };
        let labels = labels.split(", ").filter(|label| *label != "–");
        let labels: Vec<&str> = labels.map(|label| label.trim_matches('`')).collect();
        let row = format!("{} {kind} {}", name.trim_matches('`'), labels.join(" "));
        assert!(documented.insert(row.clone()), "twice: {row}");
    }
    let mut served = BTreeSet::new();
    for (name, family) in everything() {
        let ending = match family.kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        for (_, labels) in family.samples.keys() {
            let labels = labels.keys().map(String::as_str).filter(|label| *label != "le");
            let labels = labels.collect::<Vec<_>>().join(" ");
            served.insert(format!("{name}{ending} {} {labels}", family.kind));
        }
    }
    assert_eq!(documented, served);
}

#[test]
fn v32_an_expression_is_read_with_its_metrics_labels_and_values() {
    let text = "histogram_quantile(0.99, sum by (pool, le) (rate(a_bucket{x=~\"1|2\", y!=\"3\"}[5m]))) > 1e9 and b";
    let read = PromExpression::read(text);
    let metrics: Vec<_> = read.metrics.iter().map(|it| (it.name.as_str(), it.grows)).collect();
    assert_eq!(metrics, [("a_bucket", true), ("b", false)]);
    let matchers: Vec<_> = read.metrics[0]
        .matchers
        .iter()
        .map(|(label, value)| (label.as_str(), value.as_str()))
        .collect();
    assert_eq!(matchers, [("x", "1|2"), ("y", "3")]);
    assert_eq!(read.kept.into_iter().collect::<Vec<_>>(), ["le", "pool"]);
}
