//! The workers of a pool, as its senders see them.

use super::job_watch::JobWatch;
use super::pool_worker::PoolWorker;
use super::routing::WorkerView;
use super::worker_list::WorkerList;
use crate::addressing::address::Address;
use crate::host::host::Host;
use krarup_gen::{Pid, SendError};
use std::sync::Arc;

/// Whether the pool accepts messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    Draining,
    /// The pool has ended.
    Closed,
}

/// The workers in their order. Only a sender that finds no workers looks at the gate, so an
/// open pool pays nothing for it.
pub(super) struct Ring<M, C, R> {
    /// The workers that get jobs.
    pub(super) workers: WorkerList<M, C>,
    /// The same workers while the pool is drained.
    resting: WorkerList<M, C>,
    pub(super) gate: Gate,
    /// Places whose worker was given up and not yet replaced.
    pub(super) vacant: WorkerList<M, C>,
    places: u64,
    /// `None` after the pool has ended.
    pub(super) routing: Option<Arc<R>>,
}

impl<M: Send + 'static, C: Send + 'static, R> Ring<M, C, R> {
    pub(super) fn new(routing: R) -> Self {
        Ring {
            routing: Some(Arc::new(routing)),
            workers: WorkerList::default(),
            resting: WorkerList::default(),
            gate: Gate::Open,
            vacant: WorkerList::default(),
            places: 0,
        }
    }

    /// All workers, whether they get jobs or not.
    pub(super) fn all(&self) -> &WorkerList<M, C> {
        if self.gate == Gate::Draining { &self.resting } else { &self.workers }
    }

    pub(super) fn all_mut(&mut self) -> &mut WorkerList<M, C> {
        if self.gate == Gate::Draining { &mut self.resting } else { &mut self.workers }
    }

    /// Removes workers that were given up. Their places are kept for replacements.
    pub(super) fn vacate(&mut self, pids: &[Pid]) {
        for worker in self.all_mut().remove(pids) {
            self.vacant.push(worker);
        }
    }

    /// Puts a new worker in the place of an old one.
    pub(super) fn replace(
        &mut self,
        old: Pid,
        address: &Address<M, C>,
        watch: Option<&Arc<JobWatch<M>>>,
    ) {
        if self.all_mut().replace(old, address, watch) {
            return;
        }
        for PoolWorker { place, .. } in self.vacant.remove(&[old]) {
            let (address, watch) = (address.clone(), watch.cloned());
            self.all_mut().push(PoolWorker { address, place, watch });
        }
    }

    /// Removes places. Returns their workers, to be dropped outside the lock.
    pub(super) fn remove(&mut self, pids: &[Pid]) -> Vec<PoolWorker<M, C>> {
        let mut removed = self.all_mut().remove(pids);
        removed.append(&mut self.vacant.remove(pids));
        removed
    }

    /// The number of places, with and without a worker.
    pub(super) fn size(&self) -> usize {
        self.all().len() + self.vacant.len()
    }

    /// The number of a new place.
    pub(super) fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    /// Stops giving jobs to the workers.
    pub(super) fn drain(&mut self) {
        if self.gate == Gate::Open {
            self.resting = std::mem::take(&mut self.workers);
            self.gate = Gate::Draining;
        }
    }

    /// Gives jobs to the workers again. Returns whether the ring was drained.
    pub(super) fn open(&mut self) -> bool {
        let drained = self.gate == Gate::Draining;
        if drained {
            self.workers = std::mem::take(&mut self.resting);
            self.gate = Gate::Open;
        }
        drained
    }

    /// Closes the ring because the pool has ended. Returns its workers, also those that were
    /// given up and not yet replaced.
    pub(super) fn close(&mut self) -> Vec<PoolWorker<M, C>> {
        let mut workers = self.all_mut().take_first(usize::MAX);
        workers.append(&mut self.vacant.take_first(usize::MAX));
        self.gate = Gate::Closed;
        workers
    }

    /// The error for a message that no worker of this pool can take.
    pub(super) fn refusal<T>(&self, message: T, pool: Pid) -> SendError<T> {
        match self.gate {
            Gate::Closed => SendError::NoProcess { message, to: pool },
            Gate::Draining => SendError::Draining { message, to: pool },
            Gate::Open => SendError::NoWorkers { message, to: pool },
        }
    }

    pub(super) fn find(&self, pid: Pid) -> Option<&PoolWorker<M, C>> {
        self.all().find(pid)
    }
}

/// A view of the ring for a routing.
pub(super) struct RingView<'a, M, C> {
    pub(super) workers: &'a WorkerList<M, C>,
    /// Places without a worker.
    pub(super) empty: &'a WorkerList<M, C>,
    pub(super) host: &'a dyn Host,
}

impl<M: Send + 'static, C: Send + 'static> WorkerView for RingView<'_, M, C> {
    fn load(&self, index: usize) -> usize {
        // A worker that has ended takes nothing, so its load is the highest.
        self.workers.get(index).and_then(|worker| worker.address.load()).unwrap_or(usize::MAX)
    }

    fn place(&self, index: usize) -> u64 {
        self.workers.get(index).map_or(0, |worker| worker.place)
    }

    fn spread_places(&self) -> [&[u64]; 2] {
        self.workers.spread_places()
    }

    fn empty(&self, index: usize) -> Option<u64> {
        self.empty.get(index).map(|worker| worker.place)
    }

    fn random(&self) -> u64 {
        self.host.random()
    }
}
