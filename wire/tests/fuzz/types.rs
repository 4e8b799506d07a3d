//! Typed reads into every shape that serde knows.

use crate::targets::cached;
use krarup_wire::codec::{Structs, TermCodec};
use krarup_wire::etf::{Atom, Decoder, ExternalPid, Port, Reference, Term};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Unit;

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Id(u8);

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Pair(String, (), bool);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Fields {
    name: String,
    #[serde(default)]
    add: u64,
    x: Option<Box<Fields>>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum Message {
    Ok,
    Add(i64, u8, Option<String>),
    Error(Box<Message>),
    Name { x: Vec<Message>, add: Option<f64> },
    Nested(BTreeMap<String, Message>),
}

#[derive(Deserialize, Debug)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is only read")]
enum Untagged {
    Number(i128),
    Text(String),
    Many(Vec<Untagged>),
    Map(BTreeMap<String, Untagged>),
}

#[derive(Deserialize, Debug)]
#[expect(dead_code, reason = "it is only read")]
struct Flat {
    x: u8,
    #[serde(flatten)]
    others: HashMap<String, Untagged>,
}

#[derive(Deserialize, Debug)]
#[serde(tag = "name")]
#[expect(dead_code, reason = "it is only read")]
enum Tagged {
    Ok { x: u8 },
    Add(Fields),
}

/// Reads a value. An error is short, and a value that was read is written to bytes that are read
/// to the same value.
fn both<T: Serialize + DeserializeOwned + PartialEq + Debug>(codec: TermCodec, bytes: &[u8]) {
    let cached = cached();
    let value: T = match codec.read(Decoder::new(bytes).cached(&cached)) {
        Ok(value) => value,
        Err(error) => {
            assert!(error.to_string().len() < 100_000, "{} bytes", error.to_string().len());
            return;
        }
    };
    let mut written = Vec::new();
    // Reading accepts more than is written: half of the depth may be options, and keys may be
    // equal only once they are read.
    if codec.write(&value, &mut written).is_ok() {
        assert_eq!(codec.read::<T>(Decoder::new(&written)).unwrap(), value);
        let term = Decoder::new(&written).last_term().unwrap();
        let mut again = Vec::new();
        term.write(&mut again).unwrap();
        assert_eq!(again, written, "{term}");
    }
}

fn only_read<'de, T: Deserialize<'de>>(codec: TermCodec, bytes: &'de [u8]) {
    if let Err(error) = codec.read::<T>(Decoder::new(bytes)) {
        assert!(error.to_string().len() < 100_000);
    }
}

/// Reads the bytes as every type, without a version and behind one.
pub(crate) fn typed(bytes: &[u8]) {
    for structs in [Structs::Map, Structs::Tuple, Structs::Record] {
        let mut codec = TermCodec::DEFAULT;
        codec.structs = structs;
        for bytes in [bytes, bytes.get(1..).unwrap_or_default()] {
            both::<Message>(codec, bytes);
            both::<Fields>(codec, bytes);
        }
    }
    let codec = TermCodec::DEFAULT;
    let bytes = bytes.get(1..).unwrap_or_default();
    both::<(Term, Term)>(codec, bytes);
    both::<Vec<Term>>(codec, bytes);
    both::<BTreeMap<Term, Term>>(codec, bytes);
    both::<Term>(codec, bytes);
    both::<Atom>(codec, bytes);
    both::<Vec<Atom>>(codec, bytes);
    both::<ExternalPid>(codec, bytes);
    both::<Port>(codec, bytes);
    both::<Reference>(codec, bytes);
    both::<Unit>(codec, bytes);
    both::<(i8, u16, u128)>(codec, bytes);
    both::<Vec<Option<u8>>>(codec, bytes);
    both::<Vec<char>>(codec, bytes);
    both::<BTreeSet<Id>>(codec, bytes);
    both::<BTreeMap<Pair, Vec<bool>>>(codec, bytes);
    both::<HashMap<i128, String>>(codec, bytes);
    both::<Result<Unit, Vec<f64>>>(codec, bytes);
    both::<Result<(), Result<u64, i16>>>(codec, bytes);
    both::<[f32; 3]>(codec, bytes);
    both::<std::net::IpAddr>(codec, bytes);
    both::<std::time::Duration>(codec, bytes);
    only_read::<serde_json::Value>(codec, bytes);
    only_read::<Untagged>(codec, bytes);
    only_read::<Flat>(codec, bytes);
    only_read::<Tagged>(codec, bytes);
    only_read::<(&str, &[u8])>(codec, bytes);
    only_read::<serde::de::IgnoredAny>(codec, bytes);
}
