//! A process as everyone else sees it.

use super::relations::Relations;
use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::host::ready::Ready;
use crate::observe::inspect_request::InspectRequest;
use crate::sync::Mutex;
use krarup_gen::{Alias, Down, Exit, Label, Pid, ProcessInfo, Reason, Root, SendError};
use std::any::Any;
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

/// What came of an exit signal that was put into a mailbox.
#[must_use = "the process is to be scheduled"]
pub struct Put {
    /// It became a notice, which the process will take out of its mailbox.
    pub(crate) is_notice: bool,
    /// The process, to be scheduled when no lock is held: whoever runs it is a user's.
    pub(crate) ready: Option<Ready>,
}

impl Put {
    /// Nothing, or something that the process does not hear of.
    pub fn unheard(ready: Option<Ready>) -> Self {
        Put { is_notice: false, ready }
    }

    pub(crate) fn notice(ready: Option<Ready>) -> Self {
        Put { is_notice: true, ready }
    }
}

impl fmt::Debug for Put {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Put").field("is_notice", &self.is_notice).finish_non_exhaustive()
    }
}

/// A living or dead process of any type: what a node keeps in its tables.
///
/// Hosts hold these; users have pids and addresses.
pub trait Process: Any + Send + Sync {
    /// Its identity.
    fn pid(&self) -> Pid;

    /// The process that spawned it.
    fn parent(&self) -> Option<Pid>;

    /// The root below which it lives (rule X6).
    fn root(&self) -> Root;

    /// What its behaviour is called.
    fn behavior(&self) -> Label;

    /// A picture of it, at once (rule X3).
    fn info(&self) -> ProcessInfo;

    /// Messages handled so far.
    fn handled(&self) -> u64;

    /// A worker was seen in it: it is charged with the time since it was looked before.
    fn ran(&self, time: Duration);

    /// Puts an exit signal into its mailbox; see the table at `Cell::put_exit`. Does not
    /// schedule the process, and runs nothing of a user's: for those that hold a lock.
    fn put_exit(&self, exit: Exit, via: Via) -> Put;

    /// Puts a down notice into its mailbox, as [`Process::put_exit`].
    fn put_down(&self, down: Down, urgent: bool) -> Option<Ready>;

    /// Schedules it; under no lock.
    fn schedule(&self, ready: Option<Ready>);

    /// Delivers an exit signal. Whether it became a notice, which the process will take out of
    /// its mailbox.
    fn exit_signal(self: Arc<Self>, exit: Exit, via: Via) -> bool {
        let put = self.put_exit(exit, via);
        self.schedule(put.ready);
        put.is_notice
    }

    /// Whether so much waits on Main that who sends more pays for it with turns (rule R1), and
    /// it is about to handle that: it waits for nothing else. Runs nothing of a user's.
    fn is_crowded(&self) -> bool;

    /// Whether an exit signal has reached it by which it will end without a word. To
    /// whoever links to it or monitors it from now on it is dead (rules L2, L4).
    fn is_doomed(&self) -> bool;

    /// Asks for an orderly stop, as a parent or the node does (rule M3). A bare
    /// process gets it as an exit signal.
    fn request_stop(self: Arc<Self>, reason: Reason);

    /// Ends it without a word (rule D3).
    fn kill(self: Arc<Self>);

    /// Asks it to describe itself; the token fails if it is dead.
    fn inspect(self: Arc<Self>, request: InspectRequest);

    /// Sends a value that must be of the receiver's message type, unless that takes others
    /// as well (rule M7); by one of its aliases, if it still has it (rule N5).
    ///
    /// # Errors
    /// Those of a send.
    fn send_dynamic(
        self: Arc<Self>,
        message: Dynamic,
        by: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>>;

    /// Asks it to show its state; the token fails if it is dead (rule X5).
    fn state(self: Arc<Self>, reply: Reply<Option<Dynamic>>);

    /// Has it handle nothing until it is resumed as often; answered when that is in effect
    /// (rule X5).
    fn suspend(self: Arc<Self>, reply: Reply<()>);

    /// Takes one suspension back; whether there was one.
    fn resume(self: Arc<Self>) -> bool;

    /// Has its future polled if it waits inside a handler.
    fn nudge(self: Arc<Self>);

    /// Whom it waits for, if it does nothing but wait for the answer of one call (rule C5).
    fn waits_for(&self) -> Option<Pid>;

    /// The types of what its Main lane and its control lanes take.
    fn lane_types(&self) -> (&'static str, &'static str);

    /// Logs what it receives from now on, or no more (rule X5).
    fn trace(self: Arc<Self>, on: bool);

    /// Its links and monitors.
    fn relations(&self) -> &Guarded;

    /// From now on what is sent to it goes by the wire of its host.
    fn join_wire(&self);

    /// Has it panic when it next looks for something to receive: a fault.
    fn panic_at_next_message(self: Arc<Self>);

    /// Takes all the room that its mailbox has, until what is returned is dropped: a fault.
    /// `None`: it has no bound, or no mailbox of its own, or is dead.
    fn occupy(self: Arc<Self>) -> Option<Box<dyn Send>>;
}

impl fmt::Debug for dyn Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({})", self.pid())
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
