//! `/metrics`, read by a strict parser of `OpenMetrics`.
#![allow(clippy::float_cmp, clippy::cast_precision_loss, reason = "all are small whole numbers")]

use super::client::{HttpReply, get, observed};
use krarup_act::{Actor, Context, Pool};
use krarup_gen::{Reason, Result};
use krarup_node::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A family: its type, and its samples by name and labels.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) kind: String,
    pub(super) samples: BTreeMap<(String, BTreeMap<String, String>), f64>,
}

pub(super) type ParsedFamilies = BTreeMap<String, Parsed>;

/// Reads an exposition. Panics where it is not one.
pub(super) fn parse(text: &str) -> ParsedFamilies {
    let text = text.strip_suffix("# EOF\n").expect("# EOF is last");
    let mut families = ParsedFamilies::new();
    let mut current = String::new();
    let mut has_help = false;
    for line in text.lines() {
        assert!(!line.is_empty(), "an empty line");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, _) = rest.split_once(' ').expect("a help");
            assert!(!families.contains_key(name), "{name} is interleaved");
            families.insert(name.to_owned(), Parsed::default());
            (current, has_help) = (name.to_owned(), true);
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!(name, current, "a type without its help");
            let family = families.get_mut(name).expect("its help");
            assert!(has_help && family.kind.is_empty(), "{name} has two types");
            kind.clone_into(&mut family.kind);
            continue;
        }
        assert!(!line.starts_with('#'), "{line}");
        let (name, labels, value) = sample(line);
        let family = families.get_mut(&current).expect("a family");
        let ending =
            name.strip_prefix(&current).unwrap_or_else(|| panic!("{name} below {current}"));
        let endings: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_count", "_sum"],
            kind => panic!("{current} is a {kind}"),
        };
        assert!(endings.contains(&ending), "{name} is a {}", family.kind);
        assert!(family.kind != "counter" || value >= 0.0, "{line}");
        assert!(family.samples.insert((name, labels), value).is_none(), "twice: {line}");
    }
    for (name, family) in families.iter().filter(|(_, family)| family.kind == "histogram") {
        check_histograms(name, family);
    }
    families
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let end = line.find(['{', ' ']).expect("a name");
    let (name, mut rest) = line.split_at(end);
    assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label");
            let (mut value, mut letters) = (String::new(), after.char_indices());
            let close = loop {
                match letters.next().expect("a closing quote") {
                    (_, '\\') => value.push(match letters.next().expect("an escape").1 {
                        'n' => '\n',
                        other @ ('\\' | '"') => other,
                        other => panic!("an escape of {other:?}"),
                    }),
                    (place, '"') => break place,
                    (_, letter) => value.push(letter),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "a label twice: {line}");
            rest = &after[close + 1..];
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            rest = rest.strip_prefix(',').expect("a comma");
        }
    }
    let value = rest.strip_prefix(' ').expect("a space");
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{line}")))
}

fn check_histograms(name: &str, family: &Parsed) {
    let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
    for ((sample, labels), value) in &family.samples {
        if sample.ends_with("_bucket") {
            let mut labels = labels.clone();
            let bound = labels.remove("le").expect("a bound");
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
            series.entry(labels).or_default().push((bound, *value));
        }
    }
    for (labels, mut buckets) in series {
        buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        assert!(buckets.is_sorted_by(|(_, one), (_, other)| one <= other), "{name} {buckets:?}");
        let (bound, last) = buckets[buckets.len() - 1];
        assert!(bound.is_infinite());
        assert_eq!(family.samples[&(format!("{name}_count"), labels.clone())], last);
        assert!(family.samples.contains_key(&(format!("{name}_sum"), labels)));
    }
}

pub(super) fn scrape(address: SocketAddr) -> ParsedFamilies {
    let reply: HttpReply = get(address, "/metrics");
    assert_eq!(reply.status, 200, "{reply:?}");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(reply.head.contains(kind), "{}", reply.head);
    parse(&reply.body)
}

/// The value of a series.
pub(super) fn value(families: &ParsedFamilies, name: &str, labels: &[(&str, &str)]) -> f64 {
    let labels =
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let key = (name.to_owned(), labels);
    let found = families.values().find_map(|family| family.samples.get(&key));
    *found.unwrap_or_else(|| panic!("there is no {key:?}"))
}

