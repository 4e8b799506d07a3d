//! Fuzzing with changed bytes, for a chosen number of inputs:
//!
//! ```text
//! KRARUP_WIRE_FUZZ_INPUTS=1000000 cargo test --release -p krarup-wire --test fuzz
//! ```
//!
//! Without the variable the number is some thousands. Inputs are recorded terms, frames and
//! handshakes with a few bytes changed, and joined pieces of two recordings. Every decoding
//! entry point reads each input. None may panic, and each decoded value must be encoded and
//! decoded again to the same value. The seed is printed; `KRARUP_WIRE_FUZZ_SEED` repeats a run.

mod support;

use krarup_wire::codec::TermCodec;
use krarup_wire::epmd::{LookUp, Register};
use krarup_wire::etf::{Atom, Decoder, Term};
use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames};
use krarup_wire::handshake::{Cookie, Decision, Handshake, Identity, ReadStep};
use krarup_wire::{ControlMessage, DistributionFlags};
use serde::Deserialize;
use std::collections::BTreeMap;
use support::{hex, lines, mutate};

/// A random number generator: `SplitMix64`.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// All short recordings.
fn corpus() -> Vec<Vec<u8>> {
    let terms = include_str!("golden/terms.txt");
    let order = include_str!("golden/order.txt");
    let frames = include_str!("golden/frames.txt");
    let handshake = include_str!("golden/handshake.txt");
    let epmd = include_str!("golden/epmd.txt");
    let mut corpus = Vec::new();
    for recording in [terms, order, frames, handshake, epmd] {
        for line in lines(recording) {
            let line = line.trim_start_matches(['<', '>', '=', ' ']);
            let digits: String = line.chars().take_while(char::is_ascii_hexdigit).collect();
            if digits.len().is_multiple_of(2) && digits.len() < 2_000 {
                corpus.push(hex(&digits));
            }
        }
    }
    // Tags that OTP 25 does not produce: native records, cached and Latin-1 atoms.
    corpus.push(vec![131, 67, 0, 0, 0, 1, 1, 119, 1, b'm', 119, 1, b'r', 119, 1, b'x', 97, 5]);
    corpus.push(vec![131, 104, 3, 82, 0, 82, 1, 115, 2, 0xe5, b'x']);
    corpus
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only read")]
enum Typed {
    Unit,
    Add(i64, u8, Option<String>),
    Map(BTreeMap<String, Vec<Typed>>),
    Any { term: Term, atom: Atom, bytes: Vec<u8>, result: Result<(), f32> },
}

fn terms(bytes: &[u8]) {
    let cached = [Atom::fixed("a"), Atom::fixed("add")];
    let decoder = || Decoder::new(bytes).cached(&cached);
    if let Ok(term) = decoder().last_term() {
        let written = term.encode().unwrap();
        let read = Term::decode(&written).unwrap();
        assert_eq!(read, term);
        assert_eq!(read.encode().unwrap(), written);
        let _ = (term.to_string(), term.compare(&read));
        let _ = TermCodec::DEFAULT.from_term::<Typed>(&term);
    }
    let _ = TermCodec::DEFAULT.read::<Typed>(decoder());
    let _ = TermCodec::DEFAULT.read::<BTreeMap<Typed2, Typed>>(decoder());
    if let Ok(control) = ControlMessage::read(&mut decoder()) {
        let mut written = Vec::new();
        control.write(&mut written).unwrap();
        assert_eq!(ControlMessage::read(&mut Decoder::new(&written)).unwrap(), control);
    }
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Typed2(String, (), bool);

fn frames(mut bytes: &[u8]) {
    let forms = [
        DistributionFlags::OFFERED,
        DistributionFlags::FRAGMENTS,
        DistributionFlags::DIST_HDR_ATOM_CACHE,
        DistributionFlags::default(),
    ];
    let whole = bytes;
    for flags in forms {
        bytes = whole;
        let mut frames = Frames::new(FrameFormat::of(flags), FrameLimits::DEFAULT);
        while let Ok(read) = frames.read(bytes) {
            let used = match read {
                FrameRead::Incomplete { .. } => break,
                FrameRead::Tick { used } | FrameRead::Fragment { used } => used,
                FrameRead::Message { used, message } => {
                    let _ = message.payload.map(|payload| payload.term(frames.atoms()));
                    used
                }
            };
            bytes = &bytes[used..];
        }
    }
}

fn handshakes(bytes: &[u8]) {
    let me = || Identity::new(Atom::fixed("me@localhost"), 4, Cookie::new("other").unwrap());
    let mut room = Vec::new();
    let dialling = Handshake::dialling(me(), Atom::fixed("golden@localhost"), 1, &mut room);
    for mut handshake in [dialling, Handshake::accepting(me(), 1)] {
        let mut rest = bytes;
        while let Ok(step) = handshake.read(rest, &mut room) {
            let used = match step {
                ReadStep::Incomplete => break,
                ReadStep::Read { used } => used,
                ReadStep::Decide { used, .. } => {
                    handshake.decide(Decision::Alive, &mut room).unwrap();
                    used
                }
                ReadStep::Up { .. } => panic!("up without the cookie"),
            };
            rest = &rest[used..];
        }
    }
    let _ = Register { name: "shop", port: 1, hidden: true }.read_answer(bytes);
    let _ = LookUp { name: "shop" }.read_answer(bytes);
}

#[test]
fn zsec9_mutated_input_is_harmless() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let inputs = number("KRARUP_WIRE_FUZZ_INPUTS").unwrap_or(20_000);
    let seed = number("KRARUP_WIRE_FUZZ_SEED").unwrap_or(4_711);
    println!("seed {seed}, {inputs} inputs");
    let (corpus, mut chance) = (corpus(), Chance(seed));
    assert!(corpus.len() > 400);
    for _ in 0..inputs {
        let mut bytes = corpus[chance.below(corpus.len())].clone();
        if chance.below(4) == 0 {
            let other = &corpus[chance.below(corpus.len())];
            bytes.truncate(chance.below(bytes.len() + 1));
            bytes.extend(&other[chance.below(other.len() + 1)..]);
        }
        let count = chance.below(5);
        let changes: Vec<_> = (0..count)
            .map(|_| {
                (chance.byte(), u16::from_le_bytes([chance.byte(), chance.byte()]), chance.byte())
            })
            .collect();
        mutate(&mut bytes, &changes);
        terms(&bytes);
        terms(bytes.get(1..).unwrap_or_default());
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        frames(&[&length, &bytes[..]].concat());
        let length = u16::try_from(bytes.len().min(65_535)).unwrap().to_be_bytes();
        handshakes(&[&length, &bytes[..]].concat());
        handshakes(&bytes);
    }
}
