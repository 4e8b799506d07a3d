//! The shared parts of a node, and the node as its processes see it.

use crate::block_on::block_on;
use crate::dispatcher::any::Dispatcher;
use crate::events::Events;
use crate::mailbox_alarm::MailboxAlarm;
use crate::registry::Registry;
use crate::runtime;
use crate::side_threads::blocking::Blocking;
use crate::side_threads::pools::BlockingPools;
use crate::timers::clock::Clock;
use crate::timers::timer::NodeTimers;
use krarup_act::{
    Alarm, EventTopic, Host, Poke, Process, Ready, SimulatedLink, Stalled, Subscription, TimerKey,
};
use krarup_gen::{
    Alias, BlockError, Class, DeadLetter, DispatcherStats, Lifecycle, Name, NodeStats, Pid, Reason,
    Ref, Root, SpawnError, ThreadError, Timestamp,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The shared parts of one node.
pub(crate) struct Core {
    pub(crate) name: Name,
    creation: u32,
    pub(crate) clock: Arc<Clock>,
    pub(crate) registry: Registry,
    pub(crate) timers: Arc<NodeTimers>,
    pub(crate) blocking: BlockingPools,
    next_pid: AtomicU64,
    next_ref: AtomicU64,
    pub(crate) events: Events,
    late_replies: AtomicU64,
    pub(crate) mailbox_alarm: MailboxAlarm,
    /// Whether turns run in spans of `tracing`.
    pub(crate) spans: AtomicBool,
    /// Whether the node has stopped and runs nothing any more.
    halted: AtomicBool,
    /// One host per dispatcher. Emptied when the node has stopped, because a host keeps its core
    /// alive.
    hosts: Mutex<DispatcherHosts>,
}

/// The dispatchers that run, and those that start when they are first used, by name.
#[derive(Default)]
struct DispatcherHosts {
    started: BTreeMap<String, Arc<DispatcherHost>>,
    /// The hosts of these dispatchers for processes of another class or root.
    beside: BTreeMap<(String, Class, Root), Arc<DispatcherHost>>,
    planned: BTreeMap<String, DispatcherStart>,
    /// Other names of the dispatchers.
    aliases: BTreeMap<String, String>,
}

/// Starts a dispatcher.
pub(crate) type DispatcherStart = Box<dyn Fn() -> io::Result<Dispatcher> + Send>;

/// The node with one of its dispatchers: the host of every process that runs there.
pub(crate) struct DispatcherHost {
    pub(crate) core: Arc<Core>,
    /// The name under which the dispatcher was requested.
    name: String,
    pub(crate) dispatcher: Dispatcher,
    class: Class,
    root: Root,
}

impl Core {
    pub(crate) fn new(name: Name, creation: u32, clock: Clock, blocking: Blocking) -> Arc<Self> {
        Arc::new(Core {
            name,
            creation,
            clock: Arc::new(clock),
            registry: Registry::default(),
            timers: Arc::new(NodeTimers::new()),
            blocking: BlockingPools::new(blocking),
            next_pid: AtomicU64::new(1),
            next_ref: AtomicU64::new(1),
            events: Events::default(),
            late_replies: AtomicU64::new(0),
            mailbox_alarm: MailboxAlarm::default(),
            spans: AtomicBool::new(false),
            halted: AtomicBool::new(false),
            hosts: Mutex::new(DispatcherHosts::default()),
        })
    }

    /// Adds the host of a dispatcher that runs already. `called` is the name that processes see.
    pub(crate) fn settle(
        self: &Arc<Self>,
        name: &str,
        called: &str,
        dispatcher: Dispatcher,
    ) -> Arc<DispatcherHost> {
        let host = self.make_host(called, dispatcher, (Class::Normal, Root::User));
        self.hosts.lock().started.insert(name.to_owned(), Arc::clone(&host));
        host
    }

    fn make_host(
        self: &Arc<Self>,
        name: &str,
        dispatcher: Dispatcher,
        (class, root): (Class, Root),
    ) -> Arc<DispatcherHost> {
        Arc::new(DispatcherHost {
            core: Arc::clone(self),
            name: name.to_owned(),
            dispatcher,
            class,
            root,
        })
    }

    /// The host of the same dispatcher for processes of another class or root.
    fn beside(
        self: &Arc<Self>,
        host: &DispatcherHost,
        class: Class,
        root: Root,
    ) -> Arc<DispatcherHost> {
        let make = || self.make_host(&host.name, host.dispatcher.of_class(class), (class, root));
        let mut hosts = self.hosts.lock();
        // After the hosts have been cleared none may be stored, because a host keeps its core
        // alive. No process is admitted any more then.
        if self.registry.is_closed() || (class, root) == (Class::Normal, Root::User) {
            return make();
        }
        let key = (host.name.clone(), class, root);
        Arc::clone(hosts.beside.entry(key).or_insert_with(make))
    }

    /// Adds a dispatcher that is started when it is first used.
    pub(crate) fn plan(&self, name: &str, plan: DispatcherStart) {
        self.hosts.lock().planned.insert(name.to_owned(), plan);
    }

    /// Adds another name of a dispatcher.
    pub(crate) fn alias_dispatcher(&self, alias: &str, of: &str) {
        self.hosts.lock().aliases.insert(alias.to_owned(), of.to_owned());
    }

    /// Returns the host of this dispatcher, and starts the dispatcher on its first use. The lock
    /// ensures that it is started once, however many callers race (rule R5).
    pub(crate) fn host(self: &Arc<Self>, name: &str) -> Result<Arc<DispatcherHost>, SpawnError> {
        let mut hosts = self.hosts.lock();
        let alias = hosts.aliases.get(name).cloned();
        let name = alias.as_deref().unwrap_or(name);
        if let Some(host) = hosts.started.get(name) {
            return Ok(Arc::clone(host));
        }
        // A stop goes through the hosts after this check, so it misses none.
        if self.registry.is_closed() {
            return Err(SpawnError::NodeStopping);
        }
        let Some(plan) = hosts.planned.get(name) else {
            return Err(SpawnError::UnknownDispatcher(name.to_owned()));
        };
        let dispatcher = plan().map_err(ThreadError::from)?;
        let host = self.make_host(name, dispatcher, (Class::Normal, Root::User));
        hosts.started.insert(name.to_owned(), Arc::clone(&host));
        Ok(host)
    }

    pub(crate) fn hosts(&self) -> Vec<Arc<DispatcherHost>> {
        self.hosts.lock().started.values().cloned().collect()
    }

    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::SeqCst);
    }

    pub(crate) fn clear_homes(&self) {
        let hosts = std::mem::take(&mut *self.hosts.lock());
        drop(hosts);
    }

    /// The process, unless the pid belongs to another node.
    pub(crate) fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        if self.is_ours(pid) { self.registry.process(pid) } else { None }
    }

    /// Whether the pid belongs to this node, or names no node.
    pub(crate) fn is_ours(&self, pid: Pid) -> bool {
        pid.node() == 0 && (pid.creation() == 0 || pid.creation() == self.creation)
    }

    pub(crate) fn process_by_number(&self, number: u64) -> Option<Arc<dyn Process>> {
        self.registry.process(Pid::local(number, self.creation))
    }

    pub(crate) fn stats(&self) -> NodeStats {
        let hosts = self.hosts();
        let mut dispatchers: Vec<DispatcherStats> =
            hosts.iter().map(|host| host.dispatcher.stats()).collect();
        // In a simulation all names stand for one dispatcher.
        dispatchers.dedup_by(|one, other| one.name == other.name);
        NodeStats::default().with(|stats| {
            stats.processes = self.registry.living();
            stats.spawned = self.registry.spawned();
            stats.names = self.registry.names();
            let due: usize =
                hosts.iter().map(|host| host.dispatcher.due_timers()).max().unwrap_or(0);
            stats.timers = self.timers.len() + due;
            stats.aliases = self.registry.aliases();
            stats.dead_letters = self.events.dead_letters();
            stats.deep_mailboxes = self.mailbox_alarm.count();
            stats.late_replies = self.late_replies.load(Ordering::Relaxed);
            (stats.blocking_threads, stats.blocking_work) = self.blocking.load();
            stats.dispatchers = dispatchers;
        })
    }
}

