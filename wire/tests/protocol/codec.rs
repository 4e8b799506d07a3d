//! Tests of Rust types as terms: every row of the table, in both directions, and every
//! shape of serde.
#![allow(
    clippy::needless_pass_by_value,
    reason = "the tables below read better without references"
)]

use crate::support::{mutate, term};
use krarup_wire::codec::{
    Absent, Extension, ExtensionValue, Names, NoExtension, ReadCause, Structs, TermCodec,
    WriteTermError,
};
use krarup_wire::etf::{Atom, Decoder, ExternalPid, Map, Reference, Term};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;

const CODEC: TermCodec = TermCodec::DEFAULT;

/// Asserts that the value is encoded as this text, and decoded from it.
#[track_caller]
fn both<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, text: &str) {
    both_with(CODEC, value, text);
}

#[track_caller]
fn both_with<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    codec: TermCodec,
    value: T,
    text: &str,
) {
    let term = codec.to_term(&value).unwrap();
    assert_eq!(term.to_string(), text);
    assert_eq!(codec.from_term::<T>(&term).unwrap(), value);
}

/// Asserts that the term is decoded as this value.
#[track_caller]
fn from<T: DeserializeOwned + PartialEq + Debug>(term: Term, value: T) {
    assert_eq!(CODEC.from_term::<T>(&term).unwrap(), value, "{term}");
}

#[track_caller]
fn refused<T: DeserializeOwned + Debug>(term: Term, error: &str) {
    assert_eq!(CODEC.from_term::<T>(&term).unwrap_err().to_string(), error, "{term}");
}

fn atom(text: &'static str) -> Term {
    Term::atom(text)
}

fn ints(numbers: &[i64]) -> impl Iterator<Item = Term> {
    numbers.iter().copied().map(Term::Int)
}

fn float(value: f64) -> Term {
    Term::Float(krarup_wire::etf::Float::new(value).unwrap())
}

