//! A node that a test plays by hand: it makes the handshake, and writes and reads single control
//! messages.

use super::Member;
use krarup_gen::Pid;
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames, OutgoingMessage, Payload};
use krarup_wire::handshake::{
    Cookie, Decision, Handshake, HandshakeError, Identity, PeerIdentity, ReadStep,
};
use krarup_wire::{ControlMessage, Monitored};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A connection of a node that a test plays.
pub(crate) struct ScriptedPeer {
    stream: TcpStream,
    input: Vec<u8>,
    frames: Frames,
    me: Identity,
    /// The other node.
    pub(crate) other: PeerIdentity,
    sequence: u64,
    references: u32,
}

/// A control message, with its payload.
pub(crate) type Came = (ControlMessage, Option<Term>);

/// How a played node identifies itself.
pub(crate) fn identity(name: &str, creation: u32) -> Identity {
    Identity::new(Atom::new(name).unwrap(), creation, Cookie::new("secret").unwrap())
}

impl ScriptedPeer {
    /// Connects to a member under this name.
    pub(crate) fn dial(member: &Member, name: &str, creation: u32) -> ScriptedPeer {
        let stream = TcpStream::connect(member.address()).unwrap();
        let me = identity(name, creation);
        let mut room = Vec::new();
        let peer = Atom::new(&member.name).unwrap();
        let handshake = Handshake::dialling(me.clone(), peer, 7, &mut room);
        ScriptedPeer::shake(stream, me, handshake, room).unwrap()
    }

    /// Accepts the next connection of a member.
    pub(crate) fn accept(listener: &TcpListener, name: &str, creation: u32) -> ScriptedPeer {
        let (stream, _) = listener.accept().unwrap();
        let me = identity(name, creation);
        let handshake = Handshake::accepting(me.clone(), 7);
        ScriptedPeer::shake(stream, me, handshake, Vec::new()).unwrap()
    }

    /// Makes a handshake over a connected socket.
    pub(crate) fn shake(
        mut stream: TcpStream,
        me: Identity,
        mut handshake: Handshake,
        mut room: Vec<u8>,
    ) -> Result<ScriptedPeer, HandshakeError> {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut input = Vec::new();
        let other = loop {
            stream.write_all(&room).unwrap();
            room.clear();
            let used = match handshake.read(&input, &mut room)? {
                ReadStep::Incomplete => {
                    let mut part = [0; 4096];
                    let count = stream.read(&mut part).unwrap();
                    assert!(count > 0, "the other node has closed the connection");
                    input.extend(&part[..count]);
                    0
                }
                ReadStep::Read { used } => used,
                ReadStep::Decide { used, .. } => {
                    handshake.decide(Decision::Accept, &mut room)?;
                    used
                }
                ReadStep::Up { used, peer } => {
                    stream.write_all(&room).unwrap();
                    input.drain(..used);
                    break peer;
                }
            };
            input.drain(..used);
        };
        let frames = Frames::new(FrameFormat::of(other.flags), FrameLimits::DEFAULT);
        Ok(ScriptedPeer { stream, input, frames, me, other, sequence: 0, references: 0 })
    }

    /// A process of this node.
    pub(crate) fn pid(&self, id: u32) -> ExternalPid {
        ExternalPid { node: self.me.name.clone(), id, serial: 0, creation: self.me.creation }
    }

    /// A process of the other node.
    pub(crate) fn theirs(&self, pid: Pid) -> ExternalPid {
        let id = u32::try_from(pid.id()).unwrap();
        let PeerIdentity { name, creation, .. } = &self.other;
        ExternalPid { node: name.clone(), id, serial: 0, creation: *creation }
    }

    /// A new reference of this node.
    pub(crate) fn reference(&mut self) -> Reference {
        self.references += 1;
        Reference::new(self.me.name.clone(), self.me.creation, &[self.references, 1, 2]).unwrap()
    }

    pub(crate) fn say(&mut self, control: &ControlMessage, payload: Option<&Term>) {
        let mut bytes = Vec::new();
        if let Some(payload) = payload {
            payload.write(&mut bytes).unwrap();
        }
        self.say_bytes(control, bytes);
    }

