//! The workers of a pool, as its senders see them.

use super::job_watch::JobWatch;
use super::routing::WorkerView;
use crate::addressing::address::Address;
use crate::host::host::Host;
use krarup_gen::{Pid, SendError};
use std::sync::Arc;

/// One place in the ring, and who works there now.
pub(super) struct PoolWorker<M, C> {
    pub(super) address: Address<M, C>,
    /// Stays when the worker is replaced, and is never used again.
    pub(super) place: u64,
    /// What watches its jobs, if anything does.
    pub(super) desk: Option<Arc<JobWatch<M>>>,
}

impl<M, C> Clone for PoolWorker<M, C> {
    fn clone(&self) -> Self {
        let PoolWorker { address, place, desk } = self;
        PoolWorker { address: address.clone(), place: *place, desk: desk.clone() }
    }
}

/// Whether the pool takes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    Draining,
    /// The pool has ended.
    Closed,
}

/// The workers in their order. What finds no workers to send to looks at the gate: so an open
/// pool pays nothing for it.
pub(super) struct Ring<M, C, R> {
    /// Those that jobs are given to.
    pub(super) workers: Vec<PoolWorker<M, C>>,
    /// The same ones, while the pool is drained.
    resting: Vec<PoolWorker<M, C>>,
    pub(super) gate: Gate,
    /// Places whose worker was given up and not yet replaced.
    pub(super) vacant: Vec<PoolWorker<M, C>>,
    places: u64,
    /// `None` when the pool has ended.
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

    /// All workers, whether jobs are given to them or not.
    pub(super) fn all(&self) -> &[PoolWorker<M, C>] {
        if self.gate == Gate::Draining { &self.resting } else { &self.workers }
    }

    pub(super) fn all_mut(&mut self) -> &mut Vec<PoolWorker<M, C>> {
        if self.gate == Gate::Draining { &mut self.resting } else { &mut self.workers }
    }

    /// Gives a worker up: its place waits for another.
    pub(super) fn vacate(&mut self, pid: Pid) {
        let workers = self.all_mut();
        if let Some(index) = workers.iter().position(|worker| worker.address.pid() == pid) {
            let worker = workers.remove(index);
            self.vacant.push(worker);
        }
    }

    /// Puts a worker in the place of another.
    pub(super) fn replace(
        &mut self,
        old: Pid,
        address: Address<M, C>,
        desk: Option<Arc<JobWatch<M>>>,
    ) {
        if let Some(worker) = self.all_mut().iter_mut().find(|w| w.address.pid() == old) {
            worker.address = address;
            worker.desk = desk;
        } else if let Some(index) = self.vacant.iter().position(|w| w.address.pid() == old) {
            let place = self.vacant.remove(index).place;
            self.all_mut().push(PoolWorker { address, place, desk });
        }
    }

    /// Takes a place out.
    pub(super) fn remove(&mut self, pid: Pid) {
        self.all_mut().retain(|worker| worker.address.pid() != pid);
        self.vacant.retain(|worker| worker.address.pid() != pid);
    }

    /// Places, with a worker and without.
    pub(super) fn size(&self) -> usize {
        self.all().len() + self.vacant.len()
    }

    /// A number for a new place.
    pub(super) fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    /// Gives nothing to the workers from now on.
    pub(super) fn drain(&mut self) {
        if self.gate == Gate::Open {
            self.resting = std::mem::take(&mut self.workers);
            self.gate = Gate::Draining;
        }
    }

    /// Gives to the workers again; whether that is new.
    pub(super) fn open(&mut self) -> bool {
        let drained = self.gate == Gate::Draining;
        if drained {
            self.workers = std::mem::take(&mut self.resting);
            self.gate = Gate::Open;
        }
        drained
    }

    /// The pool has ended; the workers it had, and those that were given up and not yet replaced.
    pub(super) fn close(&mut self) -> Vec<PoolWorker<M, C>> {
        let mut workers = std::mem::take(self.all_mut());
        workers.append(&mut self.vacant);
        self.gate = Gate::Closed;
        workers
    }

    /// Why nobody takes a message.
    pub(super) fn refusal<T>(&self, message: T) -> SendError<T> {
        match self.gate {
            Gate::Closed => SendError::NoProcess(message),
            Gate::Draining => SendError::Draining(message),
            Gate::Open => SendError::NoWorkers(message),
        }
    }

    pub(super) fn find(&self, pid: Pid) -> Option<&PoolWorker<M, C>> {
        self.all().iter().find(|worker| worker.address.pid() == pid)
    }
}

/// A ring and its node, for a routing to look at.
pub(super) struct RingView<'a, M, C> {
    pub(super) workers: &'a [PoolWorker<M, C>],
    /// Places without a worker.
    pub(super) empty: &'a [PoolWorker<M, C>],
    pub(super) host: &'a dyn Host,
}

impl<M: Send + 'static, C: Send + 'static> WorkerView for RingView<'_, M, C> {
    fn load(&self, index: usize) -> usize {
        // One that has ended takes nothing: no other is to be preferred less.
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
