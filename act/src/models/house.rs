//! The smallest host that real processes can live in.

use crate::context::Context;
use crate::host::{Alarm, Host, Poke, Ready, Stalled, TimerKey, TurnLimits};
use crate::mailbox::overflow::Overflow;
use crate::process::cell::{Birth, Cell};
use crate::process::process::Process;
use crate::process::turn::Life;
use crate::subscription::{Subscription, Topic};
use krarup_gen::{Alias, BlockError, DeadLetter, Name, Pid, Reason, Ref, SpawnError, Timestamp};
use loom::sync::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
// What the models count is no part of what they check: loom need not know of it.
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const LIMITS: TurnLimits = TurnLimits { throughput: 100, deadline: None };

/// A process of the models.
pub(super) type Inhabitant = Arc<Cell<u32, u32>>;

pub(super) struct House {
    processes: Mutex<BTreeMap<Pid, Arc<dyn Process>>>,
    queue: Mutex<Queue>,
    came: Condvar,
    listed: Condvar,
    numbers: AtomicU64,
    dead_letters: AtomicU64,
    retired: AtomicU64,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Ready>,
    /// To be poked.
    listed: Vec<Arc<dyn Poke>>,
    /// A process has ended.
    closed: bool,
}

impl House {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(House {
            processes: Mutex::new(BTreeMap::new()),
            queue: Mutex::new(Queue::default()),
            came: Condvar::new(),
            listed: Condvar::new(),
            numbers: AtomicU64::new(1),
            dead_letters: AtomicU64::new(0),
            retired: AtomicU64::new(0),
        })
    }

    /// A process in the table that nobody has scheduled.
    pub(super) fn admit_new(self: &Arc<Self>, bound: u32) -> Inhabitant {
        let cell = Arc::new(Cell::new(Birth {
            pid: self.next_pid(),
            parent: None,
            host: Arc::clone(self) as Arc<dyn Host>,
            behavior: || "model",
            bound,
            overflow: Overflow::Refuse,
        }));
        self.processes().insert(cell.pid, Arc::clone(&cell) as Arc<dyn Process>);
        cell
    }

    /// A process that will do `body` when it is run.
    pub(super) fn spawn<F>(
        self: &Arc<Self>,
        bound: u32,
        body: impl FnOnce(Context<u32, u32>) -> F + Send + 'static,
    ) -> (Inhabitant, Ready)
    where
        F: Future<Output = Result<(), Reason>> + Send + 'static,
    {
        let cell = self.admit_new(bound);
        let ctx = Context::new(Arc::clone(&cell));
        let ready = Life::ready(Arc::clone(&cell), move || body(ctx));
        (cell, ready)
    }

    /// A worker on a thread of its own.
    pub(super) fn worker(self: &Arc<Self>) -> loom::thread::JoinHandle<()> {
        let house = Arc::clone(self);
        loom::thread::spawn(move || house.work())
    }

    /// A worker: runs what is ready until a process has ended.
    pub(super) fn work(&self) {
        while let Some(ready) = self.next_ready() {
            if let Some(again) = ready.run(&LIMITS) {
                self.schedule(again);
            }
        }
    }

    /// A watchdog: pokes who is listed until a process has ended.
    pub(super) fn watch(&self) {
        let mut queue = self.queue.lock().expect("nothing panics under a lock");
        while !queue.closed {
            match queue.listed.pop() {
                None => queue = self.listed.wait(queue).expect("nothing panics under a lock"),
                Some(process) => {
                    drop(queue);
                    process.poke();
                    queue = self.queue.lock().expect("nothing panics under a lock");
                }
            }
        }
    }

    fn next_ready(&self) -> Option<Ready> {
        let mut queue = self.queue.lock().expect("nothing panics under a lock");
        loop {
            if let Some(ready) = queue.ready.pop_front() {
                return Some(ready);
            }
            if queue.closed {
                return None;
            }
            queue = self.came.wait(queue).expect("nothing panics under a lock");
        }
    }

    pub(super) fn dead_letters(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    /// How many times a process has ended.
    pub(super) fn retired(&self) -> u64 {
        self.retired.load(Ordering::Relaxed)
    }

    /// Lets go of the processes, which hold the house.
    pub(super) fn clear(&self) {
        let processes = std::mem::take(&mut *self.processes());
        drop(processes);
    }

    fn processes(&self) -> loom::sync::MutexGuard<'_, BTreeMap<Pid, Arc<dyn Process>>> {
        self.processes.lock().expect("nothing panics under a lock")
    }
}

