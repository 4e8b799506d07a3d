//! The use of reserved room: a permit of a pool is redeemed by its message.
//!
//! The room lies at one worker, at each, at the fallback, or nowhere ([`TicketRoom`]). If the worker
//! has ended or was removed since, or has lost the key of the message, the message is redirected. If
//! no worker has room, it is *stranded*: it stands first in the line.

use super::job_times::JobTimes;
use super::ring::RingView;
use super::routing::{Choice, Routing, Workers};
use super::shared::SharedPool;
use super::ticket::{DrainEpoch, RedeemTicket, TicketRoom};
use super::waiting_line::StrandedMessage;
use crate::addressing::address::Address;
use crate::cold_box::ColdBox;
use crate::mailbox::entry::{Body, Notice};
use crate::mailbox::permit::Permit;
use crate::observe::watched_job::{JobWatcher, WatchedJob};
use crate::process::reservation::send_diverted;
use crate::process::{current, deferred};
use krarup_gen::{DeadLetterCause, Pid, SendError};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
            TicketRoom::One(permit) if self.needs_message => {
                let hint = self.hint(&message);
                match self.copy_of(hint) {
                    // The room was offered to a line that waits here, before the message was
                    // known.
                    Some(copy) => match self.room_at_each(permit) {
                        Ok(each) => {
                            return self.fill_each(Some(epoch), each, copy, message, sender, times);
                        }
                        Err(lacks_room) => {
                            drop(lacks_room);
                            return self.strand(epoch, message, sender, times);
                        }
                    },
                    None if self.may_have(permit.holder(), hint) => permit,
                    // The key may have another worker by now, or may not have been known.
                    None => {
                        drop(permit);
                        return self.strand(epoch, message, sender, times);
                    }
                }
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

/// Room at each worker, by the numbers of their places.
type RoomAtEach<M> = Vec<(u64, Permit<M>)>;

/// A worker is full, so a message that goes to all workers has no room.
pub(super) struct LacksRoom<M: Send + 'static, C: Send + 'static> {
    /// The room that was offered.
    pub(super) permit: Permit<M>,
    /// The full worker; `None` if the worker that offered its room has been removed.
    pub(super) full: Option<Address<M, C>>,
}

/// The permit that is used, of several.
enum Chosen<M> {
    One(Permit<M>),
    Every(RoomAtEach<M>, fn(&M) -> M),
    None,
}

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Chooses one of several permits, after the message has arrived. The others are returned.
    fn choose_of(&self, mut each: RoomAtEach<M>, hint: u64) -> Chosen<M> {
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

    /// Whether a message with this hint may go to this worker, in a pool whose routing examines
    /// the message.
    pub(super) fn may_have(&self, worker: Pid, hint: u64) -> bool {
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

    /// How a message with this hint is copied if it goes to all workers; `None` if it goes to
    /// one.
    pub(super) fn copy_of(&self, hint: u64) -> Option<fn(&M) -> M> {
        if !self.needs_message {
            return None;
        }
        let ring = self.ring.read();
        let workers = ring.all();
        let routing = ring.routing.as_deref().filter(|_| !workers.is_empty())?;
        let view = RingView { workers, empty: &ring.vacant, host: &*self.host };
        match routing.choose(hint, &Workers::new(workers.len(), &view)) {
            Choice::Every(copy) => Some(copy),
            _ => None,
        }
    }

    /// Reserves room at the other workers too, for a message that goes to all (rule P8). If one
    /// of them is full, there is no room at any.
    pub(super) fn room_at_each(&self, permit: Permit<M>) -> Result<RoomAtEach<M>, LacksRoom<M, C>> {
        let holder = permit.holder();
        let (mut each, mut place) = (Vec::new(), None);
        for worker in self.workers() {
            if worker.address.pid() == holder {
                place = Some(worker.place);
                continue;
            }
            match worker.address.reserve() {
                Ok(permit) => each.push((worker.place, permit)),
                Err(SendError::NoProcess { .. }) => {}
                Err(_) => {
                    return Err(LacksRoom { permit, full: Some(worker.address) });
                }
            }
        }
        let Some(place) = place else { return Err(LacksRoom { permit, full: None }) };
        each.push((place, permit));
        Ok(each)
    }

    /// Puts a message into room at one worker. Gives it back if that worker has ended or was
    /// removed: a message that arrives in its mailbox after the removal would not be handled.
    pub(super) fn fill_one(
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
                Body::Notice(ColdBox::new(Notice::Job(WatchedJob::new(
                    message, watch, accepted, due,
                ))))
            }
            _ => Body::Message(message),
        };
        match permit.hand_over(body, sender) {
            Ok(()) => {
                current::note_receiver(pid);
                self.forget_receiver();
                Ok(pid)
            }
            Err(Body::Message(message) | Body::Event(message)) => Err(message),
            Err(Body::Notice(notice)) => match notice.into_inner() {
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
        each: RoomAtEach<M>,
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
                Err(SendError::NoProcess { message, .. }) => return self.discard(message, sender),
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
        if self.needs_message {
            self.enlist_at_workers();
        } else {
            self.join_at_workers();
        }
        self.discard_if_nothing_serves();
    }

    /// Does the same as [`SharedPool::mark_behind`] at every worker, because the routing may
    /// have put the message at any of them. A drain may end later for this, never earlier.
    fn mark_behind_all(&self, epoch: &Arc<DrainEpoch>) {
        let marks = epoch.marks();
        if marks.is_empty() {
            return;
        }
        let workers = self.ring.read().all().to_vec_from(0);
        for worker in workers {
            marks.iter().for_each(|mark| worker.address.mark(mark));
        }
    }

    /// Makes drains wait until this worker has handled the messages that came by earlier
    /// permits.
    pub(super) fn mark_behind(&self, worker: Pid, epoch: &Arc<DrainEpoch>) {
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
