//! Random terms: as values, and as bytes in encodings that OTP reads but does not write.

use crate::chance::Chance;
use krarup_wire::etf::{
    Atom, BigInt, Bits, Elements, Export, ExternalPid, Float, Fun, Map, Port, Record, Reference,
    Term,
};
use std::sync::Arc;

pub(crate) fn atom(chance: &mut Chance) -> Atom {
    const NAMES: [&str; 12] = [
        "ok",
        "error",
        "add",
        "undefined",
        "nil",
        "true",
        "x",
        "name",
        "a@b",
        "",
        "æ€",
        "$gen_call",
    ];
    match chance.below(8) {
        0 => Atom::new("n".repeat(chance.below(256))).unwrap(),
        1 => Atom::new("€".repeat(chance.below(256))).unwrap(),
        _ => Atom::fixed(NAMES[chance.below(NAMES.len())]),
    }
}

pub(crate) fn pid(chance: &mut Chance) -> ExternalPid {
    let (id, serial, creation) = (chance.word(), chance.word(), chance.word());
    ExternalPid { id, serial, node: atom(chance), creation }
}

pub(crate) fn reference(chance: &mut Chance) -> Reference {
    let words: Vec<u32> = (0..=chance.below(5)).map(|_| chance.word()).collect();
    Reference::new(atom(chance), chance.word(), &words).unwrap()
}

/// A term of at most some hundred parts.
pub(crate) fn term(chance: &mut Chance) -> Term {
    let mut left = chance.below(120);
    nested(chance, &mut left, 6)
}

fn several(chance: &mut Chance, left: &mut usize, depth: usize) -> Vec<Term> {
    let count = chance.below(7).min(*left);
    *left -= count;
    (0..count).map(|_| nested(chance, left, depth - 1)).collect()
}

fn nested(chance: &mut Chance, left: &mut usize, depth: usize) -> Term {
    match chance.below(if depth == 0 { 10 } else { 18 }) {
        0 => Term::Int(chance.edge().cast_signed()),
        1 => BigInt::new(chance.one_in(2), &chance.bytes(40)).into(),
        2 => Float::new(f64::from_bits(chance.next())).map_or(Term::nil(), Term::Float),
        3 => Term::binary(chance.bytes(30)),
        4 => {
            let last = u8::try_from(chance.below(7)).unwrap() + 1;
            Bits::new(&chance.bytes(9), last).map_or(Term::nil(), |bits| Term::Bits(Arc::new(bits)))
        }
        5 => pid(chance).into(),
        6 => Port { node: atom(chance), creation: chance.word(), id: chance.edge() }.into(),
        7 => reference(chance).into(),
        8 => {
            let (module, function) = (atom(chance), atom(chance));
            Term::Export(Arc::new(Export { module, function, arity: chance.byte() }))
        }
        9 => Term::Atom(atom(chance)),
        10 | 11 => Term::tuple(several(chance, left, depth)),
        12 | 13 => Term::list(several(chance, left, depth)),
        14 => Term::list_with_tail(several(chance, left, depth), nested(chance, left, depth - 1)),
        15 => {
            let (keys, values) = (several(chance, left, depth), several(chance, left, depth));
            Map::new(keys.into_iter().zip(values)).map_or(Term::nil(), Term::from)
        }
        16 => Term::Fun(Arc::new(Fun {
            arity: chance.byte(),
            uniq: [chance.byte(); 16],
            index: chance.word(),
            module: atom(chance),
            old_index: chance.word().into(),
            old_uniq: chance.word().into(),
            pid: pid(chance),
            free: Elements::from(several(chance, left, depth)),
        })),
        _ => {
            let values = several(chance, left, depth);
            let names: Vec<Atom> = values.iter().map(|_| atom(chance)).collect();
            let (module, name) = (atom(chance), atom(chance));
            let record = Record::new(chance.byte(), module, name, names, values);
            Term::Record(Arc::new(record.unwrap()))
        }
    }
}

/// A term in bytes, with the version, in any encoding that a decoder accepts.
pub(crate) fn encoded_term(chance: &mut Chance) -> Vec<u8> {
    if chance.one_in(2) {
        return term(chance).encode().unwrap();
    }
    let mut out = vec![131];
    let mut left = chance.below(60);
    encode(chance, &mut left, 8, &mut out);
    out
}

fn encode(chance: &mut Chance, left: &mut usize, depth: usize, out: &mut Vec<u8>) {
    let count = if depth == 0 { 0 } else { chance.below(5).min(*left) };
    *left -= count;
    let kind = chance.below(17);
    leaf(kind, chance, out);
    let long = |tag: u8, out: &mut Vec<u8>| {
        out.push(tag);
        out.extend(u32::try_from(count).unwrap().to_be_bytes());
    };
    let parts = match kind {
        12 => {
            long(105, out);
            count
        }
        13 => {
            out.extend([104, u8::try_from(count).unwrap()]);
            count
        }
        14 => {
            long(108, out);
            count + 1
        }
        15 => {
            long(116, out);
            count * 2
        }
        16 => {
            long(67, out);
            out.extend([chance.byte(), 119, 1, b'm', 119, 1, b'r']);
            (0..count).for_each(|_| out.extend([119, 1, chance.byte() & 0x7f]));
            count
        }
        _ => 0,
    };
    (0..parts).for_each(|_| encode(chance, left, depth.saturating_sub(1), out));
}

/// Writes a term without parts, if this is the number of one.
fn leaf(kind: usize, chance: &mut Chance, out: &mut Vec<u8>) {
    match kind {
        0 => out.extend([97, chance.byte()]),
        1 => out.extend([98, 0, 0, 0, chance.byte()]),
        2 => out.extend([110, 2, chance.byte() & 1, chance.byte(), 0]),
        3 => out.extend([111, 0, 0, 0, 1, 0, chance.byte()]),
        4 => out.extend([115, 2, b'a', chance.byte()]),
        5 => out.extend([100, 0, 2, chance.byte(), b'x']),
        6 => out.extend([118, 0, 2, b'o', b'k']),
        7 => out.extend([82, chance.byte() & 3]),
        8 => out.extend([77, 0, 0, 0, 1, 8, chance.byte()]),
        9 => out.extend([107, 0, 2, chance.byte(), chance.byte()]),
        10 => out.extend([119, 2, b'o', b'k']),
        11 => {
            out.extend([89, 119, 1, b'n']);
            out.extend([chance.word(), chance.word()].map(u32::to_be_bytes).concat());
        }
        _ => {}
    }
}
