//! The items that a process receives.

use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::manage_request::ManageRequest;
use krarup_gen::{Down, Exit, ItemKind, Reason, Ref};

/// One item from a process's mailbox, as [`Context::receive`](crate::Context::receive) returns it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Received<M, C = M> {
    /// A message from the Main lane.
    Message(M),
    /// A message sent with priority High or Max.
    Command(C),
    /// An exit signal, if the process traps them (rule L3).
    Exit(Exit),
    /// A monitored process has ended.
    Down(Down),
    /// A request of the parent or the node to stop in order, with this reason. Only for a
    /// process that called [`Context::stop_in_order`](crate::Context::stop_in_order).
    Stop(Reason),
    /// A request to end normally now: everything that was accepted before has been handled. A
    /// pool sends it to a worker that it removes (rule P5).
    Finish,
    /// A message of another type than the process's own. Only for a process that called
    /// [`Context::take_others`](crate::Context::take_others).
    Other(Dynamic),
    /// Nothing has arrived for the time set with
    /// [`Context::set_idle_timeout`](crate::Context::set_idle_timeout) (rule D10).
    Timeout,
    /// An alarm is due that the behaviour has set with
    /// [`OwnProcess::set_alarm`](crate::OwnProcess::set_alarm).
    Alarm(Ref),
    /// A request for an inspection; answered with `request.send(inspection)`.
    Inspect(InspectRequest),
    /// A request for the state of the process (rule X5); `None` says that it is not shown.
    State(Reply<Option<Dynamic>>),
    /// A request to change the process (rule X12). A process that does not know it drops it.
    Manage(ManageRequest),
}

impl<M, C> Received<M, C> {
    /// Returns the kind of the item.
    #[must_use]
    pub const fn kind(&self) -> ItemKind {
        match self {
            Received::Message(_) => ItemKind::Message,
            Received::Command(_) => ItemKind::Command,
            Received::Exit(_) => ItemKind::Exit,
            Received::Down(_) => ItemKind::Down,
            Received::Stop(_) => ItemKind::Stop,
            Received::Finish => ItemKind::Finish,
            Received::Other(_) => ItemKind::Other,
            Received::Timeout | Received::Alarm(_) => ItemKind::Timeout,
            Received::Inspect(_) => ItemKind::Inspect,
            Received::State(_) => ItemKind::State,
            Received::Manage(_) => ItemKind::Manage,
        }
    }
}

/// The item that [`Context::next_message`](crate::Context::next_message) returns.
///
/// The tag lies beside the message, as in the mailbox, so that a message is moved from there
/// to its handler in one piece.
#[derive(Debug)]
#[repr(u64)]
pub enum Delivery<M> {
    /// A message from any lane.
    Message(M),
    /// Anything else.
    Other(Box<Received<M>>),
}
