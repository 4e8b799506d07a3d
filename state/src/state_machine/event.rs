//! The events of a state machine.

use crate::state_machine::types::MachineTypes;
use krarup_act::{AsideTrace, Dynamic};
use krarup_gen::{DeadLetterCause, Down, Exit};
use std::fmt;

/// An event of a [`StateMachine`](crate::StateMachine) (`gen_statem`'s event types).
///
/// An event can be postponed ([`Next::postpone`](crate::Next::postpone)), and comes again as what
/// it was. The rare ones are boxed, so that they take no space in each machine.
pub enum Event<S: MachineTypes> {
    /// A message, from any lane. A request carries its reply token, which may be answered now
    /// or in any later callback.
    Message(S::Message),
    /// What the machine has told itself with [`Next::insert`](crate::Next::insert).
    Internal(S::Internal),
    /// The state time-out has come, with its content.
    StateTimeout(S::Internal),
    /// The event time-out has come, with its content: no event came before it.
    EventTimeout(S::Internal),
    /// The time-out of this name has come, with its content.
    Timeout(S::Timer, S::Internal),
    /// An exit signal, if the process traps them (rule L3).
    Exit(Box<Exit>),
    /// A monitored process has ended.
    Down(Box<Down>),
    /// A message of another type, sent by pid, name or alias. Only after
    /// [`Context::take_others`](krarup_act::Context::take_others).
    Other(Box<Dynamic>),
}

/// The sender of an event that the machine inserted, in [`SentEvent`]: the process itself.
pub(crate) const ITSELF: u64 = u64::MAX;

/// An event and its sender.
pub(crate) struct SentEvent<S: MachineTypes> {
    /// The number of the sending process; 0 if it came from outside any process.
    pub(crate) sender: u64,
    /// The trace in which a postponed message comes again.
    pub(crate) trace: Option<AsideTrace>,
    pub(crate) event: Event<S>,
}

impl<S: MachineTypes> SentEvent<S> {
    /// What the machine has inserted, or a time-out.
    pub(crate) fn of_itself(event: Event<S>) -> Self {
        SentEvent { sender: ITSELF, trace: None, event }
    }

    /// Its message becomes a dead letter: the span of its next handling says so (rule V57).
    pub(crate) fn fail_trace(&mut self, cause: DeadLetterCause) {
        if let Some(trace) = self.trace.take() {
            trace.fail(self.event.message_type(), cause.as_str());
        }
    }
}

impl<S: MachineTypes> Event<S> {
    /// Whether it is a message that somebody has sent: a dead letter if it is lost.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self, Event::Message(_) | Event::Other(_))
    }

    /// The type of a message.
    pub(crate) fn message_type(&self) -> &'static str {
        match self {
            Event::Other(other) => other.type_name(),
            _ => std::any::type_name::<S::Message>(),
        }
    }
}

impl<S: MachineTypes> fmt::Debug for Event<S> {
    /// Prints the kind only: messages need not be printable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Message(_) => f.write_str("Message"),
            Event::Internal(_) => f.write_str("Internal"),
            Event::StateTimeout(_) => f.write_str("StateTimeout"),
            Event::EventTimeout(_) => f.write_str("EventTimeout"),
            Event::Timeout(name, _) => f.debug_tuple("Timeout").field(name).finish(),
            Event::Exit(exit) => f.debug_tuple("Exit").field(exit).finish(),
            Event::Down(down) => f.debug_tuple("Down").field(down).finish(),
            Event::Other(other) => f.debug_tuple("Other").field(other).finish(),
        }
    }
}
