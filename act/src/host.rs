//! What a process needs from the node it lives in.
//!
//! `act` knows a node only as a [`Host`]. The real node, the simulation and a test
//! stub are three hosts. A host in turn knows a process as a [`Process`] in its
//! tables and as a [`Ready`] in its queues, and of a ready process it can do one
//! thing: run a turn.

use crate::process::process::Process;
use crate::seat::Seat;
use crate::subscription::{Subscription, Topic};
use krarup_gen::{
    Alias, BlockError, Class, DeadLetter, Name, NameError, Pid, Reason, Ref, Root, SpawnError,
    Timestamp,
};
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

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

    /// The living process with this pid.
    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>>;

    /// The living process with this name.
    fn whereis(&self, name: &str) -> Option<Arc<dyn Process>>;

    /// Queues a process that has something to do. It is run exactly once for each time
    /// it is queued.
    fn schedule(&self, ready: Ready);

    /// A process whose debt was left at a worker's seat ([`crate::Seat::take_debt`]) has something
    /// to see before its next message: it does not pay the debt, and is run soon. Called by
    /// any thread, not under a mailbox's lock, perhaps under others: no code of a user's may run here. The
    /// process may owe nothing any more.
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
    /// call is answered at once, so its timer is set only when its process is poked.
    fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool;

    /// Runs work that may block on a thread that is no worker. It is run once, or dropped
    /// when the node stops; what it panics with is contained. A simulation runs it now.
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

    /// Whether the node is stopping or has stopped (rule X2).
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
    fn unsubscribe(&self, topic: Topic, pid: Pid) -> bool;

    /// The process has started (rule X4).
    fn note_initialised(&self, pid: Pid);

    /// The process has ended, and its name is free (rule X4).
    fn note_ended(&self, pid: Pid, name: Option<Name>, reason: &Reason);

    /// Counts a reply that came after its call was given up (rule C3).
    fn count_late_reply(&self);

    /// What lies between senders and the processes that have joined it
    /// ([`Process::join_wire`]); most hosts have none.
    fn wire(&self) -> Option<&dyn Wire> {
        None
    }
}

/// What a simulation puts between senders and mailboxes.
pub trait Wire: Send + Sync {
    /// A message of this type is sent to `to`, and may be put in another's stead: of the same
    /// type. No mailbox is locked.
    fn carry(&self, to: Pid, type_name: &'static str, message: &mut dyn Any);

    /// A message has been put behind all on Main of `to`, by a sender from outside or not.
    /// `overtake` puts it before so many of the last there, or before fewer if it may not pass
    /// them: before how many. `to`'s mailbox is locked.
    fn arrives(&self, to: Pid, outside: bool, overtake: &mut dyn FnMut(usize) -> usize);

    /// Something else has come to `to`, which was at work or waits for it; its mailbox is locked.
    fn touches(&self, to: Pid);
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

/// How long a turn may last (rule R1).
#[derive(Clone, Copy, Debug)]
pub struct TurnLimits {
    /// Messages in one turn, at least 1.
    pub throughput: u32,
    /// The turn ends after the message during which this time is over.
    pub deadline: Option<Duration>,
}

/// A process that has something to do, and the only handle that can run it.
///
/// Whoever holds it owns the process: the mailbox while it is idle, a queue while it
/// is scheduled, a worker while it runs. There is one, so at most one worker can be in
/// a process at any moment, and it can be in one queue at most (rule R1).
pub struct Ready(Pin<Box<dyn Turn>>);

impl Ready {
    pub(crate) fn new(turn: Pin<Box<dyn Turn>>) -> Self {
        Ready(turn)
    }

    /// Runs one turn. Gives the process back if its budget ran out before its work
    /// did: it goes to the tail of the queue.
    #[must_use]
    pub fn run(self, limits: &TurnLimits) -> Option<Ready> {
        self.0.run(limits, &Seat::unattended())
    }

    /// As [`Ready::run`], at a worker's seat: there is written down which process it is, for
    /// those who watch, and what it owes, if it is given back.
    #[must_use]
    #[inline]
    pub fn run_at(self, limits: &TurnLimits, seat: &Seat) -> Option<Ready> {
        self.0.run(limits, seat)
    }

    /// Whether there is something that it must see before its next message: a stop, a kill, an
    /// inspection, anything on a control lane.
    #[must_use]
    pub fn is_called(&self) -> bool {
        self.0.is_called()
    }

    /// Puts the process back into its mailbox as an idle one, because nobody will run it
    /// (rule R7). Nothing of what it has to do is lost: the next message, signal or
    /// wake-up has it scheduled again, and so has the waker that is returned.
    ///
    /// # Errors
    /// The process, if it must end: it was killed, or it has never run, which it then never will,
    /// and ends with `reason`. Somebody must run its last turn.
    pub fn put_back(self, reason: impl FnOnce() -> Reason) -> Result<Waker, Ready> {
        let mut reason = Some(reason);
        self.0.put_back(&mut || reason.take().map_or(Reason::Killed, |reason| reason()))
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Whether it is of class Varying and says that it is of high class now (rule R6).
    #[must_use]
    pub fn says_high(&self) -> bool {
        self.0.says_high()
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({})", self.pid())
    }
}

/// A process as its own future; see `process/turn.rs`.
pub(crate) trait Turn: Send {
    fn run(self: Pin<Box<Self>>, limits: &TurnLimits, seat: &Seat) -> Option<Ready>;
    fn is_called(&self) -> bool;
    fn put_back(self: Pin<Box<Self>>, reason: &mut dyn FnMut() -> Reason) -> Result<Waker, Ready>;
    fn pid(&self) -> Pid;
    fn says_high(&self) -> bool;
}

/// A name or the reason why it cannot be one, kept until the operation that uses it.
pub(crate) type CheckedName = Result<Name, NameError>;
