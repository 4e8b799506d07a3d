//! The process of a connection: handshake, then frames and ticks.
//!
//! ```text
//!  connected ──► handshake ── up ──► frames ──► Dispatch
//!                    │                  ▲
//!                    └─ 7 s ─► closed   └─ a tick every T/4; silent for T: closed
//! ```
//!
//! It never waits for a user's process, and never stops reading (rule Zmsg11).

mod finishing;
mod framing;
mod shaking;
mod socket_link;

use crate::connection::framing::Framing;
use crate::connection::socket_link::SocketLink;
use crate::core::ClusterCore;
use crate::core::connections::GIVEN_UP;
use crate::error::ConnectionError;
use crate::incoming::{self, Dispatch};
use crate::messages::ConnectionMessage;
use crate::peer::control_trace::TracedControl;
use crate::peer::{PeerAbout, PeerNode};
use bytes::Bytes;
use krarup_act::from_outside;
use krarup_gen::{Inspection, Reason, Result, Timestamp};
use krarup_io::{Channel, Closed, CodecError, ConnectionOptions, Protocol};
use krarup_wire::etf::Atom;
use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames, Payload};
use krarup_wire::handshake::{Handshake, HandshakeError, PeerIdentity};
use krarup_wire::peers::ConnectionId;
use std::fmt;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// The longest time of a handshake (rule Zhs7).
const HANDSHAKE: Duration = Duration::from_secs(7);
/// What the system buffers for a peer: a small message waits behind no more than that in the
/// system (rule Zmsg5).
const SEND_BUFFER: usize = 256 << 10;
/// A peer is down after this many quarters of the tick time without a byte.
const QUARTERS: u32 = 4;

/// One side of a connection.
pub(crate) struct PeerConnection {
    core: Arc<ClusterCore>,
    id: ConnectionId,
    /// The peer that was dialled; `None` if the connection was accepted.
    dialled: Option<Atom>,
    /// The peer whose table entry this connection is.
    peer: Option<Atom>,
    /// The name that the peer of an accepted connection has sent, which is not proved.
    claimed: Option<Atom>,
    stage: ConnectionStage,
    /// Where the peer is, from when the connection is there.
    address: Option<SocketAddr>,
    /// The peer was refused because this node dials it itself.
    own_dial_stays: bool,
    /// The connection that this one replaces when it is up.
    replaces: Option<ConnectionId>,
    /// The peer and the acknowledgement of a connection that is held while this node dials.
    held: Option<(PeerIdentity, Vec<u8>)>,
    /// The quarters of the tick time without a byte.
    silent: u32,
    wake: Arc<AtomicBool>,
    /// A frame is being handled.
    reads: Arc<AtomicBool>,
    /// Since when what waits is written before the end, and the bytes that had been sent at the last look.
    finishing: Option<(Timestamp, u64)>,
    is_closed: bool,
}

#[expect(clippy::large_enum_variant, reason = "there is one for each connection")]
enum ConnectionStage {
    /// The connection is not established yet.
    New,
    Handshake(Handshake),
    Up(Frames, Arc<PeerNode>),
}

/// The limits of the sockets of connections. Silence is noticed by ticks, and a peer that
/// reads slowly by what waits for it.
pub(crate) fn options() -> ConnectionOptions {
    ConnectionOptions::new()
        .read_limit(FrameLimits::DEFAULT.frame_bytes + 8)
        .stall_timeout(None)
        .connect_timeout(HANDSHAKE)
        .send_buffer(SEND_BUFFER)
        .close_timeout(Duration::from_secs(2))
        .linger(Duration::from_millis(200))
        .expects_loss()
}

impl PeerConnection {
    pub(crate) fn accepted(core: Arc<ClusterCore>) -> Self {
        let id = core.next_connection();
        PeerConnection::new(core, id, None)
    }

    pub(crate) fn dialled(core: Arc<ClusterCore>, peer: Atom, id: ConnectionId) -> Self {
        PeerConnection::new(core, id, Some(peer))
    }

