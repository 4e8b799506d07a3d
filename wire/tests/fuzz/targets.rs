//! The entry points that read bytes, each with what must hold for any bytes.

use krarup_wire::codec::TermCodec;
use krarup_wire::epmd::{LookUp, Register};
use krarup_wire::etf::{Atom, Decoder, Limits, Term};
use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames};
use krarup_wire::handshake::{Cookie, Decision, Handshake, Identity, ReadStep};
use krarup_wire::{ControlMessage, DistributionFlags};
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

/// The atoms of a header, which cached atoms refer to.
pub(crate) fn cached() -> [Atom; 4] {
    ["a", "add", "ok", "a@b"].map(Atom::fixed)
}

/// Terms with and without a version, within the default limits and within narrow ones.
pub(crate) fn terms(bytes: &[u8]) {
    let _ = Term::decode(bytes);
    let cached = cached();
    for bytes in [bytes, bytes.get(1..).unwrap_or_default()] {
        let mut narrow = Limits::DEFAULT;
        (narrow.depth, narrow.terms, narrow.integer_bytes) = (5, 50, 10);
        let read = Decoder::new(bytes).cached(&cached).last_term();
        let within = Decoder::with_limits(bytes, narrow).cached(&cached).last_term();
        match (read, within) {
            (Ok(term), within) => {
                assert!(within.is_err() || within == Ok(term.clone()));
                round_trip(&term);
            }
            (Err(error), within) => {
                assert!(within.is_err(), "within narrow limits only: {error}");
                assert!(error.to_string().len() < 200);
            }
        }
    }
}

fn round_trip(term: &Term) {
    let written = term.encode().unwrap();
    let read = Term::decode(&written).unwrap();
    assert_eq!(&read, term);
    assert_eq!(read.encode().unwrap(), written);
    assert!(read.compare(term).is_eq() && read.cmp(term).is_eq());
    let hash = |term: &Term| {
        let mut hasher = DefaultHasher::new();
        term.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&read), hash(term));
    printed(term);
    assert_eq!(&TermCodec::DEFAULT.from_term::<Term>(term).unwrap(), term);
}

/// Stops after a number of bytes.
struct Cut(usize);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

/// The text of a term is the same after a round trip, and can be cut anywhere.
pub(crate) fn printed(term: &Term) {
    let text = term.to_string();
    assert!(!text.is_empty() && text.chars().all(|c| !c.is_control()), "{text:?}");
    let read = Term::decode(&term.encode().unwrap()).unwrap();
    assert_eq!(read.to_string(), text);
    assert!(write!(Cut(text.len()), "{term}").is_ok());
    assert!(write!(Cut(text.len() / 2), "{term}").is_err());
}

/// Control messages, with and without a version before them.
pub(crate) fn control(bytes: &[u8]) {
    let cached = cached();
    for bytes in [bytes, bytes.get(1..).unwrap_or_default()] {
        match ControlMessage::read(&mut Decoder::new(bytes).cached(&cached)) {
            Ok(control) => {
                let mut written = Vec::new();
                control.write(&mut written).unwrap();
                let mut decoder = Decoder::new(&written);
                assert_eq!(ControlMessage::read(&mut decoder), Ok(control));
                assert_eq!(decoder.offset(), written.len());
            }
            Err(error) => assert!(error.to_string().len() < 300),
        }
    }
}

pub(crate) fn forms() -> [FrameFormat; 4] {
    [
        DistributionFlags::OFFERED,
        DistributionFlags::FRAGMENTS,
        DistributionFlags::DIST_HDR_ATOM_CACHE,
        DistributionFlags::default(),
    ]
    .map(FrameFormat::of)
}

/// Narrow limits, which inputs of this size reach.
pub(crate) fn limits() -> FrameLimits {
    let mut limits = FrameLimits::DEFAULT;
    (limits.frame_bytes, limits.message_bytes, limits.fragment_bytes) = (90_000, 150_000, 200_000);
    (limits.sequences, limits.atoms) = (4, 50);
    limits
}

/// One frame, in every form, with its length and as it is.
pub(crate) fn frame(bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    let framed = [&length, bytes].concat();
    for form in forms() {
        for bytes in [bytes, &framed] {
            stream(&mut Frames::new(form, limits()), bytes, &mut Vec::new());
        }
    }
}

/// Reads frames until the bytes or the connection end. Returns the number of bytes used, or
/// `None` after an error. The messages are appended.
pub(crate) fn stream(
    frames: &mut Frames,
    bytes: &[u8],
    messages: &mut Vec<String>,
) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        match frames.read(rest).ok()? {
            FrameRead::Incomplete { wanted } => {
                assert!(wanted > rest.len() && wanted <= limits().frame_bytes + 4);
                return Some(at);
            }
            FrameRead::Tick { used } | FrameRead::Fragment { used } => at += used,
            FrameRead::Message { used, message } => {
                at += used;
                let payload = message.payload.map(|payload| {
                    assert!(!payload.is_empty());
                    payload.term(frames.atoms())
                });
                messages.push(format!("{:?} {payload:?}", message.control));
            }
        }
        assert!(frames.under_way() <= limits().sequences);
        assert!(frames.atoms().len() <= limits().atoms);
    }
}

/// A handshake in either role that the bytes are given to. Without the cookie it is never up.
pub(crate) fn handshake(bytes: &[u8]) {
    let me = || Identity::new(Atom::fixed("me@localhost"), 4, Cookie::new("other").unwrap());
    let length = u16::try_from(bytes.len().min(1_024)).unwrap().to_be_bytes();
    let framed = [&length, bytes].concat();
    for bytes in [bytes, &framed] {
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
        assert!(room.len() < 2_000);
    }
}

/// Answers of epmd: once an answer is complete, more bytes do not change it.
pub(crate) fn epmd(bytes: &[u8]) {
    let register = Register { name: "shop", port: 1, hidden: true };
    let look_up = LookUp { name: "shop" };
    let half = &bytes[..bytes.len() / 2];
    match register.read_answer(half) {
        Ok(None) => {}
        answer => assert_eq!(register.read_answer(bytes), answer),
    }
    match look_up.read_answer(half) {
        Ok(None) => {}
        answer => assert_eq!(look_up.read_answer(bytes), answer),
    }
}
