//! Tests of control messages: each is encoded as the protocol specifies, decoded again,
//! and rejected if it is malformed.

use crate::support::{atom, mutate, pid, reference, term};
use krarup_wire::etf::{Atom, DecodeError, Decoder, ExternalPid, Reference, Term};
use krarup_wire::{AliasRecipient, ControlError, ControlMessage, Monitored};
use proptest::prelude::*;
use std::num::NonZeroU64;

fn one() -> ExternalPid {
    ExternalPid { node: Atom::fixed("a@x"), id: 1, serial: 0, creation: 4 }
}

fn two() -> ExternalPid {
    ExternalPid { node: Atom::fixed("b@y"), id: 2, serial: 0, creation: 5 }
}

fn tag() -> Reference {
    Reference::new(Atom::fixed("a@x"), 4, &[7, 8, 9]).unwrap()
}

fn written(control: &ControlMessage) -> Vec<u8> {
    let mut out = Vec::new();
    control.write(&mut out).unwrap();
    out
}

fn read(bytes: &[u8]) -> Result<ControlMessage, ControlError> {
    ControlMessage::read(&mut Decoder::new(bytes))
}

fn read_term(term: &Term) -> Result<ControlMessage, ControlError> {
    read(&term.encode().unwrap()[1..])
}

/// Returns every control message with its text as a term.
fn every() -> Vec<(ControlMessage, &'static str)> {
    use ControlMessage as Control;
    let (from, to, reference) = (one(), two(), tag());
    let reason = Term::atom("normal");
    let name = Atom::fixed("shop");
    let id = NonZeroU64::MAX;
    let by_name = Monitored::Name(name.clone());
    let by_pid = Monitored::Pid(to.clone());
    macro_rules! with {
        ($($field:ident),*) => {{ $(let $field = $field.clone();)* ($($field),*) }};
    }
    let both = || with!(from, to);
    let mut all = Vec::new();
    let mut add = |control, text| all.push((control, text));
    let (f, t) = both();
    add(Control::Link { from: f, to: t }, "{1,<a@x.1.0>,<b@y.2.0>}");
    add(Control::Send { to: two() }, "{2,'',<b@y.2.0>}");
    let (f, t) = both();
    add(Control::Exit { from: f, to: t, reason: reason.clone() }, "{3,<a@x.1.0>,<b@y.2.0>,normal}");
    add(Control::RegSend { from: one(), name: name.clone() }, "{6,<a@x.1.0>,'',shop}");
    let (f, t) = both();
    add(Control::GroupLeader { from: f, to: t }, "{7,<a@x.1.0>,<b@y.2.0>}");
    let (f, t) = both();
    add(
        Control::Exit2 { from: f, to: t, reason: reason.clone() },
        "{8,<a@x.1.0>,<b@y.2.0>,normal}",
    );
    let (f, target, r) = with!(from, by_name, reference);
    add(Control::Monitor { from: f, target, reference: r }, "{19,<a@x.1.0>,shop,#Ref<a@x.9.8.7>}");
    let (f, target, r) = with!(from, by_pid, reference);
    add(
        Control::Demonitor { from: f, target, reference: r },
        "{20,<a@x.1.0>,<b@y.2.0>,#Ref<a@x.9.8.7>}",
    );
    let (target, t, r) = with!(by_name, to, reference);
    add(
        Control::MonitorExit { target, to: t, reference: r, reason },
        "{21,shop,<b@y.2.0>,#Ref<a@x.9.8.7>,normal}",
    );
    let (f, t) = both();
    add(Control::SendSender { from: f, to: t }, "{22,<a@x.1.0>,<b@y.2.0>}");
    let (f, t) = both();
    add(Control::PayloadExit { from: f, to: t }, "{24,<a@x.1.0>,<b@y.2.0>}");
    let (f, t) = both();
    add(Control::PayloadExit2 { from: f, to: t }, "{26,<a@x.1.0>,<b@y.2.0>}");
    let (target, t, r) = with!(by_pid, to, reference);
    add(
        Control::PayloadMonitorExit { target, to: t, reference: r },
        "{28,<b@y.2.0>,<b@y.2.0>,#Ref<a@x.9.8.7>}",
    );
    let (r, f) = with!(reference, from);
    add(
        Control::SpawnRequest {
            reference: r,
            from: f,
            group_leader: two(),
            module: Atom::fixed("erpc"),
            function: Atom::fixed("execute_call"),
            arity: 4,
            options: Term::list([Term::atom("monitor")]),
        },
        "{29,#Ref<a@x.9.8.7>,<a@x.1.0>,<b@y.2.0>,{erpc,execute_call,4},[monitor]}",
    );
    for (result, text) in [
        (Ok(one()), "{31,#Ref<a@x.9.8.7>,<b@y.2.0>,2,<a@x.1.0>}"),
        (Err(Atom::fixed("notsup")), "{31,#Ref<a@x.9.8.7>,<b@y.2.0>,2,notsup}"),
    ] {
        let (r, t) = with!(reference, to);
        add(
            Control::SpawnReply { reference: r, to: t, linked: false, monitored: true, result },
            text,
        );
    }
    let (f, r) = with!(from, reference);
    add(Control::AliasSend { from: f, alias: r }, "{33,<a@x.1.0>,#Ref<a@x.9.8.7>}");
    let (f, t) = both();
    add(Control::UnlinkId { id, from: f, to: t }, "{35,18446744073709551615,<a@x.1.0>,<b@y.2.0>}");
    let (f, t) = both();
    add(Control::UnlinkIdAck { id: NonZeroU64::MIN, from: f, to: t }, "{36,1,<a@x.1.0>,<b@y.2.0>}");
    for (to, priority, exit, text) in [
        (AliasRecipient::Pid(two()), true, true, "{37,17,<a@x.1.0>,<b@y.2.0>}"),
        (AliasRecipient::Name(name), false, false, "{37,8,<a@x.1.0>,shop}"),
        (AliasRecipient::Alias(tag()), true, false, "{37,5,<a@x.1.0>,#Ref<a@x.9.8.7>}"),
    ] {
        add(Control::AltactSend { from: one(), to, priority, exit }, text);
    }
    all
}

