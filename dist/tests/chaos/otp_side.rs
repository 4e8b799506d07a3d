//! A node of OTP with a service, which uses the services of this program, too.

use super::members::ChaosMembers;
use super::support::otp::Otp;
use std::process::Command;

/// The service `stock`: as a `StressService`, and `report`, which answers what it has handled, and
/// what the caller beside it has done. The caller calls and monitors each node that sends something.
const SCRIPT: &str = "
    Port = fun() ->
        {ok, Names} = erl_epmd:names(\"127.0.0.1\"),
        [Alive, _] = string:split(atom_to_list(node()), \"@\"),
        {_, Port} = lists:keyfind(Alive, 1, Names),
        Port
    end,
    Caller = spawn(fun() ->
        Loop = fun Loop(Calls, Ended, Made, Told) ->
            receive
                {use, Node} ->
                    erlang:monitor(process, {stock, Node}),
                    catch gen_server:call({stock, Node}, {add, 20, 3}, 2000),
                    Loop(Calls + 1, Ended + 1, Made + 1, Told);
                {'DOWN', _, process, _, _} ->
                    Loop(Calls, Ended, Made, Told + 1);
                {report, From} when Made =:= Told ->
                    From ! {Calls, Ended, Made, Told},
                    Loop(Calls, Ended, Made, Told);
                {tell, From} ->
                    From ! {Calls, Ended, Made, Told},
                    Loop(Calls, Ended, Made, Told)
            end
        end,
        Loop(0, 0, 0, 0)
    end),
    register(stock, spawn(fun() ->
        Loop = fun Loop(Notes) ->
            receive
                {'$gen_cast', {note, {_, Number, _}}} ->
                    Loop([Number | Notes]);
                {'$gen_call', {Pid, _} = From, {add, A, B}} ->
                    Caller ! {use, node(Pid)},
                    gen_server:reply(From, A + B),
                    Loop(Notes);
                {'$gen_call', _, keep} ->
                    Loop(Notes);
                {notes, From} ->
                    From ! {notes, lists:reverse(Notes)},
                    Loop(Notes)
            end
        end,
        Loop([])
    end)),
    Show(Port()),
    Show(list_to_integer(os:getpid())),
    io:get_line(\"\"),
    stock ! {notes, self()},
    receive {notes, Notes} -> [Show(N) || N <- Notes] end,
    Show(over),
    [erlang:disconnect_node(N) || N <- nodes(hidden)],
    Caller ! {report, self()},
    receive {C, E, M, T} -> [Show(N) || N <- [C, E, M, T]] after 20000 ->
        Caller ! {tell, self()},
        receive {C, E, M, T} -> [Show(N) || N <- [C, E, M, T]] end
    end,
    receive never -> ok end";

/// A running node of OTP.
pub(crate) struct OtpSide {
    otp: Otp,
    port: u16,
    system_pid: String,
}

/// What the node of OTP has done.
#[derive(Debug)]
pub(crate) struct OtpReport {
    /// The numbers of the messages that it has handled, in order.
    pub(crate) notes: Vec<u64>,
    pub(crate) calls: u64,
    pub(crate) ended: u64,
    pub(crate) monitors: u64,
    pub(crate) told: u64,
}

impl OtpSide {
    /// `None` if there is no `erl`.
    pub(crate) fn start(label: &str) -> Option<Self> {
        let mut otp = Otp::reading(label, SCRIPT)?;
        let port = otp.line().parse().unwrap();
        let system_pid = otp.line();
        Some(OtpSide { otp, port, system_pid })
    }

    pub(crate) fn name(&self) -> &str {
        &self.otp.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends a signal of the system.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.system_pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks what it has done, when everything that was sent before is over.
    pub(crate) fn report(&mut self, world: &ChaosMembers) -> OtpReport {
        world.all_arrived();
        self.otp.say("report");
        let notes = self.otp.lines().iter().map(|line| line.parse().unwrap()).collect();
        let mut number = || self.otp.line().parse().unwrap();
        let (calls, ended, monitors, told) = (number(), number(), number(), number());
        OtpReport { notes, calls, ended, monitors, told }
    }
}
