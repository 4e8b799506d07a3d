//! A node that serves another one while somebody else attacks it.

use super::raw::{LONG, until};
use super::{Member, Order, pair};
use krarup_dist::ClusterCalls;

/// A node with a worker, and another one that uses it.
pub(crate) fn served(label: &str) -> (Member, Member) {
    let (a, b) = pair(label);
    a.worker("stock");
    assert!(works(&a, &b));
    (a, b)
}

/// Whether the second node is served by the first.
pub(crate) fn works(a: &Member, b: &Member) -> bool {
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    stock.call(|reply| Order::Add(1, 1, reply)).timeout(LONG).wait() == Ok(2)
}

/// An item of the inspection of a cluster.
pub(crate) fn table(of: &Member, item: &str) -> u64 {
    let inspection = of.node.inspect(of.cluster.pid()).wait().unwrap();
    inspection.number(item).unwrap()
}

/// Waits until nothing is open but the connection of the other node.
pub(crate) fn only_the_other_is_left(a: &Member, processes: usize) {
    until("closed connections are gone", || {
        table(a, "connections") == 1
            && table(a, "handshakes") == 0
            && a.node.processes().len() == processes
    });
    assert_eq!(a.cluster.nodes().unwrap().len(), 1);
}
