//! Shared by several test files: recordings, random terms, mutations.
#![allow(dead_code)] // Each test file uses a part.

use krarup_wire::etf::{
    Atom, BigInt, Bits, Elements, Export, ExternalPid, Float, Fun, Map, Port, Record, Reference,
    Term,
};
use proptest::prelude::*;
use std::sync::Arc;

/// Returns the bytes of a hexadecimal text.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

/// Returns the lines of a recording without comments.
pub(crate) fn lines(recording: &str) -> impl Iterator<Item = &str> {
    recording.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

/// Atoms of every kind, including long ones.
pub(crate) fn atom() -> impl Strategy<Value = Atom> {
    prop_oneof!["[a-z]{1,8}", "\\PC{0,12}", "x{250,255}", "€{85,255}"]
        .prop_map(|text| Atom::new(text).unwrap())
}

pub(crate) fn pid() -> impl Strategy<Value = ExternalPid> {
    let fields = (atom(), any::<u32>(), any::<u32>(), any::<u32>());
    fields.prop_map(|(node, id, serial, creation)| ExternalPid { id, serial, node, creation })
}

pub(crate) fn reference() -> impl Strategy<Value = Reference> {
    let fields = (atom(), any::<u32>(), prop::collection::vec(any::<u32>(), 1..=5));
    fields.prop_map(|(node, creation, words)| Reference::new(node, creation, &words).unwrap())
}

fn port() -> impl Strategy<Value = Port> {
    let id = prop_oneof![any::<u64>(), 0..1_u64 << 29];
    (atom(), any::<u32>(), id).prop_map(|(node, creation, id)| Port { node, creation, id })
}

fn float() -> impl Strategy<Value = Float> {
    any::<u64>().prop_filter_map("finite", |bits| Float::new(f64::from_bits(bits)))
}

fn leaf() -> impl Strategy<Value = Term> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        any::<i64>().prop_map(Term::Int),
        (-300_i64..300).prop_map(Term::Int),
        (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(negative, magnitude)| BigInt::new(negative, &magnitude).into()),
        float().prop_map(Term::Float),
        (-4_i32..4).prop_map(|n| Term::Float(Float::new(f64::from(n) / 2.0).unwrap())),
        atom().prop_map(Term::Atom),
        bytes().prop_map(Term::binary),
        (bytes(), 1_u8..8, any::<u8>()).prop_map(|(mut bytes, last, byte)| {
            bytes.push(byte);
            Term::Bits(Arc::new(Bits::new(&bytes, last).unwrap()))
        }),
        bytes().prop_map(|bytes| Term::list(bytes.into_iter().map(|byte| Term::Int(byte.into())))),
        Just(Term::nil()),
        pid().prop_map(Term::from),
        port().prop_map(Term::from),
        reference().prop_map(Term::from),
        (atom(), atom(), any::<u8>()).prop_map(|(module, function, arity)| {
            Term::Export(Arc::new(Export { module, function, arity }))
        }),
    ]
}

/// Terms of every kind.
pub(crate) fn term() -> impl Strategy<Value = Term> {
    leaf().prop_recursive(5, 60, 6, |inner| {
        let several = || prop::collection::vec(inner.clone(), 0..6);
        let identity =
            (any::<u8>(), any::<[u8; 16]>(), any::<u32>(), -5_i64..1 << 40, any::<u32>());
        prop_oneof![
            several().prop_map(Term::tuple),
            several().prop_map(Term::list),
            (several(), inner.clone())
                .prop_map(|(elements, tail)| Term::list_with_tail(elements, tail)),
            prop::collection::vec((inner.clone(), inner.clone()), 0..6)
                .prop_filter_map("different keys", |pairs| Map::new(pairs).ok().map(Term::from)),
            (identity, atom(), pid(), several()).prop_map(|(identity, module, pid, free)| {
                let (arity, uniq, index, old_index, old_uniq) = identity;
                let (old_uniq, free) = (old_uniq.into(), Elements::from(free));
                Term::Fun(Arc::new(Fun {
                    arity,
                    uniq,
                    index,
                    module,
                    old_index,
                    old_uniq,
                    pid,
                    free,
                }))
            }),
            (any::<u8>(), atom(), atom(), prop::collection::vec((atom(), inner.clone()), 0..4))
                .prop_map(|(flags, module, name, fields)| {
                    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
                    Term::Record(Arc::new(Record::new(flags, module, name, names, values).unwrap()))
                }),
        ]
    })
}

/// Changes a few bytes, truncates, or repeats a part, as the numbers determine.
pub(crate) fn mutate(bytes: &mut Vec<u8>, changes: &[(u8, u16, u8)]) {
    for &(kind, place, value) in changes {
        if bytes.is_empty() {
            return;
        }
        let at = usize::from(place) % bytes.len();
        match kind % 6 {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value % 8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, value),
            4 => drop(bytes.remove(at)),
            _ => {
                let part = bytes[at..].to_vec();
                bytes.extend(part.into_iter().take(value.into()));
            }
        }
    }
}
