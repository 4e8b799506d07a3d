//! The handshake of a connection: what is read of the peer, and what is decided about it.

use super::{ConnectionStage, PeerConnection};
use krarup_act::from_outside;
use krarup_gen::Result;
use krarup_io::Channel;
use krarup_wire::handshake::{Decision, HandshakeError, PeerIdentity, ReadStep};
use krarup_wire::peers::PeerAction;

impl PeerConnection {
    /// Handles one message of the handshake.
    pub(super) async fn shake(&mut self, channel: &mut Channel<Self>, message: &[u8]) -> Result {
        let ConnectionStage::Handshake(handshake) = &mut self.stage else { return Ok(()) };
        let mut room = Vec::new();
        let step = handshake.read(message, &mut room);
        match step {
            Ok(ReadStep::Incomplete | ReadStep::Read { .. }) => channel.send(&room)?,
            Ok(ReadStep::Decide { peer, .. }) => {
                self.claimed = Some(peer.name.clone());
                if let Err(error) = self.core.encryption.check(channel, &peer.name) {
                    let _ = handshake.decide(Decision::NotAllowed, &mut room);
                    channel.send(&room)?;
                    self.fail(channel, &error);
                    return Ok(());
                }
                let decided = self.decide(&peer, &mut room);
                channel.send(&room)?;
                if let Err(error) = decided {
                    self.fail(channel, &error.into());
                }
            }
            Ok(ReadStep::Up { peer, .. }) => self.up(channel, &peer, &room).await?,
            Err(error) => {
                if error == HandshakeError::GivesWay
                    && let Some(peer) = self.dialled.clone()
                {
                    let id = self.id;
                    self.core.decide(|peers, now| {
                        peers.gave_way(&peer, id, now);
                        ((), Vec::new())
                    });
                }
                channel.send(&room)?;
                self.fail(channel, &error.into());
            }
        }
        Ok(())
    }

    /// Answers the name of a peer.
    fn decide(&mut self, peer: &PeerIdentity, room: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let name = &peer.name;
        let ConnectionStage::Handshake(handshake) = &mut self.stage else {
            return Err(HandshakeError::OutOfTurn);
        };
        // Before any cookie, and before it is known here (rule Zsec3).
        if !self.core.admission.admits(name.as_str()) {
            return handshake.decide(Decision::NotAllowed, room);
        }
        handshake.set_cookie(self.core.admission.cookie_of(name.as_str()).clone());
        let (decision, replaces) = self.core.decide(|peers, now| {
            let answer = peers.name_received(name, now);
            let close = answer.close.map(PeerAction::Close);
            ((answer.decision, answer.replaces), close.into_iter().collect())
        });
        self.replaces = replaces;
        self.own_dial_stays = matches!(decision, Decision::Refuse);
        handshake.decide(decision, room)
    }

    /// The handshake is complete. `room` holds the acknowledgement, if this side accepts.
    async fn up(
        &mut self,
        channel: &mut Channel<Self>,
        peer: &PeerIdentity,
        room: &[u8],
    ) -> Result {
        let (id, name, replaces) = (self.id, peer.name.clone(), self.replaces);
        let is_dialled = self.dialled.is_some();
        let (stays, is_held) = from_outside(|| {
            self.core.decide(|peers, _| {
                let actions = if is_dialled {
                    peers.dialled(&name, id)
                } else {
                    peers.accepted(&name, id, replaces)
                };
                let has = |action| actions.contains(&action);
                ((!has(PeerAction::Close(id)), has(PeerAction::Hold(id))), actions)
            })
        });
        if !stays {
            channel.abort();
            return Ok(());
        }
        self.peer = Some(name);
        if is_held {
            self.held = Some((peer.clone(), room.to_vec()));
            return Ok(());
        }
        self.established(channel, peer, room).await
    }
}
