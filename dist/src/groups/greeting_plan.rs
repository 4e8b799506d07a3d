//! Which nodes are greeted again, and when (rule Zpg7). The states are in the page of the module.
//!
//! Plain values: events and the time go in, the nodes to greet come out. Nothing here sends or has a
//! timer. A node is waiting from its first greeting until a scope of it is known: the waits are 1 s,
//! then twice as long each time up to 30 s. Most nodes answer within the first one.

use krarup_gen::Timestamp;
use krarup_wire::etf::Atom;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);

/// The connected nodes of which no scope is known.
#[derive(Debug, Default)]
pub(crate) struct GreetingPlan {
    waiting: BTreeMap<Atom, WaitingNode>,
    /// The same in the order of their times.
    in_order: BTreeSet<(Timestamp, Atom)>,
}

#[derive(Clone, Copy, Debug)]
struct WaitingNode {
    /// When it is greeted again.
    at: Timestamp,
    /// The wait that is over then.
    wait: Duration,
}

impl GreetingPlan {
    /// A node was greeted that has come up, or is up when this scope starts.
    pub(crate) fn greeted(&mut self, node: &Atom, now: Timestamp) {
        self.wait(node, now, FIRST);
    }

    /// The last known scope of a node has ended, and the node is still connected.
    pub(crate) fn scope_ended(&mut self, node: &Atom, now: Timestamp) {
        if !self.waiting.contains_key(node) {
            self.wait(node, now, FIRST);
        }
    }

    /// A scope of a node has answered, or its connection is lost.
    pub(crate) fn is_over(&mut self, node: &Atom) {
        if let Some(WaitingNode { at, .. }) = self.waiting.remove(node) {
            self.in_order.remove(&(at, node.clone()));
        }
    }

    /// The nodes that are to be greeted now, in the order of their times. Each waits twice as long
    /// from now on.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<Atom> {
        let due = self.in_order.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<Atom> = due.map(|(_, node)| node.clone()).collect();
        for node in &due {
            let wait = self.waiting.get(node).map_or(FIRST, |waiting| waiting.wait);
            self.wait(node, now, (wait * 2).min(LONGEST));
        }
        due
    }

    /// When the next node is to be greeted; `None` if all have answered.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.in_order.first().map(|(at, _)| *at)
    }

    /// How many nodes have not answered.
    pub(crate) fn count(&self) -> usize {
        self.waiting.len()
    }

    fn wait(&mut self, node: &Atom, now: Timestamp, wait: Duration) {
        self.is_over(node);
        let at = now + wait;
        self.waiting.insert(node.clone(), WaitingNode { at, wait });
        self.in_order.insert((at, node.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_millis(millis)
    }

    fn node(text: &'static str) -> Atom {
        Atom::fixed(text)
    }

    #[test]
    fn zpg7_a_node_is_greeted_less_and_less_often_until_it_answers() {
        let (mut plan, a) = (GreetingPlan::default(), node("a@host"));
        plan.greeted(&a, at(0));
        let mut times = Vec::new();
        while let Some(next) = plan.next().filter(|next| *next <= at(100_000)) {
            assert_eq!(plan.due(next), std::slice::from_ref(&a));
            times.push(next.since(Timestamp::ZERO).as_secs());
        }
        assert_eq!(times, [1, 3, 7, 15, 31, 61, 91]);
        // An end of its scope is no news of a node that waits.
        plan.scope_ended(&a, at(92_000));
        assert_eq!(plan.next(), Some(at(121_000)));
        // A new connection is.
        plan.greeted(&a, at(93_000));
        assert_eq!((plan.next(), plan.count()), (Some(at(94_000)), 1));
        plan.is_over(&a);
        assert_eq!((plan.next(), plan.count()), (None, 0));
        plan.is_over(&a);
        assert!(plan.due(at(200_000)).is_empty());
        plan.scope_ended(&a, at(200_000));
        assert_eq!(plan.next(), Some(at(201_000)));
    }

    #[test]
    fn zpg7_nodes_are_greeted_in_the_order_of_their_times() {
        let mut plan = GreetingPlan::default();
        let [a, b, c] = ["a@host", "b@host", "c@host"].map(node);
        for (node, now) in [(&b, 0), (&a, 500), (&c, 500)] {
            plan.greeted(node, at(now));
        }
        assert!(plan.due(at(999)).is_empty());
        assert_eq!(plan.due(at(1_000)), std::slice::from_ref(&b));
        assert_eq!(plan.due(at(1_500)), [a.clone(), c.clone()]);
        plan.is_over(&a);
        // A late look greets each once, and counts from now.
        assert_eq!(plan.due(at(60_000)), [b, c]);
        assert_eq!((plan.next(), plan.count()), (Some(at(64_000)), 2));
    }
}
