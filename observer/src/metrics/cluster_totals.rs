//! The counters of the cluster by node, which outlive connections, and those of the cluster, which
//! outlive its process.
//!
//! A connection counts from its own beginning, and so does a cluster. What was counted by one that is
//! gone is added, as far as it was seen.

use crate::sampling::cluster_row::ClusterRow;
use krarup_gen::{ClusterPicture, ConnectionGauges, NodeName, Pid, Timestamp};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// The most nodes; all others are summed.
const NODES: usize = 100;
/// The name of their sum.
const OTHER: &str = "other";

/// The numbers of a cluster for its metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClusterNumbers {
    /// By the name of the node.
    pub(crate) nodes: BTreeMap<String, NodeNumbers>,
    /// By cause, in the order of the counters.
    pub(crate) failures: Vec<(&'static str, u64)>,
}

/// The numbers of the connections with one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NodeNumbers {
    /// Now.
    pub(crate) waiting: u64,
    pub(crate) counters: NodeCounters,
}

/// What only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NodeCounters {
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) messages_in: u64,
    pub(crate) messages_out: u64,
    pub(crate) refusals: u64,
}

/// The counters of all connections that were seen.
#[derive(Default)]
pub(crate) struct ClusterTotals {
    state: Mutex<ClusterTotalsState>,
}

