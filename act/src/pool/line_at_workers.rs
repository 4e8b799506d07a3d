//! The line of a pool waits at every worker, in the line of the worker's own mailbox. When a worker
//! has room, it offers the room to the line.
//!
//! The first in line takes it: a stranded message before any sender, and only one whose key belongs
//! to that worker. A sender without a token of the rate waits until there is one.

use super::redemption::LacksRoom;
use super::ring::Gate;
use super::routing::Routing;
use super::shared::SharedPool;
use super::ticket::TicketRoom;
use super::waiting_line::{LineEntry, Paid, StrandedMessage};
use crate::addressing::address::Address;
use crate::host::host::Alarm;
use crate::mailbox::permit::{Permit, Waiter, WaitingLine};
use crate::process::crash::contain;
use crate::process::current;
use krarup_gen::{DeadLetterCause, Pid};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Makes the line wait at every worker: its stand-in (`stand_in`) joins each worker's own
    /// line.
    pub(super) fn enlist_at_workers(&self) {
        self.line.begin_to_place();
        self.place_stand_ins();
    }

    /// Does the same, unless the line waits at every worker already. Whoever joins the line calls
    /// this after it has joined.
    pub(super) fn join_at_workers(&self) {
        if self.line.begin_to_place() {
            self.place_stand_ins();
        }
    }

    fn place_stand_ins(&self) {
        let workers = self.ring.read().all().to_vec_from(0);
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

    /// Makes the line wait at a new worker, if it waits at the others.
    pub(super) fn enlist_at(&self, worker: &Address<M, C>) {
        if self.line.is_placed_or_waiting() {
            worker.enlist(&self.stand_in);
        }
    }

    /// Sends waiting senders away if the pool has no workers left.
    pub(super) fn dismiss_if_empty(&self) {
        if self.size() == 0 {
            self.line.dismiss();
        }
    }

    /// The hints of the messages in line that may go to this worker; `None` means all. A message whose
    /// choice panics is lost: it would hold up a drain for ever.
    fn hints_for(&self, worker: Pid) -> Option<BTreeSet<u64>> {
        let mut hints = self.needs_message.then(|| self.line.hints())?;
        hints.retain(|hint| {
            contain(|| self.may_have(worker, *hint)).unwrap_or_else(|_| {
                self.lose(*hint);
                false
            })
        });
        Some(hints)
    }

    fn lose(&self, hint: u64) {
        for StrandedMessage { message, sender, epoch, .. } in self.line.take_hint(hint) {
            self.dead_letter(message, sender, DeadLetterCause::Unhandled);
            // Last: a drain that waits for this message ends with it.
            drop(epoch);
        }
    }
}

impl<M, C, R> WaitingLine<M> for SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    fn is_waiting(&self) -> bool {
        if self.gate() != Gate::Open {
            // Before the gate is read again: whoever joins an open pool after that finds that the
            // stand-in has left.
            self.line.note_displaced();
            if self.gate() != Gate::Open {
                return self.line.stranded() > 0;
            }
        }
        self.line.is_waiting()
    }

    fn offer(&self, permit: Permit<M>) -> Result<(), Permit<M>> {
        // A removed worker gives no room any more.
        if !self.has(permit.holder()) {
            return Err(permit);
        }
        self.offer_to_first(permit)
    }
}

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Gives room at a worker to the first in line that may have it.
    fn offer_to_first(&self, permit: Permit<M>) -> Result<(), Permit<M>> {
        // Lines of other pools stay while this pool is drained.
        let open = self.gate() == Gate::Open;
        // Waiters without a token. They stay in line.
        let mut later = UnpaidWaiters { shared: self, waiters: Vec::new(), wait: Duration::ZERO };
        let hints = self.hints_for(permit.holder());
        let may_go = |hint| hints.as_ref().is_none_or(|hints| hints.contains(&hint));
        loop {
            match self.line.next(open, may_go) {
                None => return Err(permit),
                Some(LineEntry::Stranded(stranded_message)) => {
                    return self.try_to_give(permit, stranded_message);
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
                    // A sender that gives up at this moment returns its room. So does a line that
                    // cannot use room at this pool, for a key or for want of a token. It comes back
                    // when that changes, and not before: it would be offered the same room for ever.
                    let taken = waiter.offer(ticket).is_ok();
                    if taken && waiter.wants_more() {
                        self.line.join(&waiter, paid);
                        // While it was out of the line, other workers have found that nobody waits.
                        self.join_at_workers();
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Gives room to a stranded message, or puts the message back. User code may panic in that: a
    /// choice, a copy, the key or the time to live of a worker that is a pool. Then the message is
    /// lost alone. Neither the process that offers the room nor those behind in line are harmed.
    fn try_to_give(
        &self,
        permit: Permit<M>,
        stranded_message: StrandedMessage<M>,
    ) -> Result<(), Permit<M>> {
        let (sender, mut given) = (stranded_message.sender, Ok(()));
        current::apart(|| match contain(|| self.give(permit, stranded_message)) {
            Ok(answer) => given = answer,
            Err(_) => self.note_lost(sender, DeadLetterCause::Unhandled),
        });
        // Stand-ins have left workers whose room a message to all could not use, and those that found
        // nobody in line while a message was out of it that is back now.
        if given.is_ok() && self.line.is_waiting() {
            self.join_at_workers();
        }
        given
    }

    fn give(
        &self,
        permit: Permit<M>,
        stranded_message: StrandedMessage<M>,
    ) -> Result<(), Permit<M>> {
        let StrandedMessage { message, sender, hint, times, epoch } = stranded_message;
        if let Some(copy) = self.copy_of(hint) {
            return match self.room_at_each(permit) {
                Ok(each) => {
                    self.fill_each(Some(&epoch), each, copy, message, sender, times);
                    Ok(())
                }
                Err(LacksRoom { permit, full }) => {
                    self.line.put_back(StrandedMessage { message, sender, hint, times, epoch });
                    // The stand-in leaves this worker.
                    self.line.note_displaced();
                    // After the message is back in the line: that worker may have room by now, and
                    // offers it at once.
                    full.inspect(|full| full.enlist(&self.stand_in));
                    Err(permit)
                }
            };
        }
        match self.fill_one(permit, message, sender, times) {
            Ok(worker) => self.mark_behind(worker, &epoch),
            Err(message) => {
                self.line.put_back(StrandedMessage { message, sender, hint, times, epoch });
            }
        }
        Ok(())
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
