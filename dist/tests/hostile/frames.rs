//! A peer that has the cookie and sends wrong frames: its connection ends, and nobody else
//! notices.

use crate::support::Member;
use crate::support::raw::{Outcome, RawPeer, closed};
use crate::support::served::{only_the_other_is_left, served, works};
use krarup_dist::ClusterCalls;
use krarup_wire::etf::{Atom, Reference, Term};
use krarup_wire::{ControlMessage, DistributionFlags};

/// The fields of all control messages, with the number of the payloads behind them.
fn controls(peer: &RawPeer) -> Vec<(Vec<Term>, bool)> {
    let (mine, yours) = (Term::from(peer.pid(1)), Term::from(peer.pid_there(999_999, 5)));
    let reference = Reference::new(peer.name.clone(), peer.creation, &[7, 7, 7]).unwrap();
    let reference = Term::from(reference);
    let (unused, reason) = (Term::atom(""), Term::atom("normal"));
    let (name, token) = (Term::atom("nobody"), Term::nil());
    let call = Term::tuple([Term::atom("m"), Term::atom("f"), Term::Int(0)]);
    let int = Term::Int;
    let fields: [(&[&Term], bool); 37] = [
        (&[&int(1), &mine, &yours], false),
        (&[&int(2), &unused, &yours], true),
        (&[&int(3), &mine, &yours, &reason], false),
        (&[&int(6), &mine, &unused, &name], true),
        (&[&int(7), &mine, &yours], false),
        (&[&int(8), &mine, &yours, &reason], false),
        (&[&int(12), &unused, &yours, &token], true),
        (&[&int(13), &mine, &yours, &token, &reason], false),
        (&[&int(16), &mine, &unused, &name, &token], true),
        (&[&int(18), &mine, &yours, &token, &reason], false),
        (&[&int(19), &mine, &yours, &reference], false),
        (&[&int(19), &mine, &name, &reference], false),
        (&[&int(20), &mine, &yours, &reference], false),
        (&[&int(20), &mine, &name, &reference], false),
        (&[&int(21), &yours, &mine, &reference, &reason], false),
        (&[&int(22), &mine, &yours], true),
        (&[&int(23), &mine, &yours, &token], true),
        (&[&int(24), &mine, &yours], true),
        (&[&int(25), &mine, &yours, &token], true),
        (&[&int(26), &mine, &yours], true),
        (&[&int(27), &mine, &yours, &token], true),
        (&[&int(28), &yours, &mine, &reference], true),
        (&[&int(29), &reference, &mine, &mine, &call, &token], true),
        (&[&int(30), &reference, &mine, &mine, &call, &token, &token], true),
        (&[&int(31), &reference, &mine, &int(0), &name], false),
        (&[&int(31), &reference, &mine, &int(3), &mine], false),
        (&[&int(32), &reference, &mine, &int(0), &name, &token], false),
        (&[&int(33), &mine, &reference], true),
        (&[&int(34), &mine, &reference, &token], true),
        (&[&int(35), &int(1), &mine, &yours], false),
        (&[&int(36), &int(1), &mine, &yours], false),
        (&[&int(37), &int(0), &mine, &yours], true),
        (&[&int(37), &int(8), &mine, &name], true),
        (&[&int(37), &int(4), &mine, &reference], true),
        (&[&int(37), &int(2), &mine, &yours, &token], true),
        (&[&int(37), &int(16), &mine, &yours], true),
        (&[&int(37), &int(1), &mine, &yours], true),
    ];
    let owned =
        |(fields, payload): (&[&Term], bool)| (fields.iter().copied().cloned().collect(), payload);
    fields.into_iter().map(owned).collect()
}

/// Sends this to a fresh connection, and returns whether the connection stands.
fn stands_after(a: &Member, name: &str, control: &[Term], payload: bool) -> bool {
    let mut peer = RawPeer::up(name, a);
    let control = Term::tuple(control.iter().cloned());
    let message = Term::atom("hello");
    let terms: &[&Term] = if payload { &[&control, &message] } else { &[&control] };
    peer.terms(terms);
    let stands = peer.stands();
    if !stands {
        closed(&peer.stream);
    }
    stands
}

