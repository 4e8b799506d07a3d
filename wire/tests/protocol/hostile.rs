//! Tests of inputs that could exhaust a node: depth, false lengths, many small terms.

use krarup_wire::etf::{DecodeError, Decoder, Limits, Term};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Runs a function with a stack of 512 KiB.
fn with_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

/// Returns the openings and ends of nested terms with one element each.
fn openings() -> [(&'static str, &'static [u8], &'static [u8]); 6] {
    [
        ("tuples", &[104, 1], &[]),
        ("large tuples", &[105, 0, 0, 0, 1], &[]),
        ("lists", &[108, 0, 0, 0, 1], &[106]),
        ("improper lists", &[108, 0, 0, 0, 1], &[97, 1]),
        ("values of maps", &[116, 0, 0, 0, 1, 97, 1], &[]),
        ("keys of maps", &[116, 0, 0, 0, 1], &[97, 1]),
    ]
}

fn nested((_, open, close): (&str, &[u8], &[u8]), depth: usize) -> Vec<u8> {
    [open.repeat(depth), vec![106], close.repeat(depth)].concat()
}

#[test]
fn zterm6_all_operations_at_the_depth_limit_need_less_than_512_kib_of_stack() {
    for opening in openings() {
        with_small_stack(move || {
            let bytes = nested(opening, Limits::DEFAULT.depth);
            let read = || Decoder::new(&bytes).last_term().unwrap();
            let (one, other) = (read(), read());
            assert!(one == other, "{}", opening.0);
            assert!(one.compare(&other).is_eq() && one.cmp(&other).is_eq());
            let hash = |term: &Term| {
                let mut hasher = DefaultHasher::new();
                term.hash(&mut hasher);
                hasher.finish()
            };
            assert_eq!(hash(&one), hash(&other));
            assert!(one.to_string().len() > Limits::DEFAULT.depth);
            let mut written = Vec::new();
            one.write(&mut written).unwrap();
            // Encoded in the shortest form, which is that of the input except for large tuples.
            assert!(written == bytes || opening.0 == "large tuples");
            assert!(Decoder::new(&written).last_term().unwrap() == one);
            drop(other);
            let copy = one.clone();
            drop(one);
            drop(copy);
        });
    }
}

#[test]
fn zterm6_ten_million_levels_are_refused_at_the_limit() {
    for opening in openings() {
        let bytes = nested(opening, 10_000_000 / opening.1.len());
        let error = Decoder::new(&bytes).last_term().unwrap_err();
        assert!(matches!(error, DecodeError::Depth { limit: 2_048, .. }), "{}: {error}", opening.0);
    }
}

#[test]
fn zterm6_a_depth_limit_of_300_000_still_needs_no_stack() {
    let mut limits = Limits::DEFAULT;
    limits.depth = 300_000;
    for opening in openings() {
        with_small_stack(move || {
            let bytes = nested(opening, 300_000);
            let term = Decoder::with_limits(&bytes, limits).last_term().unwrap();
            assert!(term == term.clone());
        });
    }
}

#[test]
fn zterm5_a_false_length_is_an_error_for_every_tag() {
    for tag in 0..=255_u8 {
        for lie in [[255; 4], [127, 255, 255, 255], [0, 255, 255, 255], [128, 0, 0, 0]] {
            for rest in [&[][..], &[0; 3], &[97; 40], &[106; 40], &[119, 1, b'a', 97, 1]] {
                let bytes = [&[tag][..], &lie, rest].concat();
                let _ = Decoder::new(&bytes).last_term();
                // The same within another term.
                let inner = [&[104, 2, 106][..], &bytes].concat();
                let _ = Decoder::new(&inner).last_term();
            }
        }
    }
}

#[test]
fn zterm5_four_million_terms_are_read_and_one_more_is_an_error() {
    let list = |count: u32| {
        let count_bytes = count.to_be_bytes();
        [&[108][..], &count_bytes, &vec![106; count as usize + 1]].concat()
    };
    // The list itself and its end count.
    assert!(Decoder::new(&list(3_999_998)).last_term().is_ok());
    let error = Decoder::new(&list(3_999_999)).last_term().unwrap_err();
    assert!(matches!(error, DecodeError::Terms { limit: 4_000_000, .. }), "{error}");
}
