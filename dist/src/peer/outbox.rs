//! The frames that wait to be written to one peer, in a fair order (rule Zmsg5).
//!
//! ```text
//!  small, of a sender without a lane ──────────────► ready ──┐
//!  big ──► lane of its sender: big, small, big .. ──┐        ├──► socket
//!          lane of another sender: big ─────────────┴ one frame of each in turn
//! ```
//!
//! A big message is written in fragments. Those of several senders take turns, and small
//! messages of other senders pass between them. What a sender sends behind its own big message
//! waits in its lane, so its messages stay in order (rule Zmsg2).

use crate::peer::signal::{FramedSignal, UnwrittenLetter};
use krarup_wire::frame::OutgoingMessage;
use std::collections::VecDeque;

/// The frames that wait.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ready: Vec<u8>,
    /// The messages in `ready`.
    letters: Vec<UnwrittenLetter>,
    lanes: VecDeque<SenderLane>,
    /// The bytes of the messages in the lanes.
    in_lanes: usize,
}

/// The messages of one sender, the first of which is being written in fragments.
#[derive(Debug)]
struct SenderLane {
    sender: u64,
    messages: VecDeque<LaneMessage>,
}

/// A message in a lane.
#[derive(Debug)]
struct LaneMessage {
    message: OutgoingMessage,
    bytes: usize,
    letter: Option<UnwrittenLetter>,
}

impl Outbox {
    /// Adds a message.
    pub(crate) fn push(&mut self, framed: FramedSignal) {
        let FramedSignal { by: sender, mut message, bytes, letter } = framed;
        let lane = self.lanes.iter_mut().find(|lane| lane.sender == sender);
        match lane {
            Some(lane) => lane.messages.push_back(LaneMessage { message, bytes, letter }),
            None if message.frames_left() > 1 => {
                let messages = [LaneMessage { message, bytes, letter }].into();
                self.lanes.push_back(SenderLane { sender, messages });
            }
            None => {
                message.write_frame(&mut self.ready);
                self.letters.extend(letter);
                return;
            }
        }
        self.in_lanes += bytes;
    }

    /// Adds a tick.
    pub(crate) fn push_tick(&mut self) {
        krarup_wire::frame::write_tick(&mut self.ready);
    }

    /// Takes the frames that are ready, without a copy.
    pub(crate) fn take_ready(&mut self) -> Vec<u8> {
        self.letters.clear();
        std::mem::take(&mut self.ready)
    }

    /// Moves frames to `out`: all that are ready, and fragments until there are `most` bytes.
    pub(crate) fn take(&mut self, most: usize, out: &mut Vec<u8>) {
        out.append(&mut self.ready);
        self.letters.clear();
        while out.len() < most {
            let Some(mut lane) = self.lanes.pop_front() else { return };
            self.step(&mut lane, out);
            if !lane.messages.is_empty() {
                self.lanes.push_back(lane);
            }
        }
    }

    /// Writes one fragment of a lane, and the small messages behind it.
    fn step(&mut self, lane: &mut SenderLane, out: &mut Vec<u8>) {
        while let Some(LaneMessage { message, bytes, .. }) = lane.messages.front_mut() {
            let big = message.frames_left() > 1;
            message.write_frame(out);
            if message.frames_left() > 0 {
                return;
            }
            self.in_lanes -= *bytes;
            lane.messages.pop_front();
            if big {
                return;
            }
        }
    }

    /// The messages of which not all bytes were taken, those of one sender in their order.
    pub(crate) fn into_letters(self) -> impl Iterator<Item = UnwrittenLetter> {
        let of_lane = |lane: SenderLane| lane.messages.into_iter().filter_map(|it| it.letter);
        self.letters.into_iter().chain(self.lanes.into_iter().flat_map(of_lane))
    }

    /// The number of bytes that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.in_lanes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.lanes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_wire::etf::{Atom, ExternalPid};
    use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames};
    use krarup_wire::{ControlMessage, DistributionFlags};

    fn format() -> FrameFormat {
        FrameFormat::of(DistributionFlags::OFFERED)
    }

    fn message(number: u64, bytes: usize) -> OutgoingMessage {
        let to = ExternalPid {
            node: Atom::fixed("a@b"),
            id: u32::try_from(number).unwrap(),
            serial: 0,
            creation: 4,
        };
        let mut payload = Vec::new();
        krarup_wire::etf::Term::binary(vec![7; bytes]).write(&mut payload).unwrap();
        OutgoingMessage::new(format(), &ControlMessage::Send { to }, payload, number).unwrap()
    }

    /// The numbers of the messages in the order in which they are complete.
    fn order(outbox: &mut Outbox) -> Vec<u32> {
        let (mut bytes, mut order) = (Vec::new(), Vec::new());
        while !outbox.is_empty() {
            outbox.take(bytes.len() + 1, &mut bytes);
        }
        assert_eq!(outbox.waiting(), 0);
        let mut frames = Frames::new(format(), FrameLimits::DEFAULT);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let used = match frames.read(rest).unwrap() {
                FrameRead::Message { used, message } => {
                    if let ControlMessage::Send { to } = message.control {
                        order.push(to.id);
                    }
                    used
                }
                FrameRead::Fragment { used } => used,
                other => panic!("{other:?}"),
            };
            rest = &rest[used..];
        }
        order
    }

    #[test]
    fn zmsg5_small_messages_of_others_pass_big_ones_and_ones_own_do_not() {
        let mut outbox = Outbox::default();
        for (number, sender, bytes) in
            [(1, 1, 1 << 20), (2, 1, 10), (3, 2, 10), (4, 3, 200_000), (5, 3, 1), (6, 4, 1)]
        {
            let message = message(number, bytes);
            outbox.push(FramedSignal { by: sender, message, bytes, letter: None });
        }
        assert_eq!(order(&mut outbox), [3, 6, 4, 5, 1, 2]);
    }
}
