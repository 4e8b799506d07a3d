//! A view of a node that does not keep the node alive.

use crate::calls::deadline::DEFAULT_CALL_TIMEOUT;
use crate::calls::pending::Pending;
use crate::context::Context;
use crate::host::host::{Host, TableCursor};
use crate::observe::aftermath::aftermath;
use crate::observe::debug::{ShownState, state, state_text, suspend};
use crate::observe::inspect::{inspect, inspect_items};
use crate::observe::manage::manage;
use crate::observe::records::NodeRecords;
use crate::observe::trace_reader::{TraceReader, trace_process};
use crate::observe::turn_recorder::TurnRecording;
use crate::observe::walk::Walk;
use crate::process::process::{Process, Via};
use krarup_gen::{
    Aftermath, ApplicationPicture, CallError, ClusterPicture, CrashReport, CurrentTurn, DeadLetter,
    DeadlockRecord, DebugError, Exit, Inspection, LongTurnRecord, ManageError, Managed, Management,
    NodeStats, Pid, ProcessInfo, ProcessTree, Reason, RecordError, RecordTurnsError, Recorded,
    RecordedItem, RecordedPage, Sample, SupervisionEvent, Timestamp, TooManyRecorded, TraceError,
    TraceLimits, TurnRecordingLimits,
};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Looks into a node: its processes, its statistics, and the debugging of rule X5.
///
/// A view does not keep the node alive, and does not stop it when it is dropped. So a process
/// may hold one, and a thread may hold one after the node has stopped: there are then no
/// processes and no statistics. A clone is another view of the same node.
///
/// ```
/// # use krarup_act::{Context, NodeView, Walk};
/// fn mailboxes(view: &NodeView) -> usize {
///     let (mut walk, mut waiting) = (Walk::new(), 0);
///     while let Some(samples) = view.walk(&mut walk) {
///         waiting += samples.iter().map(|sample| sample.main).sum::<usize>();
///     }
///     waiting
/// }
/// ```
#[derive(Clone)]
pub struct NodeView {
    host: Weak<dyn Host>,
    name: Arc<str>,
}

impl NodeView {
    /// Creates a view of the node of this host. For hosts; users have `Node::view` and
    /// [`Context::view`].
    #[must_use]
    pub fn of(host: &Arc<dyn Host>) -> Self {
        NodeView { host: Arc::downgrade(host), name: host.node_name().into() }
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        self.host.upgrade()
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.host()?.process(pid)
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn node_name(&self) -> &str {
        &self.name
    }

    /// Returns the node's current time; `None` if it is gone.
    #[must_use]
    pub fn now(&self) -> Option<Timestamp> {
        self.host().map(|host| host.now())
    }

    /// Whether the node stops, has stopped or is gone.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.host().is_none_or(|host| host.is_node_stopping())
    }

    /// Returns the node's statistics (rule X4); `None` if it is gone.
    #[must_use]
    pub fn stats(&self) -> Option<NodeStats> {
        self.host().map(|host| host.stats())
    }

    /// Returns what the cluster of the node is like now (rule V88); `None` without one. No process
    /// takes part.
    ///
    /// ```
    /// # use krarup_act::NodeView;
    /// fn connected(view: &NodeView) -> Vec<String> {
    ///     let cluster = view.cluster_picture();
    ///     let connections = cluster.map(|cluster| cluster.connections).unwrap_or_default();
    ///     connections.iter().map(|connection| connection.node.to_string()).collect()
    /// }
    /// ```
    #[must_use]
    pub fn cluster_picture(&self) -> Option<ClusterPicture> {
        self.host()?.network()?.picture()
    }

    /// Returns the turns that run now on shared and pinned dispatchers (rule V95): which process has
    /// which worker, and for how long. Of a worker between two turns it may be the one before. No
    /// process takes part.
    #[must_use]
    pub fn current_turns(&self) -> Vec<CurrentTurn> {
        self.host().map(|host| host.current_turns()).unwrap_or_default()
    }

