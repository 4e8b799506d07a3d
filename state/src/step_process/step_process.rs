//! Wippy's process contract: a state machine that somebody else drives.

use krarup_act::Context;
use krarup_gen::{Pid, Reason, Result};
use std::collections::VecDeque;
use std::fmt;

/// A state machine that is driven by its events: an interpreter, a generator, a program of
/// another language (Wippy's `Process`). [`crate::Stepped`] makes it a process of the node.
///
/// ```text
///   init(ctx, method, inputs) ─► step(events) ─► ... ─► step(events): done ─► close
///                                  │      ▲
///                  commands, tagged│      │completions by tag, messages
///                                  ▼      │
///                                handlers of the commands
/// ```
///
/// It waits for nothing itself: what it wants done it [dispatches](StepOutput::dispatch) as a command,
/// and hears of it in a later step, by its tag (rule W2). The commands it may use are
/// those of the [`crate::Commands`] it is spawned with.
pub trait StepProcess: Send + 'static {
    /// What commands are given and what they come to: the values of the language.
    type Value: Send + 'static;
    /// What others send it.
    type Message: Send + 'static;

    /// Gets it ready to run from this entry point, with any number of inputs. The first of its
    /// life; whoever waits for its spawn goes on when this has returned. The context is that of its
    /// process, as the handlers of its commands have it: its pid, its parent, the time, random
    /// numbers.
    ///
    /// # Errors
    /// It cannot run so, has other inputs, or has no such entry point ([`UnknownMethod`]): the spawn
    /// fails, and no step runs (rule W1).
    fn init(
        &mut self,
        ctx: &Context<Self::Message>,
        method: &str,
        inputs: Vec<Self::Value>,
    ) -> Result;

    /// Goes on until it waits for something or is done, and writes that, and the commands it wants
    /// done, to `out`. `events` has all that has come since the last step, in its order; messages
    /// left in it are dead letters. The first step may have none.
    ///
    /// # Errors
    /// It ends with this reason. So it does with a panic.
    fn step(
        &mut self,
        events: &mut VecDeque<StepEvent<Self::Value, Self::Message>>,
        out: &mut StepOutput<Self::Value>,
    ) -> Result;

    /// Lets go of what it holds. Runs exactly once, the last of its life, however it ends: done,
    /// failed, also in `init`, panicked, stopped or killed (rule W4).
    fn close(&mut self) {}
}

/// Something that has come for a [`StepProcess`].
#[derive(Debug)]
pub enum StepEvent<V, M> {
    /// A command is done.
    Completed {
        /// Which.
        tag: Tag,
        /// What it has come to.
        outcome: Result<V, CommandError>,
    },
    /// Somebody has sent a message.
    Message {
        /// A process of this node, or nobody.
        sender: Option<Pid>,
        /// What was sent.
        message: M,
    },
    /// It is to end with this reason, as soon as it can: it may finish what it is at, and be
    /// [done](StepOutput::done) then. Whoever asks for this waits for a time of his choice, and
    /// kills it then.
    Cancel(Reason),
}

/// Which command a completion is of: no two of one process have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub(crate) u64);

impl Tag {
    /// The number of the command, from 1, in the order of their dispatch.
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

/// Why a command has come to nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Nobody handles commands of this name.
    #[error("unknown command {0:?}")]
    Unknown(String),
    /// Its handler says why, or has panicked.
    #[error("the command failed: {0}")]
    Failed(Reason),
    /// Its handler has dropped the right to complete it.
    #[error("the command was dropped")]
    Dropped,
}

/// A process was to run from an entry point that it does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown method {0:?}")]
pub struct UnknownMethod(pub String);

/// What a step leaves behind: what is to be done, and what it waits for.
pub struct StepOutput<V> {
    pub(crate) dispatched: Vec<(Tag, String, V)>,
    pub(crate) cancelled: Vec<Tag>,
    pub(crate) next: Option<Next<V>>,
    last: u64,
}

/// How it goes on after a step.
pub(crate) enum Next<V> {
    /// With another step, when it is its turn again.
    Again,
    /// When anything has come.
    Idle,
    /// When a command is done.
    Blocked,
    Done(V),
}

impl<V> StepOutput<V> {
    pub(crate) fn new() -> Self {
        StepOutput { dispatched: Vec::new(), cancelled: Vec::new(), next: None, last: 0 }
    }

    /// Has a command done; its completion comes with the tag. Commands of one step are begun in
    /// their order when the step has returned, and run beside each other.
    pub fn dispatch(&mut self, command: impl Into<String>, argument: V) -> Tag {
        self.last += 1;
        let tag = Tag(self.last);
        self.dispatched.push((tag, command.into(), argument));
        tag
    }

    /// Gives a command up: no completion of it comes, if none has come. One of this very step is
    /// not begun.
    pub fn cancel(&mut self, tag: Tag) {
        self.dispatched.retain(|(dispatched, ..)| *dispatched != tag);
        self.cancelled.push(tag);
    }

    /// There is more to do: the next step follows when others have had their turns, with
    /// what has come by then.
    pub fn again(&mut self) {
        self.next = Some(Next::Again);
    }

    /// It waits for anything: a message, or a completion. What a step says that says nothing, if
    /// no command is outstanding.
    pub fn idle(&mut self) {
        self.next = Some(Next::Idle);
    }

    /// It waits for a completion: messages wait for the step that follows it. What a step
    /// says that says nothing, if a command is outstanding. With none outstanding it waits for
    /// anything.
    pub fn block(&mut self) {
        self.next = Some(Next::Blocked);
    }

    /// It is done, with this result; commands outstanding are given up. The process ends
    /// normally, or with the reason with which it was cancelled.
    pub fn done(&mut self, result: V) {
        self.next = Some(Next::Done(result));
    }
}

impl<V> fmt::Debug for StepOutput<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commands: Vec<_> = self.dispatched.iter().map(|(tag, name, _)| (tag, name)).collect();
        f.debug_struct("StepOutput").field("dispatched", &commands).finish_non_exhaustive()
    }
}
