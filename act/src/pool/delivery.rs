//! The route of a pool: how a message reaches a worker, on the sender's thread.
//!
//! ```text
//!   send ──► rate? ──► ring: the routing chooses ──► a worker's mailbox      forwarded
//!              │           │ empty: gate  │ all full
//!              ▼           ▼              ▼
//!         RateLimited  NoWorkers,     overflow: Full,                        unhandled
//!                      Draining,      drop it, or divert it
//!                      NoProcess
//! ```

use super::job_times::JobTimes;
use super::on_unwind::OnUnwind;
use super::patience::Patience;
use super::pool_worker::PoolWorker;
use super::ring::{Gate, RingView};
use super::routing::{Choice, Routing, Workers};
use super::shared::SharedPool;
use super::ticket::TicketRoom;
use super::waiting_line::Paid;
use super::worker_list::WorkerList;
use super::workers_refusal::WorkersRefusal;
use crate::addressing::route::{RoomFuture, Route};
use crate::mailbox::overflow::Overflow;
use crate::mailbox::permit::{Permit, Waiter};
use crate::observe::watched_job::{JobWatcher, Mark, WatchedJob};
use crate::process::reservation::send_diverted;
use crate::process::{current, deferred};
use krarup_gen::{DeadLetterCause, Pid, PoolGauges, SendError, Timestamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// The times of a job, from its acceptance now, if jobs are watched.
    pub(super) fn times(&self, message: &M) -> Option<JobTimes> {
        if !self.attends {
            return None;
        }
        let rules = self.rules()?;
        rules.records.as_ref()?;
        let limit = rules.time_to_live.as_ref().and_then(|limit| limit(message));
        let accepted = self.host.now();
        let due = limit.map_or(Timestamp::MAX, |limit| accepted + limit);
        Some(JobTimes { accepted, due })
    }

    /// Gives a message to the worker that the routing chooses, or gives it back. The message
    /// has already been counted.
    #[inline]
    pub(super) fn hand_out(
        &self,
        hint: u64,
        message: M,
        sender: u64,
        times: Option<JobTimes>,
    ) -> Result<(), SendError<M>> {
        self.hand_out_by(hint, message, sender, |worker, message| {
            hand_to(worker, message, sender, times)
        })
    }

    /// Does the same as [`SharedPool::hand_out`], with `hand_to` as the way to a worker.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn hand_out_by(
        &self,
        hint: u64,
        message: M,
        sender: u64,
        hand_to: impl Fn(&PoolWorker<M, C>, M) -> Result<(), SendError<M>>,
    ) -> Result<(), SendError<M>> {
        let held = deferred::hold();
        let ring = self.ring.read();
        let workers = &ring.workers;
        let count = workers.len();
        let Some(routing) = ring.routing.as_deref().filter(|_| count > 0) else {
            return Err(ring.refusal(message, self.pid));
        };
        let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
        let (first, tries) = match routing.choose(hint, &Workers::new(count, &view)) {
            Choice::After(first) => (first, count),
            Choice::Only(only) => (only, 1),
            Choice::None => return Err(ring.refusal(message, self.pid)),
            Choice::Every(copy) => {
                // Copies are made and room is returned without the lock.
                let each = reserve_each(workers, Patience::Hurried);
                drop(ring);
                drop(held);
                return self.hand_copies(each, copy, message, sender);
            }
        };
        let first = if first < count { first } else { first % count };
        // The first worker is tried outside the loop. Inside, each pass would take the message
        // apart and rebuild it.
        let refused = match hand_to(&workers[first], message) {
            Ok(()) => {
                current::note_receiver(workers[first].address.pid());
                return Ok(());
            }
            Err(error) => error,
        };
        self.hand_to_others(workers, (first, tries), refused, routing, hand_to)
    }

    /// Tries the other workers in their order, after the first has refused the message.
    #[cold]
    #[inline(never)]
    fn hand_to_others(
        &self,
        workers: &WorkerList<M, C>,
        (first, tries): (usize, usize),
        refused: SendError<M>,
        routing: &R,
        hand_to: impl Fn(&PoolWorker<M, C>, M) -> Result<(), SendError<M>>,
    ) -> Result<(), SendError<M>> {
        let count = workers.len();
        let mut refusal = WorkersRefusal::of(&refused);
        let mut message = refused.into_message();
        for offset in 1..tries {
            let index = (first + offset) % count;
            match hand_to(&workers[index], message) {
                Ok(()) => {
                    routing.passed_over(first, index, count);
                    current::note_receiver(workers[index].address.pid());
                    return Ok(());
                }
                Err(error) => {
                    refusal = refusal.and(WorkersRefusal::of(&error));
                    message = error.into_message();
                }
            }
        }
        Err(refusal.error(message, self.pid))
    }

    #[cold]
    #[inline(never)]
    fn hand_copies(
        &self,
        each: Each<M>,
        copy: fn(&M) -> M,
        message: M,
        sender: u64,
    ) -> Result<(), SendError<M>> {
        match each.done(self.pid) {
            Ok(each) => {
                let times = self.times(&message);
                self.fill_each(None, each, copy, message, sender, times);
                Ok(())
            }
            Err(error) => Err(error.with_message(message)),
        }
    }

    /// Does the same as [`SharedPool::hand_out`] for a pool that examines its messages on their
    /// way.
    #[cold]
    #[inline(never)]
    fn hand_out_attended(&self, hint: u64, message: M, sender: u64) -> Result<(), SendError<M>> {
        if let Err(error) = self.take_token() {
            return Err(error.with_message(message));
        }
        let token = OnUnwind(|| self.return_token());
        let times = self.times(&message);
        let handed = self.hand_out(hint, message, sender, times);
        token.passed();
        if handed.is_err() {
            self.return_token();
        } else {
            self.forget_receiver();
        }
        handed
    }

    /// Clears the recorded receiver if jobs may move between workers. The worker that has the
    /// job now need not be the one that does it, so a wait for that worker could show a cycle
    /// of calls (rule C5) where none exists.
    pub(super) fn forget_receiver(&self) {
        if self.moves {
            let _ = current::take_receiver();
        }
    }

    /// Takes one token of the rate.
    pub(super) fn take_token(&self) -> Result<(), SendError<()>> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let limited =
            |retry_after| SendError::RateLimited { message: (), to: self.pid, retry_after };
        bucket.take(self.host.now()).map_err(limited)
    }

    pub(super) fn return_token(&self) {
        if let Some(bucket) = &self.bucket {
            bucket.give_back();
        }
    }

    /// Counts a message that is refused, by the rate of this pool or by those of its workers.
    pub(super) fn count_unhandled<T>(&self, error: &SendError<T>) {
        if matches!(error, SendError::RateLimited { .. }) {
            self.rate_limited.fetch_add(1, Ordering::Relaxed);
        }
        self.unhandled.fetch_add(1, Ordering::Release);
    }

    /// Applies the overflow rule to a message that no worker took (rule M6).
    #[cold]
    fn refuse(&self, error: SendError<M>, sender: u64) -> Result<(), SendError<M>> {
        self.count_unhandled(&error);
        let SendError::Full { message, to } = error else { return Err(error) };
        match self.elsewhere() {
            Some(TicketRoom::Elsewhere(permit, divert)) => {
                self.diverted.fetch_add(1, Ordering::Relaxed);
                if !send_diverted(self.pid, permit, divert, message, sender) {
                    self.note_lost(sender, DeadLetterCause::Overflow);
                }
                Ok(())
            }
            Some(_) => {
                self.dead_letter(message, sender, DeadLetterCause::Overflow);
                Ok(())
            }
            None => Err(SendError::Full { message, to }),
        }
    }

    /// Where the messages of a full pool go, unless they return to their senders.
    pub(super) fn elsewhere(&self) -> Option<TicketRoom<M>> {
        match &self.rules()?.overflow {
            Overflow::DropNewest => Some(TicketRoom::Nowhere),
            _ => self.at_fallback(),
        }
    }

    /// Room at the fallback of the pool, if it has one.
    pub(super) fn at_fallback(&self) -> Option<TicketRoom<M>> {
        let Overflow::Divert(divert) = &self.rules()?.overflow else { return None };
        // Fallbacks may form a ring, so no process is asked twice for one message.
        let once = current::once(self.pid)?;
        let permit = divert.to.reserve().ok()?;
        drop(once);
        Some(TicketRoom::Elsewhere(permit, divert.clone()))
    }
}

