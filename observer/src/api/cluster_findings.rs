//! What is found of the cluster: nodes that are kept and do not come, connections without room.
//! Pure.

use crate::api::finding::{Finding, Severity};
use crate::sampling::cluster_row::ClusterRow;

/// So many nodes of which the same is found are named one by one.
const NAMED_NODES: usize = 3;
/// How often in succession a kept node was not connected until it is told.
const FAILURES: u32 = 3;

/// What is found of the cluster.
pub(crate) fn of_cluster(row: &ClusterRow) -> Vec<Finding> {
    let missing = row.not_connected().filter(|kept| kept.failures >= FAILURES).map(|kept| {
        let (node, failures) = (kept.node.to_string(), kept.failures);
        let text = format!("{node} is kept and not connected: it failed {failures} times");
        Finding::new("kept_node_missing", Severity::Warning, text).named(node)
    });
    let full = row.connections().filter_map(|(connection, changes)| {
        let (node, waiting, refused) = (&connection.node, connection.waiting, changes.refused);
        let text = if waiting > row.picture.bound {
            format!("the connection to {node} has no room: {waiting} bytes wait")
        } else if refused > 0 {
            format!("the connection to {node} refused {refused} since the walk before")
        } else {
            return None;
        };
        let finding = Finding::new("connection_full", Severity::Warning, text);
        let finding = finding.since_known(changes.full);
        // The process of a connection has no name.
        Some(match connection.process {
            Some(pid) => finding.of(pid, None),
            None => finding,
        })
    });
    let mut found = few(missing.collect(), "kept nodes are missing");
    found.extend(few(full.collect(), "connections are full"));
    found
}

/// All of these of one code, or the first of many with their number.
fn few(mut found: Vec<Finding>, many: &str) -> Vec<Finding> {
    let count = found.len();
    if count > NAMED_NODES {
        found.truncate(1);
        let one = &mut found[0].text;
        *one = format!("{count} {many}, one of them: {one}");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::{ClusterPicture, ConnectionGauges, KeptNode, NodeName, Pid, Timestamp};
    use std::time::Duration;

    fn node(number: u32) -> NodeName {
        NodeName::new(format!("n{number}@h")).unwrap()
    }

    /// The codes and the texts of what is found after two pictures, a second apart.
    fn found(first: ClusterPicture, second: ClusterPicture) -> Vec<(&'static str, String)> {
        let window = Duration::from_secs(1);
        let first = ClusterRow::new(first, None, false);
        let second = ClusterRow::new(second, Some((&first, window)), false);
        let found = of_cluster(&second).into_iter();
        found.map(|finding| (finding.code, finding.text)).collect()
    }

    fn kept(nodes: u32, failures: u32) -> ClusterPicture {
        let missing = |number| KeptNode::new(node(number)).with(|it| it.failures = failures);
        ClusterPicture::new(Pid::local(1, 1)).with(|it| it.kept = (0..nodes).map(missing).collect())
    }

    fn connected(connections: u32, waiting: usize, refusals: u64) -> ClusterPicture {
        let gauges = |number| {
            ConnectionGauges::new(node(number), 5, Timestamp::ZERO).with(|it| {
                it.waiting = waiting;
                it.refusals = refusals;
            })
        };
        ClusterPicture::new(Pid::local(1, 1)).with(|it| {
            it.bound = 100;
            it.connections = (0..connections).map(gauges).collect();
        })
    }

    #[test]
    fn v91_a_kept_node_is_found_after_three_failures_and_many_are_one_finding() {
        assert_eq!(found(kept(3, 2), kept(3, 2)), []);
        let three = found(kept(3, 3), kept(3, 3));
        assert_eq!(three.len(), 3);
        let text = "n0@h is kept and not connected: it failed 3 times";
        assert_eq!(three[0], ("kept_node_missing", text.to_owned()));
        let many = found(kept(50, 3), kept(50, 3));
        let text = format!("50 kept nodes are missing, one of them: {text}");
        assert_eq!(many, [("kept_node_missing", text)]);
        let again = kept(3, 9).with(|it| it.kept.iter_mut().for_each(|it| it.is_connected = true));
        assert_eq!(found(again.clone(), again), []);
    }

    #[test]
    fn v91_a_connection_is_found_while_it_has_no_room_or_refuses() {
        assert_eq!(found(connected(1, 100, 7), connected(1, 100, 7)), []);
        let text = "the connection to n0@h has no room: 101 bytes wait";
        let full = [("connection_full", text.to_owned())];
        assert_eq!(found(connected(1, 0, 0), connected(1, 101, 0)), full);
        let text = "the connection to n0@h refused 2 since the walk before";
        let refuses = [("connection_full", text.to_owned())];
        assert_eq!(found(connected(1, 0, 7), connected(1, 0, 9)), refuses);
        let many = found(connected(9, 0, 0), connected(9, 101, 0));
        assert_eq!(many.len(), 1);
        assert!(many[0].1.starts_with("9 connections are full, one of them: "), "{many:?}");
    }

    #[test]
    fn v91_a_connection_that_is_full_is_told_since_when_if_that_was_seen() {
        let window = Duration::from_secs(2);
        let mut row = ClusterRow::new(connected(1, 0, 0), None, false);
        let mut since = |waiting, refusals| {
            let before = Some((&row, window));
            row = ClusterRow::new(connected(1, waiting, refusals), before, false);
            of_cluster(&row).first().map(|found| found.since_ms)
        };
        assert_eq!(since(101, 0), Some(None), "at any moment of the two seconds");
        assert_eq!(since(150, 0), Some(Some(2000.0)));
        assert_eq!(since(100, 3), Some(Some(4000.0)), "there is room, and it has refused");
        assert_eq!(since(100, 3), None);
        assert_eq!(since(101, 3), Some(None));
    }
}
