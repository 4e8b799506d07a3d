//! Which nodes are to be kept connected, and when each is dialled next (rule Zlive4).
//!
//! ```text
//!              keep                 up
//!   (not kept) ────► due ► dialling ────► up
//!                     ▲       │           │
//!        the wait is  │       │ failed    │ down
//!        over, news   │       ▼           │
//!                     └──── waiting ◄─────┘
//! ```
//!
//! The plan performs nothing: events and the time go in, the nodes to dial come out. The waits are
//! 1 s, then twice as long each time up to 60 s; chance takes up to a quarter of each, so that the
//! nodes of a cluster do not dial a restarted one all at once. News of a node end its wait. The
//! waits begin anew with news, and when a connection has lasted 60 s; then also the failures are
//! counted anew.

use krarup_gen::{KeptNode, NodeName};
use std::collections::BTreeMap;
use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait, and how long a connection must have lasted for waits to begin anew.
const LONGEST: Duration = Duration::from_secs(60);
/// Chance takes up to this part of a wait.
const CHANCE: u32 = 4;
/// A dial of which nothing is heard for so long has failed. Dials are given up after 7 s; this is
/// for one that was never begun, because the peer was being lost.
const FORGOTTEN: Duration = Duration::from_secs(20);
/// The most nodes that are kept because a discovery has named them.
const MOST_DISCOVERED: usize = 4_096;

/// Who wants a node to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptBy {
    /// Its name was given.
    Name,
    /// A discovery has found it.
    Discovery,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct KeepPlan {
    nodes: BTreeMap<NodeName, KeptEntry>,
}

#[derive(Clone, Debug)]
struct KeptEntry {
    by_name: bool,
    by_discovery: bool,
    phase: KeptPhase,
    /// In succession, which news do not end.
    failures: u32,
    /// How often the waits have doubled.
    doublings: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptPhase {
    Up {
        since: Duration,
    },
    /// `again`: there was news since the dial was begun.
    Dialling {
        until: Duration,
        again: bool,
    },
    Waiting {
        due: Duration,
    },
}

impl KeepPlan {
    pub(crate) fn contains(&self, node: &NodeName) -> bool {
        self.nodes.contains_key(node)
    }

    /// Keeps a node from now on.
    pub(crate) fn keep(&mut self, node: &NodeName, by: KeptBy, is_up: bool, now: Duration) {
        let discovered = self.nodes.values().filter(|entry| entry.by_discovery).count();
        if by == KeptBy::Discovery && discovered >= MOST_DISCOVERED {
            return;
        }
        let entry = self.nodes.entry(node.clone()).or_insert_with(|| KeptEntry {
            by_name: false,
            by_discovery: false,
            phase: if is_up {
                KeptPhase::Up { since: now }
            } else {
                KeptPhase::Waiting { due: now }
            },
            failures: 0,
            doublings: 0,
        });
        match by {
            KeptBy::Name => entry.by_name = true,
            KeptBy::Discovery => entry.by_discovery = true,
        }
    }

    /// One of those who want the node to be kept does not any more. Returns whether it did.
    pub(crate) fn unkeep(&mut self, node: &NodeName, by: KeptBy) -> bool {
        let Some(entry) = self.nodes.get_mut(node) else { return false };
        let wanted = match by {
            KeptBy::Name => &mut entry.by_name,
            KeptBy::Discovery => &mut entry.by_discovery,
        };
        let was_wanted = std::mem::take(wanted);
        if !entry.by_name && !entry.by_discovery {
            self.nodes.remove(node);
        }
        was_wanted
    }

    /// A connection to the node is up.
    pub(crate) fn up(&mut self, node: &NodeName, now: Duration) {
        if let Some(entry) = self.nodes.get_mut(node) {
            entry.phase = KeptPhase::Up { since: now };
        }
    }

    /// The connection to the node is lost.
    pub(crate) fn down(&mut self, node: &NodeName, now: Duration, random: u64) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        if let KeptPhase::Up { since } = entry.phase
            && now.saturating_sub(since) >= LONGEST
        {
            (entry.failures, entry.doublings) = (0, 0);
        }
        entry.fails(now, random);
    }

