//! The table of the workers of a pool.
//!
//! ```text
//!              started          handed over
//!   Starting ──────────► Free ─────────────────► Leased
//!      │                  │ ▲ ◄── came back ────── │
//!      │ could not start  │ one too many, or dead  │
//!      ▼                  ▼                        ▼
//!     gone ◄─ its exit ─ Ending                   gone, by its exit
//! ```
//!
//! A worker stays in the table until the pool has its exit, so there are never more processes than
//! the pool may have. `free + leased` are the workers of the pool; who starts or ends is no worker
//! yet, or not any more. The table decides nothing: see [`machine`](crate::machine).

use crate::errors::ExtendError;
use crate::lease::LeaseEnd;
use krarup::{Address, Pid, Reply};
use std::collections::{BTreeMap, VecDeque};

/// Which of the free workers is leased next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseOrder {
    /// The one that came back last: the others stay idle.
    Lifo,
    /// The one that has been free for the longest time: all have their turn.
    Fifo,
}

/// Because of whom a worker is made.
pub(crate) enum Wanted {
    /// The caller of this number in the line.
    Caller(u64),
    /// Somebody who extends the pool.
    Extension(Reply<Result<usize, ExtendError>>),
    /// Nobody: one of the pool's own has died.
    Replacement,
}

enum WorkerState {
    Starting(Wanted),
    Free,
    /// With the number of its lease.
    Leased(u64),
    Ending,
}

struct WorkerEntry<M: Send + 'static, C: Send + 'static> {
    address: Address<M, C>,
    state: WorkerState,
}

/// All workers of a pool.
pub(crate) struct WorkerTable<M: Send + 'static, C: Send + 'static> {
    entries: BTreeMap<Pid, WorkerEntry<M, C>>,
    /// The free ones, in the order in which they came back.
    free: VecDeque<Pid>,
    leased: usize,
    starting: usize,
    /// How many of those that start extend the pool.
    extensions: usize,
    /// How many of those that start are made for a caller.
    for_callers: usize,
}

/// How a worker stood in the table when it went.
pub(crate) enum Gone {
    /// It was still starting.
    Unstarted(Wanted),
    /// It was a worker, or was ending.
    Worker,
}

impl<M: Send + 'static, C: Send + 'static> WorkerTable<M, C> {
    pub(crate) fn new() -> Self {
        let (entries, free) = (BTreeMap::new(), VecDeque::new());
        WorkerTable { entries, free, leased: 0, starting: 0, extensions: 0, for_callers: 0 }
    }

    /// Adds a worker that has begun to start.
    pub(crate) fn begin(&mut self, worker: Address<M, C>, wanted: Wanted) {
        self.starting += 1;
        match wanted {
            Wanted::Caller(_) => self.for_callers += 1,
            Wanted::Extension(_) => self.extensions += 1,
            Wanted::Replacement => {}
        }
        let state = WorkerState::Starting(wanted);
        self.entries.insert(worker.pid(), WorkerEntry { address: worker, state });
    }

    /// Adds a worker that has started.
    pub(crate) fn add(&mut self, worker: Address<M, C>) {
        self.free.push_back(worker.pid());
        let state = WorkerState::Free;
        self.entries.insert(worker.pid(), WorkerEntry { address: worker, state });
    }

    /// A worker has started: it is free. Returns for whom it was made. If it has died since, its
    /// exit is on the way, and it stays as it is.
    pub(crate) fn started(&mut self, worker: Pid) -> Option<Wanted> {
        let entry = self.entries.get_mut(&worker)?;
        if !matches!(entry.state, WorkerState::Starting(_)) || !entry.address.is_alive() {
            return None;
        }
        let state = std::mem::replace(&mut entry.state, WorkerState::Free);
        let WorkerState::Starting(wanted) = state else { return None };
        self.free.push_back(worker);
        self.forget_start(&wanted);
        Some(wanted)
    }