/// Puts a message into the mailbox of one worker.
#[inline]
fn hand_to<M, C>(
    worker: &PoolWorker<M, C>,
    message: M,
    sender: u64,
    times: Option<JobTimes>,
) -> Result<(), SendError<M>>
where
    M: Send + 'static,
    C: Send + 'static,
{
    match (times, &worker.watch) {
        (Some(JobTimes { accepted, due }), Some(watch)) => {
            let watch = Arc::clone(watch) as Arc<dyn JobWatcher<M>>;
            worker.address.forward_job(WatchedJob::new(message, watch, accepted, due), sender)
        }
        _ => worker.address.forward(message, sender),
    }
}

/// Room at every living worker, or why one of them had none.
pub(super) struct Each<M> {
    permits: Vec<(u64, Permit<M>)>,
    refusal: Option<WorkersRefusal>,
}

impl<M> Each<M> {
    /// Returns all permits or the error of this pool. On an error the permits are returned here.
    pub(super) fn done(self, pool: Pid) -> Result<Vec<(u64, Permit<M>)>, SendError<()>> {
        match (self.permits, self.refusal) {
            (_, Some(refusal)) => Err(refusal.error((), pool)),
            (permits, None) if permits.is_empty() => Err(WorkersRefusal::Ended.error((), pool)),
            (permits, None) => Ok(permits),
        }
    }
}