fn map(pairs: impl IntoIterator<Item = (Term, Term)>) -> Term {
    Map::new(pairs).unwrap().into()
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Foo;

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Meters(f64);

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Pair(i32, String);

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Point {
    x: i64,
    y: i64,
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Thing {
    name: String,
    #[serde(default)]
    count: u32,
    at: Option<i64>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
enum Command {
    Reset,
    FetchAll,
    Note(i64),
    Both((i64, i64)),
    Add(i64, i64),
    Move {
        x: i64,
    },
    #[serde(rename = "$special")]
    Special(u8),
    Nothing(),
    Empty {},
}

#[test]
fn zterm9_bool_unit_and_unit_structs_are_atoms() {
    both(true, "true");
    both(false, "false");
    both((), "ok");
    both(Foo, "foo");
    for term in [atom("undefined"), atom("nil"), Term::nil()] {
        from(term, ());
    }
    refused::<bool>(atom("yes"), "expected bool, found atom yes");
    refused::<Foo>(atom("bar"), "expected atom foo, found atom bar");
    refused::<()>(Term::Int(1), "expected ok, found integer 1");
}

#[test]
fn zterm9_integers_to_128_bits_and_characters_are_integers_in_range() {
    both(0_u8, "0");
    both(i64::MIN, "-9223372036854775808");
    both(u64::MAX, "18446744073709551615");
    both(i128::MIN, "-170141183460469231731687303715884105728");
    both(u128::MAX, "340282366920938463463374607431768211455");
    both('€', "8364");
    refused::<u8>(Term::Int(300), "expected u8, found integer 300");
    refused::<u8>(Term::Int(-1), "expected u8, found integer -1");
    refused::<i64>(
        CODEC.to_term(&u64::MAX).unwrap(),
        "expected i64, found integer 18446744073709551615",
    );
    refused::<u64>(Term::Int(-1), "expected u64, found integer -1");
    refused::<char>(Term::Int(0xd800), "expected a character, found integer 55296");
    refused::<i64>(float(1.0), "expected i64, found float 1.0");
    from(Term::Int(7), 7_u128);
}

#[test]
fn zterm9_floats_are_finite_and_read_from_exact_integers() {
    both(1.5_f64, "1.5");
    both(-0.0_f64, "-0.0");
    both(0.5_f32, "0.5");
    from(Term::Int(1 << 53), 9_007_199_254_740_992.0_f64);
    refused::<f64>(Term::Int((1 << 53) + 1), "expected f64, found integer 9007199254740993");
    refused::<f32>(float(1e300), "expected f32, found float 1.0e300");
    for value in [f64::NAN, f64::INFINITY] {
        assert!(matches!(CODEC.to_term(&value), Err(WriteTermError::Float { .. })));
    }
}

#[test]
fn zterm9_texts_are_binaries_and_read_from_lists_of_characters_and_atoms() {
    both("år €".to_owned(), "<<\"år €\"/utf8>>");
    from(Term::list(ints(&[97, 0xe5])), "aå".to_owned());
    from(Term::list(ints(&[97, 0x20ac])), "a€".to_owned());
    from(Term::nil(), String::new());
    from(atom("foo"), "foo".to_owned());
    refused::<String>(Term::binary([0xff]), "expected a text, found binary <<\"ÿ\">>");
    refused::<String>(Term::list([atom("a")]), "expected a text, found list [a]");
    refused::<String>(Term::Int(1), "expected a text, found integer 1");
}

/// A type that serializes as bytes.
#[derive(PartialEq, Debug)]
struct Blob(Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl serde::de::Visitor<'_> for Collect {
            type Value = Blob;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Blob, E> {
                Ok(Blob(bytes.to_vec()))
            }
        }

        deserializer.deserialize_bytes(Collect)
    }
}

#[test]
fn zterm9_bytes_are_binaries_and_read_from_lists_of_bytes() {
    both(Blob(vec![0, 255]), "<<0,255>>");
    from(Term::list(ints(&[1, 2])), Blob(vec![1, 2]));
    from(Term::nil(), Blob(Vec::new()));
    // A list of bytes that is not encoded as a string.
    let bytes = [108, 0, 0, 0, 2, 97, 1, 97, 2, 106];
    assert_eq!(CODEC.read::<Blob>(Decoder::new(&bytes)).unwrap(), Blob(vec![1, 2]));
    refused::<Blob>(Term::list(ints(&[1, 256])), "expected a binary, found list [1,256]");
}

#[test]
fn zterm9_vectors_and_sets_are_lists_and_bytes_are_read_from_binaries() {
    both(vec![1_u8, 2, 255], "[1,2,255]");
    both(vec![1_i64, 256], "[1,256]");
    both(vec![(); 2], "[ok,ok]");
    both(Vec::<i64>::new(), "[]");
    both(BTreeSet::from([1_i64, -2]), "[-2,1]");
    both(vec![vec![97_u8], vec![]], "[\"a\",[]]");
    from(Term::binary([1, 2]), vec![1_u8, 2]);
    // Lists in tail position are further elements. A tail that is not a list is an error.
    let joined = [108, 0, 0, 0, 1, 97, 1, 108, 0, 0, 0, 1, 97, 2, 107, 0, 1, 3];
    assert_eq!(CODEC.read::<Vec<i32>>(Decoder::new(&joined)).unwrap(), [1, 2, 3]);
    let improper = Term::list_with_tail(ints(&[1]), Term::Int(2));
    refused::<Vec<u8>>(improper, "expected a list that ends with [], found list [1|2]");
    refused::<Vec<u8>>(
        Term::list([Term::Int(1), atom("x")]),
        "element 2: expected u8, found atom x",
    );
    for count in [65_535, 65_536] {
        let list = vec![7_u8; count];
        let mut bytes = Vec::new();
        CODEC.write(&list, &mut bytes).unwrap();
        assert_eq!(bytes, {
            let mut canonical = Vec::new();
            Term::list(std::iter::repeat_n(Term::Int(7), count)).write(&mut canonical).unwrap();
            canonical
        });
    }
}

#[test]
fn zterm9_tuples_tuple_structs_and_arrays_are_tuples_of_that_arity() {
    both((1_u8, "x".to_owned()), "{1,<<\"x\">>}");
    both(Pair(1, String::new()), "{1,<<>>}");
    both([1_i64, 2, 3], "{1,2,3}");
    both([0_u8; 0], "{}");
    both(Meters(1.5), "1.5");
    refused::<(u8, u8)>(
        Term::tuple(ints(&[1])),
        "element 2: expected a tuple with 2 values, found tuple {1}",
    );
    refused::<(u8, u8)>(
        Term::tuple(ints(&[1, 2, 3])),
        "expected a tuple of 2, found tuple {1,2,3}",
    );
    refused::<(u8, u8)>(Term::list(ints(&[1, 2])), "expected a tuple of 2, found list [1,2]");
}

#[test]
fn zterm9_maps_are_maps_with_any_keys_and_keys_that_are_atoms_are_strings() {
    both(BTreeMap::from([(1_i64, true), (2, false)]), "#{1 => true,2 => false}");
    both(BTreeMap::from([("a".to_owned(), 1_u8)]), "#{<<\"a\">> => 1}");
    both(HashMap::from([((1_u8, 2_u8), 'a')]), "#{{1,2} => 97}");
    from(map([(atom("a"), Term::Int(1))]), HashMap::from([("a".to_owned(), 1_u8)]));
    refused::<HashMap<u8, u8>>(
        map([(atom("a"), Term::Int(1))]),
        "a key: expected u8, found atom a",
    );
    refused::<HashMap<u8, u8>>(
        map([(Term::Int(1), atom("b"))]),
        "field 1: expected u8, found atom b",
    );
    refused::<HashMap<u8, u8>>(Term::nil(), "expected a map, found list []");
}

#[test]
fn zterm9_structs_are_maps_and_unknown_keys_are_skipped() {
    both(Point { x: 1, y: -2 }, "#{x => 1,y => -2}");
    both(
        Thing { name: "n".into(), count: 3, at: None },
        "#{at => undefined,count => 3,name => <<\"n\">>}",
    );
    let elixir = map([
        (atom("__struct__"), atom("Elixir.Thing")),
        (Term::Int(5), Term::list([atom("x")])),
        (atom("name"), Term::binary("n")),
        (atom("more"), Term::tuple([map([]), Term::list_with_tail([Term::Int(1)], Term::Int(2))])),
        (atom("at"), atom("nil")),
    ]);
    from(elixir, Thing { name: "n".into(), count: 0, at: None });
    from(map([(Term::binary("x"), Term::Int(1)), (atom("y"), Term::Int(2))]), Point { x: 1, y: 2 });
    refused::<Point>(map([(atom("x"), Term::Int(1))]), "missing field `y`");
    let wrong = map([(atom("x"), Term::Int(1)), (atom("y"), Term::tuple([]))]);
    refused::<Point>(wrong, "field y: expected i64, found tuple {}");
}

#[test]
fn zterm9_options_are_undefined_or_the_value() {
    both(None::<u8>, "undefined");
    both(Some(1_u8), "1");
    from(atom("nil"), None::<u8>);
    from(Term::nil(), Some(Vec::<u8>::new()));
}

#[test]
fn zterm9_results_are_ok_and_error() {
    both(Ok::<i64, String>(1), "{ok,1}");
    both(Err::<i64, String>("no".into()), "{error,<<\"no\">>}");
    both(Ok::<(), String>(()), "ok");
    both(Err::<u8, ()>(()), "{error,ok}");
    both(Ok::<Result<(), ()>, ()>(Ok(())), "ok");
    both(Ok::<Option<u8>, ()>(None), "{ok,undefined}");
    from(Term::tuple([atom("ok"), atom("ok")]), Ok::<(), ()>(()));
    refused::<Result<u8, u8>>(atom("ok"), "ok: expected u8, found atom ok");
    let error = CODEC.from_term::<Result<u8, u8>>(&atom("maybe")).unwrap_err().to_string();
    assert!(error.starts_with("maybe: unknown variant `maybe`"), "{error}");
    assert!(CODEC.from_term::<Result<u8, u8>>(&Term::tuple([atom("ok")])).is_err());
}

#[test]
fn zterm9_variants_are_atoms_and_tuples_with_an_atom() {
    both(Command::Reset, "reset");
    both(Command::FetchAll, "fetch_all");
    both(Command::Note(5), "{note,5}");
    both(Command::Both((1, 2)), "{both,{1,2}}");
    both(Command::Add(2, 3), "{add,2,3}");
    both(Command::Move { x: 1 }, "{move,#{x => 1}}");
    both(Command::Special(1), "{'$special',1}");
    both(Command::Nothing(), "nothing");
    both(Command::Empty {}, "{empty,#{}}");
    let add = |elements: &[Term]| Term::tuple([&[atom("add")], elements].concat());
    refused::<Command>(
        add(&[Term::Int(1)]),
        "add, element 2: expected a tuple with 2 values, found tuple {add,1}",
    );
    refused::<Command>(
        add(&[Term::Int(1), Term::Int(2), Term::Int(3)]),
        "add: expected a variant with 2 values, found tuple {add,1,2,3}",
    );
    refused::<Command>(
        add(&[atom("foo"), Term::Int(2)]),
        "add, element 1: expected i64, found atom foo",
    );
    refused::<Command>(
        Term::tuple([atom("reset"), Term::Int(1)]),
        "reset: expected an atom, found tuple {reset,1}",
    );
    refused::<Command>(Term::tuple([]), "expected a variant of Command, found tuple {}");
    refused::<Command>(Term::Int(1), "expected a variant of Command, found integer 1");
    refused::<Command>(
        Term::tuple([Term::Int(1)]),
        "expected a variant of Command, found tuple {1}",
    );
}

#[test]
fn zterm10_an_error_contains_the_path_and_truncates_the_found_value() {
    type Nested = BTreeMap<String, Vec<(u8, Point)>>;
    let point = map([(atom("x"), Term::Int(1)), (atom("y"), Term::binary("long ".repeat(100)))]);
    let term = map([(atom("all"), Term::list([Term::tuple([Term::Int(1), point])]))]);
    let error = CODEC.from_term::<Nested>(&term).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(
        "field all, element 1, element 2, field y: expected i64, found binary <<\"long "
    ));
    assert!(text.ends_with("..") && text.len() < 200, "{text}");
    assert_eq!(error.path().count(), 4);
    assert!(matches!(error.cause(), ReadCause::Expected { .. }));
}