#[test]
fn zlink11_each_control_message_is_the_term_of_the_protocol() {
    for (control, text) in every() {
        let bytes = written(&control);
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(decoder.term().unwrap().to_string(), text);
        assert_eq!(decoder.offset(), bytes.len());
        assert_eq!(read(&bytes).unwrap(), control, "{text}");
    }
}

#[test]
fn zlink11_a_payload_follows_the_messages_that_the_protocol_says() {
    for (control, text) in every() {
        let Term::Tuple(elements) = Decoder::new(&written(&control)).term().unwrap() else {
            panic!()
        };
        let Term::Int(number) = elements[0] else { panic!() };
        let has_payload = matches!(number, 2 | 6 | 22 | 24 | 26 | 28 | 29 | 33 | 37);
        assert_eq!(control.has_payload(), has_payload, "{text}");
    }
}

#[test]
fn zmsg15_messages_with_a_trace_token_are_read_without_it() {
    let with_token =
        [(2, 12, 3), (3, 13, 3), (6, 16, 4), (8, 18, 3), (22, 23, 3), (24, 25, 3), (26, 27, 3)]
            .into_iter()
            .chain([(29, 30, 6), (31, 32, 5), (33, 34, 3)]);
    for (plain, traced, place) in with_token {
        for (control, text) in every() {
            let Term::Tuple(elements) = Decoder::new(&written(&control)).term().unwrap() else {
                panic!()
            };
            if elements[0] != Term::Int(plain) {
                continue;
            }
            let mut elements = elements.to_vec();
            elements[0] = Term::Int(traced);
            elements.insert(place, Term::tuple([Term::Int(1), Term::atom("token")]));
            assert_eq!(read_term(&Term::tuple(elements)).unwrap(), control, "{text}");
        }
    }
    let altact = [Term::Int(37), Term::Int(3), one().into(), two().into(), Term::atom("token")];
    let ControlMessage::AltactSend { priority: true, .. } =
        read_term(&Term::tuple(altact)).unwrap()
    else {
        panic!()
    };
}

