//! Room that was reserved at a pool.

use crate::lock::Lock;
use crate::mailbox::overflow::{Divert, Diverted};
use crate::mailbox::permit::{Permit, Reserved};
use crate::observe::watched_job::Mark;
use krarup_gen::Pid;
use parking_lot::RwLock;
use std::sync::{Arc, Weak};

/// Where the room is.
pub(super) enum TicketRoom<M> {
    /// At one worker.
    One(Permit<M>),
    /// At every worker, by its place: where the message goes is known when it is there.
    Each(Vec<(u64, Permit<M>)>),
    /// At the fallback of the full pool.
    Elsewhere(Permit<Diverted<M>>, Divert<M>),
    /// The message will be dropped.
    Nowhere,
}

/// Permits from one opening of the pool to its next draining. The marks of a drain lie here while
/// any permit is out, and go on with the messages of those that are used.
#[derive(Default)]
pub(super) struct DrainEpoch(Lock<Vec<Mark>>);

impl DrainEpoch {
    pub(super) fn marks(&self) -> Vec<Mark> {
        self.0.lock().clone()
    }
}

/// The era that permits are made in, and those of which some are still out.
#[derive(Default)]
pub(super) struct DrainEpochs(RwLock<(Arc<DrainEpoch>, Vec<Weak<DrainEpoch>>)>);

impl DrainEpochs {
    pub(super) fn current(&self) -> Arc<DrainEpoch> {
        Arc::clone(&self.0.read().0)
    }

    /// Ends the era, and lays a mark into every one that is left.
    pub(super) fn end(&self, mark: &Mark) {
        // Let go of without the lock: the last to have an era drops its marks, which tells whoever
        // drains.
        let mut left = Vec::new();
        {
            let mut eras = self.0.write();
            let ended = std::mem::take(&mut eras.0);
            eras.1.push(Arc::downgrade(&ended));
            drop(ended);
            eras.1.retain(|era| match era.upgrade() {
                Some(era) => {
                    left.push(era);
                    true
                }
                None => false,
            });
        }
        left.iter().for_each(|era| era.0.lock().push(Arc::clone(mark)));
    }
}

/// What a ticket needs of its pool.
pub(super) trait RedeemTicket<M>: Send + Sync {
    /// Puts a message where room is kept for it.
    fn honour(&self, kept: TicketRoom<M>, era: &Arc<DrainEpoch>, message: M, sender: u64);

    /// Room is not used, for which a token was taken or not.
    fn void(&self, charged: bool);

    fn pid(&self) -> Pid;
}

/// Room at a pool. It is counted as a message received from the beginning; no longer if it is
/// given back.
pub(super) struct Ticket<M: Send + 'static> {
    pub(super) kept: Option<TicketRoom<M>>,
    /// It has a token of the pool's rate. Whoever waits keeps its token until it has the room.
    pub(super) charged: bool,
    pub(super) era: Arc<DrainEpoch>,
    pub(super) pool: Arc<dyn RedeemTicket<M>>,
}

impl<M: Send + 'static> Reserved<M> for Ticket<M> {
    fn fill(mut self: Box<Self>, message: M, sender: u64) {
        if let Some(kept) = self.kept.take() {
            self.pool.honour(kept, &self.era, message, sender);
        }
    }

    fn charge(&mut self) {
        self.charged = true;
    }

    fn holder(&self) -> Pid {
        self.pool.pid()
    }
}

impl<M: Send + 'static> Drop for Ticket<M> {
    fn drop(&mut self) {
        if self.kept.take().is_some() {
            self.pool.void(self.charged);
        }
    }
}
