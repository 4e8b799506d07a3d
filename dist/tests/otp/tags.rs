//! Tags of calls as Erlang/OTP makes them (rules Zcall1, Zcall3).

use crate::support::Member;
use crate::support::otp::{COOKIE, Otp, fresh};
use krarup_dist::Cluster;

#[test]
fn zcall3_a_call_to_many_is_answered_to_its_alias_and_fails_by_its_monitor() {
    // It starts the port mapper.
    let Some(_first) = Otp::idle("tags_first") else { return };
    let here = Member::with(&fresh("tags_here"), COOKIE, Cluster::epmd);
    here.worker("stock");
    // A tag that OTP's `gen:reply/2` takes: an alias for all calls, and a monitor for each.
    let script = "
        Send = fun(Alias, Mon, Request) ->
            Tag = [[alias | Alias] | Mon],
            {stock, N} ! {'$gen_call', {self(), Tag}, Request}, Tag
        end,
        Call = fun(Request) ->
            Alias = alias(), Mon = monitor(process, {stock, N}), Tag = Send(Alias, Mon, Request),
            receive
                {Tag, V} -> demonitor(Mon, [flush]), {ok, V};
                {'DOWN', Mon, _, _, Why} -> {down, Why}
            end
        end,
        Show(Call({add, 20, 1})),
        Show(Call(drop)),
        {down, {refused, {Undecodable, _}}} = Call(nonsense), Show(Undecodable),
        %% After the end of the alias, an answer reaches no mailbox.
        Gone = alias(), unalias(Gone), Send(Gone, make_ref(), total),
        Show(gen_server:call({stock, N}, total)),
        Show(receive Any -> Any after 0 -> none end),
        Show(over), receive never -> ok end";
    let mut otp = Otp::start("tags", &[("N", &here.name)], script).unwrap();
    let expected = ["{ok,21}", "{down,{refused,no_reply}}", "undecodable", "0", "none"];
    assert_eq!(otp.lines(), expected);
}
