//! Tests of the handshake: against a recording of OTP, against itself in pieces, and with
//! wrong bytes.

use crate::support::hex;
use krarup_wire::DistributionFlags;
use krarup_wire::etf::Atom;
use krarup_wire::handshake::{
    Cookie, Decision, Handshake, HandshakeError, Identity, Lengths, PeerIdentity, ReadStep,
};
use proptest::prelude::*;

fn identity(name: &'static str, creation: u32, cookie: &str) -> Identity {
    Identity::new(Atom::fixed(name), creation, Cookie::new(cookie).unwrap())
}

/// Returns a part of the recording, identified by its comment: whether this side writes,
/// and the bytes.
fn recorded(part: &str) -> Vec<(bool, Vec<u8>)> {
    let recording = include_str!("../golden/handshake.txt");
    let (_, lines) = recording.split_once(&format!("# {part}")).unwrap();
    let lines = lines.lines().skip(1).take_while(|line| !line.starts_with('#'));
    let message =
        |line: &str| Some((line.starts_with('<'), hex(line.strip_prefix(['<', '>'])?.trim())));
    lines.filter_map(message).collect()
}

fn counted(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    [&length, message].concat()
}

/// Returns the challenge of a challenge message: its bytes 9 to 12.
fn challenge(message: &[u8]) -> u32 {
    u32::from_be_bytes(message[9..13].try_into().unwrap())
}

fn up(step: ReadStep) -> PeerIdentity {
    match step {
        ReadStep::Up { peer, .. } => peer,
        step => panic!("{step:?}"),
    }
}

#[test]
fn zhs1_our_dial_is_the_recorded_one() {
    let lines = recorded("accepted");
    let mut me = identity("me@localhost", 77, "secret");
    me.flags = DistributionFlags::from_bits(0xd_07df_7fbc);
    let mut room = Vec::new();
    let mut handshake = Handshake::dialling(me, Atom::fixed("golden@localhost"), 4711, &mut room);
    let mut last = None;
    for (ours, message) in lines {
        if ours {
            assert_eq!(room, counted(&message));
            room.clear();
        } else {
            assert_eq!(room, [0; 0]);
            last = Some(handshake.read(&counted(&message), &mut room).unwrap());
        }
    }
    let peer = up(last.unwrap());
    assert_eq!(peer.name, "golden@localhost");
    assert!(peer.creation >= 4 && peer.flags.contains(DistributionFlags::MANDATORY));
}

#[test]
fn zhs1_otp_dials_us_as_recorded() {
    let lines = recorded("it is told to dial");
    let mut me = identity("mock@localhost", 5, "secret");
    me.flags = DistributionFlags::from_bits(0xd_07df_7fbc);
    let mut handshake = Handshake::accepting(me, challenge(&lines[2].1));
    let (mut room, mut last) = (Vec::new(), None);
    for (ours, message) in lines {
        if ours {
            let expected = counted(&message);
            assert!(room.starts_with(&expected), "{room:?} {expected:?}");
            room.drain(..expected.len());
            continue;
        }
        let step = handshake.read(&counted(&message), &mut room).unwrap();
        if let ReadStep::Decide { peer, .. } = &step {
            assert_eq!(peer.name, "golden@localhost");
            handshake.decide(Decision::Accept, &mut room).unwrap();
        }
        last = Some(step);
    }
    up(last.unwrap());
}

#[test]
fn zhs6_alive_is_answered_with_true_as_recorded() {
    let lines = recorded("a second connection");
    let mut room = Vec::new();
    let mut me = identity("me@localhost", 77, "secret");
    me.flags = DistributionFlags::from_bits(0xd_07df_7fbc);
    let mut handshake = Handshake::dialling(me, Atom::fixed("golden@localhost"), 1, &mut room);
    room.clear();
    let step = handshake.read(&counted(&lines[1].1), &mut room).unwrap();
    assert!(matches!(step, ReadStep::Read { .. }));
    assert_eq!(room, counted(&lines[2].1));
}

/// Connects two machines that exchange pieces of at most `piece` bytes. Returns both results.
fn talk(
    mut dialling: Identity,
    mut accepting: Identity,
    lengths: Lengths,
    piece: usize,
    decision: Decision,
) -> [Result<PeerIdentity, HandshakeError>; 2] {
    (dialling.lengths, accepting.lengths) = (lengths, lengths);
    let mut rooms = [Vec::new(), Vec::new()];
    let peer = accepting.name.clone();
    let one = Handshake::dialling(dialling, peer, 17, &mut rooms[0]);
    let mut machines = [one, Handshake::accepting(accepting, 42)];
    let mut inputs = [Vec::new(), Vec::new()];
    let mut outcomes = [None, None];
    while rooms.iter().any(|room| !room.is_empty()) {
        for side in 0..2 {
            let length = piece.min(rooms[1 - side].len());
            inputs[side].extend(rooms[1 - side].drain(..length));
            while outcomes[side].is_none() {
                let used = match machines[side].read(&inputs[side], &mut rooms[side]) {
                    Ok(ReadStep::Incomplete) => break,
                    Ok(ReadStep::Read { used }) => used,
                    Ok(ReadStep::Decide { used, .. }) => {
                        if let Err(error) = machines[side].decide(decision, &mut rooms[side]) {
                            outcomes[side] = Some(Err(error));
                        }
                        used
                    }
                    Ok(ReadStep::Up { used, peer }) => {
                        outcomes[side] = Some(Ok(peer));
                        used
                    }
                    Err(error) => {
                        outcomes[side] = Some(Err(error));
                        break;
                    }
                };
                inputs[side].drain(..used);
            }
        }
    }
    // A machine without a result waits for the other one, whose end closes the connection.
    outcomes.map(|outcome| outcome.unwrap_or(Err(HandshakeError::OutOfTurn)))
}

