//! The workers of a pool, as its senders see them.

use super::job_watch::JobWatch;
use super::routing::WorkerView;
use crate::addressing::address::Address;
use crate::host::host::Host;
use krarup_gen::{Pid, SendError};
use std::sync::Arc;

/// One place in the ring and its current worker.
pub(super) struct PoolWorker<M, C> {
    pub(super) address: Address<M, C>,
    /// The number of the place. It stays when the worker is replaced, and is never used again.
    pub(super) place: u64,
    /// The watch over its jobs, if jobs are watched.
    pub(super) watch: Option<Arc<JobWatch<M>>>,
}

impl<M, C> Clone for PoolWorker<M, C> {
    fn clone(&self) -> Self {
        let PoolWorker { address, place, watch } = self;
        PoolWorker { address: address.clone(), place: *place, watch: watch.clone() }
    }
}

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
    pub(super) workers: Vec<PoolWorker<M, C>>,
    /// The same workers while the pool is drained.
    resting: Vec<PoolWorker<M, C>>,
    pub(super) gate: Gate,
    /// Places whose worker was given up and not yet replaced.
    pub(super) vacant: Vec<PoolWorker<M, C>>,
    places: u64,
    /// `None` after the pool has ended.
    pub(super) routing: Option<Arc<R>>,
}

impl<M: Send + 'static, C: Send + 'static, R> Ring<M, C, R> {
    pub(super) fn new(routing: R) -> Self {
        Ring {
            routing: Some(Arc::new(routing)),
            workers: Vec::new(),
            resting: Vec::new(),
            gate: Gate::Open,
            vacant: Vec::new(),
            places: 0,
        }
    }

    /// All workers, whether they get jobs or not.
    pub(super) fn all(&self) -> &[PoolWorker<M, C>] {
        if self.gate == Gate::Draining { &self.resting } else { &self.workers }
    }

    pub(super) fn all_mut(&mut self) -> &mut Vec<PoolWorker<M, C>> {
        if self.gate == Gate::Draining { &mut self.resting } else { &mut self.workers }
    }

    /// Removes a worker that was given up. Its place is kept for a replacement.
    pub(super) fn vacate(&mut self, pid: Pid) {
        let workers = self.all_mut();
        if let Some(index) = workers.iter().position(|worker| worker.address.pid() == pid) {
            let worker = workers.remove(index);
            self.vacant.push(worker);
        }
    }

    /// Puts a new worker in the place of an old one.
    pub(super) fn replace(
        &mut self,
        old: Pid,
        address: Address<M, C>,
        watch: Option<Arc<JobWatch<M>>>,
    ) {
        if let Some(worker) = self.all_mut().iter_mut().find(|w| w.address.pid() == old) {
            worker.address = address;
            worker.watch = watch;
        } else if let Some(index) = self.vacant.iter().position(|w| w.address.pid() == old) {
            let place = self.vacant.remove(index).place;
            self.all_mut().push(PoolWorker { address, place, watch });
        }
    }

    /// Removes a place.
    pub(super) fn remove(&mut self, pid: Pid) {
        self.all_mut().retain(|worker| worker.address.pid() != pid);
        self.vacant.retain(|worker| worker.address.pid() != pid);
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
        let mut workers = std::mem::take(self.all_mut());
        workers.append(&mut self.vacant);
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
        self.all().iter().find(|worker| worker.address.pid() == pid)
    }
}

/// A view of the ring for a routing.
pub(super) struct RingView<'a, M, C> {
    pub(super) workers: &'a [PoolWorker<M, C>],
    /// Places without a worker.
    pub(super) empty: &'a [PoolWorker<M, C>],
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

    fn empty(&self, index: usize) -> Option<u64> {
        self.empty.get(index).map(|worker| worker.place)
    }

    fn random(&self) -> u64 {
        self.host.random()
    }
}
