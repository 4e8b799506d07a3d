//! Answers of nodes that were not called, and callers on nodes that are not what they were said
//! to be (rules Zcall5, Zcall6, Zsec5).

use crate::support::raw::{LONG, RawPeer, until};
use crate::support::scripted::{ScriptedPeer, gen_call, tag, tagged};
use crate::support::served::table;
use crate::support::{Member, Order};
use krarup_dist::{Cluster, ClusterCalls};
use krarup_gen::CallError;
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::{AliasRecipient, ControlMessage, DistributionFlags, Monitored};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

const CALLED: &str = "called@127.0.0.1";
const THIRD: &str = "third@127.0.0.1";
const FOURTH: &str = "fourth@127.0.0.1";
const FAR: &str = "far@127.0.0.1";

/// A call to a peer, as the peer has received it.
struct Asked {
    outcome: JoinHandle<Result<i64, CallError>>,
    from: ExternalPid,
    tag: Term,
    alias: Reference,
}

impl Asked {
    /// Has the member call a process of the peer.
    fn of(member: &Member, peer: &mut RawPeer, limit: Duration) -> Asked {
        let desk = member.cluster.remote::<Order>("desk", peer.name.as_str()).unwrap();
        let outcome = std::thread::spawn(move || desk.call(Order::Total).timeout(limit).wait());
        loop {
            let (_, payload) = peer.next().expect("the connection stands");
            let Some(Term::Tuple(call)) = payload else { continue };
            let Term::Tuple(from) = &call[1] else { panic!("{:?}", call[1]) };
            let (Term::Pid(pid), Term::Improper(list)) = (&from[0], &from[1]) else { panic!() };
            let Term::Reference(alias) = list.tail() else { panic!() };
            let (from, tag) = (ExternalPid::clone(pid), from[1].clone());
            return Asked { outcome, from, tag, alias: Reference::clone(alias) };
        }
    }

    fn answer(&self, value: i64) -> Term {
        Term::tuple([self.tag.clone(), Term::Int(value)])
    }

    /// Answers from this peer, as `gen_server:reply/2` does there.
    fn answered_by(&self, peer: &mut RawPeer, value: i64) {
        let (from, alias) = (peer.pid(1), self.alias.clone());
        let answer = self.answer(value);
        assert!(peer.send(&ControlMessage::AliasSend { from, alias }, Some(&answer)));
    }

    /// Has the peer forward the call to a process of the node that has made it, with this request.
    fn returned_by(&self, peer: &mut RawPeer, name: &'static str, request: Term) {
        let from = Term::tuple([self.from.clone().into(), self.tag.clone()]);
        let call = tagged("$gen_call", [from, request]);
        let (from, name) = (peer.pid(1), Atom::fixed(name));
        assert!(peer.send(&ControlMessage::RegSend { from, name }, Some(&call)));
    }

    fn outcome(self) -> Result<i64, CallError> {
        self.outcome.join().unwrap()
    }
}

fn member(label: &str) -> Member {
    let member = Member::start(&format!("{label}@127.0.0.1"), "secret", &[]);
    member.worker("stock");
    member
}

fn late(of: &Member) -> u64 {
    of.cluster.stats().unwrap().late
}

#[test]
fn zcall6_of_the_answers_of_two_third_nodes_the_first_is_taken() {
    let here = member("two_answers");
    let mut called = RawPeer::up(CALLED, &here);
    let mut third = RawPeer::up(THIRD, &here);
    let mut fourth = RawPeer::up(FOURTH, &here);
    let asked = Asked::of(&here, &mut called, LONG);
    let (answer, alias) = (asked.answer(2), asked.alias.clone());
    asked.answered_by(&mut third, 1);
    assert_eq!(asked.outcome(), Ok(1));
    let from = fourth.pid(1);
    fourth.send(&ControlMessage::AliasSend { from, alias: alias.clone() }, Some(&answer));
    until("the second is late", || late(&here) == 1);
    // The node that was called hears that the call is over, and says nothing more than it may.
    loop {
        let (control, _) = called.next().unwrap();
        if matches!(&control, ControlMessage::Demonitor { reference, .. } if *reference == alias) {
            break;
        }
    }
    assert!(called.stands() && third.stands() && fourth.stands());
}

