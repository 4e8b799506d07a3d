//! A node of OTP: its service, and its end.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// `stock` adds and counts; two processes are members of a group.
const SCRIPT: &str = "
    logger:set_primary_config(level, none),
    pg:start(pg),
    [pg:join(soak, spawn(fun() -> receive never -> ok end end)) || _ <- [1, 2]],
    register(stock, spawn(fun() ->
        Loop = fun Loop(Sum) ->
            receive
                {'$gen_cast', {note, N}} -> Loop(Sum + N);
                {'$gen_call', From, {add, A, B}} -> gen_server:reply(From, A + B), Loop(Sum);
                {'$gen_call', _, keep} -> Loop(Sum)
            end
        end,
        Loop(0)
    end)),
    io:format(\"ready~n\"),
    receive never -> ok end.";

/// How a node of OTP ends.
#[derive(Clone, Copy)]
pub(crate) enum PeerEnd {
    /// At once.
    Kill,
    /// It has no turn for longer than the tick time, and is killed then.
    Suspend,
    /// In order.
    Stop,
}

/// A running node of OTP. It is killed when this is dropped.
pub(crate) struct OtpPeer(Child);

impl OtpPeer {
    /// `None` if there is no `erl`, or it does not start.
    pub(crate) fn start(name: &str, cookie: &str) -> Option<Self> {
        let child = Command::new("erl")
            .args(["-noinput", "-name", name, "-setcookie", cookie, "-kernel", "net_ticktime", "8"])
            .args(["-eval", SCRIPT])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut peer = OtpPeer(child.ok()?);
        let mut line = String::new();
        BufReader::new(peer.0.stdout.take()?).read_line(&mut line).ok()?;
        (line.trim() == "ready").then_some(peer)
    }

    pub(crate) fn end(self, how: PeerEnd) {
        match how {
            PeerEnd::Kill => {}
            PeerEnd::Suspend => {
                self.signal("-STOP");
                thread::sleep(Duration::from_secs(6));
            }
            PeerEnd::Stop => {
                self.signal("-TERM");
                thread::sleep(Duration::from_millis(300));
            }
        }
        drop(self);
    }

    fn signal(&self, signal: &str) {
        let _ = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
    }
}

impl Drop for OtpPeer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
