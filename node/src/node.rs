//! The node.

use crate::applications::error::StartApplicationError;
use crate::applications::info::ApplicationInfo;
use crate::applications::start;
use crate::applications::stop::StopApplication;
use crate::core::DispatcherHost;
use crate::stop::guard;
use crate::stop::stop::{NodeStop, Stopper};
use crate::stop::stopped::Stopped;
use krarup_act::{
    Address, Behavior, Dynamic, EventTopic, Host, LookupOrWait, NamedAddress, NodeClock, NodeView,
    Outside, Pending, Process, Recipient, ShownState, Spawn, SpawnTask, SpawnTasks, Subscription,
    TraceReader, TurnRecording, Via, Watch, address_of, inspect, inspect_items, lookup,
    send_dynamic, state, suspend, watch,
};
use krarup_gen::{
    CallError, CannotWait, DeadLetter, DebugError, Destination, Exit, Inspection, Lifecycle,
    LookupError, ManageError, Managed, Management, Memory, Name, NameError, NodeStats, Pid,
    ProcessInfo, ProcessTree, Reason, RecordError, RecordTurnsError, Recorded, RecordedItem,
    SendError, SpawnError, Target, Timestamp, TraceError, TraceLimits, TurnRecordingLimits,
};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// A node: a registry of processes and the dispatchers that run them.
///
/// Nodes are values. Any number of them live in one operating system process and share nothing
/// (rule X1).
///
/// A clone is another handle on the same node. When the last handle is dropped, the node stops
/// in the background. A process that holds a handle, for example one moved into its factory,
/// prevents that; such a node must be stopped explicitly. Most processes need no handle, because
/// a [`Context`](krarup_act::Context) spawns, looks up and sends.
#[derive(Clone)]
pub struct Node {
    inner: Arc<NodeInner>,
}

struct NodeInner {
    host: Arc<DispatcherHost>,
    stopper: Arc<Stopper>,
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        self.stopper.begin(&self.host, self.stopper.timeout, Stopped::requested());
    }
}

impl Node {
    pub(crate) fn on(host: Arc<DispatcherHost>, stopper: Stopper) -> Self {
        Node { inner: Arc::new(NodeInner { host, stopper: Arc::new(stopper) }) }
    }

    pub(crate) fn dispatcher_host(&self) -> &Arc<DispatcherHost> {
        &self.inner.host
    }

    fn host(&self) -> Arc<dyn Host> {
        Arc::clone(self.dispatcher_host()) as Arc<dyn Host>
    }

    /// The name of the node.
    #[must_use]
    pub fn name(&self) -> &str {
        self.dispatcher_host().core.name.as_str()
    }

