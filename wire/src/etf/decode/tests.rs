//! Tests of the decoder, tag by tag and limit by limit.

use super::*;

fn decode(bytes: &[u8]) -> Result<Term, DecodeError> {
    Decoder::new(bytes).last_term()
}

#[test]
fn zterm6_nesting_is_limited_and_ten_million_levels_need_no_stack() {
    for opening in [&[104, 1][..], &[108, 0, 0, 0, 1], &[116, 0, 0, 0, 1]] {
        let deep = opening.repeat(10_000_000 / opening.len());
        assert!(matches!(decode(&deep), Err(DecodeError::Depth { limit: 2_048, .. })));
    }
    let nested = |depth: usize| [[104, 1].repeat(depth), vec![106]].concat();
    assert!(decode(&nested(2_048)).is_ok());
    assert!(matches!(decode(&nested(2_049)), Err(DecodeError::Depth { .. })));
}

#[test]
fn a_tail_that_is_a_list_is_joined_and_adds_no_depth() {
    let one_more = [108, 0, 0, 0, 1, 97, 7];
    let chain = [one_more.repeat(100_000), vec![106]].concat();
    assert!(matches!(decode(&chain), Ok(Term::List(elements)) if elements.len() == 100_000));
    let text = [&one_more[..], &[107, 0, 2, 8, 9]].concat();
    assert_eq!(decode(&text), Ok(Term::list([7, 8, 9].map(Term::Int))));
    let improper = [&one_more[..], &one_more, &[97, 8]].concat();
    assert_eq!(decode(&improper).unwrap().to_string(), "[7,7|8]");
    assert_eq!(decode(&[108, 0, 0, 0, 0, 97, 8]), Ok(Term::Int(8)));
    assert_eq!(decode(&[108, 0, 0, 0, 0, 104, 1, 97, 8]), Ok(Term::tuple([Term::Int(8)])));
    assert_eq!(decode(&[108, 0, 0, 0, 0, 108, 0, 0, 0, 0, 106]), Ok(Term::nil()));
}

#[test]
fn zterm4_tags_that_nodes_do_not_send_are_errors_with_their_place() {
    for tag in [80, 99, 101, 102, 103, 114, 117, 121, 0, 1, 68, 69, 131, 255] {
        let bytes = [&[104, 2, 106, tag][..], &[0; 64]].concat();
        assert_eq!(decode(&bytes), Err(DecodeError::Tag { offset: 3, tag }));
    }
}

#[test]
fn zterm5_announced_bytes_that_do_not_follow_are_an_error() {
    for opening in [108, 105, 116, 109, 111, 107, 118] {
        let bytes = [opening, 255, 255, 255, 255, 1];
        assert!(decode(&bytes).is_err(), "tag {opening}");
    }
    let claim = DecodeError::Claim { offset: 0, claimed: 3, left: 2 };
    assert_eq!(decode(&[104, 3, 106, 106]), Err(claim));
}

#[test]
fn zterm6_terms_and_lengths_of_integers_are_limited() {
    let limits = Limits { terms: 5, integer_bytes: 2, ..Limits::DEFAULT };
    let decode = |bytes: &[u8]| Decoder::with_limits(bytes, limits).last_term();
    assert!(decode(&[104, 4, 106, 106, 106, 106]).is_ok());
    assert!(matches!(decode(&[104, 5, 106, 106, 106, 106, 106]), Err(DecodeError::Terms { .. })));
    assert!(decode(&[107, 0, 4, 1, 2, 3, 4]).is_ok());
    assert!(matches!(decode(&[107, 0, 5, 1, 2, 3, 4, 5]), Err(DecodeError::Terms { .. })));
    assert!(decode(&[110, 2, 0, 1, 2]).is_ok());
    assert!(matches!(decode(&[110, 3, 0, 1, 2, 3]), Err(DecodeError::Integer { bytes: 3, .. })));
}

#[test]
fn zterm7_impossible_terms_are_errors() {
    let nan = [&[70][..], &f64::NAN.to_be_bytes()].concat();
    let infinite = [&[70][..], &f64::INFINITY.to_be_bytes()].concat();
    assert!(matches!(decode(&nan), Err(DecodeError::Float { .. })));
    assert!(matches!(decode(&infinite), Err(DecodeError::Float { .. })));
    assert!(matches!(decode(&[119, 1, 0xff]), Err(DecodeError::Utf8 { offset: 0 })));
    let long = [&[118, 1, 0][..], &[b'x'; 256]].concat();
    assert!(matches!(decode(&long), Err(DecodeError::AtomLength { characters: 256, .. })));
    for bits in [0, 9, 255] {
        assert!(matches!(decode(&[77, 0, 0, 0, 1, bits, 7]), Err(DecodeError::Bits { .. })));
    }
    assert!(matches!(decode(&[77, 0, 0, 0, 0, 3]), Err(DecodeError::Bits { .. })));
    assert_eq!(decode(&[77, 0, 0, 0, 1, 8, 7]), Ok(Term::binary([7])));
    let twice = [116, 0, 0, 0, 2, 97, 1, 97, 2, 97, 1, 97, 3];
    assert!(matches!(decode(&twice), Err(DecodeError::EqualKeys { .. })));
    let minus_zero = [&[70][..], &(-0.0_f64).to_be_bytes()].concat();
    assert_eq!(decode(&minus_zero).unwrap().to_string(), "-0.0");
}