    /// A dial of the node has failed.
    pub(crate) fn failed(&mut self, node: &NodeName, now: Duration, random: u64) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        match entry.phase {
            KeptPhase::Dialling { again, .. } => {
                entry.fails(now, random);
                if again {
                    entry.at_once(now);
                }
            }
            // Somebody else has dialled it.
            KeptPhase::Up { .. } | KeptPhase::Waiting { .. } => {}
        }
    }

    /// A discovery has news of the node.
    pub(crate) fn news(&mut self, node: &NodeName, now: Duration) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        match &mut entry.phase {
            KeptPhase::Up { .. } => {}
            KeptPhase::Dialling { again, .. } => *again = true,
            KeptPhase::Waiting { .. } => entry.at_once(now),
        }
    }

    /// Returns the nodes to be dialled now, in the order of their names.
    pub(crate) fn due(&mut self, now: Duration, mut random: impl FnMut() -> u64) -> Vec<NodeName> {
        let mut due = Vec::new();
        for (node, entry) in &mut self.nodes {
            match entry.phase {
                KeptPhase::Waiting { due: at } if at <= now => {
                    entry.phase = KeptPhase::Dialling { until: now + FORGOTTEN, again: false };
                    due.push(node.clone());
                }
                KeptPhase::Dialling { until, .. } if until <= now => entry.fails(now, random()),
                _ => {}
            }
        }
        due
    }

    /// Returns when [`KeepPlan::due`] must be called next, if nothing happens before.
    pub(crate) fn next(&self) -> Option<Duration> {
        let next = self.nodes.values().filter_map(|entry| match entry.phase {
            KeptPhase::Up { .. } => None,
            KeptPhase::Dialling { until, .. } => Some(until),
            KeptPhase::Waiting { due } => Some(due),
        });
        next.min()
    }

    /// Describes the nodes, in the order of their names.
    pub(crate) fn describe(&self, now: Duration) -> Vec<KeptNode> {
        let describe = |(node, entry): (&NodeName, &KeptEntry)| {
            KeptNode::new(node.clone()).with(|kept| {
                kept.is_connected = matches!(entry.phase, KeptPhase::Up { .. });
                kept.failures = entry.failures;
                kept.dialled_in = match entry.phase {
                    KeptPhase::Waiting { due } => Some(due.saturating_sub(now)),
                    _ => None,
                };
            })
        };
        self.nodes.iter().map(describe).collect()
    }
}

