//! The builder of a node.

use crate::applications::application::Application;
#[cfg(feature = "settings")]
use crate::applications::configured::configure;
use crate::applications::error::ApplicationError;
use crate::applications::table::declared;
use crate::block_on::block_on;
use crate::core::{Core, DispatcherHost};
use crate::dispatcher::process_barrier;
use crate::dispatchers::{Dispatchers, Named};
use crate::error::NodeError;
use crate::mailbox_alarm::{self, FIRST};
use crate::node::Node;
use crate::options::{DEFAULT, DispatcherOptions};
use crate::runtime;
#[cfg(feature = "settings")]
use crate::settings::ApplicationSettings;
use crate::side_threads::blocking::{Blocking, KEEP_ALIVE};
use crate::side_threads::pools;
use crate::stop::shutdown::stop_machine;
use crate::stop::stop::{NodeStop, Stopper};
use crate::threads::{self, Around, ThreadName};
use crate::timers::clock::Clock;
use krarup_act::{Host, Propagation, is_in_process, note_panic_locations};
use krarup_gen::{CannotWait, Name, NameError};
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The default limit of side threads for blocking work.
const BLOCKING_THREADS: usize = 512;

/// A node that has not been started yet.
#[must_use = "the node is not running until it is started"]
pub struct NodeBuilder {
    name: Option<Result<Name, NameError>>,
    default: DispatcherOptions,
    others: Vec<(String, Named)>,
    /// Dispatchers from a settings file, which those in `others` replace.
    below: Vec<(String, Named)>,
    blocking_threads: usize,
    blocking_pools: Vec<(String, usize)>,
    /// Those of a file, which the program may override.
    pools_below: Vec<(String, usize)>,
    stop_timeout: Duration,
    allows_panic_abort: bool,
    mailbox_alarm: Option<usize>,
    spans: bool,
    applications: Vec<Application>,
    #[cfg(feature = "settings")]
    application_settings: ApplicationSettings,
    propagation: Option<Propagation>,
    #[cfg(feature = "tokio")]
    tokio: Option<tokio::runtime::Handle>,
}

impl Node {
    /// Starts a node with the default options.
    ///
    /// The first node in a program installs a panic hook in front of the existing one, to learn
    /// where a panic was raised. The existing hook still runs. A hook that is installed later
    /// should call the one it replaces, or the reasons of crashed processes have no location.
    ///
    /// # Errors
    /// The name is empty or over 255 bytes, or a thread cannot be started.
    pub fn start(name: impl AsRef<str>) -> Result<Node, NodeError> {
        Node::builder(name).start()
    }

    /// Returns a builder for a node with this name.
    pub fn builder(name: impl AsRef<str>) -> NodeBuilder {
        NodeBuilder::unnamed().name(name)
    }
}

impl NodeBuilder {
    /// A builder without a name. It cannot start a node before it has one.
    pub(crate) fn unnamed() -> Self {
        NodeBuilder {
            name: None,
            default: DispatcherOptions::default(),
            others: Vec::new(),
            below: Vec::new(),
            blocking_threads: BLOCKING_THREADS,
            blocking_pools: Vec::new(),
            pools_below: Vec::new(),
            stop_timeout: NodeStop::DEFAULT_TIMEOUT,
            allows_panic_abort: false,
            mailbox_alarm: Some(FIRST),
            spans: false,
            applications: Vec::new(),
            #[cfg(feature = "settings")]
            application_settings: ApplicationSettings::default(),
            propagation: None,
            #[cfg(feature = "tokio")]
            tokio: None,
        }
    }

