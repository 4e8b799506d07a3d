//! Tests of frames: as recorded from OTP, as encoded here, and with changed bytes.

use crate::support::{hex, mutate, term};
use krarup_wire::etf::{Atom, Atoms, ExternalPid, Term};
use krarup_wire::frame::{
    FrameError, FrameFormat, FrameLimits, FrameRead, Frames, IncomingMessage, OutgoingMessage,
    write_tick,
};
use krarup_wire::{ControlMessage, DistributionFlags, Monitored};
use proptest::prelude::*;

const RECORDED: &str = include_str!("../golden/frames.txt");

/// Returns the flags of the recordings and their frames, with length prefixes.
fn recorded() -> Vec<(DistributionFlags, Vec<Vec<u8>>)> {
    let parts = RECORDED.split("# flags ").skip(1);
    parts
        .map(|part| {
            let (flags, lines) = part.split_once('\n').unwrap();
            let frames = lines.lines().map(|line| {
                let (digits, more) = line[2..].split_once(" *").unwrap_or((&line[2..], "0"));
                let mut frame = hex(digits);
                for _ in 0..more.parse().unwrap() {
                    let last = *frame.last().unwrap();
                    frame.push(match last {
                        b'9' => b'a',
                        b'f' => b'0',
                        digit => digit + 1,
                    });
                }
                let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
                [&length[..], &frame].concat()
            });
            (
                DistributionFlags::from_bits(u64::from_str_radix(flags, 16).unwrap()),
                frames.collect(),
            )
        })
        .collect()
}

fn frames(flags: DistributionFlags) -> Frames {
    Frames::new(FrameFormat::of(flags), FrameLimits::DEFAULT)
}

fn read_all<'a>(
    frames: &mut Frames,
    mut bytes: &'a [u8],
) -> Result<Vec<IncomingMessage<'a>>, FrameError> {
    let mut messages = Vec::new();
    loop {
        bytes = match frames.read(bytes)? {
            FrameRead::Incomplete { wanted } => {
                assert!(wanted > bytes.len());
                return Ok(messages);
            }
            FrameRead::Tick { used } | FrameRead::Fragment { used } => &bytes[used..],
            FrameRead::Message { used, message } => {
                messages.push(message);
                &bytes[used..]
            }
        }
    }
}

fn payload(message: &IncomingMessage<'_>) -> Term {
    message.payload.as_ref().unwrap().term(&mut Atoms::default()).unwrap()
}

#[test]
fn zmsg7_recorded_frames_of_all_forms_decode_to_the_same_messages() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 4);
    let long = "€".repeat(200);
    for (flags, bytes) in recorded {
        let bytes = bytes.concat();
        let messages =
            read_all(&mut frames(flags), &bytes).unwrap_or_else(|error| panic!("{flags}: {error}"));
        assert_eq!(messages.len(), 5, "{flags}");
        for message in [0, 1, 3, 4].map(|at| &messages[at]) {
            let to = match &message.control {
                ControlMessage::SendSender { to, .. } | ControlMessage::Send { to } => to,
                control => panic!("{control:?}"),
            };
            assert_eq!((to.node.as_str(), to.id, to.creation), ("me@localhost", 1, 77));
        }
        assert_eq!(
            payload(&messages[0]).to_string(),
            format!("{{rex,{{shop,1,<<\"x\">>,'æble',{{'{long}'}}}}}}").replace("'æble'", "æble")
        );
        assert_eq!(payload(&messages[1]).to_string(), "{rex,{shop,2,<<\"y\">>,æble}}");
        match &messages[2].control {
            ControlMessage::PayloadMonitorExit { target, .. } => {
                assert_eq!(*target, Monitored::Name(Atom::fixed("nobody")));
                assert_eq!(payload(&messages[2]), Term::atom("noproc"));
            }
            ControlMessage::MonitorExit { reason, .. } => assert_eq!(*reason, Term::atom("noproc")),
            control => panic!("{control:?}"),
        }
        assert_eq!(payload(&messages[3]).to_string(), "{rex,done}");
        let big = Term::binary("0123456789abcdef".repeat(9_000));
        assert_eq!(payload(&messages[4]), Term::tuple([Term::atom("rex"), big]));
    }
}

