//! The node.

use crate::core::DispatcherHost;
use crate::stop::guard;
use crate::stop::stop::{NodeStop, Stopper};
use krarup_act::{
    Address, Behavior, Dynamic, EventTopic, Host, Monitor, Outside, Pending, Process, Recipient,
    Spawn, Subscription, Via, address_of, inspect, inspect_items, lookup, send_dynamic, state,
    suspend, watch,
};
use krarup_gen::{
    Alias, CallError, DeadLetter, DebugError, Destination, Exit, Inspection, Lifecycle,
    LookupError, Name, NameError, NodeStats, Pid, ProcessInfo, ProcessTree, Reason, SendError,
    SpawnError, Target, Timestamp,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A node: a registry of processes and the dispatchers that run them.
///
/// Nodes are values. Any number of them live in one operating system process and share
/// nothing (rule X1). Cloning gives another handle on the same node; when the last one is
/// dropped, the node stops by itself in the background. A process that holds one, given
/// to it in its factory, keeps the node from that: then it must be stopped. Most
/// processes need none, for a [`krarup_act::Context`] spawns, looks up and sends.
#[derive(Clone)]
pub struct Node {
    inner: Arc<NodeInner>,
}

struct NodeInner {
    home: Arc<DispatcherHost>,
    stopper: Arc<Stopper>,
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        self.stopper.begin(&self.home, self.stopper.timeout);
    }
}

impl Node {
    pub(crate) fn on(home: Arc<DispatcherHost>, stopper: Stopper) -> Self {
        Node { inner: Arc::new(NodeInner { home, stopper: Arc::new(stopper) }) }
    }

    fn home(&self) -> &Arc<DispatcherHost> {
        &self.inner.home
    }

    fn host(&self) -> Arc<dyn Host> {
        Arc::clone(self.home()) as Arc<dyn Host>
    }

    /// The name of the node.
    #[must_use]
    pub fn name(&self) -> &str {
        self.home().core.name.as_str()
    }

    /// The node's time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.home().now()
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