#[test]
fn zcall6_an_answer_to_an_earlier_incarnation_is_late_and_the_call_waits_on() {
    let here = member("earlier");
    let mut called = RawPeer::up(CALLED, &here);
    let mut third = RawPeer::up(THIRD, &here);
    let asked = Asked::of(&here, &mut called, LONG);
    let answer = asked.answer(1);
    let other = |node: &Atom, creation| {
        Reference::new(node.clone(), creation, asked.alias.words()).unwrap()
    };
    let creation = asked.alias.creation();
    let mut say = |alias| {
        let to = AliasRecipient::Alias(alias);
        let from = third.pid(1);
        let control = ControlMessage::AltactSend { from, to, priority: false, exit: false };
        assert!(third.send(&control, Some(&answer)));
    };
    // The reference of another life of this node, and the same words of another node.
    say(other(asked.alias.node(), creation.wrapping_add(1)));
    say(other(&Atom::new(FAR).unwrap(), creation));
    until("both are counted", || {
        let stats = here.cluster.stats().unwrap();
        (stats.late, stats.unreachable) == (1, 1)
    });
    assert_eq!(table(&here, "calls"), 1);
    // What counts is the token. The creation and the node of the process that sends are not looked at.
    let mut from = third.pid(1);
    from.creation = 99;
    let alias = asked.alias.clone();
    assert!(third.send(&ControlMessage::AliasSend { from, alias }, Some(&answer)));
    assert_eq!(asked.outcome(), Ok(1));
    assert!(third.stands());
}

#[test]
fn zcall5_an_answer_after_the_timeout_is_late_also_if_it_is_sent_to_the_pid() {
    let here = member("timed_out");
    let mut called = RawPeer::up(CALLED, &here);
    // A node that knows no aliases, as C nodes are.
    let without = DistributionFlags::ALIAS.bits() | DistributionFlags::ALTACT_SIG.bits();
    let flags = DistributionFlags::OFFERED.bits() & !without;
    let mut third = RawPeer::connect(THIRD, "secret", flags, &here).unwrap();
    let asked = Asked::of(&here, &mut called, LONG);
    let (to, answer) = (asked.from.clone(), asked.answer(5));
    assert!(third.send(&ControlMessage::Send { to }, Some(&answer)));
    assert_eq!((asked.outcome(), late(&here)), (Ok(5), 0));
    let asked = Asked::of(&here, &mut called, Duration::from_millis(1));
    let (to, alias, answer) = (asked.from.clone(), asked.alias.clone(), asked.answer(1));
    let outcome = asked.outcome();
    assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{outcome:?}");
    assert!(third.send(&ControlMessage::Send { to: to.clone() }, Some(&answer)));
    let from = third.pid(1);
    assert!(third.send(&ControlMessage::SendSender { from, to }, Some(&answer)));
    let from = third.pid(1);
    assert!(third.send(&ControlMessage::AliasSend { from, alias }, Some(&answer)));
    until("all are late", || late(&here) == 3);
    let stats = here.cluster.stats().unwrap();
    assert_eq!((stats.unreachable, stats.undecodable), (0, 0));
    assert!(third.stands());
}

#[test]
fn zsec5_a_third_node_with_another_cookie_answers_nothing_and_one_without_a_call_ends_none() {
    let here = member("strangers");
    let mut called = RawPeer::up(CALLED, &here);
    let mut third = RawPeer::up(THIRD, &here);
    let asked = Asked::of(&here, &mut called, LONG);
    let offered = DistributionFlags::OFFERED.bits();
    assert!(RawPeer::connect(FOURTH, "another", offered, &here).is_none());
    // To answer is the right of whoever has the token. To say that the callee has ended is that of its node.
    let (target, to) = (Monitored::Name(Atom::fixed("desk")), asked.from.clone());
    let reference = asked.alias.clone();
    let down = ControlMessage::PayloadMonitorExit { target, to, reference };
    assert!(third.send(&down, Some(&Term::atom("killed"))) && third.stands());
    assert_eq!(table(&here, "calls"), 1);
    assert!(called.send(&down, Some(&Term::atom("killed"))));
    let outcome = asked.outcome();
    assert!(matches!(outcome, Err(CallError::Terminated { .. })), "{outcome:?}");
}

