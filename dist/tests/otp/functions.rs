//! Functions, `sys`, cookies and `global`, with real nodes of Erlang/OTP.

use crate::support::Member;
use crate::support::log::Lines;
use crate::support::otp::{COOKIE, Otp, fresh};
use crate::support::raw::{LONG, until};
use crate::support::served::table;
use krarup_act::{Actor, Context, Dynamic};
use krarup_dist::etf::Term;
use krarup_dist::{
    Cluster, ClusterCalls, Cookie, ExceptionClass, RpcError, Sys, TermException, TermMessage,
};
use krarup_gen::{Reason, Result};
use std::time::Duration;

/// A node that is known to the port mapper.
fn member(label: &str, settings: impl FnOnce(Cluster) -> Cluster + Send + 'static) -> Member {
    Member::with(&fresh(label), COOKIE, move |cluster| settings(cluster.epmd()))
}

fn connect(member: &Member, otp: &Otp) {
    let connected = member.cluster.connect(&otp.name).unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    let waits = member.node.spawn(move || {
        krarup_act::behavior_fn(move |_: Context<()>| async move {
            let _ = done.send(connected.await);
            Ok(())
        })
    });
    waits.wait().unwrap();
    assert!(is_done.recv().unwrap());
}

fn raised<R: std::fmt::Debug>(outcome: std::result::Result<R, RpcError>) -> TermException {
    match outcome {
        Err(RpcError::Raised { exception, .. }) => exception,
        other => panic!("{other:?}"),
    }
}

#[test]
fn zcall10_functions_of_otp_are_called() {
    let Some(otp) = Otp::idle("called") else { return };
    let member = member("caller", |cluster| cluster);
    let cluster = &member.cluster;
    let on = otp.name.as_str();
    let atom = Term::atom;
    assert_eq!(cluster.rpc(on, "lists", "sum", (vec![1, 2, 3],)).wait(), Ok(6));
    assert_eq!(cluster.rpc(on, "erlang", "node", ()).wait(), Ok(on.to_owned()));
    let big = "x".repeat(1 << 20);
    assert_eq!(cluster.rpc(on, "erlang", "byte_size", (big,)).wait(), Ok(1 << 20));
    // Each class of exceptions; an error has its stack.
    let error = raised(cluster.rpc::<()>(on, "erlang", "error", (atom("oops"),)).wait());
    assert_eq!((error.class, &error.reason), (ExceptionClass::Error, &atom("oops")));
    assert!(error.stack.to_string().starts_with("[{erlang,"), "{}", error.stack);
    let bye = Term::tuple([atom("bye"), Term::Int(1)]);
    let exit = raised(cluster.rpc::<()>(on, "erlang", "exit", (bye.clone(),)).wait());
    assert_eq!(exit, TermException::exit(bye));
    let thrown = raised(cluster.rpc::<()>(on, "erlang", "throw", (atom("ball"),)).wait());
    assert_eq!(thrown, TermException::throw(atom("ball")));
    let undefined = raised(cluster.rpc::<()>(on, "no_such", "thing", (1,)).wait());
    assert_eq!((undefined.class, undefined.reason), (ExceptionClass::Error, atom("undef")));
    let badarg = raised(cluster.rpc::<i64>(on, "erlang", "atom_to_list", (1,)).wait());
    assert_eq!(badarg.to_string(), "error: badarg");
    // A value of another type, and an end from outside.
    let wrong = cluster.rpc::<i64>(on, "erlang", "node", ()).wait();
    assert!(matches!(wrong, Err(RpcError::Value { .. })), "{wrong:?}");
    let group_leader = cluster.rpc::<Term>(on, "erlang", "group_leader", ()).wait().unwrap();
    assert!(group_leader.to_string().contains(&member.name), "{group_leader}");
    // exit(self(), kill), as the term that it is parsed to.
    let call = |function: &'static str, arguments: Vec<Term>| {
        let function = Term::tuple([atom("atom"), Term::Int(1), atom(function)]);
        Term::tuple([atom("call"), Term::Int(1), function, Term::list(arguments)])
    };
    let kill = Term::tuple([atom("atom"), Term::Int(1), atom("kill")]);
    let expression = call("exit", vec![call("self", vec![]), kill]);
    let killed = cluster.rpc::<Term>(on, "erl_eval", "expr", (expression, Term::nil())).wait();
    let Err(RpcError::Ended { reason, .. }) = killed else { panic!("{killed:?}") };
    assert_eq!(reason, Reason::Killed);
    // One that is given up leaves nothing here.
    let short = Duration::from_millis(50);
    let late = cluster.rpc::<()>(on, "timer", "sleep", (60_000,)).timeout(short).wait();
    assert!(matches!(late, Err(RpcError::Timeout { .. })), "{late:?}");
    assert_eq!(table(&member, "rpcs"), 0);
    let own = cluster.rpc::<i64>(&member.name, "lists", "sum", (vec![1],)).wait();
    assert!(matches!(own, Err(RpcError::Cluster(_))), "{own:?}");
    // The loss of the node fails what is under way.
    let halted = cluster.rpc::<()>(on, "erlang", "halt", ()).timeout(LONG).wait();
    assert!(matches!(halted, Err(RpcError::NoConnection { .. })), "{halted:?}");
    until("the connection is gone", || cluster.nodes().unwrap().is_empty());
}

