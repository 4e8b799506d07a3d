//! Room at a pool: reserved before the message exists, or waited for in line. Also the messages
//! whose room was lost with its worker.

use super::delivery::reserve_each;
use super::job_times::JobTimes;
use super::ring::{Gate, RingView};
use super::routing::{Choice, Routing, Workers};
use super::shared::SharedPool;
use super::ticket::{DrainEpoch, RedeemTicket, Ticket, TicketRoom};
use super::waiting_line::{LineEntry, Paid, StrandedMessage};
use crate::addressing::address::Address;
use crate::calls::deadline::Sleep;
use crate::calls::slot::slot;
use crate::host::host::Alarm;
use crate::mailbox::entry::{Body, Notice};
use crate::mailbox::permit::{Permit, Waiter, WaitingLine};
use crate::observe::watched_job::{Job, JobWatcher};
use crate::process::reservation::send_diverted;
use crate::process::{current, deferred};
use krarup_gen::{DeadLetterCause, Pid, SendError};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Where a sender can wait for room.
enum WaitPlace<M, C> {
    /// In the line of the pool, for any worker.
    AtAny,
    /// In the line of this worker alone.
    At(Address<M, C>),
    /// Nowhere, for this reason.
    Not(SendError<()>),
}

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Reserves room for one message that is not known yet. Counts a refusal if there is none.
    pub(super) fn reserve_or_refuse(&self) -> Result<Permit<M>, SendError<()>> {
        let reserved = self.take_token().and_then(|()| {
            let kept = match self.keep(None) {
                // The overflow rule of a full pool is applied when the message arrives.
                Err(full @ SendError::Full { .. }) => self.elsewhere().ok_or(full),
                kept => kept,
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
                self.count_refused();
                Err(error)
            }
        }
    }

    fn count_refused(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.unhandled.fetch_add(1, Ordering::Release);
    }

    /// Takes room at a worker, for a message with this hint or for any message.
    fn keep(&self, hint: Option<u64>) -> Result<TicketRoom<M>, SendError<()>> {
        let held = deferred::hold();
        let ring = self.ring.read();
        let workers = &*ring.workers;
        let count = workers.len();
        let Some(routing) = ring.routing.as_deref().filter(|_| count > 0) else {
            return Err(ring.refusal((), self.pid));
        };
        let hint = match hint {
            Some(hint) => hint,
            None if self.needs_message => {
                let each = reserve_each(workers);
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
                let each = reserve_each(workers);
                drop(ring);
                drop(held);
                return each.done(self.pid).map(TicketRoom::Each);
            }
        };
        let mut error = SendError::NoWorkers { message: (), to: self.pid };
        for step in 0..tries {
            let index = (first + step) % count;
            match workers[index].address.reserve_quietly() {
                Ok(permit) => {
                    if step > 0 {
                        routing.passed_over(first, index, count);
                    }
                    return Ok(TicketRoom::One(permit));
                }
                Err(SendError::NoProcess { .. }) => {}
                Err(_) => error = self.full(),
            }
        }
        Err(error)
    }

    /// Makes a permit of the pool from room. It counts as a message received from now on. It
    /// holds no token yet.
    fn ticket(&self, kept: TicketRoom<M>) -> Permit<M> {
        self.received.fetch_add(1, Ordering::Relaxed);
        let epoch = self.epochs.current();
        // Never fails: the caller holds the pool's route.
        let pool = self.myself.upgrade().expect("the caller holds the route");
        Permit::new(Ticket { kept: Some(kept), charged: false, epoch, pool })
    }

    // ---- Waiting.

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
            match self.keep(Some(hint)) {
                Ok(kept) => return Ok(self.ticket(kept)),
                Err(SendError::Full { .. }) => {}
                Err(error) => return Err(error),
            }
            if let Some(kept) = self.elsewhere() {
                return Ok(self.ticket(kept));
            }
        }
        match self.where_to_wait(hint) {
            WaitPlace::Not(why) => Err(why),
            WaitPlace::At(worker) if !worker.admits_line() => Err(self.full()),
            WaitPlace::At(worker) => self.wait_at(&worker).await,
            WaitPlace::AtAny if !self.admits_line() => Err(self.full()),
            WaitPlace::AtAny => {
                let (sender, place) = slot();
                let standing = PoolWait { shared: self, waiter: Arc::new(Waiter::new(sender)) };
                self.line.join(&standing.waiter, Paid::Yes);
                self.enlist_at_workers();
                if self.is_shut() {
                    return Err(self.refusal());
                }
                place.await.ok_or_else(|| self.refusal())
            }
        }
    }

    fn where_to_wait(&self, hint: u64) -> WaitPlace<M, C> {
        let ring = self.ring.read();
        let workers = &*ring.workers;
        let Some(routing) = ring.routing.as_deref().filter(|_| !workers.is_empty()) else {
            return WaitPlace::AtAny;
        };
        let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
        match routing.choose(hint, &Workers::new(workers.len(), &view)) {
            Choice::After(_) => WaitPlace::AtAny,
            Choice::Only(only) => WaitPlace::At(workers[only % workers.len()].address.clone()),
            Choice::Every(_) => WaitPlace::Not(self.full()),
            Choice::None => WaitPlace::Not(ring.refusal((), self.pid)),
        }
    }

    /// Whether whoever stands in line here can get room. Not where each message goes to all
    /// workers: room at one of them is room for one copy. Nor where all workers are such pools.
    pub(super) fn admits_line(&self) -> bool {
        let workers = {
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
            workers.to_vec()
        };
        // Where there are none there may be some.
        workers.is_empty() || workers.iter().any(|worker| worker.address.admits_line())
    }

    /// Waits in the line of one worker, which may be a pool.
    async fn wait_at(&self, worker: &Address<M, C>) -> Result<Permit<M>, SendError<()>> {
        let (sender, place) = slot();
        let standing = AtWorker { shared: self, worker, waiter: Arc::new(Waiter::new(sender)) };
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

    fn full(&self) -> SendError<()> {
        SendError::Full { message: (), to: self.pid }
    }

    fn refusal(&self) -> SendError<()> {
        self.ring.read().refusal((), self.pid)
    }

    // ---- The line at the workers.

    /// Makes the line wait at every worker: its stand-in (`stand_in`) joins each worker's own
    /// line.
    pub(super) fn enlist_at_workers(&self) {
        let workers = self.ring.read().all().to_vec();
        workers.iter().for_each(|worker| worker.address.enlist(&self.stand_in));
    }

    /// The pool accepts jobs again, so it serves the lines that stayed.
    pub(super) fn retry_enlisting(&self) {
        if self.line.is_waiting() {
            self.enlist_at_workers();
        }
    }

    /// Makes the line wait at the workers again after this time, when there is a token for
    /// senders without one.
    fn retry_in(&self, wait: Duration) {
        {
            let mut retry = self.retry.lock();
            if retry.is_some() {
                return;
            }
            let myself = Weak::clone(&self.myself);
            let run = move || {
                if let Some(shared) = myself.upgrade() {
                    shared.retry.lock().take();
                    shared.retry_enlisting();
                }
            };
            // Set under the lock. Otherwise the timer could fire before its key is stored.
            let due = self.host.now() + wait;
            *retry = Some(self.host.set_timer(due, Alarm::Run(Box::new(run))));
        }
        // The pool may have ended since its line was read.
        if self.gate() == Gate::Closed {
            self.cancel_retry();
        }
    }

    /// Cancels the timer, because no sender in line needs a token any more.
    pub(super) fn cancel_retry(&self) {
        let retry = self.retry.lock().take();
        if let Some(key) = retry {
            self.host.cancel_timer(key);
        }
    }

    /// Serves the line after a change of the workers, because the key of a stranded message may
    /// have another worker now.
    pub(super) fn retry_for_keys(&self) {
        if self.needs_message && self.line.stranded() > 0 {
            self.enlist_at_workers();
        }
    }

    /// Makes the line wait at a new worker if the line is not empty.
    pub(super) fn enlist_at(&self, worker: &Address<M, C>) {
        if self.line.is_waiting() {
            worker.enlist(&self.stand_in);
        }
    }

    /// Sends waiting senders away if the pool has no workers left.
    pub(super) fn dismiss_if_empty(&self) {
        if self.size() == 0 {
            self.line.dismiss();
        }
    }

    // ---- The use of room.

    /// Puts a message into room at one worker. Gives it back if that worker has ended or was
    /// removed: a message that arrives in its mailbox after the removal would not be handled.
    fn fill_one(
        &self,
        permit: Permit<M>,
        message: M,
        sender: u64,
        times: Option<JobTimes>,
    ) -> Result<Pid, M> {
        let pid = permit.holder();
        let _held = deferred::hold();
        let ring = self.ring.read();
        let Some(worker) = ring.find(pid) else {
            // The permit is returned without the lock.
            drop(ring);
            return Err(message);
        };
        let body = match (times, &worker.watch) {
            (Some(JobTimes { accepted, due }), Some(watch)) => {
                let watch = Arc::clone(watch) as Arc<dyn JobWatcher<M>>;
                Body::Notice(Box::new(Notice::Job(Job::new(message, watch, accepted, due))))
            }
            _ => Body::Message(message),
        };
        match permit.hand_over(body, sender) {
            Ok(()) => {
                current::note_receiver(pid);
                self.forget_receiver();
                Ok(pid)
            }
            Err(Body::Message(message)) => Err(message),
            Err(Body::Notice(notice)) => match *notice {
                Notice::Job(job) => Err(job.into_message()),
                // Unreachable: a body is made of a message or a job.
                _ => Ok(pid),
            },
        }
    }

    /// Puts a copy of a message into room at each worker. Drains that `epoch` belongs to wait for
    /// these messages.
    pub(super) fn fill_each(
        &self,
        epoch: Option<&Arc<DrainEpoch>>,
        each: Vec<(u64, Permit<M>)>,
        copy: fn(&M) -> M,
        message: M,
        sender: u64,
        times: Option<JobTimes>,
    ) {
        let last = each.len() - 1;
        let mut message = Some(message);
        for (index, (_, permit)) in each.into_iter().enumerate() {
            let body = if index == last { message.take() } else { message.as_ref().map(copy) };
            if let Some(body) = body {
                // A worker that has ended in between misses the message.
                if let (Ok(worker), Some(epoch)) =
                    (self.fill_one(permit, body, sender, times), epoch)
                {
                    self.mark_behind(worker, epoch);
                }
            }
        }
    }

    /// Redirects an accepted message whose room was lost with a worker. It goes to another
    /// worker; if all are full it becomes the first in line. A message with a key goes to the
    /// worker of its key, and is first in line for room there.
    fn strand(&self, epoch: &Arc<DrainEpoch>, message: M, sender: u64, times: Option<JobTimes>) {
        let hint = self.hint(&message);
        // Messages of one key keep their order, so those already in line go first.
        let message = if self.needs_message && self.line.has_hint(hint) {
            message
        } else {
            match self.hand_out(hint, message, sender, times) {
                Ok(()) => return self.mark_behind_all(epoch),
                Err(SendError::NoProcess { message, .. }) => {
                    return self.dead_letter(message, sender, DeadLetterCause::Unhandled);
                }
                Err(error) => error.into_message(),
            }
        };
        self.line.push_stranded(StrandedMessage {
            message,
            sender,
            hint,
            times,
            epoch: Arc::clone(epoch),
        });
        self.enlist_at_workers();
        if self.ring.read().gate == Gate::Closed {
            self.clear_line();
        }
    }

    /// Does the same as [`SharedPool::mark_behind`] at every worker, because the routing may
    /// have put the message at any of them. A drain may end later for this, never earlier.
    fn mark_behind_all(&self, epoch: &Arc<DrainEpoch>) {
        let marks = epoch.marks();
        if marks.is_empty() {
            return;
        }
        let workers = self.ring.read().all().to_vec();
        for worker in workers {
            marks.iter().for_each(|mark| worker.address.mark(mark));
        }
    }

    /// Makes drains wait until this worker has handled the messages that came by earlier
    /// permits.
    fn mark_behind(&self, worker: Pid, epoch: &Arc<DrainEpoch>) {
        let marks = epoch.marks();
        if marks.is_empty() {
            return;
        }
        let process = self.host.process(worker);
        if let Some(address) = process.and_then(|process| Address::<M, C>::of(&process).ok()) {
            marks.iter().for_each(|mark| address.mark(mark));
        }
    }
}