/// A node whose peer passes on the token of a caller of this incarnation of a far node.
fn asked_for(here: &Member, creation: u32) -> (RawPeer, Reference) {
    let mut peer = RawPeer::up(CALLED, here);
    let node = Atom::new(FAR).unwrap();
    let reference = Reference::new(node.clone(), creation, &[5, 1, 2]).unwrap();
    let far = ExternalPid { node, id: 1, serial: 0, creation };
    let request = tagged("add", [Term::Int(20), Term::Int(2)]);
    let (from, name) = (peer.pid(1), Atom::fixed("stock"));
    let call = gen_call(far, &reference, request);
    assert!(peer.send(&ControlMessage::RegSend { from, name }, Some(&call)));
    (peer, reference)
}

#[test]
fn zcall6_the_node_of_a_forwarded_call_is_dialled_and_answered() {
    for (said, is, is_answered) in [(7, 7, true), (8, 7, false)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let here = Member::with("forwarded@127.0.0.1", "secret", move |cluster: Cluster| {
            cluster.peer(FAR, at)
        });
        here.worker("stock");
        let (mut peer, reference) = asked_for(&here, said);
        let mut far = ScriptedPeer::accept(&listener, FAR, is);
        if is_answered {
            assert_eq!(far.outcome(&reference), Ok(Term::Int(22)));
            assert_eq!(late(&here), 0);
        } else {
            // The caller has ended with its node: the answer is not for the next one.
            until("it is late", || late(&here) == 1);
            let total = far.call("stock", Term::atom("total"));
            assert_ne!(tag(&total), tag(&reference));
            assert_eq!(far.outcome(&total), Ok(Term::Int(0)));
        }
        assert!(peer.stands());
    }
}

#[test]
fn zcall6_an_answer_to_a_node_that_cannot_be_dialled_is_late() {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let here = Member::with("unreached@127.0.0.1", "secret", move |cluster: Cluster| {
        cluster.peer(FAR, at)
    });
    here.worker("stock");
    let (mut peer, _) = asked_for(&here, 7);
    until("it is late", || late(&here) == 1);
    assert!(peer.stands());
    assert_eq!(here.cluster.nodes().unwrap().len(), 1);
}

#[test]
fn zcall6_a_call_that_comes_back_to_its_own_node_is_answered_there() {
    let here = member("returned");
    let mut called = RawPeer::up(CALLED, &here);
    let asked = Asked::of(&here, &mut called, LONG);
    asked.returned_by(&mut called, "stock", tagged("add", [Term::Int(20), Term::Int(2)]));
    assert_eq!((asked.outcome(), late(&here), table(&here, "calls")), (Ok(22), 0, 0));
}

#[test]
fn zcall3_a_call_that_comes_back_to_its_own_node_and_is_not_answered_there_fails_at_once() {
    let here = member("returned_in_vain");
    let mut called = RawPeer::up(CALLED, &here);
    let dropped = Asked::of(&here, &mut called, LONG);
    dropped.returned_by(&mut called, "stock", Term::atom("drop"));
    let outcome = dropped.outcome();
    assert!(matches!(outcome, Err(CallError::NoReply { .. })), "{outcome:?}");
    let unread = Asked::of(&here, &mut called, LONG);
    unread.returned_by(&mut called, "stock", Term::atom("nonsense"));
    let outcome = unread.outcome();
    assert!(matches!(outcome, Err(CallError::Undelivered { .. })), "{outcome:?}");
    // A message that takes no token.
    let cast = Asked::of(&here, &mut called, LONG);
    cast.returned_by(&mut called, "stock", tagged("note", [Term::Int(1)]));
    let outcome = cast.outcome();
    assert!(matches!(outcome, Err(CallError::NoReply { .. })), "{outcome:?}");
    assert_eq!(table(&here, "calls"), 0);
}
