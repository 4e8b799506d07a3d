//! The interface of a process towards its host and other processes.

use super::locked_relations::{LockedRelations, RelationsPlace};
use super::relations::Relations;
use super::remote::Remote;
use super::turn_word::TurnWord;
use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::host::ready::Ready;
use crate::lock::Lock;
use crate::mailbox::muted_senders::MutedSender;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::manage_request::ManageRequest;
use crate::observe::trace_ring::TraceRing;
use krarup_gen::{
    Alias, Down, Exit, Label, Pid, ProcessInfo, Reason, Recorded, RecordedItem, Root, Sample,
    SendError,
};
use once_cell::race::OnceBox;
use spin::mutex::SpinMutex;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How an exit signal was caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A process or outside code sent it (Erlang's `exit/2`).
    Signal,
    /// A linked process ended.
    Link {
        /// The number of the link.
        number: u64,
        /// Whether this process made the link urgent: a trapped notice then takes the Urgent
        /// lane.
        urgent: bool,
    },
}

/// The result of putting an exit signal into a mailbox.
#[must_use = "the process is to be scheduled"]
pub struct Put {
    /// The signal became a notice, which the process will take out of its mailbox.
    pub(crate) is_notice: bool,
    /// The process, to be scheduled when no lock is held, because the executor may be a user's.
    pub(crate) ready: Option<Ready>,
}

impl Put {
    /// A signal that had no effect, or an effect that is not a notice.
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

/// A process of any type, running or ended, as a node keeps it in its tables.
///
/// Hosts use this trait; users have pids and addresses.
pub trait Process: Any + Send + Sync {
    /// Returns the identity of the process.
    fn pid(&self) -> Pid;

    /// Returns the process that spawned it.
    fn parent(&self) -> Option<Pid>;

    /// Returns the root of its tree of processes (rule X6).
    fn root(&self) -> Root;

    /// Returns the number of the run of the application to which it belongs; 0 if it belongs to
    /// none (rule A6).
    fn application_run(&self) -> u64 {
        0
    }

    /// Returns the label of its behaviour.
    fn behavior(&self) -> Label;

    /// Returns a snapshot of its state, without waiting (rule X3).
    fn info(&self) -> ProcessInfo;

    /// Returns its numbers, without text and without waiting. `None` if it is no process of
    /// this node, or has ended.
    fn sample(&self) -> Option<Sample> {
        None
    }

    /// Returns how many messages it has handled.
    fn handled(&self) -> u64;

    /// Adds to its running time: a worker was seen in it, and `time` has passed since the last
    /// look.
    fn ran(&self, time: Duration);

    /// Puts an exit signal into its mailbox; see the table at `CellCore::effect_of_exit`.
    ///
    /// Does not schedule the process and runs no user code, so the caller may hold a lock.
    fn put_exit(&self, exit: Exit, via: Via) -> Put;

    /// Puts a down notice into its mailbox, under the same conditions as [`Process::put_exit`].
    fn put_down(&self, down: Down, urgent: bool) -> Option<Ready>;

    /// Schedules it. The caller must hold no lock.
    fn schedule(&self, ready: Option<Ready>);

    /// Delivers an exit signal. Returns whether it became a notice, which the process will take
    /// out of its mailbox.
    fn exit_signal(self: Arc<Self>, exit: Exit, via: Via) -> bool {
        let put = self.put_exit(exit, via);
        self.schedule(put.ready);
        put.is_notice
    }

    /// Enters a sender that has overdrawn its turn, to be released when this process has caught up
    /// (rule R1). Returns false if the sender need not wait. Runs no
    /// user code.
    #[doc(hidden)]
    fn enter_muted(&self, sender: Arc<dyn MutedSender>) -> bool;

    /// Returns whether an exit signal has arrived by which it will end without running
    /// `terminate`.
    ///
    /// For a process that links to it or monitors it from now on it has ended (rules L2, L4).
    fn has_pending_exit(&self) -> bool;

    /// Has a stop in order, requested from now on, wake the process, which begins to wait for a name. Returns whether
    /// one was requested before (rule H10).
    #[doc(hidden)]
    fn begin_name_wait(&self) -> bool {
        false
    }

    /// Requests an orderly stop, as a parent or the node does (rule M3). A bare process
    /// receives an exit signal.
    fn request_stop(self: Arc<Self>, reason: Reason);

    /// Ends it without running `terminate` (rule D3).
    fn kill(self: Arc<Self>);