impl<M, C, R> RedeemTicket<M> for SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    fn redeem(&self, kept: TicketRoom<M>, epoch: &Arc<DrainEpoch>, message: M, sender: u64) {
        // The job is accepted now, even if it moves later.
        let times = self.times(&message);
        let permit = match kept {
            // The key may have another worker by now, or may not have been known.
            TicketRoom::One(permit)
                if self.needs_message && !self.may_have(permit.holder(), self.hint(&message)) =>
            {
                drop(permit);
                return self.strand(epoch, message, sender, times);
            }
            TicketRoom::One(permit) => permit,
            TicketRoom::Each(each) => {
                let hint = self.hint(&message);
                match self.choose_of(each, hint) {
                    Chosen::One(permit) => permit,
                    Chosen::Every(each, copy) => {
                        return self.fill_each(Some(epoch), each, copy, message, sender, times);
                    }
                    Chosen::None => return self.strand(epoch, message, sender, times),
                }
            }
            TicketRoom::Elsewhere(permit, divert) => {
                self.unhandled.fetch_add(1, Ordering::Release);
                self.diverted.fetch_add(1, Ordering::Relaxed);
                if !send_diverted(self.pid, permit, divert, message, sender) {
                    self.note_lost(sender, DeadLetterCause::Overflow);
                }
                return;
            }
            TicketRoom::Nowhere => {
                self.unhandled.fetch_add(1, Ordering::Release);
                return self.dead_letter(message, sender, DeadLetterCause::Overflow);
            }
        };
        match self.fill_one(permit, message, sender, times) {
            Ok(worker) => self.mark_behind(worker, epoch),
            Err(message) => self.strand(epoch, message, sender, times),
        }
    }

    fn give_back(&self, charged: bool) {
        self.received.fetch_sub(1, Ordering::Relaxed);
        if charged {
            self.return_token();
        }
    }

    fn pid(&self) -> Pid {
        self.pid
    }
}

