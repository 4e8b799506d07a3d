//! Signals and messages to other nodes that are not sent: who is told, and what is counted.

use super::ClusterCore;
use crate::peer::signal::{LetterReceiver, Signal, SignalPayload, UnwrittenLetter};
use crate::peer::{NotSent, PeerNode};
use crate::requests::pending_requests::RequestEnd;
use krarup_gen::{DeadLetter, DeadLetterCause, Name, Pid, Target};
use krarup_wire::ControlMessage;

impl ClusterCore {
    /// A signal to a peer is dropped. A call fails, an answer is counted as late, and another
    /// message is a dead letter.
    pub(super) fn signal_not_sent(&self, peer: &PeerNode, signal: Signal, why: NotSent) {
        if let SignalPayload::Answer(_) = signal.payload {
            return self.count_late_reply();
        }
        match &signal.control {
            ControlMessage::Monitor { reference, .. } => match self.number_of(reference) {
                Some(number) if why == NotSent::Lost => self.call_is_lost(number),
                Some(number) => self.callee_is_gone(number),
                None => {}
            },
            ControlMessage::SpawnRequest { reference, .. } => {
                let end =
                    if why == NotSent::Lost { RequestEnd::Lost } else { RequestEnd::NotSupported };
                self.request_not_sent(reference, end);
            }
            _ => {}
        }
        let Some(letter) = UnwrittenLetter::of(signal.by, signal.control) else { return };
        // Its receiver has ended with its node: as a message to a dead process here (rule Zid5).
        let cause = match why {
            NotSent::Lost => DeadLetterCause::NoConnection,
            NotSent::Stale | NotSent::Unknown => DeadLetterCause::NoProcess,
        };
        self.unsent_letter(peer, letter, cause);
    }

    /// Offers a message to another node as a dead letter.
    pub(super) fn unsent(&self, to: impl Into<Target>, by: u64, cause: DeadLetterCause) {
        let from = (by != 0).then(|| Pid::local(by, self.host.node_pid().creation()));
        self.host.dead_letter(DeadLetter::new(to, from, "a message to another node", cause));
    }

    /// As [`ClusterCore::unsent`], by the receiver as it is named on the wire.
    pub(super) fn unsent_letter(
        &self,
        peer: &PeerNode,
        letter: UnwrittenLetter,
        cause: DeadLetterCause,
    ) {
        let UnwrittenLetter { by, to } = letter;
        let to = match to {
            LetterReceiver::Pid(to) => self.pid_of(&to).map(Target::from),
            LetterReceiver::Name(name) => {
                let name = Name::new(name.as_str()).ok();
                name.map(|name| Target::Remote(name, peer.node.clone()))
            }
        };
        self.unsent(to.unwrap_or_else(|| Target::Node(peer.node.clone())), by, cause);
    }
}
