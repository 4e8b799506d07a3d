//! What a node answers to OTP's own requests: pings, remote functions, `sys`; and rings of calls.

use crate::support::scripted::{ScriptedPeer, gen_call, tag, tagged};
use crate::support::{Member, Order};
use krarup_act::{Actor, Context, Dynamic, Received, Reply, behavior_fn};
use krarup_dist::etf::{Atom, Term};
use krarup_dist::{ClusterCalls, Sys, TermMessage};
use krarup_gen::{CallError, Result};
use krarup_wire::{ControlMessage, Monitored};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Makes a `sys` request to a name.
fn system(peer: &mut ScriptedPeer, name: &str, request: Term) -> Term {
    let reference = peer.reference();
    let from = Term::tuple([peer.pid(1).into(), tag(&reference)]);
    peer.send_to(name, &tagged("system", [from, request]));
    peer.outcome(&reference).unwrap()
}

/// `erpc`'s request of a function, or any other spawn.
fn spawn(
    peer: &mut ScriptedPeer,
    module: &'static str,
    arguments: &Term,
) -> krarup_wire::etf::Reference {
    let (reference, from, group_leader) = (peer.reference(), peer.pid(1), peer.pid(2));
    let (module, function, arity) = (Atom::fixed(module), Atom::fixed("execute_call"), 4);
    let options = Term::list([Term::atom("monitor")]);
    let request = ControlMessage::SpawnRequest {
        reference: reference.clone(),
        from,
        group_leader,
        module,
        function,
        arity,
        options,
    };
    peer.say(&request, Some(arguments));
    reference
}

