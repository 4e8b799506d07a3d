//! A process as everyone else sees it.

use super::relations::Relations;
use crate::reply::Reply;
use crate::sync::Mutex;
use krarup_gen::{Down, Exit, Inspection, Pid, ProcessInfo, Reason, SendError};
use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How an exit signal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Somebody sent it (Erlang's `exit/2`).
    Signal,
    /// A linked process ended; the number of the link, and whether this process made
    /// it urgent.
    Link {
        /// The number of the link.
        number: u64,
        /// Whether a trapped notice takes the Urgent lane.
        urgent: bool,
    },
}

/// A living or dead process of any type: what a node keeps in its tables.
///
/// Hosts hold these; users have pids and addresses.
pub trait Process: Any + Send + Sync {
    /// Its identity.
    fn pid(&self) -> Pid;

    /// The process that spawned it.
    fn parent(&self) -> Option<Pid>;

    /// A picture of it, at once (rule X3).
    fn info(&self) -> ProcessInfo;

    /// Messages handled so far.
    fn handled(&self) -> u64;

    /// A worker was seen in it: it is charged with the time since it was looked before.
    fn ran(&self, time: Duration);

    /// Delivers an exit signal; see the table at `Cell::exit_signal`. Whether it became
    /// a notice, which the process will take out of its mailbox.
    fn exit_signal(self: Arc<Self>, exit: Exit, via: Via) -> bool;

    /// Whether an exit signal has reached it by which it will end without a word. To
    /// whoever links to it or monitors it from now on it is dead (rules L2, L4).
    fn is_doomed(&self) -> bool;

    /// Delivers a down notice.
    fn down(self: Arc<Self>, down: Down, urgent: bool);

    /// Asks for an orderly stop, as a parent or the node does (rule M3). A bare
    /// process gets it as an exit signal.
    fn request_stop(self: Arc<Self>, reason: Reason);

    /// Ends it without a word (rule D3).
    fn kill(self: Arc<Self>);

    /// Asks it to describe itself; the token fails if it is dead.
    fn inspect(self: Arc<Self>, reply: Reply<Inspection>);

    /// Sends a value that must be of the receiver's message type (rule M7).
    ///
    /// # Errors
    /// Those of a send.
    fn send_dynamic(self: Arc<Self>, message: Dynamic) -> Result<(), SendError<Dynamic>>;

    /// The types of what its Main lane and its control lanes take.
    fn lane_types(&self) -> (&'static str, &'static str);

    /// Its links and monitors.
    fn relations(&self) -> &Guarded;
}

impl fmt::Debug for dyn Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({})", self.pid())
    }
}

/// A message of any type: what `send` by pid carries. An actor whose `Message` is
/// `Dynamic` takes anything.
pub struct Dynamic {
    value: Box<dyn Any + Send>,
    type_name: &'static str,
}

impl Dynamic {
    /// Wraps a value.
    pub fn new<T: Send + 'static>(value: T) -> Self {
        let value: Box<dyn Any + Send> = Box::new(value);
        // What is dynamic already, because it was received so, is not wrapped again.
        value
            .downcast()
            .map_or_else(|value| Dynamic { value, type_name: type_name::<T>() }, |dynamic| *dynamic)
    }

    /// The value as a `T`, or itself back.
    ///
    /// # Errors
    /// `self`, if the value is of another type.
    pub fn downcast<T: 'static>(self) -> Result<T, Dynamic> {
        let type_name = self.type_name;
        let value = self.value.downcast::<T>();
        value.map(|value| *value).map_err(|value| Dynamic { value, type_name })
    }

    /// Whether the value is a `T`.
    #[must_use]
    pub fn is<T: 'static>(&self) -> bool {
        self.value.is::<T>()
    }

    /// What the value's type is called.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dynamic({})", self.type_name)
    }
}

/// The links and monitors of a process; opaque outside this crate.
#[derive(Default)]
pub struct Guarded(pub(crate) Mutex<Relations>);

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guarded(..)")
    }
}