impl DispatcherHost {
    /// The host of the same dispatcher for services of the node (rule X6).
    pub(crate) fn of_system(&self) -> Arc<DispatcherHost> {
        self.core.beside(self, self.class, Root::System)
    }
}

impl Host for DispatcherHost {
    fn node_name(&self) -> &str {
        self.core.name.as_str()
    }

    fn node_pid(&self) -> Pid {
        Pid::local(0, self.core.creation)
    }

    fn next_pid(&self) -> Pid {
        Pid::local(self.core.next_pid.fetch_add(1, Ordering::Relaxed), self.core.creation)
    }

    fn next_ref(&self) -> Ref {
        Ref::new(self.core.next_ref.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, process: Arc<dyn Process>, name: Option<&Name>) -> Result<(), SpawnError> {
        let pid = process.pid();
        let told = Arc::clone(&process);
        let expected = self.dispatcher.expect(pid, self.class);
        expected.map_err(ThreadError::from)?;
        let recorded = self.dispatcher.recorder().map(|to| (to, Arc::clone(&process)));
        if recorded.is_some() {
            process.join_simulated_link();
        }
        let admitted = self.core.registry.admit(process, name);
        admitted.inspect_err(|_| self.dispatcher.forget(pid))?;
        if let Some((recorder, process)) = recorded {
            recorder.spawned(process, name.cloned());
        }
        self.core.events.lifecycle(|| Lifecycle::Spawned {
            pid,
            name: name.cloned(),
            parent: told.parent(),
            behavior: told.behavior(),
        });
        Ok(())
    }

    fn retire(&self, pid: Pid, name: Option<&Name>) {
        self.core.registry.retire(pid, name);
        self.dispatcher.forget(pid);
    }

    fn register(&self, name: &Name, process: Arc<dyn Process>) -> Result<(), Pid> {
        let pid = process.pid();
        self.core.registry.register(name, process)?;
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.named(pid, Some(name.clone()));
        }
        Ok(())
    }

