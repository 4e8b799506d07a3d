//! The interface of a node to its processes.
//!
//! `act` knows a node only as a [`Host`]. The real node, the simulation and a test stub are
//! three hosts. A host in turn knows a process as a [`Process`] in its tables and as a
//! [`Ready`] in its queues. The only operation on a ready process is to run a turn.

use crate::host::network::Network;
use crate::host::ready::Ready;
use crate::host::shared_host_slot::SharedHostSlot;
use crate::host::simulated_network::SimulatedEvents;
use crate::memberships::records::Memberships;
use crate::names::name_waits::NameWaits;
use crate::observe::records::NodeRecords;
use crate::observe::state_labels::StateLabels;
use crate::observe::subscription::{EventTopic, Subscription};
use crate::observe::turn_recorder::TurnRecording;
use crate::process::process::Process;
use crate::topics::table::TopicTable;
use crate::traces::propagation::Propagation;
use krarup_gen::{
    Alias, ApplicationPicture, BlockError, Class, CurrentTurn, DeadLetter, MessageTotals, Name,
    NameError, NodeStats, Pid, Priority, Reason, ReasonKind, RecordTurnsError, Ref, RefusalCause,
    RestartKind, Root, SpawnError, Timestamp, TurnRecordingLimits,
};
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::SystemTime;