#[test]
fn zcall10_every_output_request_of_a_function_on_otp_is_answered() {
    let Some(otp) = Otp::idle("prints") else { return };
    let member = member("reader", |cluster| cluster);
    let (cluster, on) = (&member.cluster, otp.name.as_str());
    let lines = Lines::record("krarup::cluster::output");
    let text = Term::binary("a line~n");
    let arguments = || Term::list([Term::Int(42), Term::atom("x")]);
    let io = |function: &str| (on.to_owned(), function.to_owned());
    for ((on, function), arguments, answer) in [
        (io("format"), vec![text.clone()], "ok"),
        (io("format"), vec![Term::binary("~p and ~s~n"), arguments()], "ok"),
        (io("put_chars"), vec![Term::binary("plain")], "ok"),
        (io("write"), vec![Term::atom("term")], "ok"),
        (io("nl"), vec![], "ok"),
        (io("get_line"), vec![Term::atom("prompt")], "eof"),
        (io("get_chars"), vec![Term::atom("prompt"), Term::Int(3)], "eof"),
        (io("read"), vec![Term::atom("prompt")], "eof"),
        (io("columns"), vec![], "{error,enotsup}"),
        (io("rows"), vec![], "{error,enotsup}"),
        (io("setopts"), vec![Term::list([Term::atom("binary")])], "ok"),
        (io("getopts"), vec![], "[]"),
    ] {
        // `apply`, because the number of arguments differs.
        let arguments = (Term::atom("io"), atom(&function), Term::list(arguments));
        let answered = cluster.rpc::<Term>(&on, "erlang", "apply", arguments).timeout(LONG).wait();
        assert_eq!(answered.map(|term| term.to_string()), Ok(answer.to_owned()), "{function}");
    }
    assert_eq!(cluster.stats().unwrap().unreachable, 0);
    for text in ["a line", "42 and x", "plain", "term"] {
        let line = lines.wait_for(text);
        assert!(line.contains(&format!("peer={on};")), "{line}");
    }
}

fn atom(text: &str) -> Term {
    krarup_dist::etf::Atom::new(text).unwrap().into()
}

#[test]
fn zcall10_fifty_functions_of_otp_run_at_a_time_and_each_has_its_own_outcome() {
    let Some(otp) = Otp::idle("crowd") else { return };
    let member = member("crowd_here", |cluster| cluster);
    connect(&member, &otp);
    let (cluster, on) = (&member.cluster, otp.name.as_str());
    std::thread::scope(|scope| {
        for number in 0..50_i64 {
            scope.spawn(move || {
                let call = cluster.rpc(on, "lists", "seq", (1, number)).timeout(LONG);
                assert_eq!(call.wait(), Ok((1..=number).collect::<Vec<_>>()));
            });
        }
    });
    assert_eq!(table(&member, "rpcs"), 0);
}

/// A process whose state is a number of messages.
#[derive(Default)]
struct Stateful(i64);

