//! A peer that writes any bytes: the protocol over a plain socket.

use super::Member;
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames, OutgoingMessage};
use krarup_wire::handshake::{Cookie, Handshake, Identity, ReadStep};
use krarup_wire::{AliasRecipient, ControlMessage, DistributionFlags, Monitored};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Beyond this time, a test has failed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Waits until this is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        std::thread::yield_now();
    }
}

/// A node that consists of a socket.
pub(crate) struct RawPeer {
    pub(crate) stream: TcpStream,
    pub(crate) name: Atom,
    pub(crate) creation: u32,
    other: Atom,
    format: FrameFormat,
    frames: Frames,
    received: Vec<u8>,
    next: u32,
}

/// What came of a call.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Answer(Term),
    Down(Term),
    Closed,
}

/// A connection without a handshake.
pub(crate) fn stranger(to: &Member) -> TcpStream {
    let stream = TcpStream::connect(to.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Waits until the other side has closed, and returns what it has sent before.
pub(crate) fn closed(mut stream: &TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        let is_end = [std::io::ErrorKind::ConnectionReset, std::io::ErrorKind::BrokenPipe];
        assert!(is_end.contains(&error.kind()), "still open: {error}");
    }
    rest
}

/// The handshake of a node with this name, up to its first message.
pub(crate) fn dialling(name: &str, cookie: &str, flags: u64, to: &str) -> (Handshake, Vec<u8>) {
    let mut identity = Identity::new(Atom::new(name).unwrap(), 7, Cookie::new(cookie).unwrap());
    identity.flags = DistributionFlags::from_bits(flags);
    let mut room = Vec::new();
    let handshake = Handshake::dialling(identity, Atom::new(to).unwrap(), 9, &mut room);
    (handshake, room)
}

impl RawPeer {
    /// A peer that is connected.
    pub(crate) fn up(name: &str, to: &Member) -> RawPeer {
        RawPeer::connect(name, "secret", DistributionFlags::OFFERED.bits(), to).unwrap()
    }

    /// A peer with this cookie and these flags; `None` if it is refused.
    pub(crate) fn connect(name: &str, cookie: &str, flags: u64, to: &Member) -> Option<RawPeer> {
        RawPeer::shake(stranger(to), name, cookie, flags, to, |stream, bytes| {
            stream.write_all(bytes).is_ok()
        })
    }

    /// Performs the handshake over a socket. `write` sends its messages.
    pub(crate) fn shake(
        mut stream: TcpStream,
        name: &str,
        cookie: &str,
        flags: u64,
        to: &Member,
        mut write: impl FnMut(&mut TcpStream, &[u8]) -> bool,
    ) -> Option<RawPeer> {
        let (mut handshake, mut room) = dialling(name, cookie, flags, &to.name);
        let mut received = Vec::new();
        loop {
            if !room.is_empty() && !write(&mut stream, &room) {
                return None;
            }
            room.clear();
            let used = match handshake.read(&received, &mut room).ok()? {
                ReadStep::Read { used } => used,
                ReadStep::Up { used, peer } => {
                    received.drain(..used);
                    let format = FrameFormat::of(peer.flags);
                    return Some(RawPeer {
                        stream,
                        name: Atom::new(name).unwrap(),
                        creation: 7,
                        other: Atom::new(&*to.name).unwrap(),
                        format,
                        frames: Frames::new(format, FrameLimits::DEFAULT),
                        received,
                        next: 1,
                    });
                }
                _ => {
                    let mut bytes = [0; 4096];
                    match stream.read(&mut bytes) {
                        Ok(count) if count > 0 => received.extend(&bytes[..count]),
                        _ => return None,
                    }
                    0
                }
            };
            received.drain(..used);
        }
    }

    /// A process of this peer.
    pub(crate) fn pid(&self, id: u32) -> ExternalPid {
        ExternalPid { node: self.name.clone(), id, serial: 0, creation: self.creation }
    }

    /// A process of the other node with this number and incarnation.
    pub(crate) fn pid_there(&self, id: u32, creation: u32) -> ExternalPid {
        ExternalPid { node: self.other.clone(), id, serial: 0, creation }
    }

    /// A fresh reference of this peer.
    pub(crate) fn reference(&mut self) -> Reference {
        self.next += 1;
        Reference::new(self.name.clone(), self.creation, &[self.next, 0, 0]).unwrap()
    }

    /// A number that grows with what is sent.
    pub(crate) fn count(&self) -> u32 {
        self.next
    }

    /// Writes bytes. The other side may have closed.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Writes bytes as a frame, with their length.
    pub(crate) fn frame(&mut self, bytes: &[u8]) -> bool {
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        self.write(&[&length[..], bytes].concat())
    }

    /// Writes these terms as a frame, whatever they are.
    pub(crate) fn terms(&mut self, terms: &[&Term]) -> bool {
        let mut bytes = vec![131, 68, 0];
        terms.iter().for_each(|term| term.write(&mut bytes).unwrap());
        self.frame(&bytes)
    }

    /// Writes a control message with its payload.
    pub(crate) fn send(&mut self, control: &ControlMessage, payload: Option<&Term>) -> bool {
        let bytes = self.bytes(control, payload);
        self.write(&bytes)
    }

    /// The bytes of a control message with its payload.
    pub(crate) fn bytes(&mut self, control: &ControlMessage, payload: Option<&Term>) -> Vec<u8> {
        self.next += 1;
        let mut message = Vec::new();
        if let Some(payload) = payload {
            payload.write(&mut message).unwrap();
        }
        let sequence = self.next.into();
        let mut message = OutgoingMessage::new(self.format, control, message, sequence).unwrap();
        let mut bytes = Vec::new();
        while message.write_frame(&mut bytes) {}
        bytes
    }

    /// The next message; `None` if the connection is closed.
    pub(crate) fn next(&mut self) -> Option<(ControlMessage, Option<Term>)> {
        loop {
            let used = match self.frames.read(&self.received).unwrap() {
                FrameRead::Message { used, message } => {
                    let payload = message.payload.map(|it| it.decoder().last_term().unwrap());
                    let control = message.control;
                    self.received.drain(..used);
                    return Some((control, payload));
                }
                FrameRead::Tick { used } | FrameRead::Fragment { used } => used,
                FrameRead::Incomplete { .. } => {
                    let mut bytes = vec![0; 1 << 16];
                    match self.stream.read(&mut bytes) {
                        Ok(0) => return None,
                        Ok(count) => self.received.extend(&bytes[..count]),
                        Err(error) => {
                            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "silent");
                            return None;
                        }
                    }
                    0
                }
            };
            self.received.drain(..used);
        }
    }

    /// `{'$gen_call', {Pid, [alias | Ref]}, Request}`.
    pub(crate) fn call_term(&self, reference: &Reference, request: Term) -> Term {
        let tag = Term::list_with_tail([Term::atom("alias")], reference.clone().into());
        let from = Term::tuple([self.pid(1).into(), tag]);
        Term::tuple([Term::atom("$gen_call"), from, request])
    }

    /// Calls a process by its name, as OTP does.
    pub(crate) fn call(&mut self, name: &str, request: Term) -> Outcome {
        let (reference, from) = (self.reference(), self.pid(1));
        let name = Atom::new(name).unwrap();
        let target = Monitored::Name(name.clone());
        let monitor =
            ControlMessage::Monitor { from: from.clone(), target, reference: reference.clone() };
        self.send(&monitor, None);
        let message = self.call_term(&reference, request);
        self.send(&ControlMessage::RegSend { from, name }, Some(&message));
        while let Some((control, payload)) = self.next() {
            let alias = match control {
                ControlMessage::AltactSend { to: AliasRecipient::Alias(alias), .. }
                | ControlMessage::AliasSend { alias, .. } => alias,
                ControlMessage::PayloadMonitorExit { reference: of, .. } if of == reference => {
                    return Outcome::Down(payload.unwrap());
                }
                ControlMessage::MonitorExit { reference: of, reason, .. } if of == reference => {
                    return Outcome::Down(reason);
                }
                _ => continue,
            };
            if alias == reference {
                let Some(Term::Tuple(parts)) = payload else { panic!("no answer: {payload:?}") };
                let (from, target) = (self.pid(1), Monitored::Name(Atom::fixed("stock")));
                self.send(&ControlMessage::Demonitor { from, target, reference }, None);
                return Outcome::Answer(parts[1].clone());
            }
        }
        Outcome::Closed
    }

    /// Whether the connection stands: everything sent before was read.
    pub(crate) fn stands(&mut self) -> bool {
        let add = Term::tuple([Term::atom("add"), Term::Int(20), Term::Int(1)]);
        match self.call("stock", add) {
            Outcome::Closed => false,
            outcome => {
                assert_eq!(outcome, Outcome::Answer(Term::Int(21)));
                true
            }
        }
    }

    /// The pid of the process that has this name there.
    pub(crate) fn pid_of(&mut self, name: &str) -> ExternalPid {
        match self.call(name, Term::atom("who")) {
            Outcome::Answer(Term::Pid(pid)) => ExternalPid::clone(&pid),
            other => panic!("{other:?}"),
        }
    }
}
