//! The families of the cluster. A node without one has none of them.

use crate::metrics::cluster_totals::{ClusterNumbers, NodeNumbers};
use crate::metrics::exposition::MetricFamily;
use crate::sampling::cluster_row::ClusterRow;

pub(crate) fn of_cluster(row: &ClusterRow, numbers: &ClusterNumbers) -> Vec<MetricFamily> {
    let of_nodes = |family: MetricFamily, of: fn(&NodeNumbers) -> u64| {
        numbers
            .nodes
            .iter()
            .fold(family, |family, (node, numbers)| family.labelled(&[("node", node)], of(numbers)))
    };
    let failures = MetricFamily::counter("krarup_cluster_failures", "What did not arrive");
    let failures = numbers
        .failures
        .iter()
        .fold(failures, |family, (cause, count)| family.labelled(&[("cause", cause)], *count));
    vec![
        MetricFamily::gauge("krarup_cluster_connected_nodes", "Nodes that are connected")
            .whole(row.picture.connections.len() as u64),
        MetricFamily::gauge(
            "krarup_cluster_kept_nodes_not_connected",
            "Nodes that are kept and not connected",
        )
        .whole(row.not_connected().count() as u64),
        of_nodes(
            MetricFamily::gauge("krarup_cluster_waiting_bytes", "Bytes that wait to be sent"),
            |it| it.waiting,
        ),
        of_nodes(
            MetricFamily::counter("krarup_cluster_received_bytes", "Bytes from a node"),
            |it| it.counters.bytes_in,
        ),
        of_nodes(MetricFamily::counter("krarup_cluster_sent_bytes", "Bytes to a node"), |it| {
            it.counters.bytes_out
        }),
        of_nodes(
            MetricFamily::counter("krarup_cluster_received_messages", "Messages from a node"),
            |it| it.counters.messages_in,
        ),
        of_nodes(
            MetricFamily::counter("krarup_cluster_sent_messages", "Messages to a node"),
            |it| it.counters.messages_out,
        ),
        of_nodes(
            MetricFamily::counter(
                "krarup_cluster_refusals",
                "Messages and calls refused because too much waits for a node",
            ),
            |it| it.counters.refusals,
        ),
        failures,
    ]
}
