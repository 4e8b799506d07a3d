//! Frames of a peer that knows much: pids, references and names that exist, in every combination.

use crate::chance::Chance;
use crate::generate;
use crate::support::raw::{Outcome, RawPeer};
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::{AliasRecipient, ControlMessage, DistributionFlags, Monitored};
use std::num::NonZeroU64;

/// What a peer has learnt.
pub(crate) struct Known {
    stock: ExternalPid,
}

impl Known {
    pub(crate) fn new(peer: &mut RawPeer) -> Known {
        // Another connection may have ended it meanwhile.
        let stock = match peer.call("stock", Term::atom("who")) {
            Outcome::Answer(Term::Pid(pid)) => ExternalPid::clone(&pid),
            _ => peer.pid_there(1, 4),
        };
        Known { stock }
    }

    /// A process of this node.
    fn to(&self, peer: &RawPeer, chance: &mut Chance) -> ExternalPid {
        match chance.below(8) {
            0 => peer.pid_there(chance.word() % 60, self.stock.creation),
            1 => peer.pid_there(chance.word(), chance.word()),
            2 => generate::pid(chance),
            _ => self.stock.clone(),
        }
    }

    /// A process of the peer, most times.
    fn from(peer: &RawPeer, chance: &mut Chance) -> ExternalPid {
        match chance.below(60) {
            0 => generate::pid(chance),
            1 => ExternalPid { creation: chance.word(), ..peer.pid(1) },
            _ => peer.pid(chance.word() % 5),
        }
    }

    fn reference(&self, peer: &mut RawPeer, chance: &mut Chance) -> Reference {
        match chance.below(6) {
            0 => generate::reference(chance),
            1 => {
                let node = peer.pid_there(1, 1).node;
                let words = [chance.word() % 2_000, 0, 0];
                Reference::new(node, self.stock.creation, &words).unwrap()
            }
            2 => peer.reference(),
            _ => {
                let words = [chance.word() % 6, 1, 2];
                Reference::new(peer.name.clone(), peer.creation, &words).unwrap()
            }
        }
    }

    fn name(chance: &mut Chance) -> Atom {
        const NAMES: [&str; 7] = ["stock", "stock", "net_kernel", "rex", "nobody", "pg", "pg"];
        Atom::new(*chance.choose(&NAMES)).unwrap()
    }

    fn target(&self, peer: &RawPeer, chance: &mut Chance) -> Monitored {
        if chance.one_in(2) {
            Monitored::Pid(self.to(peer, chance))
        } else {
            Monitored::Name(Known::name(chance))
        }
    }

    /// A reason: most times one that does not end the process.
    fn reason(chance: &mut Chance) -> Term {
        match chance.below(8) {
            0 => Term::atom("kill"),
            1 => generate::term(chance),
            _ => Term::atom("normal"),
        }
    }

    /// A message of a scope of groups.
    fn of_scope(peer: &RawPeer, chance: &mut Chance) -> Term {
        let scope = Term::from(peer.pid(1 + chance.word() % 2));
        let group = match chance.below(3) {
            0 => generate::term(chance),
            _ => Term::atom("g"),
        };
        let member = |chance: &mut Chance| Term::from(Known::from(peer, chance));
        let count = chance.below(4);
        let pids = Term::list((0..count).map(|_| member(chance)));
        match chance.below(6) {
            0 | 1 => Term::tuple([Term::atom("discover"), scope]),
            2 | 3 => Term::tuple([Term::atom("join"), scope, group, pids]),
            4 => Term::tuple([Term::atom("leave"), scope, pids, Term::list([group])]),
            _ => {
                let groups = Term::list([Term::tuple([group, pids])]);
                let sync = Term::tuple([Term::atom("sync"), scope, groups]);
                Term::tuple([Term::atom("$gen_cast"), sync])
            }
        }
    }

    /// A request, in or without an envelope.
    fn message(&self, peer: &mut RawPeer, chance: &mut Chance) -> Term {
        if chance.one_in(4) {
            return Known::of_scope(peer, chance);
        }
        let pid = Term::from(self.to(peer, chance));
        let token = Term::tuple([Known::from(peer, chance).into(), generate::term(chance)]);
        let request = match chance.below(10) {
            0 => Term::tuple([Term::atom("add"), Term::Int(1), Term::Int(2)]),
            1 => Term::atom("total"),
            2 => Term::atom("drop"),
            3 => Term::atom("keep"),
            4 => Term::tuple([Term::atom("note"), Term::Int(1)]),
            5 => Term::tuple([Term::atom("pass"), pid]),
            6 => Term::tuple([Term::atom("add"), Term::Int(1), Term::Int(2), token]),
            7 => Term::tuple([Term::atom("is_auth"), Term::atom("x")]),
            8 => {
                let name: &&'static str =
                    chance.choose(&["get_status", "get_state", "suspend", "who"]);
                Term::atom(name)
            }
            _ => generate::term(chance),
        };
        let reference = self.reference(peer, chance);
        match chance.below(6) {
            0 => request,
            1 => Term::tuple([Term::atom("$gen_cast"), request]),
            2 => match peer.call_term(&reference, request.clone()) {
                Term::Tuple(parts) => {
                    Term::tuple([Term::atom("system"), parts[1].clone(), request])
                }
                other => other,
            },
            3 => {
                let tag = Term::list_with_tail([Term::atom("alias")], reference.into());
                Term::tuple([tag, request])
            }
            _ => peer.call_term(&reference, request),
        }
    }
}