#[test]
fn zmsg9_every_wrong_arity_type_or_number_is_an_error() {
    for (control, text) in every() {
        let Term::Tuple(elements) = Decoder::new(&written(&control)).term().unwrap() else {
            panic!()
        };
        let mut longer = elements.to_vec();
        longer.push(Term::nil());
        assert!(
            matches!(read_term(&Term::tuple(longer)), Err(ControlError::Arity { .. })),
            "{text}"
        );
        let shorter = elements[..elements.len() - 1].to_vec();
        assert!(
            matches!(read_term(&Term::tuple(shorter)), Err(ControlError::Arity { .. })),
            "{text}"
        );
        for at in 0..elements.len() {
            let mut wrong = elements.to_vec();
            wrong[at] = Term::Export(std::sync::Arc::new(krarup_wire::etf::Export {
                module: Atom::fixed("m"),
                function: Atom::fixed("f"),
                arity: 0,
            }));
            let is_free = matches!(elements[at], Term::List(_))
                || matches!(&elements[at], Term::Atom(atom) if *atom == "" || *atom == "normal");
            assert_eq!(read_term(&Term::tuple(wrong)).is_ok(), is_free, "{text}, element {at}");
        }
    }
    for number in [0, 4, 5, 9, 10, 11, 14, 15, 17, 38, -1, 256, i64::MAX] {
        let error = read_term(&Term::tuple([Term::Int(number), one().into(), two().into()]));
        assert_eq!(error, Err(ControlError::Unknown { number }));
    }
    for term in [Term::Int(1), Term::nil(), Term::tuple([])] {
        assert!(matches!(read_term(&term), Err(ControlError::NoTuple { .. })));
    }
    let unlink = |id| read_term(&Term::tuple([Term::Int(35), id, one().into(), two().into()]));
    assert!(matches!(unlink(Term::Int(0)), Err(ControlError::Value { field: "id", value: 0, .. })));
    assert!(matches!(unlink(Term::Int(-1)), Err(ControlError::Value { .. })));
    let too_big = krarup_wire::etf::BigInt::from(1_u128 << 64);
    let error = ControlError::Value { number: 35, field: "id", value: 1 << 64 };
    assert_eq!(unlink(too_big.into()), Err(error));
    let beyond = krarup_wire::etf::BigInt::new(false, &[1; 17]);
    assert!(matches!(unlink(beyond.into()), Err(ControlError::Decode(_))));
    assert!(matches!(
        unlink(Term::atom("x")),
        Err(ControlError::Decode(DecodeError::Expected { .. }))
    ));
    for flags in [12, 32, -1] {
        let altact = [Term::Int(37), Term::Int(flags), one().into(), two().into()];
        let error = read_term(&Term::tuple(altact));
        assert!(matches!(error, Err(ControlError::Value { field: "flags", .. })), "{flags}");
    }
}

#[test]
fn zmsg9_a_message_cut_anywhere_is_an_error() {
    for (control, text) in every() {
        let bytes = written(&control);
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "{text} cut at {end}");
        }
    }
}

proptest! {
    #[test]
    fn zmsg9_a_message_read_from_mutated_bytes_round_trips(
        which in 0..every().len(),
        changes in prop::collection::vec(any::<(u8, u16, u8)>(), 1..5),
    ) {
        let mut bytes = written(&every()[which].0);
        mutate(&mut bytes, &changes);
        if let Ok(control) = read(&bytes) {
            prop_assert_eq!(read(&written(&control)).unwrap(), control);
        }
    }

    #[test]
    fn arbitrary_fields_round_trip(
        (from, to, alias) in (pid(), pid(), reference()),
        name in atom(),
        reason in term(),
        id in 1..=u64::MAX,
    ) {
        let id = NonZeroU64::new(id).unwrap();
        for control in [
            ControlMessage::Exit { from: from.clone(), to: to.clone(), reason },
            ControlMessage::UnlinkId { id, from: from.clone(), to },
            ControlMessage::AliasSend { from: from.clone(), alias },
            ControlMessage::RegSend { from, name },
        ] {
            prop_assert_eq!(read(&written(&control)).unwrap(), control);
        }
    }
}
