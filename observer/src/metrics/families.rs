//! All families: those of the node, of pools, of the cluster, and of the observer itself.

use crate::api::finding::SEVERITIES;
use crate::api::findings;
use crate::check::Health;
use crate::health::rounds;
use crate::metrics::cluster_families::of_cluster;
use crate::metrics::exposition::MetricFamily;
use crate::metrics::node_families::{of_dispatchers, of_node};
use crate::metrics::pool_totals::{NamedPoolNumbers, TimeSums};
use crate::os::Os;
use crate::sampling::picture::Picture;
use crate::shared::Shared;
use krarup_gen::Latency;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, UNIX_EPOCH};

/// All families.
pub(crate) fn families(shared: &Shared, picture: &Picture) -> Vec<MetricFamily> {
    let mut families = of_node(shared, picture);
    families.extend(of_dispatchers(&picture.stats));
    families.extend(of_pools(&shared.pool_totals.update(picture)));
    if let Some(row) = &picture.cluster {
        let numbers = shared.cluster_totals.update(picture.number, row);
        families.extend(of_cluster(row, &numbers));
    }
    families.extend(of_names(shared, picture));
    families.extend(of_checks(shared, picture));
    families.extend(of_observer(shared));
    families.extend(of_program(shared));
    families
}

fn of_pools(pools: &BTreeMap<String, NamedPoolNumbers>) -> Vec<MetricFamily> {
    let fill = |family: MetricFamily, of: fn(&NamedPoolNumbers) -> u64| {
        pools.iter().fold(family, |family, (label, numbers)| {
            family.labelled(&[("pool", label)], of(numbers))
        })
    };
    let times = |family: MetricFamily, of: fn(&NamedPoolNumbers) -> Option<TimeSums>| {
        pools.iter().fold(family, |family, (label, numbers)| match of(numbers) {
            Some(TimeSums { count, seconds, at_most }) => {
                let bounds = Latency::BOUNDS.iter().map(Duration::as_secs_f64).zip(at_most);
                family.observed(&[("pool", label)], seconds, count, bounds)
            }
            None => family,
        })
    };
    vec![
        fill(MetricFamily::gauge("krarup_pool_size", "Workers that a pool is to have now"), |it| {
            it.places
        }),
        fill(MetricFamily::gauge("krarup_pool_workers", "Workers of a pool that live"), |it| {
            it.workers
        }),
        fill(
            MetricFamily::gauge("krarup_pool_waiting_messages", "Messages that wait at workers"),
            |it| it.waiting,
        ),
        fill(
            MetricFamily::gauge(
                "krarup_pool_capacity_messages",
                "Messages that may wait at workers, 0 without a bound",
            ),
            |it| it.capacity,
        ),
        fill(MetricFamily::gauge("krarup_pool_draining", "Pools that are drained"), |it| {
            it.draining
        }),
        fill(MetricFamily::counter("krarup_pool_forwarded", "Messages given to a worker"), |it| {
            it.counters.forwarded
        }),
        fill(
            MetricFamily::counter("krarup_pool_unhandled", "Messages not given to a worker"),
            |it| it.counters.unhandled,
        ),
        fill(
            MetricFamily::counter(
                "krarup_pool_rate_limited",
                "Messages not given to a worker because of the rate limit",
            ),
            |it| it.counters.rate_limited,
        ),
        fill(
            MetricFamily::counter(
                "krarup_pool_diverted",
                "Messages not given to a worker and sent to the fallback",
            ),
            |it| it.counters.diverted,
        ),
        fill(MetricFamily::counter("krarup_pool_restarts", "Workers that were replaced"), |it| {
            it.counters.restarts
        }),
        fill(
            MetricFamily::counter(
                "krarup_pool_expired",
                "Jobs that waited longer than their time to live",
            ),
            |it| it.counters.expired,
        ),
        fill(
            MetricFamily::counter("krarup_pool_lost", "Jobs that waited at a worker when it ended"),
            |it| it.counters.lost,
        ),
        fill(
            MetricFamily::counter(
                "krarup_pool_crashed",
                "Jobs that a worker was handling when it ended",
            ),
            |it| it.counters.crashed,
        ),
        times(MetricFamily::histogram("krarup_pool_wait_seconds", "How long jobs waited"), |it| {
            it.wait
        }),
        times(MetricFamily::histogram("krarup_pool_service_seconds", "How long jobs ran"), |it| {
            it.service
        }),
    ]
}

