//! Tests of lists whose elements all fit into a byte. Such a list arrives as a string, where the
//! elements have no tags, and every type of element is read from it as from a list.
#![allow(
    clippy::needless_pass_by_value,
    reason = "the table below reads better without references"
)]

use krarup_wire::codec::TermCodec;
use krarup_wire::etf::{Decoder, Term};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Debug;

const CODEC: TermCodec = TermCodec::DEFAULT;

/// Asserts that the value is written as a string of these bytes, and that this and the same list
/// with tags are read as the value.
#[track_caller]
fn string<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
    let string = [&[107][..], &length, bytes].concat();
    let mut written = Vec::new();
    CODEC.write(&value, &mut written).unwrap();
    assert_eq!(written, string);
    assert_eq!(CODEC.read::<T>(Decoder::new(&string)).unwrap(), value);
    let count = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    let tagged: Vec<u8> = bytes.iter().flat_map(|&byte| [97, byte]).collect();
    let list = [&[108][..], &count, &tagged, &[106]].concat();
    assert_eq!(CODEC.read::<T>(Decoder::new(&list)).unwrap(), value);
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Id(u8);

#[test]
fn zterm9_a_string_is_a_list_of_any_type_that_small_integers_are_read_as() {
    string(vec![1_u8, 255], &[1, 255]);
    string(vec![1_i8, 127], &[1, 127]);
    string(vec![1_u64, 2], &[1, 2]);
    string(vec![1_i128, 2], &[1, 2]);
    string(vec!['a', 'ÿ'], &[b'a', 255]);
    string(vec![Some(1_u8), Some(2)], &[1, 2]);
    string(vec![Id(7)], &[7]);
    string(BTreeSet::from([Id(7), Id(8)]), &[7, 8]);
    string(vec![Some(Id(7))], &[7]);
    string(vec![Term::Int(7), Term::Int(8)], &[7, 8]);
    let floats = CODEC.read::<Vec<f64>>(Decoder::new(&[107, 0, 2, 1, 2])).unwrap();
    assert_eq!(floats, [1.0, 2.0]);
}

#[test]
fn zterm10_an_element_of_a_string_that_does_not_fit_is_named_as_in_a_list() {
    let error = |list: &[u8]| {
        let read = CODEC.read::<Vec<i8>>(Decoder::new(list));
        read.unwrap_err().to_string()
    };
    assert_eq!(error(&[107, 0, 2, 1, 200]), "element 2: expected i8, found integer 200");
    assert_eq!(error(&[107, 0, 2, 1, 200]), error(&[108, 0, 0, 0, 2, 97, 1, 97, 200, 106]));
    let error = CODEC.read::<Vec<bool>>(Decoder::new(&[107, 0, 1, 1])).unwrap_err();
    assert_eq!(error.to_string(), "element 1: expected bool, found integer 1");
}

/// Takes the first element of a list, and no more.
#[derive(PartialEq, Debug)]
struct First(u8);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;

        impl<'de> serde::de::Visitor<'de> for Take {
            type Value = First;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<First, A::Error> {
                let first = list.next_element()?;
                first.map(First).ok_or_else(|| serde::de::Error::custom("no element"))
            }
        }

        deserializer.deserialize_seq(Take)
    }
}

#[test]
fn zterm9_a_list_is_not_longer_than_what_its_type_takes() {
    let read = |bytes| CODEC.read::<First>(Decoder::new(bytes)).map_err(|error| error.to_string());
    let error = |found: &str| Err(format!("expected a shorter list, found list {found}"));
    assert_eq!(read(&[107, 0, 1, 7]), Ok(First(7)));
    assert_eq!(read(&[108, 0, 0, 0, 1, 97, 7, 106]), Ok(First(7)));
    assert_eq!(read(&[107, 0, 2, 7, 8]), error("[7,8]"));
    assert_eq!(read(&[108, 0, 0, 0, 2, 97, 7, 97, 8, 106]), error("[7,8]"));
    assert_eq!(read(&[108, 0, 0, 0, 1, 97, 7, 107, 0, 1, 8]), error("[7,8]"));
}
