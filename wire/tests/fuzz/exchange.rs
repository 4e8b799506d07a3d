//! Whole exchanges, written by this crate, changed in at most one place, and cut into pieces.

use crate::chance::Chance;
use crate::generate;
use crate::targets::{self, forms, limits};
use krarup_wire::etf::{Atom, Decoder};
use krarup_wire::frame::{FrameFormat, Frames, OutgoingMessage, write_tick};
use krarup_wire::handshake::{
    Cookie, Decision, Handshake, Identity, Lengths, PeerIdentity, ReadStep,
};
use krarup_wire::{AliasRecipient, ControlMessage, Monitored};
use std::num::NonZeroU64;

/// A random control message.
pub(crate) fn message(chance: &mut Chance) -> ControlMessage {
    let (from, to) = (generate::pid(chance), generate::pid(chance));
    let reference = generate::reference(chance);
    let target = match chance.below(2) {
        0 => Monitored::Pid(generate::pid(chance)),
        _ => Monitored::Name(generate::atom(chance)),
    };
    let id = NonZeroU64::new(chance.edge()).unwrap_or(NonZeroU64::MIN);
    match chance.below(21) {
        0 => ControlMessage::Link { from, to },
        1 => ControlMessage::Send { to },
        2 => ControlMessage::Exit { from, to, reason: generate::term(chance) },
        3 => ControlMessage::RegSend { from, name: generate::atom(chance) },
        4 => ControlMessage::GroupLeader { from, to },
        5 => ControlMessage::Exit2 { from, to, reason: generate::term(chance) },
        6 => ControlMessage::Monitor { from, target, reference },
        7 => ControlMessage::Demonitor { from, target, reference },
        8 => ControlMessage::MonitorExit { target, to, reference, reason: generate::term(chance) },
        9 => ControlMessage::SendSender { from, to },
        10 => ControlMessage::PayloadExit { from, to },
        11 => ControlMessage::PayloadExit2 { from, to },
        12 => ControlMessage::PayloadMonitorExit { target, to, reference },
        13 => ControlMessage::SpawnRequest {
            reference,
            group_leader: from.clone(),
            from,
            module: generate::atom(chance),
            function: generate::atom(chance),
            arity: chance.byte(),
            options: generate::term(chance),
        },
        14 => {
            let (linked, monitored) = (chance.one_in(2), chance.one_in(2));
            let result = if chance.one_in(2) { Ok(from) } else { Err(generate::atom(chance)) };
            ControlMessage::SpawnReply { reference, to, linked, monitored, result }
        }
        15 => ControlMessage::AliasSend { from, alias: reference },
        16 => ControlMessage::UnlinkId { id, from, to },
        17 => ControlMessage::UnlinkIdAck { id, from, to },
        kind => {
            let to = match kind {
                18 => AliasRecipient::Pid(to),
                19 => AliasRecipient::Name(generate::atom(chance)),
                _ => AliasRecipient::Alias(reference),
            };
            let (priority, exit) = (chance.one_in(2), chance.one_in(2));
            ControlMessage::AltactSend { from, to, priority, exit }
        }
    }
}

/// Changes a byte, or cuts, or neither. Returns whether the bytes are what they were.
fn disturb(bytes: &mut Vec<u8>, chance: &mut Chance) -> bool {
    let before = bytes.clone();
    match chance.below(5) {
        _ if bytes.is_empty() => {}
        0 => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }
        1 => {
            let at = chance.below(bytes.len());
            bytes[at] = chance.byte();
        }
        2 => bytes.truncate(chance.below(bytes.len())),
        _ => {}
    }
    *bytes == before
}

/// A control message comes back equal, and changed it is another one or an error.
pub(crate) fn control(chance: &mut Chance) {
    let sent = message(chance);
    let mut bytes = Vec::new();
    sent.write(&mut bytes).unwrap();
    if disturb(&mut bytes, chance) {
        assert_eq!(ControlMessage::read(&mut Decoder::new(&bytes)), Ok(sent));
    }
    targets::control(&bytes);
}