    /// Says a control message with these bytes as its payload.
    pub(crate) fn say_bytes(&mut self, control: &ControlMessage, payload: Vec<u8>) {
        self.sequence += 1;
        let format = FrameFormat::of(self.other.flags);
        let mut message = OutgoingMessage::new(format, control, payload, self.sequence).unwrap();
        let mut bytes = Vec::new();
        while message.write_frame(&mut bytes) {}
        self.write(&bytes);
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads the next message; `None` at the end of the connection.
    pub(crate) fn read(&mut self) -> Option<Came> {
        loop {
            match self.read_frame() {
                None => return None,
                Some((_, Some(came))) => return Some(came),
                Some(_) => {}
            }
        }
    }

    /// Reads the next frame: its bytes, and the message that it completes.
    pub(crate) fn read_counted(&mut self) -> (usize, Option<Came>) {
        self.read_frame().expect("the connection stands")
    }

    fn read_frame(&mut self) -> Option<(usize, Option<Came>)> {
        loop {
            let (used, came): (usize, Option<Came>) = match self.frames.read(&self.input).unwrap() {
                FrameRead::Incomplete { .. } => {
                    let mut part = vec![0; 1 << 16];
                    let count = match self.stream.read(&mut part) {
                        Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                        count => count.unwrap(),
                    };
                    if count == 0 {
                        return None;
                    }
                    self.input.extend(&part[..count]);
                    continue;
                }
                FrameRead::Tick { used } | FrameRead::Fragment { used } => (used, None),
                FrameRead::Message { used, message } => {
                    let payload = message.payload.map(Payload::into_owned);
                    let payload = payload.map(|payload| payload.decoder().last_term().unwrap());
                    (used, Some((message.control, payload)))
                }
            };
            self.input.drain(..used);
            return Some((used, came));
        }
    }

    /// Reads the raw bytes until there are `count`, ticks included.
    pub(crate) fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        while self.input.len() < count {
            let mut part = [0; 4096];
            let read = self.stream.read(&mut part).unwrap();
            assert!(read > 0, "the other node has closed the connection");
            self.input.extend(&part[..read]);
        }
        self.input.drain(..count).collect()
    }

    /// Sends a message to a name.
    pub(crate) fn send_to(&mut self, name: &str, message: &Term) {
        let from = self.pid(1);
        let control = ControlMessage::RegSend { from, name: Atom::new(name).unwrap() };
        self.say(&control, Some(message));
    }

    /// Begins a call of the process 1 to a name, without its monitor.
    pub(crate) fn ask(&mut self, name: &str, request: Term) -> Reference {
        let reference = self.reference();
        let message = gen_call(self.pid(1), &reference, request);
        self.send_to(name, &message);
        reference
    }

    /// Begins a call of the process 1 to a name, and monitors it as a caller of OTP does.
    pub(crate) fn call(&mut self, name: &str, request: Term) -> Reference {
        let reference = self.reference();
        let (from, target) = (self.pid(1), Monitored::Name(Atom::new(name).unwrap()));
        let control = ControlMessage::Monitor { from, target, reference: reference.clone() };
        self.say(&control, None);
        let message = gen_call(self.pid(1), &reference, request);
        self.send_to(name, &message);
        reference
    }

    /// Calls and returns the answer, or the reason with which the monitor has fired.
    pub(crate) fn answer(&mut self, name: &str, request: Term) -> Result<Term, Term> {
        let reference = self.call(name, request);
        self.outcome(&reference)
    }

    /// Waits for the outcome of a call, which must be the next that comes.
    pub(crate) fn outcome(&mut self, reference: &Reference) -> Result<Term, Term> {
        match self.read().expect("the connection stands") {
            (ControlMessage::PayloadMonitorExit { reference: of, .. }, Some(reason)) => {
                assert_eq!(of, *reference);
                Err(reason)
            }
            (ControlMessage::AltactSend { .. } | ControlMessage::AliasSend { .. }, Some(pair)) => {
                let Term::Tuple(parts) = &pair else { panic!("{pair}") };
                assert_eq!(parts[0], tag(reference), "{pair}");
                // The monitor of a call that was answered is removed by its caller.
                let (from, target) = (self.pid(1), Monitored::Name(Atom::fixed("any")));
                let reference = reference.clone();
                self.say(&ControlMessage::Demonitor { from, target, reference }, None);
                Ok(parts[1].clone())
            }
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that the other node closes the connection.
    pub(crate) fn ends(&mut self) {
        while self.read().is_some() {}
    }
}

/// `{'$gen_call', {Pid, [alias | Ref]}, Request}`.
pub(crate) fn gen_call(from: ExternalPid, reference: &Reference, request: Term) -> Term {
    let from = Term::tuple([from.into(), tag(reference)]);
    Term::tuple([Term::atom("$gen_call"), from, request])
}

/// `{'$gen_cast', Message}`.
pub(crate) fn gen_cast(message: Term) -> Term {
    Term::tuple([Term::atom("$gen_cast"), message])
}

/// `[alias | Ref]`.
pub(crate) fn tag(reference: &Reference) -> Term {
    Term::list_with_tail([Term::atom("alias")], reference.clone().into())
}

/// A tuple that begins with an atom.
pub(crate) fn tagged<const N: usize>(name: &'static str, rest: [Term; N]) -> Term {
    Term::tuple([Term::atom(name)].into_iter().chain(rest))
}
