//! The handshake as a state machine: bytes go in, bytes and decisions come out.
//!
//! ```text
//!  dialling                                accepting
//!  name ──────────────────────────────────► Name
//!                                             │ ReadStep::Decide, then Handshake::decide
//!  Status ◄──────────────────────── status ───┤
//!    │ alive: true ───────────────────────► Alive
//!  Challenge ◄─────────────────── challenge ──┘
//!    └─ reply ────────────────────────────► Reply: the digest is checked
//!  Acknowledgement ◄──────── acknowledgement ─┘ up
//!    └─ the digest is checked: up
//! ```
//!
//! Every message is preceded by its length: 2 bytes, over TLS 4. Messages to write are
//! appended to `room`, even if the result is an error. In that case they tell the peer the
//! cause, and then the connection is closed.

use super::digest::Cookie;
use super::error::HandshakeError;
use super::message::{
    self, ChallengeMessage, NameMessage, ReplyMessage, write_acknowledgement, write_status,
};
use crate::etf::Atom;
use crate::flags::DistributionFlags;
use crate::node_name::node_name;
use crate::reader::Reader;

/// The identity of a node, and its settings for the handshake.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Identity {
    /// The name of the node.
    pub name: Atom,
    /// The incarnation of the node: at least 4 (rule Zid6).
    pub creation: u32,
    /// The capabilities of the node: [`DistributionFlags::OFFERED`].
    pub flags: DistributionFlags,
    /// The secret shared with the peer.
    pub cookie: Cookie,
    /// The size of length prefixes.
    pub lengths: Lengths,
}

impl Identity {
    /// Creates a node that offers [`DistributionFlags::OFFERED`] over plain TCP.
    #[must_use]
    pub fn new(name: Atom, creation: u32, cookie: Cookie) -> Self {
        Identity {
            name,
            creation,
            flags: DistributionFlags::OFFERED,
            cookie,
            lengths: Lengths::Two,
        }
    }
}

/// The size of the length prefix of a handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Two, over plain TCP.
    Two,
    /// Four, over TLS.
    Four,
}

/// The peer of a connection, as it identified itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The name of the node.
    pub name: Atom,
    /// The incarnation of the node.
    pub creation: u32,
    /// The flags of the connection: those that both nodes offer.
    pub flags: DistributionFlags,
    /// The flags that the peer offers.
    pub offered: DistributionFlags,
}

/// The answer of the accepting node to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `ok`: continue.
    Accept,
    /// `ok_simultaneous`: continue. This node abandons its own dial (rule Zhs5).
    AcceptSimultaneous,
    /// `nok`: this node's own dial is kept (rule Zhs5).
    Refuse,
    /// `not_allowed`: this name is not allowed.
    NotAllowed,
    /// `alive`: a connection exists already. The peer answers whether it knows that
    /// connection (rule Zhs6).
    Alive,
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ReadStep {
    /// The bytes are not a complete message yet. No bytes were used.
    Incomplete,
    /// A message was read.
    Read {
        /// The number of bytes used.
        used: usize,
    },
    /// A peer has sent its name, which is not proved yet. The caller must call
    /// [`Handshake::decide`].
    Decide {
        /// The number of bytes used.
        used: usize,
        /// The claimed identity of the peer.
        peer: PeerIdentity,
    },
    /// The handshake is complete: frames follow.
    Up {
        /// The number of bytes used.
        used: usize,
        /// The peer.
        peer: PeerIdentity,
    },
}

/// A handshake.
#[derive(Debug)]
pub struct Handshake {
    me: Identity,
    challenge: u32,
    state: HandshakeState,
}

#[derive(Debug)]
enum HandshakeState {
    /// Dialling: expects the status of the node with this name.
    Status(Atom),
    /// Dialling: expects its challenge.
    Challenge(Atom),
    /// Dialling: expects its acknowledgement.
    Acknowledgement(PeerIdentity),
    /// Accepting: expects a name.
    Name,
    /// Accepting: expects a decision of the caller.
    Decision(PeerIdentity),
    /// Accepting: expects whether the peer knows the existing connection.
    Alive(PeerIdentity),
    /// Accepting: expects the answer to the challenge.
    Reply(PeerIdentity),
    /// Complete or failed.
    Over,
}

