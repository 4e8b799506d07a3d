//! The options of a dispatcher.

use crate::core::{Core, DispatcherStart};
use crate::dispatcher::any::Dispatcher;
use crate::dispatcher::calling_thread::Calling;
use crate::dispatcher::executor::{Executor, ExecutorDispatcher};
use crate::dispatcher::pinned::Pinned;
use crate::dispatcher::setup::{Setup, Time};
use crate::dispatcher::shared::SharedDispatcher;
use crate::error::NodeError;
use crate::threads::Around;
use krarup_act::TurnLimits;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The default number of messages in a turn.
pub(crate) const THROUGHPUT: u32 = 64;
/// The fewest workers of a dispatcher by default: if one is blocked, another still runs (seeds
/// G-061).
const LEAST_WORKERS: usize = 2;
/// The default length from which a turn is reported.
const LONG_TURN: Duration = Duration::from_millis(100);
/// The stack sizes that a thread may be given, in bytes.
pub(crate) const STACK_SIZES: RangeInclusive<usize> = 64 << 10..=1 << 30;
/// The most workers of one dispatcher.
pub(crate) const MOST_WORKERS: usize = 1024;

/// The default number of workers on a machine with this many cores (rule R3).
fn workers_for(cores: usize) -> usize {
    cores.clamp(LEAST_WORKERS, MOST_WORKERS)
}

/// The name of the default dispatcher.
pub(crate) const DEFAULT: &str = "default";

#[derive(Clone, Debug)]
enum DispatcherKind {
    Shared,
    Pinned,
    ExecutorDispatcher(Threads),
    Calling,
}

/// The executor of a user, which need not implement `Debug`.
#[derive(Clone)]
struct Threads(Arc<dyn Executor>);

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// The options of a dispatcher: how it runs its processes.
///
/// | made by | kind | its threads |
/// |---|---|---|
/// | [`DispatcherOptions::new`] | shared | workers that run any number of processes |
/// | [`DispatcherOptions::pinned`] | pinned | one for each process, that ends with it |
/// | [`DispatcherOptions::executor`] | executor | those of the executor |
/// | [`DispatcherOptions::calling_thread`] | calling-thread | none: the thread that makes a process ready runs it |
#[derive(Clone, Debug)]
pub struct DispatcherOptions {
    kind: DispatcherKind,
    workers: Option<usize>,
    throughput: u32,
    deadline: Option<Duration>,
    spares: Option<usize>,
    long_turn: Option<Duration>,
    stack_size: Option<usize>,
    classes: bool,
}

impl Default for DispatcherOptions {
    /// As many workers as cores, at least 2, and as many spares. A turn has at most 64 messages
    /// and no deadline, and is reported from 100 ms.
    fn default() -> Self {
        DispatcherOptions {
            kind: DispatcherKind::Shared,
            workers: None,
            throughput: THROUGHPUT,
            deadline: None,
            spares: None,
            long_turn: Some(LONG_TURN),
            stack_size: None,
            classes: true,
        }
    }
}

impl DispatcherOptions {
    /// Returns the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a dispatcher that gives each process a thread of its own, named
    /// `<node>-<dispatcher>-<number of the process>` (rule R5). It is for processes that block
    /// regularly, or must be called from one thread. Long turns are not reported unless
    /// [`DispatcherOptions::long_turn`] is set. It has no workers and no spares.
    #[must_use]
    pub fn pinned() -> Self {
        DispatcherOptions { kind: DispatcherKind::Pinned, long_turn: None, ..Self::default() }
    }

    /// Makes a dispatcher that runs its processes on threads that are not the node's, turn by
    /// turn (rules R5, R7): see [`Executor`]. It has no workers and no spares, its turns are not
    /// reported, and running time is not measured. The executor must run what it accepts until
    /// the node has stopped: stop the node first.
    #[must_use]
    pub fn executor(executor: impl Executor) -> Self {
        let kind = DispatcherKind::ExecutorDispatcher(Threads(Arc::new(executor)));
        DispatcherOptions { kind, long_turn: None, ..Self::default() }
    }

    /// Makes a dispatcher without threads, for tests: a process runs on the thread that makes it
    /// ready, before `send` returns there (rule R5).
    ///
    /// A process made ready within a turn runs when that turn is over. A process made ready by a
    /// timer runs on the timer's thread. A handler that blocks delays that thread. It has no
    /// workers and no spares, its turns are not reported, and running time is not measured.
    #[must_use]
    pub fn calling_thread() -> Self {
        DispatcherOptions { kind: DispatcherKind::Calling, long_turn: None, ..Self::default() }
    }

    /// Sets the number of worker threads, 1 to 1024 (rule R3). Only shared dispatchers have
    /// workers: for the other kinds the number is checked, and has no effect.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the most messages that a process may handle in one turn, at least 1 (rule R1). More
    /// is faster, fewer is fairer.
    #[must_use]
    pub fn throughput(mut self, messages: u32) -> Self {
        self.throughput = messages;
        self
    }

    /// Sets a deadline for a turn, more than zero: the turn ends after the message during which
    /// it passes (rule R1). Costs a read of the clock per message.
    #[must_use]
    pub fn throughput_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the most spare workers, which fill in while handlers hold workers and work waits
    /// (rule R4). The default, and the limit, is the number of workers. Each is a thread that
    /// ends when it is no longer needed.
    #[must_use]
    pub fn spare_workers(mut self, spares: usize) -> Self {
        self.spares = Some(spares);
        self
    }