impl Actor for Stateful {
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

    fn state(&self) -> Option<Dynamic> {
        Some(Dynamic::new(Term::Int(self.0)))
    }
}

const SYS: &str = "
    All = {all, N}, Read = {read, N}, Status = {status, N},
    Shape = fun({status, _, {module, M}, [_, S, _, _, _]}) -> {M, S}; (X) -> X end,
    1 = gen_server:call(All, bump),
    Show(Try(fun() -> sys:get_state(All) end)),
    Show(Try(fun() -> sys:get_state(Read) end)),
    Show(Try(fun() -> sys:get_state(Status) end)),
    Show(Shape(sys:get_status(All))), Show(Shape(sys:get_status(Status))),
    Show(Try(fun() -> sys:replace_state(All, fun(S) -> S end) end)),
    Show(sys:statistics(Status, true)),
    Show(sys:statistics(Read, get)),
    Show(sys:statistics(Read, true)),
    [gen_server:call(Read, bump) || _ <- lists:seq(1, 5)],
    {ok, Statistics} = sys:statistics(Read, get),
    Show([K || {K, _} <- Statistics]),
    Show([proplists:get_value(K, Statistics) || K <- [reductions, messages_in, messages_out]]),
    Times = [calendar:datetime_to_gregorian_seconds(proplists:get_value(K, Statistics))
             || K <- [start_time, current_time]],
    Show(Times =:= lists:sort(Times)),
    Show(sys:statistics(Read, false)),
    Show(sys:statistics(Read, get)),
    Show(sys:trace(All, true)),
    Show(Try(fun() -> sys:suspend(Read) end)),
    Show(sys:suspend(All)),
    Show(Shape(sys:get_status(All))),
    Waits = gen_server:send_request(All, bump),
    Show(sys:get_state(Read)),
    Show(sys:resume(All)),
    {reply, Bumped} = gen_server:wait_response(Waits, infinity),
    Show(Bumped),
    Show(Shape(sys:get_status(All))),
    Show(Try(fun() -> sys:terminate(Read, done) end)),
    Monitor = monitor(process, All),
    Show(sys:terminate(All, {done, 1})),
    Show(receive {'DOWN', Monitor, _, _, Why} -> Why end),
    Show(element(1, element(2, Try(fun() -> sys:get_state(All) end)))),
    Show(over), receive never -> ok end";

#[test]
fn zcall12_sys_of_otp_is_answered_as_it_expects() {
    let here = fresh("sys_here");
    // The script begins with its release, and waits for the node that it calls.
    let wait = "
        (fun Wait() -> net_adm:ping(N) =:= pong orelse (timer:sleep(10) =:= ok andalso Wait()) end)(), ";
    let script = format!("{wait}{SYS}");
    let Some(mut otp) = Otp::start("sys", &[("N", &here)], &script) else { return };
    let (release, name) = (otp.release, otp.name.clone());
    let member = Member::with(&here, COOKIE, move |cluster| {
        let cluster = cluster
            .export::<TermMessage>("all", Sys::All)
            .export::<TermMessage>("read", Sys::Read)
            .export::<TermMessage>("status", Sys::Status);
        let cluster = if release < 26 { cluster.otp_25(&name) } else { cluster };
        cluster.epmd()
    });
    for name in ["all", "read", "status"] {
        member.node.spawn(Stateful::default).name(name).wait().unwrap();
    }
    assert_eq!(
        otp.lines(),
        [
            "1",
            "0",
            "{error,not_allowed}",
            "{krarup,running}",
            "{krarup,running}",
            "{error,not_allowed}",
            "{error,not_allowed}",
            "{ok,no_statistics}",
            "ok",
            "[start_time,current_time,reductions,messages_in,messages_out]",
            "[5,5,0]",
            "true",
            "ok",
            "{ok,no_statistics}",
            "{error,not_allowed}",
            "{error,not_allowed}",
            "ok",
            "{krarup,suspended}",
            "5",
            "ok",
            "2",
            "{krarup,running}",
            "{error,not_allowed}",
            "ok",
            "{done,1}",
            "noproc",
        ]
    );
}

