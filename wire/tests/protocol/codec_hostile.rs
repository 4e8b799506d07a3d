//! Tests of typed reads and writes at their limits: errors of a bounded length, the depth that
//! both directions share, keys that are equal, and values that have no term.

use krarup_wire::codec::{Extension, ExtensionValue, ReadCause, TermCodec, WriteTermError};
use krarup_wire::etf::{Decoder, ExternalPid, Limits, Term};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, HashMap};

const CODEC: TermCodec = TermCodec::DEFAULT;

fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, String> {
    CODEC.read(Decoder::new(bytes)).map_err(|error| error.to_string())
}

#[derive(Deserialize, Debug)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is only read")]
enum Untagged {
    Number(u8),
}

#[test]
fn zterm10_an_error_is_short_whatever_was_found() {
    let long = "x".repeat(1 << 20);
    let mut bytes = Vec::new();
    CODEC.write(&long, &mut bytes).unwrap();
    let as_key = [&[116, 0, 0, 0, 1][..], &bytes, &[106]].concat();
    let errors = [
        read::<i64>(&bytes).unwrap_err(),
        read::<ExternalPid>(&bytes).unwrap_err(),
        read::<Vec<bool>>(&bytes).unwrap_err(),
        read::<Untagged>(&bytes).unwrap_err(),
        read::<std::net::IpAddr>(&bytes).unwrap_err(),
        read::<Result<u8, u8>>(&bytes).unwrap_err(),
        read::<HashMap<String, bool>>(&as_key).unwrap_err(),
        read::<HashMap<bool, bool>>(&as_key).unwrap_err(),
        read::<HashMap<ExternalPid, bool>>(&as_key).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(error.len() < 1_000, "{} bytes: {:.80}", error.len(), error);
    }
}

#[test]
fn zterm6_a_term_in_a_typed_value_has_the_depth_of_the_limits() {
    let mut limits = Limits::DEFAULT;
    limits.depth = 10;
    let nested = |depth: usize| [[104, 1].repeat(depth), vec![106]].concat();
    let typed = |depth| {
        let bytes = [&[104, 2, 97, 1][..], &nested(depth)].concat();
        CODEC.read::<(u8, Term)>(Decoder::with_limits(&bytes, limits)).map(drop)
    };
    assert_eq!(typed(9), Ok(()));
    let error = typed(10).unwrap_err();
    let ReadCause::Decode(cause) = error.cause() else { panic!("{error}") };
    assert!(matches!(cause, krarup_wire::etf::DecodeError::Depth { limit: 10, .. }), "{error}");
}

#[test]
fn zterm6_a_term_in_a_typed_value_may_be_deeper_than_the_default() {
    let mut limits = Limits::DEFAULT;
    limits.depth = 5_000;
    let bytes = [[104, 1].repeat(4_000), vec![106]].concat();
    assert!(CODEC.read::<Term>(Decoder::with_limits(&bytes, limits)).is_ok());
}

/// A list that counts three levels for each element: the newtype, the option and the tuple.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Chain(Option<(Box<Chain>, End)>);

/// An atom, which counts a level as a variant with values does.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum End {
    Here,
}

#[test]
fn zterm11_what_is_written_is_not_too_deep_to_be_read() {
    let chain = |levels: usize| {
        (0..levels).fold(Chain(None), |inner, _| Chain(Some((inner.into(), End::Here))))
    };
    let mut deepest = 0;
    for levels in 0..300 {
        let (value, mut bytes) = (chain(levels), Vec::new());
        match CODEC.write(&value, &mut bytes) {
            Ok(()) => assert_eq!(CODEC.read::<Chain>(Decoder::new(&bytes)), Ok(value), "{levels}"),
            Err(error) => {
                assert_eq!(error, WriteTermError::Depth { limit: 256 });
                continue;
            }
        }
        deepest = levels;
    }
    assert!(deepest > 80, "{deepest}");
}