    /// Returns the applications of the node, in the order in which they were given (rule V96):
    /// which of them run, and which are lost.
    #[must_use]
    pub fn applications(&self) -> Vec<ApplicationPicture> {
        self.host().map(|host| host.application_pictures()).unwrap_or_default()
    }

    /// Returns the samples of the next processes of a walk, at most some thousands; `None` if
    /// the walk is over or the node is gone.
    ///
    /// A process that lives during the whole walk is in it once. One that is spawned or ends
    /// meanwhile may be left out. The table of the processes is locked only while the handles of
    /// one step are copied, a part of a sixteenth of the table at a time, so no spawn waits for
    /// a walk. Nothing is allocated for each process, and no process takes part. On a node at
    /// rest, and in a simulation, the order is the same each time.
    pub fn walk(&self, walk: &mut Walk) -> Option<Vec<Sample>> {
        let Some(host) = self.host() else {
            walk.end();
            return None;
        };
        walk.step(&*host)
    }

    /// Returns the crash reports with numbers above `after`, the oldest first and at most
    /// `limit`, of those that the node remembers ([`Memory::crashes`](krarup_gen::Memory)).
    #[must_use]
    pub fn crashes(&self, after: u64, limit: usize) -> RecordedPage<CrashReport> {
        self.page(|records| records.crashes.page(after, limit))
    }

    /// Returns the decisions of supervisors and pools, as [`NodeView::crashes`] does.
    #[must_use]
    pub fn restarts(&self, after: u64, limit: usize) -> RecordedPage<SupervisionEvent> {
        self.page(|records| records.restarts.page(after, limit))
    }

    /// Returns what followed the end of a process, as far as the node remembers decisions.
    #[must_use]
    pub fn aftermath(&self, pid: Pid) -> Aftermath {
        let host = self.host();
        let records = host.as_ref().and_then(|host| host.records());
        records.map(|records| aftermath(records, pid)).unwrap_or_default()
    }

    /// Returns the dead letters, as [`NodeView::crashes`] does.
    #[must_use]
    pub fn dead_letters(&self, after: u64, limit: usize) -> RecordedPage<DeadLetter> {
        self.page(|records| records.dead_letters.page(after, limit))
    }

    /// Returns the cycles of calls, as [`NodeView::crashes`] does.
    #[must_use]
    pub fn deadlocks(&self, after: u64, limit: usize) -> RecordedPage<DeadlockRecord> {
        self.page(|records| records.deadlocks.page(after, limit))
    }

    /// Returns the long turns, as [`NodeView::crashes`] does. A simulation has none.
    #[must_use]
    pub fn long_turns(&self, after: u64, limit: usize) -> RecordedPage<LongTurnRecord> {
        self.page(|records| records.long_turns.page(after, limit))
    }

    fn page<T>(&self, page: impl FnOnce(&NodeRecords) -> RecordedPage<T>) -> RecordedPage<T> {
        let host = self.host();
        host.as_ref().and_then(|host| host.records()).map_or_else(RecordedPage::empty, page)
    }

    /// Returns all living processes in the order in which they were spawned (rule X4).
    #[must_use]
    pub fn processes(&self) -> Vec<Pid> {
        let mut pids: Vec<_> = self.all().iter().map(|process| process.pid()).collect();
        pids.sort_unstable();
        pids
    }

    /// Returns all living processes as trees (rule X4): see `Node::tree`.
    #[must_use]
    pub fn tree(&self) -> Vec<ProcessTree> {
        ProcessTree::arrange(self.all().iter().map(|process| process.info()))
    }

    fn all(&self) -> Vec<Arc<dyn Process>> {
        let Some(host) = self.host() else { return Vec::new() };
        let (mut cursor, mut all) = (TableCursor::default(), Vec::new());
        while host.next_processes(&mut cursor, &mut all) {}
        all
    }

