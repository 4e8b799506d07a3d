//! The entries of the control lanes. They know no type of message: all that handles them is compiled once.

use super::entry::SenderId;
use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::manage_request::ManageRequest;
use crate::traces::carried::CarriedContext;
use krarup_gen::{Down, Exit, Reason};
use std::any::{Any, type_name};

/// One entry of the Urgent or System lane.
pub(crate) enum ControlEntry {
    /// A user's message with [`Priority`](krarup_gen::Priority) High or Max.
    Message { sender: SenderId, message: BoxedCommand },
    /// As `Message`, in a trace context.
    Traced { sender: SenderId, message: BoxedCommand, context: Box<CarriedContext> },
    /// A request to stop in order (rule M3).
    Stop(Reason),
    /// A request for an inspection.
    Inspect(InspectRequest),
    /// A request for the state (rule X5).
    State(Reply<Option<Dynamic>>),
    /// A request to change the process (rule X12).
    Manage(ManageRequest),
    /// A request to confirm that the process has come to this entry: a suspension is in effect
    /// (rule X5).
    Here(Reply<()>),
    /// As [`Notice::Exit`](super::entry::Notice::Exit), from an urgent link.
    Exit { exit: Exit, link: Option<u64> },
    /// As [`Notice::Down`](super::entry::Notice::Down), from an urgent monitor.
    Down(Down),
}

impl ControlEntry {
    /// The bytes of the user's message in it, which lies elsewhere.
    pub(super) fn boxed_bytes(&self) -> usize {
        match self {
            ControlEntry::Message { message, .. } | ControlEntry::Traced { message, .. } => {
                size_of_val(&*message.value)
            }
            _ => 0,
        }
    }

    /// Whether a suspended process handles it (rule X5).
    pub(crate) fn is_for_suspended(&self) -> bool {
        matches!(
            self,
            ControlEntry::Stop(_)
                | ControlEntry::Inspect(_)
                | ControlEntry::State(_)
                | ControlEntry::Here(_)
        )
    }
}

/// A user's message on a control lane. Those who put it in and take it out know its type: it is that of the lane.
///
/// Boxed, because that costs a rare message an allocation, and the lanes would otherwise be compiled for each type of
/// message (docs/decisions.md).
pub(crate) struct BoxedCommand {
    value: Box<dyn Any + Send>,
    type_name: &'static str,
}

impl BoxedCommand {
    pub(crate) fn new<C: Send + 'static>(message: C) -> Self {
        BoxedCommand { value: Box::new(message), type_name: type_name::<C>() }
    }

    /// Returns the message. `C` is the type with which it was made.
    pub(crate) fn into_message<C: Send + 'static>(self) -> C {
        match self.value.downcast() {
            Ok(message) => *message,
            Err(_) => unreachable!("a lane has messages of one type"),
        }
    }

    /// Returns the message, to be changed in transit; its type stays the same.
    pub(crate) fn value_mut(&mut self) -> &mut dyn Any {
        &mut *self.value
    }

    /// Returns the name of the type of the message.
    pub(crate) fn type_name(&self) -> &'static str {
        self.type_name
    }
}
