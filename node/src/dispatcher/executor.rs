//! The dispatcher that runs its processes on threads of an external executor (rules R5, R7).
//!
//! ```text
//!   ready ──► task ──► execute ──► runs it, some time, somewhere ──► more to do: ready
//!                         │ refused
//!                         ▼
//!      execute ──► refused again, or dropped: counted, reported, and
//!                                    ├─ killed, or never run: its last turn, here
//!                                    └─ idle in its mailbox; woken after 10 ms, 20 ms, ..
//! ```
//!
//! A task is one turn. A process that the executor refuses is not lost: it goes back to its
//! mailbox, with all its messages, as if it were idle. The next message offers it to the
//! executor again, and if none comes a timer does.

use super::calling_thread::{self, Calling};
use super::setup::Setup;
use super::turn;
use krarup_act::{Alarm, Ready, contain, is_in_process, when_free};
use krarup_gen::{DispatcherStats, Pid, Reason, one_line};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The delay before a refused process is offered again. It doubles with each further refusal
/// until a task is run.
const TRY_AGAIN: Duration = Duration::from_millis(10);
/// The most doublings, which give 1.28 s.
const DOUBLINGS: u32 = 7;

/// Runs tasks: an existing thread pool of the program, an event loop.
///
/// A dispatcher made with [`DispatcherOptions::executor`](crate::DispatcherOptions::executor) gives
/// it one task for each turn of a process. It may run tasks on any thread, in any order and at any
/// time. At most one task of a process exists at any moment.
///
/// ```
/// # use krarup_node::{DispatcherOptions, Executor, Node, ExecutorTask};
/// # use krarup_act::{behavior_fn, Context};
/// # use std::sync::mpsc;
/// /// Runs all tasks on one thread.
/// struct Loop(mpsc::Sender<ExecutorTask>);
///
/// impl Executor for Loop {
///     fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
///         self.0.send(task).map_err(|refused| refused.0)
///     }
/// }
///
/// # fn main() -> krarup_gen::Result {
/// let (tasks, waiting) = mpsc::channel::<ExecutorTask>();
/// let thread = std::thread::spawn(move || waiting.iter().for_each(ExecutorTask::run));
/// let node = Node::builder("demo@localhost")
///     .dispatcher("loop", DispatcherOptions::executor(Loop(tasks)))
///     .start()?;
/// let echo = behavior_fn(|_: Context<()>| async { Ok(()) });
/// node.spawn(move || echo).dispatcher("loop").wait()?;
/// node.stop().wait()?;
/// # drop(node);
/// # thread.join().unwrap();
/// # Ok(())
/// # }
/// ```
///
/// **Affinity.** An executor decides on which thread a process runs. The following one keeps
/// each process on one thread, chosen by the process number: in each turn the process finds what
/// it left in the caches of that thread's core and in its thread-local variables. Threads that
/// pin themselves to a core at their start (`core_affinity::set_for_current`, of the crate of
/// that name) keep their processes on that core too.
///
/// ```
/// # use krarup_node::{DispatcherOptions, Executor, Node, ExecutorTask};
/// # use krarup_act::{behavior_fn, Context};
/// # use std::sync::mpsc;
/// /// A channel to each of the threads.
/// struct ByProcess(Vec<mpsc::Sender<ExecutorTask>>);
///
/// impl Executor for ByProcess {
///     fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
///         let thread = task.pid().id() % self.0.len() as u64;
///         self.0[thread as usize].send(task).map_err(|refused| refused.0)
///     }
/// }
///
/// # fn main() -> krarup_gen::Result {
/// let (channels, threads): (Vec<_>, Vec<_>) = (0..2)
///     .map(|core| {
///         let (tasks, waiting) = mpsc::channel::<ExecutorTask>();
///         let run = move || {
///             // Here the thread would pin itself to `core`.
///             waiting.iter().for_each(ExecutorTask::run);
///         };
///         let thread = std::thread::Builder::new().name(format!("core-{core}")).spawn(run);
///         (tasks, thread.unwrap())
///     })
///     .unzip();
/// let node = Node::builder("demo@localhost")
///     .dispatcher("by-process", DispatcherOptions::executor(ByProcess(channels)))
///     .start()?;
/// let process = behavior_fn(|mut ctx: Context<()>| async move {
///     let home = std::thread::current().id();
///     for _ in 0..100 {
///         ctx.address().send(())?;
///         ctx.receive().await;
///         assert_eq!(std::thread::current().id(), home);
///     }
///     Ok(())
/// });
/// node.spawn(move || process).dispatcher("by-process").wait()?;
/// node.stop().wait()?;
/// # drop(node);
/// # threads.into_iter().for_each(|thread| thread.join().unwrap());
/// # Ok(())
/// # }
/// ```
pub trait Executor: Send + Sync + 'static {
    /// Runs the task, now or later, on any thread.
    ///
    /// The dispatcher may call this on any thread, including within a turn, so it should only
    /// queue the task. A task that is run within a turn waits for the end of that turn. No lock
    /// of the node is held, so the executor may use the node for anything that does not wait for
    /// a process.
    ///
    /// # Errors
    /// Returns the task if the executor refuses it. The task is then offered once more. If it is
    /// refused again, its process becomes idle and is offered again later (rule R7). Dropping a
    /// task, or panicking with it, is a refusal.
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask>;

    /// Whether all tasks of a process run on one thread, so that it may keep what is not `Send`
    /// ([`local_behavior_fn`](krarup_act::local_behavior_fn), rule R8): the loop of a user interface does that.
    /// False unless overridden.
    fn keeps_to_one_thread(&self) -> bool {
        false
    }
}

