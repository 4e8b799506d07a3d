//! Scopes of groups and a peer that a test plays: what is said on the wire, and what a peer that has
//! the cookie can make of it (rules Zpg1 to Zpg5, Zsec4, Zsec5).

use crate::support::raw::{Outcome, RawPeer, until};
use crate::support::{Member, Order, Worker};
use krarup_dist::ClusterCalls;
use krarup_gen::Pid;
use krarup_wire::etf::{Atom, ExternalPid, Term};
use krarup_wire::{ControlMessage, Monitored};

const PEER: &str = "x@127.0.0.1";

/// A node with the scope `pg`, in which another may announce so many members.
fn member(label: &str, limit: usize) -> Member {
    let name = format!("groups_{label}@127.0.0.1");
    let member =
        Member::with(&name, "secret", move |cluster| cluster.groups("pg").member_limit(limit));
    member.worker("stock");
    member
}

/// A process of the peer.
fn theirs(id: u32) -> ExternalPid {
    ExternalPid { node: Atom::fixed(PEER), id, serial: 0, creation: 7 }
}

fn tuple(tag: &'static str, parts: impl IntoIterator<Item = Term>) -> Term {
    Term::tuple([Term::atom(tag)].into_iter().chain(parts))
}

fn cast(message: Term) -> Term {
    tuple("$gen_cast", [message])
}

fn group(name: &'static str) -> Term {
    Term::atom(name)
}

/// A message of the peer to the scope.
fn say(peer: &mut RawPeer, message: &Term) {
    let control = ControlMessage::RegSend { from: theirs(1), name: Atom::fixed("pg") };
    assert!(peer.send(&control, Some(message)));
}

/// The next message to a process of the peer. A greeting before it may be repeated (rule Zpg7).
fn heard(peer: &mut RawPeer) -> (u32, Term) {
    loop {
        if let (ControlMessage::SendSender { to, .. }, Some(message)) = peer.next().unwrap() {
            return (to.id, message);
        }
    }
}

fn parts(message: &Term) -> &[Term] {
    match message {
        Term::Tuple(parts) => parts,
        other => panic!("{other}"),
    }
}

fn pid(term: &Term) -> ExternalPid {
    match term {
        Term::Pid(pid) => ExternalPid::clone(pid),
        other => panic!("{other}"),
    }
}

/// The scope greets the peer, by its name and without a version. Returns its pid.
fn greeted(peer: &mut RawPeer) -> ExternalPid {
    loop {
        if let (ControlMessage::RegSend { name, .. }, Some(message)) = peer.next().unwrap() {
            let [tag, scope] = parts(&message) else { panic!("{message}") };
            assert_eq!((name, tag), (Atom::fixed("pg"), &Term::atom("discover")));
            return pid(scope);
        }
    }
}

/// The peer has a scope with this number, and has exchanged greetings.
fn exchanged(peer: &mut RawPeer, number: u32) -> Term {
    say(peer, &tuple("discover", [theirs(number).into()]));
    let (to, discover) = heard(peer);
    assert_eq!((to, &parts(&discover)[0]), (number, &Term::atom("discover")));
    let (to, sync) = heard(peer);
    assert_eq!((to, &parts(&sync)[0]), (number, &Term::atom("$gen_cast")));
    parts(&sync)[1].clone()
}

/// Joins of processes of the peer, by its scope with this number.
fn joins(scope: u32, name: Term, members: &[u32]) -> Term {
    let members = members.iter().map(|id| theirs(*id).into());
    tuple("join", [theirs(scope).into(), name, Term::list(members)])
}

fn members(of: &Member, group: &str) -> Vec<u64> {
    of.node.groups().pids(group).into_iter().map(Pid::id).collect()
}