    /// Sets the length, more than zero, from which a turn is reported in which a handler holds
    /// its worker without an `await` (rule R4). Each turn is reported once, by a warning of
    /// `tracing` and in [`DispatcherStats::long_turns`](krarup_gen::DispatcherStats::long_turns).
    /// The default is 100 ms. A long turn is noticed up to 20 ms later.
    #[must_use]
    pub fn long_turn(mut self, limit: Duration) -> Self {
        self.long_turn = Some(limit);
        self
    }

    /// Turns off the report of long turns: for a dispatcher for blocking handlers.
    #[must_use]
    pub fn no_long_turn(mut self) -> Self {
        self.long_turn = None;
        self
    }

    /// Sets the stack size of each of its threads, in bytes, 64 KiB to 1 GiB. The default is
    /// that of `RUST_MIN_STACK`, or 2 MiB.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Runs processes of all classes in the order in which they became ready. By default those
    /// of high class go before the others (rule R6). It has no effect on dispatchers without a
    /// queue.
    #[must_use]
    pub fn no_classes(mut self) -> Self {
        self.classes = false;
        self
    }

    /// Returns a function that starts the dispatcher.
    pub(crate) fn plan(&self, name: &str, core: &Arc<Core>, around: &Around) -> DispatcherStart {
        let setup = self.setup(name, core, around);
        let kind = self.kind.clone();
        Box::new(move || {
            let setup = setup.clone();
            Ok(match &kind {
                DispatcherKind::Shared => Dispatcher::Shared(SharedDispatcher::start(setup)?),
                DispatcherKind::Pinned => Dispatcher::Pinned(Pinned::new(setup)),
                DispatcherKind::ExecutorDispatcher(threads) => {
                    Dispatcher::Executor(ExecutorDispatcher::new(setup, Arc::clone(&threads.0)))
                }
                DispatcherKind::Calling => {
                    Dispatcher::CallingThread(Calling::new(setup.name, setup.limits))
                }
            })
        })
    }

    /// Returns the setup with which the dispatcher is made.
    pub(crate) fn setup(&self, name: &str, core: &Arc<Core>, around: &Around) -> Setup {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let workers = self.workers.unwrap_or_else(|| workers_for(cores()));
        let turn_log = core.turn_log(name);
        Setup {
            node: core.name.to_string(),
            creation: core.creation,
            name: name.to_owned(),
            workers,
            spares: self.spares.unwrap_or(workers).min(workers),
            classes: self.classes,
            limits: TurnLimits {
                throughput: NonZeroU32::new(self.throughput).unwrap_or(NonZeroU32::MIN),
                deadline: self.deadline,
                spans: core.spans.load(Ordering::Relaxed),
            },
            long_turn: self.long_turn,
            stack_size: self.stack_size,
            time: Time { clock: Arc::clone(&core.clock), timers: Arc::clone(&core.timers) },
            processes: Arc::clone(&turn_log.processes),
            turn_log,
            records: Arc::clone(&core.records),
            around: Arc::clone(around),
        }
    }

    /// Checks the options, for a dispatcher of this name.
    pub(crate) fn check(&self, name: &str) -> Result<(), NodeError> {
        let dispatcher = name.to_owned();
        let workers = self.workers.unwrap_or(LEAST_WORKERS);
        if self.throughput == 0 {
            return Err(NodeError::ZeroThroughput { dispatcher });
        }
        if self.deadline == Some(Duration::ZERO) {
            return Err(NodeError::ZeroDeadline { dispatcher });
        }
        if self.long_turn == Some(Duration::ZERO) {
            return Err(NodeError::ZeroLongTurn { dispatcher });
        }
        if let Some(bytes) = self.stack_size.filter(|bytes| !STACK_SIZES.contains(bytes)) {
            return Err(NodeError::StackSize { dispatcher, bytes });
        }
        if !(1..=MOST_WORKERS).contains(&workers) {
            return Err(NodeError::Workers { dispatcher, workers });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_long_turns_are_reported_on_shared_dispatchers_and_on_others_if_enabled() {
        struct Drops;
        impl Executor for Drops {
            fn execute(&self, task: crate::ExecutorTask) -> Result<(), crate::ExecutorTask> {
                Err(task)
            }
        }
        let limit = Duration::from_millis(7);
        assert_eq!(DispatcherOptions::new().long_turn, Some(Duration::from_millis(100)));
        assert_eq!(DispatcherOptions::new().no_long_turn().long_turn, None);
        for other in [
            DispatcherOptions::pinned(),
            DispatcherOptions::executor(Drops),
            DispatcherOptions::calling_thread(),
        ] {
            assert_eq!(other.long_turn, None);
            assert_eq!(other.long_turn(limit).long_turn, Some(limit));
        }
    }

    #[test]
    fn r3_the_default_is_one_worker_per_core_at_least_two_and_at_most_the_limit() {
        assert_eq!([0, 1, 2, 3, 64].map(workers_for), [2, 2, 2, 3, 64]);
        assert_eq!([1024, 1025, usize::MAX].map(workers_for), [1024, 1024, 1024]);
    }
}
