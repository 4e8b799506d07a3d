//! The messages of a pool, and what one does with its address.

use crate::errors::{ExtendError, LeaseError, ShrinkError};
use crate::lease::{Lease, LeaseEnd};
use crate::status::CheckoutStatus;
use krarup::{Address, CallError, Pending, Pid, Reply, SpawnError};
use std::time::Duration;

/// The address of a pool of workers that take `M` (and `C` on their control lanes).
pub(crate) type CheckoutAddress<M, C = M> = Address<CheckoutMessage<M, C>>;

/// The reply token of a caller that wants a lease.
pub(crate) type LeaseReply<M, C> = Reply<Result<Lease<M, C>, LeaseError>>;

/// What a pool is told. The methods of [`CheckoutCalls`] send the requests.
pub(crate) enum CheckoutMessage<M: Send + 'static, C: Send + 'static> {
    /// Somebody wants a worker.
    Lease {
        /// Whether it waits in line if the pool is full.
        waits: bool,
        /// Gets the lease.
        reply: LeaseReply<M, C>,
    },
    /// A lease is over.
    Returned(LeaseEnd),
    /// The `init` of a new worker is over.
    Started {
        /// The worker.
        worker: Pid,
        /// Whether it has started.
        outcome: Result<(), SpawnError>,
    },
    /// Somebody asks how the pool is.
    Status(Reply<CheckoutStatus>),
    /// The pool shall keep one worker more.
    Extend(Reply<Result<usize, ExtendError>>),
    /// The pool shall keep one worker less.
    Shrink(Reply<Result<usize, ShrinkError>>),
}

impl<M: Send + 'static, C: Send + 'static> From<LeaseEnd> for CheckoutMessage<M, C> {
    fn from(end: LeaseEnd) -> Self {
        CheckoutMessage::Returned(end)
    }
}

/// What one does with the address of a pool. Nothing happens until the result is awaited, or
/// waited for on a plain thread. A pool is stopped as any process: [`Address::stop`].
pub(crate) trait CheckoutCalls<M: Send + 'static, C: Send + 'static> {
    /// Leases a worker: a free one, a new one, or, if the pool is full, the first that comes back
    /// when all who came before have got theirs. Waits for at most `timeout`.
    fn lease(&self, timeout: Duration) -> Pending<Lease<M, C>, LeaseError>;

    /// Leases a worker if one is free or can be made. If the pool is full it fails at once with
    /// [`LeaseError::Full`].
    fn lease_now(&self) -> Pending<Lease<M, C>, LeaseError>;

    /// Asks how the pool is.
    fn status(&self) -> Pending<CheckoutStatus, CallError>;

    /// Has the pool keep one worker more. Returns its size when the worker has started.
    fn extend(&self) -> Pending<usize, ExtendError>;

    /// Has the pool keep one worker less, unless that is less than are leased, or none. Returns
    /// its size.
    fn shrink(&self) -> Pending<usize, ShrinkError>;
}

impl<M: Send + 'static, C: Send + 'static> CheckoutCalls<M, C> for CheckoutAddress<M, C> {
    fn lease(&self, timeout: Duration) -> Pending<Lease<M, C>, LeaseError> {
        let pool = self.clone();
        Pending::new(self.node_host(), async move {
            let request = |reply| CheckoutMessage::Lease { waits: true, reply };
            pool.call(request).timeout(timeout).await?
        })
    }

    fn lease_now(&self) -> Pending<Lease<M, C>, LeaseError> {
        let pool = self.clone();
        Pending::new(self.node_host(), async move {
            pool.call(|reply| CheckoutMessage::Lease { waits: false, reply }).await?
        })
    }

    fn status(&self) -> Pending<CheckoutStatus, CallError> {
        let pool = self.clone();
        Pending::new(self.node_host(), async move { pool.call(CheckoutMessage::Status).await })
    }

    fn extend(&self) -> Pending<usize, ExtendError> {
        let pool = self.clone();
        Pending::new(self.node_host(), async move { pool.call(CheckoutMessage::Extend).await? })
    }

    fn shrink(&self) -> Pending<usize, ShrinkError> {
        let pool = self.clone();
        Pending::new(self.node_host(), async move { pool.call(CheckoutMessage::Shrink).await? })
    }
}