#[test]
fn zmsg9_control_messages_of_a_wrong_arity_or_type_end_the_connection() {
    let (a, b) = served("controls");
    let processes = a.node.processes().len();
    let name = "x@127.0.0.1";
    let all = controls(&RawPeer::up(name, &a));
    let wrong = [Term::Int(-1), Term::list([Term::Int(1)]), Term::binary("text")];
    for (control, payload) in &all {
        let what = Term::tuple(control.iter().cloned());
        assert!(stands_after(&a, name, control, *payload), "{what}");
        // One field less, one more, a payload less, one more.
        assert!(!stands_after(&a, name, &control[..control.len() - 1], *payload), "less: {what}");
        let more = [&control[..], &[Term::nil()]].concat();
        assert!(!stands_after(&a, name, &more, *payload), "more: {what}");
        assert!(!stands_after(&a, name, control, !payload), "payload: {what}");
        for at in 0..control.len() {
            // Names, tokens, reasons, options and fields that are not used may be any term.
            let is_any = matches!(&control[at], Term::Atom(it) if *it != "nobody")
                || control[at] == Term::nil();
            for wrong in &wrong {
                let mut control = control.clone();
                control[at] = wrong.clone();
                let what = Term::tuple(control.iter().cloned());
                let stands = stands_after(&a, name, &control, *payload);
                assert_eq!(stands, is_any, "field {at}: {what}");
            }
        }
    }
    // Numbers that are not control messages, and what is no tuple.
    for number in [-1, 0, 4, 5, 9, 10, 11, 14, 15, 17, 38, 39, 255, 1 << 40] {
        for arity in 0..6 {
            let control: Vec<Term> =
                std::iter::once(Term::Int(number)).chain((0..arity).map(Term::Int)).collect();
            assert!(!stands_after(&a, name, &control, false), "{number}, {arity}");
        }
    }
    for term in [Term::nil(), Term::Int(1), Term::tuple([]), Term::atom("link")] {
        let mut peer = RawPeer::up(name, &a);
        peer.terms(&[&term]);
        assert!(!peer.stands(), "{term}");
    }
    assert!(works(&a, &b));
    only_the_other_is_left(&a, processes);
}

#[test]
fn zmsg9_a_frame_cut_at_any_byte_ends_the_connection_or_costs_its_payload() {
    let (a, b) = served("cuts");
    let processes = a.node.processes().len();
    let all = controls(&RawPeer::up("x@127.0.0.1", &a));
    for (number, (control, payload)) in all.iter().enumerate() {
        let mut bytes = vec![131, 68, 0];
        Term::tuple(control.iter().cloned()).write(&mut bytes).unwrap();
        let whole = bytes.len();
        if *payload {
            Term::atom("hello").write(&mut bytes).unwrap();
        }
        // Not every cut of every message: another third of them for each.
        for cut in (1..bytes.len()).filter(|cut| cut % 3 == number % 3 || *cut > whole) {
            let mut peer = RawPeer::up("x@127.0.0.1", &a);
            peer.frame(&bytes[..cut]);
            assert_eq!(peer.stands(), cut > whole, "{cut} of {bytes:?}");
        }
    }
    assert!(works(&a, &b));
    only_the_other_is_left(&a, processes);
}

/// A first fragment of a message to nobody.
fn first(sequence: u64, left: u64) -> Vec<u8> {
    let mut bytes = vec![131, 69];
    bytes.extend([sequence, left].map(u64::to_be_bytes).concat());
    bytes.push(0);
    Term::tuple([Term::Int(2), Term::atom(""), pid_of_nobody()]).write(&mut bytes).unwrap();
    bytes.extend([109, 0, 0, 0, 9, 1, 2, 3]);
    bytes
}

fn further(sequence: u64, left: u64) -> Vec<u8> {
    let mut bytes = vec![131, 70];
    bytes.extend([sequence, left].map(u64::to_be_bytes).concat());
    bytes.extend([1, 2]);
    bytes
}