impl KeptEntry {
    /// It has failed once more. Waits for the next dial, longer each time.
    fn fails(&mut self, now: Duration, random: u64) {
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.doublings).unwrap_or(u32::MAX));
        let longest = doubled.min(LONGEST);
        // A fraction of 32 bits.
        let fraction = u32::try_from(random >> 32).unwrap_or_default();
        let nanos = ((longest / CHANCE).as_nanos() * u128::from(fraction)) >> 32;
        let less = Duration::from_nanos(u64::try_from(nanos).unwrap_or_default());
        self.failures = self.failures.saturating_add(1);
        self.doublings = self.doublings.saturating_add(1);
        self.phase = KeptPhase::Waiting { due: now + longest.saturating_sub(less) };
    }

    /// The next dial is due, and the waits begin anew.
    fn at_once(&mut self, now: Duration) {
        self.doublings = 0;
        self.phase = KeptPhase::Waiting { due: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn node(name: &str) -> NodeName {
        NodeName::new(name).unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A plan that keeps one node, which has been dialled at 100 s.
    fn dialling() -> (KeepPlan, NodeName) {
        let (mut plan, b) = (KeepPlan::default(), node("b@h"));
        plan.keep(&b, KeptBy::Name, false, seconds(100));
        assert_eq!(plan.next(), Some(seconds(100)));
        assert_eq!(plan.due(seconds(100), || 0), slice::from_ref(&b));
        assert_eq!(plan.due(seconds(100), || 0), []);
        (plan, b)
    }

    #[test]
    fn zlive4_waits_double_from_one_second_to_sixty() {
        let (mut plan, b) = dialling();
        let (mut now, mut waits) = (seconds(100), Vec::new());
        for _ in 0..70 {
            plan.failed(&b, now, 0);
            let due = plan.next().unwrap();
            waits.push(due.saturating_sub(now).as_secs());
            let early = due.saturating_sub(Duration::from_nanos(1));
            assert_eq!(plan.due(early, || 0), []);
            assert_eq!(plan.due(due, || 0), slice::from_ref(&b));
            now = due;
        }
        assert_eq!(waits[..8], [1, 2, 4, 8, 16, 32, 60, 60]);
        assert!(waits[8..].iter().all(|wait| *wait == 60));
    }

    #[test]
    fn zlive4_chance_takes_up_to_a_quarter_of_a_wait() {
        for (random, least, most) in [(0, 1_000, 1_000), (u64::MAX, 750, 751), (1 << 63, 875, 875)]
        {
            let (mut plan, b) = dialling();
            plan.failed(&b, seconds(100), random);
            let wait = plan.next().unwrap().saturating_sub(seconds(100)).as_millis();
            assert!((least..=most).contains(&wait), "{random}: {wait}");
        }
    }

    #[test]
    fn zlive4_a_lost_node_is_dialled_after_a_second_and_waits_begin_anew_after_a_minute() {
        let (mut plan, b) = dialling();
        for _ in 0..3 {
            plan.failed(&b, seconds(100), 0);
            let due = plan.next().unwrap();
            plan.due(due, || 0);
        }
        plan.up(&b, seconds(200));
        assert_eq!((plan.next(), plan.due(seconds(999), || 0)), (None, vec![]));
        assert_eq!(plan.describe(seconds(200))[0].failures, 3);
        // It has not lasted for a minute: the fourth wait.
        plan.down(&b, seconds(259), 0);
        assert_eq!(plan.next(), Some(seconds(259 + 8)));
        plan.up(&b, seconds(300));
        plan.down(&b, seconds(360), 0);
        assert_eq!(plan.next(), Some(seconds(361)));
    }

    #[test]
    fn zlive4_news_end_a_wait_and_repeat_a_dial_under_way_that_fails() {
        let (mut plan, b) = dialling();
        for _ in 0..5 {
            plan.failed(&b, seconds(100), 0);
            plan.due(plan.next().unwrap(), || 0);
        }
        plan.failed(&b, seconds(200), 0);
        assert_eq!(plan.next(), Some(seconds(232)));
        plan.news(&b, seconds(203));
        assert_eq!(plan.due(seconds(203), || 0), slice::from_ref(&b));
        plan.news(&b, seconds(204));
        assert_eq!(plan.due(seconds(204), || 0), []);
        plan.failed(&b, seconds(205), 0);
        assert_eq!(plan.due(seconds(205), || 0), slice::from_ref(&b));
        plan.failed(&b, seconds(206), 0);
        assert_eq!(plan.next(), Some(seconds(207)));
        // News of a node that is connected, or not kept, change nothing.
        plan.up(&b, seconds(207));
        plan.news(&b, seconds(208));
        plan.news(&node("c@h"), seconds(208));
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn zlive4_a_node_that_is_told_again_and_again_and_fails_has_failed() {
        let (mut plan, b) = dialling();
        for failures in 1..=9 {
            // One time while it waits, the next while it is dialled.
            let now = seconds(100 + u64::from(failures));
            if failures % 2 == 0 {
                plan.news(&b, now);
            }
            plan.failed(&b, now, 0);
            let described = &plan.describe(now)[0];
            let waits = Duration::from_secs(u64::from(failures % 2));
            assert_eq!((described.failures, described.dialled_in), (failures, Some(waits)));
            plan.news(&b, now);
            assert_eq!(plan.due(now, || 0), slice::from_ref(&b));
        }
    }

    #[test]
    fn zlive4_a_node_is_kept_while_a_name_or_a_discovery_wants_it() {
        let (mut plan, b) = dialling();
        plan.keep(&b, KeptBy::Discovery, true, seconds(101));
        assert_eq!(plan.describe(seconds(101)).len(), 1);
        assert!(plan.unkeep(&b, KeptBy::Name) && plan.contains(&b));
        assert!(!plan.unkeep(&b, KeptBy::Name) && plan.contains(&b));
        assert!(plan.unkeep(&b, KeptBy::Discovery) && !plan.contains(&b));
        for event in [KeepPlan::down, KeepPlan::failed] {
            event(&mut plan, &b, seconds(102), 0);
        }
        plan.up(&b, seconds(102));
        assert_eq!(plan.next(), None);
        // One that is connected already is not dialled.
        plan.keep(&b, KeptBy::Name, true, seconds(103));
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn zlive4_a_dial_that_was_never_begun_is_tried_again_and_discovered_nodes_are_bounded() {
        let (mut plan, b) = dialling();
        assert_eq!(plan.next(), Some(seconds(120)));
        assert_eq!(plan.due(seconds(120), || 0), []);
        assert_eq!(plan.due(seconds(121), || 0), [b]);
        for number in 0..=MOST_DISCOVERED {
            plan.keep(&node(&format!("n{number}@h")), KeptBy::Discovery, false, seconds(0));
        }
        assert_eq!(plan.describe(seconds(0)).len(), MOST_DISCOVERED + 1);
    }
}