#[test]
fn zpg2_joins_and_leaves_are_told_as_otp_reads_them() {
    let a = member("tells", 100);
    let (one, two) = (a.node.spawn(Worker::default), a.node.spawn(Worker::default));
    let (one, two) = (one.wait().unwrap(), two.wait().unwrap());
    let groups = a.node.groups();
    groups.join("old", &one.recipient::<Order>()).unwrap();
    groups.join("old", &one.recipient::<Order>()).unwrap();
    let mut peer = RawPeer::up(PEER, &a);
    let scope = greeted(&mut peer);
    let sync = exchanged(&mut peer, 9);
    let id = |term: &Term| u64::from(pid(term).id);
    let [tag, from, Term::List(all)] = parts(&sync) else { panic!("{sync}") };
    assert_eq!((tag, pid(from), all.len()), (&Term::atom("sync"), scope.clone(), 1));
    let [name, Term::List(pids)] = parts(&all[0]) else { panic!("{sync}") };
    assert_eq!(*name, Term::binary("old"));
    assert_eq!(pids.iter().map(id).collect::<Vec<_>>(), [one.pid().id(); 2]);
    // Each change is a message, in their order.
    groups.join("new", &two.recipient::<Order>()).unwrap();
    groups.leave("old", one.pid()).unwrap();
    a.node.kill(two.pid());
    for (tag, name, member) in
        [("join", "new", two.pid()), ("leave", "old", one.pid()), ("leave", "new", two.pid())]
    {
        let (to, message) = heard(&mut peer);
        assert_eq!(to, 9);
        let [said, from, third, fourth] = parts(&message) else { panic!("{message}") };
        assert_eq!((said, pid(from)), (&Term::atom(tag), scope.clone()));
        let (pids, named) = if tag == "join" { (fourth, third) } else { (third, fourth) };
        let named = if tag == "join" { named.clone() } else { parts_of_list(named) };
        assert_eq!((id(&parts_of_list(pids)), named), (member.id(), Term::binary(name)));
    }
    // A scope that is known already is not greeted again, and gets all once more.
    say(&mut peer, &tuple("discover", [theirs(9).into(), Term::Int(1)]));
    let (to, sync) = heard(&mut peer);
    assert_eq!((to, &parts(&sync)[0]), (9, &Term::atom("$gen_cast")));
}

