//! Tests of terms recorded from OTP. `golden/record.escript` made the recordings.

use crate::support::{hex, lines};
use krarup_wire::etf::Term;

const TERMS: &str = include_str!("../golden/terms.txt");
const ORDER: &str = include_str!("../golden/order.txt");

/// The parts of the recording: terms with their text, bytes alone, and two encodings of
/// one term.
fn parts() -> [Vec<&'static str>; 3] {
    let mut parts = TERMS.split("# HEX").skip(1).map(|part| lines(part).skip(1).collect());
    [(); 3].map(|()| parts.next().unwrap())
}

#[test]
fn zterm2_recorded_terms_are_read_written_back_byte_for_byte_and_printed_as_erlang_prints_them() {
    let [terms, ..] = parts();
    assert!(terms.len() > 250, "{}", terms.len());
    for line in terms {
        let (bytes, text) = line.split_once('\t').unwrap();
        let bytes = hex(bytes);
        let term = Term::decode(&bytes).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(term.encode().unwrap(), bytes, "{text}");
        assert_eq!(term.to_string(), text);
    }
}

#[test]
fn zterm2_recorded_identities_maps_and_funs_are_written_back_byte_for_byte() {
    let [_, identities, _] = parts();
    assert!(identities.len() > 50);
    for line in identities {
        let bytes = hex(line);
        let term = Term::decode(&bytes).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(term.encode().unwrap(), bytes, "{term}");
    }
}

#[test]
fn zterm2_terms_of_older_nodes_decode_to_the_same_values() {
    let [.., forms] = parts();
    assert_eq!(forms.len(), 8);
    for line in forms {
        let (old, new) = line.split_once('\t').unwrap();
        assert_eq!(Term::decode(&hex(old)).unwrap(), Term::decode(&hex(new)).unwrap());
    }
}

#[test]
fn terms_sort_as_in_erlang() {
    let sorted: Vec<_> = lines(ORDER)
        .map(|line| {
            let same = line.strip_prefix('=');
            (same.is_some(), Term::decode(&hex(same.unwrap_or(line))).unwrap())
        })
        .collect();
    assert!(sorted.len() > 70);
    for (at, (_, one)) in sorted.iter().enumerate() {
        let mut expected = std::cmp::Ordering::Equal;
        for (after, (same, other)) in sorted.iter().enumerate().skip(at) {
            if after > at && !same {
                expected = std::cmp::Ordering::Less;
            }
            assert_eq!(one.compare(other), expected, "{one} and {other}");
            assert_eq!(other.compare(one), expected.reverse(), "{other} and {one}");
            assert_eq!(one == other, after == at, "{one} and {other}");
        }
    }
}