    fn unregister(&self, name: &str) -> Option<Arc<dyn Process>> {
        let process = self.core.registry.unregister(name)?;
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.named(process.pid(), None);
        }
        Some(process)
    }

    fn unregister_from(&self, name: &str, pid: Pid) -> Option<Arc<dyn Process>> {
        let process = self.core.registry.unregister_from(name, pid)?;
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.named(pid, None);
        }
        Some(process)
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.core.process(pid)
    }

    fn whereis(&self, name: &str) -> Option<Arc<dyn Process>> {
        self.core.registry.whereis(name)
    }

    #[inline]
    fn schedule(&self, ready: Ready) {
        self.dispatcher.schedule(ready);
    }

    fn has_classes(&self) -> bool {
        matches!(self.dispatcher, Dispatcher::Classed(..))
    }

    fn random(&self) -> u64 {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => simulated.random(),
            _ => rand::random(),
        }
    }

    fn now(&self) -> Timestamp {
        self.core.clock.now()
    }

    fn set_timer(&self, due: Timestamp, alarm: Alarm) -> TimerKey {
        let key = self.core.timers.set(due, alarm);
        if let Dispatcher::Simulated(simulated) = &self.dispatcher {
            simulated.timer_is_set(key);
        }
        key
    }

    fn cancel_timer(&self, key: TimerKey) -> bool {
        let was_set = self.core.timers.cancel(key);
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => simulated.cancel(key, was_set),
            _ => was_set,
        }
    }

    fn has_stopped(&self) -> bool {
        self.core.halted.load(Ordering::SeqCst)
    }

    fn is_stopping(&self) -> bool {
        self.core.registry.is_closed_below(self.root)
    }

    fn poke_later(&self, poke: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        self.dispatcher.poke_later(poke)
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        match &self.dispatcher {
            Dispatcher::Simulated(_) if self.has_stopped() => Err(BlockError::NodeStopped),
            Dispatcher::Simulated(simulated) => {
                simulated.block(work);
                Ok(())
            }
            _ => self.core.blocking.submit(work),
        }
    }

    fn block_in(&self, pool: &str, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        let pool = self.core.blocking.named(pool)?;
        match &self.dispatcher {
            Dispatcher::Simulated(_) => self.block(work),
            _ => pool.submit(work),
        }
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + Send)>) -> Result<(), Stalled> {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => {
                simulated.drive(future, &self.core.clock, &self.core.timers)
            }
            _ => {
                block_on(future);
                Ok(())
            }
        }
    }

    fn is_driving_runtime(&self) -> bool {
        !matches!(self.dispatcher, Dispatcher::Simulated(_)) && runtime::drives_this_thread()
    }

    fn with_dispatcher(&self, name: &str) -> Result<Arc<dyn Host>, SpawnError> {
        let host = self.core.host(name)?;
        Ok(match self.root {
            Root::User => host,
            root => self.core.beside(&host, host.class, root),
        })
    }

    fn dispatcher_name(&self) -> &str {
        &self.name
    }

    fn class(&self) -> Class {
        self.class
    }

    fn of_class(&self, class: Class) -> Result<Option<Arc<dyn Host>>, SpawnError> {
        if self.core.registry.is_closed() {
            return Err(SpawnError::NodeStopping);
        }
        Ok(Some(self.core.beside(self, class, self.root)))
    }

    fn root(&self) -> Root {
        self.root
    }

    fn add_alias(&self, alias: Alias, process: Arc<dyn Process>) {
        self.core.registry.add_alias(alias, process);
    }

    fn remove_alias(&self, alias: Alias) {
        self.core.registry.remove_alias(alias);
    }

    fn by_alias(&self, alias: Alias) -> Option<Arc<dyn Process>> {
        self.core.registry.by_alias(alias)
    }

    fn dead_letter(&self, letter: DeadLetter) {
        self.core.events.dead_letter(&letter, || self.core.clock.now());
    }

    fn subscribe(&self, subscription: Subscription) {
        self.core.events.subscribe(subscription);
    }

    fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool {
        self.core.events.unsubscribe(topic, pid)
    }

    fn note_initialised(&self, pid: Pid) {
        self.core.events.lifecycle(|| Lifecycle::Initialised { pid });
    }

    fn note_ended(&self, pid: Pid, name: Option<Name>, reason: &Reason) {
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.ended(pid, reason);
        }
        self.core.events.forget(pid);
        self.core.events.lifecycle(|| Lifecycle::Ended { pid, name, reason: reason.clone() });
    }

    fn simulated_link(&self) -> Option<&dyn SimulatedLink> {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => Some(&**simulated),
            _ => None,
        }
    }

    fn mailbox_is_deep(&self, pid: Pid, length: usize) {
        if self.core.mailbox_alarm.is_due(length) {
            // The mailbox is locked and the log subscriber is user code, so a timer reports it
            // in a moment.
            let core = Arc::downgrade(&self.core);
            let tell = move || {
                if let Some(core) = core.upgrade() {
                    core.mailbox_alarm.tell(pid, length, core.process(pid));
                }
            };
            self.set_timer(self.now(), Alarm::Run(Box::new(tell)));
        }
    }

    fn count_late_reply(&self) {
        self.core.late_replies.fetch_add(1, Ordering::Relaxed);
    }
}