    /// Asks it to describe itself. The token fails if the process has ended.
    fn inspect(self: Arc<Self>, request: InspectRequest);

    /// Asks it to change (rule X12). The token fails if the process has ended, and if it offers
    /// nothing.
    fn manage(self: Arc<Self>, request: ManageRequest) {
        drop(request);
    }

    /// Sends a value that must be of the receiver's message type, unless it takes other types
    /// as well (rule M7).
    ///
    /// With `by`, the value is sent by that alias, and arrives only if the process still has it
    /// (rule N5).
    ///
    /// # Errors
    /// Returns the errors of a send.
    fn send_dynamic(
        self: Arc<Self>,
        message: Dynamic,
        by: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>>;

    /// Asks for its state. The token fails if the process has ended (rule X5).
    fn state(self: Arc<Self>, reply: Reply<Option<Dynamic>>);

    /// Suspends it: it handles nothing until it has been resumed as often as it was suspended.
    /// The reply is sent when the suspension is in effect (rule X5).
    fn suspend(self: Arc<Self>, reply: Reply<()>);

    /// Takes back one suspension. Returns whether there was one.
    fn resume(self: Arc<Self>) -> bool;

    /// Polls its future again if it waits inside a handler.
    fn nudge(self: Arc<Self>);

    /// Returns the process that it waits for, if it waits only for the answer of one call (rule
    /// C5).
    fn waits_for(&self) -> Option<Pid>;

    /// As [`Process::waits_for`]. A process that does not wait so is marked: it searches for a cycle of calls when it
    /// does.
    fn waits_for_or_mark(&self) -> Option<Pid>;

    /// Whether it is a task that its owner may wait for.
    fn is_awaited_task(&self) -> bool;

    /// Returns the names of the message types of its Main lane and its control lanes.
    fn lane_types(&self) -> (&'static str, &'static str);

    /// Turns the logging of received messages on or off (rule X5).
    fn trace(self: Arc<Self>, on: bool);

    /// Sets how many of the items that it takes are recorded; 0: none. Returns false if it has
    /// ended, or is no process of this node (rule V16).
    fn record(&self, _items: usize) -> bool {
        false
    }

    /// Returns the items that are recorded, the oldest first.
    fn recorded(&self) -> Vec<Recorded<RecordedItem>> {
        Vec::new()
    }

    /// Has a trace show the items that it takes, instead of an earlier one. Returns false if it
    /// has ended, or is no process of this node (rule V21).
    fn set_trace(&self, _trace: Arc<TraceRing>) -> bool {
        false
    }

    /// Ends the trace. Returns whether one was running.
    fn untrace(&self) -> bool {
        false
    }

    /// Locks its links and monitors, and returns them.
    fn relations(&self) -> LockedRelations<'_>;

    /// Makes later messages to it go by the simulated link of its host.
    fn join_simulated_link(&self);

    /// Makes it panic when it next looks for a message (an injected fault), or takes that back.
    fn panic_at_next_message(self: Arc<Self>, panics: bool);

    /// Takes all free room of its mailbox until the returned value is dropped (an injected
    /// fault).
    ///
    /// Returns `None` if no room was taken, for example because it has no bound or no mailbox
    /// of its own, or has ended.
    fn occupy(self: Arc<Self>) -> Option<Box<dyn Send>>;

    /// Returns the connection to the process, if it is the stand-in of one of another node.
    fn remote(&self) -> Option<&dyn Remote> {
        None
    }

    /// Records that its pid was sent to another node. From then on the process can be reached
    /// from there by its pid (rule Zsec5).
    fn expose(&self) {}

    /// Whether its pid was sent to another node.
    fn is_exposed(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({})", self.pid())
    }
}

/// The links and monitors of a process that a host makes itself; opaque outside this crate.
pub struct Guarded {
    lock: Lock<()>,
    turn: TurnWord,
    stored: OnceBox<SpinMutex<Relations>>,
}

impl Default for Guarded {
    fn default() -> Self {
        Guarded { lock: Lock::new(()), turn: TurnWord::new(), stored: OnceBox::new() }
    }
}

impl Guarded {
    /// Locks them.
    pub fn lock(&self) -> LockedRelations<'_> {
        LockedRelations::lock(&self.lock, &self.turn, self)
    }
}

impl RelationsPlace for Guarded {
    fn stored(&self) -> Option<&SpinMutex<Relations>> {
        self.stored.get()
    }

    fn to_store(&self) -> &SpinMutex<Relations> {
        self.stored.get_or_init(Box::default)
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guarded(..)")
    }
}
