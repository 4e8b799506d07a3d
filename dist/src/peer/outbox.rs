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
//!
//! No more messages are begun than a peer with the default limits keeps open, in number and in bytes
//! (rule Zterm11). A lane whose next message has to wait for that takes no turns until then.

use crate::peer::signal::{FramedSignal, UnwrittenLetter};
use krarup_wire::frame::{FrameLimits, OutgoingMessage};
use std::collections::VecDeque;

/// The most messages that are written in fragments at a time.
const MOST_OPEN: usize = FrameLimits::DEFAULT.sequences;
/// The most bytes of these messages. The rest is for their control messages. One message may always
/// be written.
const MOST_OPEN_BYTES: usize =
    if cfg!(test) { 7 << 20 } else { FrameLimits::DEFAULT.fragment_bytes - (1 << 20) };

/// The frames that wait.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ready: Vec<u8>,
    /// The messages in `ready`.
    letters: Vec<UnwrittenLetter>,
    /// The lanes that take turns.
    lanes: VecDeque<SenderLane>,
    /// The lanes whose first message is big and may not be begun yet. Others are begun, if there are any.
    blocked: VecDeque<SenderLane>,
    /// The number of messages that are begun, and their bytes.
    open: (usize, usize),
    /// The bytes of the messages in the lanes.
    in_lanes: usize,
}

/// The messages of one sender, the first of which is being written in fragments.
#[derive(Debug)]
struct SenderLane {
    sender: u64,
    messages: VecDeque<LaneMessage>,
    /// Whether the first message is begun.
    is_open: bool,
}

/// What is next after a turn of a lane.
enum AfterTurn {
    NextTurn,
    Blocked,
    Done,
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
        let mut lanes = self.lanes.iter_mut().chain(&mut self.blocked);
        let lane = lanes.find(|lane| lane.sender == sender);
        match lane {
            Some(lane) => lane.messages.push_back(LaneMessage { message, bytes, letter }),
            None if message.frames_left() > 1 => {
                let messages = [LaneMessage { message, bytes, letter }].into();
                self.lanes.push_back(SenderLane { sender, messages, is_open: false });
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
            match self.step(&mut lane, out) {
                AfterTurn::NextTurn => self.lanes.push_back(lane),
                AfterTurn::Blocked => self.blocked.push_back(lane),
                AfterTurn::Done => {}
            }
        }
    }

    /// Writes one fragment of a lane, and the small messages before and behind it.
    fn step(&mut self, lane: &mut SenderLane, out: &mut Vec<u8>) -> AfterTurn {
        while let Some(LaneMessage { message, bytes, .. }) = lane.messages.front_mut() {
            let bytes = *bytes;
            if message.frames_left() > 1 && !lane.is_open {
                if !self.blocked.is_empty() || !self.may_begin(bytes) {
                    return AfterTurn::Blocked;
                }
                self.begin(lane);
                continue;
            }
            message.write_frame(out);
            if message.frames_left() > 0 {
                return AfterTurn::NextTurn;
            }
            self.in_lanes -= bytes;
            lane.messages.pop_front();
            if std::mem::take(&mut lane.is_open) {
                self.open = (self.open.0 - 1, self.open.1 - bytes);
                self.begin_blocked();
            }
        }
        AfterTurn::Done
    }

    /// Whether a message of so many bytes may be begun.
    fn may_begin(&self, bytes: usize) -> bool {
        let (messages, open) = self.open;
        messages == 0 || messages < MOST_OPEN && open + bytes <= MOST_OPEN_BYTES
    }

    /// Counts the first message of a lane as begun.
    fn begin(&mut self, lane: &mut SenderLane) {
        let bytes = lane.messages.front().map_or(0, |first| first.bytes);
        lane.is_open = true;
        self.open = (self.open.0 + 1, self.open.1 + bytes);
    }

    /// Has blocked lanes take turns again, in their order, as far as their messages may be begun.
    fn begin_blocked(&mut self) {
        while let Some(mut lane) = self.blocked.pop_front() {
            if !self.may_begin(lane.messages.front().map_or(0, |first| first.bytes)) {
                return self.blocked.push_front(lane);
            }
            self.begin(&mut lane);
            self.lanes.push_back(lane);
        }
    }

    /// The messages of which not all bytes were taken, those of one sender in their order.
    pub(crate) fn into_letters(self) -> impl Iterator<Item = UnwrittenLetter> {
        let of_lane = |lane: SenderLane| lane.messages.into_iter().filter_map(|it| it.letter);
        let lanes = self.lanes.into_iter().chain(self.blocked);
        self.letters.into_iter().chain(lanes.flat_map(of_lane))
    }

    /// The number of bytes that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.in_lanes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.lanes.is_empty() && self.blocked.is_empty()
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
        let mut limits = FrameLimits::DEFAULT;
        limits.fragment_bytes = 8 << 20;
        let mut frames = Frames::new(format(), limits);
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
            push(&mut outbox, (number, sender, bytes));
        }
        assert_eq!(order(&mut outbox), [3, 6, 4, 5, 1, 2]);
    }

    fn push(outbox: &mut Outbox, (number, sender, bytes): (u64, u64, usize)) {
        let message = message(number, bytes);
        outbox.push(FramedSignal { by: sender, message, bytes, letter: None });
    }

    #[test]
    fn zterm11_no_more_messages_are_in_fragments_at_a_time_than_a_node_reads() {
        let mut outbox = Outbox::default();
        // Two big ones of each sender, with a small one between and one behind.
        for number in 0..400 {
            let bytes = if number / 100 % 2 == 0 { 70_000 } else { 5 };
            push(&mut outbox, (number, number % 100, bytes));
        }
        let order = order(&mut outbox);
        assert_eq!(order.len(), 400);
        for sender in 0..100 {
            let of_sender: Vec<u32> =
                order.iter().copied().filter(|number| number % 100 == sender).collect();
            assert!(of_sender.is_sorted(), "{of_sender:?}");
        }
    }

    #[test]
    fn zterm11_no_more_bytes_are_in_fragments_at_a_time_than_a_node_reads() {
        let mut outbox = Outbox::default();
        for (number, bytes) in [(1, 6 << 20), (2, 5 << 20), (3, 70_000), (4, 6 << 20), (5, 5)] {
            push(&mut outbox, (number, number, bytes));
        }
        // The second waits for the first, and those behind it wait in their order.
        assert_eq!(order(&mut outbox), [5, 1, 3, 2, 4]);
    }
}