#[test]
fn zterm9_codec_options_apply_in_both_directions() {
    let mut codec = TermCodec::default();
    codec.names = Names::AsWritten;
    both_with(codec, Command::FetchAll, "'FetchAll'");
    both_with(codec, Foo, "'Foo'");
    let mut codec = TermCodec::default();
    codec.structs = Structs::Tuple;
    both_with(codec, Point { x: 1, y: 2 }, "{1,2}");
    both_with(codec, Command::Move { x: 1 }, "{move,1}");
    codec.structs = Structs::Record;
    both_with(codec, Point { x: 1, y: 2 }, "{point,1,2}");
    both_with(codec, Command::Move { x: 1 }, "{move,1}");
    let other = Term::tuple([atom("thing"), Term::Int(1), Term::Int(2)]);
    assert!(codec.from_term::<Point>(&other).is_err());
    let mut codec = TermCodec::default();
    codec.absent = Absent::Nil;
    both_with(codec, None::<u8>, "nil");
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Mixed {
    anything: Term,
    name: Atom,
    pid: ExternalPid,
    reference: Reference,
}

#[test]
fn zterm9_terms_atoms_and_identities_convert_to_themselves() {
    let node = Atom::fixed("a@b");
    let mixed = Mixed {
        anything: Term::list_with_tail([atom("x")], Term::Int(1)),
        name: Atom::fixed("shop"),
        pid: ExternalPid { id: 1, serial: 2, node: node.clone(), creation: 4 },
        reference: Reference::new(node, 4, &[1, 2]).unwrap(),
    };
    both(
        mixed.clone(),
        "#{anything => [x|1],name => shop,pid => <a@b.1.2>,reference => #Ref<a@b.2.1>}",
    );
    refused::<Atom>(Term::Int(1), "expected an atom, found integer 1");
    let error = CODEC.from_term::<ExternalPid>(&Term::Int(1)).unwrap_err().to_string();
    assert!(error.contains("expected a pid"), "{error}");
    // They survive another format too.
    let json = serde_json::to_string(&mixed).unwrap();
    assert_eq!(serde_json::from_str::<Mixed>(&json).unwrap(), mixed);
}

#[test]
fn zmsg7_typed_reads_know_cached_atoms() {
    let cached = [Atom::fixed("add"), Atom::fixed("undefined"), Atom::fixed("true")];
    let read =
        |bytes: &'static [u8]| Decoder::new(bytes).cached(Box::leak(Box::new(cached.clone())));
    let add = [104, 3, 82, 0, 97, 2, 97, 3];
    assert_eq!(CODEC.read::<Command>(read(Box::leak(Box::new(add)))).unwrap(), Command::Add(2, 3));
    assert_eq!(CODEC.read::<Option<bool>>(read(&[82, 1])).unwrap(), None);
    assert_eq!(CODEC.read::<Option<bool>>(read(&[82, 2])).unwrap(), Some(true));
    assert_eq!(CODEC.read::<Term>(read(&[104, 1, 82, 0])).unwrap(), Term::tuple([atom("add")]));
    assert!(CODEC.read::<Term>(read(&[104, 1, 82, 9])).is_err());
}

#[test]
fn a_typed_read_can_borrow_its_texts() {
    let mut bytes = Vec::new();
    CODEC.write(&("text", 1_u8), &mut bytes).unwrap();
    let (text, _) = CODEC.read::<(&str, u8)>(Decoder::new(&bytes)).unwrap();
    assert_eq!(text, "text");
}

/// A reply token as in a cluster: its number identifies a caller that is known elsewhere.
#[derive(PartialEq, Debug)]
struct Reply(u64);

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("krarup.Reply", &self.0)
    }
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Newtype;

        impl<'de> serde::de::Visitor<'de> for Newtype {
            type Value = Reply;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a token")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                inner: D,
            ) -> Result<Reply, D::Error> {
                u64::deserialize(inner).map(Reply)
            }
        }

        deserializer.deserialize_newtype_struct("krarup.Reply", Newtype)
    }
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum Calc {
    Add(i64, i64, Reply),
    Ask(Reply, i64),
    Total(Reply),
    Nested(Vec<Reply>),
    Take { article: u8, reply: Reply },
}