fn of_names(shared: &Shared, picture: &Picture) -> Vec<MetricFamily> {
    let family = MetricFamily::gauge(
        "krarup_process_mailbox_messages",
        "Messages in the mailbox of a watched name",
    );
    let depth = |name: &str| {
        let row = shared.view.whereis(name).and_then(|pid| picture.of(pid));
        row.map_or(0, |row| row.sample.urgent + row.sample.system + row.sample.main)
    };
    let mut names: Vec<&String> = shared.watched_names.iter().collect();
    names.sort();
    names.dedup();
    vec![
        names
            .into_iter()
            .fold(family, |family, name| family.labelled(&[("name", name)], depth(name) as u64)),
    ]
}

/// The most checks that are told one by one.
const CHECKS: usize = 200;

fn of_checks(shared: &Shared, picture: &Picture) -> Vec<MetricFamily> {
    let family =
        MetricFamily::gauge("krarup_check_status", "2 ok, 1 degraded, 0 down, -1 has not run");
    let mut status: BTreeMap<String, f64> =
        shared.checks.own.iter().map(|check| (check.name(), -1.0)).collect();
    status.extend(rounds::last_results(shared).into_iter().map(|checked| {
        let value = match checked.health {
            Some(Health::Ok) => 2.0,
            Some(Health::Degraded(_)) => 1.0,
            Some(Health::Down(_)) => 0.0,
            None => -1.0,
        };
        (checked.name, value)
    }));
    let checks = status.iter().take(CHECKS);
    let checks = checks
        .fold(family, |family, (name, value)| family.labelled_real(&[("check", name)], *value));
    let found = findings::all(shared, picture);
    let family = MetricFamily::gauge("krarup_findings", "What is worth a look");
    let findings = SEVERITIES.iter().enumerate().fold(family, |family, (place, severity)| {
        let count = found.iter().filter(|finding| finding.level as usize == place).count();
        family.labelled(&[("severity", severity)], count as u64)
    });
    vec![checks, findings]
}

fn of_observer(shared: &Shared) -> Vec<MetricFamily> {
    let requests = MetricFamily::counter("krarup_observer_requests", "Answered requests");
    let requests = shared.tally.requests().fold(requests, |family, (route, code, count)| {
        family.labelled(&[("route", route), ("code", code)], count)
    });
    let rejected = MetricFamily::counter("krarup_observer_rejected", "Refused requests");
    let rejected = shared
        .tally
        .rejected()
        .fold(rejected, |family, (cause, count)| family.labelled(&[("cause", cause)], count));
    let missing = MetricFamily::counter(
        "krarup_observer_metrics_failed",
        "Metrics of the program that could not be served",
    );
    let missing = shared
        .program_metrics
        .failures
        .counts()
        .fold(missing, |family, (cause, count)| family.labelled(&[("cause", cause)], count));
    let streams = shared.tally.streams.load(Ordering::Relaxed) as u64;
    let period = shared.sampling.period().unwrap_or_default();
    let (walks, cost) = shared.sampling.totals();
    vec![
        requests,
        rejected,
        missing,
        MetricFamily::gauge("krarup_observer_streams", "Open streams").whole(streams),
        MetricFamily::gauge(
            "krarup_observer_sample_period_seconds",
            "Time between two walks, 0 while nobody watches",
        )
        .real(period.as_secs_f64()),
        MetricFamily::counter("krarup_observer_samples", "Walks over the processes").whole(walks),
        MetricFamily::counter("krarup_observer_sample_seconds", "What the walks have cost")
            .real(cost.as_secs_f64()),
    ]
}

fn of_program(shared: &Shared) -> Vec<MetricFamily> {
    let os = Os::now();
    let started = shared.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let some = |family: MetricFamily, value: Option<u64>| {
        value.into_iter().fold(family, MetricFamily::whole)
    };
    let cpu = MetricFamily::counter("process_cpu_seconds", "Processor time of the program");
    vec![
        os.cpu_ms.into_iter().fold(cpu, |family, cpu| family.real(cpu / 1000.0)),
        some(
            MetricFamily::gauge("process_resident_memory_bytes", "Memory of the program"),
            os.resident_bytes,
        ),
        some(MetricFamily::gauge("process_open_fds", "Open files of the program"), os.open_files),
        some(MetricFamily::gauge("process_threads", "Threads of the program"), os.threads),
        MetricFamily::gauge("process_start_time_seconds", "When the node started")
            .real(started.as_secs_f64()),
    ]
}
