//! The numbers of other nodes: which node the number in a pid means.
//!
//! A number stands for one incarnation of a node: its name and its creation. Numbers are dealt
//! out once, so a node that restarts has another number, and pids of its earlier life name no
//! process of the new one (rules Zid4, Zid5).

use krarup_act::Host;
use krarup_wire::etf::Atom;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The most incarnations that are known (rule Zid4).
pub(super) const MOST: usize = 65_536;
/// The most that are known because they were named by others: the rest is for nodes that
/// connect.
pub(super) const MOST_NAMED: usize = MOST / 2;

/// The known incarnations of other nodes.
#[derive(Debug, Default)]
pub(crate) struct Incarnations {
    numbers: HashMap<(Atom, u32), u32>,
    /// The incarnation with number `n` is at index `n - 1`.
    known: Vec<(Atom, u32)>,
}

impl Incarnations {
    /// The incarnations that a node knows. They outlive its cluster: a cluster that is started
    /// again gives no number to another node.
    pub(crate) fn of_node(host: &dyn Host) -> Arc<Mutex<Incarnations>> {
        let Some(kept) = host.network_memory() else { return Arc::default() };
        let kept = kept.get_or_init(|| Arc::new(Mutex::new(Incarnations::default())));
        Arc::clone(kept).downcast().unwrap_or_default()
    }

    /// Returns the number of an incarnation, which is added if less than `most` are known.
    pub(crate) fn number(&mut self, node: &Atom, creation: u32, most: usize) -> Option<u32> {
        let key = (node.clone(), creation);
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        if self.known.len() >= most.min(MOST) {
            return None;
        }
        self.known.push(key.clone());
        let number = u32::try_from(self.known.len()).ok()?;
        self.numbers.insert(key, number);
        Some(number)
    }

    /// Returns the name and creation of the incarnation with this number.
    pub(crate) fn get(&self, number: u32) -> Option<&(Atom, u32)> {
        self.known.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zid4_a_number_is_dealt_out_once_and_another_creation_has_another_number() {
        let mut known = Incarnations::default();
        let shop = Atom::fixed("shop@host");
        assert_eq!(known.number(&shop, 7, MOST), Some(1));
        assert_eq!(known.number(&shop, 8, MOST), Some(2));
        assert_eq!(known.number(&shop, 7, MOST), Some(1));
        assert_eq!(known.get(2), Some(&(shop.clone(), 8)));
        assert_eq!((known.get(0), known.get(3)), (None, None));
        for creation in 9..9 + 65_534 {
            assert!(known.number(&shop, creation, MOST).is_some());
        }
        assert_eq!(known.number(&shop, 1, MOST), None);
    }

    #[test]
    fn zid4_nodes_that_are_only_named_leave_room_for_nodes_that_connect() {
        let (mut known, node) = (Incarnations::default(), Atom::fixed("named@host"));
        let named =
            (0..).take_while(|creation| known.number(&node, *creation, MOST_NAMED).is_some());
        assert_eq!(named.count(), MOST_NAMED);
        assert_eq!(known.number(&node, 7, MOST_NAMED), Some(8));
        assert!(known.number(&Atom::fixed("shop@host"), 7, MOST).is_some());
    }
}
