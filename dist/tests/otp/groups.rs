//! Scopes of OTP's `pg` that start after the connection, or start again (rule Zpg7).

use crate::support::otp::{COOKIE, Otp, fresh};
use crate::support::raw::{LONG, until};
use crate::support::{Member, Order, Worker};
use krarup_dist::ClusterCalls;
use krarup_gen::Pid;

/// Starts its scope when it is told to, joins a group of that name, and shows how many members the
/// group "stock" has as soon as it has any. It greets published nodes only, as every scope of OTP.
const SCOPE: &str = "
    Members = fun(Group) ->
        {Ref, Now} = pg:monitor(pg, Group),
        Some = case Now of [] -> receive {Ref, join, Group, Pids} -> Pids end; _ -> Now end,
        pg:demonitor(pg, Ref),
        length(Some)
    end,
    Line = fun() -> string:trim(io:get_line(\"\")) end,
    Start = fun() ->
        {ok, _} = pg:start(pg),
        ok = pg:join(list_to_binary(Line()), self()),
        Show(Members(<<\"stock\">>))
    end,
    Show(whereis(pg)),
    \"start\" = Line(), Start(),
    \"again\" = Line(),
    Scope = monitor(process, pg), exit(whereis(pg), kill),
    receive {'DOWN', Scope, _, _, _} -> ok end,
    \"start\" = Line(), Start(),
    receive never -> ok end";

#[test]
fn zpg7_a_scope_of_otp_that_starts_after_the_connection_or_again_is_found() {
    let Some(mut otp) = Otp::reading("late_scope", SCOPE) else { return };
    let member = Member::with(&fresh("groups"), COOKIE, |cluster| cluster.epmd().groups("pg"));
    let groups = member.node.groups();
    let stock = member.node.spawn(Worker::default).wait().unwrap();
    groups.join("stock", &stock.recipient::<Order>()).unwrap();
    let on = otp.name.clone();
    let unanswered = || {
        let scope = member.node.whereis("pg").unwrap();
        member.node.inspect(scope).wait().unwrap().number("unanswered")
    };
    let alive = || member.cluster.rpc::<bool>(&on, "erlang", "is_alive", ()).timeout(LONG).wait();
    assert_eq!(alive(), Ok(true));
    until("it is greeted", || unanswered() == Some(1));
    // The greeting arrives before this call, and finds nobody.
    assert_eq!(alive(), Ok(true));
    assert_eq!(otp.line(), "undefined");
    otp.say("start");
    otp.say("first");
    until("its members are seen", || groups.pids("first").len() == 1);
    assert_eq!(otp.line(), "1");
    assert_eq!(unanswered(), Some(0));
    otp.say("again");
    until("its members have left", || groups.pids("first").is_empty());
    assert_eq!(unanswered(), Some(1));
    otp.say("start");
    otp.say("second");
    until("its members are seen again", || groups.pids("second").len() == 1);
    assert_eq!(otp.line(), "1");
    // Both go on telling each other.
    let there = || {
        let rpc = member.cluster.rpc::<Vec<Pid>>(&on, "pg", "get_members", ("stock",));
        rpc.timeout(LONG).wait().unwrap()
    };
    assert_eq!(there(), [stock.pid()]);
    member.node.kill(stock.pid());
    until("it has left", || there().is_empty());
}
