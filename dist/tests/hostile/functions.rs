//! What peers can do with requests for functions and processes: wrong shapes, floods, callers that
//! are gone half-way; and the old `rex`.

use crate::support::raw::until;
use crate::support::scripted::{ScriptedPeer, gen_call, gen_cast, tagged};
use crate::support::{Member, Order};
use krarup_act::{Actor, Context};
use krarup_dist::etf::{Atom, Elements, ExternalPid, Reference, Term};
use krarup_dist::{Cluster, ClusterCalls, TermException};
use krarup_gen::{Reason, Result};
use krarup_wire::{AliasRecipient, ControlMessage, Monitored};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the calls that have begun and those that run.
#[derive(Clone, Default)]
struct Served {
    begun: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
}

struct Place(Served);

impl Served {
    fn enter(&self) -> Place {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        Place(self.clone())
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Idle;

impl Actor for Idle {
    type Message = Order;

    async fn handle_message(&mut self, _: &mut Context<Order>, _: Order) -> Result {
        Ok(())
    }
}

/// A node with `calc:size/1`, `calc:hang/0`, `calc:fail/1` and the factory `calc:idle/0`.
fn member(
    label: &str,
    settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
) -> (Member, Served) {
    let member = Member::with(&format!("{label}_a@127.0.0.1"), "secret", settings);
    let served = Served::default();
    let counted = served.clone();
    member
        .cluster
        .serve("calc", "size", move |(text,): (String,)| {
            let place = counted.enter();
            async move {
                drop(place);
                Ok::<_, TermException>(text.len() as u64)
            }
        })
        .unwrap();
    let counted = served.clone();
    member
        .cluster
        .serve("calc", "hang", move |(): ()| {
            let place = counted.enter();
            async move {
                std::future::pending::<()>().await;
                drop(place);
                Ok::<(), TermException>(())
            }
        })
        .unwrap();
    let fail = |(reason,): (Term,)| async move { Err::<(), _>(TermException::error(reason)) };
    member.cluster.serve("calc", "fail", fail).unwrap();
    member.cluster.factory("calc", "idle", |(): ()| Idle).unwrap();
    member.worker("stock");
    (member, served)
}

fn atoms<const N: usize>(names: [&'static str; N]) -> Term {
    Term::list(names.map(Term::atom))
}

/// A spawn request of the process 1.
fn request(
    peer: &mut ScriptedPeer,
    (module, function, arity): (&'static str, &'static str, u8),
    options: Term,
) -> (Reference, ControlMessage) {
    let reference = peer.reference();
    let request = ControlMessage::SpawnRequest {
        reference: reference.clone(),
        from: peer.pid(1),
        group_leader: peer.pid(2),
        module: Atom::fixed(module),
        function: Atom::fixed(function),
        arity,
        options,
    };
    (reference, request)
}

/// Requests a call of a function of `calc`, as `erpc` does.
fn call(
    peer: &mut ScriptedPeer,
    function: &'static str,
    arguments: Vec<Term>,
    options: Term,
) -> Reference {
    let (reference, request) = request(peer, ("erpc", "execute_call", 4), options);
    let (module, function) = (Term::atom("calc"), Term::atom(function));
    let arguments = [Term::atom("mark"), module, function, Term::list(arguments)];
    peer.say(&request, Some(&Term::list(arguments)));
    reference
}

/// The reply to a request, which must be the next that comes.
fn reply(peer: &mut ScriptedPeer, to: &Reference) -> std::result::Result<ExternalPid, String> {
    match peer.read() {
        Some((ControlMessage::SpawnReply { reference, result, .. }, None)) => {
            assert_eq!(reference, *to);
            result.map_err(|why| why.as_str().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

/// The reason of the end of a process, which must be the next that comes.
fn down(peer: &mut ScriptedPeer, of: &Reference) -> String {
    match peer.read() {
        Some((ControlMessage::PayloadMonitorExit { reference, .. }, Some(reason))) => {
            assert_eq!(reference, *of);
            reason.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// Everything before was handled, and nothing of it came back.
fn settle(peer: &mut ScriptedPeer) {
    let total = Term::atom("total");
    assert_eq!(peer.answer("stock", total), Ok(Term::Int(0)));
}

#[test]
fn zcall9_each_odd_request_is_answered_once_and_runs_nothing() {
    let (member, served) = member("odd", |cluster| cluster);
    let mut peer = ScriptedPeer::dial(&member, "odd_b@127.0.0.1", 10);
    let processes = member.node.processes().len();
    let list = |terms: &[Term]| Term::list(terms.to_vec());
    let (mark, calc, size) = (Term::atom("mark"), Term::atom("calc"), Term::atom("size"));
    let one = list(&[Term::binary("text")]);
    let whole = [mark.clone(), calc.clone(), size.clone(), one.clone()];
    let improper = Term::list_with_tail([Term::binary("text")], Term::Int(1));
    let many = Term::list(vec![Term::Int(1); 300]);
    let monitor = || atoms(["monitor"]);
    let with = |last: &Term| list(&[mark.clone(), calc.clone(), size.clone(), last.clone()]);
    for (name, options, arguments, why) in [
        // The arguments are not a list of so many.
        (("erpc", "execute_call", 4), monitor(), Term::nil(), "notsup"),
        (("erpc", "execute_call", 4), monitor(), list(&whole[..3]), "notsup"),
        (("erpc", "execute_call", 3), monitor(), list(&whole), "notsup"),
        (("erpc", "execute_call", 4), monitor(), Term::tuple(whole.clone()), "notsup"),
        (("erpc", "execute_call", 1), monitor(), improper.clone(), "notsup"),
        (("calc", "idle", 0), monitor(), Term::atom("none"), "notsup"),
        // They are not what `erpc` passes.
        (("erpc", "execute_call", 3), monitor(), list(&whole[..3]), "notsup"),
        (("erpc", "execute_cast", 4), monitor(), list(&whole), "notsup"),
        (("erpc", "execute", 4), monitor(), list(&whole), "notsup"),
        (("erpc", "execute_call", 4), monitor(), with(&Term::atom("x")), "notsup"),
        (("erpc", "execute_call", 4), monitor(), with(&improper), "notsup"),
        (
            ("erpc", "execute_call", 4),
            monitor(),
            list(&[mark.clone(), Term::binary("calc"), size.clone(), one.clone()]),
            "notsup",
        ),
        // Options that are none.
        (("erpc", "execute_call", 4), Term::atom("monitor"), list(&whole), "badopt"),
        (("erpc", "execute_call", 4), atoms(["monitor", "fly"]), list(&whole), "badopt"),
        (("calc", "idle", 0), list(&[Term::Int(1)]), Term::nil(), "badopt"),
        // No such factory.
        (("calc", "idle", 1), monitor(), one.clone(), "notsup"),
        (("calc", "size", 1), monitor(), one.clone(), "notsup"),
        (("other", "idle", 0), monitor(), Term::nil(), "notsup"),
        // No such function, or one that takes others.
        (("erpc", "execute_call", 4), monitor(), with(&Term::nil()), "undef"),
        (("erpc", "execute_call", 4), monitor(), with(&many), "undef"),
        (("erpc", "execute_call", 4), monitor(), with(&list(&[Term::Int(7)])), "function_clause"),
        (
            ("erpc", "execute_call", 4),
            monitor(),
            with(&list(&[Term::tuple([many.clone()])])),
            "function_clause",
        ),
    ] {
        let what = format!("{name:?} {options} {arguments}");
        let (reference, request) = request(&mut peer, name, options);
        peer.say(&request, Some(&arguments));
        match reply(&mut peer, &reference) {
            Err(found) => assert_eq!(found, why, "{what}"),
            Ok(_) => {
                let end = down(&mut peer, &reference);
                assert!(
                    end.starts_with(&format!("{{mark,error,{why},[{{calc,size,")),
                    "{what}: {end}"
                );
            }
        }
        settle(&mut peer);
    }
    // A payload that is no term at all, and one that is more than one.
    for bytes in [vec![255, 1, 2], vec![], vec![106, 106]] {
        let (reference, request) = request(&mut peer, ("calc", "idle", 0), monitor());
        peer.say_bytes(&request, bytes);
        match peer.read() {
            Some((ControlMessage::SpawnReply { reference: of, result, .. }, None)) => {
                assert_eq!((of, result), (reference, Err(Atom::fixed("notsup"))));
            }
            // Nothing to read is a frame without a payload, which is malformed.
            None => peer = ScriptedPeer::dial(&member, "odd_b@127.0.0.1", 10),
            other => panic!("{other:?}"),
        }
        settle(&mut peer);
    }
    assert_eq!((served.begun(), served.running()), (0, 0));
    until("what ran has ended", || member.node.processes().len() == processes);
    let big = Term::binary("x".repeat(8 << 20));
    let reference = call(&mut peer, "size", vec![big], monitor());
    reply(&mut peer, &reference).unwrap();
    assert_eq!(down(&mut peer, &reference), format!("{{mark,return,{}}}", 8 << 20));
}

#[test]
fn zcall9_a_flood_of_requests_is_bounded_for_each_peer_and_a_loss_ends_what_runs() {
    let (member, served) = member("bound", |cluster| cluster.spawn_limit(5));
    let mut peer = ScriptedPeer::dial(&member, "bound_b@127.0.0.1", 10);
    let mut other = ScriptedPeer::dial(&member, "bound_c@127.0.0.1", 10);
    let monitor = || atoms(["monitor"]);
    let processes = member.node.processes().len();
    for round in 0..3 {
        let mut running = Vec::new();
        let references: Vec<_> =
            (0..50).map(|_| call(&mut peer, "hang", vec![], monitor())).collect();
        for reference in references {
            match reply(&mut peer, &reference) {
                Ok(process) => running.push((reference, process)),
                Err(why) => assert_eq!(why, "system_limit"),
            }
        }
        assert_eq!(running.len(), 5);
        // A factory has the same bound, and another peer its own.
        let (reference, request) = request(&mut peer, ("calc", "idle", 0), monitor());
        peer.say(&request, Some(&Term::nil()));
        assert_eq!(reply(&mut peer, &reference), Err("system_limit".to_owned()));
        let reference = call(&mut other, "size", vec![Term::binary("four")], monitor());
        reply(&mut other, &reference).unwrap();
        assert_eq!(down(&mut other, &reference), "{mark,return,4}");
        assert_eq!(member.cluster.stats().unwrap().refused_spawns, 46 * (round + 1));
        until("they run", || served.running() == 5);
        if round == 1 {
            // The socket is closed.
            peer = ScriptedPeer::dial(&member, "bound_b@127.0.0.1", 11);
        } else {
            for (reference, process) in running {
                let (from, target) = (peer.pid(1), Monitored::Pid(process));
                peer.say(&ControlMessage::Demonitor { from, target, reference }, None);
            }
        }
        until("nothing runs", || served.running() == 0);
        until("nothing is left", || member.node.processes().len() == processes);
        // Nothing is said of what was given up.
        settle(&mut peer);
    }
}

#[test]
fn zcall8_a_reference_stands_for_one_call_and_only_its_caller_ends_it() {
    let (member, served) = member("once", |cluster| cluster);
    let mut peer = ScriptedPeer::dial(&member, "once_b@127.0.0.1", 10);
    let (reference, request) = request(&mut peer, ("erpc", "execute_call", 4), atoms(["monitor"]));
    let (mark, calc, hang) = (Term::atom("mark"), Term::atom("calc"), Term::atom("hang"));
    let arguments = Term::list([mark, calc, hang, Term::nil()]);
    peer.say(&request, Some(&arguments));
    let process = reply(&mut peer, &reference).unwrap();
    peer.say(&request, Some(&arguments));
    assert_eq!(reply(&mut peer, &reference), Err("badopt".to_owned()));
    until("it runs", || served.running() == 1);
    // It was never sent out, so no signal, link or message reaches it.
    let (from, kill) = (peer.pid(1), Term::atom("kill"));
    let signal = ControlMessage::PayloadExit2 { from: from.clone(), to: process.clone() };
    peer.say(&signal, Some(&kill));
    peer.say(&ControlMessage::PayloadExit { from: from.clone(), to: process.clone() }, Some(&kill));
    peer.say(&ControlMessage::SendSender { from: from.clone(), to: process.clone() }, Some(&kill));
    peer.say(&ControlMessage::Link { from: from.clone(), to: process.clone() }, None);
    match peer.read() {
        Some((ControlMessage::PayloadExit { from, .. }, Some(reason))) => {
            assert_eq!((from, reason), (process.clone(), Term::atom("noproc")));
        }
        other => panic!("{other:?}"),
    }
    // Another peer cannot end it by its reference.
    let mut other = ScriptedPeer::dial(&member, "once_c@127.0.0.1", 10);
    let (by, target) = (other.pid(1), Monitored::Pid(process.clone()));
    let demonitor = ControlMessage::Demonitor { from: by, target, reference: reference.clone() };
    other.say(&demonitor, None);
    settle(&mut other);
    settle(&mut peer);
    assert_eq!((served.begun(), served.running()), (1, 1));
    // Its end from this side is told as it is.
    let local = u64::from(process.serial) << 32 | u64::from(process.id);
    let pid = member.node.processes().into_iter().find(|pid| pid.id() == local).unwrap();
    member.node.exit(pid, Reason::error("odd"));
    assert_eq!(down(&mut peer, &reference), "{error,<<\"odd\">>}");
    settle(&mut peer);
}

#[test]
fn zcall8_a_link_asked_for_stands_between_the_function_and_its_caller() {
    let (member, served) = member("linked", |cluster| cluster);
    let mut peer = ScriptedPeer::dial(&member, "linked_b@127.0.0.1", 10);
    let both = || atoms(["link", "monitor"]);
    // The caller ends: so does the function, and its monitor tells why.
    let reference = call(&mut peer, "hang", vec![], both());
    let Some((ControlMessage::SpawnReply { linked, monitored, result, .. }, None)) = peer.read()
    else {
        panic!("no reply")
    };
    assert!(linked && monitored);
    let process = result.unwrap();
    until("it runs", || served.running() == 1);
    let exit = ControlMessage::PayloadExit { from: peer.pid(1), to: process };
    peer.say(&exit, Some(&Term::atom("gone")));
    assert_eq!(down(&mut peer, &reference), "gone");
    until("it has ended", || served.running() == 0);
    // The function ends: so does the link, and what it says comes by the monitor.
    for (arguments, end) in
        [(Term::binary("abc"), "{mark,return,3}"), (Term::Int(1), "{mark,error,function_clause,")]
    {
        let reference = call(&mut peer, "size", vec![arguments], both());
        let process = reply(&mut peer, &reference).unwrap();
        let mut came = Vec::new();
        for _ in 0..2 {
            match peer.read() {
                Some((ControlMessage::PayloadExit { from, .. }, Some(reason))) => {
                    assert_eq!(from, process);
                    came.push(format!("exit {reason}"));
                }
                Some((ControlMessage::PayloadMonitorExit { .. }, Some(reason))) => {
                    came.push(format!("down {reason}"));
                }
                other => panic!("{other:?}"),
            }
        }
        came.sort();
        assert!(came[0].starts_with(&format!("down {end}")), "{came:?}");
        assert_eq!(came[1], "exit normal");
    }
    settle(&mut peer);
    assert_eq!(member.connection().links, 0);
}

#[test]
fn zcall8_a_cast_of_erpc_runs_and_tells_its_end_only_if_it_is_monitored() {
    let (member, served) = member("cast", |cluster| cluster);
    let mut peer = ScriptedPeer::dial(&member, "cast_b@127.0.0.1", 10);
    let (calc, size) = (Term::atom("calc"), Term::atom("size"));
    for (options, argument, end) in [
        (Term::nil(), Term::binary("x"), None),
        (atoms(["monitor"]), Term::binary("x"), Some("normal")),
        (atoms(["monitor"]), Term::Int(1), Some("{function_clause,[{calc,size,[1],")),
    ] {
        let (reference, request) = request(&mut peer, ("erpc", "execute_cast", 3), options);
        let arguments = [calc.clone(), size.clone(), Term::list([argument])];
        peer.say(&request, Some(&Term::list(arguments)));
        reply(&mut peer, &reference).unwrap();
        if let Some(end) = end {
            let found = down(&mut peer, &reference);
            assert!(found.starts_with(end), "{found}");
        }
    }
    until("both have run", || served.begun() == 2);
    settle(&mut peer);
}

/// The answer to the process 1, which must be the next that comes.
fn answer(peer: &mut ScriptedPeer) -> String {
    match peer.read() {
        Some((
            ControlMessage::SendSender { .. }
            | ControlMessage::AliasSend { .. }
            | ControlMessage::AltactSend { to: AliasRecipient::Alias(_), .. },
            Some(Term::Tuple(parts)),
        )) => match &parts[..] {
            [Term::Atom(rex), value] if *rex == "rex" => format!("rex {value}"),
            [_, value] => value.to_string(),
            parts => panic!("{parts:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn zcall8_the_old_rex_calls_casts_and_tells_its_features() {
    let (member, served) = member("rex", |cluster| cluster.spawn_limit(2));
    let mut peer = ScriptedPeer::dial(&member, "rex_b@127.0.0.1", 10);
    let (calc, user) = (Term::atom("calc"), Term::atom("user"));
    let wanted = |kind, function, arguments: Term| {
        tagged(kind, [calc.clone(), Term::atom(function), arguments, user.clone()])
    };
    let text = || Term::list([Term::binary("four")]);
    let oops = || Term::list([Term::atom("oops")]);
    for (function, arguments, value) in [
        ("size", text(), "4"),
        ("fail", oops(), "{badrpc,{'EXIT',{oops,[{calc,fail,1,[]}]}}}"),
        ("none", text(), "{badrpc,{'EXIT',{undef,[{calc,none,[<<\"four\">>],[]}]}}}"),
        ("size", Term::nil(), "{badrpc,{'EXIT',{undef,[{calc,size,[],[]}]}}}"),
    ] {
        let me = Term::from(peer.pid(1));
        peer.send_to("rex", &Term::tuple([me, wanted("call", function, arguments.clone())]));
        assert_eq!(answer(&mut peer), format!("rex {value}"));
        for kind in ["call", "block_call"] {
            let reference = peer.reference();
            let request = wanted(kind, function, arguments.clone());
            let message = gen_call(peer.pid(1), &reference, request);
            peer.send_to("rex", &message);
            assert_eq!(answer(&mut peer), value, "{kind}");
        }
    }
    assert_eq!(served.begun(), 3);
    peer.send_to("rex", &gen_cast(wanted("cast", "size", text())));
    until("it has run", || served.begun() == 4);
    let me = Term::from(peer.pid(1));
    peer.send_to("rex", &Term::tuple([me, Term::atom("features_request")]));
    match peer.read() {
        Some((ControlMessage::SendSender { .. }, Some(features))) => {
            let text = features.to_string();
            assert_eq!(text, "{features_reply,'rex_a@127.0.0.1',[erpc]}");
        }
        other => panic!("{other:?}"),
    }
    // A caller that gives up ends its function; beyond the bound there is none.
    let me = || Term::from(ScriptedPeer::pid(&peer, 1));
    let hang = [me(), wanted("call", "hang", Term::nil())];
    let reference = peer.reference();
    let given_up = gen_call(peer.pid(1), &reference, wanted("call", "hang", Term::nil()));
    peer.send_to("rex", &given_up);
    peer.send_to("rex", &Term::tuple(hang.clone()));
    peer.send_to("rex", &Term::tuple(hang));
    assert_eq!(answer(&mut peer), "rex {badrpc,{'EXIT',system_limit}}");
    until("two run", || served.running() == 2);
    let (from, target) = (peer.pid(1), Monitored::Name(Atom::fixed("rex")));
    peer.say(&ControlMessage::Demonitor { from, target, reference }, None);
    until("one runs", || served.running() == 1);
    settle(&mut peer);
}

#[test]
fn zsec7_odd_messages_to_rex_run_nothing_and_answer_nobody() {
    let (member, served) = member("rexodd", |cluster| cluster);
    let mut peer = ScriptedPeer::dial(&member, "rexodd_b@127.0.0.1", 10);
    let stranger = ExternalPid { node: Atom::fixed("other@127.0.0.1"), ..peer.pid(1) };
    let (me, them) = (Term::from(peer.pid(1)), Term::from(stranger.clone()));
    let text = Term::list([Term::binary("four")]);
    let (calc, size, user) = (Term::atom("calc"), Term::atom("size"), Term::atom("user"));
    let wanted = |kind| tagged(kind, [calc.clone(), size.clone(), text.clone(), user.clone()]);
    let short = tagged("call", [calc.clone(), size.clone(), text.clone()]);
    let binary = tagged("call", [Term::binary("calc"), size.clone(), text.clone(), user.clone()]);
    let improper = Term::list_with_tail([Term::Int(1)], Term::Int(2));
    let tail = tagged("call", [calc.clone(), size.clone(), improper, user.clone()]);
    let reference = peer.reference();
    let pair = |first: &Term, second: Term| Term::tuple([first.clone(), second]);
    let odd: Vec<Term> = vec![
        Term::atom("call"),
        Term::tuple(Elements::from(Vec::new()).iter().cloned()),
        pair(&me, Term::atom("features")),
        pair(&them, Term::atom("features_request")),
        pair(&them, wanted("call")),
        pair(&me, wanted("cast")),
        pair(&me, wanted("block_call")),
        pair(&me, wanted("apply")),
        pair(&me, short.clone()),
        pair(&me, binary),
        pair(&me, tail),
        gen_call(peer.pid(1), &reference, short),
        gen_call(peer.pid(1), &reference, wanted("cast")),
        gen_call(stranger, &reference, wanted("call")),
        tagged("$gen_call", [me.clone(), wanted("call")]),
        gen_cast(wanted("call")),
        gen_cast(Term::nil()),
    ];
    let before = member.cluster.stats().unwrap().unreachable;
    for message in &odd {
        peer.send_to("rex", message);
    }
    settle(&mut peer);
    let counted = member.cluster.stats().unwrap().unreachable - before;
    assert_eq!(counted, odd.len() as u64);
    assert_eq!(served.begun(), 0);
}
