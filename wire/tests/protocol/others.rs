//! Tests with two other libraries: each decodes the encoded terms to the same values, as
//! far as the library is correct. Neither supports native records. `erltf` 0.16 decodes
//! strings as texts, treats map keys that are equal by value as one key, and cannot decode
//! ports of 32 bits.

use crate::support::term;
use krarup_wire::etf::{
    Atom, BigInt, Bits, Export, ExternalPid, Float, Map, Port, Reference, Term,
};
use proptest::prelude::*;
use std::sync::Arc;

fn node(name: &str) -> Atom {
    Atom::new(name).unwrap()
}

fn bits(bytes: &[u8], last: u8) -> Term {
    Term::Bits(Arc::new(Bits::new(bytes, last).unwrap()))
}

fn from_eetf(term: &eetf::Term) -> Term {
    let all = |terms: &[eetf::Term]| terms.iter().map(from_eetf).collect::<Vec<_>>();
    match term {
        eetf::Term::Atom(atom) => node(&atom.name).into(),
        eetf::Term::FixInteger(number) => Term::Int(number.value.into()),
        eetf::Term::BigInteger(number) => {
            let negative = number.value.to_string().starts_with('-');
            BigInt::new(negative, &number.value.magnitude().to_bytes_le()).into()
        }
        eetf::Term::Float(float) => Float::new(float.value).unwrap().into(),
        eetf::Term::Pid(pid) => {
            let eetf::Pid { node: name, id, serial, creation } = pid;
            ExternalPid { id: *id, serial: *serial, node: node(&name.name), creation: *creation }
                .into()
        }
        eetf::Term::Port(port) => {
            Port { node: node(&port.node.name), creation: port.creation, id: port.id }.into()
        }
        eetf::Term::Reference(reference) => {
            let name = node(&reference.node.name);
            Reference::new(name, reference.creation, &reference.id).unwrap().into()
        }
        eetf::Term::ExternalFun(fun) => {
            let (module, function) = (node(&fun.module.name), node(&fun.function.name));
            Term::Export(Arc::new(Export { module, function, arity: fun.arity }))
        }
        eetf::Term::InternalFun(_) => panic!("filtered"),
        eetf::Term::Binary(binary) => Term::binary(&binary.bytes),
        eetf::Term::BitBinary(binary) => {
            // Its last byte has the significant bits at the lower end.
            let mut bytes = binary.bytes.clone();
            *bytes.last_mut().unwrap() <<= 8 - binary.tail_bits_size;
            bits(&bytes, binary.tail_bits_size)
        }
        eetf::Term::ByteList(list) => {
            Term::list(list.bytes.iter().map(|&byte| Term::Int(byte.into())))
        }
        eetf::Term::List(list) => Term::list(all(&list.elements)),
        eetf::Term::ImproperList(list) => {
            Term::list_with_tail(all(&list.elements), from_eetf(&list.last))
        }
        eetf::Term::Tuple(tuple) => Term::tuple(all(&tuple.elements)),
        eetf::Term::Map(map) => {
            let pairs = map.map.iter().map(|(key, value)| (from_eetf(key), from_eetf(value)));
            Map::new(pairs).unwrap().into()
        }
    }
}

fn from_erltf(term: &erltf::OwnedTerm) -> Term {
    use erltf::OwnedTerm;
    let all = |terms: &[OwnedTerm]| terms.iter().map(from_erltf).collect::<Vec<_>>();
    match term {
        OwnedTerm::Atom(atom) => node(atom.as_str()).into(),
        OwnedTerm::Integer(number) => Term::Int(*number),
        OwnedTerm::Float(float) => Float::new(*float).unwrap().into(),
        OwnedTerm::Pid(pid) => {
            let (id, serial, creation) = (pid.id, pid.serial, pid.creation);
            ExternalPid { id, serial, node: node(pid.node.as_str()), creation }.into()
        }
        OwnedTerm::Port(port) => {
            Port { node: node(port.node.as_str()), creation: port.creation, id: port.id }.into()
        }
        OwnedTerm::Reference(reference) => {
            let name = node(reference.node.as_str());
            Reference::new(name, reference.creation, &reference.ids).unwrap().into()
        }
        OwnedTerm::Binary(bytes) => Term::binary(bytes),
        OwnedTerm::BitBinary { bytes, bits: last } => bits(bytes, *last),
        OwnedTerm::List(terms) => Term::list(all(terms)),
        OwnedTerm::ImproperList { elements, tail } => {
            Term::list_with_tail(all(elements), from_erltf(tail))
        }
        OwnedTerm::Tuple(terms) => Term::tuple(all(terms)),
        OwnedTerm::BigInt(number) => {
            BigInt::new(matches!(number.sign, erltf::Sign::Negative), &number.digits).into()
        }
        OwnedTerm::ExternalFun(fun) => {
            let (module, function) = (node(fun.module.as_str()), node(fun.function.as_str()));
            Term::Export(Arc::new(Export { module, function, arity: fun.arity }))
        }
        OwnedTerm::Nil => Term::nil(),
        OwnedTerm::String(_) | OwnedTerm::Map(_) | OwnedTerm::InternalFun(_) => panic!("filtered"),
    }
}

/// Whether a term and all its nested terms satisfy a condition.
fn all(term: &Term, taken: fn(&Term) -> bool) -> bool {
    taken(term)
        && match term {
            Term::Tuple(elements) | Term::List(elements) => {
                elements.iter().all(|term| all(term, taken))
            }
            Term::Improper(list) => {
                list.elements().iter().chain([list.tail()]).all(|term| all(term, taken))
            }
            Term::Map(map) => map.iter().all(|(key, value)| all(key, taken) && all(value, taken)),
            _ => true,
        }
}

fn known_to_eetf(term: &Term) -> bool {
    !matches!(term, Term::Fun(_) | Term::Record(_))
}

fn known_to_erltf(term: &Term) -> bool {
    let is_string = |elements: &[Term]| {
        let is_byte = |term: &Term| matches!(term, Term::Int(0..=255));
        !elements.is_empty() && elements.iter().all(is_byte)
    };
    match term {
        Term::Fun(_) | Term::Record(_) | Term::Map(_) => false,
        Term::Port(port) => port.id >= 1 << 28,
        Term::List(elements) => !is_string(elements),
        _ => true,
    }
}

proptest! {
    #[test]
    fn zterm11_eetf_reads_encoded_terms_to_the_same_values(
        term in term().prop_filter("known", |term| all(term, known_to_eetf))
    ) {
        let read = eetf::Term::decode(&term.encode().unwrap()[..]).unwrap();
        prop_assert_eq!(from_eetf(&read), term);
    }

    #[test]
    fn zterm11_erltf_reads_encoded_terms_to_the_same_values(
        term in term().prop_filter("known", |term| all(term, known_to_erltf))
    ) {
        let read = erltf::decode(&term.encode().unwrap()).unwrap();
        prop_assert_eq!(from_erltf(&read), term);
    }
}