    /// Returns a snapshot of a process, at once and without its cooperation (rule X3).
    #[must_use]
    pub fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        self.process(pid).map(|process| process.info())
    }

    /// Returns the numbers of one process, as a walk does.
    #[must_use]
    pub fn sample(&self, pid: Pid) -> Option<Sample> {
        self.process(pid)?.sample()
    }

    /// Whether the process is alive.
    #[must_use]
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.process(pid).is_some()
    }

    /// Returns the pid of the process with this name.
    #[must_use]
    pub fn whereis(&self, name: &str) -> Option<Pid> {
        self.host()?.whereis(name).map(|process| process.pid())
    }

    /// Returns the pid of the living process with this number; the second part of `<0.42.0>` is
    /// a number.
    #[must_use]
    pub fn by_number(&self, number: u64) -> Option<Pid> {
        let host = self.host()?;
        let pid = Pid::local(number, host.node_pid().creation());
        host.process(pid).map(|process| process.pid())
    }

    /// Requests a description of a process (rule X3), and waits up to 5 s for the answer.
    pub fn inspect(&self, pid: Pid) -> Pending<Inspection, CallError> {
        match self.host() {
            Some(host) => inspect(Arc::clone(&host), pid, host.process(pid)),
            None => Pending::known(Err(CallError::NoProcess { to: pid })),
        }
    }

    /// As [`NodeView::inspect`], for these items only.
    pub fn inspect_items<I>(&self, pid: Pid, items: I) -> Pending<Inspection, CallError>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let items = items.into_iter().map(Into::into).collect();
        match self.host() {
            Some(host) => inspect_items(Arc::clone(&host), pid, host.process(pid), items),
            None => Pending::known(Err(CallError::NoProcess { to: pid })),
        }
    }

    /// Returns the state of a process, if its behaviour offers it as a `T`
    /// ([`Actor::state`](crate::Actor::state); rule X5).
    pub fn state<T: Send + 'static>(&self, pid: Pid) -> Pending<T, DebugError> {
        match self.host() {
            Some(host) => state(Arc::clone(&host), pid, host.process(pid)),
            None => Pending::known(Err(DebugError::NoProcess(pid))),
        }
    }

    /// Returns the state of a process as text, if its behaviour offers it so
    /// ([`Dynamic::shown`](crate::Dynamic::shown); rule V50); otherwise
    /// [`DebugError::NotOffered`].
    pub fn state_text(&self, pid: Pid) -> Pending<ShownState, DebugError> {
        match self.host() {
            Some(host) => state_text(Arc::clone(&host), pid, host.process(pid)),
            None => Pending::known(Err(DebugError::NoProcess(pid))),
        }
    }

    /// Suspends a process: it handles nothing until it is resumed. See
    /// [`Address::suspend`](crate::Address::suspend) (rule X5).
    pub fn suspend(&self, pid: Pid) -> Pending<(), DebugError> {
        match self.host() {
            Some(host) => suspend(Arc::clone(&host), pid, host.process(pid)),
            None => Pending::known(Err(DebugError::NoProcess(pid))),
        }
    }

    /// Takes back one suspension of a process. Returns whether there was one.
    pub fn resume(&self, pid: Pid) -> bool {
        self.process(pid).is_some_and(Process::resume)
    }

    /// Has a process record the last `items` items that it takes from now on, at most
    /// [`RecordedItem::MOST`]; 0: none. See [`Spawn::record`](crate::Spawn::record) (rule V16).
    ///
    /// # Errors
    /// [`RecordError`]; nothing has changed.
    pub fn record(&self, pid: Pid, items: usize) -> Result<(), RecordError> {
        TooManyRecorded::check(items)?;
        let process = self.process(pid).filter(|process| process.record(items));
        process.map(drop).ok_or(RecordError::NoProcess(pid))
    }

    /// Returns the items that a process has recorded, the oldest first; none if it has ended.
    #[must_use]
    pub fn recorded(&self, pid: Pid) -> Vec<Recorded<RecordedItem>> {
        self.process(pid).map(|process| process.recorded()).unwrap_or_default()
    }

    /// Traces a process: the reader gets the items that it takes from now on, until one of the
    /// limits ends the trace (rule V21). A process has one trace at a time; a new one ends the
    /// one before. The bound, the order and the lanes of the process are as without (rule X5).
    ///
    /// # Errors
    /// [`TraceError`]; nothing is traced.
    pub fn trace(&self, pid: Pid, limits: TraceLimits) -> Result<TraceReader, TraceError> {
        let host = self.host().ok_or(TraceError::NoProcess(pid))?;
        trace_process(&host, pid, host.process(pid), limits)
    }

    /// Ends the trace of a process. Returns whether one was running.
    pub fn untrace(&self, pid: Pid) -> bool {
        self.process(pid).is_some_and(|process| process.untrace())
    }

    /// Logs what a process receives from now on, as `tracing` events of the target
    /// `krarup::trace`. Returns whether there is such a process.
    pub fn trace_to_log(&self, pid: Pid) -> bool {
        let process = self.process(pid);
        process.map(|process| process.trace(true)).is_some()
    }

    /// Removes the tracer of a process: that of [`NodeView::trace_to_log`], or that of
    /// [`Address::trace`](crate::Address::trace). Returns whether there is such a process.
    pub fn stop_trace(&self, pid: Pid) -> bool {
        let process = self.process(pid);
        process.map(|process| process.trace(false)).is_some()
    }

    /// Requests a change of a process whose types are not known (rule X12), and waits up to 5 s for
    /// the answer: see [`NodeView::manage_within`].
    pub fn manage(&self, pid: Pid, request: Management) -> Pending<Managed, ManageError> {
        self.manage_within(pid, request, DEFAULT_CALL_TIMEOUT)
    }

    /// Requests a change of a process whose types are not known, and waits for the answer for at
    /// most `limit`. Pools and supervisors offer what [`Management`] lists, and a behaviour may
    /// offer it with [`Received::Manage`](crate::Received::Manage). A process takes the request
    /// from its System lane, behind urgent entries and before messages. After a timeout the process
    /// still does what was requested. A suspended process does it when it is resumed.
    pub fn manage_within(
        &self,
        pid: Pid,
        request: Management,
        limit: Duration,
    ) -> Pending<Managed, ManageError> {
        match self.host() {
            Some(host) => manage(Arc::clone(&host), pid, host.process(pid), request, limit),
            None => Pending::known(Err(ManageError::NoProcess(pid))),
        }
    }

    /// Begins to record every turn of the node, with its exact begin and end, its worker and how
    /// many messages it handled (rule X13). There is one recording at a time. While there is none
    /// turns cost nothing more; while there is one each turn takes a lock and looks at the clock
    /// twice.
    ///
    /// Turns on shared and pinned dispatchers, on those of an executor and in a simulation are
    /// recorded; those on calling threads have no worker and are not. A turn that runs when the
    /// recording begins, or is about to run, is left out. In a simulation a turn takes no time.
    ///
    /// # Errors
    /// [`RecordTurnsError`]: the node is gone, records already, or the limits are out of bounds.
    pub fn record_turns(
        &self,
        limits: TurnRecordingLimits,
    ) -> Result<TurnRecording, RecordTurnsError> {
        let gone = || RecordTurnsError::NodeStopped(self.node_name().to_owned());
        self.host().ok_or_else(gone)?.record_turns(limits)
    }

    /// Sends an exit signal from outside any process, as `Node::exit` does. Returns whether
    /// there is such a process.
    pub fn exit(&self, pid: Pid, reason: Reason) -> bool {
        let Some(host) = self.host() else { return false };
        let process = host.process(pid);
        let exit = Exit { pid: host.node_pid(), reason };
        process.map(|process| process.exit_signal(exit, Via::Signal)).is_some()
    }

    /// Kills a process, as `Node::kill` does. Returns whether there is such a process.
    pub fn kill(&self, pid: Pid) -> bool {
        self.process(pid).map(Process::kill).is_some()
    }
}

impl fmt::Debug for NodeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeView({})", self.name)
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Returns a view of the node, which does not keep it alive.
    #[must_use]
    pub fn view(&self) -> NodeView {
        NodeView::of(self.host())
    }
}