    fn new(core: Arc<ClusterCore>, id: ConnectionId, dialled: Option<Atom>) -> Self {
        PeerConnection {
            core,
            id,
            peer: dialled.clone(),
            claimed: None,
            dialled,
            stage: ConnectionStage::New,
            address: None,
            own_dial_stays: false,
            replaces: None,
            held: None,
            silent: 0,
            wake: Arc::default(),
            reads: Arc::default(),
            finishing: None,
            is_closed: false,
        }
    }

    fn challenge(&self) -> u32 {
        u32::try_from(self.core.host.random() >> 32).unwrap_or_default()
    }

    /// Tells the table that the connection is over, once.
    fn over(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true) {
            let (core, peer, id) = (Arc::clone(&self.core), self.peer.clone(), self.id);
            core.handshake_ends(id);
            if self.dialled.is_none() && !matches!(self.stage, ConnectionStage::Up(..)) {
                core.counters.handshake_failed();
            }
            from_outside(|| core.closed(peer.as_ref(), id));
        }
    }

    fn fail(&mut self, channel: &mut Channel<Self>, why: &ConnectionError) {
        self.fail_with(channel, why, &[]);
    }

    /// Closes the connection because of these bytes.
    fn fail_with(&mut self, channel: &mut Channel<Self>, why: &ConnectionError, bytes: &[u8]) {
        self.log_failed(why, bytes);
        self.over();
        channel.close();
    }

    /// Logs why the connection is closed, and counts a dial whose handshake failed: an accepted
    /// connection is counted when it is over.
    fn log_failed(&self, why: &ConnectionError, bytes: &[u8]) {
        let peer = self.peer.as_ref().or(self.claimed.as_ref());
        let is_up = matches!(self.stage, ConnectionStage::Up(..));
        // One that gives way to another connection, or is not wanted any more, has not failed.
        let gives_way = matches!(
            why,
            ConnectionError::Closed(_) | ConnectionError::Handshake(HandshakeError::GivesWay)
        );
        // Two nodes that dial each other at once have two connections, and one of them is not needed.
        let is_double = matches!(
            why,
            ConnectionError::Closed(GIVEN_UP)
                | ConnectionError::Handshake(HandshakeError::GivesWay)
        );
        if !is_up && (is_double || self.own_dial_stays) {
            self.core.log_spared(peer, why);
        } else {
            self.core.log_closed((peer, self.address), why, bytes);
        }
        let is_dial = self.dialled.is_some() && !is_up;
        if is_dial && !self.is_closed && !gives_way {
            self.core.counters.handshake_failed();
        }
    }

    /// The connection was lost, or the peer has closed it: this side has no reason of its own.
    fn log_lost(&self, why: &dyn fmt::Display) {
        if self.is_closed {
            return;
        }
        match &self.stage {
            ConnectionStage::Up(_, peer) => self.core.log_disconnected(&peer.name, why),
            ConnectionStage::Handshake(_) if self.dialled.is_some() => {
                self.log_failed(&ConnectionError::ClosedInHandshake, &[]);
            }
            ConnectionStage::Handshake(_) | ConnectionStage::New => {}
        }
    }

    /// The connection is the one of its peer.
    async fn established(
        &mut self,
        channel: &mut Channel<Self>,
        peer: &PeerIdentity,
        room: &[u8],
    ) -> Result {
        let (id, name) = (self.id, peer.name.clone());
        self.core.handshake_ends(id);
        self.core.dial_ends(id);
        let Some(node) = self.core.peer(&name) else {
            self.fail(channel, &ConnectionError::TooManyNodes);
            return Ok(());
        };
        // Everybody bound to an earlier connection is told before (rule Zhs6).
        if !is_free(channel, &node).await {
            self.fail(channel, &ConnectionError::Closed("an earlier connection is being lost"));
            return Ok(());
        }
        // Not before that wait: until it is up, it is among those that may be forgotten.
        let Some(incarnation) = self.core.incarnation_up(&name, peer.creation) else {
            self.fail(channel, &ConnectionError::TooManyNodes);
            return Ok(());
        };
        channel.send(room)?;
        channel.codec().up();
        let frames = Frames::new(FrameFormat::of(peer.flags), FrameLimits::DEFAULT);
        self.stage = ConnectionStage::Up(frames, Arc::clone(&node));
        let link = Arc::new(SocketLink {
            writer: channel.writer(),
            address: channel.address(),
            wake: Arc::clone(&self.wake),
            reads: Arc::clone(&self.reads),
        });
        channel.context().send_interval(self.core.tick / QUARTERS, || ConnectionMessage::Tick);
        let core = &self.core;
        let (creation, flags) = (peer.creation, peer.flags);
        let is_dialled = self.dialled.is_some();
        let about = PeerAbout { incarnation, creation, flags, is_dialled };
        let is_up = from_outside(|| node.up(core, id, about, link));
        if !is_up {
            self.fail(channel, &ConnectionError::Closed("an earlier connection is being lost"));
            return Ok(());
        }
        self.core.log_connected(&name, peer.creation);
        // An accepted one is known by its number only until then (rule Zobs3).
        let _ = channel.context().set_label(name.as_str());
        Ok(())
    }

    /// Writes what waits, as much as the socket takes.
    fn write(&self) {
        if let ConnectionStage::Up(_, peer) = &self.stage {
            from_outside(|| {
                peer.flush_now(&self.core);
            });
        }
    }

    /// Handles one frame.
    fn frame(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        let ConnectionStage::Up(frames, peer) = &mut self.stage else { return Ok(()) };
        peer.received.frame(bytes.len());
        match frames.read(bytes)? {
            FrameRead::Message { message, .. } => {
                peer.received.message();
                if let Some(function) = peer.tracer.current() {
                    let payload_bytes = message.payload.as_ref().map_or(0, Payload::len);
                    let (node, at, is_sent) = (&peer.node, self.core.host.now(), false);
                    let control = &message.control;
                    let traced = TracedControl { node, is_sent, at, control, payload_bytes };
                    peer.tracer.show(&function, &traced);
                }
                let connection = self.id;
                let dispatch = Dispatch { core: &self.core, peer, connection };
                self.reads.store(true, Ordering::Relaxed);
                let handled = incoming::handle(&dispatch, message);
                self.reads.store(false, Ordering::Relaxed);
                handled
            }
            _ => Ok(()),
        }
    }
}

