//! One worker of a pool, with its place.

use super::job_watch::JobWatch;
use crate::addressing::address::Address;
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