#[derive(Default)]
struct ClusterTotalsState {
    /// The number of the newest picture that was seen.
    number: u64,
    /// What connections that have ended had counted, by label.
    ended: BTreeMap<String, NodeCounters>,
    /// The connections of the newest picture.
    living: BTreeMap<NodeName, SeenConnection>,
    labels: BTreeSet<String>,
    /// The process of the cluster, and what it has counted.
    cluster: Option<(Pid, Vec<(&'static str, u64)>)>,
    /// What clusters that have ended had counted.
    failures: Vec<(&'static str, u64)>,
}

/// A connection as it was last seen.
struct SeenConnection {
    identity: (u32, Timestamp),
    label: String,
    numbers: NodeNumbers,
}

impl ClusterTotals {
    /// The numbers after the picture of this number.
    pub(crate) fn update(&self, number: u64, row: &ClusterRow) -> ClusterNumbers {
        let mut state = self.state.lock();
        // Two scrapes may come with pictures in another order.
        if number > state.number {
            state.number = number;
            state.see(&row.picture);
        }
        state.numbers()
    }
}

impl ClusterTotalsState {
    fn see(&mut self, picture: &ClusterPicture) {
        let mut before = std::mem::take(&mut self.living);
        for gauges in &picture.connections {
            let identity = (gauges.creation, gauges.since);
            let numbers = NodeNumbers::of(gauges);
            let known = before.remove(&gauges.node);
            let label = match &known {
                Some(known) => known.label.clone(),
                None => self.label(gauges.node.as_str()),
            };
            if let Some(gone) = known.filter(|known| known.identity != identity) {
                self.end(gone);
            }
            self.living.insert(gauges.node.clone(), SeenConnection { identity, label, numbers });
        }
        for gone in before.into_values() {
            self.end(gone);
        }
        let counts = picture.stats.counts();
        let before = self.cluster.replace((picture.process, counts));
        if let Some((_, counts)) = before.filter(|(process, _)| *process != picture.process) {
            self.failures = sums(&self.failures, counts);
        }
    }

    fn label(&mut self, node: &str) -> String {
        let is_known = self.labels.contains(node);
        if !is_known && self.labels.len() >= NODES {
            return OTHER.to_owned();
        }
        self.labels.insert(node.to_owned());
        node.to_owned()
    }

    fn end(&mut self, connection: SeenConnection) {
        self.ended.entry(connection.label).or_default().add(&connection.numbers.counters);
    }

    fn numbers(&self) -> ClusterNumbers {
        let with = |counters: &NodeCounters| NodeNumbers { waiting: 0, counters: *counters };
        let mut nodes: BTreeMap<String, NodeNumbers> =
            self.ended.iter().map(|(label, counters)| (label.clone(), with(counters))).collect();
        nodes.entry(OTHER.to_owned()).or_default();
        for connection in self.living.values() {
            let sum = nodes.entry(connection.label.clone()).or_default();
            sum.waiting += connection.numbers.waiting;
            sum.counters.add(&connection.numbers.counters);
        }
        let counts = self.cluster.as_ref().map(|(_, counts)| counts.clone()).unwrap_or_default();
        ClusterNumbers { nodes, failures: sums(&self.failures, counts) }
    }
}

impl NodeNumbers {
    fn of(gauges: &ConnectionGauges) -> Self {
        NodeNumbers {
            waiting: gauges.waiting as u64,
            counters: NodeCounters {
                bytes_in: gauges.bytes_in,
                bytes_out: gauges.bytes_out,
                messages_in: gauges.messages_in,
                messages_out: gauges.messages_out,
                refusals: gauges.refusals,
            },
        }
    }
}

impl NodeCounters {
    fn add(&mut self, other: &Self) {
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.messages_in += other.messages_in;
        self.messages_out += other.messages_out;
        self.refusals += other.refusals;
    }
}

/// The counters with those of before, which has none or the same ones.
fn sums(
    before: &[(&'static str, u64)],
    mut counts: Vec<(&'static str, u64)>,
) -> Vec<(&'static str, u64)> {
    for ((_, count), (_, more)) in counts.iter_mut().zip(before) {
        *count += more;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::ClusterStats;

    fn connection(node: &str, since: u64, bytes: u64) -> ConnectionGauges {
        let node = NodeName::new(node).unwrap();
        ConnectionGauges::new(node, 5, Timestamp::from_nanos(since)).with(|it| {
            it.bytes_in = bytes;
            it.waiting = 7;
        })
    }

    fn picture(
        process: u64,
        late: u64,
        connections: impl IntoIterator<Item = ConnectionGauges>,
    ) -> ClusterRow {
        let picture = ClusterPicture::new(Pid::local(process, 1)).with(|it| {
            it.connections = connections.into_iter().collect();
            it.stats = ClusterStats::default().with(|stats| stats.late = late);
        });
        ClusterRow::new(picture, None, false)
    }

    fn late(numbers: &ClusterNumbers) -> u64 {
        numbers.failures.iter().find(|(cause, _)| *cause == "late").unwrap().1
    }

    #[test]
    fn v92_what_a_connection_has_counted_outlives_it_and_its_cluster() {
        let totals = ClusterTotals::default();
        let bytes = |numbers: &ClusterNumbers| numbers.nodes["b@h"].counters.bytes_in;
        let seen = totals.update(1, &picture(1, 3, [connection("b@h", 1, 100)]));
        assert_eq!((bytes(&seen), seen.nodes["b@h"].waiting, late(&seen)), (100, 7, 3));
        // Another connection to the same node counts anew.
        let seen = totals.update(2, &picture(1, 4, [connection("b@h", 2, 10)]));
        assert_eq!((bytes(&seen), late(&seen)), (110, 4));
        let seen = totals.update(3, &picture(1, 4, []));
        assert_eq!((bytes(&seen), seen.nodes["b@h"].waiting), (110, 0));
        // The cluster was started again.
        let seen = totals.update(4, &picture(2, 1, [connection("b@h", 3, 5)]));
        assert_eq!((bytes(&seen), late(&seen)), (115, 5));
        // An old picture lowers nothing.
        let seen = totals.update(3, &picture(1, 4, []));
        assert_eq!((bytes(&seen), seen.nodes["b@h"].waiting, late(&seen)), (115, 7, 5));
    }

    #[test]
    fn v92_beyond_a_hundred_names_nodes_are_summed() {
        let totals = ClusterTotals::default();
        let all: Vec<_> = (0..250).map(|n| connection(&format!("n{n}@h"), 1, 2)).collect();
        let seen = totals.update(1, &picture(1, 0, all.clone()));
        assert_eq!(seen.nodes.len(), NODES + 1);
        assert_eq!(seen.nodes[OTHER].counters.bytes_in, 2 * (250 - NODES as u64));
        // A node keeps its label when it comes again.
        totals.update(2, &picture(1, 0, []));
        assert_eq!(totals.update(3, &picture(1, 0, all)).nodes.len(), NODES + 1);
    }
}
