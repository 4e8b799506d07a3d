//! The handshake as a state machine: bytes go in, bytes and decisions come out.
//!
//! ```text
//!  dialling                                accepting
//!  name ──────────────────────────────────► Name
//!                                             │ Step::Decide, then Handshake::decide
//!  Status ◄──────────────────────── status ───┤
//!    │ alive: true ───────────────────────► Alive
//!  Challenge ◄─────────────────── challenge ──┘
//!    └─ reply ────────────────────────────► Reply: the digest is checked
//!  Acknowledgement ◄──────── acknowledgement ─┘ up
//!    └─ the digest is checked: up
//! ```
//!
//! Whatever is written has its length before it: 2 bytes, over TLS 4. What is to be written is appended to
//! `room`, also where the result is an error: it tells the peer why, and then the connection is closed.

use super::digest::Cookie;
use super::message::{
    self, ChallengeMessage, MessageError, NameMessage, ReplyMessage, write_acknowledgement,
    write_status,
};
use crate::etf::Atom;
use crate::flags::{DistributionFlags, MissingFlags};
use crate::node_name::{NodeNameError, node_name};
use crate::reader::Reader;

/// What a node says of itself, and what the handshake needs besides.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Identity {
    /// The name of the node.
    pub name: Atom,
    /// Which incarnation it is: at least 4 (rule Zid6).
    pub creation: u32,
    /// What it can do: [`DistributionFlags::OFFERED`].
    pub flags: DistributionFlags,
    /// What it shares with the peer.
    pub cookie: Cookie,
    /// How lengths are written.
    pub lengths: Lengths,
}

impl Identity {
    /// A node that offers [`DistributionFlags::OFFERED`] over plain TCP.
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

/// How many bytes the length of a message of the handshake has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Two, over plain TCP.
    Two,
    /// Four, over TLS.
    Four,
}

/// The peer of a connection, as it named itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The name of the node.
    pub name: Atom,
    /// Which incarnation it is.
    pub creation: u32,
    /// What the connection has: what both nodes offer.
    pub flags: DistributionFlags,
    /// What the peer offers.
    pub offered: DistributionFlags,
}

/// What the accepting node says to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `ok`: go on.
    Accept,
    /// `ok_simultaneous`: go on; this node gives its own dial up (rule Zhs5).
    AcceptSimultaneous,
    /// `nok`: this node's own dial stands (rule Zhs5).
    Refuse,
    /// `not_allowed`: not with this name.
    NotAllowed,
    /// `alive`: there is a connection already. The peer says whether it knows of it (rule Zhs6).
    Alive,
}

/// What a read did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ReadStep {
    /// The bytes are not a whole message yet. Nothing was used.
    Incomplete,
    /// A message was read.
    Read {
        /// How many bytes were used.
        used: usize,
    },
    /// A peer has said its name, which is not proved yet: [`Handshake::decide`] is next.
    Decide {
        /// How many bytes were used.
        used: usize,
        /// Who the peer says it is.
        peer: PeerIdentity,
    },
    /// The handshake is over: frames follow.
    Up {
        /// How many bytes were used.
        used: usize,
        /// The peer.
        peer: PeerIdentity,
    },
}

/// The handshake failed. The connection is to be closed, after what is in `room` was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// A message cannot be read.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A message is longer than [`Handshake::MAX_BYTES`] (rule Zhs7).
    #[error("a message of {length} bytes is over the limit of {}", Handshake::MAX_BYTES)]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// The peer has no name of a node.
    #[error(transparent)]
    Name(#[from] NodeNameError),
    /// The peer asks for a name (rule Zhs3).
    #[error("the peer asks for a name, and there are none to give")]
    AsksForName,
    /// The peer has the name of this node (rule Zhs3).
    #[error("the peer calls itself {name}, as this node")]
    OwnName {
        /// The name.
        name: Atom,
    },
    /// Another node than the one dialled answers (rule Zhs3).
    #[error("{dialled} was dialled, and {found} answers")]
    WrongNode {
        /// The node that was dialled.
        dialled: Atom,
        /// The node that answers.
        found: Atom,
    },
    /// A mandatory flag is missing (rule Zhs3).
    #[error(transparent)]
    Flags(#[from] MissingFlags),
    /// The peer says `not_allowed`.
    #[error("the peer does not allow this node")]
    NotAllowed,
    /// The peer says `nok`: it dials this node itself, and its dial stands (rule Zhs5).
    #[error("the peer dials this node itself")]
    GivesWay,
    /// The peer says something that is no status.
    #[error("{status:?} is no status")]
    Status {
        /// What it says, cut at 40 characters.
        status: String,
    },
    /// The digest is wrong: another cookie (rule Zhs4).
    #[error("the peer has another cookie")]
    Digest,
    /// The peer stays with the connection that stands (rule Zhs6).
    #[error("the peer stays with the connection that stands")]
    OldStays,
    /// This node has refused the peer: [`Decision::Refuse`] or [`Decision::NotAllowed`].
    #[error("this node refuses the peer")]
    Refused,
    /// [`Handshake::read`] before [`Handshake::decide`], that without a name, or either after the end.
    #[error("the handshake expects something else")]
    OutOfTurn,
}

/// One handshake.
#[derive(Debug)]
pub struct Handshake {
    me: Identity,
    challenge: u32,
    state: HandshakeState,
}

#[derive(Debug)]
enum HandshakeState {
    /// Dialling: the status of the node with this name is expected.
    Status(Atom),
    /// Dialling: its challenge.
    Challenge(Atom),
    /// Dialling: its acknowledgement.
    Acknowledgement(PeerIdentity),
    /// Accepting: a name.
    Name,
    /// Accepting: a decision.
    Decision(PeerIdentity),
    /// Accepting: whether it knows of the connection that stands.
    Alive(PeerIdentity),
    /// Accepting: the answer to the challenge.
    Reply(PeerIdentity),
    /// Up, or failed.
    Over,
}

impl Handshake {
    /// The greatest length of a message, in bytes (rule Zhs7).
    pub const MAX_BYTES: usize = 1024;

    /// The handshake of the node that dials `peer`. The challenge is a random number. The first message is
    /// appended to `room`.
    pub fn dialling(me: Identity, peer: Atom, challenge: u32, room: &mut Vec<u8>) -> Self {
        let handshake = Handshake { me, challenge, state: HandshakeState::Status(peer) };
        handshake.send(room, |me, out| {
            let name = me.name.as_str();
            NameMessage { flags: me.flags, creation: me.creation, name }.write(out);
        });
        handshake
    }

    /// The handshake of the node that is dialled. The challenge is a random number.
    #[must_use]
    pub fn accepting(me: Identity, challenge: u32) -> Self {
        Handshake { me, challenge, state: HandshakeState::Name }
    }

    /// Reads one message from the beginning of what came and was not used yet.
    ///
    /// At the accepting node, [`ReadStep::Up`] comes with the acknowledgement in `room`: a caller that does not want the
    /// connection any more can close it without writing that.
    ///
    /// # Errors
    /// [`HandshakeError`]; the handshake is over then.
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
    /// [`HandshakeError::Refused`] where that is the decision, with what the peer is told in `room`;
    /// [`HandshakeError::OutOfTurn`] where there is nothing to decide.
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

    /// Checks what a peer says of itself.
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

    /// Appends a message with its length before it.
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

    /// The first message of these bytes, if it is whole, and how many bytes it takes with its length.
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
            return Err(HandshakeError::TooLong { length });
        }
        Ok(reader.take(length).ok().map(|message| (message, reader.offset())))
    }
}