/// One frame, or several of one message.
pub(crate) fn frame(peer: &mut RawPeer, known: &Known, flags: u64, chance: &mut Chance) -> Vec<u8> {
    let (from, to) = (Known::from(peer, chance), known.to(peer, chance));
    let reference = known.reference(peer, chance);
    let reason = Known::reason(chance);
    let id = NonZeroU64::new(chance.edge() % 4 + 1).unwrap_or(NonZeroU64::MIN);
    let name = Known::name(chance);
    let target = known.target(peer, chance);
    let message = known.message(peer, chance);
    let (control, payload) = match chance.below(21) {
        0..3 => (ControlMessage::RegSend { from, name }, Some(message)),
        3 => (ControlMessage::Send { to }, Some(message)),
        4 => (ControlMessage::SendSender { from, to }, Some(message)),
        5 => (ControlMessage::AliasSend { from, alias: reference }, Some(message)),
        6 => {
            let to = match chance.below(3) {
                0 => AliasRecipient::Pid(to),
                1 => AliasRecipient::Name(name),
                _ => AliasRecipient::Alias(reference),
            };
            let (priority, exit) = (chance.one_in(2), chance.one_in(4));
            let payload = if exit { reason } else { message };
            (ControlMessage::AltactSend { from, to, priority, exit }, Some(payload))
        }
        7 | 8 => (ControlMessage::Link { from, to }, None),
        9 | 10 => (ControlMessage::UnlinkId { id, from, to }, None),
        11 => (ControlMessage::UnlinkIdAck { id, from, to }, None),
        12 => (ControlMessage::Exit { from, to, reason }, None),
        13 => (ControlMessage::PayloadExit { from, to }, Some(reason)),
        14 => (ControlMessage::PayloadExit2 { from, to }, Some(reason)),
        15 | 16 => (ControlMessage::Monitor { from, target, reference }, None),
        17 => (ControlMessage::Demonitor { from, target, reference }, None),
        18 => (ControlMessage::PayloadMonitorExit { target, to, reference }, Some(reason)),
        19 => {
            let (module, function) = (Atom::fixed("erpc"), Atom::fixed("execute_call"));
            let (arity, options) = (u8::try_from(chance.below(6)).unwrap(), Term::nil());
            let group_leader = from.clone();
            let request = ControlMessage::SpawnRequest {
                reference,
                from,
                group_leader,
                module,
                function,
                arity,
                options,
            };
            (request, Some(message))
        }
        _ => {
            let (linked, monitored) = (chance.one_in(2), chance.one_in(2));
            let result = if chance.one_in(2) { Ok(from) } else { Err(name) };
            (ControlMessage::SpawnReply { reference, to, linked, monitored, result }, None)
        }
    };
    let can_split = DistributionFlags::from_bits(flags).contains(DistributionFlags::FRAGMENTS);
    match (payload, chance.one_in(3) && can_split) {
        (Some(payload), true) => fragments(&control, &payload, chance),
        (payload, _) => peer.bytes(&control, payload.as_ref()),
    }
}

/// A message in small fragments, which `krarup-wire` would not write.
fn fragments(control: &ControlMessage, payload: &Term, chance: &mut Chance) -> Vec<u8> {
    let (mut written, mut head) = (Vec::new(), Vec::new());
    payload.write(&mut written).unwrap();
    control.write(&mut head).unwrap();
    let parts: Vec<&[u8]> = written.chunks(1 + chance.below(written.len())).collect();
    let sequence = if chance.one_in(10) { 1 } else { chance.next() };
    let mut bytes = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let left = u64::try_from(parts.len() - at).unwrap();
        let mut frame = vec![131, if at == 0 { 69 } else { 70 }];
        frame.extend([sequence, left].map(u64::to_be_bytes).concat());
        if at == 0 {
            frame.push(0);
            frame.extend(&head);
        }
        frame.extend(*part);
        bytes.extend(u32::try_from(frame.len()).unwrap().to_be_bytes());
        bytes.extend(frame);
    }
    bytes
}
