//! Waiting for room at a pool: a sender that finds the pool full waits in a line.
//!
//! Where the routing accepts any worker, the sender waits in the line of the pool. Where it
//! chooses one worker, the sender waits in the line of that worker. A sender that gives up leaves
//! its line, returns its token of the rate, and counts as refused.

use super::patience::Patience;
use super::ring::{Gate, RingView};
use super::routing::{Choice, Routing, Workers};
use super::shared::SharedPool;
use super::ticket::TicketRoom;
use super::waiting_line::Paid;
use crate::addressing::address::Address;
use crate::calls::deadline::Sleep;
use crate::mailbox::permit::{Permit, Waiter};
use krarup_gen::SendError;
use std::sync::Arc;

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Waits for room. A sender that gives up is counted as refused.
    pub(super) async fn wait_for_room(
        self: Arc<Self>,
        hint: u64,
    ) -> Result<Permit<M>, SendError<()>> {
        let mut hope = UnservedWait { shared: &self, token: false };
        while let Some(bucket) = &self.bucket {
            match bucket.take(self.host.now()) {
                Ok(()) => {
                    hope.token = true;
                    break;
                }
                Err(wait) => {
                    let until = self.host.now() + wait;
                    Sleep::until(Arc::clone(&self.host), until).await;
                }
            }
        }
        let mut permit = self.stand(hint).await?;
        std::mem::forget(hope);
        permit.charge();
        Ok(permit)
    }

    async fn stand(&self, hint: u64) -> Result<Permit<M>, SendError<()>> {
        // A new sender does not overtake waiting ones.
        if !self.line.is_waiting() {
            match self.keep(Some(hint), Patience::Waits) {
                Ok(kept) => return Ok(self.ticket(kept)),
                Err(SendError::Full { .. }) => {}
                Err(error) => return Err(error),
            }
            // A pool that drops the newest has no room either: this sender is ready to wait.
            if let Some(kept) = self.at_fallback() {
                return Ok(self.ticket(kept));
            }
        }
        match self.where_to_wait(hint)? {
            Some(worker) if !worker.admits_line() => Err(self.full()),
            Some(worker) => self.wait_at(&worker).await,
            None if !self.admits_line() => Err(self.full()),
            None => {
                let (waiter, place) = Waiter::with_place();
                let standing = PoolWait { shared: self, waiter };
                self.line.join(&standing.waiter, Paid::Yes);
                self.join_at_workers();
                if self.is_shut() {
                    return Err(self.refusal());
                }
                place.await.ok_or_else(|| self.refusal())
            }
        }
    }

    /// The worker in whose line a sender with this hint waits; `None`: in the line of the pool, for
    /// any worker.
    fn where_to_wait(&self, hint: u64) -> Result<Option<Address<M, C>>, SendError<()>> {
        let ring = self.ring.read();
        let workers = &ring.workers;
        let Some(routing) = ring.routing.as_deref().filter(|_| !workers.is_empty()) else {
            return Ok(None);
        };
        let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
        match routing.choose(hint, &Workers::new(workers.len(), &view)) {
            Choice::After(_) => Ok(None),
            Choice::Only(only) => Ok(Some(workers[only % workers.len()].address.clone())),
            Choice::Every(_) => Err(self.full()),
            Choice::None => Err(ring.refusal((), self.pid)),
        }
    }

    /// Whether whoever stands in line here can get room. Not where each message goes to all
    /// workers: room at one of them is room for one copy. Nor where all workers are such pools.
    pub(super) fn admits_line(&self) -> bool {
        let first = {
            let ring = self.ring.read();
            let workers = ring.all();
            if self.needs_message
                && !workers.is_empty()
                && let Some(routing) = ring.routing.as_deref()
            {
                let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
                let choice = routing.choose(0, &Workers::new(workers.len(), &view));
                if matches!(choice, Choice::Every(_)) {
                    return false;
                }
            }
            let Some(first) = workers.get(0) else {
                // Where there are none there may be some.
                return true;
            };
            first.address.clone()
        };
        // Mostly the first decides, so a sender that waits does not examine all of them.
        if first.admits_line() {
            return true;
        }
        let workers = self.workers();
        workers.iter().any(|worker| worker.address.admits_line())
    }

    /// Waits in the line of one worker, which may be a pool.
    async fn wait_at(&self, worker: &Address<M, C>) -> Result<Permit<M>, SendError<()>> {
        let (waiter, place) = Waiter::with_place();
        let standing = AtWorker { shared: self, worker, waiter };
        self.at_workers.join(&standing.waiter, Paid::Yes);
        if self.is_shut() {
            return Err(self.refusal());
        }
        let room = match worker.reserve_in_line(&standing.waiter) {
            Err(SendError::Full { .. } | SendError::RateLimited { .. }) => {
                if worker.is_routed() {
                    // Asking a route for room does not join its line.
                    worker.enlist(&standing.waiter);
                }
                place.await.ok_or(SendError::NoProcess { message: (), to: worker.pid() })
            }
            reserved => reserved,
        };
        match room {
            Ok(permit) => Ok(self.ticket(TicketRoom::One(permit))),
            // That worker has ended; the pool may still be alive.
            Err(_) => Err(self.refusal()),
        }
    }

    fn is_shut(&self) -> bool {
        let ring = self.ring.read();
        ring.gate != Gate::Open || ring.workers.is_empty()
    }

    pub(super) fn full(&self) -> SendError<()> {
        SendError::Full { message: (), to: self.pid }
    }

    fn refusal(&self) -> SendError<()> {
        self.ring.read().refusal((), self.pid)
    }
}

/// A sender that waits for room and has not got it.
struct UnservedWait<'a, M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    shared: &'a SharedPool<M, C, R>,
    token: bool,
}

impl<M, C, R> Drop for UnservedWait<'_, M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    fn drop(&mut self) {
        self.shared.count_refused();
        if self.token {
            self.shared.return_token();
        }
    }
}

/// A place in the line of the pool. The sender leaves the line when this is dropped.
struct PoolWait<'a, M: Send + 'static, C: Send + 'static, R> {
    shared: &'a SharedPool<M, C, R>,
    waiter: Arc<Waiter<M>>,
}

impl<M: Send + 'static, C: Send + 'static, R> Drop for PoolWait<'_, M, C, R> {
    fn drop(&mut self) {
        self.shared.line.leave(&self.waiter);
    }
}

/// A place in the line of one worker. The sender leaves the line when this is dropped.
struct AtWorker<'a, M: Send + 'static, C: Send + 'static, R> {
    shared: &'a SharedPool<M, C, R>,
    worker: &'a Address<M, C>,
    waiter: Arc<Waiter<M>>,
}

impl<M: Send + 'static, C: Send + 'static, R> Drop for AtWorker<'_, M, C, R> {
    fn drop(&mut self) {
        self.shared.at_workers.leave(&self.waiter);
        self.worker.forget_waiter(&self.waiter);
    }
}