/// Name without ending, type, names of labels.
const TABLE: &str = "
krarup_node info node version
krarup_node_start_time_seconds gauge
krarup_node_stopping gauge
krarup_processes gauge state
krarup_processes_behavior gauge behavior
krarup_processes_spawned counter
krarup_processes_ended counter reason
krarup_names gauge
krarup_aliases gauge
krarup_timers gauge
krarup_blocking_threads gauge
krarup_blocking_work gauge
krarup_messages_received counter
krarup_messages_sent counter
krarup_messages_handled counter
krarup_mailbox_messages gauge lane
krarup_mailbox_messages_max gauge
krarup_mailbox_processes gauge depth
krarup_dead_letters counter cause
krarup_sends_refused counter cause
krarup_calls_timed_out counter
krarup_late_replies counter
krarup_deadlocks counter
krarup_restarts counter kind
krarup_supervisors_gave_up counter
krarup_dispatcher_workers gauge dispatcher
krarup_dispatcher_parked gauge dispatcher
krarup_dispatcher_blocked gauge dispatcher
krarup_dispatcher_spares gauge dispatcher
krarup_dispatcher_queued_processes gauge dispatcher
krarup_dispatcher_longest_turn_seconds gauge dispatcher
krarup_dispatcher_turns counter class dispatcher
krarup_dispatcher_running_seconds counter dispatcher
krarup_dispatcher_scheduled counter dispatcher
krarup_dispatcher_injected counter dispatcher
krarup_dispatcher_spills counter dispatcher
krarup_dispatcher_steals counter dispatcher
krarup_dispatcher_parks counter dispatcher
krarup_dispatcher_wakes counter dispatcher
krarup_dispatcher_long_turns counter dispatcher
krarup_dispatcher_messages_per_turn histogram dispatcher
krarup_pool_size gauge pool
krarup_pool_workers gauge pool
krarup_pool_waiting_messages gauge pool
krarup_pool_capacity_messages gauge pool
krarup_pool_draining gauge pool
krarup_pool_forwarded counter pool
krarup_pool_unhandled counter pool
krarup_pool_rate_limited counter pool
krarup_pool_diverted counter pool
krarup_pool_restarts counter pool
krarup_pool_expired counter pool
krarup_pool_lost counter pool
krarup_pool_crashed counter pool
krarup_pool_wait_seconds histogram pool
krarup_pool_service_seconds histogram pool
krarup_cluster_connected_nodes gauge
krarup_cluster_kept_nodes_not_connected gauge
krarup_cluster_waiting_bytes gauge node
krarup_cluster_received_bytes counter node
krarup_cluster_sent_bytes counter node
krarup_cluster_received_messages counter node
krarup_cluster_sent_messages counter node
krarup_cluster_refusals counter node
krarup_cluster_failures counter cause
krarup_process_mailbox_messages gauge name
krarup_check_status gauge check
krarup_findings gauge severity
krarup_observer_requests counter code route
krarup_observer_rejected counter cause
krarup_observer_metrics_failed counter cause
krarup_observer_streams gauge
krarup_observer_sample_period_seconds gauge
krarup_observer_samples counter
krarup_observer_sample_seconds counter
process_cpu_seconds counter
process_resident_memory_bytes gauge
process_open_fds gauge
process_threads gauge
process_start_time_seconds gauge
";

struct Worker;

impl Actor for Worker {
    type Message = u64;
    async fn handle_message(&mut self, _: &mut Context<u64>, number: u64) -> Result {
        if number == 0 { Err(Reason::error("zero")) } else { Ok(()) }
    }
}

pub(super) fn pool(node: &Node, name: &str) -> krarup_act::Address<u64, krarup_act::PoolCommand> {
    let pool = || Pool::new(2, || Worker).mailbox(4).measured();
    node.spawn(pool).name(name).wait().unwrap()
}