fn pid_of_nobody() -> Term {
    let node = Atom::fixed("nobody@127.0.0.1");
    krarup_wire::etf::ExternalPid { node, id: 1, serial: 0, creation: 5 }.into()
}

#[test]
fn zmsg6_wrong_fragments_end_the_connection_and_right_ones_do_not() {
    let (a, b) = served("fragments");
    let processes = a.node.processes().len();
    let right: [&[Vec<u8>]; 3] = [
        &[first(1, 3), further(1, 2), further(1, 1)],
        &[first(1, 2), first(2, 2), further(2, 1), further(1, 1), first(1, 1)],
        // A message that is never complete is given up with its connection.
        &[first(u64::MAX, u64::MAX)],
    ];
    for frames in right {
        let mut peer = RawPeer::up("x@127.0.0.1", &a);
        frames.iter().for_each(|frame| assert!(peer.frame(frame)));
        assert!(peer.stands());
    }
    let many: Vec<Vec<u8>> = (0..65).map(|sequence| first(sequence, 2)).collect();
    let wrong: [(&str, &[Vec<u8>]); 10] = [
        ("unknown", &[further(7, 1)]),
        ("skipped", &[first(1, 4), further(1, 2)]),
        ("repeated", &[first(1, 4), further(1, 3), further(1, 3)]),
        ("begun twice", &[first(1, 4), first(1, 4)]),
        ("upwards", &[first(1, 4), further(1, 5)]),
        ("behind the last", &[first(1, 2), further(1, 1), further(1, 0)]),
        ("none", &[first(1, 0)]),
        ("the number of none", &[further(1, 0)]),
        ("a short head", &[vec![131, 69, 0, 0, 0]]),
        ("65 sequences", &many),
    ];
    for (what, frames) in wrong {
        let mut peer = RawPeer::up("x@127.0.0.1", &a);
        frames.iter().for_each(|frame| {
            peer.frame(frame);
        });
        assert!(!peer.stands(), "{what}");
        assert!(works(&a, &b), "{what}");
    }
    // 64 open messages are allowed.
    let mut peer = RawPeer::up("x@127.0.0.1", &a);
    many[..64].iter().for_each(|frame| assert!(peer.frame(frame)));
    assert!(peer.stands());
    drop(peer);
    only_the_other_is_left(&a, processes);
}

#[test]
fn zmsg7_wrong_headers_end_the_connection() {
    let (a, b) = served("headers");
    let processes = a.node.processes().len();
    // `{2, '', Pid}` with a payload, where the cookie field is cached atom 0.
    let mut body = vec![104, 3, 97, 2, 82, 0];
    pid_of_nobody().write(&mut body).unwrap();
    body.push(106);
    let with = |header: &[u8]| [&[131, 68][..], header, &body].concat();
    // A new entry of one letter, and then the same place again.
    let set = with(&[1, 0x08, 200, 1, b'a']);
    let again = with(&[1, 0x00, 200]);
    let mut peer = RawPeer::up("x@127.0.0.1", &a);
    assert!(peer.frame(&set) && peer.frame(&again));
    assert!(peer.stands());
    let wrong: [(&str, &[Vec<u8>]); 12] = [
        ("a place never set", std::slice::from_ref(&again)),
        ("a place of another segment", &[set.clone(), with(&[1, 0x01, 200])]),
        ("an index that is not listed", &[with(&[0])]),
        ("no flags", &[vec![131, 68, 1]]),
        ("no text", &[vec![131, 68, 1, 0x08, 200, 9, b'a']]),
        ("a text that is not UTF-8", &[with(&[1, 0x08, 200, 1, 0xff])]),
        ("an unknown kind", &[vec![131, 71, 0]]),
        ("another version", &[vec![130, 68, 0]]),
        ("passed through", &[[&[112, 131][..], &body].concat()]),
        ("nothing behind the version", &[vec![131]]),
        ("no control message", &[vec![131, 68, 0]]),
        ("255 references", &[[&[131, 68, 255][..], &[0x88; 128], &[0; 20]].concat()]),
    ];
    for (what, frames) in wrong {
        let mut peer = RawPeer::up("x@127.0.0.1", &a);
        frames.iter().for_each(|frame| {
            peer.frame(frame);
        });
        assert!(!peer.stands(), "{what}");
        assert!(works(&a, &b), "{what}");
    }
    // Without fragments and cache, the other two kinds of frames are wrong.
    let mandatory = DistributionFlags::MANDATORY.bits();
    for kind in [68, 69, 70] {
        let peer = RawPeer::connect("x@127.0.0.1", "secret", mandatory, &a);
        let mut peer = peer.unwrap();
        peer.frame(&[&[131, kind, 0][..], &body].concat());
        closed(&peer.stream);
    }
    assert!(works(&a, &b));
    only_the_other_is_left(&a, processes);
}