/// The permit that is used, of several.
enum Chosen<M> {
    One(Permit<M>),
    Every(Vec<(u64, Permit<M>)>, fn(&M) -> M),
    None,
}

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Chooses one of several permits, after the message has arrived. The others are returned.
    fn choose_of(&self, mut each: Vec<(u64, Permit<M>)>, hint: u64) -> Chosen<M> {
        let place = {
            let ring = self.ring.read();
            let workers = ring.all();
            let Some(routing) = ring.routing.as_deref().filter(|_| !workers.is_empty()) else {
                return Chosen::None;
            };
            let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
            match routing.choose(hint, &Workers::new(workers.len(), &view)) {
                Choice::Every(copy) => return Chosen::Every(each, copy),
                Choice::None => return Chosen::None,
                Choice::After(index) | Choice::Only(index) => workers[index % workers.len()].place,
            }
        };
        match each.iter().position(|(of, _)| *of == place) {
            Some(index) => Chosen::One(each.swap_remove(index).1),
            None => Chosen::None,
        }
    }
}

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Whether a message with this hint may go to this worker, in a pool whose routing examines
    /// the message.
    fn may_have(&self, worker: Pid, hint: u64) -> bool {
        let ring = self.ring.read();
        let workers = ring.all();
        let Some(routing) = ring.routing.as_deref().filter(|_| !workers.is_empty()) else {
            return false;
        };
        let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
        match routing.choose(hint, &Workers::new(workers.len(), &view)) {
            Choice::After(_) | Choice::Every(_) => true,
            Choice::Only(index) => workers[index % workers.len()].address.pid() == worker,
            Choice::None => false,
        }
    }

    /// The hints of the messages in line that may go to this worker; `None` means all.
    fn hints_for(&self, worker: Pid) -> Option<BTreeSet<u64>> {
        let mut hints = self.needs_message.then(|| self.line.hints())?;
        hints.retain(|hint| self.may_have(worker, *hint));
        Some(hints)
    }
}