#[test]
fn zterm7_equal_keys_are_an_error_in_a_typed_read_too() {
    let twice = [116, 0, 0, 0, 2, 97, 1, 97, 2, 97, 1, 97, 3];
    let error = "at offset 13: two keys of the map are equal";
    assert_eq!(read::<HashMap<u8, u8>>(&twice), Err(error.to_owned()));
    assert_eq!(read::<BTreeMap<u8, u8>>(&twice), Err(error.to_owned()));
    // The same number in another encoding.
    let twice = [116, 0, 0, 0, 2, 97, 1, 97, 2, 98, 0, 0, 0, 1, 97, 3];
    assert!(read::<HashMap<u8, u8>>(&twice).is_err());
    let different = [116, 0, 0, 0, 2, 97, 1, 97, 2, 97, 2, 97, 3];
    assert_eq!(read::<HashMap<u8, u8>>(&different), Ok(HashMap::from([(1, 2), (2, 3)])));
}

#[test]
fn zterm9_an_unknown_key_of_a_struct_is_skipped_whatever_it_is() {
    #[derive(Deserialize, PartialEq, Debug)]
    struct Point {
        x: u8,
    }
    let unknown: [&[u8]; 5] =
        [&[109, 0, 0, 0, 1, 255], &[106], &[97, 1], &[104, 1, 106], &[119, 1, b'y']];
    for unknown in unknown {
        let map = [&[116, 0, 0, 0, 2][..], unknown, &[97, 9, 119, 1, b'x', 97, 5]].concat();
        assert_eq!(read::<Point>(&map), Ok(Point { x: 5 }), "{unknown:?}");
    }
}

/// A value that has no term.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TokenByte(u8);

impl Serialize for TokenByte {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("krarup.Token", &u64::from(self.0))
    }
}

/// Writes no term, after bytes that do not count.
struct NoTerms;

impl Extension for NoTerms {
    fn write(
        &mut self,
        _: &'static str,
        _: &ExtensionValue,
        out: &mut Vec<u8>,
    ) -> Result<bool, String> {
        out.push(97);
        Ok(false)
    }

    fn has_term(&self, _: &'static str) -> bool {
        false
    }

    fn read(&mut self, _: &'static str, _: Option<Term>) -> Result<ExtensionValue, String> {
        Ok(ExtensionValue::Number(0))
    }
}

#[test]
fn zterm11_a_value_without_a_term_never_leaves_bytes_that_are_not_a_term() {
    fn write<T: Serialize>(value: &T) -> Result<String, WriteTermError> {
        let mut out = Vec::new();
        let written = CODEC.write_with(value, &mut out, &mut NoTerms);
        if written.is_err() {
            assert!(out.is_empty());
        }
        written.map(|()| Decoder::new(&out).last_term().unwrap().to_string())
    }
    assert_eq!(write(&Ok::<_, ()>(TokenByte(0))), Ok("ok".to_owned()));
    assert_eq!(write(&Err::<(), _>(TokenByte(0))), Ok("error".to_owned()));
    assert_eq!(write(&(1, TokenByte(0))), Ok("{1}".to_owned()));
    assert_eq!(write(&vec![TokenByte(0), TokenByte(1)]), Ok("[]".to_owned()));
    let (value, key) = (BTreeMap::from([(1, TokenByte(0))]), BTreeMap::from([(TokenByte(0), 1)]));
    assert_eq!(write(&value), Ok("#{}".to_owned()));
    assert!(write(&key).is_err());
    assert!(write(&TokenByte(0)).is_err());
    assert!(write(&Some(TokenByte(0))).is_err());
}

#[test]
fn zterm11_a_value_over_a_default_limit_is_an_error_that_has_its_size_and_the_limit() {
    let error = |value: &dyn Fn(&mut Vec<u8>) -> Result<(), WriteTermError>| {
        let mut out = Vec::new();
        let error = value(&mut out).unwrap_err();
        assert!(out.is_empty());
        error.to_string()
    };
    let text = String::from_utf8(vec![b'x'; 140_000_000]).unwrap();
    let limit = "over the limit of 134213632 bytes";
    let said = format!("a message of at least 140000000 bytes is {limit}");
    assert_eq!(error(&|out| CODEC.write(&text, out)), said);
    // The rest is over the limit together with what is before it.
    let halves = (&text[..70_000_000], &text[..70_000_000]);
    let said = format!("a message of at least 140000007 bytes is {limit}");
    assert_eq!(error(&|out| CODEC.write(&halves, out)), said);
    let list = vec![7_u8; 4_100_000];
    let said = "a message of at least 3999937 terms is over the limit of 3999936 terms";
    assert_eq!(error(&|out| CODEC.write(&list, out)), said);
}
