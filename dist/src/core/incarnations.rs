//! The numbers of other nodes: which node the number in a pid means.
//!
//! A number stands for one incarnation of a node: its name and its creation. Numbers are dealt
//! out once, so a node that restarts has another number, and pids of its earlier life name no
//! process of the new one (rules Zid4, Zid5).
//!
//! The table is bounded. When it is full, the oldest that no connection needs are forgotten: a pid with such a number
//! names nobody from then on, as one of a node that has ended.

use crate::peer::proxies::NAMED;
use krarup_wire::etf::Atom;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most incarnations that have connected and are known (rule Zid4).
const MOST_CONNECTED: usize = 32_768;
/// The most that are known because others have named them.
const MOST_NAMED: usize = 32_768;
/// How many are forgotten at once.
const AT_ONCE: usize = 1_024;

/// The known incarnations of other nodes.
#[derive(Debug, Default)]
pub(crate) struct Incarnations {
    numbers: HashMap<(Atom, u32), u32>,
    /// Those that have connected, by their numbers.
    connected: BTreeMap<u32, (Atom, u32)>,
    /// Those that others have named.
    named: BTreeMap<u32, (Atom, u32)>,
    /// The last number that was dealt out.
    last: u32,
}

impl Incarnations {
    /// Returns the number of an incarnation that a message has named.
    pub(crate) fn named(&mut self, node: &Atom, creation: u32) -> Option<u32> {
        let key = (node.clone(), creation);
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        if self.named.len() >= MOST_NAMED {
            let oldest = std::iter::from_fn(|| self.named.pop_first()).take(AT_ONCE);
            for (_, key) in oldest {
                self.numbers.remove(&key);
            }
        }
        let number = self.deal(key.clone())?;
        self.named.insert(number, key);
        Some(number)
    }

    /// Whether the oldest that have connected are forgotten when another one connects.
    pub(crate) fn is_full(&self) -> bool {
        self.connected.len() >= MOST_CONNECTED
    }

    /// Returns the number of an incarnation that connects. `up` are those that are connected now, and are kept.
    pub(crate) fn connecting(
        &mut self,
        node: &Atom,
        creation: u32,
        up: &HashSet<u32>,
    ) -> Option<u32> {
        let key = (node.clone(), creation);
        let known = self.numbers.get(&key).copied();
        if let Some(number) = known
            && self.connected.contains_key(&number)
        {
            return Some(number);
        }
        if self.is_full() {
            let is_over = |number: &&u32| !up.contains(number);
            let oldest: Vec<u32> =
                self.connected.keys().filter(is_over).take(AT_ONCE).copied().collect();
            for number in oldest {
                if let Some(key) = self.connected.remove(&number) {
                    self.numbers.remove(&key);
                }
            }
        }
        let number = match known {
            Some(number) => number,
            None => self.deal(key.clone())?,
        };
        self.named.remove(&number);
        self.connected.insert(number, key);
        Some(number)
    }

    /// Deals out the next number. The last ones stand for stand-ins that have no pids.
    fn deal(&mut self, key: (Atom, u32)) -> Option<u32> {
        let number = self.last.checked_add(1).filter(|number| *number < NAMED)?;
        self.last = number;
        self.numbers.insert(key, number);
        Some(number)
    }

    /// Returns the name and creation of the incarnation with this number, if it is known.
    pub(crate) fn get(&self, number: u32) -> Option<&(Atom, u32)> {
        self.connected.get(&number).or_else(|| self.named.get(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &'static str) -> Atom {
        Atom::fixed(name)
    }

    #[test]
    fn zid4_a_number_is_dealt_out_once_and_another_creation_has_another_number() {
        let (mut known, none) = (Incarnations::default(), HashSet::new());
        let shop = node("shop@host");
        assert_eq!(known.connecting(&shop, 7, &none), Some(1));
        assert_eq!(known.named(&shop, 8), Some(2));
        assert_eq!((known.named(&shop, 7), known.connecting(&shop, 7, &none)), (Some(1), Some(1)));
        assert_eq!(known.get(2), Some(&(shop.clone(), 8)));
        assert_eq!((known.get(0), known.get(3)), (None, None));
        // One that was named keeps its number when it connects.
        assert_eq!((known.connecting(&shop, 8, &none), known.named.len()), (Some(2), 0));
        assert_eq!(known.get(2), Some(&(shop, 8)));
    }

    #[test]
    fn zid4_any_number_of_incarnations_connects_and_those_that_are_up_are_kept() {
        let (mut known, shop) = (Incarnations::default(), node("shop@host"));
        let up: HashSet<u32> = [1, 3].into();
        let till = node("till@host");
        let numbers: Vec<u32> =
            (1..4).map(|creation| known.connecting(&till, creation, &up).unwrap()).collect();
        assert_eq!(numbers, [1, 2, 3]);
        for creation in 0..40_000 {
            assert_eq!(known.connecting(&shop, creation, &up), Some(creation + 4));
            assert!(
                known.connected.len() <= MOST_CONNECTED && known.numbers.len() <= MOST_CONNECTED
            );
        }
        // No number is dealt out a second time.
        let found = |number| known.get(number).map(|(_, creation)| *creation);
        assert_eq!((found(1), found(2), found(3), found(4)), (Some(1), None, Some(3), None));
        assert_eq!(found(40_003), Some(39_999));
        assert_eq!(known.connecting(&till, 2, &up), Some(40_004));
    }

    #[test]
    fn zid4_nodes_that_are_only_named_take_no_room_of_nodes_that_connect() {
        let (mut known, named, none) =
            (Incarnations::default(), node("named@host"), HashSet::new());
        let shop = known.connecting(&node("shop@host"), 7, &none).unwrap();
        for creation in 0..40_000 {
            assert_eq!(known.named(&named, creation), Some(creation + 2));
            assert!(known.named.len() <= MOST_NAMED && known.numbers.len() <= MOST_NAMED + 1);
        }
        assert_eq!(known.get(shop).map(|(_, creation)| *creation), Some(7));
        assert_eq!((known.get(2), known.get(40_001)), (None, Some(&(named, 39_999))));
        // The last number is not dealt out: it stands for names.
        known.last = NAMED - 2;
        assert_eq!(known.named(&node("a@host"), 1), Some(NAMED - 1));
        assert_eq!(known.named(&node("b@host"), 1), None);
    }
}