#[test]
fn v32_the_families_are_those_of_the_table_in_both_directions() {
    let check = crate::Check::inspect("jobs").ready();
    let (node, observer) = observed(|it| it.watch_names(["jobs"]).check(check));
    let _cluster = super::cluster::cluster(&node, |it| it);
    let jobs = pool(&node, "jobs");
    jobs.send(1).unwrap();
    let found = scrape(observer.address());
    let documented =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/observer.md"))
            .unwrap();
    let mut names = BTreeSet::new();
    for line in TABLE.trim().lines() {
        let mut words = line.split(' ');
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        let labels: Vec<&str> = words.collect();
        names.insert(name.to_owned());
        let family = found.get(name).unwrap_or_else(|| panic!("there is no {name}"));
        assert_eq!(family.kind, kind, "{name}");
        for (_, of) in family.samples.keys() {
            let of: Vec<&str> =
                of.keys().map(String::as_str).filter(|label| *label != "le").collect();
            assert_eq!(of, labels, "{name}");
        }
        assert!(!family.samples.is_empty(), "{name} has no series");
        let ending = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        assert!(
            documented.contains(&format!("`{name}{ending}`")),
            "docs/observer.md does not name {name}{ending}"
        );
    }
    assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), names);
    for (name, bounds) in [
        (
            "krarup_pool_wait_seconds",
            "0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10",
        ),
        ("krarup_dispatcher_messages_per_turn", "0 1 3 7 15 31 63 127 255 511 1023"),
    ] {
        let mut expected: Vec<f64> =
            bounds.split(' ').map(|bound| bound.parse().unwrap()).collect();
        expected.push(f64::INFINITY);
        let bounds = found[name].samples.keys().filter_map(|(_, labels)| labels.get("le"));
        let bounds: BTreeSet<String> = bounds.cloned().collect();
        let mut bounds: Vec<f64> =
            bounds.iter().map(|it| it.parse().unwrap_or(f64::INFINITY)).collect();
        bounds.sort_by(f64::total_cmp);
        assert_eq!(bounds, expected, "{name}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn v33_no_counter_goes_down_and_at_rest_the_sums_are_right() {
    let (node, observer) = observed(|it| it);
    let mut last: BTreeMap<(String, BTreeMap<String, String>), f64> = BTreeMap::new();
    for round in 0..8 {
        let jobs = pool(&node, if round % 2 == 0 { "jobs" } else { "others" });
        for number in 0..20 {
            let _ = jobs.send(number % 7);
        }
        let found = scrape(observer.address());
        for family in found.values().filter(|family| family.kind == "counter") {
            for (key, value) in &family.samples {
                let before = last.insert(key.clone(), *value).unwrap_or(0.0);
                assert!(*value >= before, "{key:?} was {before} and is {value}");
            }
        }
        let end = node.watch(jobs.pid());
        node.exit(jobs.pid(), Reason::Kill);
        end.wait().unwrap();
    }
    let sums_agree = |reply: &HttpReply| {
        let found = parse(&reply.body);
        let sum = |name: &str| found[name].samples.values().sum::<f64>();
        let living = sum("krarup_processes");
        sum("krarup_processes_spawned") - sum("krarup_processes_ended") == living
            && sum("krarup_processes_behavior") == living
            && sum("krarup_mailbox_processes") == living
            && living == node.processes().len() as f64
    };
    let reply = super::client::until(observer.address(), "/metrics", sums_agree);
    let found = parse(&reply.body);
    assert_eq!(value(&found, "krarup_pool_size", &[("pool", "jobs")]), 0.0);
    let tree = get(observer.address(), "/tree").json();
    assert_eq!(tree["total"].as_f64(), Some(found["krarup_processes"].samples.values().sum()));
    node.stop().wait().unwrap();
}

#[test]
fn v24_strange_names_come_through_the_metrics() {
    let (node, observer) = observed(|it| it.watch_names(["a\"b\\c\n<script>\u{202e}"]));
    let strange = "a\"b\\c\n<script>\u{202e}";
    let _pool = pool(&node, strange);
    let found = scrape(observer.address());
    assert_eq!(value(&found, "krarup_pool_size", &[("pool", strange)]), 2.0);
    assert_eq!(value(&found, "krarup_process_mailbox_messages", &[("name", strange)]), 0.0);
    let rows = get(observer.address(), "/api/v1/processes?kind=pool").json();
    assert_eq!(rows["processes"][0]["name"].as_str(), Some(strange));
    let text = get(observer.address(), "/tree?format=text").body;
    assert!(text.contains("\\u{a}<script>\\u{202e}") && !text.contains('\u{202e}'), "{text}");
    node.stop().wait().unwrap();
}