impl Host for House {
    fn node_name(&self) -> &'static str {
        "model"
    }

    fn node_pid(&self) -> Pid {
        Pid::local(0, 1)
    }

    fn next_pid(&self) -> Pid {
        Pid::local(self.numbers.fetch_add(1, Ordering::Relaxed), 1)
    }

    fn next_ref(&self) -> Ref {
        Ref::new(self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, _: Arc<dyn Process>, _: Option<&Name>) -> Result<(), SpawnError> {
        unreachable!("models are admitted by `admit_new`")
    }

    fn retire(&self, pid: Pid, _: Option<&Name>) {
        let process = self.processes().remove(&pid);
        self.retired.fetch_add(u64::from(process.is_some()), Ordering::Relaxed);
        self.queue.lock().expect("nothing panics under a lock").closed = true;
        self.came.notify_all();
        self.listed.notify_all();
    }

    fn register(&self, _: &Name, _: Arc<dyn Process>) -> Result<(), Pid> {
        unreachable!("no model has a name")
    }

    fn unregister(&self, _: &str) -> Option<Arc<dyn Process>> {
        None
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.processes().get(&pid).cloned()
    }

    fn whereis(&self, _: &str) -> Option<Arc<dyn Process>> {
        None
    }

    fn schedule(&self, ready: Ready) {
        let mut queue = self.queue.lock().expect("nothing panics under a lock");
        let one = queue.ready.is_empty();
        queue.ready.push_back(ready);
        drop(queue);
        assert!(one, "the process is queued twice");
        self.came.notify_one();
    }

    fn random(&self) -> u64 {
        unreachable!("no model leaves anything to chance")
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn set_timer(&self, _: Timestamp, _: Alarm) -> TimerKey {
        unreachable!("no model sets a timer")
    }

    fn cancel_timer(&self, _: TimerKey) -> bool {
        false
    }

    fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        self.queue.lock().expect("nothing panics under a lock").listed.push(process());
        self.listed.notify_one();
        true
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        work();
        Ok(())
    }

    fn wait(&self, _: Pin<&mut (dyn Future<Output = ()> + Send)>) -> Result<(), Stalled> {
        unreachable!("models wait on threads of their own")
    }

    fn with_dispatcher(&self, name: &str) -> Result<Arc<dyn Host>, SpawnError> {
        Err(SpawnError::UnknownDispatcher(name.to_owned()))
    }

    fn dispatcher_name(&self) -> &'static str {
        "model"
    }

    fn has_stopped(&self) -> bool {
        false
    }

    fn is_stopping(&self) -> bool {
        false
    }

    fn add_alias(&self, _: Alias, _: Arc<dyn Process>) {
        unreachable!("no model has an alias")
    }

    fn remove_alias(&self, _: Alias) {}

    fn by_alias(&self, _: Alias) -> Option<Arc<dyn Process>> {
        None
    }

    fn dead_letter(&self, _: DeadLetter) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
    }

    fn subscribe(&self, _: Subscription) {
        unreachable!("no model subscribes to anything")
    }

    fn unsubscribe(&self, _: Topic, _: Pid) -> bool {
        false
    }

    fn note_initialised(&self, _: Pid) {}

    fn note_ended(&self, _: Pid, _: Option<Name>, _: &Reason) {}

    fn count_late_reply(&self) {}
}
