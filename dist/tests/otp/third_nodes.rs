//! Tokens that are passed on between nodes of Erlang/OTP and of this program, and answered by a
//! node that was not called (rules Zcall5, Zcall6).

use crate::support::Member;
use crate::support::otp::{COOKIE, Otp, fresh};
use crate::support::raw::{LONG, until};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::etf::{Atom, Term};
use krarup_dist::{Cluster, ClusterCalls, TermMessage};
use krarup_gen::CallError;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A server that answers no call itself: it tells another process of the caller, or forwards the
/// whole call.
const DESK: &str = "
    Load = fun(Name, Lines) ->
        Forms = [begin {ok, T, _} = erl_scan:string(L), {ok, F} = erl_parse:parse_form(T), F end
                 || L <- Lines],
        {ok, Name, Code} = compile:forms(Forms),
        {module, Name} = code:load_binary(Name, [], Code)
    end,
    Load(desk, [\"-module(desk).\", \"-export([init/1, handle_call/3, handle_cast/2]).\",
        \"init(_) -> {ok, none}.\",
        \"handle_call({pass, To, How}, From, S) -> To ! {How, From}, {noreply, S};\"
        \"handle_call({forward, To, Request}, From, S) ->\"
        \"    To ! {'$gen_call', From, Request}, {noreply, S}.\",
        \"handle_cast(_, S) -> {noreply, S}.\"]),
    {ok, _} = gen_server:start({local, desk}, desk, [], []),
    Show(ready), receive never -> ok end";

/// A process that answers the callers of others: by `gen_server:reply/2`, or to the pid, as
/// programs did before there were aliases; at once or when it is told to.
const CLERK: &str = "
    register(clerk, self()), Show(ready),
    (fun Loop() ->
        receive
            {reply, From} -> gen_server:reply(From, node());
            {bare, {Pid, Tag}} -> Pid ! {Tag, node()};
            {twice, From} -> gen_server:reply(From, node()), gen_server:reply(From, again);
            {late_reply, From} -> receive now -> gen_server:reply(From, late) end;
            {late_bare, {Pid, Tag}} -> receive now -> Pid ! {Tag, late} end
        end,
        Loop()
    end)()";

/// A node that is known to the port mapper.
fn member(label: &str) -> Member {
    Member::with(&fresh(label), COOKIE, Cluster::epmd)
}

/// A node with a desk, and one with a clerk; the desk passes tokens on to the clerk.
fn desk_and_clerk(label: &str) -> Option<(Otp, Otp)> {
    let mut desk = Otp::start(&format!("{label}_desk"), &[], DESK)?;
    let mut clerk = Otp::start(&format!("{label}_clerk"), &[], CLERK)?;
    assert_eq!([desk.line(), clerk.line()], ["ready", "ready"]);
    Some((desk, clerk))
}

/// The request that has the clerk answer in this way.
fn pass(clerk: &Otp, how: &'static str) -> Term {
    let node = Atom::new(&clerk.name).unwrap().into();
    let clerk = Term::tuple([Term::atom("clerk"), node]);
    Term::tuple([Term::atom("pass"), clerk, Term::atom(how)])
}

fn late(of: &Member) -> u64 {
    of.cluster.stats().unwrap().late
}

fn is_connected(member: &Member, otp: &Otp) -> bool {
    member.cluster.nodes().unwrap().iter().any(|node| node.as_str() == otp.name)
}

#[test]
fn zcall6_a_token_that_an_otp_server_passes_on_is_answered_by_a_third_otp_node() {
    let Some((desk, clerk)) = desk_and_clerk("third") else { return };
    let member = member("third_here");
    let on_desk = member.cluster.remote::<TermMessage>("desk", &desk.name).unwrap();
    let call = |how| {
        let request = pass(&clerk, how);
        let call = on_desk.call(|reply| TermMessage::Call(request, reply)).timeout(LONG);
        call.wait().map(|answer| answer.to_string())
    };
    let expected = format!("'{}'", clerk.name);
    // The first answer makes the connection.
    assert!(!is_connected(&member, &clerk));
    for (how, late_replies) in [("reply", 0), ("bare", 0), ("twice", 1), ("reply", 1)] {
        assert_eq!(call(how), Ok(expected.clone()), "{how}");
        until("the second answer is late", || late(&member) == late_replies);
    }
    let connections = member.cluster.connections().unwrap();
    let with_clerk = connections.iter().find(|one| one.node.as_str() == clerk.name).unwrap();
    assert!(!with_clerk.is_dialled);
    // Nothing is left of the calls: neither here nor at the node that was called.
    let with_desk = connections.iter().find(|one| one.node.as_str() == desk.name).unwrap();
    assert_eq!(with_desk.monitors, 0);
    let stats = member.cluster.stats().unwrap();
    assert_eq!((stats.unreachable, stats.undecodable), (0, 0));
}

#[test]
fn zcall5_a_late_answer_of_a_third_otp_node_is_counted_and_reaches_no_mailbox() {
    let Some((desk, clerk)) = desk_and_clerk("late") else { return };
    for how in ["late_reply", "late_bare"] {
        let member = member("late_here");
        member.cluster.carry::<TermMessage>().unwrap();
        let on_desk = member.cluster.remote::<TermMessage>("desk", &desk.name).unwrap();
        let request = pass(&clerk, how);
        let ((told, tells), (heard, hears)) = (channel(), channel());
        let caller = behavior_fn(move |mut ctx: Context<TermMessage>| async move {
            let call = on_desk.call(|reply| TermMessage::Call(request, reply));
            told.send(call.timeout(Duration::from_millis(50)).await).unwrap();
            if let Received::Message(message) = ctx.receive().await {
                heard.send(format!("{message:?}")).unwrap();
            }
            Ok(())
        });
        let caller = member.node.spawn(move || caller).wait().unwrap();
        let outcome = tells.recv_timeout(LONG).unwrap();
        assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{outcome:?}");
        assert_eq!(late(&member), 0);
        let on_clerk = member.cluster.remote::<TermMessage>("clerk", &clerk.name).unwrap();
        on_clerk.send(TermMessage::Info(Term::atom("now"))).unwrap();
        until("the answer is counted", || late(&member) == 1);
        caller.send(TermMessage::Cast(Term::atom("first"))).unwrap();
        assert_eq!(hears.recv_timeout(LONG).unwrap(), "Cast(first)", "{how}");
        let stats = member.cluster.stats().unwrap();
        assert_eq!((stats.unreachable, stats.undecodable), (0, 0), "{how}");
    }
}

#[test]
fn zcall6_a_call_of_otp_is_answered_by_an_actor_on_a_third_node() {
    // It starts the port mapper.
    let Some(_first) = Otp::idle("first") else { return };
    let (here, third) = (member("called_here"), member("called_third"));
    here.worker("stock");
    third.worker("far");
    let script = "
        Far = gen_server:call({far, C}, who),
        Show(gen_server:call({stock, B}, {pass, Far})),
        %% The answer comes by the node that was called.
        true = erlang:disconnect_node(C),
        [42, 42] = [gen_server:call({stock, B}, {pass, Far}) || _ <- [1, 2]],
        Show(lists:member(C, nodes(hidden))),
        Request = gen_server:send_request({stock, B}, {pass, Far}),
        Show(gen_server:wait_response(Request, infinity)),
        Show(over), receive never -> ok end";
    let variables = [("B", here.name.as_str()), ("C", third.name.as_str())];
    let mut otp = Otp::start("passing", &variables, script).unwrap();
    assert_eq!(otp.lines(), ["42", "false", "{reply,42}"]);
    assert_eq!((late(&here), late(&third)), (0, 0));
}

#[test]
fn zcall6_a_call_that_an_otp_server_forwards_to_an_actor_is_answered_to_its_caller() {
    let Some(mut desk) = Otp::start("forward_desk", &[], DESK) else { return };
    assert_eq!(desk.line(), "ready");
    let here = member("forward_here");
    here.worker("stock");
    let script = "
        Forward = fun(Request) ->
            gen_server:call({desk, A}, {forward, {stock, B}, Request}, infinity) end,
        Show(lists:member(B, nodes(hidden))),
        Show(Forward({add, 20, 1})),
        %% The actor's node has dialled this one.
        Show(lists:member(B, nodes(hidden))),
        Show(Forward({add, 20, 2})),
        Show(receive Any -> Any after 0 -> none end),
        Show(over), receive never -> ok end";
    let variables = [("A", desk.name.as_str()), ("B", here.name.as_str())];
    let mut caller = Otp::start("forward_caller", &variables, script).unwrap();
    assert_eq!(caller.lines(), ["false", "21", "true", "22", "none"]);
    assert_eq!(late(&here), 0);
}
