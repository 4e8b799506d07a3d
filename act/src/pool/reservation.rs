//! Room at a pool, reserved before the message exists.
//!
//! A permit of a pool is a [`Ticket`]. Its use is in [`super::redemption`], and waiting for room in
//! [`super::wait_for_room`].

use super::delivery::reserve_each;
use super::patience::Patience;
use super::ring::RingView;
use super::routing::{Choice, Routing, Workers};
use super::shared::SharedPool;
use super::ticket::{Ticket, TicketRoom};
use super::workers_refusal::WorkersRefusal;
use crate::mailbox::permit::Permit;
use crate::process::deferred;
use krarup_gen::SendError;
use std::sync::atomic::Ordering;

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Reserves room for one message that is not known yet. Counts a refusal if there is none.
    pub(super) fn reserve_or_refuse(&self, patience: Patience) -> Result<Permit<M>, SendError<()>> {
        let reserved = self.take_token().and_then(|()| {
            let kept = match (self.keep(None, patience), patience) {
                // The overflow rule of a full pool is applied when the message arrives.
                (Err(full @ SendError::Full { .. }), Patience::Hurried) => {
                    self.elsewhere().ok_or(full)
                }
                (Err(full @ SendError::Full { .. }), Patience::Waits) => {
                    self.at_fallback().ok_or(full)
                }
                (kept, _) => kept,
            };
            kept.inspect_err(|_| self.return_token())
        });
        match reserved {
            Ok(kept) => {
                let mut permit = self.ticket(kept);
                permit.charge();
                Ok(permit)
            }
            Err(error) => {
                self.received.fetch_add(1, Ordering::Relaxed);
                self.count_unhandled(&error);
                Err(error)
            }
        }
    }

    pub(super) fn count_refused(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.unhandled.fetch_add(1, Ordering::Release);
    }

    /// Takes room at a worker, for a message with this hint or for any message.
    pub(super) fn keep(
        &self,
        hint: Option<u64>,
        patience: Patience,
    ) -> Result<TicketRoom<M>, SendError<()>> {
        let held = deferred::hold();
        let ring = self.ring.read();
        let workers = &ring.workers;
        let count = workers.len();
        let Some(routing) = ring.routing.as_deref().filter(|_| count > 0) else {
            return Err(ring.refusal((), self.pid));
        };
        let hint = match hint {
            Some(hint) => hint,
            None if self.needs_message => {
                let each = reserve_each(workers, patience);
                drop(ring);
                drop(held);
                return each.done(self.pid).map(TicketRoom::Each);
            }
            None => 0,
        };
        let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
        let (first, tries) = match routing.choose(hint, &Workers::new(count, &view)) {
            Choice::After(first) => (first % count, count),
            Choice::Only(only) => (only % count, 1),
            Choice::None => return Err(ring.refusal((), self.pid)),
            Choice::Every(_) => {
                let each = reserve_each(workers, patience);
                drop(ring);
                drop(held);
                return each.done(self.pid).map(TicketRoom::Each);
            }
        };
        let mut refusal = WorkersRefusal::Ended;
        for step in 0..tries {
            let index = (first + step) % count;
            match patience.reserve(&workers[index].address) {
                Ok(permit) => {
                    if step > 0 {
                        routing.passed_over(first, index, count);
                    }
                    return Ok(TicketRoom::One(permit));
                }
                Err(error) => refusal = refusal.and(WorkersRefusal::of(&error)),
            }
        }
        Err(refusal.to(patience).error((), self.pid))
    }

    /// Makes a permit of the pool from room. It counts as a message received from now on. It
    /// holds no token yet.
    pub(super) fn ticket(&self, kept: TicketRoom<M>) -> Permit<M> {
        self.received.fetch_add(1, Ordering::Relaxed);
        let epoch = self.epochs.current();
        // Never fails: the caller holds the pool's route.
        let pool = self.myself.upgrade().expect("the caller holds the route");
        Permit::new(Ticket { kept: Some(kept), charged: false, epoch, pool })
    }
}