#[test]
fn zsec7_oversized_frames_end_the_connection_and_a_flood_of_ticks_does_not() {
    let (a, b) = served("sizes");
    let processes = a.node.processes().len();
    for length in [(129 << 20) + 1, u32::MAX] {
        let mut peer = RawPeer::up("x@127.0.0.1", &a);
        peer.write(&length.to_be_bytes());
        closed(&peer.stream);
    }
    let mut peer = RawPeer::up("x@127.0.0.1", &a);
    for _ in 0..64 {
        assert!(peer.write(&vec![0; 1 << 16]));
    }
    assert!(peer.stands());
    assert!(works(&a, &b));
    drop(peer);
    only_the_other_is_left(&a, processes);
}

#[test]
fn zmsg8_a_payload_that_cannot_be_read_costs_that_message_alone() {
    let (a, b) = served("payloads");
    let mut peer = RawPeer::up("x@127.0.0.1", &a);
    let name = Atom::fixed("stock");
    let from = peer.pid(1);
    let mut control = vec![131, 68, 0];
    ControlMessage::RegSend { from, name }.write(&mut control).unwrap();
    for payload in [&[255][..], &[131, 106], &[104, 255], &[108, 255, 255, 255, 255, 106], b"hello"]
    {
        assert!(peer.frame(&[&control[..], payload].concat()));
        assert!(peer.stands(), "{payload:?}");
    }
    // A call that is not of the type fails at once, and says why.
    for request in [Term::atom("none"), Term::tuple([Term::atom("add"), Term::atom("a")])] {
        let Outcome::Down(why) = peer.call("stock", request) else { panic!() };
        assert!(why.to_string().contains("undecodable"), "{why}");
    }
    // So does one whose caller is no caller: nobody waits for it.
    let reference = Reference::new(Atom::fixed("x@127.0.0.1"), 7, &[1]).unwrap();
    for from in [Term::nil(), reference.into(), Term::tuple([peer.pid(1).into()])] {
        let call = Term::tuple([Term::atom("$gen_call"), from, Term::atom("total")]);
        let (from, name) = (peer.pid(1), Atom::fixed("stock"));
        assert!(peer.send(&ControlMessage::RegSend { from, name }, Some(&call)));
    }
    assert!(peer.stands());
    assert!(works(&a, &b));
    assert_eq!(a.cluster.stats().unwrap().undecodable, 5 + 2 + 3);
}

#[test]
fn zcall3_a_call_of_what_takes_no_reply_fails_at_once() {
    let (a, _b) = served("replies");
    let mut peer = RawPeer::up("x@127.0.0.1", &a);
    let note = Term::tuple([Term::atom("note"), Term::Int(1)]);
    let refused = Term::tuple([Term::atom("refused"), Term::atom("no_reply")]);
    assert_eq!(peer.call("stock", note), Outcome::Down(refused));
    assert!(peer.stands());
    assert_eq!(a.cluster.stats().unwrap().undecodable, 1);
    // Nothing of it was delivered.
    assert_eq!(peer.call("stock", Term::atom("total")), Outcome::Answer(Term::Int(0)));
}