/// Whether a connection is closed because of its TLS: others are not refused by their bytes.
fn is_of_tls(why: &Closed) -> bool {
    let is_data = |kind: &ErrorKind| *kind == ErrorKind::InvalidData;
    matches!(why, Closed::SlowHandshake(_))
        || matches!(why, Closed::Failed { kind, .. } if is_data(kind))
}

/// Waits until the loss of an earlier connection is over. Its process may still handle a message.
async fn is_free(channel: &mut Channel<PeerConnection>, node: &PeerNode) -> bool {
    let mut limit = pin!(channel.context().sleep(HANDSHAKE));
    let free = |cx: &mut Context<'_>| match node.poll_free(cx) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => limit.as_mut().poll(cx).map(|()| false),
    };
    poll_fn(free).await
}

impl Protocol for PeerConnection {
    type Message = ConnectionMessage;
    type Codec = Framing;

    fn codec(&self) -> Framing {
        Framing::new(self.core.encryption.lengths())
    }

    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        self.address = Some(channel.peer());
        self.core.add_connection(self.id, channel.address());
        if self.dialled.is_none() {
            self.core.handshake_begins(self.id);
        }
        channel.context().send_after(HANDSHAKE, ConnectionMessage::HandshakeOver);
        let other = self.dialled.as_ref().map_or("", Atom::as_str);
        let (identity, challenge) = (self.core.identity(other), self.challenge());
        let handshake = match self.dialled.clone() {
            None => Handshake::accepting(identity, challenge),
            Some(_) if !self.core.is_dialling(self.id) => {
                channel.abort();
                return Ok(());
            }
            Some(peer) => {
                if let Err(error) = self.core.encryption.check(channel, &peer) {
                    self.fail(channel, &error);
                    return Ok(());
                }
                let mut room = Vec::new();
                let handshake = Handshake::dialling(identity, peer, challenge, &mut room);
                channel.send(&room)?;
                handshake
            }
        };
        self.stage = ConnectionStage::Handshake(handshake);
        Ok(())
    }

    async fn received(&mut self, channel: &mut Channel<Self>, bytes: Bytes) -> Result {
        if self.is_closed {
            return Ok(());
        }
        if let ConnectionStage::Handshake(_) = &self.stage {
            return self.shake(channel, &bytes).await;
        }
        if let Err(error) = self.frame(&bytes) {
            self.fail_with(channel, &error, &bytes);
        }
        Ok(())
    }

    async fn handle_message(
        &mut self,
        channel: &mut Channel<Self>,
        message: ConnectionMessage,
    ) -> Result {
        match message {
            ConnectionMessage::Wake => {
                self.wake.store(false, Ordering::SeqCst);
                self.write();
                if self.finishing.is_some() {
                    self.close_if_written(channel);
                }
            }
            ConnectionMessage::Finish => self.finish(channel),
            ConnectionMessage::LookAtEnd => self.look_at_end(channel),
            ConnectionMessage::Tick => {
                let ConnectionStage::Up(_, peer) = &self.stage else { return Ok(()) };
                peer.tick();
                if channel.codec().has_heard() {
                    self.silent = 0;
                }
                self.silent += 1;
                if self.silent > QUARTERS {
                    self.core.log_closed(
                        (self.peer.as_ref(), self.address),
                        &ConnectionError::TickTimeout,
                        &[],
                    );
                    self.over();
                    channel.abort();
                }
            }
            ConnectionMessage::Resume => {
                if let Some((peer, room)) = self.held.take() {
                    self.established(channel, &peer, &room).await?;
                }
            }
            ConnectionMessage::HandshakeOver => {
                if let ConnectionStage::Handshake(_) = &self.stage {
                    self.fail(channel, &ConnectionError::HandshakeTimeout);
                }
            }
            ConnectionMessage::Close(why) => self.fail(channel, &ConnectionError::Closed(why)),
        }
        Ok(())
    }

    async fn drained(&mut self, channel: &mut Channel<Self>) -> Result {
        if let ConnectionStage::Up(_, peer) = &self.stage {
            peer.pump();
        }
        if self.finishing.is_some() {
            self.close_if_written(channel);
        }
        Ok(())
    }

    async fn stopping(&mut self, channel: &mut Channel<Self>) -> Result {
        self.finish(channel);
        Ok(())
    }

    async fn ended(&mut self, channel: &mut Channel<Self>) -> Result {
        self.log_lost(&Closed::Peer);
        self.over();
        channel.close();
        Ok(())
    }

    async fn malformed(&mut self, _: &mut Channel<Self>, error: &CodecError) -> Result {
        let why = Reason::from(error.clone()).to_string();
        self.core.log_closed((self.peer.as_ref(), self.address), &why, &[]);
        self.over();
        Ok(())
    }

    async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
        if !self.is_closed && is_of_tls(why) {
            let why = ConnectionError::Tls(why.to_string());
            self.log_failed(&why, &[]);
        } else if !matches!(why, Closed::Local | Closed::Aborted) {
            self.log_lost(why);
        }
        self.over();
    }

    fn inspect(&self) -> Inspection {
        let peer = self.peer.as_ref().map_or("", Atom::as_str);
        let about = match &self.stage {
            ConnectionStage::Up(_, peer) => peer.describe(),
            _ => None,
        };
        let is_up = about.is_some();
        let inspection = about.map_or_else(Inspection::new, |about| about.inspection());
        inspection.with("node", peer.to_owned()).with("up", is_up)
    }
}

/// A connection process that is killed is a loss, too (rule Zlive7).
impl Drop for PeerConnection {
    fn drop(&mut self) {
        self.over();
    }
}
