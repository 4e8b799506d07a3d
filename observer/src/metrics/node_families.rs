//! The families of the node and of its dispatchers.

use crate::metrics::exposition::MetricFamily;
use crate::metrics::pool_totals::OTHER;
use crate::sampling::picture::{Picture, STATES};
use crate::shared::Shared;
use krarup_gen::{DispatcherStats, Histogram, NodeStats};
use std::time::UNIX_EPOCH;

/// The behaviours that are told one by one.
const BEHAVIORS: usize = 50;
/// The dispatchers that are told one by one.
const DISPATCHERS: usize = 100;
const DEPTHS: [&str; 7] = ["0", "1", "2-9", "10-99", "100-999", "1000-9999", "10000+"];
/// The bounds of messages in a turn.
const MESSAGES: [f64; 11] = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0, 255.0, 511.0, 1023.0];

#[allow(clippy::too_many_lines, reason = "a table")]
pub(crate) fn of_node(shared: &Shared, picture: &Picture) -> Vec<MetricFamily> {
    let stats = &picture.stats;
    let counts = picture.sums();
    let started = shared.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let states = MetricFamily::gauge("krarup_processes", "Living processes");
    let states = STATES
        .iter()
        .zip(counts.by_state)
        .fold(states, |family, (state, count)| family.labelled(&[("state", state)], count as u64));
    let lanes = [("urgent", counts.urgent), ("system", counts.system_lane), ("main", counts.main)];
    let waiting = MetricFamily::gauge("krarup_mailbox_messages", "Messages that wait in mailboxes");
    let waiting = lanes
        .iter()
        .fold(waiting, |family, (lane, count)| family.labelled(&[("lane", lane)], *count));
    let depths = MetricFamily::gauge(
        "krarup_mailbox_processes",
        "Processes by the messages in their mailbox",
    );
    let depths = DEPTHS
        .iter()
        .zip(counts.depths)
        .fold(depths, |family, (depth, count)| family.labelled(&[("depth", depth)], count as u64));
    let labels = vec![
        ("node", shared.view.node_name().to_owned()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let totals = shared.totals.update(picture);
    let whole = |family: MetricFamily, value: u64| family.whole(value);
    let kinds = |family: MetricFamily, label: &'static str, counts: &[(&'static str, u64)]| {
        counts
            .iter()
            .fold(family, |family, (kind, count)| family.labelled(&[(label, kind)], *count))
    };
    vec![
        MetricFamily::info("krarup_node", "The node", labels),
        MetricFamily::gauge("krarup_node_start_time_seconds", "When the node started")
            .real(started.as_secs_f64()),
        whole(
            MetricFamily::gauge("krarup_node_stopping", "Whether the node stops"),
            shared.view.is_stopping().into(),
        ),
        states,
        behaviors(picture),
        whole(
            MetricFamily::counter("krarup_processes_spawned", "Processes that were spawned"),
            totals.spawned,
        ),
        kinds(
            MetricFamily::counter("krarup_processes_ended", "Processes that have ended"),
            "reason",
            &totals.ended,
        ),
        whole(MetricFamily::gauge("krarup_names", "Registered names"), stats.names as u64),
        whole(MetricFamily::gauge("krarup_aliases", "Aliases"), stats.aliases as u64),
        whole(MetricFamily::gauge("krarup_timers", "Timers that are set"), stats.timers as u64),
        whole(
            MetricFamily::gauge("krarup_blocking_threads", "Threads for blocking work"),
            stats.blocking_threads as u64,
        ),
        whole(
            MetricFamily::gauge("krarup_blocking_work", "Blocking work that waits or runs"),
            stats.blocking_work as u64,
        ),
        whole(
            MetricFamily::counter("krarup_messages_received", "Messages that processes accepted"),
            totals.received,
        ),
        whole(
            MetricFamily::counter(
                "krarup_messages_sent",
                "Messages of processes that were accepted",
            ),
            totals.sent,
        ),
        whole(
            MetricFamily::counter("krarup_messages_handled", "Messages that processes handled"),
            totals.handled,
        ),
        waiting,
        whole(
            MetricFamily::gauge("krarup_mailbox_messages_max", "Messages in the fullest mailbox"),
            counts.deepest as u64,
        ),
        depths,
        kinds(
            MetricFamily::counter("krarup_dead_letters", "Messages that no process handled"),
            "cause",
            &totals.dead_letters,
        ),
        kinds(
            MetricFamily::counter("krarup_sends_refused", "Messages given back to their senders"),
            "cause",
            &totals.refused,
        ),
        whole(
            MetricFamily::counter("krarup_calls_timed_out", "Calls that have timed out"),
            totals.calls_timed_out,
        ),
        whole(
            MetricFamily::counter("krarup_late_replies", "Replies that came too late"),
            stats.late_replies,
        ),
        whole(
            MetricFamily::counter("krarup_deadlocks", "Circles of calls that were found"),
            totals.deadlocks,
        ),
        kinds(MetricFamily::counter("krarup_restarts", "Restarts"), "kind", &totals.restarts),
        whole(
            MetricFamily::counter("krarup_supervisors_gave_up", "Supervisors that have given up"),
            totals.gave_up,
        ),
    ]
}