#[test]
fn zmsg7_recorded_frames_cut_or_of_another_form_are_errors() {
    for (flags, bytes) in recorded() {
        for frame in bytes.iter().filter(|frame| frame.len() < 1000) {
            for end in 0..frame.len() {
                let read = frames(flags).read(&frame[..end]);
                assert!(matches!(read, Ok(FrameRead::Incomplete { .. })));
            }
        }
        let other = if FrameFormat::of(flags).has_headers() {
            DistributionFlags::MANDATORY
        } else {
            DistributionFlags::OFFERED
        };
        assert!(matches!(frames(other).read(&bytes[0]), Err(FrameError::Header { .. })));
        // A frame that refers to cached atoms set by the previous one.
        if FrameFormat::of(flags).has_cache() {
            assert!(matches!(frames(flags).read(&bytes[1]), Err(FrameError::NeverSet { .. })));
            let stateless = DistributionFlags::MANDATORY | DistributionFlags::FRAGMENTS;
            assert!(matches!(frames(stateless).read(&bytes[0]), Err(FrameError::Header { .. })));
        }
    }
}

fn control() -> ControlMessage {
    ControlMessage::Send {
        to: ExternalPid { node: Atom::fixed("a@b"), id: 1, serial: 0, creation: 4 },
    }
}

fn forms() -> [FrameFormat; 4] {
    [
        DistributionFlags::default(),
        DistributionFlags::FRAGMENTS,
        DistributionFlags::DIST_HDR_ATOM_CACHE,
        DistributionFlags::OFFERED,
    ]
    .map(FrameFormat::of)
}

#[test]
fn zmsg4_messages_of_every_size_arrive_equal_in_fragments_of_at_most_64_kib() {
    for format in forms() {
        for size in
            [0, 1, 64_506, 64_507, 64_508, 65_535, 65_536, 65_537, 129_019, 129_020, 1_000_000]
        {
            let sent = Term::binary(vec![7; size]);
            let mut bytes = Vec::new();
            sent.write(&mut bytes).unwrap();
            let mut message = OutgoingMessage::new(format, &control(), bytes, 9).unwrap();
            let (mut out, mut count) = (Vec::new(), message.frames_left());
            loop {
                let before = out.len();
                if !message.write_frame(&mut out) {
                    break;
                }
                count -= 1;
                assert!(!format.has_fragments() || out.len() - before <= 65_536);
            }
            assert_eq!((count, message.frames_left()), (0, 0));
            write_tick(&mut out);
            let mut frames = Frames::new(format, FrameLimits::DEFAULT);
            let read = read_all(&mut frames, &out).unwrap();
            assert_eq!(read.len(), 1);
            assert_eq!(read[0].control, control());
            assert_eq!(payload(&read[0]), sent);
            assert_eq!(frames.under_way(), 0);
        }
    }
}

#[test]
fn zmsg5_fragments_of_several_messages_can_be_written_in_turns() {
    let format = FrameFormat::of(DistributionFlags::OFFERED);
    let sent: Vec<Term> =
        (0..5).map(|n| Term::binary(vec![n; 100_000 + 30_000 * usize::from(n)])).collect();
    let mut messages: Vec<_> = sent
        .iter()
        .zip(1..)
        .map(|(term, sequence)| {
            let mut bytes = Vec::new();
            term.write(&mut bytes).unwrap();
            OutgoingMessage::new(format, &control(), bytes, sequence).unwrap()
        })
        .collect();
    let mut out = Vec::new();
    while messages
        .iter_mut()
        .filter_map(|message| message.write_frame(&mut out).then_some(()))
        .count()
        > 0
    {}
    let mut frames = Frames::new(format, FrameLimits::DEFAULT);
    let mut read: Vec<Term> = read_all(&mut frames, &out).unwrap().iter().map(payload).collect();
    read.sort();
    let mut sent = sent;
    sent.sort();
    assert_eq!(read, sent);
}

