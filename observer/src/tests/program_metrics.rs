//! The program's own metrics on `/metrics`.
#![allow(clippy::float_cmp, reason = "all are small whole numbers")]

use super::client::{get, observed, quick, start, until};
use super::metrics::{ParsedFamilies, scrape, value};
use crate::limits::{DoorLimits, PROGRAM_METRICS};
use crate::{MetricFlaw, Observer, ObserverError};
use krarup_act::{Actor, Context};
use krarup_gen::{Reason, Result};
use krarup_node::Node;
use krarup_supervisor::{ChildSpec, Supervisor};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type OwnLabels = Vec<(String, String)>;

fn labels(name: &str, value: &str) -> OwnLabels {
    vec![(name.to_owned(), value.to_owned())]
}

fn with_counter(name: &str) -> Registry {
    let mut registry = Registry::default();
    registry.register(name, "A count", Counter::<u64>::default());
    registry
}

fn failed(families: &ParsedFamilies, cause: &str) -> f64 {
    value(families, "krarup_observer_metrics_failed_total", &[("cause", cause)])
}

fn all_failures(families: &ParsedFamilies) -> f64 {
    families["krarup_observer_metrics_failed"].samples.values().sum()
}

/// A collector made of a function.
struct Collects<F>(F);

impl<F> fmt::Debug for Collects<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collects")
    }
}

impl<F> Collector for Collects<F>
where
    F: Fn(&mut DescriptorEncoder<'_>) -> fmt::Result + Send + Sync + 'static,
{
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut encoder)
    }
}

fn collects(
    registry: &mut Registry,
    collect: impl Fn(&mut DescriptorEncoder<'_>) -> fmt::Result + Send + Sync + 'static,
) {
    registry.register_collector(Box::new(Collects(collect)));
}

fn encode_gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, number: i64) -> fmt::Result {
    let gauge = ConstGauge::new(number);
    gauge.encode(encoder.encode_descriptor(name, "A gauge.", None, gauge.metric_type())?)
}

#[test]
fn v86_the_programs_metrics_stand_behind_the_observers_at_both_addresses() {
    let mut registry = Registry::with_prefix("shop");
    let (orders, carts) = (Counter::<u64>::default(), Gauge::<i64>::default());
    let hits = Family::<OwnLabels, Counter>::default();
    registry.register("orders", "Accepted orders", orders.clone());
    registry.register("carts", "Open carts", carts.clone());
    registry.register("cache_hits", "Hits", hits.clone());
    let other = Arc::new(with_counter("bank_payments"));
    let (node, observer) =
        observed(|it| it.probes("127.0.0.1:0").metrics(registry).metrics(Arc::clone(&other)));
    orders.inc_by(3);
    carts.set(-2);
    let strange = "a\"b\\c\n}";
    hits.get_or_create(&labels("cache", strange)).inc();
    for address in [observer.address(), observer.probes_address().unwrap()] {
        let found = scrape(address);
        assert_eq!(value(&found, "shop_orders_total", &[]), 3.0);
        assert_eq!(value(&found, "shop_carts", &[]), -2.0);
        assert_eq!(value(&found, "shop_cache_hits_total", &[("cache", strange)]), 1.0);
        assert_eq!(value(&found, "bank_payments_total", &[]), 0.0);
        assert_eq!(all_failures(&found), 0.0);
    }
    let text = get(observer.address(), "/metrics").body;
    assert_eq!(text.matches("# EOF").count(), 1);
    assert!(text.find("process_start_time").unwrap() < text.find("shop_orders").unwrap());
    node.stop().wait().unwrap();
}