#[test]
fn zglobal1_otp_lists_the_node_among_the_hidden_ones() {
    let here = fresh("hidden_here");
    let script = "
        (fun Wait() -> net_adm:ping(N) =:= pong orelse (timer:sleep(10) =:= ok andalso Wait()) end)(),
        Show([lists:member(N, nodes(Kind)) || Kind <- [visible, hidden, known]]),
        Show(lists:member(N, global:registered_names())), receive never -> ok end";
    let Some(mut otp) = Otp::start("hidden", &[("N", &here)], script) else { return };
    let _member = Member::with(&here, COOKIE, Cluster::epmd);
    assert_eq!([otp.line(), otp.line()], ["[false,true,true]", "false"]);
}

/// What two nodes of OTP do with `global`; its lines must not depend on who else is there.
const GLOBAL: &str = "
    Name = {krarup, global}, At = fun(M, F, A) -> rpc:call(B, M, F, A) end,
    Wait = fun F() -> receive stop -> ok; _ -> F() end end,
    %% A name that both have before they meet.
    Mine = spawn(Wait), yes = global:register_name(clash, Mine),
    Show(net_adm:ping(B)),
    Show(global:sync()),
    Show(At(global, sync, [])),
    Clash = global:whereis_name(clash),
    Show(is_pid(Clash) andalso Clash =:= At(global, whereis_name, [clash])),
    Pid = spawn(Wait),
    Show(global:register_name(Name, Pid)),
    Show(At(global, whereis_name, [Name]) =:= Pid),
    Show(At(global, register_name, [Name, Pid])),
    Show(lists:sort(At(global, registered_names, [])) =:= lists:sort([clash, Name])),
    Other = spawn(Wait),
    Show(At(global, re_register_name, [Name, Other])),
    Show(global:whereis_name(Name) =:= Other),
    Show(global:send(Name, hello) =:= Other),
    Both = [node(), B],
    Show(global:set_lock({lock, a}, Both, 0)),
    Show(At(global, set_lock, [{lock, b}, Both, 0])),
    Show(global:del_lock({lock, a}, Both)),
    Show(At(global, set_lock, [{lock, b}, Both, 0])),
    Show(At(global, del_lock, [{lock, b}, Both])),
    Show(global:trans({lock, c}, fun erlang:is_alive/0)),
    Show(At(global, trans, [{lock, d}, fun erlang:is_alive/0])),
    Show(global:trans({lock, e}, fun erlang:is_alive/0, Both, 0)),
    exit(Other, kill),
    Gone = fun F() -> global:whereis_name(Name) =:= undefined andalso
                      At(global, whereis_name, [Name]) =:= undefined orelse
                      (timer:sleep(10) =:= ok andalso F()) end,
    Show(Gone()),
    Show(At(global, unregister_name, [clash])),
    Show(global:whereis_name(clash)),
    Show(At(global, sync, [])),
    Show(global:sync()),
    Show(nodes() =:= [B]),
    Show(over), receive never -> ok end";

/// Runs that script between two nodes, with a node of this program connected to each.
fn with_global(is_beside: bool) -> Option<Vec<String>> {
    let third = is_beside.then(|| member("third", |cluster| cluster));
    let clash = "
        Wait = fun F() -> receive stop -> ok; _ -> F() end end,
        yes = global:register_name(clash, spawn(Wait)), Show(ready), receive never -> ok end";
    let mut b = Otp::start("global_b", &[], clash)?;
    assert_eq!(b.line(), "ready");
    // It begins when the third node is connected.
    let name = third.as_ref().map_or("none", |third| third.name.as_str());
    let wait = "
        (fun F() -> C =:= none orelse lists:member(C, nodes(hidden)) orelse
                    (timer:sleep(10) =:= ok andalso F()) end)(), ";
    let script = format!("{wait}{GLOBAL}");
    let mut a = Otp::start("global_a", &[("B", &b.name), ("C", name)], &script)?;
    if let Some(third) = &third {
        connect(third, &b);
        connect(third, &a);
    }
    let lines = a.lines();
    if let Some(third) = third {
        let nodes = third.cluster.nodes().unwrap();
        assert_eq!(nodes.len(), 2, "{nodes:?}");
        assert_eq!(third.cluster.stats().unwrap().undecodable, 0);
    }
    Some(lines)
}