/// Reserves room at each worker.
#[cold]
#[inline(never)]
pub(super) fn reserve_each<M, C>(workers: &WorkerList<M, C>, patience: Patience) -> Each<M>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let mut each = Each { permits: Vec::with_capacity(workers.len()), refusal: None };
    for worker in workers.iter() {
        match patience.reserve(&worker.address) {
            Ok(permit) => each.permits.push((worker.place, permit)),
            Err(SendError::NoProcess { .. }) => {}
            Err(error) => {
                each.refusal = Some(WorkersRefusal::of(&error).to(patience));
                break;
            }
        }
    }
    each
}

/// The route that the process of a pool has instead of a Main lane.
pub(super) struct PoolRoute<M: Send + 'static, C: Send + 'static, R>(
    pub(super) Arc<SharedPool<M, C, R>>,
);

impl<M, C, R> Route<M> for PoolRoute<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    fn send(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        let shared = &*self.0;
        let hint = shared.hint(&message);
        shared.received.fetch_add(1, Ordering::Relaxed);
        // A choice or a time to live may panic, and the sender with it. No worker has the message.
        let unhandled = OnUnwind(|| {
            shared.unhandled.fetch_add(1, Ordering::Release);
        });
        let handed = if shared.attends {
            shared.hand_out_attended(hint, message, sender)
        } else {
            let plainly =
                |worker: &PoolWorker<M, C>, message| worker.address.forward(message, sender);
            shared.hand_out_by(hint, message, sender, plainly)
        };
        unhandled.passed();
        match handed {
            Ok(()) => Ok(()),
            Err(error) => shared.refuse(error, sender),
        }
    }

    fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        self.0.reserve_or_refuse(Patience::Hurried)
    }

    fn reserve_patiently(&self) -> Result<Permit<M>, SendError<()>> {
        self.0.reserve_or_refuse(Patience::Waits)
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    fn room_waiters(&self) -> usize {
        self.0.line.waiters() + self.0.at_workers.waiters()
    }

    fn gauges(&self) -> Option<PoolGauges> {
        Some(self.0.gauges())
    }

    fn room(&self, message: &M) -> Option<RoomFuture<M>> {
        let hint = self.0.hint(message);
        Some(Box::pin(Arc::clone(&self.0).wait_for_room(hint)))
    }

    fn room_for_any(&self) -> Option<RoomFuture<M>> {
        (!self.0.needs_message).then(|| Box::pin(Arc::clone(&self.0).wait_for_room(0)) as _)
    }

    fn enlist(&self, line: &Arc<Waiter<M>>) {
        self.0.line.join(line, Paid::No);
        self.0.join_at_workers();
        if self.0.gate() == Gate::Closed {
            self.0.clear_line();
        }
    }

    fn admits_line(&self) -> bool {
        self.0.admits_line()
    }

    fn mark(&self, mark: &Mark) {
        // Unused permits and messages in line may belong to the caller that marks.
        self.0.epochs.end(mark);
        self.0.mark_workers(mark);
    }
}
