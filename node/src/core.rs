//! The shared parts of a node, and the hosts of its dispatchers.

use crate::applications::run::ApplicationRun;
use crate::applications::table::ApplicationTable;
use crate::dispatcher::any::Dispatcher;
use crate::dispatcher::turn_log::TurnLog;
use crate::events::Events;
use crate::incidents::Incidents;
use crate::mailbox_alarm::MailboxAlarm;
use crate::own_events::OwnEvents;
use crate::registry::ProcessTable;
use crate::side_threads::blocking::Blocking;
use crate::side_threads::pools::BlockingPools;
use crate::threads::Around;
use crate::timers::clock::Clock;
use crate::timers::timer::NodeTimers;
use crossbeam_utils::CachePadded;
use krarup_act::{
    Memberships, Network, NodeRecords, Process, Propagation, SharedHostSlot, StateLabels,
    TopicTable, TurnRecorder, TurnRecording,
};
use krarup_gen::{
    Class, CurrentTurn, DispatcherStats, Name, NodeStats, Pid, ReasonKind, RecordTurnsError, Root,
    SpawnError, ThreadError, TurnRecordingLimits,
};
use parking_lot::{Mutex, RwLock};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

mod host;

/// The shared parts of one node.
pub(crate) struct Core {
    pub(crate) name: Name,
    pub(crate) creation: u32,
    pub(crate) clock: Arc<Clock>,
    pub(crate) registry: ProcessTable,
    pub(crate) timers: Arc<NodeTimers>,
    pub(crate) blocking: BlockingPools,
    /// The next numbers, in cache lines of their own: each spawn and each reference writes one, and reads the other fields.
    next_pid: CachePadded<AtomicU64>,
    next_ref: CachePadded<AtomicU64>,
    pub(crate) events: Events,
    late_replies: AtomicU64,
    pub(crate) incidents: Incidents,
    pub(crate) records: Arc<NodeRecords>,
    turn_recorder: Arc<TurnRecorder>,
    pub(crate) mailbox_alarm: MailboxAlarm,
    pub(crate) state_labels: StateLabels,
    pub(crate) memberships: Memberships,
    pub(crate) topics: TopicTable,
    pub(crate) own_events: OwnEvents,
    pub(crate) applications: ApplicationTable,
    /// Whether turns run in spans of `tracing`.
    pub(crate) spans: AtomicBool,
    /// How traces are treated, if that was set.
    propagation: OnceLock<Propagation>,
    /// Whether the node has stopped and runs nothing any more.
    halted: AtomicBool,
    /// What its threads run their work in: a runtime, if the node was built with one.
    around: OnceLock<Around>,
    /// The cluster of the node, if it has one.
    network: RwLock<Option<Arc<dyn Network>>>,
    /// What a cluster keeps for its next one.
    pub(crate) network_memory: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// One host per dispatcher. Emptied when the node has stopped, because a host keeps its core
    /// alive.
    hosts: Mutex<DispatcherHosts>,
}

/// A dispatcher, and for which processes: their class, their root, and the number of the run of
/// their application (0: none).
type HostKey = (String, Class, Root, u64);

/// The dispatchers that run, and those that start when they are first used, by name.
#[derive(Default)]
struct DispatcherHosts {
    started: BTreeMap<String, Arc<DispatcherHost>>,
    /// The hosts of these dispatchers for processes of another class or root, or of an
    /// application.
    beside: BTreeMap<HostKey, Arc<DispatcherHost>>,
    planned: BTreeMap<String, DispatcherStart>,
    /// Other names of the dispatchers.
    aliases: BTreeMap<String, String>,
}

/// Starts a dispatcher.
pub(crate) type DispatcherStart = Box<dyn Fn() -> io::Result<Dispatcher> + Send>;

/// The node with one of its dispatchers: the host of every process that runs there.
// Each spawn and each end of a process writes the count of handles, and each scheduling reads the
// fields: they are not in one cache line, nor in two that are fetched together.
#[repr(align(128))]
pub(crate) struct DispatcherHost {
    pub(crate) core: Arc<Core>,
    /// The name under which the dispatcher was requested.
    name: String,
    pub(crate) dispatcher: Dispatcher,
    class: Class,
    root: Root,
    /// The application of the processes of this host (rule A6). A process without one pays for
    /// it with a look when it is spawned and when it ends.
    application: Option<Arc<ApplicationRun>>,
    /// What its processes share.
    shared: SharedHostSlot,
}

