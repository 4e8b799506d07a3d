//! Changes of inputs: of single bytes, of lengths, and of whole terms.

use crate::chance::Chance;
use crate::generate;
use krarup_wire::etf::{Decoder, Map, Term};

/// The greatest length of an input.
const MOST_BYTES: usize = 100_000;

/// Changes an input in at most a few places, or not at all.
pub(crate) fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], chance: &mut Chance) {
    for _ in 0..chance.below(5) {
        change(bytes, corpus, chance);
        bytes.truncate(MOST_BYTES);
    }
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], chance: &mut Chance) {
    let at = chance.below(bytes.len());
    match chance.below(12) {
        _ if bytes.is_empty() => bytes.push(chance.byte()),
        0 => bytes[at] = chance.byte(),
        1 => bytes[at] ^= 1 << chance.below(8),
        2 => bytes.truncate(at),
        3 => bytes.insert(at, chance.byte()),
        4 => drop(bytes.remove(at)),
        5 => {
            let part = bytes[at..(at + chance.below(40)).min(bytes.len())].to_vec();
            let place = chance.below(bytes.len());
            bytes.splice(place..place, part);
        }
        6 => {
            // A length, and an announced one that is not what follows.
            let length = chance.word().to_be_bytes();
            let end = (at + 4).min(bytes.len());
            bytes[at..end].copy_from_slice(&length[..end - at]);
        }
        7 => {
            // The tag of another kind of term.
            const TAGS: [u8; 28] = [
                67, 70, 77, 80, 82, 88, 89, 90, 97, 98, 99, 100, 101, 104, 105, 106, 107, 108, 109,
                110, 111, 112, 113, 115, 116, 118, 119, 120,
            ];
            bytes[at] = *chance.choose(&TAGS);
        }
        8 => {
            let other = chance.choose(corpus);
            bytes.truncate(at);
            bytes.extend(&other[chance.below(other.len() + 1)..]);
        }
        9 => {
            let mut term = generate::encoded_term(chance);
            term.remove(0);
            bytes.splice(at..at, term);
        }
        10 => {
            // Many levels.
            const OPENINGS: [&[u8]; 3] = [&[104, 1], &[108, 0, 0, 0, 1], &[116, 0, 0, 0, 1, 97, 1]];
            let opening = OPENINGS[chance.below(OPENINGS.len())];
            let levels = 1 << chance.below(13);
            bytes.splice(at..at, opening.repeat(levels));
        }
        _ => change_term(bytes, chance),
    }
}

/// Reads a term, changes it as a tree, and writes it again.
fn change_term(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let Some((131, body)) = bytes.split_first() else { return };
    let Ok(term) = Decoder::new(body).last_term() else { return };
    if let Ok(changed) = changed(term, chance, 20).encode() {
        *bytes = changed;
    }
}

fn changed(term: Term, chance: &mut Chance, depth: usize) -> Term {
    if depth == 0 || chance.one_in(4) {
        return match chance.below(4) {
            0 => generate::term(chance),
            1 => Term::tuple([term.clone(), term]),
            2 => Term::list([term]),
            _ => Term::Int(chance.edge().cast_signed()),
        };
    }
    let inside = |elements: &[Term], chance: &mut Chance| -> Vec<Term> {
        let mut elements = elements.to_vec();
        if !elements.is_empty() {
            let at = chance.below(elements.len());
            match chance.below(6) {
                0 => drop(elements.remove(at)),
                1 => elements.push(elements[at].clone()),
                _ => elements[at] = changed(elements[at].clone(), chance, depth - 1),
            }
        }
        elements
    };
    match &term {
        Term::Tuple(elements) => Term::tuple(inside(elements, chance)),
        Term::List(elements) => Term::list(inside(elements, chance)),
        Term::Map(map) => {
            let (keys, values): (Vec<_>, Vec<_>) =
                map.iter().map(|(key, value)| (key.clone(), value.clone())).unzip();
            let (keys, values) = (inside(&keys, chance), inside(&values, chance));
            Map::new(keys.into_iter().zip(values)).map_or(term, Term::from)
        }
        _ => changed(term, chance, 0),
    }
}