#[test]
fn zcall7_every_function_is_undefined_at_once_and_every_spawn_is_refused() {
    let member = Member::start("rpc_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "rpc_b@127.0.0.1", 10);
    let result = Term::from(peer.reference());
    let call = |module, function| {
        let arguments = Term::list([Term::Int(1)]);
        Term::list([result.clone(), Term::atom(module), Term::atom(function), arguments])
    };
    for (module, function) in [("erlang", "node"), ("os", "cmd"), ("no_such", "thing")] {
        let reference = spawn(&mut peer, "erpc", &call(module, function));
        let Some((ControlMessage::SpawnReply { reference: found, result: Ok(runs), .. }, None)) =
            peer.read()
        else {
            panic!("no reply")
        };
        assert_eq!(found, reference);
        let Some((ControlMessage::PayloadMonitorExit { target, reference: found, .. }, Some(end))) =
            peer.read()
        else {
            panic!("no end")
        };
        assert_eq!((target, found), (Monitored::Pid(runs), reference));
        let text = end.to_string();
        assert!(text.contains(&format!("error,undef,[{{{module},{function},[1],[]}}]")), "{text}");
    }
    let reference = spawn(&mut peer, "other", &call("erlang", "node"));
    match peer.read() {
        Some((ControlMessage::SpawnReply { reference: found, result, .. }, None)) => {
            assert_eq!((found, result), (reference, Err(Atom::fixed("notsup"))));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn zcall11_net_kernel_answers_is_auth_and_nothing_else() {
    let member = Member::start("ping_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "ping_b@127.0.0.1", 10);
    let me = Term::atom("ping_b@127.0.0.1");
    for _ in 0..3 {
        let ping = tagged("is_auth", [me.clone()]);
        assert_eq!(peer.answer("net_kernel", ping), Ok(Term::atom("yes")));
    }
    for other in [
        Term::atom("is_auth"),
        tagged("is_auth", [me.clone(), me.clone()]),
        tagged("spawn", [me.clone()]),
        tagged("connect", [Term::atom("normal"), me.clone()]),
    ] {
        let reference = peer.reference();
        let request = gen_call(peer.pid(1), &reference, other);
        peer.send_to("net_kernel", &request);
    }
    // A cast and a bare message, too.
    peer.send_to("net_kernel", &tagged("is_auth", [me.clone()]));
    // The next answer is that of the next ping.
    assert_eq!(peer.answer("net_kernel", tagged("is_auth", [me])), Ok(Term::atom("yes")));
}

/// A process whose state is a term.
#[derive(Default)]
struct Counting(i64);

impl Actor for Counting {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        self.0 += 1;
        if let TermMessage::Call(_, reply) = message {
            reply.send(Term::Int(self.0));
        }
        Ok(())
    }
}

#[test]
fn zcall12_sys_requests_are_obeyed_as_the_export_says() {
    let member = Member::start("sys_a@127.0.0.1", "secret", &[]);
    for (name, sys) in [("status", Sys::Status), ("read", Sys::Read), ("all", Sys::All)] {
        member.node.spawn(Counting::default).name(name).wait().unwrap();
        member.cluster.export_with::<TermMessage>(name, sys).unwrap();
    }
    let mut peer = ScriptedPeer::dial(&member, "sys_b@127.0.0.1", 10);
    let refused = tagged("error", [Term::atom("not_allowed")]);
    let ok = Term::atom("ok");
    for (name, may) in [("status", 0), ("read", 1), ("all", 2)] {
        let status = system(&mut peer, name, Term::atom("get_status")).to_string();
        assert!(status.starts_with("{status,") && status.contains("{module,krarup}"), "{status}");
        let state = system(&mut peer, name, Term::atom("get_state"));
        assert_eq!(state != refused, may >= 1, "{name}: {state}");
        for request in [Term::atom("suspend"), Term::atom("resume")] {
            let answer = system(&mut peer, name, request.clone());
            assert_eq!(answer, if may == 2 { ok.clone() } else { refused.clone() }, "{request}");
        }
        let odd = [Term::atom("statistics"), tagged("replace_state", [Term::nil()]), Term::Int(7)];
        for request in odd {
            assert_eq!(system(&mut peer, name, request), refused);
        }
    }
    // What debugs in another way, and what is no request at all.
    for odd in [Term::atom("true"), tagged("trace", [Term::atom("true")]), Term::nil()] {
        assert_eq!(system(&mut peer, "all", tagged("debug", [odd])), refused);
    }
    let flag = |flag| tagged("statistics", [flag]);
    for odd in [Term::atom("maybe"), Term::Int(1)] {
        assert_eq!(system(&mut peer, "all", tagged("debug", [flag(odd)])), refused);
    }
    // A suspended process handles nothing until it is resumed.
    assert_eq!(system(&mut peer, "all", Term::atom("suspend")), ok);
    let asked = peer.call("all", Term::atom("count"));
    let status = system(&mut peer, "all", Term::atom("get_status")).to_string();
    assert!(status.contains(",[[],suspended,"), "{status}");
    assert_eq!(peer.answer("read", Term::atom("count")), Ok(Term::Int(1)));
    let resumed = {
        let reference = peer.reference();
        let from = Term::tuple([peer.pid(1).into(), tag(&reference)]);
        peer.send_to("all", &tagged("system", [from, Term::atom("resume")]));
        reference
    };
    // The answer to the call and that to the request, in any order.
    let mut both = Vec::new();
    for _ in 0..2 {
        let Some((_, Some(Term::Tuple(pair)))) = peer.read() else { panic!("no answer") };
        both.push((pair[0].clone(), pair[1].clone()));
    }
    assert!(both.contains(&(tag(&resumed), ok.clone())), "{both:?}");
    assert!(both.contains(&(tag(&asked), Term::Int(1))), "{both:?}");
    let end = member.node.watch(member.node.whereis("all").unwrap());
    assert_eq!(system(&mut peer, "all", tagged("terminate", [Term::atom("shutdown")])), ok);
    assert_eq!(end.wait().unwrap().reason, krarup_gen::Reason::Shutdown);
}

#[test]
fn zcall12_statistics_count_from_when_they_are_turned_on_until_they_are_turned_off() {
    let member = Member::start("stat_a@127.0.0.1", "secret", &[]);
    for (name, sys) in [("status", Sys::Status), ("read", Sys::Read)] {
        member.node.spawn(Counting::default).name(name).wait().unwrap();
        member.cluster.export_with::<TermMessage>(name, sys).unwrap();
    }
    let mut peer = ScriptedPeer::dial(&member, "stat_b@127.0.0.1", 10);
    let debug = |flag| tagged("debug", [tagged("statistics", [Term::atom(flag)])]);
    let (ok, none) = (Term::atom("ok"), tagged("ok", [Term::atom("no_statistics")]));
    for flag in ["true", "get", "false"] {
        let refused = tagged("error", [Term::atom("not_allowed")]);
        assert_eq!(system(&mut peer, "status", debug(flag)), refused);
    }
    let call = |peer: &mut ScriptedPeer| peer.answer("read", Term::atom("count")).unwrap();
    call(&mut peer);
    assert_eq!(system(&mut peer, "read", debug("get")), none);
    assert_eq!(system(&mut peer, "read", debug("true")), ok);
    for _ in 0..3 {
        call(&mut peer);
    }
    // Once more changes nothing.
    assert_eq!(system(&mut peer, "read", debug("true")), ok);
    let statistics = system(&mut peer, "read", debug("get")).to_string();
    let counts = "{reductions,3},{messages_in,3},{messages_out,0}]}";
    assert!(statistics.starts_with("{ok,[{start_time,{{20"), "{statistics}");
    assert!(statistics.contains("}}},{current_time,{{20"), "{statistics}");
    assert!(statistics.ends_with(counts), "{statistics}");
    assert_eq!(system(&mut peer, "read", debug("false")), ok);
    assert_eq!(system(&mut peer, "read", debug("get")), none);
}

#[test]
fn zcall12_a_node_that_is_said_to_be_otp_25_gets_the_plain_state() {
    let member = Member::with("plain_a@127.0.0.1", "secret", |cluster| cluster.otp_25("*25@*"));
    member.node.spawn(Stated::default).name("state").wait().unwrap();
    member.cluster.export_with::<TermMessage>("state", Sys::Read).unwrap();
    let state = Term::Int(4711);
    for (name, answer) in
        [("plain_25@127.0.0.1", state.clone()), ("plain_27@127.0.0.1", tagged("ok", [state]))]
    {
        let mut peer = ScriptedPeer::dial(&member, name, 10);
        assert_eq!(system(&mut peer, "state", Term::atom("get_state")), answer);
    }
}

/// A process that shows its state.
#[derive(Default)]
struct Stated;

impl Actor for Stated {
    type Message = TermMessage;

    async fn handle_message(&mut self, _: &mut Context<TermMessage>, _: TermMessage) -> Result {
        Ok(())
    }

    fn state(&self) -> Option<Dynamic> {
        Some(Dynamic::new(Term::Int(4711)))
    }
}

/// A process that asks another one, which asks it.
struct Ring(String, String);

#[derive(Serialize, Deserialize)]
enum Round {
    /// Asks the next one, as long as the number is not 0.
    Ask(u32, Reply<String>),
}

impl Actor for Ring {
    type Message = Round;

    async fn handle_message(&mut self, ctx: &mut Context<Round>, message: Round) -> Result {
        let Round::Ask(left, reply) = message;
        if left == 0 {
            reply.send("end".to_owned());
            return Ok(());
        }
        let to = ctx.remote::<Round>(&self.0, &self.1)?;
        let answer = to.call(move |reply| Round::Ask(left - 1, reply));
        match answer.timeout(Duration::from_millis(50)).await {
            Ok(answer) => reply.send(answer),
            Err(CallError::Timeout { .. }) => reply.send("timeout".to_owned()),
            Err(error) => reply.send(error.to_string()),
        }
        Ok(())
    }
}

#[test]
fn zcall14_a_ring_of_calls_through_two_nodes_ends_by_its_timeouts() {
    let (a, b) = crate::support::pair("ring");
    for (on, name, to, at) in [(&a, "left", "right", &b), (&b, "right", "left", &a)] {
        let (to, at) = (to.to_owned(), at.name.clone());
        on.node.spawn(move || Ring(to, at)).name(name).wait().unwrap();
        on.cluster.export::<Round>(name).unwrap();
    }
    let right = b.node.lookup::<Round, Round>("right").unwrap();
    // The first node learns where the second is by being dialled.
    assert_eq!(right.call(|reply| Round::Ask(1, reply)).wait(), Ok("end".to_owned()));
    let left = a.node.lookup::<Round, Round>("left").unwrap();
    assert_eq!(left.call(|reply| Round::Ask(1, reply)).wait(), Ok("end".to_owned()));
    // right asks left, which asks right, which waits: nobody calls it a deadlock.
    assert_eq!(right.call(|reply| Round::Ask(2, reply)).wait(), Ok("timeout".to_owned()));
    assert_eq!(right.call(|reply| Round::Ask(1, reply)).wait(), Ok("end".to_owned()));
}

#[test]
fn zcall14_a_remote_callee_is_not_mistaken_for_a_local_process_of_the_same_number() {
    let (a, b) = crate::support::pair("numbers");
    a.worker("stock");
    crate::support::watching::remote_pid(&b, "stock", &a);
    let mut there = a.worker("twin_0");
    // A process here that has the number of one there, and calls it.
    let caller = || {
        behavior_fn(move |mut ctx: Context<Order>| async move {
            while let Received::Message(message) = ctx.receive().await {
                if let Order::Pass(far, reply) = message {
                    let far = ctx.remote_pid::<Order>(far)?;
                    reply.send(far.call(|reply| Order::Add(40, 2, reply)).await?);
                }
            }
            Ok(())
        })
    };
    let local = || b.node.spawn(caller).wait().unwrap();
    let mut here = local();
    while here.pid().id() != there.id() {
        if here.pid().id() < there.id() {
            here = local();
        } else {
            there = a.worker(&format!("twin_{}", here.pid().id() - there.id()));
        }
    }
    let twin = a.node.process_info(there).unwrap().name.unwrap();
    let far = crate::support::watching::remote_pid(&b, twin.as_str(), &a);
    assert_eq!((far.id(), far == here.pid()), (here.pid().id(), false));
    let short = Duration::from_secs(30);
    assert_eq!(here.call(move |reply| Order::Pass(far, reply)).timeout(short).wait(), Ok(42));
}
