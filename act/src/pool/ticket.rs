//! Room that is reserved at a pool.

use crate::lock::Lock;
use crate::mailbox::overflow::{Divert, Diverted};
use crate::mailbox::permit::{Permit, Reserved};
use crate::observe::watched_job::Mark;
use crate::sync::RwLock;
use krarup_gen::Pid;
use std::sync::{Arc, Weak};

/// Where the room is.
pub(super) enum TicketRoom<M> {
    /// At one worker.
    One(Permit<M>),
    /// At every worker, by place. The worker is chosen when the message arrives.
    Each(Vec<(u64, Permit<M>)>),
    /// At the fallback of the full pool.
    Elsewhere(Permit<Diverted<M>>, Divert<M>),
    /// Nowhere: the message will be dropped.
    Nowhere,
}

/// The permits made between one opening of the pool and its next drain. It holds the marks of
/// drains while any of these permits exists. The marks follow the messages of the permits that
/// are used.
#[derive(Default)]
pub(super) struct DrainEpoch(Lock<Vec<Mark>>);

impl DrainEpoch {
    pub(super) fn marks(&self) -> Vec<Mark> {
        self.0.lock().clone()
    }
}

/// The current epoch, and earlier epochs of which permits still exist.
#[derive(Default)]
pub(super) struct DrainEpochs(RwLock<(Arc<DrainEpoch>, Vec<Weak<DrainEpoch>>)>);

impl DrainEpochs {
    pub(super) fn current(&self) -> Arc<DrainEpoch> {
        Arc::clone(&self.0.read().0)
    }

    /// Ends the current epoch, and puts a mark into every epoch that still has permits.
    pub(super) fn end(&self, mark: &Mark) {
        // Released without the lock: dropping the last handle of an epoch drops its marks,
        // which notifies the caller of the drain.
        let mut left = Vec::new();
        {
            let mut epochs = self.0.write();
            let ended = std::mem::take(&mut epochs.0);
            epochs.1.push(Arc::downgrade(&ended));
            drop(ended);
            epochs.1.retain(|epoch| match epoch.upgrade() {
                Some(epoch) => {
                    left.push(epoch);
                    true
                }
                None => false,
            });
        }
        left.iter().for_each(|epoch| epoch.0.lock().push(Arc::clone(mark)));
    }
}

/// The operations that a ticket needs from its pool.
pub(super) trait RedeemTicket<M>: Send + Sync {
    /// Puts a message into the room that was kept for it.
    fn redeem(&self, kept: TicketRoom<M>, epoch: &Arc<DrainEpoch>, message: M, sender: u64);

    /// Returns room that is not used. `charged` says whether it holds a token of the rate.
    fn give_back(&self, charged: bool);

    fn pid(&self) -> Pid;
}

/// Room at a pool. It counts as a received message from the beginning, until it is returned
/// unused.
pub(super) struct Ticket<M: Send + 'static> {
    pub(super) kept: Option<TicketRoom<M>>,
    /// Whether it holds a token of the pool's rate. A waiting sender keeps its own token until
    /// it has the room.
    pub(super) charged: bool,
    pub(super) epoch: Arc<DrainEpoch>,
    pub(super) pool: Arc<dyn RedeemTicket<M>>,
}

impl<M: Send + 'static> Reserved<M> for Ticket<M> {
    fn fill(mut self: Box<Self>, message: M, sender: u64) {
        if let Some(kept) = self.kept.take() {
            self.pool.redeem(kept, &self.epoch, message, sender);
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
            self.pool.give_back(self.charged);
        }
    }
}