/// Replaces one token, the outermost, and encodes all others as `{from, Number}`.
#[derive(Default)]
struct Tokens {
    lent: Option<u64>,
}

impl Extension for Tokens {
    fn write(
        &mut self,
        name: &'static str,
        held: &ExtensionValue,
        out: &mut Vec<u8>,
    ) -> Result<bool, String> {
        let (ExtensionValue::Number(number), "krarup.Reply") = (held, name) else {
            return Err("unknown".into());
        };
        if self.lent.is_none() {
            self.lent = Some(*number);
            return Ok(false);
        }
        let from = Term::tuple([atom("from"), Term::Int(i64::try_from(*number).unwrap())]);
        from.write(out).map_err(|error| error.to_string()).map(|()| true)
    }

    fn has_term(&self, _: &'static str) -> bool {
        self.lent.is_none()
    }

    fn is_field_without_term(&self, field: &str) -> bool {
        field == "reply" && self.lent.is_some()
    }

    fn read(&mut self, _: &'static str, term: Option<Term>) -> Result<ExtensionValue, String> {
        match term {
            None => self
                .lent
                .take()
                .map(ExtensionValue::Number)
                .ok_or_else(|| "there is no caller".into()),
            Some(Term::Tuple(from)) => match &from[..] {
                [_, Term::Int(number)] => {
                    Ok(ExtensionValue::Number(u64::try_from(*number).unwrap()))
                }
                _ => Err("not a caller".into()),
            },
            Some(_) => Err("not a caller".into()),
        }
    }
}