const NAMES: [&str; 2] = ["one@box", "two@box"];

#[test]
fn zhs2_every_cut_of_the_bytes_has_the_same_outcome() {
    for lengths in [Lengths::Two, Lengths::Four] {
        for decision in [Decision::Accept, Decision::AcceptSimultaneous, Decision::Alive] {
            for piece in 1..200 {
                let (one, two) = (identity(NAMES[0], 4, "secret"), identity(NAMES[1], 5, "secret"));
                let [one, two] = talk(one, two, lengths, piece, decision).map(Result::unwrap);
                assert_eq!((one.name.as_str(), one.creation), (NAMES[1], 5));
                assert_eq!((two.name.as_str(), two.creation), (NAMES[0], 4));
                assert_eq!(one.flags, DistributionFlags::OFFERED);
            }
        }
    }
}

#[test]
fn zhs4_a_wrong_cookie_brings_no_connection_up_in_either_role() {
    let (one, two) = (identity(NAMES[0], 4, "secret"), identity(NAMES[1], 5, "Secret"));
    let [one, two] = talk(one, two, Lengths::Two, 9, Decision::Accept);
    assert_eq!(two, Err(HandshakeError::Digest));
    assert_eq!(one, Err(HandshakeError::OutOfTurn)); // It is still waiting.
    // An impostor that is dialled and does not have the cookie.
    let mut room = Vec::new();
    let me = identity(NAMES[0], 4, "secret");
    let mut handshake = Handshake::dialling(me, Atom::fixed(NAMES[1]), 17, &mut room);
    let challenge = [
        &b"N"[..],
        &DistributionFlags::OFFERED.bits().to_be_bytes(),
        &[0, 0, 0, 1, 0, 0, 0, 5, 0, 7],
    ]
    .concat();
    let mut read = |message: &[u8]| handshake.read(&counted(message), &mut Vec::new());
    assert!(read(b"sok").is_ok());
    assert!(read(&[&challenge, NAMES[1].as_bytes()].concat()).is_ok());
    assert_eq!(read(&[b'a'; 17]), Err(HandshakeError::Digest));
    assert_eq!(read(&[b'a'; 17]), Err(HandshakeError::OutOfTurn));
}

#[test]
fn zhs5_nok_ends_a_dial_in_favour_of_the_peers_own() {
    let two = || (identity(NAMES[0], 4, "x"), identity(NAMES[1], 5, "x"));
    let (one, other) = two();
    let outcome = talk(one, other, Lengths::Two, 3, Decision::Refuse);
    assert_eq!(outcome, [Err(HandshakeError::GivesWay), Err(HandshakeError::Refused)]);
    let (one, other) = two();
    let outcome = talk(one, other, Lengths::Two, 3, Decision::NotAllowed);
    assert_eq!(outcome, [Err(HandshakeError::NotAllowed), Err(HandshakeError::Refused)]);
}

/// Returns the answer of an accepting node to this name message.
fn accept(message: &[u8]) -> (Result<ReadStep, HandshakeError>, Vec<u8>) {
    let mut room = Vec::new();
    let result =
        Handshake::accepting(identity(NAMES[1], 5, "x"), 1).read(&counted(message), &mut room);
    (result, room)
}

fn name_message(flags: DistributionFlags, name: &str, more: &[u8]) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap().to_be_bytes();
    [&b"N"[..], &flags.bits().to_be_bytes(), &[0, 0, 0, 9], &length, name.as_bytes(), more].concat()
}

#[test]
fn zhs3_a_refused_peer_is_told_not_allowed() {
    let refused = counted(b"snot_allowed");
    let flags = DistributionFlags::OFFERED;
    let (result, room) =
        accept(&name_message(flags.without(DistributionFlags::V4_NC), NAMES[0], b""));
    assert!(
        matches!(result, Err(HandshakeError::Flags(missing)) if missing.missing == DistributionFlags::V4_NC)
    );
    assert_eq!(room, refused);
    let (result, room) = accept(&name_message(flags | DistributionFlags::NAME_ME, NAMES[0], b""));
    assert_eq!((result, room), (Err(HandshakeError::AsksForName), refused.clone()));
    let (result, room) = accept(&name_message(flags, NAMES[1], b""));
    assert!(matches!(result, Err(HandshakeError::OwnName { .. })));
    assert_eq!(room, refused);
    let (result, room) = accept(&name_message(flags, "nohost", b""));
    assert!(matches!(result, Err(HandshakeError::Name(_))));
    assert_eq!(room, refused);
}

