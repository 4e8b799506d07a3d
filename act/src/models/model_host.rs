//! The smallest host that can run real processes.

use super::checker::{Condvar, Mutex, thread};
use crate::context::Context;
use crate::host::host::{Alarm, Host, Poke};
use crate::host::ready::{Ready, TurnLimits};
use crate::host::shared_host::SharedHost;
use crate::host::shared_host_slot::SharedHostSlot;
use crate::mailbox::overflow::Overflow;
use crate::memberships::records::Memberships;
use crate::names::name_waits::NameWaits;
use crate::observe::state_labels::StateLabels;
use crate::process::cell::{Cell, NewProcess};
use crate::process::facts::BehaviorFacts;
use crate::process::panics::raise;
use crate::process::process::Process;
use crate::process::turn::Life;
use crate::process::waker::WakingHandle;
use krarup_gen::{Pid, ProcessKind, Reason, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
// The counters of the models are not part of what they check, so loom need not see them.
use std::sync::atomic::{AtomicU64, Ordering};

mod as_host;

pub(super) const LIMITS: TurnLimits =
    TurnLimits { throughput: NonZeroU32::new(100).unwrap(), deadline: None, spans: false };

/// One message per turn.
pub(super) const ONE_BY_ONE: TurnLimits =
    TurnLimits { throughput: NonZeroU32::MIN, deadline: None, spans: false };

/// The cell of a process in the models.
pub(crate) type ModelActor = Arc<Cell<u32, u32>>;

pub(crate) struct ModelHost {
    tables: Mutex<Tables>,
    queue: Mutex<ModelQueue>,
    came: Condvar,
    listed: Condvar,
    /// The timers that are set and have neither fired nor been cancelled.
    timers: Mutex<BTreeMap<u32, (Timestamp, Alarm)>>,
    now: AtomicU64,
    numbers: AtomicU64,
    dead_letters: AtomicU64,
    late_replies: AtomicU64,
    retired: AtomicU64,
    /// The message of a panic in a process. Its turn contains the panic, but the model must
    /// fail.
    panicked: Mutex<Option<String>>,
    /// After how many ended processes the host closes.
    ends: u64,
    /// Whether its tables panic when a process ends.
    fails: bool,
    labels: StateLabels,
    memberships: Memberships,
    shared: SharedHostSlot,
    name_waits: NameWaits,
}

#[derive(Default)]
struct Tables {
    processes: BTreeMap<Pid, Arc<dyn Process>>,
    names: BTreeMap<String, Arc<dyn Process>>,
}

#[derive(Default)]
struct ModelQueue {
    ready: VecDeque<Ready>,
    /// How many processes have been queued so far.
    scheduled: u64,
    /// The processes to be poked.
    listed: Vec<Arc<dyn Poke>>,
    /// The expected number of processes has ended.
    closed: bool,
}

impl ModelHost {
    /// Makes a host whose workers stop when one process has ended.
    pub(crate) fn new() -> Arc<Self> {
        Self::until(1)
    }

    /// Makes a host whose workers stop when `ends` processes have ended.
    pub(crate) fn until(ends: u64) -> Arc<Self> {
        Arc::new(ModelHost {
            tables: Mutex::default(),
            queue: Mutex::default(),
            came: Condvar::default(),
            listed: Condvar::default(),
            timers: Mutex::default(),
            now: AtomicU64::new(0),
            numbers: AtomicU64::new(1),
            dead_letters: AtomicU64::new(0),
            late_replies: AtomicU64::new(0),
            retired: AtomicU64::new(0),
            panicked: Mutex::default(),
            ends,
            fails: false,
            labels: StateLabels::default(),
            memberships: Memberships::default(),
            shared: SharedHostSlot::default(),
            name_waits: NameWaits::default(),
        })
    }

    /// Does the same as [`ModelHost::new`], but the host panics when it is notified of an end.
    pub(super) fn failing() -> Arc<Self> {
        let mut host = Self::new();
        Arc::get_mut(&mut host).expect("the only handle").fails = true;
        host
    }

    /// Returns this host as the trait object that processes use.
    pub(crate) fn host(self: &Arc<Self>) -> Arc<dyn Host> {
        Arc::clone(self) as Arc<dyn Host>
    }

    /// Enters a process into the table without scheduling it.
    pub(crate) fn admit_new(self: &Arc<Self>, bound: u32) -> ModelActor {
        self.admit_of(bound)
    }

    /// Does the same for a process with messages of another type.
    pub(crate) fn admit_of<M: Send + 'static>(self: &Arc<Self>, bound: u32) -> Arc<Cell<M, M>> {
        Arc::clone(&self.admit_own(bound))
    }

    /// Does the same, and returns the handle of the process itself.
    fn admit_own<M: Send + 'static>(self: &Arc<Self>, bound: u32) -> WakingHandle<Cell<M, M>> {
        let own = WakingHandle::first(Cell::new(NewProcess {
            pid: self.next_pid(),
            parent: None,
            shared: SharedHost::of(self.host()),
            behavior: &BehaviorFacts {
                label: || "model",
                kind: ProcessKind::default,
                show_message: |_| None,
                show_command: |_| None,
                routes_main: || false,
                one_thread: false,
                future: 0,
            },
            bound,
            overflow: Overflow::Refuse,
        }));
        let process = Arc::clone(&own) as Arc<dyn Process>;
        self.tables.lock().processes.insert(own.pid(), process);
        own
    }

    /// Makes a process that runs `body`.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        bound: u32,
        body: impl FnOnce(Context<u32, u32>) -> F + Send + 'static,
    ) -> (ModelActor, Ready)
    where
        F: Future<Output = Result<(), Reason>> + Send + 'static,
    {
        let own = self.admit_own(bound);
        let cell = Arc::clone(&own);
        let ctx = Context::new(Arc::clone(&cell));
        (cell, Life::ready(own, move || body(ctx)))
    }

    /// Does the same as [`ModelHost::spawn`], and schedules the process.
    pub(crate) fn start<F>(
        self: &Arc<Self>,
        bound: u32,
        body: impl FnOnce(Context<u32, u32>) -> F + Send + 'static,
    ) -> ModelActor
    where
        F: Future<Output = Result<(), Reason>> + Send + 'static,
    {
        let (cell, ready) = self.spawn(bound, body);
        self.schedule(ready);
        cell
    }

    /// Starts a worker on another thread.
    pub(crate) fn worker(self: &Arc<Self>) -> thread::JoinHandle<()> {
        self.worker_within(LIMITS)
    }

    /// Starts a worker whose turns have these limits.
    pub(super) fn worker_within(self: &Arc<Self>, limits: TurnLimits) -> thread::JoinHandle<()> {
        let host = Arc::clone(self);
        thread::spawn(move || {
            while let Some(ready) = host.next_ready() {
                host.run(ready, limits);
            }
        })
    }

    fn run(&self, ready: Ready, limits: TurnLimits) {
        if let Some(again) = ready.run(&limits) {
            self.schedule(again);
        }
        let panicked = self.panicked.lock().take();
        if let Some(panic) = panicked {
            panic!("{panic}");
        }
    }

    /// Runs ready processes on this thread until none is ready.
    pub(crate) fn settle(&self) {
        loop {
            let ready = self.queue.lock().ready.pop_front();
            let Some(ready) = ready else { return };
            self.run(ready, LIMITS);
        }
    }

    /// Does the same for processes of which some are to panic.
    pub(super) fn settle_panicking(&self) {
        loop {
            let ready = self.queue.lock().ready.pop_front();
            let Some(ready) = ready else { return };
            if let Some(again) = ready.run(&LIMITS) {
                self.schedule(again);
            }
            self.panicked.lock().take();
        }
    }

    /// Acts as the watchdog: pokes listed processes until the host is closed.
    pub(super) fn watch(&self) {
        let mut queue = self.queue.lock();
        while !queue.closed {
            match queue.listed.pop() {
                None => queue = self.listed.wait(queue),
                Some(process) => {
                    drop(queue);
                    process.poke();
                    queue = self.queue.lock();
                }
            }
        }
    }

    pub(super) fn next_ready(&self) -> Option<Ready> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(ready) = queue.ready.pop_front() {
                return Some(ready);
            }
            if queue.closed {
                return None;
            }
            queue = self.came.wait(queue);
        }
    }

    /// Acts as the timer thread: the time jumps to its end, and every timer fires.
    pub(crate) fn time_passes(&self) {
        self.now.store(Timestamp::MAX.as_nanos(), Ordering::Relaxed);
        let due = std::mem::take(&mut *self.timers.lock());
        for (_, alarm) in due.into_values() {
            match alarm {
                Alarm::Wake(waker) => waker.wake(),
                Alarm::Tell(owner, timer) => {
                    owner.upgrade().into_iter().for_each(|owner| owner.timer_is_due(timer));
                }
                Alarm::Run(action) => action(),
            }
        }
    }

    /// The number of timers that have neither fired nor been cancelled.
    pub(super) fn timers(&self) -> usize {
        self.timers.lock().len()
    }

    /// How often a process was queued.
    pub(super) fn scheduled(&self) -> u64 {
        self.queue.lock().scheduled
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    pub(super) fn late_replies(&self) -> u64 {
        self.late_replies.load(Ordering::Relaxed)
    }

    fn fail(&self) {
        if self.fails {
            raise("a host");
        }
    }

    /// How many processes have ended.
    pub(super) fn retired(&self) -> u64 {
        self.retired.load(Ordering::Relaxed)
    }

    /// Drops the processes, which hold the host.
    pub(crate) fn clear(&self) {
        let tables = std::mem::take(&mut *self.tables.lock());
        drop(tables);
        let listed = std::mem::take(&mut self.queue.lock().listed);
        drop(listed);
    }
}