#[test]
fn zmsg9_impossible_lengths_payloads_and_kinds_are_errors() {
    let format = FrameFormat::of(DistributionFlags::OFFERED);
    let read = |bytes: &[u8]| {
        Frames::new(format, FrameLimits::DEFAULT).read(bytes).map(|_| ()).unwrap_err()
    };
    assert!(matches!(read(&[255; 4]), FrameError::TooLong { .. }));
    let frame = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        read(&[&length, bytes].concat())
    };
    assert!(matches!(frame(&[131]), FrameError::Short(_)));
    assert!(matches!(frame(&[131, 68]), FrameError::Short(_)));
    assert!(matches!(frame(&[130, 68, 0]), FrameError::Header { offset: 0, .. }));
    assert!(matches!(frame(&[131, 67, 0]), FrameError::Header { offset: 1, .. }));
    assert!(matches!(frame(&[131, 80, 0]), FrameError::Header { offset: 1, .. }));
    assert!(matches!(frame(&[131, 68, 0, 104, 1, 97, 5]), FrameError::Control(_)));
    assert!(matches!(frame(&[131, 69, 0]), FrameError::Short(_)));
    let mut send = vec![131, 68, 0];
    control().write(&mut send).unwrap();
    assert_eq!(frame(&send), FrameError::NoPayload);
    let node = Atom::fixed("a@b");
    let pid = || ExternalPid { node: node.clone(), id: 1, serial: 0, creation: 4 };
    let mut link = vec![131, 68, 0];
    ControlMessage::Link { from: pid(), to: pid() }.write(&mut link).unwrap();
    link.extend([97, 1]);
    assert_eq!(frame(&link), FrameError::Payload { bytes: 2 });
    let mut fragment = [&[131, 69][..], &[0; 15], &[2, 0]].concat();
    ControlMessage::Link { from: pid(), to: pid() }.write(&mut fragment).unwrap();
    assert_eq!(frame(&fragment), FrameError::Payload { bytes: 0 });
}

#[test]
fn zmsg9_a_frame_of_exactly_the_limit_is_read_and_a_longer_one_is_not() {
    let format = FrameFormat::of(DistributionFlags::OFFERED);
    let mut bytes = Vec::new();
    let payload = vec![109, 0, 0, 0, 3, 1, 2, 3];
    OutgoingMessage::new(format, &control(), payload, 1).unwrap().write_frame(&mut bytes);
    let length = bytes.len() - 4;
    for (limit, is_read) in [(length, true), (length - 1, false), (length + 1, true)] {
        let mut limits = FrameLimits::DEFAULT;
        limits.frame_bytes = limit;
        let read = Frames::new(format, limits).read(&bytes).map(drop);
        let error = FrameError::TooLong { length, limit };
        assert_eq!(read, if is_read { Ok(()) } else { Err(error) });
    }
}

#[test]
fn zmsg7_a_connection_without_the_cache_accepts_no_cached_atom() {
    let mut frames =
        Frames::new(FrameFormat::of(DistributionFlags::FRAGMENTS), FrameLimits::DEFAULT);
    let read = frames.read(&[0, 0, 0, 7, 131, 68, 1, 8, 0, 1, b'a']).map(drop);
    let (offset, expected, found) = (2, "no cached atoms", 1);
    assert_eq!(read, Err(FrameError::Header { offset, expected, found }));
}

#[test]
fn zmsg8_an_invalid_payload_loses_only_that_message() {
    let format = FrameFormat::of(DistributionFlags::OFFERED);
    let mut out = Vec::new();
    for payload in [&[255, 1, 2][..], &[97, 1, 0], &[97, 1]] {
        OutgoingMessage::new(format, &control(), payload.to_vec(), 1)
            .unwrap()
            .write_frame(&mut out);
    }
    let messages = read_all(&mut Frames::new(format, FrameLimits::DEFAULT), &out).unwrap();
    let read: Vec<_> = messages
        .iter()
        .map(|message| message.payload.as_ref().unwrap().decoder().last_term())
        .collect();
    assert!(read[0].is_err() && read[1].is_err());
    assert_eq!(read[2], Ok(Term::Int(1)));
}

proptest! {
    #[test]
    fn zterm1_any_term_arrives_equal_in_every_form_of_frames(sent in term()) {
        for format in forms() {
            let (mut bytes, mut out) = (Vec::new(), Vec::new());
            sent.write(&mut bytes).unwrap();
            OutgoingMessage::new(format, &control(), bytes, 1).unwrap().write_frame(&mut out);
            let mut frames = Frames::new(format, FrameLimits::DEFAULT);
            let messages = read_all(&mut frames, &out).unwrap();
            prop_assert_eq!(&payload(&messages[0]), &sent);
        }
    }

    #[test]
    fn zsec7_mutated_frames_at_most_end_the_connection(
        which in 0..4_usize,
        changes in prop::collection::vec(any::<(u8, u16, u8)>(), 1..8),
    ) {
        let (flags, recorded) = recorded().swap_remove(which);
        let small: Vec<_> = recorded.into_iter().filter(|frame| frame.len() < 1000).collect();
        let mut bytes = small.concat();
        mutate(&mut bytes, &changes);
        let mut frames = frames(flags);
        if let Ok(messages) = read_all(&mut frames, &bytes) {
            for payload in messages.iter().filter_map(|message| message.payload.as_ref()) {
                let _ = payload.term(frames.atoms());
            }
        }
    }
}
