//! What a process receives.

use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::observe::inspect_request::InspectRequest;
use krarup_gen::{Down, Exit, Reason};

/// One item from a process's mailbox, as [`crate::Context::receive`] returns it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Received<M, C = M> {
    /// A message from the Main lane.
    Message(M),
    /// A message sent with priority High or Max.
    Command(C),
    /// An exit signal, trapped (rule L3).
    Exit(Exit),
    /// A monitored process has ended.
    Down(Down),
    /// The parent or the node asks for an orderly stop with this reason; only for a
    /// process that called [`crate::Context::stop_in_order`].
    Stop(Reason),
    /// Everything that was accepted before has been handled: end normally now. What a
    /// worker gets that its pool removes (rule P5).
    Finish,
    /// A message of another type than the process's own; only for a process that called
    /// [`crate::Context::take_others`].
    Other(Dynamic),
    /// Nothing has come for as long as was set with [`crate::Context::set_idle_timeout`]
    /// (rule D10).
    Timeout,
    /// Somebody wants to know how the process is: `request.send(inspection)` answers.
    Inspect(InspectRequest),
    /// Somebody wants to see the state of the process (rule X5); `None` says that it is not
    /// shown.
    State(Reply<Option<Dynamic>>),
}

/// What [`crate::Context::next_message`] brings.
///
/// Its tag lies beside the message, as in the mailbox: so a message goes from there to its
/// handler without being taken to pieces.
#[derive(Debug)]
#[repr(u64)]
pub enum Delivery<M> {
    /// A message, on whatever lane it came.
    Message(M),
    /// Anything else.
    Other(Box<Received<M>>),
}
