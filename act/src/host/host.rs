//! What a process needs from the node it lives in.
//!
//! `act` knows a node only as a [`Host`]. The real node, the simulation and a test
//! stub are three hosts. A host in turn knows a process as a [`Process`] in its
//! tables and as a [`Ready`] in its queues, and of a ready process it can do one
//! thing: run a turn.

use crate::host::ready::Ready;
use crate::observe::subscription::{EventTopic, Subscription};
use crate::process::process::Process;
use krarup_gen::{
    Alias, BlockError, Class, DeadLetter, Name, NameError, Pid, Priority, Reason, Ref, Root,
    SpawnError, Timestamp,
};
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;

/// The node as its processes see it, together with the dispatcher that runs the
/// process which holds this handle.
pub trait Host: Send + Sync + 'static {
    /// The name of the node.
    fn node_name(&self) -> &str;

    /// `<0.0.0>` with the creation of this node: the sender of what comes from outside
    /// any process.
    fn node_pid(&self) -> Pid;

    /// A pid never given out before (rule N1).
    fn next_pid(&self) -> Pid;

    /// A reference never given out before (rule N1).
    fn next_ref(&self) -> Ref;

    /// Takes a new process into the table and, in the same step, reserves its name
    /// (rules N3, N4). On an error nothing has changed.
    ///
    /// # Errors
    /// [`SpawnError::NameTaken`], [`SpawnError::NodeStopping`] and [`SpawnError::NoThread`].
    fn admit(&self, process: Arc<dyn Process>, name: Option<&Name>) -> Result<(), SpawnError>;

    /// Takes a dead process, and the name it had, out of the tables.
    fn retire(&self, pid: Pid, name: Option<&Name>);

    /// Gives a living process a name (rule N2).
    ///
    /// # Errors
    /// The pid of the process that has the name.
    fn register(&self, name: &Name, process: Arc<dyn Process>) -> Result<(), Pid>;

    /// Takes a name back; whose it was.
    fn unregister(&self, name: &str) -> Option<Arc<dyn Process>>;

    /// Takes a name back from this process, and from no other; the process, if it had it.
    fn unregister_from(&self, name: &str, pid: Pid) -> Option<Arc<dyn Process>>;

    /// The living process with this pid.
    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>>;

    /// The living process with this name.
    fn whereis(&self, name: &str) -> Option<Arc<dyn Process>>;

    /// Queues a process that has something to do. It is run exactly once for each time
    /// it is queued.
    fn schedule(&self, ready: Ready);

    /// A process whose debt was left at a worker's seat ([`crate::WorkerSlot::take_debt`]) has something
    /// to see before its next message: it does not pay the debt, and is run soon. Called by
    /// any thread, not under the lock of a mailbox; perhaps for a process that does not owe any
    /// more. It runs nothing of a user's.
    fn recall(&self, _pid: Pid) {}

    /// A random number; in a simulation it comes from the seed.
    fn random(&self) -> u64;

    /// The node's time: monotonic, or virtual in a simulation (rule T2).
    fn now(&self) -> Timestamp;

    /// Sets a timer. Never early; late only by load (rule T1).
    fn set_timer(&self, due: Timestamp, alarm: Alarm) -> TimerKey;

    /// Cancels a timer; false if it has fired.
    fn cancel_timer(&self, key: TimerKey) -> bool;

    /// Pokes a process later, some 10 ms from now. False if the host does not do this, or
    /// not now.
    ///
    /// Setting and cancelling a timer costs as much as the rest of a call. Nearly every
    /// call is answered at once, so its timer is set only when its process is poked. A simulation
    /// pokes when nobody is ready, before its time moves on.
    fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool;

    /// Runs work that may block on a thread that is no worker. It is run once, or dropped
    /// when the node stops; what it panics with is contained. A simulation runs it between turns.
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

    /// Whether this thread drives the tasks of a runtime, which would stand still if it waited.
    /// Asked before each plain wait.
    fn is_driving_runtime(&self) -> bool {
        false
    }

    /// The same node with another of its dispatchers, which is started if need be (rule R5).
    ///
    /// # Errors
    /// [`SpawnError::UnknownDispatcher`], [`SpawnError::NodeStopping`] and
    /// [`SpawnError::NoThread`].
    fn with_dispatcher(&self, name: &str) -> Result<Arc<dyn Host>, SpawnError>;

    /// The name of the dispatcher.
    fn dispatcher_name(&self) -> &str;

    /// The class in which processes of this host are scheduled (rule R6).
    fn class(&self) -> Class {
        Class::Normal
    }

    /// Whether a process that says its own class is queued apart from others while it is of high
    /// class: not where there are no classes.
    fn has_classes(&self) -> bool {
        true
    }

    /// The same node and dispatcher for processes of another class; `None` if that makes no
    /// difference here.
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`].
    fn of_class(&self, _class: Class) -> Result<Option<Arc<dyn Host>>, SpawnError> {
        Ok(None)
    }

    /// The root below which processes of this host live (rule X6).
    fn root(&self) -> Root {
        Root::User
    }

    /// Whether the node has stopped: no process runs and no timer fires any more.
    fn has_stopped(&self) -> bool;

    /// Whether the stop of the node has come so far that nobody is spawned any more below the
    /// root of this host (rule X2).
    fn is_stopping(&self) -> bool;

    /// Takes an alias into the table; it is unused.
    fn add_alias(&self, alias: Alias, process: Arc<dyn Process>);

    /// Takes an alias out.
    fn remove_alias(&self, alias: Alias);

    /// The living process with this alias.
    fn by_alias(&self, alias: Alias) -> Option<Arc<dyn Process>>;

    /// Counts a message that nobody handles, and tells those who want to know (rules M7,
    /// D7).
    fn dead_letter(&self, letter: DeadLetter);

    /// Has somebody told of what happens in the node from now on, once for each topic.
    fn subscribe(&self, subscription: Subscription);

    /// Ends a subscription; whether there was one.
    fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool;

    /// The process has started (rule X4).
    fn note_initialised(&self, pid: Pid);

    /// The process has ended, and its name is free (rule X4).
    fn note_ended(&self, pid: Pid, name: Option<Name>, reason: &Reason);

    /// So many messages wait on Main of a process. Called with its mailbox locked, for some of
    /// the lengths from 9984 on: each that 16 divides. A host that tells of it does so later.
    fn mailbox_is_deep(&self, _pid: Pid, _length: usize) {}

    /// Counts a reply that came after its call was given up (rule C3).
    fn count_late_reply(&self);

    /// What lies between senders and the processes that have joined it
    /// ([`Process::join_wire`]); most hosts have none.
    fn wire(&self) -> Option<&dyn SimulatedLink> {
        None
    }
}

/// What a simulation puts between senders and mailboxes.
pub trait SimulatedLink: Send + Sync {
    /// A message is sent, and may be put in another's stead: of the same type. No mailbox is
    /// locked.
    fn carry(&self, sending: &Sending, message: &mut dyn Any);

    /// A message has been put behind all on Main of `to`, by a sender from outside or not.
    /// `overtake` puts it before so many of the last there, or before fewer if it may not pass
    /// them: before how many. `to`'s mailbox is locked.
    fn arrives(&self, to: Pid, outside: bool, overtake: &mut dyn FnMut(usize) -> usize);

    /// Something else has come to `to`, which was at work or waits for it; its mailbox is locked.
    fn touches(&self, to: Pid);
}

/// What a [`SimulatedLink`] is told of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Who sends it; `None`: it comes from outside any process of the node.
    pub from: Option<Pid>,
    /// To whom.
    pub to: Pid,
    /// By which lane.
    pub priority: Priority,
    /// Its type.
    pub type_name: &'static str,
}

/// A process that waits for something without a timer.
pub trait Poke: Send + Sync {
    /// Has it polled again, which sets its timers, if it still waits.
    fn poke(self: Arc<Self>);
}

/// The simulation has nothing left to do: what is waited for can never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled;

/// A set timer; a key is never reused while a timer may still hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerKey {
    /// Where the host keeps the timer.
    pub index: u32,
    /// Which use of that place this is.
    pub generation: u32,
}

/// What a timer does when it is due.
pub enum Alarm {
    /// Wakes a future.
    Wake(Waker),
    /// Runs a short action that neither blocks nor panics, on a thread of the host.
    Run(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Alarm::Wake(_) => "Wake(..)",
            Alarm::Run(_) => "Run(..)",
        })
    }
}

/// A name or the reason why it cannot be one, kept until the operation that uses it.
pub(crate) type CheckedName = Result<Name, NameError>;