    fn forget_start(&mut self, wanted: &Wanted) {
        self.starting -= 1;
        match wanted {
            Wanted::Caller(_) => self.for_callers -= 1,
            Wanted::Extension(_) => self.extensions -= 1,
            Wanted::Replacement => {}
        }
    }

    /// Takes the free worker that is to be leased next, to be passed to
    /// [`lease`](WorkerTable::lease) or [`put_back`](WorkerTable::put_back). Those that have died
    /// are passed over.
    pub(crate) fn take_free(&mut self, order: LeaseOrder) -> Option<Address<M, C>> {
        loop {
            let worker = match order {
                LeaseOrder::Lifo => self.free.pop_back(),
                LeaseOrder::Fifo => self.free.pop_front(),
            }?;
            let entry = self.entries.get_mut(&worker)?;
            if entry.address.is_alive() {
                return Some(entry.address.clone());
            }
            entry.state = WorkerState::Ending;
        }
    }

    /// The worker was handed over, with a lease of this number.
    pub(crate) fn lease(&mut self, worker: Pid, number: u64) {
        if let Some(entry) = self.entries.get_mut(&worker) {
            entry.state = WorkerState::Leased(number);
            self.leased += 1;
        }
    }

    /// Nobody took the worker: it is the next again.
    pub(crate) fn put_back(&mut self, worker: Pid, order: LeaseOrder) {
        match order {
            LeaseOrder::Lifo => self.free.push_back(worker),
            LeaseOrder::Fifo => self.free.push_front(worker),
        }
    }

    /// The lease of a worker is over: it is free. The end of any other lease than its present one
    /// means nothing.
    pub(crate) fn returned(&mut self, end: &LeaseEnd) {
        let Some(entry) = self.entries.get_mut(&end.worker) else { return };
        if !matches!(entry.state, WorkerState::Leased(number) if number == end.number) {
            return;
        }
        self.leased -= 1;
        entry.state = WorkerState::Free;
        self.free.push_back(end.worker);
    }

    /// Takes a free worker that is one too many. It is ending from now on.
    pub(crate) fn take_surplus(&mut self, size: usize) -> Option<Address<M, C>> {
        if self.count() <= size {
            return None;
        }
        let entry = self.entries.get_mut(&self.free.pop_back()?)?;
        entry.state = WorkerState::Ending;
        Some(entry.address.clone())
    }

    /// Removes a worker that has ended, or could not start. Returns how it stood, or `None` for a
    /// process that is not in the table.
    pub(crate) fn remove(&mut self, worker: Pid) -> Option<Gone> {
        match self.entries.remove(&worker)?.state {
            WorkerState::Starting(wanted) => {
                self.forget_start(&wanted);
                return Some(Gone::Unstarted(wanted));
            }
            WorkerState::Free => self.free.retain(|free| *free != worker),
            WorkerState::Leased(_) => self.leased -= 1,
            WorkerState::Ending => {}
        }
        Some(Gone::Worker)
    }

    /// Takes all out of the table.
    pub(crate) fn take_all(&mut self) -> Vec<Address<M, C>> {
        let entries = std::mem::take(self).entries;
        entries.into_values().map(|entry| entry.address).collect()
    }

    /// How many workers there are: those that are free, and those that are leased.
    pub(crate) fn count(&self) -> usize {
        self.free.len() + self.leased
    }

    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn leased(&self) -> usize {
        self.leased
    }

    pub(crate) fn starting(&self) -> usize {
        self.starting
    }

    /// How many of those that start extend the pool.
    pub(crate) fn extensions(&self) -> usize {
        self.extensions
    }

    /// How many of those that start are made for a caller.
    pub(crate) fn made_for_callers(&self) -> usize {
        self.for_callers
    }

    /// How many processes there are, with those that start or end.
    pub(crate) fn processes(&self) -> usize {
        self.entries.len()
    }
}

impl<M: Send + 'static, C: Send + 'static> Default for WorkerTable<M, C> {
    fn default() -> Self {
        Self::new()
    }
}
