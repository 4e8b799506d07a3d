//! What is to be said to a peer: a control message, and what goes with it.
//!
//! A signal is recorded where it arises, often under the locks of two processes. It is written
//! as bytes later, by code that holds no lock, because a reason may contain an error whose
//! `Display` belongs to a user.

use crate::terms::reason::reason_to_term;
use crate::terms::written::written_or;
use krarup_gen::Reason;
use krarup_wire::etf::{Atom, Decoder, EncodeError, ExternalPid, Term};
use krarup_wire::frame::{FrameFormat, FrameLimits, OutgoingMessage};
use krarup_wire::{AliasRecipient, ControlMessage, DistributionFlags};
use std::borrow::Cow;

/// A control message that is to be sent.
#[derive(Debug)]
pub(crate) struct Signal {
    /// The number of the process whose signals keep their order with this one.
    pub(crate) by: u64,
    pub(crate) control: ControlMessage,
    pub(crate) payload: SignalPayload,
    /// The incarnation of the peer for which it is meant; `None` if any.
    pub(crate) to: Option<u32>,
}

/// Whose a message is that was not written, and to whom it was sent.
#[derive(Debug)]
pub(crate) struct UnwrittenLetter {
    /// The number of the process that has sent it; 0 if it came from outside any process.
    pub(crate) by: u64,
    pub(crate) to: LetterReceiver,
}

/// The receiver of a message.
#[derive(Debug)]
pub(crate) enum LetterReceiver {
    Pid(ExternalPid),
    Name(Atom),
}

impl UnwrittenLetter {
    /// `None` if it is no message to a process or a name. An answer is none: it is counted as late
    /// ([`PeerOwner::not_sent`](crate::peer::owner::PeerOwner::not_sent)).
    pub(crate) fn of(by: u64, control: ControlMessage) -> Option<Self> {
        let to = match control {
            ControlMessage::Send { to } | ControlMessage::SendSender { to, .. } => {
                LetterReceiver::Pid(to)
            }
            ControlMessage::RegSend { name, .. } => LetterReceiver::Name(name),
            _ => return None,
        };
        Some(UnwrittenLetter { by, to })
    }
}

/// A signal as a frame.
pub(crate) struct FramedSignal {
    /// The number of the process whose signals keep their order with this one.
    pub(crate) by: u64,
    pub(crate) message: OutgoingMessage,
    pub(crate) bytes: usize,
    /// What it is a dead letter to if it is not written.
    pub(crate) letter: Option<UnwrittenLetter>,
}

/// Sees a control message, and how many bytes go with it.
pub(crate) type ShowControl<'a> = dyn Fn(&ControlMessage, usize) + 'a;

/// The payload of a signal.
#[derive(Debug)]
pub(crate) enum SignalPayload {
    None,
    /// A term that was written already.
    Bytes(Vec<u8>),
    /// The same, as the answer to a call.
    Answer(Vec<u8>),
    /// A term that was written already, in two parts: what a message is wrapped in, and the
    /// message, which may be large.
    Wrapped(Cow<'static, [u8]>, Vec<u8>),
    Reason(Reason),
    /// A reason that is a term.
    Term(Term),
}

impl Signal {
    pub(crate) fn new(by: u64, control: ControlMessage, to: Option<u32>) -> Self {
        Signal { by, control, payload: SignalPayload::None, to }
    }

    pub(crate) fn with_payload(mut self, payload: SignalPayload) -> Self {
        self.payload = payload;
        self
    }

    /// The number of bytes that count towards the limits of the queue.
    pub(crate) fn bytes(&self) -> usize {
        /// What a signal without a message counts.
        const SMALL: usize = 64;
        SMALL
            + match &self.payload {
                SignalPayload::Bytes(bytes) | SignalPayload::Answer(bytes) => bytes.len(),
                SignalPayload::Wrapped(head, bytes) => head.len() + bytes.len(),
                _ => 0,
            }
    }

    /// Writes the signal for a connection with these flags. `show` sees the
    /// control message as it crosses, and the bytes that go with it.
    pub(crate) fn frame(
        self,
        flags: DistributionFlags,
        sequence: u64,
        show: Option<&ShowControl<'_>>,
    ) -> Result<FramedSignal, EncodeError> {
        let Signal { by, control, payload, .. } = self;
        let is_answer = matches!(payload, SignalPayload::Answer(_));
        let mut head = Cow::default();
        let same = |reason| reason;
        let mut bytes = match payload {
            SignalPayload::None => Vec::new(),
            SignalPayload::Bytes(bytes) | SignalPayload::Answer(bytes) => bytes,
            SignalPayload::Wrapped(wrap, bytes) => {
                head = wrap;
                bytes
            }
            SignalPayload::Reason(reason) => written_or(&reason_to_term(&reason), same),
            SignalPayload::Term(term) => written_or(&term, same),
        };
        let control = adapted(control, &mut bytes, flags);
        let length = head.len() + bytes.len();
        if length > FrameLimits::DEFAULT.message_bytes {
            // The peer would close the connection. Who writes a message has checked it before.
            return Err(EncodeError { what: "a message", length });
        }
        if let Some(show) = show {
            show(&control, length);
        }
        let format = FrameFormat::of(flags);
        let message = OutgoingMessage::in_parts(format, &control, (&head, bytes), sequence)?;
        let letter = if is_answer { None } else { UnwrittenLetter::of(by, control) };
        Ok(FramedSignal { by, message, bytes: length, letter })
    }
}

/// Replaces a control message that the peer does not know by the older one.
fn adapted(
    control: ControlMessage,
    payload: &mut Vec<u8>,
    flags: DistributionFlags,
) -> ControlMessage {
    let mut reason = || {
        let bytes = std::mem::take(payload);
        // It was written by this node.
        Decoder::new(&bytes).last_term().unwrap_or_else(|_| Term::atom("undefined"))
    };
    match control {
        ControlMessage::SendSender { to, .. }
            if !flags.contains(DistributionFlags::SEND_SENDER) =>
        {
            ControlMessage::Send { to }
        }
        ControlMessage::AliasSend { from, alias }
            if flags.contains(DistributionFlags::ALTACT_SIG) =>
        {
            let to = AliasRecipient::Alias(alias);
            ControlMessage::AltactSend { from, to, priority: false, exit: false }
        }
        control if flags.contains(DistributionFlags::EXIT_PAYLOAD) => control,
        ControlMessage::PayloadExit { from, to } => {
            ControlMessage::Exit { from, to, reason: reason() }
        }
        ControlMessage::PayloadExit2 { from, to } => {
            ControlMessage::Exit2 { from, to, reason: reason() }
        }
        ControlMessage::PayloadMonitorExit { target, to, reference } => {
            ControlMessage::MonitorExit { target, to, reference, reason: reason() }
        }
        control => control,
    }
}
