//! The counters of the cluster by node, which outlive connections, and those of the cluster, which
//! outlive its process.
//!
//! A connection counts from its own beginning, and so does a cluster. What was counted by one that is
//! gone is added, as far as it was seen. A hundred nodes have a label of their own; when another one
//! comes, the node that was lost first gives up its label, and its counters with it.

use crate::sampling::cluster_row::ClusterRow;
use krarup_gen::{ClusterPicture, ConnectionGauges, NodeName};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// The most nodes with a label; all others are summed.
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
    /// What connections that have ended had counted, by label, and the number of the picture without
    /// the last one.
    ended: BTreeMap<String, (u64, NodeCounters)>,
    /// The connections of the newest picture.
    living: BTreeMap<NodeName, SeenConnection>,
    labels: BTreeSet<String>,
    /// Which cluster of the node it is, and what it has counted.
    cluster: Option<(u64, Vec<(&'static str, u64)>)>,
    /// What clusters that have ended had counted.
    failures: Vec<(&'static str, u64)>,
}

/// A connection as it was last seen.
struct SeenConnection {
    /// The numbers of its cluster and of its own.
    identity: (u64, u64),
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
        let identity = |gauges: &ConnectionGauges| (picture.number, gauges.number);
        let now: BTreeMap<_, _> = picture.connections.iter().map(|it| (&it.node, it)).collect();
        for (node, seen) in std::mem::take(&mut self.living) {
            match now.get(&node) {
                Some(gauges) if identity(gauges) == seen.identity => {
                    let numbers = NodeNumbers::of(gauges);
                    self.living.insert(node, SeenConnection { numbers, ..seen });
                }
                _ => self.end(seen),
            }
        }
        for (&node, gauges) in &now {
            if !self.living.contains_key(node) {
                let label = self.label(node.as_str(), &now);
                let (identity, numbers) = (identity(gauges), NodeNumbers::of(gauges));
                self.living.insert(node.clone(), SeenConnection { identity, label, numbers });
            }
        }
        let counts = picture.stats.counts();
        let before = self.cluster.replace((picture.number, counts));
        if let Some((_, counts)) = before.filter(|(number, _)| *number != picture.number) {
            self.failures = sums(&self.failures, counts);
        }
    }

    /// The label of a node. `now` has the nodes that keep theirs.
    fn label(&mut self, node: &str, now: &BTreeMap<&NodeName, &ConnectionGauges>) -> String {
        if !self.labels.contains(node) {
            if self.labels.len() >= NODES && !self.free_label(now) {
                return OTHER.to_owned();
            }
            self.labels.insert(node.to_owned());
        }
        node.to_owned()
    }

    /// Frees the label of the node that was lost first. Returns whether there was one.
    fn free_label(&mut self, now: &BTreeMap<&NodeName, &ConnectionGauges>) -> bool {
        let up: BTreeSet<&str> = now.keys().map(|node| node.as_str()).collect();
        let lost = self.ended.iter().filter(|(label, _)| *label != OTHER);
        let lost = lost.filter(|(label, _)| !up.contains(label.as_str()));
        let Some((first, _)) = lost.min_by_key(|(_, (number, _))| *number) else { return false };
        let first = first.clone();
        self.ended.remove(&first);
        self.labels.remove(&first)
    }

    fn end(&mut self, connection: SeenConnection) {
        let (number, counters) = self.ended.entry(connection.label).or_default();
        *number = self.number;
        counters.add(&connection.numbers.counters);
    }

    fn numbers(&self) -> ClusterNumbers {
        let with = |counters: &NodeCounters| NodeNumbers { waiting: 0, counters: *counters };
        let mut nodes: BTreeMap<String, NodeNumbers> = self
            .ended
            .iter()
            .map(|(label, (_, counters))| (label.clone(), with(counters)))
            .collect();
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
    use krarup_gen::{ClusterStats, Pid, Timestamp};

    fn connection(node: &str, number: u64, bytes: u64) -> ConnectionGauges {
        let node = NodeName::new(node).unwrap();
        ConnectionGauges::new(node, 5, Timestamp::ZERO).with(|it| {
            it.number = number;
            it.bytes_in = bytes;
            it.waiting = 7;
        })
    }

    fn picture(
        cluster: u64,
        late: u64,
        connections: impl IntoIterator<Item = ConnectionGauges>,
    ) -> ClusterRow {
        // A cluster that is started again in place keeps its pid.
        let picture = ClusterPicture::new(Pid::local(1, 1)).with(|it| {
            it.number = cluster;
            it.connections = connections.into_iter().collect();
            it.stats = ClusterStats::default().with(|stats| stats.late = late);
        });
        ClusterRow::new(picture, None, false)
    }

    fn late(numbers: &ClusterNumbers) -> u64 {
        numbers.failures.iter().find(|(cause, _)| *cause == "late").unwrap().1
    }

    fn nodes(
        numbers: std::ops::Range<u64>,
        connections: u64,
    ) -> impl Iterator<Item = ConnectionGauges> {
        numbers.map(move |n| connection(&format!("n{n:03}@h"), connections + n, 2))
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
        let seen = totals.update(3, &picture(1, 4, [connection("b@h", 2, 11)]));
        assert_eq!(bytes(&seen), 111);
        let seen = totals.update(4, &picture(1, 4, []));
        assert_eq!((bytes(&seen), seen.nodes["b@h"].waiting), (111, 0));
        // The cluster was started again: it numbers and counts anew.
        let seen = totals.update(5, &picture(1, 4, [connection("b@h", 3, 1)]));
        assert_eq!((bytes(&seen), late(&seen)), (112, 4));
        let seen = totals.update(6, &picture(2, 1, [connection("b@h", 3, 5)]));
        assert_eq!((bytes(&seen), late(&seen)), (117, 5));
        // An old picture lowers nothing.
        let seen = totals.update(4, &picture(1, 4, []));
        assert_eq!((bytes(&seen), seen.nodes["b@h"].waiting, late(&seen)), (117, 7, 5));
    }

    #[test]
    fn v92_beyond_a_hundred_names_nodes_are_summed() {
        let totals = ClusterTotals::default();
        let seen = totals.update(1, &picture(1, 0, nodes(0..250, 0)));
        assert_eq!(seen.nodes.len(), NODES + 1);
        assert_eq!(seen.nodes[OTHER].counters.bytes_in, 2 * (250 - NODES as u64));
        // A node keeps its label when it comes again.
        totals.update(2, &picture(1, 0, []));
        let seen = totals.update(3, &picture(1, 0, nodes(50..100, 1_000)));
        assert_eq!((seen.nodes.len(), seen.nodes["n070@h"].counters.bytes_in), (NODES + 1, 4));
    }

    #[test]
    fn v92_a_node_that_is_lost_gives_its_label_to_another_one() {
        let totals = ClusterTotals::default();
        totals.update(1, &picture(1, 0, nodes(0..100, 0)));
        // All have labels. Two nodes are lost, one after the other; three come.
        totals.update(2, &picture(1, 0, nodes(0..99, 0)));
        totals.update(3, &picture(1, 0, nodes(1..99, 0)));
        let labels = |numbers: &ClusterNumbers, nodes: [&str; 4]| {
            nodes.map(|node| numbers.nodes.get(node).map(|it| it.counters.bytes_in))
        };
        let named = ["n099@h", "n000@h", "n100@h", "n101@h"];
        let one = nodes(1..99, 0).chain(nodes(100..101, 0));
        let seen = totals.update(4, &picture(1, 0, one));
        assert_eq!(labels(&seen, named), [None, Some(2), Some(2), None]);
        let all = nodes(1..99, 0).chain(nodes(100..103, 0));
        let seen = totals.update(5, &picture(1, 0, all));
        assert_eq!(labels(&seen, named), [None, None, Some(2), Some(2)]);
        assert_eq!((seen.nodes.len(), seen.nodes[OTHER].counters.bytes_in), (NODES + 1, 2));
        // Connections that are made anew, all at once, keep theirs.
        let seen = totals.update(6, &picture(2, 0, nodes(1..99, 0).chain(nodes(100..103, 0))));
        assert_eq!(labels(&seen, named), [None, None, Some(4), Some(4)]);
        assert_eq!(seen.nodes[OTHER].counters.bytes_in, 4);
    }
}
