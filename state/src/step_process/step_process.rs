//! Wippy's process contract: a state machine that is driven from outside.

use krarup_act::Context;
use krarup_gen::{Pid, Reason, Result};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

/// A state machine that is driven by its events: an interpreter, a generator, a program in
/// another language (Wippy's `Process`). [`Stepped`](crate::Stepped) makes it a process of the
/// node.
///
/// ```text
///   init(ctx, method, inputs) ─► step(events) ─► ... ─► step(events): done ─► close
///                                  │      ▲
///                  commands, tagged│      │completions by tag, messages
///                                  ▼      │
///                                handlers of the commands
/// ```
///
/// A step does not wait. It [dispatches](StepOutput::dispatch) the work it needs as a
/// command, and a later step gets the completion by its tag (rule W2). The commands it may
/// use are those of the [`Commands`](crate::Commands) it is spawned with.
pub trait StepProcess: Send + 'static {
    /// The values of the language: arguments and results of commands.
    type Value: Send + 'static;
    /// The messages that others send it.
    type Message: Send + 'static;

    /// Prepares the process to run from this entry point, with any number of inputs. It is the
    /// first call. The spawn completes when it has returned. The context is that of its process,
    /// as the handlers of its commands get it: its pid, its parent, the time, random numbers.
    ///
    /// # Errors
    /// The process cannot run this way, needs other inputs, or has no such entry point
    /// ([`UnknownMethod`]). The spawn fails, and no step runs (rule W1).
    fn init(
        &mut self,
        ctx: &Context<Self::Message>,
        method: &str,
        inputs: Vec<Self::Value>,
    ) -> Result;

    /// Runs until the process waits for something or is done. It writes that, and the
    /// commands to run, to `out`. `events` holds all events since the last step, in order. No
    /// later step gets what is left in it: messages are dead letters, and completions and a stop
    /// are dropped (rules W2, W5). So drain it. The first step may have no events.
    ///
    /// # Errors
    /// The process ends with this reason. A panic ends it too.
    fn step(
        &mut self,
        events: &mut VecDeque<StepEvent<Self::Value, Self::Message>>,
        out: &mut StepOutput<Self::Value>,
    ) -> Result;

    /// Releases all that the process holds. It runs exactly once, as the last call, in
    /// whatever way the process ends: done, failed (also in `init`), panicked, stopped or
    /// killed (rule W4).
    fn close(&mut self) {}
}

/// An event for a [`StepProcess`].
#[derive(Debug)]
pub enum StepEvent<V, M> {
    /// A command has completed.
    Completed {
        /// The tag of the command.
        tag: Tag,
        /// The result of the command.
        outcome: Result<V, CommandError>,
    },
    /// A message has arrived.
    Message {
        /// The sender, if it is a process of this node.
        sender: Option<Pid>,
        /// The message.
        message: M,
    },
    /// The process is to end with this reason as soon as it can. It may finish its current
    /// work and be [done](StepOutput::done) then. A supervisor and a stop of the node kill it when
    /// their time is over; [`Address::stop`](krarup_act::Address::stop) only waits.
    Cancel(Reason),
}

/// The tag of a command, unique in its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub(crate) u64);

impl Tag {
    /// The number of the command, counted from 1 in the order of dispatch.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Why a command has failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CommandError {
    /// No command of this name is registered.
    Unknown(String),
    /// Its handler returned an error or panicked.
    Failed(Reason),
    /// Its handler dropped the completion.
    Dropped,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Unknown(name) => write!(f, "unknown command {name:?}"),
            CommandError::Failed(reason) => write!(f, "the command failed: {reason}"),
            CommandError::Dropped => f.write_str("the command was dropped"),
        }
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CommandError::Failed(reason) => Some(reason.as_error()),
            CommandError::Unknown(_) | CommandError::Dropped => None,
        }
    }
}

/// A process was to run from an entry point that it does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown method {0:?}")]
pub struct UnknownMethod(pub String);

/// The result of a step: the commands to run, and what the process waits for.
pub struct StepOutput<V> {
    pub(crate) dispatched: Vec<DispatchedCommand<V>>,
    pub(crate) cancelled: Vec<Tag>,
    pub(crate) next: Option<StepNext<V>>,
    last: u64,
}

/// A command that a step has dispatched.
pub(crate) struct DispatchedCommand<V> {
    pub(crate) tag: Tag,
    pub(crate) name: String,
    /// `None` if the same step has cancelled it. It keeps its place: see [`StepOutput::cancel`].
    pub(crate) argument: Option<V>,
}

/// How the process continues after a step.
pub(crate) enum StepNext<V> {
    /// With another step in its next turn.
    Again,
    /// When any event has arrived.
    Idle,
    /// When a command has completed.
    Blocked,
    Done(V),
}

impl<V> StepOutput<V> {
    pub(crate) fn new() -> Self {
        StepOutput { dispatched: Vec::new(), cancelled: Vec::new(), next: None, last: 0 }
    }

    /// Dispatches a command. Its completion carries the returned tag. The commands of one
    /// step begin in their order when the step has returned, and run concurrently.
    pub fn dispatch(&mut self, command: impl Into<String>, argument: V) -> Tag {
        self.last += 1;
        let tag = Tag(self.last);
        let (name, argument) = (command.into(), Some(argument));
        self.dispatched.push(DispatchedCommand { tag, name, argument });
        tag
    }

    /// Gives up a command: no completion of it arrives, unless one has arrived already. A
    /// command dispatched in this same step does not begin.
    pub fn cancel(&mut self, tag: Tag) {
        // The tags of one step rise by one, so the place of a command follows from its tag. A search
        // would cost a step of n commands that cancels them n².
        let first = self.dispatched.first().map(|command| command.tag.number());
        let place = first.and_then(|first| tag.number().checked_sub(first));
        let place = place.and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.dispatched.get_mut(place)) {
            Some(command) => drop(command.argument.take()),
            None => self.cancelled.push(tag),
        }
    }

    /// Declares that there is more to do. The next step follows when others have had their
    /// turns, with the events that have arrived by then.
    pub fn again(&mut self) {
        self.next = Some(StepNext::Again);
    }

    /// Declares that the process waits for a message or a completion. This is the default
    /// if no command is outstanding.
    pub fn idle(&mut self) {
        self.next = Some(StepNext::Idle);
    }

    /// Declares that the process waits for a completion. Messages wait for the step that
    /// follows it. This is the default if a command is outstanding. If none is, the
    /// process waits for any event.
    pub fn block(&mut self) {
        self.next = Some(StepNext::Blocked);
    }

    /// Declares that the process is done, with this result. Outstanding commands are given
    /// up. The process ends normally, or with the reason with which it was cancelled.
    pub fn done(&mut self, result: V) {
        self.next = Some(StepNext::Done(result));
    }
}

impl<V> fmt::Debug for StepOutput<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = self.dispatched.iter().filter(|command| command.argument.is_some());
        let commands: Vec<_> = begin.map(|command| (command.tag, &command.name)).collect();
        f.debug_struct("StepOutput").field("dispatched", &commands).finish_non_exhaustive()
    }
}