/// Several messages in a stream of frames, whose fragments take turns. The stream is read at once
/// and in pieces, to the same messages.
pub(crate) fn frames(chance: &mut Chance) {
    let form = *chance.choose(&forms());
    let mut open: Vec<OutgoingMessage> =
        (0..chance.below(6)).map(|at| outgoing(form, at as u64, chance)).collect();
    let mut bytes = Vec::new();
    while !open.is_empty() {
        let at = chance.below(open.len());
        if !open[at].write_frame(&mut bytes) {
            drop(open.swap_remove(at));
        } else if chance.one_in(5) {
            write_tick(&mut bytes);
        }
    }
    disturb(&mut bytes, chance);
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let end = targets::stream(&mut Frames::new(form, limits()), &bytes, &mut whole);
    let (mut frames, mut received, mut used) = (Frames::new(form, limits()), 0, 0);
    while received < bytes.len() {
        received += (1 + chance.below(20_000)).min(bytes.len() - received);
        match targets::stream(&mut frames, &bytes[used..received], &mut pieces) {
            Some(more) => used += more,
            None => break,
        }
    }
    assert_eq!(pieces, whole);
    assert!(end.is_none_or(|end| end == used));
}

fn outgoing(form: FrameFormat, sequence: u64, chance: &mut Chance) -> OutgoingMessage {
    let control = message(chance);
    let mut payload = Vec::new();
    if control.has_payload() {
        let long = chance.one_in(3).then(|| chance.below(140_000));
        match long {
            Some(length) => {
                payload = [&[109][..], &u32::try_from(length).unwrap().to_be_bytes()].concat();
                payload.resize(length + 5, 7);
            }
            None => generate::term(chance).write(&mut payload).unwrap(),
        }
    }
    OutgoingMessage::new(form, &control, payload, sequence).unwrap()
}

/// Two nodes shake hands, of which one may have another cookie, and what they write may be
/// disturbed. Undisturbed and with the same cookie both are up. With another cookie neither is.
pub(crate) fn handshake(chance: &mut Chance) {
    let same_cookie = chance.one_in(2);
    let lengths = if chance.one_in(2) { Lengths::Two } else { Lengths::Four };
    let node = |name: &'static str, cookie: &str| {
        let mut me = Identity::new(Atom::fixed(name), 5, Cookie::new(cookie).unwrap());
        me.lengths = lengths;
        me
    };
    let decision =
        *chance.choose(&[Decision::Accept, Decision::AcceptSimultaneous, Decision::Alive]);
    let mut rooms = [Vec::new(), Vec::new()];
    let (one, other) = (chance.word(), chance.word());
    let dialler = node("a@x", "secret");
    let dialled = node("b@x", if same_cookie { "secret" } else { "other" });
    let mut sides = [
        Handshake::dialling(dialler, Atom::fixed("b@x"), one, &mut rooms[0]),
        Handshake::accepting(dialled, other),
    ];
    let mut up: [Option<PeerIdentity>; 2] = [None, None];
    let (mut undisturbed, mut failed) = (true, false);
    for turn in 0..12 {
        let from = turn % 2;
        let mut bytes = std::mem::take(&mut rooms[from]);
        if chance.one_in(3) {
            undisturbed &= disturb(&mut bytes, chance);
        }
        // The bytes arrive in pieces. What is not complete is not used.
        let (mut used, mut received) = (0, 0);
        while !failed && used < bytes.len() && up[1 - from].is_none() {
            received = received.max(used + chance.below(bytes.len() - used + 1));
            let room = &mut rooms[1 - from];
            let handshake = &mut sides[1 - from];
            match handshake.read(&bytes[used..received], room) {
                Ok(ReadStep::Incomplete) if received == bytes.len() => break,
                Ok(ReadStep::Incomplete) => {}
                Ok(ReadStep::Read { used: more }) => used += more,
                Ok(ReadStep::Decide { used: more, .. }) => {
                    used += more;
                    handshake.decide(decision, room).unwrap();
                }
                Ok(ReadStep::Up { used: more, peer }) => {
                    used += more;
                    up[1 - from] = Some(peer);
                }
                Err(_) => failed = true,
            }
        }
    }
    if !same_cookie {
        assert_eq!(up, [None, None]);
    } else if undisturbed {
        assert!(!failed && up.iter().all(Option::is_some), "{up:?}");
    }
}