#[test]
fn zhs3_a_node_other_than_the_dialled_one_is_rejected() {
    let (one, mut two) = (identity(NAMES[0], 4, "x"), identity("six@box", 5, "x"));
    let mut room = Vec::new();
    let mut dialling = Handshake::dialling(one, Atom::fixed(NAMES[1]), 1, &mut room);
    two.lengths = Lengths::Two;
    let mut accepting = Handshake::accepting(two, 2);
    let mut answer = Vec::new();
    assert!(matches!(accepting.read(&room, &mut answer), Ok(ReadStep::Decide { .. })));
    accepting.decide(Decision::Accept, &mut answer).unwrap();
    let Ok(ReadStep::Read { used }) = dialling.read(&answer, &mut room) else { panic!() };
    let error = dialling.read(&answer[used..], &mut room).unwrap_err();
    assert!(
        matches!(&error, HandshakeError::WrongNode { found, .. } if *found == "six@box"),
        "{error}"
    );
}

#[test]
fn zhs2_only_bytes_after_the_name_are_ignored() {
    let (result, _) = accept(&name_message(DistributionFlags::OFFERED, NAMES[0], b"more"));
    assert!(matches!(result, Ok(ReadStep::Decide { .. })));
    let mut message = name_message(DistributionFlags::OFFERED, NAMES[0], b"");
    for end in 0..message.len() {
        assert!(
            matches!(accept(&message[..end]).0, Err(HandshakeError::Message(_))),
            "cut at {end}"
        );
    }
    message[0] = b'n';
    assert!(matches!(accept(&message).0, Err(HandshakeError::Message(_))));
    let mut room = Vec::new();
    let handshake = || {
        Handshake::dialling(identity(NAMES[0], 4, "x"), Atom::fixed(NAMES[1]), 1, &mut Vec::new())
    };
    let status = handshake().read(&counted(b"sokay"), &mut room);
    assert!(matches!(status, Err(HandshakeError::Status { status }) if status == "okay"));
    let named = handshake().read(&counted(b"snamed:x"), &mut room);
    assert!(matches!(named, Err(HandshakeError::Status { .. })));
}

#[test]
fn zhs7_a_message_has_at_most_1024_bytes_and_a_longer_one_is_refused_at_its_length() {
    let mut handshake = Handshake::accepting(identity(NAMES[1], 5, "x"), 1);
    assert_eq!(handshake.read(&[4, 0, b'N'], &mut Vec::new()), Ok(ReadStep::Incomplete));
    let error = handshake.read(&[4, 1], &mut Vec::new());
    assert_eq!(error, Err(HandshakeError::TooLong { length: 1025, limit: 1024 }));
    assert_eq!(handshake.read(&[], &mut Vec::new()), Ok(ReadStep::Incomplete));
    assert_eq!(handshake.read(&[0, 0], &mut Vec::new()), Err(HandshakeError::OutOfTurn));
}

proptest! {
    #[test]
    fn zsec7_bytes_of_an_unknown_peer_at_most_end_the_handshake(
        changes in prop::collection::vec(any::<(u8, u16, u8)>(), 1..5),
        dialling: bool,
    ) {
        let mut room = Vec::new();
        let me = identity(NAMES[1], 5, "x");
        let (mut handshake, mut bytes) = if dialling {
            let mut bytes = counted(b"sok");
            let challenge = [&b"N"[..], &DistributionFlags::OFFERED.bits().to_be_bytes(), &[0; 8], &[0, 7], NAMES[0].as_bytes()];
            bytes.extend(counted(&challenge.concat()));
            bytes.extend(counted(&[b'a'; 17]));
            (Handshake::dialling(me, Atom::fixed(NAMES[0]), 1, &mut room), bytes)
        } else {
            let mut bytes = counted(&name_message(DistributionFlags::OFFERED, NAMES[0], b""));
            bytes.extend(counted(&[b'r'; 21]));
            (Handshake::accepting(me, 1), bytes)
        };
        crate::support::mutate(&mut bytes, &changes);
        let mut at = 0;
        loop {
            match handshake.read(&bytes[at..], &mut room) {
                Ok(ReadStep::Read { used }) => at += used,
                Ok(ReadStep::Decide { used, .. }) => {
                    handshake.decide(Decision::Accept, &mut room).unwrap();
                    at += used;
                }
                Ok(ReadStep::Up { .. }) => prop_assert!(false, "up without the cookie"),
                Ok(ReadStep::Incomplete) | Err(_) => break,
            }
        }
        prop_assert!(room.len() < 1024);
    }
}