#[test]
fn zterm7_a_short_atom_in_a_term_is_utf8_too() {
    assert_eq!(decode(&[104, 1, 119, 1, 0xff]), Err(DecodeError::Utf8 { offset: 2 }));
    let pid = [88, 119, 1, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4];
    assert_eq!(decode(&pid), Err(DecodeError::Utf8 { offset: 1 }));
    assert_eq!(decode(&[104, 1, 119, 2, 0xc3, 0xa9]), Ok(Term::tuple([Term::atom("é")])));
}

#[test]
fn zterm5_elements_of_a_list_and_a_map_that_cannot_follow_are_a_false_claim() {
    let list = DecodeError::Claim { offset: 0, claimed: 2, left: 2 };
    assert_eq!(decode(&[108, 0, 0, 0, 2, 106, 106]), Err(list));
    let map = DecodeError::Claim { offset: 0, claimed: 2, left: 3 };
    assert_eq!(decode(&[116, 0, 0, 0, 2, 106, 106, 106]), Err(map));
    let record = [67, 0, 0, 0, 2, 0, 119, 0, 119, 0, 119, 0, 106, 106, 106];
    let claim = DecodeError::Claim { offset: 0, claimed: 2, left: 5 };
    assert_eq!(decode(&record), Err(claim));
}

#[test]
fn zterm4_a_sign_is_0_or_1() {
    assert_eq!(decode(&[110, 1, 0, 5]), Ok(Term::Int(5)));
    assert_eq!(decode(&[110, 1, 1, 5]), Ok(Term::Int(-5)));
    assert_eq!(decode(&[110, 1, 2, 5]), Err(DecodeError::Sign { offset: 0, sign: 2 }));
}

#[test]
fn zterm3_a_fun_is_as_long_as_it_says() {
    for free in [0_u8, 1] {
        let fun = |size: u8| {
            let mut bytes = vec![112, 0, 0, 0, size, 1];
            bytes.extend([7; 16]);
            bytes.extend([0, 0, 0, 2, 0, 0, 0, free, 119, 1, b'm', 97, 3, 97, 4]);
            bytes.extend([88, 119, 1, b'n', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4]);
            bytes.extend([106].repeat(free.into()));
            decode(&bytes)
        };
        let size = 4 + 1 + 16 + 8 + 3 + 4 + 16 + free;
        assert!(matches!(fun(size), Ok(Term::Fun(_))), "{:?}", fun(size));
        for wrong in [0, size - 1, size + 1, 255] {
            let (offset, claimed, found) = (0, wrong.into(), size.into());
            assert_eq!(fun(wrong), Err(DecodeError::FunSize { offset, claimed, found }));
        }
    }
}

#[test]
fn atoms_of_c_nodes_are_latin_1() {
    // The bytes of a character in UTF-8 are two characters.
    assert_eq!(decode(&[115, 2, 0xc3, 0xa9]), Ok(Term::Atom(Atom::fixed("Ã©"))));
    assert_eq!(decode(&[115, 2, 0xe5, b'x']), Ok(Term::Atom(Atom::fixed("åx"))));
    assert_eq!(decode(&[100, 0, 1, 0xff]), Ok(Term::Atom(Atom::fixed("ÿ"))));
}

#[test]
fn zmsg7_cached_atoms_are_those_of_the_header() {
    let cached = [Atom::fixed("a"), Atom::fixed("b")];
    let read = |bytes: &[u8]| Decoder::new(bytes).cached(&cached).last_term();
    assert_eq!(read(&[82, 1]), Ok(Term::atom("b")));
    let error = DecodeError::CachedAtom { offset: 0, index: 2, known: 2 };
    assert_eq!(read(&[82, 2]), Err(error));
}

#[test]
fn zterm3_a_native_record_is_read_with_its_names_and_flags() {
    let bytes = [67, 0, 0, 0, 1, 1, 119, 1, b'm', 119, 1, b'r', 119, 1, b'x', 97, 5];
    let term = decode(&bytes).unwrap();
    let Term::Record(record) = &term else { panic!("{term}") };
    assert_eq!(record.flags(), 1);
    assert_eq!(record.fields(), ["x"].map(Atom::fixed));
    assert_eq!(record.values(), [Term::Int(5)]);
}

#[test]
fn the_length_of_a_list_is_told_before_it_is_read() {
    for (bytes, length) in [
        (&[108, 0, 0, 0, 1, 97, 7, 106][..], Some(1)),
        (&[108, 0, 0, 0, 2, 97, 7, 97, 7, 97, 8], Some(2)),
        // Its elements cannot follow.
        (&[108, 0, 0, 0, 9, 97, 7, 106], None),
        (&[106], None),
        (&[107, 0, 1, 7], None),
        (&[104, 0], None),
        (&[], None),
    ] {
        let decoder = Decoder::new(bytes);
        assert_eq!((decoder.list_length(), decoder.offset()), (length, 0), "{bytes:?}");
    }
}
