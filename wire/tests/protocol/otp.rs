//! Tests against a real OTP node, if `erl` and `epmd` are found. Otherwise the tests print
//! that and do nothing.
//!
//! The node runs a process `echo`, which answers `{Pid, X}` with `X`. The tests dial it
//! with each form of frames, through sockets of the standard library, which the crate
//! itself does not use.

use crate::support::term;
use krarup_wire::epmd::{EPMD_PORT, LookUp, Register};
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::frame::{
    FrameFormat, FrameLimits, FrameRead, Frames, IncomingMessage, OutgoingMessage, write_tick,
};
use krarup_wire::handshake::{Cookie, Decision, Handshake, Identity, PeerIdentity, ReadStep};
use krarup_wire::{ControlMessage, DistributionFlags, Monitored};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An OTP node that is stopped when the test ends.
struct Otp {
    child: Child,
    name: String,
}

impl Drop for Otp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ECHO: &str = "
    Loop = fun F() -> receive {die, Why} -> exit(Why); {link, P} -> link(P), F(); {unlink, P, Q} -> unlink(P), Q ! done, F();
                          {From, X} -> From ! X, F() end end,
    register(echo, spawn(Loop)), register(mortal, spawn(Loop)),
    io:format(\"ready~n\").";

impl Otp {
    fn start(alive: &str) -> Option<Otp> {
        let started = Command::new("erl")
            .args([
                "-noshell",
                "-hidden",
                "-sname",
                &format!("{alive}@localhost"),
                "-setcookie",
                "secret",
            ])
            .args(["-eval", ECHO])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else {
            eprintln!("erl is not here: nothing was tested against OTP");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the node did not start");
        Some(Otp { child, name: format!("{alive}@localhost") })
    }
}

/// A connection to the node.
struct Connection {
    socket: TcpStream,
    input: Vec<u8>,
    used: usize,
    format: FrameFormat,
    frames: Frames,
    me: Atom,
    peer: PeerIdentity,
    sequence: u64,
}

impl Connection {
    fn dial(otp: &Otp, me: &'static str, flags: DistributionFlags) -> Connection {
        let alive = otp.name.split('@').next().unwrap();
        let mut epmd = TcpStream::connect(("127.0.0.1", EPMD_PORT)).unwrap();
        let (look_up, mut request, mut answer) = (LookUp { name: alive }, Vec::new(), Vec::new());
        look_up.write(&mut request).unwrap();
        epmd.write_all(&request).unwrap();
        epmd.read_to_end(&mut answer).unwrap();
        let found = look_up.read_answer(&answer).unwrap().unwrap().unwrap();

        let mut socket = TcpStream::connect(("127.0.0.1", found.port)).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut identity = Identity::new(Atom::fixed(me), 4_711, Cookie::new("secret").unwrap());
        identity.flags = flags;
        let (mut room, mut input) = (Vec::new(), Vec::new());
        let mut handshake =
            Handshake::dialling(identity, Atom::new(&otp.name).unwrap(), 123, &mut room);
        let peer = loop {
            socket.write_all(&room).unwrap();
            room.clear();
            let used = match handshake.read(&input, &mut room).unwrap() {
                ReadStep::Incomplete => {
                    let mut bytes = [0; 4096];
                    let count = socket.read(&mut bytes).unwrap();
                    assert!(count > 0, "OTP closed the connection");
                    input.extend(&bytes[..count]);
                    0
                }
                ReadStep::Read { used } => used,
                ReadStep::Up { used, peer } => {
                    input.drain(..used);
                    break peer;
                }
                step @ ReadStep::Decide { .. } => panic!("{step:?}"),
            };
            input.drain(..used);
        };
        let format = FrameFormat::of(peer.flags);
        let frames = Frames::new(format, FrameLimits::DEFAULT);
        Connection {
            socket,
            input,
            used: 0,
            format,
            frames,
            me: Atom::fixed(me),
            peer,
            sequence: 0,
        }
    }

    /// Waits for a connection, and accepts it.
    fn accept(listener: &TcpListener, me: &'static str, flags: DistributionFlags) -> Connection {
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut identity = Identity::new(Atom::fixed(me), 4_711, Cookie::new("secret").unwrap());
        identity.flags = flags;
        let (mut room, mut input) = (Vec::new(), Vec::new());
        let mut handshake = Handshake::accepting(identity, 321);
        let peer = loop {
            let step = handshake.read(&input, &mut room).unwrap();
            let used = match &step {
                ReadStep::Incomplete => {
                    let mut bytes = [0; 4096];
                    let count = socket.read(&mut bytes).unwrap();
                    assert!(count > 0, "OTP closed the connection");
                    input.extend(&bytes[..count]);
                    0
                }
                ReadStep::Decide { used, .. } => {
                    handshake.decide(Decision::Accept, &mut room).unwrap();
                    *used
                }
                ReadStep::Read { used } | ReadStep::Up { used, .. } => *used,
            };
            input.drain(..used);
            socket.write_all(&room).unwrap();
            room.clear();
            if let ReadStep::Up { peer, .. } = step {
                break peer;
            }
        };
        let format = FrameFormat::of(peer.flags);
        let frames = Frames::new(format, FrameLimits::DEFAULT);
        Connection {
            socket,
            input,
            used: 0,
            format,
            frames,
            me: Atom::fixed(me),
            peer,
            sequence: 0,
        }
    }

    fn pid(&self, id: u32) -> ExternalPid {
        ExternalPid { id, serial: 0, node: self.me.clone(), creation: 4_711 }
    }

    fn reference(&self, number: u32) -> Reference {
        Reference::new(self.me.clone(), 4_711, &[number, 2, 3]).unwrap()
    }

    fn send(&mut self, control: &ControlMessage, payload: Option<&Term>) {
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        if let Some(term) = payload {
            term.write(&mut bytes).unwrap();
        }
        self.sequence += 1;
        let mut message = OutgoingMessage::new(self.format, control, bytes, self.sequence).unwrap();
        while message.write_frame(&mut out) {}
        self.socket.write_all(&out).unwrap();
    }

    /// Returns the next message with its payload. Ticks are answered.
    fn receive(&mut self) -> (ControlMessage, Option<Term>) {
        loop {
            let read = self.frames.read(&self.input[self.used..]).unwrap();
            match read {
                FrameRead::Message { used, message: IncomingMessage { control, payload } } => {
                    self.used += used;
                    let payload = payload.map(|payload| payload.term(self.frames.atoms()).unwrap());
                    return (control, payload);
                }
                FrameRead::Tick { used } => {
                    self.used += used;
                    let mut tick = Vec::new();
                    write_tick(&mut tick);
                    self.socket.write_all(&tick).unwrap();
                }
                FrameRead::Fragment { used } => self.used += used,
                FrameRead::Incomplete { .. } => {
                    self.input.drain(..std::mem::take(&mut self.used));
                    let mut bytes = vec![0; 1 << 16];
                    let count = self.socket.read(&mut bytes).unwrap();
                    assert!(count > 0, "OTP closed the connection");
                    self.input.extend(&bytes[..count]);
                }
            }
        }
    }

    fn tell(&mut self, name: &'static str, message: &Term) {
        let control = ControlMessage::RegSend { from: self.pid(1), name: Atom::fixed(name) };
        self.send(&control, Some(message));
    }

    fn echo(&mut self, term: Term) -> Term {
        self.tell("echo", &Term::tuple([self.pid(1).into(), term]));
        let (control, payload) = self.receive();
        assert!(
            matches!(control, ControlMessage::Send { .. } | ControlMessage::SendSender { .. }),
            "{control:?}"
        );
        payload.unwrap()
    }

    /// Returns the pid of a process of the node.
    fn whereis(&mut self, name: &'static str) -> ExternalPid {
        let reference = self.reference(900);
        let target = Monitored::Name(Atom::fixed(name));
        let (from, to) = (self.pid(2), self.peer.name.clone());
        self.send(&ControlMessage::Monitor { from, target, reference }, None);
        // A message by name to `rex`, as C nodes send it.
        let call = ["call", "erlang", "whereis"].map(Term::atom);
        let [call, module, function] = call;
        let arguments = Term::list([Term::atom(name)]);
        let request = Term::tuple([call, module, function, arguments, Term::atom("user")]);
        self.tell("rex", &Term::tuple([self.pid(1).into(), request]));
        let Some(Term::Tuple(answer)) = self.receive().1 else { panic!() };
        let Term::Pid(pid) = &answer[1] else { panic!("{}", answer[1]) };
        assert_eq!(pid.node, to);
        ExternalPid::clone(pid)
    }
}

/// Whether OTP 25 can decode the term. It cannot decode native records and funs of unknown
/// modules.
fn is_known(term: &Term) -> bool {
    match term {
        Term::Record(_) | Term::Fun(_) => false,
        Term::Tuple(elements) | Term::List(elements) => elements.iter().all(is_known),
        Term::Improper(list) => list.elements().iter().chain([list.tail()]).all(is_known),
        Term::Map(map) => map.iter().all(|(key, value)| is_known(key) && is_known(value)),
        _ => true,
    }
}

/// Returns the names of the connections and their flags.
fn forms() -> [(&'static str, DistributionFlags); 4] {
    let without = |flags: DistributionFlags| DistributionFlags::OFFERED.without(flags);
    let plain = DistributionFlags::FRAGMENTS
        | DistributionFlags::DIST_HDR_ATOM_CACHE
        | DistributionFlags::SEND_SENDER
        | DistributionFlags::EXIT_PAYLOAD
        | DistributionFlags::ALIAS
        | DistributionFlags::SPAWN;
    [
        ("all@localhost", DistributionFlags::OFFERED),
        ("no_fragments@localhost", without(DistributionFlags::FRAGMENTS)),
        ("no_cache@localhost", without(DistributionFlags::DIST_HDR_ATOM_CACHE)),
        ("plain@localhost", without(plain)),
    ]
}

#[test]
fn zterm1_random_terms_come_back_equal_from_an_otp_echo_in_every_form_of_frames() {
    let Some(otp) = Otp::start("wire_terms") else { return };
    let mut runner = TestRunner::deterministic();
    for (me, flags) in forms() {
        let mut connection = Connection::dial(&otp, me, flags);
        let mut count = 0;
        while count < 750 {
            let sent = term().new_tree(&mut runner).unwrap().current();
            if is_known(&sent) {
                assert_eq!(connection.echo(sent.clone()), sent, "{me}");
                count += 1;
            }
        }
        for size in [0, 1, 65_535, 65_536, 65_537, 10_000_000] {
            let sent = Term::binary(vec![7; size]);
            assert!(connection.echo(sent.clone()) == sent, "{me}: {size}");
        }
        let list = Term::list(std::iter::repeat_n(Term::Int(7), 65_536));
        assert!(connection.echo(list.clone()) == list, "{me}");
    }
}

#[test]
fn zterm3_a_fun_of_otp_is_sent_back_and_runs_there() {
    let Some(otp) = Otp::start("wire_funs") else { return };
    for (me, flags) in forms() {
        let mut connection = Connection::dial(&otp, me, flags);
        let call = |connection: &mut Connection, module, function, arguments| {
            let [call, module, function] = ["call", module, function].map(Term::atom);
            let request = Term::tuple([call, module, function, arguments, Term::atom("user")]);
            connection.tell("rex", &Term::tuple([connection.pid(1).into(), request]));
            match connection.receive().1 {
                Some(Term::Tuple(answer)) => answer[1].clone(),
                other => panic!("{other:?}"),
            }
        };
        // A fun of the evaluator has atoms in its free variables.
        let text = Term::list(
            "fun(X) -> {shop, X, [a, b]} end.".bytes().map(|byte| Term::Int(byte.into())),
        );
        let Term::Tuple(scanned) = call(&mut connection, "erl_scan", "string", Term::list([text]))
        else {
            panic!()
        };
        let Term::Tuple(parsed) =
            call(&mut connection, "erl_parse", "parse_exprs", Term::list([scanned[1].clone()]))
        else {
            panic!()
        };
        let bindings = Term::from(krarup_wire::etf::Map::new([]).unwrap());
        let evaluated =
            call(&mut connection, "erl_eval", "exprs", Term::list([parsed[1].clone(), bindings]));
        let Term::Tuple(evaluated) = evaluated else { panic!("{evaluated}") };
        let fun = evaluated[1].clone();
        assert!(matches!(fun, Term::Fun(_)), "{fun}");
        let arguments = Term::list([Term::Int(5)]);
        let result = call(&mut connection, "erlang", "apply", Term::list([fun, arguments]));
        assert_eq!(result.to_string(), "{shop,5,[a,b]}", "{me}");
    }
}

#[test]
fn zlink11_monitors_links_and_exits_match_those_of_otp() {
    let Some(otp) = Otp::start("wire_links") else { return };
    for (me, flags) in forms().into_iter().take(3) {
        let mut connection = Connection::dial(&otp, me, flags);
        // No process has this name.
        let nobody = Monitored::Name(Atom::fixed("nobody"));
        let (from, reference) = (connection.pid(1), connection.reference(1));
        let monitor = ControlMessage::Monitor {
            from: from.clone(),
            target: nobody.clone(),
            reference: reference.clone(),
        };
        connection.send(&monitor, None);
        let (control, reason) = connection.receive();
        assert_eq!(
            control,
            ControlMessage::PayloadMonitorExit { target: nobody, to: from.clone(), reference }
        );
        assert_eq!(reason, Some(Term::atom("noproc")));

        // A link that is removed again. The acknowledgement has the number of the unlink.
        let echo = connection.whereis("echo");
        connection.send(&ControlMessage::Link { from: from.clone(), to: echo.clone() }, None);
        let id = NonZeroU64::new(u64::MAX).unwrap();
        connection
            .send(&ControlMessage::UnlinkId { id, from: from.clone(), to: echo.clone() }, None);
        let (control, _) = connection.receive();
        assert_eq!(
            control,
            ControlMessage::UnlinkIdAck { id, from: echo.clone(), to: from.clone() }
        );

        // A link and an unlink by the other node, which waits for the acknowledgement.
        connection.tell("echo", &Term::tuple([Term::atom("link"), from.clone().into()]));
        assert_eq!(
            connection.receive().0,
            ControlMessage::Link { from: echo.clone(), to: from.clone() }
        );
        let unlink = [Term::atom("unlink"), from.clone().into(), from.clone().into()];
        connection.tell("echo", &Term::tuple(unlink));
        let ControlMessage::UnlinkId { id, from: theirs, to } = connection.receive().0 else {
            panic!()
        };
        assert_eq!((&theirs, &to), (&echo, &from));
        connection.send(&ControlMessage::UnlinkIdAck { id, from: to, to: theirs }, None);
        assert_eq!(connection.receive().1, Some(Term::atom("done")));

        // A linked process that ends.
        let (control, reason) = if me == "all@localhost" {
            let mortal = connection.whereis("mortal");
            connection.send(&ControlMessage::Link { from: from.clone(), to: mortal.clone() }, None);
            let why = Term::tuple([Term::atom("die"), Term::atom("tired")]);
            connection.send(
                &ControlMessage::SendSender { from: from.clone(), to: mortal.clone() },
                Some(&why),
            );
            let mut exits = [connection.receive(), connection.receive()];
            exits.sort_by_key(|(control, _)| matches!(control, ControlMessage::PayloadExit { .. }));
            let [(down, _), (exit, reason)] = exits;
            assert!(matches!(down, ControlMessage::PayloadMonitorExit { .. }), "{down:?}");
            assert_eq!(exit, ControlMessage::PayloadExit { from: mortal, to: from.clone() });
            (exit, reason)
        } else {
            continue;
        };
        assert!(control.has_payload());
        assert_eq!(reason, Some(Term::atom("tired")));
    }
}

#[test]
fn zhs1_otp_finds_this_node_by_epmd_and_its_ping_returns_pong() {
    // Starting the node starts epmd too.
    let Some(_otp) = Otp::start("wire_other") else { return };
    for (at, (_, flags)) in forms().into_iter().enumerate() {
        let me = [
            "wire_ping0@localhost",
            "wire_ping1@localhost",
            "wire_ping2@localhost",
            "wire_ping3@localhost",
        ][at];
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let register = Register { name: me.split('@').next().unwrap(), port, hidden: true };
        let mut epmd = TcpStream::connect(("127.0.0.1", EPMD_PORT)).unwrap();
        let (mut request, mut answer) = (Vec::new(), Vec::new());
        register.write(&mut request).unwrap();
        epmd.write_all(&request).unwrap();
        while register.read_answer(&answer).unwrap().is_none() {
            let mut byte = [0];
            epmd.read_exact(&mut byte).unwrap();
            answer.extend(byte);
        }

        let ping = format!("io:format(\"~p~n\", [net_adm:ping('{me}')]), halt().");
        let mut pinging = Command::new("erl")
            .args(["-noshell", "-hidden", "-sname", &format!("wire_pinging{at}@localhost")])
            .args(["-setcookie", "secret", "-eval", &ping])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut connection = Connection::accept(&listener, me, flags);
        // The messages of a ping.
        let (control, _) = connection.receive();
        assert!(matches!(control, ControlMessage::Monitor { .. }), "{control:?}");
        let (control, request) = connection.receive();
        assert!(
            matches!(&control, ControlMessage::RegSend { name, .. } if *name == "net_kernel"),
            "{control:?}"
        );
        let Some(Term::Tuple(request)) = request else { panic!() };
        assert_eq!(request[0], Term::atom("$gen_call"));
        let Term::Tuple(from) = &request[1] else { panic!() };
        let answer = Term::tuple([from[1].clone(), Term::atom("yes")]);
        let control = match &from[1] {
            Term::Improper(tag) if connection.peer.flags.contains(DistributionFlags::ALIAS) => {
                let Term::Reference(alias) = tag.tail() else { panic!() };
                ControlMessage::AliasSend {
                    from: connection.pid(1),
                    alias: Reference::clone(alias),
                }
            }
            _ => {
                let Term::Pid(to) = &from[0] else { panic!() };
                ControlMessage::Send { to: ExternalPid::clone(to) }
            }
        };
        connection.send(&control, Some(&answer));
        let mut said = String::new();
        pinging.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "pong\n");
        pinging.wait().unwrap();
    }
}