/// The node as its processes see it, together with the dispatcher that runs the process that
/// holds this handle.
pub trait Host: Send + Sync + 'static {
    /// Returns the name of the node.
    fn node_name(&self) -> &str;

    /// Returns `<0.0.0>` with the creation of this node: the sender of messages from outside
    /// any process.
    fn node_pid(&self) -> Pid;

    /// Where the host keeps what all its processes share. With `None`, each process has its own.
    fn shared_host(&self) -> Option<&SharedHostSlot> {
        None
    }

    /// Returns a pid that was never returned before (rule N1).
    fn next_pid(&self) -> Pid;

    /// Returns a reference that was never returned before (rule N1).
    fn next_ref(&self) -> Ref;

    /// Adds a new process to the table and, in the same step, reserves its name (rules N3,
    /// N4). On an error nothing has changed.
    ///
    /// # Errors
    /// [`SpawnError::NameTaken`], [`SpawnError::NodeStopping`] and [`SpawnError::NoThread`].
    fn admit(&self, process: Arc<dyn Process>, name: Option<&Name>) -> Result<(), SpawnError>;

    /// Removes a dead process and the name it had from the tables, and counts its end.
    fn retire(&self, pid: Pid, name: Option<&Name>, end: &ProcessEnd);

    /// Gives a living process a name (rule N2).
    ///
    /// # Errors
    /// The pid of the process that has the name.
    fn register(&self, name: &Name, process: Arc<dyn Process>) -> Result<(), Pid>;

    /// Releases a name; returns the process that had it.
    fn unregister(&self, name: &str) -> Option<Arc<dyn Process>>;

    /// Releases a name if this process has it; returns the process if it had.
    fn unregister_from(&self, name: &str, pid: Pid) -> Option<Arc<dyn Process>>;

    /// Returns the living process with this pid.
    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>>;

    /// Returns the living process with this name.
    fn whereis(&self, name: &str) -> Option<Arc<dyn Process>>;

    /// Returns the futures that wait until a process has a name (rule H1). Without a table nobody
    /// waits: a name that no process has stays without one.
    fn name_waits(&self) -> Option<&NameWaits> {
        None
    }

    /// Queues a process that has something to do. It is run exactly once for each time it is
    /// queued.
    fn schedule(&self, ready: Ready);

    /// Returns a random number; in a simulation it comes from the seed.
    fn random(&self) -> u64;

    /// Returns the node's time: monotonic, or virtual in a simulation (rule T2).
    fn now(&self) -> Timestamp;

    /// Returns the time, or one that the host has read some ten milliseconds ago, if that costs less. For
    /// what is shown and decides nothing.
    fn recent_time(&self) -> Timestamp {
        self.now()
    }

    /// Returns the wall time: the system's, or virtual in a simulation (rule T6). No timer
    /// follows it.
    fn wall_time(&self) -> SystemTime;

    /// Sets a timer. It is never early, and late only under load (rule T1).
    fn set_timer(&self, due: Timestamp, alarm: Alarm) -> TimerKey;

    /// Cancels a timer; returns false if it has fired.
    fn cancel_timer(&self, key: TimerKey) -> bool;

    /// Pokes a process some 10 ms from now. Returns false if the host does not do this, or not
    /// now.
    ///
    /// To set and cancel a timer costs as much as the rest of a call. Nearly every call is
    /// answered at once, so its timer is set only when its process is poked. A simulation
    /// pokes when no process is ready, before its time advances.
    fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool;

    /// Runs work that may block, on a thread that is no worker. The work is run once, or
    /// dropped when the node stops. A panic in it is contained. A simulation runs it between
    /// turns.
    ///
    /// # Errors
    /// [`BlockError`]; the work has been dropped.
    fn block(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError>;

    /// As [`Host::block`], on a thread of the pool with this name.
    ///
    /// # Errors
    /// [`BlockError`]; the work has been dropped.
    fn block_in(&self, pool: &str, _work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        Err(BlockError::UnknownPool(pool.to_owned()))
    }

    /// Blocks the calling thread, which is no worker, until `future` is ready. A
    /// simulation runs on that thread meanwhile.
    ///
    /// # Errors
    /// [`Stalled`] in a simulation that has nothing left to do.
    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + Send)>) -> Result<(), Stalled>;

    /// Whether this thread drives the tasks of an async runtime, which would stop if the
    /// thread waited. Checked before each wait on a plain thread.
    fn is_driving_runtime(&self) -> bool {
        false
    }

    /// Returns the same node with another of its dispatchers, which is started if need be
    /// (rule R5).
    ///
    /// # Errors
    /// [`SpawnError::UnknownDispatcher`], [`SpawnError::NodeStopping`] and
    /// [`SpawnError::NoThread`].
    fn with_dispatcher(&self, name: &str) -> Result<Arc<dyn Host>, SpawnError>;

    /// Returns the name of the dispatcher.
    fn dispatcher_name(&self) -> &str;

    /// Whether a process of this host has all its turns on one thread (rule R8).
    fn keeps_to_one_thread(&self) -> bool {
        false
    }

    /// Returns the class in which processes of this host are scheduled (rule R6).
    fn class(&self) -> Class {
        Class::Normal
    }

    /// Whether a process that chooses its own class is queued apart from others while it is of
    /// high class. False on dispatchers without classes.
    fn has_classes(&self) -> bool {
        true
    }

    /// Returns the same node and dispatcher for processes of another class; `None` if the
    /// class makes no difference here.
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`].
    fn of_class(&self, _class: Class) -> Result<Option<Arc<dyn Host>>, SpawnError> {
        Ok(None)
    }

    /// Returns the root below which processes of this host live (rule X6).
    fn root(&self) -> Root {
        Root::User
    }

    /// Returns the same node and dispatcher for processes of users that belong to no application:
    /// those that a cluster spawns for other nodes (rule Zcall9). `None` if the host has only one
    /// root.
    fn user_host(&self) -> Option<Arc<dyn Host>> {
        None
    }

    /// Returns the application to which processes of this host belong, with the number of its
    /// run: another one after each start (rule A6).
    fn application(&self) -> Option<(&Name, u64)> {
        None
    }

    /// Whether the node has stopped: no process runs and no timer fires any more.
    fn has_stopped(&self) -> bool;

    /// Whether the stop of the node has reached the root of this host, so that no process can
    /// be spawned below it any more (rule X2).
    fn is_stopping(&self) -> bool;

    /// Whether the node is stopping, even if that has not reached the root of this host.
    fn is_node_stopping(&self) -> bool {
        self.is_stopping()
    }

    /// Adds a new alias to the table.
    fn add_alias(&self, alias: Alias, process: Arc<dyn Process>);

    /// Removes an alias from the table.
    fn remove_alias(&self, alias: Alias);

    /// Returns the living process with this alias.
    fn by_alias(&self, alias: Alias) -> Option<Arc<dyn Process>>;

    /// Counts a dead letter and notifies the subscribers (rules M7, D7).
    fn dead_letter(&self, letter: DeadLetter);

    /// Adds a subscription to events of the node. A process has at most one for each topic.
    fn subscribe(&self, subscription: Subscription);

    /// Ends a subscription; returns whether there was one.
    fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool;

    /// Reports that a process has started (rule X4).
    fn note_initialised(&self, pid: Pid);

    /// The texts of the states that processes show as their labels.
    fn state_labels(&self) -> &StateLabels;

    /// Reports that a process has ended and its name is free (rule X4).
    fn note_ended(&self, pid: Pid, name: Option<Name>, reason: &Reason);

    /// Reports how many messages wait on Main of a process. Called with its mailbox locked, at
    /// lengths from 9984 on that are multiples of 16. A host must defer notifications to
    /// subscribers.
    fn mailbox_is_deep(&self, _pid: Pid, _length: usize) {}

    /// Counts a reply that arrived after its call was abandoned (rule C3).
    fn count_late_reply(&self);

    /// Counts a message that was given back to its sender.
    fn count_refusal(&self, cause: RefusalCause) {
        let _ = cause;
    }

    /// Counts a call that has timed out.
    fn count_timed_out_call(&self) {}

    /// Counts a cycle of calls that was found (rule C5).
    fn count_deadlock(&self) {}

    /// Counts a state that has failed and was replaced.
    fn count_restart(&self, kind: RestartKind) {
        let _ = kind;
    }

    /// Counts a supervisor that gives up (rule S5).
    fn count_given_up(&self) {}

    /// Returns what the node remembers; `None` if it remembers nothing.
    fn records(&self) -> Option<&NodeRecords> {
        None
    }

    /// How the node treats traces, if it was told. The default says it was not.
    fn propagation(&self) -> Option<&Propagation> {
        None
    }

    /// Returns the simulated link between senders and the processes that have joined it
    /// ([`Process::join_simulated_link`]). Most hosts have none.
    fn simulated_link(&self) -> Option<&dyn SimulatedLink> {
        None
    }

    /// Returns the events of the simulation that this node belongs to. A real node has none.
    fn simulated_events(&self) -> Option<&dyn SimulatedEvents> {
        None
    }

    /// Returns the cluster of the node. Most nodes have none.
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }

    /// Returns a place for what a cluster must still know when it is started again in the same
    /// node: which numbers it has given to other nodes (rule Zid4). `None` if the host keeps
    /// nothing.
    fn network_memory(&self) -> Option<&OnceLock<Arc<dyn Any + Send + Sync>>> {
        None
    }

    /// Returns the memberships of its processes in groups and registries (rules G2, G7).
    fn memberships(&self) -> &Memberships;

    /// Returns the topics of the node (rules E1, E11). Without a table topics have no names, and
    /// are not listed.
    fn topics(&self) -> Option<&TopicTable> {
        None
    }

    /// Returns the node's statistics (rule X4).
    fn stats(&self) -> NodeStats {
        NodeStats::default()
    }

    /// Returns the turns that run now on shared and pinned dispatchers (rule V95).
    fn current_turns(&self) -> Vec<CurrentTurn> {
        Vec::new()
    }

    /// Returns the applications of the node, in the order in which they were given (rule V96).
    fn application_pictures(&self) -> Vec<ApplicationPicture> {
        Vec::new()
    }

    /// Begins to record the turns of the node (rule X13).
    ///
    /// # Errors
    /// [`RecordTurnsError`].
    fn record_turns(&self, limits: TurnRecordingLimits) -> Result<TurnRecording, RecordTurnsError> {
        let _ = limits;
        Err(RecordTurnsError::NodeStopped(self.node_name().to_owned()))
    }

    /// Adds the next living processes of the table to `into`, at most some thousands, and moves
    /// the cursor behind them. Returns false, and adds none, if there are no more. The table is
    /// locked only while they are copied. A process that lives during the whole walk is
    /// returned once; one that is spawned meanwhile may be left out.
    fn next_processes(&self, cursor: &mut TableCursor, into: &mut Vec<Arc<dyn Process>>) -> bool {
        let _ = (cursor, into);
        false
    }

    /// Sets the cluster of the node; `None` removes it. Returns whether it was set: a node has
    /// one cluster at a time.
    fn set_network(&self, network: Option<Arc<dyn Network>>) -> bool {
        let _ = network;
        false
    }
}

/// A simulated link between senders and mailboxes.
pub trait SimulatedLink: Send + Sync {
    /// Called when a message is sent. The link may replace the message by another of the same
    /// type. No mailbox is locked.
    fn carry(&self, sending: &Sending, message: &mut dyn Any);

    /// Called when a message was put at the end of Main of `to`. `outside` says that the
    /// sender is outside any process. `overtake` moves the message forward over at most the
    /// given number of messages, and returns over how many. The mailbox of `to` is locked.
    fn arrives(&self, to: Pid, outside: bool, overtake: &mut dyn FnMut(usize) -> usize);

    /// Called when another item than a message on Main has reached `to`, which is active or
    /// waits for it. The mailbox of `to` is locked.
    fn touches(&self, to: Pid);
}

/// The description of a message on a [`SimulatedLink`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The sender; `None` if the message comes from outside any process of the node.
    pub from: Option<Pid>,
    /// The receiver.
    pub to: Pid,
    /// The lane.
    pub priority: Priority,
    /// The name of the message's type.
    pub type_name: &'static str,
}

/// The end of a process, as a host counts it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessEnd {
    /// The kind of its reason.
    pub kind: ReasonKind,
    /// Its messages.
    pub messages: MessageTotals,
}

/// A position in the table of the processes of a host; see [`Host::next_processes`].
#[derive(Clone, Debug, Default)]
pub struct TableCursor {
    /// The next part of the table.
    pub part: usize,
    /// The positions in the current part that are still to come, the next one last.
    pub rest: Vec<u64>,
}

/// A process that waits without a timer.
pub trait Poke: Send + Sync {
    /// Has the process polled again if it still waits; the poll sets its timers.
    fn poke(self: Arc<Self>);
}

/// The simulation has no events left: the awaited event can never occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled;

/// The key of a timer. It is never reused while a timer may still have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerKey {
    /// The index of the timer's entry in the host.
    pub index: u32,
    /// The generation of the entry: it changes when the entry is reused.
    pub generation: u32,
}

/// A process that has set a timer.
pub trait TimerProcess: Send + Sync {
    /// Called when the timer is due, on a thread of the host.
    fn timer_is_due(&self, timer: Ref);

    /// Called when the timer of its idle time with this number is due.
    #[doc(hidden)]
    fn idle_time_is_over(&self, round: u64);
}

/// The action of a timer when it is due.
pub enum Alarm {
    /// Wakes a future.
    Wake(Waker),
    /// Tells the process whose timer it is, if it is still there. As an action of its own, it
    /// needs no allocation.
    Tell(Weak<dyn TimerProcess>, Ref),
    /// Runs a short action that neither blocks nor panics, on a thread of the host.
    Run(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Alarm::Wake(_) => "Wake(..)",
            Alarm::Tell(..) => "Tell(..)",
            Alarm::Run(_) => "Run(..)",
        })
    }
}

/// A name, or the reason why it is not valid, kept until the operation that uses it.
pub(crate) type CheckedName = Result<Name, NameError>;