    /// Sets the name of the node, 1 to 255 bytes. It replaces an earlier one.
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(Name::new(name));
        self
    }

    /// Sets the number of worker threads of the default dispatcher, 1 to 1024 (rule R3).
    pub fn workers(mut self, workers: usize) -> Self {
        self.default = self.default.workers(workers);
        self
    }

    /// Sets the options of the default dispatcher.
    pub fn options(mut self, options: DispatcherOptions) -> Self {
        self.default = options;
        self
    }

    /// Adds a dispatcher with threads of its own, for processes spawned with
    /// `.dispatcher(name)`: a bulkhead. It is started when its first process is spawned (rule
    /// R5). The name has 1 to 255 bytes.
    pub fn dispatcher(mut self, name: impl Into<String>, options: DispatcherOptions) -> Self {
        self.others.push((name.into(), Named::Own(options)));
        self
    }

    /// Adds another name for a dispatcher, which may be the default one or another alias.
    /// Processes spawned with either name share its threads. A library can so have a dispatcher
    /// name of its own, and the program that sets up the node decides what it stands for.
    pub fn dispatcher_alias(self, alias: impl Into<String>, of: impl Into<String>) -> Self {
        self.dispatcher_alias_at(alias.into(), of.into(), None)
    }

    /// As [`NodeBuilder::dispatcher_alias`], with the place in the settings that says so.
    pub(crate) fn dispatcher_alias_at(
        mut self,
        alias: String,
        of: String,
        said_at: Option<String>,
    ) -> Self {
        self.others.push((alias, Named::Alias { of, said_at }));
        self
    }

    /// Sets the tables of the applications' settings.
    #[cfg(feature = "settings")]
    pub(crate) fn application_settings(mut self, settings: ApplicationSettings) -> Self {
        self.application_settings = settings;
        self
    }

    /// Lets later calls override the dispatchers and the pools added so far.
    #[cfg(feature = "settings")]
    pub(crate) fn lay_below(mut self) -> Self {
        self.below.append(&mut self.others);
        self.pools_below.append(&mut self.blocking_pools);
        self
    }

    /// Sets the most side threads for work given to [`Context::block`](krarup_act::Context::block),
    /// 1 to 16384; the default is 512. They are started when they are needed and end after 10 s
    /// without work. Further work waits. If pieces of work wait for each other and there are fewer
    /// threads than such pieces, they can wait for ever.
    pub fn blocking_threads(mut self, threads: usize) -> Self {
        self.blocking_threads = threads;
        self
    }

    /// Adds a pool of side threads for work given to
    /// [`Context::block_in`](krarup_act::Context::block_in) with this name of 1 to 255 bytes. It has at most
    /// `threads` threads, 1 to 16384, which start and end like those of
    /// [`NodeBuilder::blocking_threads`]. They are named `<node>-block-<pool>-<n>`.
    ///
    /// ```
    /// # use krarup_act::{behavior_fn, Context};
    /// # use krarup_node::Node;
    /// # fn main() -> krarup_gen::Result {
    /// let node = Node::builder("files@localhost").blocking_pool("disk", 4).start()?;
    /// let reader = behavior_fn(|ctx: Context<()>| async move {
    ///     let text = ctx.block_in("disk", || std::fs::read_to_string("/etc/hostname")).await?;
    ///     println!("{text:?}");
    ///     Ok(())
    /// });
    /// node.spawn(move || reader).wait()?;
    /// node.stop().wait()
    /// # }
    /// ```
    pub fn blocking_pool(mut self, name: impl Into<String>, threads: usize) -> Self {
        self.blocking_pools.push((name.into(), threads));
        self
    }

    /// Sets how long the processes have for an orderly end when the node stops, before they are
    /// killed. The default is 10 s. [`NodeStop::timeout`] overrides it for one stop. It applies
    /// to every stop, including that by dropping the last handle and that of
    /// [`Node::stop_with`].
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.stop_timeout = timeout;
        self
    }

    /// Lets the node start in a program that is compiled with `panic = "abort"`. Otherwise that
    /// is an error ([`NodeError::PanicAborts`]): no panic can be caught then, so a panic in one
    /// process ends the whole program, no supervisor restarts anything, and `terminate` does not
    /// run. Processes that fail with `Err(reason)` are restarted as usual.
    ///
    /// This is for programs that are themselves restarted from outside and want a core dump at
    /// the first panic. In a program that unwinds it has no effect.
    pub fn allow_panic_abort(mut self) -> Self {
        self.allows_panic_abort = true;
        self
    }

    /// Sets the number of waiting messages at which a mailbox is reported, and again at each
    /// doubling: its process cannot keep up, or hangs (rule M11). The warning is an event of
    /// `tracing` with the target `krarup`, and is counted in
    /// [`NodeStats::deep_mailboxes`](krarup_gen::NodeStats::deep_mailboxes).
    ///
    /// The default is 10 000, which is also the minimum. The number is rounded up to a multiple
    /// of 16. `None` reports no mailbox.
    pub fn mailbox_alarm(mut self, messages: impl Into<Option<usize>>) -> Self {
        self.mailbox_alarm = messages.into();
        self
    }

    /// Runs each turn in a span of `tracing` named `process`, with the fields `pid`, `name` and
    /// `behavior`, target `krarup`, level `INFO`, so that log events of a handler carry its
    /// process. Off by default, because each turn then costs a span.
    pub fn spans(mut self) -> Self {
        self.spans = true;
        self
    }

    /// Adds an application. [`NodeBuilder::start`] starts all of them, each after those that it
    /// needs and otherwise in the order in which they were given, except those that are
    /// [`on_request`](Application::on_request) (rules A1 to A3). It waits for that, so it must be
    /// called on a plain thread.
    pub fn application(mut self, application: Application) -> Self {
        self.applications.push(application);
        self
    }

    /// Sets where traces begin on this node, and what their spans are tied to. By default none
    /// begins, and contexts that are brought along travel with messages and calls
    /// ([`TraceContext::enter`](krarup_act::TraceContext::enter)).
    ///
    /// ```
    /// # use krarup_act::{Propagation, TraceSampler};
    /// # use krarup_node::Node;
    /// # fn main() -> krarup_gen::Result {
    /// let sampled = Propagation::new().sampler(TraceSampler::per_second(10));
    /// let node = Node::builder("shop@localhost").propagation(sampled).start()?;
    /// # drop(node);
    /// # Ok(())
    /// # }
    /// ```
    pub fn propagation(mut self, propagation: Propagation) -> Self {
        self.propagation = Some(propagation);
        self
    }

    /// Runs the workers and side threads within this tokio runtime, so that handlers can await
    /// tokio futures (feature `tokio`). The runtime must live longer than the node.
    #[cfg(feature = "tokio")]
    pub fn tokio(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.tokio = Some(runtime);
        self
    }

    /// Starts the node.
    ///
    /// # Errors
    /// [`NodeError`]. In that case no thread is left running.
    #[cfg_attr(not(feature = "settings"), allow(unused_mut, reason = "settings are moved out"))]
    pub fn start(mut self) -> Result<Node, NodeError> {
        check_panics(cfg!(panic = "abort"), self.allows_panic_abort)?;
        check_applications(&self.applications)?;
        #[cfg(feature = "settings")]
        configure(&mut self.applications, &self.application_settings)?;
        let around = self.around();
        let name = self.name.ok_or(NodeError::NoName)??;
        self.default.check(DEFAULT)?;
        let dispatchers = Dispatchers::of(self.others, self.below)?;
        if !(1..=pools::MOST_BLOCKING_THREADS).contains(&self.blocking_threads) {
            return Err(NodeError::BlockingThreads(self.blocking_threads));
        }
        mailbox_alarm::check(self.mailbox_alarm)?;
        let pools = pools::laid_over(self.blocking_pools, self.pools_below)?;
        tracing::debug!(
            target: "krarup", %name, default = ?self.default, others = ?dispatchers,
            blocking_threads = self.blocking_threads, blocking_pools = ?pools,
            stop_timeout = ?self.stop_timeout, mailbox_alarm = ?self.mailbox_alarm, spans = self.spans,
            "the node starts"
        );
        note_panic_locations();
        let blocking = Blocking::new(
            name.as_str(),
            "block",
            self.blocking_threads,
            KEEP_ALIVE,
            Arc::clone(&around),
        );
        process_barrier::prepare_early();
        let core = Core::new(name, rand::random::<u32>().max(1), Clock::real(), blocking);
        core.mailbox_alarm.set(self.mailbox_alarm);
        core.set_around(&around);
        core.spans.store(self.spans, Ordering::Relaxed);
        if let Some(propagation) = self.propagation {
            core.set_propagation(propagation);
        }
        for (pool, threads) in &pools {
            let (node, role) = (core.name.as_str(), format!("block-{pool}"));
            let own = Blocking::new(node, &role, *threads, KEEP_ALIVE, Arc::clone(&around));
            core.blocking.add(pool, own)?;
        }
        let started = start_threads(&core, &self.default, &dispatchers, &around);
        if started.is_err() {
            stop_machine(&core);
        }
        let (host, timer) = started.map_err(NodeError::Thread)?;
        let has_applications = !self.applications.is_empty();
        let declared = core.applications.declare(self.applications, host.now());
        let node = Node::on(host, Stopper::new(self.stop_timeout, vec![timer]));
        if has_applications {
            declared?;
            let started = block_on(pin!(node.start_with_node()));
            if let Err(error) = started {
                // Whoever cannot be ended is reported; the error of the start says why.
                let _ = node.stop().wait();
                return Err(error.into());
            }
        }
        Ok(node)
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

/// Checks the panic strategy. The profile decides it for a whole program, so this crate's
/// strategy is the program's.
fn check_panics(abort: bool, allowed: bool) -> Result<(), NodeError> {
    if abort && !allowed { Err(NodeError::PanicAborts) } else { Ok(()) }
}

/// Checks the applications, and that this thread can wait for their start.
fn check_applications(applications: &[Application]) -> Result<(), ApplicationError> {
    declared(applications)?;
    if !applications.is_empty() && is_in_process() {
        return Err(ApplicationError::CannotWait(CannotWait::InProcess));
    }
    if !applications.is_empty() && runtime::drives_this_thread() {
        return Err(ApplicationError::CannotWait(CannotWait::InRuntime));
    }
    Ok(())
}

/// Starts the default dispatcher and the timer thread. The other dispatchers start when they are
/// first used. Returns the default host and the timer thread's handle.
fn start_threads(
    core: &Arc<Core>,
    default: &DispatcherOptions,
    others: &Dispatchers,
    around: &Around,
) -> io::Result<(Arc<DispatcherHost>, thread::JoinHandle<()>)> {
    for (name, options) in &others.own {
        core.plan(name, options.plan(name, core, around));
    }
    for (alias, of) in &others.aliases {
        core.alias_dispatcher(alias, of);
    }
    let dispatcher = default.plan(DEFAULT, core, around)()?;
    let host = core.settle(DEFAULT, DEFAULT, dispatcher);
    let timers = Arc::clone(&core.timers);
    let clock = Arc::clone(&core.clock);
    let name = ThreadName { node: core.name.as_str(), role: "timer", number: None };
    let timer = threads::start(name, move || timers.run(&clock))?;
    Ok((host, timer))
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder")
            .field("name", &self.name)
            .field("default", &self.default)
            .field("others", &self.others)
            .field("below", &self.below)
            .field("blocking_threads", &self.blocking_threads)
            .field("blocking_pools", &self.blocking_pools)
            .field("pools_below", &self.pools_below)
            .field("stop_timeout", &self.stop_timeout)
            .field("mailbox_alarm", &self.mailbox_alarm)
            .field("spans", &self.spans)
            .field("applications", &self.applications)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeError, check_panics};

    #[test]
    fn d4_a_program_whose_panics_abort_starts_no_node_unless_that_is_allowed() {
        let refused = check_panics(true, false).unwrap_err();
        assert!(matches!(refused, NodeError::PanicAborts));
        assert!(refused.to_string().contains("allow_panic_abort"));
        for (abort, allowed) in [(true, true), (false, false), (false, true)] {
            assert!(check_panics(abort, allowed).is_ok());
        }
    }
}