#[test]
fn zterm9_a_token_field_has_no_element_in_any_position() {
    for (value, text) in [
        (Calc::Add(2, 3, Reply(7)), "{add,2,3}"),
        (Calc::Ask(Reply(7), 5), "{ask,5}"),
        (Calc::Total(Reply(7)), "total"),
        (Calc::Nested(vec![Reply(7)]), "{nested,[]}"),
        (Calc::Take { article: 5, reply: Reply(7) }, "{take,#{article => 5}}"),
    ] {
        let (mut out, mut tokens) = (Vec::new(), Tokens::default());
        CODEC.write_with(&value, &mut out, &mut tokens).unwrap();
        assert_eq!(Decoder::new(&out).last_term().unwrap().to_string(), text);
        assert_eq!(tokens.lent, Some(7));
        if !text.contains("nested") {
            assert_eq!(CODEC.read_with::<Calc>(Decoder::new(&out), &mut tokens).unwrap(), value);
            assert_eq!(tokens.lent, None);
        }
    }
    // Nested tokens have a term.
    let (mut out, mut tokens) = (Vec::new(), Tokens { lent: Some(1) });
    let nested = Calc::Nested(vec![Reply(8), Reply(9)]);
    CODEC.write_with(&nested, &mut out, &mut tokens).unwrap();
    assert_eq!(Decoder::new(&out).last_term().unwrap().to_string(), "{nested,[{from,8},{from,9}]}");
    tokens.lent = None;
    assert_eq!(CODEC.read_with::<Calc>(Decoder::new(&out), &mut tokens).unwrap(), nested);
    let take = Term::tuple([atom("take"), map([(atom("article"), Term::Int(5))])]);
    let missing = CODEC.from_term::<Calc>(&take).unwrap_err().to_string();
    assert_eq!(missing, "take: missing field `reply`");
    // A cast to a variant with a token, and a type that no extension encodes.
    let cast = CODEC.from_term::<Calc>(&atom("total")).unwrap_err().to_string();
    assert_eq!(cast, "total: expected a tuple with 1 values, found atom total");
    let error = CODEC.write_with(&Reply(1), &mut Vec::new(), &mut NoExtension);
    assert!(matches!(error, Err(WriteTermError::Extension { name: "krarup.Reply", .. })));
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum Tree {
    Leaf,
    Node(Box<Tree>),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Boxed(Option<Box<Boxed>>);

#[test]
fn zterm6_typed_reads_and_writes_are_limited_to_a_depth_of_256() {
    let tree = |depth| (0..depth).fold(Tree::Leaf, |tree, _| Tree::Node(Box::new(tree)));
    let term = |depth| (0..depth).fold(atom("leaf"), |term, _| Term::tuple([atom("node"), term]));
    // Rust values of this depth are dropped recursively.
    large_stack(|| {
        let error = CODEC.from_term::<Tree>(&term(2_000)).unwrap_err();
        assert_eq!(*error.cause(), ReadCause::Depth { limit: 256 });
        let mut out = vec![1, 2];
        assert_eq!(CODEC.write(&tree(2_000), &mut out), Err(WriteTermError::Depth { limit: 256 }));
        assert_eq!(out, [1, 2]);
        let boxed = (0..2_000).fold(Boxed(None), |boxed, _| Boxed(Some(Box::new(boxed))));
        assert_eq!(CODEC.to_term(&boxed), Err(WriteTermError::Depth { limit: 256 }));
        assert_eq!(CODEC.from_term::<Tree>(&term(255)).unwrap(), tree(255));
        assert_eq!(CODEC.to_term(&tree(255)).unwrap(), term(255));
        assert_eq!(CODEC.to_term(&tree(256)), Err(WriteTermError::Depth { limit: 256 }));
        let error = CODEC.from_term::<Tree>(&term(256)).unwrap_err();
        assert_eq!(*error.cause(), ReadCause::Depth { limit: 256 });
    });
}

/// Runs a function on a thread with this stack size.
fn with_stack(bytes: usize, run: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(bytes)
            .spawn_scoped(scope, run)
            .unwrap()
            .join()
            .unwrap();
    });
}