/// The only element of a list.
fn parts_of_list(list: &Term) -> Term {
    match list {
        Term::List(elements) if elements.len() == 1 => elements[0].clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn zpg5_what_comes_of_scopes_that_were_not_greeted_or_is_malformed_changes_nothing() {
    let a = member("malformed", 100);
    let mut peer = RawPeer::up(PEER, &a);
    greeted(&mut peer);
    let unknown = joins(8, group("g"), &[20]);
    say(&mut peer, &unknown);
    exchanged(&mut peer, 9);
    let joined = joins(9, group("g"), &[20, 21, 20]);
    say(&mut peer, &joined);
    let odd = joins(9, Term::Int(7), &[20]);
    say(&mut peer, &odd);
    until("members", || {
        members(&a, "g").len() == 3
            && a.cluster.term_groups("pg").unwrap().members(&Term::Int(7)).len() == 1
    });
    assert_eq!(members(&a, "g"), [20, 21, 20]);
    let before = a.cluster.stats().unwrap();
    let me = || Term::from(theirs(9));
    let elsewhere = Term::from(ExternalPid { node: Atom::fixed("y@127.0.0.1"), ..theirs(20) });
    let earlier = Term::from(ExternalPid { creation: 3, ..theirs(20) });
    let malformed = [
        Term::atom("discover"),
        Term::Int(7),
        tuple("discover", []),
        tuple("discover", [Term::Int(1)]),
        tuple("discover", [elsewhere.clone()]),
        tuple("join", [me(), group("g"), elsewhere.clone()]),
        tuple("join", [me(), group("g"), Term::list([theirs(22).into(), earlier])]),
        tuple("join", [elsewhere, group("g"), theirs(22).into()]),
        tuple("join", [me(), group("g"), group("g")]),
        tuple("leave", [me(), theirs(20).into(), group("g")]),
        tuple("leave", [me(), Term::nil()]),
        cast(tuple("sync", [me(), Term::list([group("g")])])),
        cast(tuple("sync", [me(), group("g")])),
        cast(tuple("local_data", [me(), Term::Int(1), Term::nil()])),
        tuple("sync", [me(), Term::nil()]),
    ];
    malformed.iter().for_each(|message| say(&mut peer, message));
    assert!(peer.stands());
    let after = a.cluster.stats().unwrap();
    assert_eq!(after.undecodable - before.undecodable, malformed.len() as u64);
    // They were read before the answer, and what changes nothing was not even passed on.
    let unknown = tuple("leave", [theirs(8).into(), theirs(20).into(), Term::list([group("g")])]);
    say(&mut peer, &unknown);
    let left = tuple("leave", [theirs(9).into(), theirs(21).into(), Term::list([group("g")])]);
    say(&mut peer, &left);
    until("one has left", || members(&a, "g").len() != 3);
    assert_eq!(members(&a, "g"), [20, 20]);
    // A call to a scope fails at once.
    assert!(matches!(peer.call("pg", Term::atom("which_groups")), Outcome::Down(_)));
    drop(peer);
    until("all have left", || members(&a, "g").is_empty());
    until("also of terms", || a.cluster.term_groups("pg").unwrap().names().is_empty());
}

#[test]
fn zpg5_what_a_peer_announces_is_bounded_and_counted() {
    let a = member("bounds", 100);
    let mut peer = RawPeer::up(PEER, &a);
    greeted(&mut peer);
    exchanged(&mut peer, 9);
    let many: Vec<u32> = (1_000..2_000).collect();
    let flood = joins(9, group("g"), &many);
    say(&mut peer, &flood);
    until("refused", || a.cluster.stats().unwrap().refused_members == 901);
    assert_eq!(members(&a, "g").len(), 99);
    // No group has room any more, whatever its name.
    let another = joins(9, Term::Int(7), &[1]);
    say(&mut peer, &another);
    until("refused", || a.cluster.stats().unwrap().refused_members == 902);
    // Scopes that are none: few are known, and their ends make room.
    for number in 100..200 {
        say(&mut peer, &tuple("discover", [theirs(number).into()]));
    }
    until("refused", || a.cluster.stats().unwrap().refused_members == 902 + 85);
    assert!(peer.stands());
    let scope = a.node.whereis("pg").unwrap();
    let known = a.node.inspect(scope).wait().unwrap().number("peer_scopes");
    assert_eq!(known, Some(16));
    // A sync makes room for itself.
    let pids = (0..99).map(|id| Term::from(theirs(id)));
    let groups = Term::list([Term::tuple([group("h"), Term::list(pids)])]);
    say(&mut peer, &cast(tuple("sync", [theirs(9).into(), groups])));
    until("synced", || members(&a, "h").len() == 99 && members(&a, "g").is_empty());
    drop(peer);
    until("nothing is left", || {
        let inspection = a.node.inspect(scope).wait().unwrap();
        let left = (inspection.number("peer_scopes"), inspection.number("peer_weight"));
        left == (Some(0), Some(0)) && a.node.groups().names().is_empty()
    });
}

#[test]
fn zpg4_a_peer_that_does_not_read_is_owed_its_sync_and_gets_it_when_it_reads() {
    let limit = 64 << 10;
    let a = Member::with("groups_owes@127.0.0.1", "secret", move |cluster| {
        cluster.groups("pg").queue_limits(limit, 512 << 20)
    });
    a.worker("stock");
    let process = a.node.spawn(Worker::default).wait().unwrap();
    for _ in 0..2_000 {
        a.node.groups().join("many", &process.recipient::<Order>()).unwrap();
    }
    let mut peer = RawPeer::up(PEER, &a);
    greeted(&mut peer);
    let scope = || a.node.inspect(a.node.whereis("pg").unwrap()).wait().unwrap();
    // Each is answered with some 50 KiB, which are not read.
    let mut asked = 0;
    while scope().number("owed") == Some(0) {
        say(&mut peer, &tuple("discover", [theirs(9).into()]));
        asked += 1;
        assert!(asked < 10_000);
    }
    for _ in 0..1_000 {
        say(&mut peer, &tuple("discover", [theirs(9).into()]));
    }
    assert!(a.connection().waiting < 4 * limit, "{:?}", a.connection());
    a.node.groups().join("late", &process.recipient::<Order>()).unwrap();
    // The last one has all of them.
    loop {
        let (_, message) = heard(&mut peer);
        let [tag, rest @ ..] = parts(&message) else { panic!("{message}") };
        if *tag == Term::atom("$gen_cast")
            && let [_, _, Term::List(groups)] = parts(&rest[0])
            && groups.len() == 2
        {
            break;
        }
    }
    // It goes on reading: what it has asked for meanwhile is sent, too.
    until("nothing is owed", || peer.stands() && scope().number("owed") == Some(0));
}

#[test]
fn zsec5_a_peer_monitors_a_scope_and_does_nothing_else_to_it() {
    let a = member("rights", 100);
    let mut peer = RawPeer::up(PEER, &a);
    let scope = greeted(&mut peer);
    let process = a.node.whereis("pg").unwrap();
    let (me, kill) = (theirs(1), || Some(Term::atom("kill")));
    for (control, payload) in [
        (ControlMessage::Link { from: me.clone(), to: scope.clone() }, None),
        (ControlMessage::PayloadExit { from: me.clone(), to: scope.clone() }, kill()),
        (ControlMessage::PayloadExit2 { from: me.clone(), to: scope.clone() }, kill()),
    ] {
        assert!(peer.send(&control, payload.as_ref()));
    }
    let mut monitor = |target: Monitored| {
        let (from, reference) = (theirs(1), peer.reference());
        let monitored = reference.clone();
        peer.send(&ControlMessage::Monitor { from, target, reference }, None);
        monitored
    };
    let monitors = [monitor(Monitored::Pid(scope)), monitor(Monitored::Name(Atom::fixed("pg")))];
    assert!(peer.stands());
    assert_eq!(a.node.whereis("pg"), Some(process));
    exchanged(&mut peer, 9);
    let joined = joins(9, group("g"), &[20]);
    say(&mut peer, &joined);
    until("a member", || members(&a, "g") == [20]);
    // Its end is told, and the next one greets again.
    a.node.kill(process);
    let (mut told, mut greeting) = (Vec::new(), None);
    while told.len() < 2 || greeting.is_none() {
        match peer.next().unwrap() {
            (ControlMessage::PayloadMonitorExit { reference, .. }, Some(reason)) => {
                assert_eq!(reason, Term::atom("killed"));
                told.push(reference);
            }
            (ControlMessage::RegSend { .. }, message) => greeting = message,
            _ => {}
        }
    }
    told.sort_by_key(|reference| reference.words().to_vec());
    assert_eq!(told, monitors);
    assert_ne!(a.node.whereis("pg"), Some(process));
    until("it has left", || members(&a, "g").is_empty());
}

#[test]
fn zsec4_groups_are_refused_until_they_are_allowed() {
    let plain = Member::start("groups_plain@127.0.0.1", "secret", &[]);
    plain.worker("stock");
    let process = plain.node.spawn(Worker::default).wait().unwrap();
    plain.node.groups().join("g", &process.recipient::<Order>()).unwrap();
    let mut peer = RawPeer::up(PEER, &plain);
    let before = plain.cluster.stats().unwrap().unreachable;
    say(&mut peer, &tuple("discover", [theirs(9).into()]));
    let joined = joins(9, group("g"), &[20]);
    say(&mut peer, &joined);
    assert!(peer.stands());
    assert_eq!(plain.cluster.stats().unwrap().unreachable - before, 2);
    assert_eq!(members(&plain, "g"), [process.pid().id()]);
    // Its members were not told, and cannot be reached.
    let creation = peer.pid_of("stock").creation;
    let number = u32::try_from(process.pid().id()).unwrap();
    let guessed = peer.pid_there(number, creation);
    let reference = peer.reference();
    let target = Monitored::Pid(guessed);
    let from = theirs(1);
    peer.send(&ControlMessage::Monitor { from, target, reference: reference.clone() }, None);
    loop {
        if let (ControlMessage::PayloadMonitorExit { reference: of, .. }, reason) =
            peer.next().unwrap()
        {
            assert_eq!((of, reason), (reference, Some(Term::atom("noproc"))));
            break;
        }
    }
}