#[test]
fn zglobal2_global_does_among_two_nodes_of_otp_what_it_does_without_a_node_beside_them() {
    let Some(alone) = with_global(false) else { return };
    assert!(alone.len() > 20 && alone.iter().any(|line| line == "pong"), "{alone:?}");
    assert!(!alone.iter().any(|line| line.contains("badrpc")), "{alone:?}");
    assert_eq!(with_global(true).unwrap(), alone);
}

const NAMES: &str = "
    (fun Wait() -> net_adm:ping(N) =:= pong orelse (timer:sleep(10) =:= ok andalso Wait()) end)(),
    Ask = fun() -> gen_server:call({stock, N}, total) end,
    %% What was sent before the call has been handled, and what it was answered has come.
    Came = fun() -> Ask(), (fun F() -> receive M -> [M | F()] after 0 -> [] end end)() end,
    Tell = fun(Name, Message) -> {Name, N} ! Message, Came() end,
    Show(Tell(global_name_server, {init_connect, {8, {1, 2}}, node(), {locker, x, [], self()}})),
    Show(Tell(global_name_server, {'$gen_cast', {nodeup, node()}})),
    Show(Tell(global_name_server, {nodeup, node()})),
    Show(Tell(global_group, {self(), get_own_nodes, self()})),
    Show(Tell(rex, {self(), features_request})),
    Show(Tell(rex, {self(), {call, erlang, node, [], user}})),
    Show([Try(fun() -> gen_server:call({Name, N}, anything) end) || Name <-
          [global_name_server, global_group, rex, kernel_sup, code_server, init]]
         =:= [{exit, {noproc, {gen_server, call, [{Name, N}, anything]}}} || Name <-
          [global_name_server, global_group, rex, kernel_sup, code_server, init]]),
    Show(over),
    (fun F() -> erpc_is_there =:= (try erpc:call(N, calc, f, []) catch _:_ -> no end) orelse
                (timer:sleep(10) =:= ok andalso F()) end)(),
    Show(Tell(rex, {self(), features_request}) =:= [{features_reply, N, [erpc]}]),
    Show(over), receive never -> ok end";

#[test]
fn zglobal3_names_of_otp_are_nobody_here_and_features_are_told_only_if_functions_are_served() {
    let here = fresh("names_here");
    let Some(mut otp) = Otp::start("names", &[("N", &here)], NAMES) else { return };
    let member = Member::with(&here, COOKIE, Cluster::epmd);
    member.worker("stock");
    let mut expected = vec!["[]"; 6];
    expected.push("true");
    assert_eq!(otp.lines(), expected);
    let there = |(): ()| async { Ok::<_, TermException>(atom("erpc_is_there")) };
    member.cluster.serve("calc", "f", there).unwrap();
    assert_eq!(otp.lines(), ["true"]);
}

#[test]
fn zsec3_a_cookie_of_its_own_is_that_of_set_cookie_of_otp() {
    let here = fresh("cookie_here");
    let script = "
        Ping = fun F() -> (net_adm:ping(N) =:= pong) orelse (timer:sleep(10) =:= ok andalso F()) end,
        erlang:set_cookie(N, of_the_two),
        Show(Ping()),
        erlang:disconnect_node(N),
        erlang:set_cookie(N, erlang:get_cookie()),
        Show(net_adm:ping(N)),
        erlang:set_cookie(N, of_the_two),
        Show(net_adm:ping(N)), receive never -> ok end";
    let Some(mut otp) = Otp::start("cookie", &[("N", &here)], script) else { return };
    let name = otp.name.clone();
    let member = Member::with(&here, COOKIE, move |cluster| {
        cluster.cookie_for(&name, Cookie::new("of_the_two").unwrap()).epmd()
    });
    assert_eq!([otp.line(), otp.line(), otp.line()], ["true", "pang", "pong"]);
    // And when this node dials.
    member.cluster.disconnect(&otp.name).unwrap();
    until("it is down", || member.cluster.nodes().unwrap().is_empty());
    connect(&member, &otp);
}
