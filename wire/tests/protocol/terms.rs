//! Properties of terms, for any value and any bytes.

use crate::support::{mutate, term};
use krarup_wire::etf::{Decoder, Limits, Map, Term};
use proptest::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

fn hash(term: &Term) -> u64 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}

proptest! {
    #[test]
    fn zterm1_any_term_round_trips_and_encodes_the_same_again(term in term()) {
        let bytes = term.encode().unwrap();
        let read = Term::decode(&bytes).unwrap();
        prop_assert_eq!(&read, &term);
        prop_assert_eq!(hash(&read), hash(&term));
        prop_assert_eq!(read.encode().unwrap(), bytes);
        prop_assert_eq!(read.to_string(), term.to_string());
    }

    #[test]
    fn zterm5_a_term_cut_anywhere_is_an_error(term in term()) {
        let bytes = term.encode().unwrap();
        for end in 0..bytes.len() {
            prop_assert!(Term::decode(&bytes[..end]).is_err(), "cut at {}", end);
        }
    }

    #[test]
    fn zterm5_a_term_read_from_mutated_bytes_round_trips(
        term in term(),
        changes in prop::collection::vec(any::<(u8, u16, u8)>(), 1..6),
    ) {
        let mut bytes = term.encode().unwrap();
        mutate(&mut bytes, &changes);
        if let Ok(read) = Term::decode(&bytes) {
            let written = read.encode().unwrap();
            prop_assert_eq!(Term::decode(&written).unwrap(), read);
        }
    }

    #[test]
    fn the_order_of_terms_is_total(a in term(), b in term(), c in term()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a == b, a.cmp(&b).is_eq());
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        let mut sorted = [&a, &b, &c];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
    }

    #[test]
    fn zterm8_the_hash_of_a_map_does_not_depend_on_the_order_of_its_pairs(
        pairs in prop::collection::vec((term(), term()), 0..5)
    ) {
        let turned: Vec<_> = pairs.iter().rev().cloned().collect();
        match (Map::new(pairs), Map::new(turned)) {
            (Ok(one), Ok(other)) => {
                let (one, other) = (Term::from(one), Term::from(other));
                prop_assert_eq!(hash(&one), hash(&other));
                prop_assert_eq!(one, other);
            }
            (one, other) => prop_assert!(one.is_err() && other.is_err()),
        }
    }

    #[test]
    fn limits_that_are_not_exceeded_change_nothing(term in term()) {
        let bytes = term.encode().unwrap();
        let limits = |terms| {
            let mut limits = Limits::DEFAULT;
            limits.terms = terms;
            limits
        };
        let read = |terms| Decoder::with_limits(&bytes[1..], limits(terms)).last_term();
        // As many terms as bytes suffice for every term except a string, whose bytes and
        // head all count.
        prop_assert_eq!(read(bytes.len() + 1).unwrap(), term);
        prop_assert!(read(0).is_err());
    }
}