fn large_stack(run: impl FnOnce() + Send) {
    with_stack(16 << 20, run);
}

#[test]
fn zterm6_skipped_values_use_no_stack_at_any_depth() {
    with_stack(512 << 10, || {
        let deep = (0..1_000_000).fold(Term::nil(), |term, _| Term::tuple([term]));
        let thing = map([(atom("x"), Term::Int(1)), (atom("y"), Term::Int(2)), (atom("z"), deep)]);
        assert_eq!(CODEC.from_term::<Point>(&thing).unwrap(), Point { x: 1, y: 2 });
    });
}

#[test]
fn zterm6_a_typed_read_and_write_at_the_limit_need_less_than_512_kib_of_stack() {
    with_stack(512 << 10, || {
        let mut bytes = Vec::new();
        (0..255)
            .fold(atom("leaf"), |term, _| Term::tuple([atom("node"), term]))
            .write(&mut bytes)
            .unwrap();
        let tree = CODEC.read::<Tree>(Decoder::new(&bytes)).unwrap();
        let mut again = Vec::new();
        CODEC.write(&tree, &mut again).unwrap();
        assert_eq!(again, bytes);
    });
}

#[test]
fn zterm11_equal_keys_are_never_written() {
    struct Pairs(&'static [(i64, i64)]);

    impl Serialize for Pairs {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().copied())
        }
    }

    for pairs in [&[(1, 2), (3, 4), (1, 5)][..], &[(1, 2), (1, 5)], &[(1, 2), (3, 4), (3, 5)]] {
        assert_eq!(CODEC.to_term(&Pairs(pairs)), Err(WriteTermError::EqualKeys));
    }
    assert!(CODEC.to_term(&Pairs(&[(1, 2), (3, 4), (2, 5)])).is_ok());
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Shapes {
    numbers: (i8, u16, i32, u64, i128),
    text: String,
    character: char,
    float: f64,
    flag: bool,
    list: Vec<i32>,
    bytes: Vec<u8>,
    option: Option<String>,
    result: Result<u8, String>,
    map: BTreeMap<String, i64>,
    commands: Vec<Command>,
    pair: Pair,
    unit: (),
}