impl Handshake {
    /// The greatest length of a message, in bytes (rule Zhs7).
    pub const MAX_BYTES: usize = 1024;

    /// Starts the handshake of the node that dials `peer`. The challenge is a random
    /// number. The first message is appended to `room`.
    pub fn dialling(me: Identity, peer: Atom, challenge: u32, room: &mut Vec<u8>) -> Self {
        let handshake = Handshake { me, challenge, state: HandshakeState::Status(peer) };
        handshake.send(room, |me, out| {
            let name = me.name.as_str();
            NameMessage { flags: me.flags, creation: me.creation, name }.write(out);
        });
        handshake
    }

    /// Starts the handshake of the dialled node. The challenge is a random number.
    #[must_use]
    pub fn accepting(me: Identity, challenge: u32) -> Self {
        Handshake { me, challenge, state: HandshakeState::Name }
    }

    /// Sets the cookie that is shared with this peer, whose name is known by now: before
    /// [`Handshake::decide`] (rule Zsec3).
    pub fn set_cookie(&mut self, cookie: Cookie) {
        self.me.cookie = cookie;
    }

    /// Reads one message from the beginning of the received and unused bytes.
    ///
    /// At the accepting node, [`ReadStep::Up`] is returned with the acknowledgement in
    /// `room`. A caller that no longer needs the connection can close it without writing
    /// the acknowledgement.
    ///
    /// # Errors
    /// [`HandshakeError`]; the handshake has ended then.
    pub fn read(&mut self, bytes: &[u8], room: &mut Vec<u8>) -> Result<ReadStep, HandshakeError> {
        let Some((message, used)) =
            self.cut(bytes).inspect_err(|_| self.state = HandshakeState::Over)?
        else {
            return Ok(ReadStep::Incomplete);
        };
        match std::mem::replace(&mut self.state, HandshakeState::Over) {
            HandshakeState::Status(peer) => {
                match message::read_status(message)? {
                    "ok" | "ok_simultaneous" => {}
                    "alive" => self.send(room, |_, out| write_status("true", out)),
                    "nok" => return Err(HandshakeError::GivesWay),
                    "not_allowed" => return Err(HandshakeError::NotAllowed),
                    other => {
                        return Err(HandshakeError::Status {
                            status: other.chars().take(40).collect(),
                        });
                    }
                }
                self.state = HandshakeState::Challenge(peer);
                Ok(ReadStep::Read { used })
            }
            HandshakeState::Challenge(dialled) => {
                let message = ChallengeMessage::read(message)?;
                let found = node_name(message.name)?;
                if found != dialled {
                    return Err(HandshakeError::WrongNode { dialled, found });
                }
                let flags = self.me.flags.negotiate(message.flags)?;
                self.send(room, |me, out| {
                    let digest = me.cookie.digest(message.challenge);
                    ReplyMessage { challenge: self.challenge, digest }.write(out);
                });
                let (creation, offered) = (message.creation, message.flags);
                self.state = HandshakeState::Acknowledgement(PeerIdentity {
                    name: found,
                    creation,
                    flags,
                    offered,
                });
                Ok(ReadStep::Read { used })
            }
            HandshakeState::Acknowledgement(peer) => {
                let digest = message::read_acknowledgement(message)?;
                if !self.me.cookie.proves(self.challenge, &digest) {
                    return Err(HandshakeError::Digest);
                }
                Ok(ReadStep::Up { used, peer })
            }
            HandshakeState::Name => {
                let message = NameMessage::read(message)?;
                let peer = self.peer(&message).inspect_err(|_| self.refuse(room))?;
                self.state = HandshakeState::Decision(peer.clone());
                Ok(ReadStep::Decide { used, peer })
            }
            HandshakeState::Alive(peer) => match message::read_status(message)? {
                "true" => {
                    self.send_challenge(room);
                    self.state = HandshakeState::Reply(peer);
                    Ok(ReadStep::Read { used })
                }
                "false" => Err(HandshakeError::OldStays),
                other => Err(HandshakeError::Status { status: other.chars().take(40).collect() }),
            },
            HandshakeState::Reply(peer) => {
                let reply = ReplyMessage::read(message)?;
                if !self.me.cookie.proves(self.challenge, &reply.digest) {
                    return Err(HandshakeError::Digest);
                }
                self.send(room, |me, out| {
                    write_acknowledgement(me.cookie.digest(reply.challenge), out);
                });
                Ok(ReadStep::Up { used, peer })
            }
            HandshakeState::Decision(_) | HandshakeState::Over => Err(HandshakeError::OutOfTurn),
        }
    }

