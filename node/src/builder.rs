//! Setting up a node.

use crate::blocking::{Blocking, KEEP_ALIVE};
use crate::clock::Clock;
use crate::core::{Core, Dispatcher, Home};
use crate::dispatcher::shared::{Setup, Shared, Time};
use crate::node::Node;
use crate::shutdown::stop_machine;
use crate::stop::Stopper;
use crate::threads::{self, Around};
use krarup_act::{TurnLimits, note_panic_locations};
use krarup_gen::{Name, NameError};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Messages in a turn unless told otherwise.
pub(crate) const THROUGHPUT: u32 = 64;
/// The fewest workers of a dispatcher by default: one can be blocked and another fills
/// in (seeds G-061).
const LEAST_WORKERS: usize = 2;
/// A turn that lasts so long is reported unless told otherwise.
const LONG_TURN: Duration = Duration::from_millis(100);
/// The most workers of one dispatcher.
const MOST_WORKERS: usize = 1024;

/// Side threads for blocking work, at most, unless told otherwise, and at most of all.
const BLOCKING_THREADS: usize = 512;
const MOST_BLOCKING_THREADS: usize = 16_384;

/// The name of the dispatcher that runs what is not told otherwise.
pub(crate) const DEFAULT: &str = "default";

/// A node could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The text cannot be a node's name.
    #[error("invalid node name: {0}")]
    InvalidName(#[from] NameError),
    /// A dispatcher was given no workers, or more than 1024.
    #[error("dispatcher {dispatcher:?} cannot have {workers} workers (1 to {MOST_WORKERS})")]
    Workers {
        /// The dispatcher.
        dispatcher: String,
        /// The number asked for.
        workers: usize,
    },
    /// A dispatcher was given turns of no messages.
    #[error("dispatcher {dispatcher:?} cannot have a throughput of 0 messages")]
    ZeroThroughput {
        /// The dispatcher.
        dispatcher: String,
    },
    /// A dispatcher was given turns of no time.
    #[error("dispatcher {dispatcher:?} cannot have a throughput deadline of zero")]
    ZeroDeadline {
        /// The dispatcher.
        dispatcher: String,
    },
    /// The node was given no side threads for blocking work, or more than 16384.
    #[error("a node cannot have {0} threads for blocking work (1 to {MOST_BLOCKING_THREADS})")]
    BlockingThreads(usize),
    /// A dispatcher was told to report turns of no time.
    #[error("dispatcher {dispatcher:?} cannot report turns of zero length: all are longer")]
    ZeroLongTurn {
        /// The dispatcher.
        dispatcher: String,
    },
    /// Two dispatchers were given one name.
    #[error("dispatcher {0:?} is configured twice")]
    DispatcherTwice(String),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// How a dispatcher runs its processes.
#[derive(Clone, Debug)]
pub struct DispatcherOptions {
    workers: Option<usize>,
    throughput: u32,
    deadline: Option<Duration>,
    spares: Option<usize>,
    long_turn: Option<Duration>,
}

impl Default for DispatcherOptions {
    /// As many workers as cores, at least 2, and as many spares; turns of at most 64
    /// messages, however long, and a warning about those of 100 ms.
    fn default() -> Self {
        DispatcherOptions {
            workers: None,
            throughput: THROUGHPUT,
            deadline: None,
            spares: None,
            long_turn: Some(LONG_TURN),
        }
    }
}

impl DispatcherOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Worker threads, 1 to 1024 (rule R3).
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Messages a process may handle in one turn, at least 1 (rule R1). More is faster,
    /// fewer is fairer.
    #[must_use]
    pub fn throughput(mut self, messages: u32) -> Self {
        self.throughput = messages;
        self
    }

    /// Ends a turn after the message during which this time, more than zero, is over (rule
    /// R1). Costs a look at the clock per message.
    #[must_use]
    pub fn throughput_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Spare workers that fill in, at most, while handlers hold workers and work waits (rule
    /// R4): as many as workers unless told otherwise, and never more. Each is a thread
    /// that ends when it is not needed any more.
    #[must_use]
    pub fn spare_workers(mut self, spares: usize) -> Self {
        self.spares = Some(spares);
        self
    }

    /// A handler that holds its worker for so long, more than zero, without an `await` is
    /// reported: once for each turn, by a warning of `tracing` and in
    /// [`krarup_gen::DispatcherStats::long_turns`] (rule R4). 100 ms unless told otherwise;
    /// noticed up to 20 ms later.
    #[must_use]
    pub fn long_turn(mut self, limit: Duration) -> Self {
        self.long_turn = Some(limit);
        self
    }

    /// Long turns are not reported: for a dispatcher that is there for blocking handlers.
    #[must_use]
    pub fn no_long_turn(mut self) -> Self {
        self.long_turn = None;
        self
    }

    /// What is wrong with them, for a dispatcher of this name.
    fn check(&self, name: &str) -> Result<(), NodeError> {
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
        if !(1..=MOST_WORKERS).contains(&workers) {
            return Err(NodeError::Workers { dispatcher, workers });
        }
        Ok(())
    }
}

/// A node that has not been started yet.
#[must_use = "the node is not running until it is started"]
pub struct NodeBuilder {
    name: Result<Name, NameError>,
    default: DispatcherOptions,
    others: Vec<(String, DispatcherOptions)>,
    blocking_threads: usize,
    #[cfg(feature = "tokio")]
    tokio: Option<tokio::runtime::Handle>,
}

impl Node {
    /// Starts a node with the default options.
    ///
    /// The first node in a program puts a hook before its panic hook, to learn where a panic
    /// was raised; the hook that was there still runs. A hook that is set later should call
    /// the one it replaces, or the reasons of crashed processes have no location.
    ///
    /// # Errors
    /// The name is empty or over 255 bytes, or a thread cannot be started.
    pub fn start(name: impl AsRef<str>) -> Result<Node, NodeError> {
        Node::builder(name).start()
    }

    /// A node to be set up.
    pub fn builder(name: impl AsRef<str>) -> NodeBuilder {
        NodeBuilder {
            name: Name::new(name),
            default: DispatcherOptions::default(),
            others: Vec::new(),
            blocking_threads: BLOCKING_THREADS,
            #[cfg(feature = "tokio")]
            tokio: None,
        }
    }
}

impl NodeBuilder {
    /// Worker threads of the default dispatcher, 1 to 1024 (rule R3).
    pub fn workers(mut self, workers: usize) -> Self {
        self.default = self.default.workers(workers);
        self
    }

    /// Options of the default dispatcher.
    pub fn options(mut self, options: DispatcherOptions) -> Self {
        self.default = options;
        self
    }

    /// Another dispatcher with threads of its own, for processes spawned with
    /// `.dispatcher(name)`: a bulkhead.
    pub fn dispatcher(mut self, name: impl Into<String>, options: DispatcherOptions) -> Self {
        self.others.push((name.into(), options));
        self
    }

    /// Side threads for work given to [`krarup_act::Context::block`], at most; 1 to 16384,
    /// 512 unless told otherwise. They are started when they are needed and end after 10 s
    /// without work. Work beyond them waits, so fewer threads than works that wait for each
    /// other can wait for ever.
    pub fn blocking_threads(mut self, threads: usize) -> Self {
        self.blocking_threads = threads;
        self
    }

    /// Runs the workers and side threads within this tokio runtime, so that tokio futures can be awaited
    /// in handlers.
    #[cfg(feature = "tokio")]
    pub fn tokio(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.tokio = Some(runtime);
        self
    }

    /// Starts the node.
    ///
    /// # Errors
    /// [`NodeError`]; then no thread is left.
    pub fn start(self) -> Result<Node, NodeError> {
        let around = self.around();
        let name = self.name?;
        let mut dispatchers = vec![(DEFAULT.to_owned(), self.default)];
        dispatchers.extend(self.others);
        for (index, (dispatcher, options)) in dispatchers.iter().enumerate() {
            if dispatchers[..index].iter().any(|(earlier, _)| earlier == dispatcher) {
                return Err(NodeError::DispatcherTwice(dispatcher.clone()));
            }
            options.check(dispatcher)?;
        }
        if !(1..=MOST_BLOCKING_THREADS).contains(&self.blocking_threads) {
            return Err(NodeError::BlockingThreads(self.blocking_threads));
        }
        note_panic_locations();
        let blocking =
            Blocking::new(name.as_str(), self.blocking_threads, KEEP_ALIVE, Arc::clone(&around));
        let core = Core::new(name, rand::random::<u32>().max(1), Clock::real(), blocking);
        let started = start_threads(&core, dispatchers, &around);
        if started.is_err() {
            stop_machine(&core);
        }
        let (home, timer) = started.map_err(NodeError::Thread)?;
        Ok(Node::on(home, Stopper::new(vec![timer])))
    }

    #[cfg(feature = "tokio")]
    fn around(&self) -> Around {
        match self.tokio.clone() {
            Some(runtime) => Arc::new(move |work: &mut dyn FnMut()| {
                let _entered = runtime.enter();
                work();
            }),
            None => Arc::new(|work: &mut dyn FnMut()| work()),
        }
    }

    #[cfg(not(feature = "tokio"))]
    #[allow(clippy::unused_self, reason = "with the feature `tokio` it is used")]
    fn around(&self) -> Around {
        Arc::new(|work: &mut dyn FnMut()| work())
    }
}

/// Starts the workers and the timer thread: the default home, and the timer's handle.
fn start_threads(
    core: &Arc<Core>,
    dispatchers: Vec<(String, DispatcherOptions)>,
    around: &Around,
) -> io::Result<(Arc<Home>, thread::JoinHandle<()>)> {
    let mut first = None;
    for (name, options) in dispatchers {
        let cores = || thread::available_parallelism().map_or(1, usize::from).max(LEAST_WORKERS);
        let workers = options.workers.unwrap_or_else(cores);
        let alive = Arc::downgrade(core);
        let setup = Setup {
            thread_prefix: format!("{}-{name}", core.name),
            name: name.clone(),
            workers,
            spares: options.spares.unwrap_or(workers).min(workers),
            limits: TurnLimits { throughput: options.throughput, deadline: options.deadline },
            long_turn: options.long_turn,
            time: Time { clock: Arc::clone(&core.clock), timers: Arc::clone(&core.timers) },
            processes: Arc::new(move |number| alive.upgrade()?.process_by_number(number)),
        };
        let shared = Shared::start(setup, around)?;
        let home = core.add_home(&name, Dispatcher::Shared(shared));
        first.get_or_insert(home);
    }
    let timers = Arc::clone(&core.timers);
    let clock = Arc::clone(&core.clock);
    let timer = threads::start(&format!("{}-timer", core.name), move || timers.run(&clock))?;
    first.map(|home| (home, timer)).ok_or_else(|| io::Error::other("a node without dispatchers"))
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder")
            .field("name", &self.name)
            .field("default", &self.default)
            .field("others", &self.others)
            .field("blocking_threads", &self.blocking_threads)
            .finish_non_exhaustive()
    }
}