impl Core {
    pub(crate) fn new(
        name: Name,
        creation: u32,
        clock: impl Into<Arc<Clock>>,
        blocking: Blocking,
    ) -> Arc<Self> {
        Arc::new(Core {
            name,
            creation,
            clock: clock.into(),
            registry: ProcessTable::default(),
            timers: Arc::new(NodeTimers::new()),
            blocking: BlockingPools::new(blocking),
            next_pid: CachePadded::new(AtomicU64::new(1)),
            next_ref: CachePadded::new(AtomicU64::new(1)),
            events: Events::default(),
            late_replies: AtomicU64::new(0),
            incidents: Incidents::default(),
            records: Arc::default(),
            turn_recorder: Arc::default(),
            mailbox_alarm: MailboxAlarm::default(),
            state_labels: StateLabels::default(),
            memberships: Memberships::default(),
            topics: TopicTable::default(),
            own_events: OwnEvents::default(),
            applications: ApplicationTable::default(),
            spans: AtomicBool::new(false),
            propagation: OnceLock::new(),
            halted: AtomicBool::new(false),
            around: OnceLock::new(),
            network: RwLock::new(None),
            network_memory: OnceLock::new(),
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
        let host = self.make_host(called, dispatcher, (Class::Normal, Root::User), None);
        self.hosts.lock().started.insert(name.to_owned(), Arc::clone(&host));
        host
    }

    fn make_host(
        self: &Arc<Self>,
        name: &str,
        dispatcher: Dispatcher,
        (class, root): (Class, Root),
        application: Option<&Arc<ApplicationRun>>,
    ) -> Arc<DispatcherHost> {
        Arc::new(DispatcherHost {
            core: Arc::clone(self),
            name: name.to_owned(),
            dispatcher,
            class,
            root,
            application: application.cloned(),
            shared: SharedHostSlot::default(),
        })
    }

    /// The host of the same dispatcher for processes of another class or root, or of an
    /// application.
    fn beside(
        self: &Arc<Self>,
        host: &DispatcherHost,
        class: Class,
        root: Root,
        application: Option<&Arc<ApplicationRun>>,
    ) -> Arc<DispatcherHost> {
        let dispatcher = || host.dispatcher.of_class(class);
        let make = || self.make_host(&host.name, dispatcher(), (class, root), application);
        let mut hosts = self.hosts.lock();
        // After the hosts have been cleared none may be stored, because a host keeps its core
        // alive. No process is admitted any more then.
        let run = application.map_or(0, |run| run.number);
        let is_over = application.is_some_and(|run| run.is_closed());
        if self.registry.is_closed()
            || is_over
            || (class, root, run) == (Class::Normal, Root::User, 0)
        {
            return make();
        }
        let key = (host.name.clone(), class, root, run);
        Arc::clone(hosts.beside.entry(key).or_insert_with(make))
    }

    /// Drops the hosts of an application whose processes have ended: it must be closed.
    pub(crate) fn drop_hosts_of(&self, run: &ApplicationRun) {
        let mut hosts = self.hosts.lock();
        let all = std::mem::take(&mut hosts.beside).into_iter();
        let (gone, kept): (BTreeMap<_, _>, _) = all.partition(|(key, _)| key.3 == run.number);
        hosts.beside = kept;
        drop(hosts);
        drop(gone);
    }

    /// Adds a dispatcher that is started when it is first used.
    pub(crate) fn plan(&self, name: &str, plan: DispatcherStart) {
        self.hosts.lock().planned.insert(name.to_owned(), plan);
    }

    /// As [`Core::plan`], unless there is a dispatcher of this name. Returns whether it was added.
    pub(crate) fn plan_new(&self, name: &str, plan: DispatcherStart) -> bool {
        let mut hosts = self.hosts.lock();
        let taken = hosts.planned.contains_key(name)
            || hosts.started.contains_key(name)
            || hosts.aliases.contains_key(name);
        if !taken {
            hosts.planned.insert(name.to_owned(), plan);
        }
        !taken
    }

    /// Sets how traces are treated. Returns whether it was not set before.
    pub(crate) fn set_propagation(&self, propagation: Propagation) -> bool {
        self.propagation.set(propagation).is_ok()
    }

    pub(crate) fn propagation(&self) -> Option<&Propagation> {
        self.propagation.get()
    }

    pub(crate) fn set_around(&self, around: &Around) {
        // Set once, by the builder.
        let _ = self.around.set(Arc::clone(around));
    }

    pub(crate) fn around(&self) -> Around {
        let unset = || Arc::new(|work: &mut dyn FnMut()| work()) as Around;
        self.around.get().map_or_else(unset, Arc::clone)
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
        let dispatcher = plan().map_err(|error| ThreadError::from(error).of_dispatcher(name))?;
        let host = self.make_host(name, dispatcher, (Class::Normal, Root::User), None);
        hosts.started.insert(name.to_owned(), Arc::clone(&host));
        if self.turn_recorder.is_on() {
            host.dispatcher.record_turns();
        }
        Ok(host)
    }

    /// Begins to record the turns of all dispatchers, also of those that start later.
    pub(crate) fn record_turns(
        &self,
        limits: TurnRecordingLimits,
    ) -> Result<TurnRecording, RecordTurnsError> {
        let hosts = self.hosts.lock();
        if hosts.started.is_empty() {
            return Err(RecordTurnsError::NodeStopped(self.name.to_string()));
        }
        let tell = || hosts.started.values().for_each(|host| host.dispatcher.record_turns());
        self.turn_recorder.begin(self.name.as_str(), self.clock.now(), limits, tell)
    }

    /// What a dispatcher of this name needs to record turns.
    pub(crate) fn turn_log(self: &Arc<Self>, dispatcher: &str) -> TurnLog {
        // Weak: the core keeps its dispatchers.
        let core = Arc::downgrade(self);
        TurnLog {
            recorder: Arc::clone(&self.turn_recorder),
            dispatcher: dispatcher.into(),
            clock: Arc::clone(&self.clock),
            processes: Arc::new(move |number| core.upgrade()?.process_by_number(number)),
        }
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

    /// The process, or the stand-in of a process of another node of the cluster.
    pub(crate) fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        if self.is_ours(pid) { self.registry.process(pid) } else { self.remote(pid) }
    }

    #[cold]
    fn remote(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        if pid.node() == 0 {
            return None;
        }
        self.network()?.process(pid)
    }

    pub(super) fn network(&self) -> Option<Arc<dyn Network>> {
        self.network.read().clone()
    }

    pub(super) fn set_network(&self, network: Option<Arc<dyn Network>>) -> bool {
        let mut place = self.network.write();
        if place.is_some() && network.is_some() {
            return false;
        }
        let before = std::mem::replace(&mut *place, network);
        drop(place);
        drop(before);
        true
    }

    /// Whether the pid belongs to this node, or names no node.
    pub(crate) fn is_ours(&self, pid: Pid) -> bool {
        pid.node() == 0 && (pid.creation() == 0 || pid.creation() == self.creation)
    }

    pub(crate) fn process_by_number(&self, number: u64) -> Option<Arc<dyn Process>> {
        self.registry.process(Pid::local(number, self.creation))
    }

    pub(crate) fn current_turns(&self) -> Vec<CurrentTurn> {
        let hosts = self.hosts();
        hosts.iter().flat_map(|host| host.dispatcher.current_turns(self.creation)).collect()
    }

    pub(crate) fn stats(&self) -> NodeStats {
        let hosts = self.hosts();
        let mut dispatchers: Vec<DispatcherStats> =
            hosts.iter().map(|host| host.dispatcher.stats()).collect();
        // In a simulation all names stand for one dispatcher.
        dispatchers.dedup_by(|one, other| one.name == other.name);
        NodeStats::default().with(|stats| {
            let processes = self.registry.counts();
            stats.processes = processes.living();
            stats.spawned = processes.spawned;
            stats.names = self.registry.names();
            let due = hosts.iter().map(|host| host.dispatcher.due_timers(self.creation));
            let due: usize = due.max().unwrap_or(0);
            stats.timers = self.timers.len() + due;
            stats.aliases = self.registry.aliases();
            stats.dead_letters = self.events.dead_letters();
            stats.ended = ReasonKind::counts(&processes.ended.by_kind);
            stats.messages_of_ended = processes.ended.messages;
            stats.dead_letters_by_cause = self.events.dead_letters_by_cause();
            self.incidents.fill(stats);
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
        self.core.beside(self, self.class, Root::System, None)
    }

    /// The host of the same dispatcher for the processes of an application.
    pub(crate) fn of_application(
        &self,
        root: Root,
        run: &Arc<ApplicationRun>,
    ) -> Arc<DispatcherHost> {
        self.core.beside(self, self.class, root, Some(run))
    }
}
