//! A lease: the right to use one worker, which ends when the value is dropped.
//!
//! ```text
//!   holder ── "query" ──► worker's mailbox  [ query ][ end of the lease ]
//!   holder dies, or drops its lease ─────────────────────┘     │ when the query is done
//!                                                              ▼
//!                                                    pool: the worker is free
//! ```
//!
//! The end of a lease takes the way through the worker, behind all that its holder has sent. So the
//! worker is not free, and no other caller gets it, before it is done with the mail of its last
//! holder. If the worker has ended the pool hears it at once, and the exit of the worker too.

use krarup::{Address, Pid, Recipient};
use std::fmt;
use std::ops::Deref;

/// The right to use one worker of a pool, from the moment when the value arrives to the moment
/// when it is dropped.
///
/// It is used as the address of the worker: `lease.call(..)`, `lease.send(..)`. The worker is free
/// again however the lease ends: at the end of a block, in a panic, with a process that is killed,
/// in an answer that comes too late. It can be moved to another process, which is its holder then.
#[must_use = "a lease that is dropped is over"]
pub(crate) struct Lease<M: Send + 'static, C: Send + 'static = M> {
    worker: Address<M, C>,
    /// Each lease has another number, so that the end of an old one says nothing of a new one.
    number: u64,
    pool: Recipient<LeaseEnd>,
}

/// The message by which a pool hears of the end of a lease.
#[derive(Debug)]
pub(crate) struct LeaseEnd {
    /// The worker that was leased.
    pub(crate) worker: Pid,
    /// The number of the lease.
    pub(crate) number: u64,
}

impl<M: Send + 'static, C: Send + 'static> Lease<M, C> {
    pub(crate) fn new(worker: Address<M, C>, number: u64, pool: Recipient<LeaseEnd>) -> Self {
        Lease { worker, number, pool }
    }

    /// Returns the address of the worker. A clone of it works beyond the end of the lease, when
    /// the worker may be somebody else's.
    pub(crate) fn worker(&self) -> &Address<M, C> {
        &self.worker
    }
}

impl<M: Send + 'static, C: Send + 'static> Deref for Lease<M, C> {
    type Target = Address<M, C>;

    fn deref(&self) -> &Address<M, C> {
        &self.worker
    }
}

impl<M: Send + 'static, C: Send + 'static> Drop for Lease<M, C> {
    fn drop(&mut self) {
        let end = LeaseEnd { worker: self.worker.pid(), number: self.number };
        let pool = self.pool.clone();
        self.worker.when_handled(move || {
            // A pool that has ended has no use for it.
            if pool.is_alive() {
                pool.notify(end);
            }
        });
    }
}

impl<M: Send + 'static, C: Send + 'static> fmt::Debug for Lease<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({} of {})", self.number, self.worker.pid())
    }
}