#[test]
fn v86_every_kind_of_metric_passes_as_its_crate_writes_it() {
    let mut registry = Registry::default();
    registry.register_with_unit(
        "wait",
        "Waits",
        Unit::Seconds,
        Histogram::new(exponential_buckets(0.1, 2.0, 3)),
    );
    registry.register("build", "The build", Info::new(labels("version", "1")));
    let traced = HistogramWithExemplars::<OwnLabels>::new([1.0, 2.0].into_iter());
    traced.observe(1.5, Some(labels("trace", "4bf9")), None);
    registry.register("traced", "With exemplars", traced);
    registry.register("real", "A real", Gauge::<f64, std::sync::atomic::AtomicU64>::default());
    let labelled = registry.sub_registry_with_label(("zone".into(), "north".into()));
    labelled.register("zoned", "With a label", Family::<OwnLabels, Counter>::default());
    let of_zone = Family::<OwnLabels, Histogram>::new_with_constructor(|| Histogram::new([1.0]));
    of_zone.get_or_create(&labels("shelf", "a")).observe(f64::INFINITY);
    of_zone.get_or_create(&Vec::new()).observe(0.5);
    labelled.register("zone_wait", "With labels", of_zone);
    let (node, observer) = observed(|it| it.metrics(registry));
    let text = get(observer.address(), "/metrics").body;
    for line in [
        "# UNIT wait_seconds seconds",
        "wait_seconds_bucket{le=\"+Inf\"} 0",
        "build_info{version=\"1\"} 1",
        "traced_bucket{le=\"2.0\"} 1 # {trace=\"4bf9\"} 1.5",
        "real 0.0",
        "zone_wait_bucket{zone=\"north\",le=\"1.0\",shelf=\"a\"} 0",
        "zone_wait_count{zone=\"north\"} 1",
        "krarup_observer_metrics_failed_total{cause=\"family\"} 0",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    node.stop().wait().unwrap();
}

/// Counts its orders, and crashes at the order 0.
struct OrderDesk(Counter);

impl Actor for OrderDesk {
    type Message = u64;
    async fn handle_message(&mut self, _: &mut Context<u64>, order: u64) -> Result {
        self.0.inc();
        if order == 0 { Err(Reason::error("no order")) } else { Ok(()) }
    }
}

#[test]
fn v86_metrics_outlive_the_restarts_of_the_processes_and_of_the_observers() {
    let mut registry = Registry::default();
    let orders = Counter::<u64>::default();
    registry.register("orders", "Accepted orders", orders.clone());
    let (node, observer) = observed(|it| it.metrics(registry));
    let desk = move || {
        let orders = orders.clone();
        ChildSpec::worker("orders", move || OrderDesk(orders.clone())).name("orders")
    };
    let tree =
        move || Supervisor::one_for_one().intensity(100, Duration::from_secs(1)).child(desk());
    node.spawn(tree).name("tree").wait().unwrap();
    for round in 1_u32..=3 {
        let pid = node.whereis("orders").unwrap();
        let end = node.watch(pid);
        node.lookup::<u64, u64>("orders").unwrap().send(0).unwrap();
        end.wait().unwrap();
        let http = node.whereis("observer.http").unwrap();
        let end = node.watch(http);
        node.exit(http, Reason::Kill);
        end.wait().unwrap();
        let line = format!("\norders_total {round}\n");
        until(observer.address(), "/metrics", |reply| reply.body.contains(&line));
        while node.whereis("orders").is_none() {
            std::thread::yield_now();
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn v86_a_family_that_collides_is_an_error_and_nothing_listens() {
    let taken = |name: &str, by: &str| MetricFlaw::NameTaken { name: name.into(), by: by.into() };
    let twice = || {
        let mut registry = with_counter("orders");
        registry.sub_registry_with_label(("shop".into(), "1".into())).register(
            "orders",
            "The same",
            Counter::<u64>::default(),
        );
        registry
    };
    let series = || {
        let mut registry = with_counter("orders");
        registry.register("orders_total", "A gauge", Gauge::<i64>::default());
        registry
    };
    let label = || {
        let mut registry = Registry::default();
        registry.register("build", "The build", Info::new(labels("my-label", "1")));
        registry
    };
    let line = MetricFlaw::Line { line: "build_info{my-label=\"1\"} 1".to_owned() };
    let node = Node::start("observed@localhost").unwrap();
    for (registries, family, flaw) in [
        (vec![with_counter("krarup_orders")], "krarup_orders", MetricFlaw::Reserved),
        (vec![with_counter("process_cpu_seconds")], "process_cpu_seconds", MetricFlaw::Reserved),
        (vec![with_counter("my orders")], "my orders", MetricFlaw::Name),
        (vec![twice()], "orders", taken("orders", "orders")),
        (vec![series()], "orders_total", taken("orders_total", "orders")),
        (vec![with_counter("a"), with_counter("a")], "a", taken("a", "a")),
        (vec![label()], "build", line),
    ] {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = port.local_addr().unwrap();
        let settings = Observer::new().listen(address.to_string()).limits(quick());
        let settings = registries.into_iter().fold(settings, Observer::metrics);
        // The port is in use, and the family is what is said: it was looked at first.
        let error = settings.start(&node).wait().unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("{family:?}")) && text.contains(&flaw.to_string()),
            "{text}"
        );
        match error {
            ObserverError::Metric { family: named, flaw: found } => {
                assert_eq!((named.as_str(), found), (family, flaw));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(node.whereis("observer"), None);
    }
    let observer = start(&node, |it| it.metrics(with_counter("orders")));
    assert_eq!(value(&scrape(observer.address()), "orders_total", &[]), 0.0);
    node.stop().wait().unwrap();
}

#[test]
fn v86_a_family_that_collides_later_is_left_out_and_counted() {
    let mut registry = Registry::default();
    let own = Family::<OwnLabels, Counter>::default();
    registry.register("krarup_orders", "Shows nothing yet", own.clone());
    let again = Family::<OwnLabels, Counter>::default();
    registry.register("orders", "Shows nothing yet", again.clone());
    registry.register("orders", "Shows always", Gauge::<i64>::default());
    let (node, observer) = observed(|it| it.metrics(registry));
    let found = scrape(observer.address());
    assert_eq!((value(&found, "orders", &[]), all_failures(&found)), (0.0, 0.0));
    own.get_or_create(&Vec::new()).inc();
    again.get_or_create(&labels("shop", "1")).inc();
    let found = scrape(observer.address());
    assert_eq!(value(&found, "orders_total", &[("shop", "1")]), 1.0);
    assert!(!found.contains_key("krarup_orders"));
    assert_eq!((failed(&found, "family"), all_failures(&found)), (2.0, 2.0));
    node.stop().wait().unwrap();
}

#[test]
fn v86_a_collector_that_panics_or_fails_costs_what_is_after_it_in_its_registry() {
    let mut panics = with_counter("first");
    collects(&mut panics, |encoder| {
        encode_gauge(encoder, "complete", 1)?;
        encode_gauge(encoder, "cut", 1)?;
        panic!("this is a test");
    });
    collects(&mut panics, |encoder| encode_gauge(encoder, "never", 1));
    let mut fails = with_counter("second");
    collects(&mut fails, |encoder| {
        let counter = ConstCounter::new(1_u64);
        let _ = encoder.encode_descriptor("half", "Half.", None, counter.metric_type())?;
        Err(fmt::Error)
    });
    let whole = with_counter("third");
    let (node, observer) = observed(|it| it.metrics(panics).metrics(fails).metrics(whole));
    for round in [2.0, 3.0] {
        let found = scrape(observer.address());
        for name in ["first_total", "second_total", "third_total"] {
            assert_eq!(value(&found, name, &[]), 0.0);
        }
        assert_eq!(value(&found, "complete", &[]), 1.0);
        for missing in ["cut", "never", "half"] {
            assert!(!found.contains_key(missing), "{missing}");
        }
        // It failed at the start, too, which was no reason not to start.
        assert_eq!((failed(&found, "panic"), failed(&found, "error")), (round, round));
        assert_eq!(value(&found, "krarup_node_stopping", &[]), 0.0);
    }
    node.stop().wait().unwrap();
}

#[test]
fn v86_more_than_an_answer_has_room_for_is_cut_at_a_family() {
    let mut registry = with_counter("first");
    collects(&mut registry, |encoder| {
        let gauge = ConstGauge::new(1_i64);
        // With what is there already it is too much. The collector goes on, though it is refused.
        let help = "x".repeat(PROGRAM_METRICS - 50);
        let _ = encoder.encode_descriptor("many", &help, None, gauge.metric_type());
        encode_gauge(encoder, "after", 1)
    });
    let (node, observer) = observed(|it| it.metrics(registry).metrics(with_counter("second")));
    let found = scrape(observer.address());
    assert!(found.contains_key("first") && found.contains_key("second"));
    assert!(!found.contains_key("many") && !found.contains_key("after"));
    assert_eq!((failed(&found, "too_large"), all_failures(&found)), (2.0, 2.0));
    node.stop().wait().unwrap();
}

#[test]
fn v86_a_collector_that_does_not_return_holds_one_thread_and_no_probe() {
    let (release, released) = mpsc::channel();
    let released: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(released));
    let begun = Arc::new(AtomicUsize::new(0));
    let mut registry = with_counter("orders");
    let counted = Arc::clone(&begun);
    collects(&mut registry, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        released.lock().unwrap().recv().map_err(|_| fmt::Error)
    });
    let limits = DoorLimits { collect: Duration::from_millis(50), ..quick() };
    let (node, observer) = observed(|it| it.limits(limits).metrics(registry));
    for scrapes in 1_u32..=5 {
        let found = scrape(observer.address());
        assert!(found.contains_key("krarup_node") && !found.contains_key("orders"));
        assert_eq!(failed(&found, "timeout"), f64::from(scrapes + 1));
        assert_eq!(get(observer.address(), "/livez").status, 200);
    }
    // The server is started again, and finds the same thread.
    let http = node.whereis("observer.http").unwrap();
    let end = node.watch(http);
    node.exit(http, Reason::Kill);
    end.wait().unwrap();
    until(observer.address(), "/metrics", |reply| reply.status == 200);
    // One thread of the start, and one of all scrapes: the first of them still runs.
    while begun.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    for _ in 0..1000 {
        release.send(()).unwrap();
    }
    until(observer.address(), "/metrics", |reply| reply.body.contains("\norders_total 0\n"));
    node.stop().wait().unwrap();
}