/// The most frequent behaviours, and the sum of all others.
fn behaviors(picture: &Picture) -> MetricFamily {
    let all = picture.sums().behaviors.iter();
    let mut behaviors: Vec<(&str, usize)> = all.map(|(label, it)| (&**label, it.count)).collect();
    behaviors.sort_by(|(a, one), (b, other)| other.cmp(one).then_with(|| a.cmp(b)));
    let rest: usize = behaviors.iter().skip(BEHAVIORS).map(|(_, count)| count).sum();
    // A behaviour that is called so is counted to the rest.
    let called_other: usize = behaviors
        .iter()
        .take(BEHAVIORS)
        .filter(|(label, _)| *label == OTHER)
        .map(|(_, count)| count)
        .sum();
    let family = MetricFamily::gauge("krarup_processes_behavior", "Living processes by behaviour");
    let shown = behaviors.iter().take(BEHAVIORS).filter(|(label, _)| *label != OTHER);
    let family = shown.fold(family, |family, (label, count)| {
        family.labelled(&[("behavior", label)], *count as u64)
    });
    family.labelled(&[("behavior", OTHER)], (rest + called_other) as u64)
}

pub(crate) fn of_dispatchers(stats: &NodeStats) -> Vec<MetricFamily> {
    let all = summed(&stats.dispatchers);
    let fill = |family: MetricFamily, of: fn(&DispatcherStats) -> u64| {
        all.iter().fold(family, |family, it| family.labelled(&[("dispatcher", &it.name)], of(it)))
    };
    let seconds = |family: MetricFamily, of: fn(&DispatcherStats) -> f64| {
        all.iter()
            .fold(family, |family, it| family.labelled_real(&[("dispatcher", &it.name)], of(it)))
    };
    let turns = MetricFamily::counter("krarup_dispatcher_turns", "Turns");
    let turns = all.iter().fold(turns, |family, it| {
        let normal = it.turns.saturating_sub(it.high_turns);
        let family = family.labelled(&[("dispatcher", &it.name), ("class", "normal")], normal);
        family.labelled(&[("dispatcher", &it.name), ("class", "high")], it.high_turns)
    });
    let messages = MetricFamily::histogram(
        "krarup_dispatcher_messages_per_turn",
        "Messages handled in a turn, of a sample of turns",
    );
    let messages = all.iter().fold(messages, |family, it| {
        let (sum, counts) = numbers(&it.messages_per_turn);
        let mut below = 0;
        let bounds: Vec<(f64, u64)> = MESSAGES
            .iter()
            .zip(counts)
            .map(|(bound, count)| {
                below += count;
                (*bound, below)
            })
            .collect();
        family.observed(&[("dispatcher", &it.name)], sum, counts.iter().sum(), bounds)
    });
    vec![
        fill(MetricFamily::gauge("krarup_dispatcher_workers", "Workers"), |it| it.workers as u64),
        fill(MetricFamily::gauge("krarup_dispatcher_parked", "Workers that sleep"), |it| {
            it.parked as u64
        }),
        fill(
            MetricFamily::gauge("krarup_dispatcher_blocked", "Workers held by a long turn"),
            |it| it.blocked as u64,
        ),
        fill(MetricFamily::gauge("krarup_dispatcher_spares", "Spare workers that fill in"), |it| {
            it.spares as u64
        }),
        fill(
            MetricFamily::gauge("krarup_dispatcher_queued_processes", "Processes that are ready"),
            |it| it.queued as u64,
        ),
        seconds(
            MetricFamily::gauge("krarup_dispatcher_longest_turn_seconds", "The longest turn"),
            |it| it.longest_turn.as_secs_f64(),
        ),
        turns,
        seconds(
            MetricFamily::counter("krarup_dispatcher_running_seconds", "How long processes ran"),
            |it| it.running.as_secs_f64(),
        ),
        fill(
            MetricFamily::counter("krarup_dispatcher_scheduled", "Processes that became ready"),
            |it| it.scheduled,
        ),
        fill(
            MetricFamily::counter(
                "krarup_dispatcher_injected",
                "Processes put into the shared queue",
            ),
            |it| it.injected,
        ),
        fill(
            MetricFamily::counter("krarup_dispatcher_spills", "Processes that found a queue full"),
            |it| it.spills,
        ),
        fill(
            MetricFamily::counter(
                "krarup_dispatcher_steals",
                "Batches of processes that workers took from others",
            ),
            |it| it.steals,
        ),
        fill(MetricFamily::counter("krarup_dispatcher_parks", "How often a worker slept"), |it| {
            it.parks
        }),
        fill(
            MetricFamily::counter("krarup_dispatcher_wakes", "How often a worker was woken"),
            |it| it.wakes,
        ),
        fill(
            MetricFamily::counter("krarup_dispatcher_long_turns", "Turns beyond the limit"),
            |it| it.long_turns,
        ),
        messages,
    ]
}

/// The first dispatchers, and the sum of all others.
fn summed(all: &[DispatcherStats]) -> Vec<DispatcherStats> {
    let mut shown: Vec<DispatcherStats> =
        all.iter().filter(|it| it.name != OTHER).take(DISPATCHERS).cloned().collect();
    let names: Vec<String> = shown.iter().map(|it| it.name.clone()).collect();
    let mut rest = all.iter().filter(|it| !names.contains(&it.name)).peekable();
    if rest.peek().is_some() {
        let other = DispatcherStats::new(OTHER.to_owned(), 0);
        shown.push(rest.fold(other, |sum, it| sum.with(|sum| sum.add(it))));
    }
    shown
}

#[allow(clippy::cast_precision_loss, reason = "exact below 2^53 messages")]
fn numbers(histogram: &Histogram) -> (f64, &[u64; Histogram::PLACES]) {
    (histogram.sum as f64, &histogram.counts)
}