    /// Returns the node's current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.dispatcher_host().now()
    }

    /// Returns the wall time: the system's, or the virtual one of a simulation, which begins at
    /// 2000-01-01 00:00 UTC (rule T6). It can be set back or forward at any moment, so it is for
    /// dates; for durations and timers use [`Node::now`].
    #[must_use]
    pub fn wall_time(&self) -> SystemTime {
        self.dispatcher_host().wall_time()
    }

    /// Returns the clock of the node, for futures: of a simulation it is virtual.
    #[must_use]
    pub fn clock(&self) -> NodeClock {
        NodeClock::of(self.host())
    }

    /// Returns a view of the node, which does not keep it alive and does not stop it.
    #[must_use]
    pub fn view(&self) -> NodeView {
        NodeView::of(&self.host())
    }

    /// Sets how many crash reports, decisions of supervisors and the like the node remembers from
    /// now on, for [`NodeView::crashes`] and its siblings. The default is none. The last call
    /// counts.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_gen::Memory;
    /// # fn main() -> krarup_gen::Result {
    /// let sim = Simulation::new(1);
    /// sim.remember(Memory { crashes: 256, restarts: 1024, ..Memory::default() });
    /// assert_eq!(sim.view().crashes(0, 50).items.len(), 0);
    /// # sim.stop().wait()
    /// # }
    /// ```
    pub fn remember(&self, memory: Memory) {
        self.dispatcher_host().core.records.remember(memory);
    }

    /// Spawns a process. `factory` runs in the process's own first turn (rule D1).
    ///
    /// ```no_run
    /// # use krarup_node::Node;
    /// # use krarup_act::{behavior_fn, Context};
    /// # fn main() -> krarup_gen::Result {
    /// let node = Node::start("demo@localhost")?;
    /// let address = node
    ///     .spawn(|| behavior_fn(|mut ctx: Context<u32>| async move {
    ///         println!("{:?}", ctx.receive().await);
    ///         Ok(())
    ///     }))
    ///     .name("printer")
    ///     .wait()?;
    /// address.send(1)?;
    /// # node.stop().wait()
    /// # }
    /// ```
    pub fn spawn<B, F>(&self, factory: F) -> Spawn<B, F, Outside>
    where
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        Spawn::outside(self.host(), factory)
    }

    /// Runs a future in a process of its own, whose owner is the node (rule J10). As
    /// `Context::task`, with `.wait()` for plain threads.
    ///
    /// ```
    /// # use krarup_gen::{Result, TaskError};
    /// # use krarup_node::Node;
    /// # fn main() -> Result {
    /// let node = Node::start("demo@localhost")?;
    /// assert_eq!(node.task(async { 6 * 7 }).wait(), Ok(42));
    /// # node.stop().wait()
    /// # }
    /// ```
    pub fn task<F>(&self, future: F) -> SpawnTask<F, Outside>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        SpawnTask::outside(self.host(), future)
    }

    /// Runs a future of each input as a task of the node, some of them at once. As
    /// `Context::tasks`, with `.wait()` for plain threads.
    pub fn tasks<I>(&self, futures: I) -> SpawnTasks<I::IntoIter, Outside>
    where
        I: IntoIterator<Item: Future<Output: Send + 'static> + Send + 'static>,
    {
        SpawnTasks::outside(self.host(), futures.into_iter())
    }

    /// Spawns a service: a process below the system root, as are all processes that it spawns
    /// (rule X6). A stop asks it to end when the last process below the user root has ended, so
    /// it serves those processes in their `terminate` and is notified of their end. Services are
    /// for loggers, metrics and shared connections. Otherwise this is like [`Node::spawn`].
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context};
    /// # fn main() -> krarup_gen::Result {
    /// let sim = Simulation::new(1);
    /// let logger = || behavior_fn(|mut ctx: Context<String>| async move {
    ///     loop {
    ///         println!("{:?}", ctx.receive().await);
    ///     }
    /// });
    /// let logger = sim.spawn_system(logger).name("logger").wait()?;
    /// assert_eq!(logger.info().root.to_string(), "system");
    /// # sim.stop().wait()
    /// # }
    /// ```
    pub fn spawn_system<B, F>(&self, factory: F) -> Spawn<B, F, Outside>
    where
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        Spawn::outside(self.dispatcher_host().of_system() as Arc<dyn Host>, factory)
    }

    /// Stops the node, as [`Node::stop`] does, when this process ends for any reason, or now if
    /// it has ended already (rule X6).
    ///
    /// Without it, the end of a top-level process ends no other process; restarting it, or
    /// stopping more, is the task of a supervisor. It costs a process below the system root,
    /// which monitors this one.
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`]: the node stops already. [`SpawnError::NoConnection`]: the
    /// process belongs to another node, and is not monitored.
    pub fn stop_with(&self, pid: Pid) -> Result<(), SpawnError> {
        guard::stop_with(self.dispatcher_host(), &self.inner.stopper, pid)
    }

    /// Returns the pid of the process with this name.
    #[must_use]
    pub fn whereis(&self, name: &str) -> Option<Pid> {
        self.dispatcher_host().whereis(name).map(|process| process.pid())
    }

    /// Returns the typed address of the process with this name. Give the type at the binding:
    /// `let counter: Address<Counter> = node.lookup("counter")?`.
    ///
    /// # Errors
    /// [`LookupError`]: no process has the name, or the process takes other messages.
    pub fn lookup<M, C>(&self, name: &str) -> Result<Address<M, C>, LookupError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        lookup(&**self.dispatcher_host(), name)
    }

    /// Looks a name up as [`Node::lookup`] does, and waits until a process has it: during a start, or
    /// while a supervisor restarts the process (rule H1).
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Address, Context};
    /// # use std::time::Duration;
    /// # fn main() -> krarup_gen::Result {
    /// # let node = Simulation::new(1);
    /// let ready = node.lookup_or_wait("printer").timeout(Duration::from_secs(1));
    /// let printer = || behavior_fn(|mut ctx: Context<u32>| async move {
    ///     ctx.receive().await;
    ///     Ok(())
    /// });
    /// node.spawn(printer).name("printer").wait()?;
    /// let printer: Address<u32> = ready.wait()?;
    /// printer.send(1)?;
    /// # node.stop().wait()
    /// # }
    /// ```
    pub fn lookup_or_wait<M, C>(&self, name: impl AsRef<str>) -> LookupOrWait<M, C>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        LookupOrWait::new(self.host(), name)
    }

    /// Returns the address of whichever process has this name, now or later (rules H2, H3): a handle
    /// for a service that its supervisor may replace. No process need have the name yet.
    ///
    /// # Errors
    /// [`NameError`]: the text is no name.
    pub fn named_address<M, C>(
        &self,
        name: impl AsRef<str>,
    ) -> Result<NamedAddress<M, C>, NameError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        NamedAddress::new(self.host(), name)
    }

    /// Returns the typed address of the process with this pid.
    ///
    /// # Errors
    /// As [`Node::lookup`].
    pub fn address_of<M, C>(&self, pid: Pid) -> Result<Address<M, C>, LookupError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        address_of(&**self.dispatcher_host(), pid)
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.dispatcher_host().core.process(pid)
    }

    /// Sends a value to a pid, a name (a `&str`) or an alias. The receiver's message type must
    /// be the type of the value, unless it takes others
    /// ([`Context::take_others`](krarup_act::Context::take_others)).
    ///
    /// # Errors
    /// [`SendError::WrongType`], and those of [`Address::send`]. All give the value back, as a
    /// [`Dynamic`]. A [`Dynamic`] is not `Sync`, so use `.map_err(SendError::without_message)`
    /// before a `?`.
    pub fn send<'a, T: Send + 'static>(
        &self,
        to: impl Into<Destination<'a>>,
        message: T,
    ) -> Result<(), SendError<Dynamic>> {
        send_dynamic(&**self.dispatcher_host(), to.into(), message)
    }

    /// Whether the process is alive.
    #[must_use]
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.process(pid).is_some()
    }

    /// Sends an exit signal from outside any process (rules L2, L3, L7). Its sender is
    /// `<0.0.0>`. It has no effect on an ended process.
    pub fn exit(&self, pid: Pid, reason: Reason) {
        if let Some(process) = self.process(pid) {
            process
                .exit_signal(Exit { pid: self.dispatcher_host().node_pid(), reason }, Via::Signal);
        }
    }

    /// Kills a process; it cannot prevent that (rule D3).
    pub fn kill(&self, pid: Pid) {
        if let Some(process) = self.process(pid) {
            process.kill();
        }
    }

    /// Watches a process from now on. The returned future completes with the notice of its end;
    /// without such a process it is ready at once, with `NoProcess` (rule L4).
    ///
    /// The target is a pid, a [`Name`](krarup_gen::Name) or an [`Alias`](krarup_gen::Alias); the
    /// process that has the name or the alias now is watched. An alias does not name its node:
    /// here, an alias of another node belongs to no process, or to the process whose alias has
    /// the same number.
    pub fn watch(&self, target: impl Into<Target>) -> Watch {
        watch(self.host(), target.into())
    }

    /// Requests a description of a process (rule X3), and waits up to 5 s for the answer.
    pub fn inspect(&self, pid: Pid) -> Pending<Inspection, CallError> {
        inspect(self.host(), pid, self.process(pid))
    }

    /// As [`Node::inspect`], for these items only; see
    /// [`Address::inspect_items`](krarup_act::Address::inspect_items).
    pub fn inspect_items<I>(&self, pid: Pid, items: I) -> Pending<Inspection, CallError>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let items = items.into_iter().map(Into::into).collect();
        inspect_items(self.host(), pid, self.process(pid), items)
    }

    /// Requests a change of a process whose types are not known (rule X12), and waits up to 5 s for
    /// the answer: see [`NodeView::manage_within`].
    pub fn manage(&self, pid: Pid, request: Management) -> Pending<Managed, ManageError> {
        self.view().manage(pid, request)
    }

    /// Begins to record every turn of the node (rule X13): see [`NodeView::record_turns`].
    ///
    /// # Errors
    /// [`RecordTurnsError`]: the node has stopped, records already, or the limits are out of
    /// bounds.
    pub fn record_turns(
        &self,
        limits: TurnRecordingLimits,
    ) -> Result<TurnRecording, RecordTurnsError> {
        self.view().record_turns(limits)
    }

    /// Returns a snapshot of a process, at once and without its cooperation (rule X3).
    #[must_use]
    pub fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        self.process(pid).map(|process| process.info())
    }

    /// Returns the state of a process, if its behaviour offers it as a `T`
    /// ([`Actor::state`](krarup_act::Actor::state); rule X5).
    pub fn state<T: Send + 'static>(&self, pid: Pid) -> Pending<T, DebugError> {
        state(self.host(), pid, self.process(pid))
    }

    /// Suspends a process: it handles nothing until it is resumed. See [`Address::suspend`]
    /// (rule X5).
    pub fn suspend(&self, pid: Pid) -> Pending<(), DebugError> {
        suspend(self.host(), pid, self.process(pid))
    }

    /// Removes one suspension of a process. Returns whether there was one.
    pub fn resume(&self, pid: Pid) -> bool {
        self.process(pid).is_some_and(Process::resume)
    }

    /// Returns the state of a process as text: see [`NodeView::state_text`].
    pub fn state_text(&self, pid: Pid) -> Pending<ShownState, DebugError> {
        self.view().state_text(pid)
    }

    /// Has a process record the last items that it takes: see [`NodeView::record`].
    ///
    /// # Errors
    /// [`RecordError`]; nothing has changed.
    pub fn record(&self, pid: Pid, items: usize) -> Result<(), RecordError> {
        self.view().record(pid, items)
    }

    /// Returns the items that a process has recorded: see [`NodeView::recorded`].
    #[must_use]
    pub fn recorded(&self, pid: Pid) -> Vec<Recorded<RecordedItem>> {
        self.view().recorded(pid)
    }

    /// Traces a process: see [`NodeView::trace`].
    ///
    /// # Errors
    /// [`TraceError`]; nothing is traced.
    pub fn trace(&self, pid: Pid, limits: TraceLimits) -> Result<TraceReader, TraceError> {
        self.view().trace(pid, limits)
    }

    /// Ends the trace of a process. Returns whether one was running.
    pub fn untrace(&self, pid: Pid) -> bool {
        self.view().untrace(pid)
    }

    /// Logs what a process receives from now on, as `tracing` events of the target
    /// `krarup::trace`. Returns whether there is such a process. [`Address::trace`] also shows
    /// the messages (rule X5).
    pub fn trace_to_log(&self, pid: Pid) -> bool {
        let process = self.process(pid);
        process.map(|process| process.trace(true)).is_some()
    }

    /// Removes the tracer of a process. Returns whether there is such a process.
    pub fn stop_trace(&self, pid: Pid) -> bool {
        let process = self.process(pid);
        process.map(|process| process.trace(false)).is_some()
    }

    /// Subscribes a process to all dead letters for other processes, from now on and for its
    /// lifetime; they are exempt from its mailbox bound (rules M7, D7). Subscribing again
    /// replaces the first subscription.
    ///
    /// A failed send returns the message to the sender, and messages that were accepted but not
    /// handled have been dropped, so dead letters describe messages and do not hold them.
    ///
    /// If the subscriber is slow, its mailbox grows without a bound. If it sends to an ended
    /// process whenever it is notified, it causes the next dead letter itself.
    pub fn subscribe_dead_letters(&self, who: Recipient<DeadLetter>) {
        self.dispatcher_host().subscribe(Subscription::to_dead_letters(who));
    }

    /// Subscribes a process to the lifecycle of all others, from now on and for its lifetime;
    /// the events are exempt from its mailbox bound (rule X4).
    pub fn subscribe_lifecycle(&self, who: Recipient<Lifecycle>) {
        self.dispatcher_host().subscribe(Subscription::to_lifecycle(who));
    }

    /// Ends a subscription. Returns whether there was one.
    pub fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool {
        self.dispatcher_host().unsubscribe(topic, pid)
    }

    /// Returns all living processes in the order in which they were spawned (rule X4).
    #[must_use]
    pub fn processes(&self) -> Vec<Pid> {
        self.dispatcher_host().core.registry.all().iter().map(|process| process.pid()).collect()
    }

    /// Returns all living processes as trees, each below the process that spawned it (rule X4):
    /// first those of the user root, then those of the system root (rule X6). A process whose
    /// parent has ended is a root. Each tree prints itself, and ends with a newline:
    /// `print!("{tree}")`.
    #[must_use]
    pub fn tree(&self) -> Vec<ProcessTree> {
        let processes = self.dispatcher_host().core.registry.all();
        ProcessTree::arrange(processes.iter().map(|process| process.info()))
    }

    /// Returns the node's statistics (rule X4).
    #[must_use]
    pub fn stats(&self) -> NodeStats {
        self.dispatcher_host().core.stats()
    }

    /// Starts an application of the node, and before it those that it needs (rule A4). Returns the
    /// names of those that this has started, in order: none if it runs already. If it is being
    /// started by another request, this waits for that.
    ///
    /// The start goes on if this is dropped.
    ///
    /// # Errors
    /// [`StartApplicationError`]; what this has started has been stopped again (rule A3).
    pub fn start_application(&self, name: &str) -> Pending<Vec<Name>, StartApplicationError> {
        let (host, stopper) = (Arc::clone(self.dispatcher_host()), Arc::clone(&self.inner.stopper));
        let name = name.to_owned();
        Pending::new(self.host(), async move {
            let Some(wanted) = host.core.applications.named(&name) else {
                return Err(StartApplicationError::Unknown(name));
            };
            start::start(&host, &stopper, &[wanted], false).wait().await
        })
    }

    /// Stops an application (rule A5); see [`StopApplication`].
    pub fn stop_application(&self, name: &str) -> StopApplication {
        StopApplication::new(Arc::clone(self.dispatcher_host()), name.to_owned())
    }

    /// Returns the applications of the node, in the order in which they were given (rule A12).
    #[must_use]
    pub fn applications(&self) -> Vec<ApplicationInfo> {
        self.dispatcher_host().core.applications.infos()
    }

    /// Waits until the node has stopped, and says why (rule A8): for the end of `main`. It does
    /// not stop it.
    ///
    /// ```no_run
    /// # use krarup_gen as krarup;
    /// # use krarup_node::Node;
    /// fn main() -> Result<std::process::ExitCode, krarup::ReasonError> {
    ///     let run = || Ok(Node::start("shop@localhost")?.stopped().wait()?.exit_code());
    ///     run().map_err(krarup::Reason::into_error)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`CannotWait`]: in a process, on a thread that drives a runtime, and in a simulation that
    /// has nothing left to do.
    pub fn stopped(&self) -> Pending<Stopped, CannotWait> {
        let stopped = self.inner.stopper.stopped().wait();
        Pending::new(self.host(), async move { Ok(stopped.await) })
    }

    pub(crate) fn start_with_node(
        &self,
    ) -> impl Future<Output = Result<Vec<Name>, StartApplicationError>> + Send + use<> {
        let host = self.dispatcher_host();
        let wanted = host.core.applications.started_with_node();
        start::start(host, &self.inner.stopper, &wanted, true).wait()
    }

    /// Stops the node in order (rule X2); see [`NodeStop`]. It may be called twice.
    ///
    /// What it fails with is a `Reason`, and no `std::error::Error`. [`Node::run`] starts and stops a node in a `main` that
    /// returns `anyhow::Result` or the like.
    pub fn stop(&self) -> NodeStop {
        NodeStop::new(Arc::clone(self.dispatcher_host()), Arc::clone(&self.inner.stopper))
    }

    /// Returns whether the node is stopping or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.dispatcher_host().core.registry.is_closing()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.name())
    }
}