    /// Answers the name of [`ReadStep::Decide`].
    ///
    /// # Errors
    /// [`HandshakeError::Refused`] if that is the decision, with the message for the peer
    /// in `room`; [`HandshakeError::OutOfTurn`] if no decision is expected.
    pub fn decide(&mut self, decision: Decision, room: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let HandshakeState::Decision(peer) =
            std::mem::replace(&mut self.state, HandshakeState::Over)
        else {
            return Err(HandshakeError::OutOfTurn);
        };
        let status = match decision {
            Decision::Accept => "ok",
            Decision::AcceptSimultaneous => "ok_simultaneous",
            Decision::Refuse => "nok",
            Decision::NotAllowed => "not_allowed",
            Decision::Alive => "alive",
        };
        self.send(room, |_, out| write_status(status, out));
        match decision {
            Decision::Accept | Decision::AcceptSimultaneous => {
                self.send_challenge(room);
                self.state = HandshakeState::Reply(peer);
                Ok(())
            }
            Decision::Alive => {
                self.state = HandshakeState::Alive(peer);
                Ok(())
            }
            Decision::Refuse | Decision::NotAllowed => Err(HandshakeError::Refused),
        }
    }

    /// Checks the identity that a peer claims.
    fn peer(&self, message: &NameMessage<'_>) -> Result<PeerIdentity, HandshakeError> {
        if message.flags.contains(DistributionFlags::NAME_ME) {
            return Err(HandshakeError::AsksForName);
        }
        let name = node_name(message.name)?;
        if name == self.me.name {
            return Err(HandshakeError::OwnName { name });
        }
        let flags = self.me.flags.negotiate(message.flags)?;
        Ok(PeerIdentity { name, creation: message.creation, flags, offered: message.flags })
    }

    fn refuse(&self, room: &mut Vec<u8>) {
        self.send(room, |_, out| write_status("not_allowed", out));
    }

    fn send_challenge(&self, room: &mut Vec<u8>) {
        self.send(room, |me, out| {
            let Identity { flags, creation, .. } = *me;
            let name = me.name.as_str();
            ChallengeMessage { flags, challenge: self.challenge, creation, name }.write(out);
        });
    }

    /// Appends a message with its length prefix.
    fn send(&self, room: &mut Vec<u8>, write: impl FnOnce(&Identity, &mut Vec<u8>)) {
        let mut message = Vec::new();
        write(&self.me, &mut message);
        // No message is longer than a name and 20 bytes.
        let length = u16::try_from(message.len()).unwrap_or_default();
        match self.me.lengths {
            Lengths::Two => room.extend(length.to_be_bytes()),
            Lengths::Four => room.extend(u32::from(length).to_be_bytes()),
        }
        room.append(&mut message);
    }

    /// Returns the first message, if it is complete, and its size including the length prefix.
    fn cut<'a>(&self, bytes: &'a [u8]) -> Result<Option<(&'a [u8], usize)>, HandshakeError> {
        let mut reader = Reader::new(bytes);
        let length = match self.me.lengths {
            Lengths::Two => reader.u16().map(usize::from),
            Lengths::Four => {
                reader.u32().map(|length| usize::try_from(length).unwrap_or(usize::MAX))
            }
        };
        let Ok(length) = length else { return Ok(None) };
        if length > Self::MAX_BYTES {
            let limit = Self::MAX_BYTES;
            return Err(HandshakeError::TooLong { length, limit });
        }
        Ok(reader.take(length).ok().map(|message| (message, reader.offset())))
    }
}