    /// Spawns a service: a process below the system root, as are all that it spawns (rule
    /// X6). At a stop it is asked to end when the last process below the user root has ended,
    /// so it serves them in their `terminate` and hears of their end: for loggers, metrics,
    /// connections that others share. All else is as with [`Node::spawn`].
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
        Spawn::outside(self.home().of_system() as Arc<dyn Host>, factory)
    }

    /// Stops the node, as [`Node::stop`] does, when this process ends, for whatever reason;
    /// now if it has ended already (rule X6). Without it a top-level process that ends takes
    /// nobody along: whatever is to start it anew, or to stop more, is a supervisor's to say.
    /// It costs a process below the system root, which watches.
    ///
    /// # Errors
    /// [`SpawnError::NodeStopping`]: there is nothing left to do then.
    /// [`SpawnError::NoConnection`]: the process is of another node, and nothing watches it.
    pub fn stop_with(&self, pid: Pid) -> Result<(), SpawnError> {
        guard::stop_with(self.home(), &self.inner.stopper, pid)
    }

    /// The process with this name.
    #[must_use]
    pub fn whereis(&self, name: &str) -> Option<Pid> {
        self.home().whereis(name).map(|process| process.pid())
    }

    /// The typed address of the process with this name. Say the type where it goes:
    /// `let counter: Address<Counter> = node.lookup("counter")?`.
    ///
    /// # Errors
    /// [`LookupError`]: nobody has the name, or the process takes other messages.
    pub fn lookup<M, C>(&self, name: &str) -> Result<Address<M, C>, LookupError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        lookup(&**self.home(), name)
    }

    /// The typed address of the process with this pid.
    ///
    /// # Errors
    /// As [`Node::lookup`].
    pub fn address<M, C>(&self, pid: Pid) -> Result<Address<M, C>, LookupError>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        address_of(&**self.home(), pid)
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.home().core.process(pid)
    }

    /// Sends a value to a pid, a name (a `&str`) or an alias; the receiver's message type must
    /// be the value's, unless it takes others ([`krarup_act::Context::take_others`]).
    ///
    /// # Errors
    /// [`SendError::WrongType`], and those of [`Address::send`]; all give the value back, as a
    /// [`Dynamic`]. That cannot be shared between threads, so before a `?` goes
    /// `.map_err(SendError::without_message)`.
    pub fn send<'a, T: Send + 'static>(
        &self,
        to: impl Into<Destination<'a>>,
        message: T,
    ) -> Result<(), SendError<Dynamic>> {
        send_dynamic(&**self.home(), to.into(), message)
    }

    /// Whether the process is alive.
    #[must_use]
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.process(pid).is_some()
    }

    /// Sends an exit signal from outside any process (rules L2, L3, L7); it comes from
    /// `<0.0.0>`. To a dead process it does nothing.
    pub fn exit(&self, pid: Pid, reason: Reason) {
        if let Some(process) = self.process(pid) {
            process.exit_signal(Exit { pid: self.home().node_pid(), reason }, Via::Signal);
        }
    }

    /// Ends a process at once, whatever it wants (rule D3).
    pub fn kill(&self, pid: Pid) {
        if let Some(process) = self.process(pid) {
            process.kill();
        }
    }

    /// Monitors a process from now on: what comes back waits for its end, and is ready at
    /// once, with `NoProcess`, if there is none (rule L4).
    pub fn monitor(&self, pid: Pid) -> Monitor {
        watch(self.host(), Target::Pid(pid))
    }

    /// Monitors the process that has this name now.
    ///
    /// # Errors
    /// The text cannot be a name.
    pub fn monitor_name(&self, name: impl AsRef<str>) -> Result<Monitor, NameError> {
        let name = Name::new(name)?;
        let pid = self.whereis(name.as_str());
        Ok(watch(self.host(), Target::Name(name, pid)))
    }

    /// Monitors the process that has this alias now. An alias does not say of which node it is:
    /// one of another node is nobody's here, or that of the process whose alias has its number.
    pub fn monitor_alias(&self, alias: Alias) -> Monitor {
        let pid = self.home().by_alias(alias).map(|process| process.pid());
        watch(self.host(), Target::Alias(alias, pid))
    }

    /// Asks a process to describe itself (rule X3), and waits up to 5 s for its answer.
    pub fn inspect(&self, pid: Pid) -> Pending<Inspection, CallError> {
        inspect(self.host(), self.process(pid))
    }

    /// As [`Node::inspect`], for these items alone; see
    /// [`Address::inspect_items`](krarup_act::Address::inspect_items).
    pub fn inspect_items<I>(&self, pid: Pid, items: I) -> Pending<Inspection, CallError>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        inspect_items(self.host(), self.process(pid), items.into_iter().map(Into::into).collect())
    }

    /// A picture of a process, at once and without its help (rule X3).
    #[must_use]
    pub fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        self.process(pid).map(|process| process.info())
    }

    /// The state of a process, if its behaviour offers it as a `T`
    /// ([`krarup_act::Actor::state`]; rule X5).
    pub fn state<T: Send + 'static>(&self, pid: Pid) -> Pending<T, DebugError> {
        state(self.host(), self.process(pid))
    }

    /// Has a process handle nothing until it is resumed; see [`Address::suspend`] (rule X5).
    pub fn suspend(&self, pid: Pid) -> Pending<(), DebugError> {
        suspend(self.host(), self.process(pid))
    }

    /// Takes one suspension of a process back; whether there was one.
    pub fn resume(&self, pid: Pid) -> bool {
        self.process(pid).is_some_and(Process::resume)
    }

    /// Logs what a process receives from now on, or no more: as `tracing` events of the
    /// target `krarup::trace`. Whether there is such a process. See [`Address::trace`] for one
    /// that shows the messages (rule X5).
    pub fn trace(&self, pid: Pid, on: bool) -> bool {
        let process = self.process(pid);
        process.map(|process| process.trace(on)).is_some()
    }

    /// Has a process told of every dead letter to others from now on, beyond its bound, as long as it
    /// lives (rules M7, D7). Who sends to the dead has the message back; what was accepted
    /// and not handled is gone, so the letters tell of messages and do not hold them. Subscribing again
    /// takes the place of the first time. A subscriber that is slow has them wait in its mailbox, without a bound; one
    /// that sends to the dead whenever it is told causes the next letter itself.
    pub fn subscribe_dead_letters(&self, who: Recipient<DeadLetter>) {
        self.home().subscribe(Subscription::to_dead_letters(who));
    }

    /// Has a process told of the life of all others from now on, beyond its bound, as long as
    /// it lives (rule X4).
    pub fn subscribe_lifecycle(&self, who: Recipient<Lifecycle>) {
        self.home().subscribe(Subscription::to_lifecycle(who));
    }

    /// Ends a subscription; whether there was one.
    pub fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool {
        self.home().unsubscribe(topic, pid)
    }

    /// All living processes, in the order they were spawned (rule X4).
    #[must_use]
    pub fn processes(&self) -> Vec<Pid> {
        self.home().core.registry.all().iter().map(|process| process.pid()).collect()
    }

    /// All living processes below those that spawned them (rule X4): first those of the user
    /// root, then those of the system root (rule X6). One whose parent has ended stands at
    /// the top. Each prints itself, line by line to the last: `print!("{tree}")`.
    #[must_use]
    pub fn tree(&self) -> Vec<ProcessTree> {
        let processes = self.home().core.registry.all();
        let mut infos: BTreeMap<Pid, ProcessInfo> =
            processes.iter().map(|process| (process.pid(), process.info())).collect();
        let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
        for (pid, info) in &infos {
            if let Some(parent) = info.parent {
                children.entry(parent).or_default().push(*pid);
            }
        }
        // Children have greater pids than their parents, so from the last to the first
        // every subtree is complete when its root is reached; no recursion.
        let mut trees: BTreeMap<Pid, ProcessTree> = BTreeMap::new();
        while let Some((pid, process)) = infos.pop_last() {
            let below = children.get(&pid).into_iter().flatten();
            let below = below.filter_map(|child| trees.remove(child)).collect();
            trees.insert(pid, ProcessTree::new(process, below));
        }
        let mut trees: Vec<_> = trees.into_values().collect();
        // Stable: below each root in the order in which they were spawned.
        trees.sort_by_key(|tree| tree.process.root);
        trees
    }

    /// What the node has counted (rule X4).
    #[must_use]
    pub fn stats(&self) -> NodeStats {
        self.home().core.stats()
    }

    /// Stops the node in order (rule X2); see [`NodeStop`]. Twice is fine.
    pub fn stop(&self) -> NodeStop {
        NodeStop::new(Arc::clone(self.home()), Arc::clone(&self.inner.stopper))
    }

    /// Whether the node is stopping or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.home().core.registry.is_closing()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.name())
    }
}