/// One turn of a process, to be run by an [`Executor`].
#[must_use = "a task that is dropped is refused"]
pub struct ExecutorTask {
    dispatcher: Arc<ExecutorDispatcher>,
    ready: Option<Ready>,
}

impl ExecutorTask {
    fn new(dispatcher: Arc<ExecutorDispatcher>, ready: Ready) -> Self {
        ExecutorTask { dispatcher, ready: Some(ready) }
    }

    /// The pid of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.ready.as_ref().map_or(Pid::local(0, 0), Ready::pid)
    }

    /// Runs the turn. If the process has more to do afterwards, a new task goes to the executor.
    pub fn run(mut self) {
        if let Some(ready) = self.ready.take() {
            self.dispatcher.run(ready);
        }
    }
}

impl Drop for ExecutorTask {
    fn drop(&mut self) {
        if let Some(ready) = self.ready.take() {
            self.dispatcher.refused(ready);
        }
    }
}

impl fmt::Debug for ExecutorTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExecutorTask({})", self.pid())
    }
}

pub(crate) struct ExecutorDispatcher {
    setup: Setup,
    executor: Arc<dyn Executor>,
    /// Runs processes that the executor will not run: on the current thread, after its turn.
    last: Arc<Calling>,
    stopped: AtomicBool,
    turns: AtomicU64,
    refused: AtomicU64,
    /// Refusals since a task was last run.
    in_a_row: AtomicU32,
}

thread_local! {
    /// Whether this thread is inside an executor's `execute`.
    static OFFERS: Cell<bool> = const { Cell::new(false) };
}

impl ExecutorDispatcher {
    /// Whether the executor keeps a process on one thread.
    pub(crate) fn keeps_to_one_thread(&self) -> bool {
        self.executor.keeps_to_one_thread()
    }

    pub(crate) fn new(setup: Setup, executor: Arc<dyn Executor>) -> Arc<Self> {
        Arc::new(ExecutorDispatcher {
            last: Calling::new(setup.name.clone(), setup.limits),
            setup,
            executor,
            stopped: AtomicBool::new(false),
            turns: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            in_a_row: AtomicU32::new(0),
        })
    }

    pub(crate) fn schedule(self: &Arc<Self>, ready: Ready) {
        let dispatcher = Arc::clone(self);
        // The executor is user code: do not call it under the lock of a pool.
        when_free(move || dispatcher.offer(ready));
    }

    fn offer(self: Arc<Self>, ready: Ready) {
        if self.stopped.load(Ordering::SeqCst) {
            return self.last.schedule(ready);
        }
        let mut task = ExecutorTask::new(Arc::clone(&self), ready);
        for _ in 0..2 {
            let outer = OFFERS.replace(true);
            let executor = contain(|| self.executor.execute(task));
            OFFERS.set(outer);
            match executor {
                Ok(Ok(())) => return,
                Ok(Err(refused)) => task = refused,
                Err(panic) => {
                    // The unwinding dropped the task, which counted as a refusal.
                    let dispatcher = self.setup.name.as_str();
                    // The log subscriber is user code too.
                    let _ = contain(|| {
                        tracing::error!(target: "krarup", dispatcher, panic = %one_line(&panic), "an executor panicked");
                    });
                    return;
                }
            }
        }
        drop(task);
    }

    fn run(self: &Arc<Self>, ready: Ready) {
        self.in_a_row.store(0, Ordering::Relaxed);
        if is_in_process() || OFFERS.get() || self.stopped.load(Ordering::SeqCst) {
            // Not within another turn, and not in ever deeper recursion.
            return self.last.schedule(ready);
        }
        self.turns.fetch_add(1, Ordering::Relaxed);
        let run = |ready| turn::run(ready, &self.setup.limits);
        // An executor does not tell its threads apart.
        let again = self.setup.turn_log.run(0, ready, run);
        calling_thread::after_turn(|_| {});
        if let Some(again) = again {
            self.schedule(again);
        }
    }

    /// Puts a refused process back to its mailbox.
    #[cold]
    fn refused(self: &Arc<Self>, ready: Ready) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let row = self.in_a_row.fetch_add(1, Ordering::Relaxed);
        let (pid, dispatcher) = (ready.pid(), self.setup.name.as_str());
        let put_back = ready.put_back(|| {
            Reason::error(format!("the executor of dispatcher {dispatcher:?} refused the process"))
        });
        // The log subscriber is user code.
        let _ = contain(|| {
            tracing::error!(target: "krarup", %pid, dispatcher, "an executor refused a process twice");
        });
        match put_back {
            Ok(waker) => {
                let wait = TRY_AGAIN * (1 << row.min(DOUBLINGS));
                let time = &self.setup.time;
                time.timers.set_internal(time.clock.now() + wait, Alarm::Wake(waker));
            }
            Err(ready) => self.last.schedule(ready),
        }
    }

    /// From now on each process that becomes ready runs its last turn on the thread that makes
    /// it ready: the node has stopped, and the process was killed.
    pub(crate) fn signal_stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        DispatcherStats::new(self.setup.name.clone(), 0).with(|stats| {
            stats.turns = self.turns.load(Ordering::Relaxed) + self.last.stats().turns;
            stats.scheduled = stats.turns;
            stats.refused = self.refused.load(Ordering::Relaxed);
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