fn shapes() -> impl Strategy<Value = Shapes> {
    let command = prop_oneof![
        Just(Command::Reset),
        Just(Command::FetchAll),
        any::<i64>().prop_map(Command::Note),
        any::<(i64, i64)>().prop_map(|(a, b)| Command::Add(a, b)),
        any::<i64>().prop_map(|x| Command::Move { x }),
    ];
    let scalars = (
        any::<(i8, u16, i32, u64, i128)>(),
        any::<String>(),
        any::<char>(),
        -1e300..1e300,
        any::<bool>(),
    );
    let lists = (any::<Vec<i32>>(), any::<Vec<u8>>(), any::<Option<String>>());
    let others = (
        any::<Result<u8, String>>(),
        prop::collection::btree_map(any::<String>(), any::<i64>(), 0..5),
        prop::collection::vec(command, 0..5),
        any::<(i32, String)>(),
    );
    (scalars, lists, others).prop_map(|(scalars, lists, others)| {
        let (numbers, text, character, float, flag) = scalars;
        let ((list, bytes, option), (result, map, commands, pair)) = (lists, others);
        let pair = Pair(pair.0, pair.1);
        Shapes {
            numbers,
            text,
            character,
            float,
            flag,
            list,
            bytes,
            option,
            result,
            map,
            commands,
            pair,
            unit: (),
        }
    })
}

proptest! {
    #[test]
    fn zterm9_values_of_all_shapes_round_trip(value in shapes()) {
        for structs in [Structs::Map, Structs::Tuple, Structs::Record] {
            let mut codec = TermCodec::default();
            codec.structs = structs;
            let mut bytes = Vec::new();
            codec.write(&value, &mut bytes).unwrap();
            prop_assert_eq!(&codec.read::<Shapes>(Decoder::new(&bytes)).unwrap(), &value);
            // The encoding is the same as that of the term itself.
            let term = Decoder::new(&bytes).last_term().unwrap();
            let mut again = Vec::new();
            term.write(&mut again).unwrap();
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn zterm9_any_term_round_trips_through_serde(term in term()) {
        prop_assert_eq!(&CODEC.from_term::<Term>(&term).unwrap(), &term);
        prop_assert_eq!(CODEC.to_term(&vec![term.clone()]).unwrap(), Term::list([term]));
    }

    #[test]
    fn zterm5_typed_reads_of_any_bytes_return(
        value in shapes(),
        other in term(),
        changes in prop::collection::vec(any::<(u8, u16, u8)>(), 1..6),
    ) {
        let mut bytes = Vec::new();
        CODEC.write(&value, &mut bytes).unwrap();
        mutate(&mut bytes, &changes);
        let _ = CODEC.read::<Shapes>(Decoder::new(&bytes));
        let _ = CODEC.read::<serde_json::Value>(Decoder::new(&bytes));
        let _ = CODEC.from_term::<Shapes>(&other);
        let _ = CODEC.from_term::<Command>(&other);
        let _ = CODEC.from_term::<serde_json::Value>(&other);
    }
}
