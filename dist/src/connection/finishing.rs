//! The end of a connection in order: what waits is written before (rule Zlive6).

use super::{ConnectionStage, PeerConnection};
use crate::messages::ConnectionMessage;
use krarup_io::Channel;
use std::time::Duration;

/// How long a connection that is to end writes what waits, and how long while the peer takes nothing of it (rule Zlive6).
const FINISH: Duration = Duration::from_secs(5);
const STALL: Duration = Duration::from_secs(1);
impl PeerConnection {
    /// Closes the connection when what waits has been written: at once if nothing does.
    pub(super) fn finish(&mut self, channel: &mut Channel<Self>) {
        // This overtakes the wake-up for what users have sent before.
        self.write();
        if let ConnectionStage::Up(_, peer) = &self.stage
            && self.finishing.is_none()
        {
            self.finishing = Some((channel.context().now(), peer.sent_bytes()));
            channel.context().send_after(STALL, ConnectionMessage::LookAtEnd);
        }
        self.close_if_written(channel);
    }

    /// Closes a connection that is to end, if nothing waits to be written.
    pub(super) fn close_if_written(&self, channel: &mut Channel<Self>) {
        match &self.stage {
            ConnectionStage::Up(_, peer) if peer.waits_to_write() => {}
            _ => channel.close(),
        }
    }

    /// Closes a connection that is to end and cannot write what waits: the peer takes nothing, or too much waits.
    pub(super) fn look_at_end(&mut self, channel: &mut Channel<Self>) {
        let (Some((since, sent)), ConnectionStage::Up(_, peer)) =
            (&mut self.finishing, &self.stage)
        else {
            return;
        };
        let is_late = channel.context().now() - *since >= FINISH;
        let before = std::mem::replace(sent, peer.sent_bytes());
        if is_late || *sent == before {
            channel.close();
        } else {
            channel.context().send_after(STALL, ConnectionMessage::LookAtEnd);
        }
    }
}