impl<M, C, R> WaitingLine<M> for SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    fn is_waiting(&self) -> bool {
        match self.gate() {
            Gate::Open => self.line.is_waiting(),
            Gate::Draining | Gate::Closed => self.line.stranded() > 0,
        }
    }

    fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>> {
        // A removed worker gives no room any more.
        if !self.has(permit.holder()) {
            return Err(permit);
        }
        // Lines of other pools stay while this pool is drained.
        let open = self.gate() == Gate::Open;
        // Waiters without a token. They stay in line.
        let mut later = UnpaidWaiters { shared: self, waiters: Vec::new(), wait: Duration::ZERO };
        let hints = self.hints_for(permit.holder());
        let may_go = |hint| hints.as_ref().is_none_or(|hints| hints.contains(&hint));
        loop {
            match self.line.next(open, may_go) {
                None => return Err(permit),
                Some(LineEntry::Stranded(StrandedMessage {
                    message,
                    sender,
                    hint,
                    times,
                    epoch,
                })) => {
                    match self.fill_one(permit, message, sender, times) {
                        Ok(worker) => self.mark_behind(worker, &epoch),
                        Err(message) => {
                            self.line.put_back(StrandedMessage {
                                message,
                                sender,
                                hint,
                                times,
                                epoch,
                            });
                        }
                    }
                    return Ok(());
                }
                Some(LineEntry::Sender(waiter, _)) if !waiter.is_waiting() => {}
                Some(LineEntry::Sender(waiter, paid)) => {
                    let charged = match (&self.bucket, paid) {
                        (Some(bucket), Paid::No) => match bucket.take(self.host.now()) {
                            Ok(()) => true,
                            Err(wait) => {
                                later.waiters.push(waiter);
                                later.wait = wait;
                                continue;
                            }
                        },
                        _ => false,
                    };
                    let mut ticket = self.ticket(TicketRoom::One(permit));
                    if charged {
                        ticket.charge();
                    }
                    // A sender that gives up at this moment returns its room.
                    let _ = waiter.offer(ticket);
                    if waiter.wants_more() {
                        self.line.join(&waiter, paid);
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// Waiters without a token. They join the line again when this is dropped.
struct UnpaidWaiters<'a, M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    shared: &'a SharedPool<M, C, R>,
    waiters: Vec<Arc<Waiter<M>>>,
    /// The time until there is a token.
    wait: Duration,
}

impl<M, C, R> Drop for UnpaidWaiters<'_, M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    fn drop(&mut self) {
        self.waiters.iter().for_each(|waiter| self.shared.line.join(waiter, Paid::No));
        // Last, because otherwise the timer could fire before they have joined the line again.
        if !self.waiters.is_empty() {
            self.shared.retry_in(self.wait);
        }
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
