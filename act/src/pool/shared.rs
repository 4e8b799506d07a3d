//! The state that the senders of a pool share with its process: the ring of workers, the
//! routing, the rules, the counters and the line. This file holds the operations of the pool
//! process. Those of senders are in [`super::delivery`], and those of reserved room in
//! [`super::reservation`].
//!
//! The pool process changes the ring under the write lock. Senders hold the read lock while a
//! message is handed on. User code never runs under it: the hint of a routing and the time to
//! live are computed before, and fallbacks and copies come after.
//!
//! **Counting.** `received` is counted before a message is tried, and `unhandled` before its
//! refusal is returned; forwarded is the difference. So a caller that has seen a message
//! answered or refused finds it counted, and the sum is exact at any time (rule P6).

use super::job_watch::{JobRecords, JobWatch};
use super::lent_value::LentValue;
use super::pool_worker::PoolWorker;
use super::rate::Bucket;
use super::ring::{Gate, Ring};
use super::routing::Routing;
use super::ticket::DrainEpochs;
use super::waiting_line::PoolLine;
use crate::addressing::address::Address;
use crate::host::host::{Host, TimerKey};
use crate::mailbox::overflow::Overflow;
use crate::mailbox::permit::{Waiter, WaitingLine};
use crate::observe::watched_job::Mark;
use crate::sync::{Mutex, RwLock};
use krarup_gen::Pid;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What a pool tells of itself and its senders do not need.
pub(super) struct PoolNumbers {
    pub(super) worker_behavior: &'static str,
    /// How many workers are configured.
    pub(super) size: usize,
    /// The bound of each worker.
    pub(super) mailbox: Option<usize>,
    /// How many workers were replaced.
    pub(super) restarts: AtomicU64,
    /// How many workers were killed because they were stuck.
    pub(super) stuck: AtomicU64,
}

/// Returns how long a job may wait.
pub(super) type TimeToLive<M> = Arc<dyn Fn(&M) -> Option<Duration> + Send + Sync>;

/// How a pool treats messages on their way.
pub(super) struct Rules<M> {
    pub(super) overflow: Overflow<M>,
    pub(super) time_to_live: Option<TimeToLive<M>>,
    /// The records of the watched jobs, if jobs are watched.
    pub(super) records: Option<Arc<JobRecords<M>>>,
}

#[allow(clippy::struct_excessive_bools, reason = "independent constant flags")]
pub(super) struct SharedPool<M: Send + 'static, C: Send + 'static, R> {
    pub(super) pid: Pid,
    pub(super) host: Arc<dyn Host>,
    pub(super) ring: RwLock<Ring<M, C, R>>,
    /// Whether the routing examines messages.
    has_hint: bool,
    /// Whether a choice of a worker needs the message.
    pub(super) needs_message: bool,
    /// Whether messages are examined on their way: for the rate, or to be watched.
    pub(super) attends: bool,
    pub(super) bucket: Option<Bucket>,
    /// Whether waiting jobs may be moved from one worker to another.
    pub(super) moves: bool,
    pub(super) received: AtomicU64,
    pub(super) unhandled: AtomicU64,
    /// Included in `unhandled`.
    pub(super) diverted: AtomicU64,
    pub(super) rate_limited: AtomicU64,
    /// `None` after the pool has ended.
    rules: RwLock<Option<Arc<Rules<M>>>>,
    pub(super) line: PoolLine<M>,
    /// The timer after which the line waits at the workers again, when the rate has a token.
    pub(super) retry: Mutex<Option<TimerKey>>,
    /// Senders that wait for room at one worker, in that worker's line. They are listed here so
    /// that they can be sent away.
    pub(super) at_workers: PoolLine<M>,
    /// Removed workers that have not ended. The jobs they have accepted still belong to the
    /// pool.
    leaving: Mutex<BTreeMap<Pid, Address<M, C>>>,
    pub(super) epochs: DrainEpochs,
    pub(super) numbers: PoolNumbers,
    /// The waiter that stands for the line of the pool in the lines of the workers.
    pub(super) stand_in: Arc<Waiter<M>>,
    pub(super) myself: Weak<Self>,
}

/// Two counts that add up to all messages the pool has received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) forwarded: u64,
    pub(super) unhandled: u64,
}

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    pub(super) fn new(
        pid: Pid,
        host: &Arc<dyn Host>,
        routing: R,
        rules: Rules<M>,
        bucket: Option<Bucket>,
        moves: bool,
        numbers: PoolNumbers,
    ) -> Arc<Self> {
        Arc::new_cyclic(|myself: &Weak<Self>| SharedPool {
            pid,
            host: Arc::clone(host),
            has_hint: routing.has_hint(),
            needs_message: routing.needs_message(),
            ring: RwLock::new(Ring::new(routing)),
            attends: bucket.is_some() || rules.records.is_some() || moves,
            bucket,
            moves,
            received: AtomicU64::new(0),
            unhandled: AtomicU64::new(0),
            diverted: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            rules: RwLock::new(Some(Arc::new(rules))),
            line: PoolLine::new(),
            retry: Mutex::new(None),
            at_workers: PoolLine::new(),
            leaving: Mutex::new(BTreeMap::new()),
            epochs: DrainEpochs::default(),
            numbers,
            stand_in: Arc::new(Waiter::for_line(Weak::clone(myself) as Weak<dyn WaitingLine<M>>)),
            myself: Weak::clone(myself),
        })
    }

    /// Adds a worker, last in the rotation.
    pub(super) fn add(&self, address: &Address<M, C>) {
        let watch = self.new_watch();
        {
            let mut ring = self.ring.write();
            Self::bring_next_to_front(&mut ring);
            let place = ring.next_place();
            ring.all_mut().push(PoolWorker { address: address.clone(), place, watch });
        }
        self.enlist_at(address);
    }

    /// Puts a worker in the place of another. It is last in the rotation if that worker was
    /// given up.
    pub(super) fn replace(&self, old: Pid, address: &Address<M, C>) {
        let watch = self.new_watch();
        {
            let mut ring = self.ring.write();
            Self::bring_next_to_front(&mut ring);
            ring.replace(old, address, watch.as_ref());
        }
        self.enlist_at(address);
    }

    /// Stops giving jobs to these workers, and keeps their places.
    pub(super) fn vacate(&self, pids: &[Pid]) {
        if pids.is_empty() {
            return;
        }
        let mut ring = self.ring.write();
        Self::bring_next_to_front(&mut ring);
        ring.vacate(pids);
    }

    /// Removes up to `count` workers, beginning with the one whose turn is next.
    pub(super) fn take(&self, count: usize) -> Vec<PoolWorker<M, C>> {
        let taken = {
            let mut ring = self.ring.write();
            Self::bring_next_to_front(&mut ring);
            let taken = ring.all_mut().take_first(count);
            let address =
                |worker: &PoolWorker<M, C>| (worker.address.pid(), worker.address.clone());
            self.leaving.lock().extend(taken.iter().map(address));
            taken
        };
        self.dismiss_if_empty();
        self.retry_for_keys();
        taken
    }

    /// Notes that a removed worker has ended.
    pub(super) fn note_left(&self, pid: Pid) {
        let ended = self.leaving.lock().remove(&pid);
        drop(ended);
    }

    /// Removes the places of these workers.
    pub(super) fn remove(&self, pids: &[Pid]) {
        if pids.is_empty() {
            return;
        }
        let removed = {
            let mut ring = self.ring.write();
            Self::bring_next_to_front(&mut ring);
            ring.remove(pids)
        };
        drop(removed);
        self.dismiss_if_empty();
        self.retry_for_keys();
    }

    fn bring_next_to_front(ring: &mut Ring<M, C, R>) {
        let Some(routing) = ring.routing.clone() else { return };
        let (workers, next) = (ring.all_mut(), routing.turn());
        if next < workers.len() {
            workers.rotate(next);
        }
        // Not the last handle: the ring has one too.
        routing.rewind();
    }

    /// The hint of the routing for a message, for example the hash of its key.
    #[inline]
    pub(super) fn hint(&self, message: &M) -> u64 {
        if self.has_hint { self.hint_of(message) } else { 0 }
    }

    #[inline(never)]
    fn hint_of(&self, message: &M) -> u64 {
        let routing = self.ring.read().routing.as_ref().map(LentValue::new);
        routing.map_or(0, |routing| routing.hint(message))
    }

    /// The rules, unless the pool has ended.
    pub(super) fn rules(&self) -> Option<LentValue<Rules<M>>> {
        self.rules.read().as_ref().map(LentValue::new)
    }

    /// Drops the user's values after the pool has ended, at the latest with the last sender
    /// that uses them.
    pub(super) fn let_go_of_users_values(&self) {
        let routing = self.ring.write().routing.take();
        LentValue::end(routing);
        let rules = self.rules.write().take();
        LentValue::end(rules);
    }

    /// Refuses messages until [`SharedPool::open`]. Puts the mark behind all accepted messages.
    pub(super) fn drain(&self, mark: &Mark) {
        {
            let mut ring = self.ring.write();
            ring.drain();
            self.epochs.end(mark);
        }
        self.mark_workers(mark);
        self.dismiss();
        self.discard_if_nothing_serves();
    }

    /// Puts a mark behind all messages that the workers have accepted, including removed
    /// workers.
    pub(super) fn mark_workers(&self, mark: &Mark) {
        let workers: Vec<_> = {
            let ring = self.ring.read();
            let leaving = self.leaving.lock();
            let workers = ring.all().iter().map(|worker| worker.address.clone());
            workers.chain(leaving.values().cloned()).collect()
        };
        workers.iter().for_each(|worker| worker.mark(mark));
    }

    /// Sends all waiting senders away.
    pub(super) fn dismiss(&self) {
        self.line.dismiss();
        self.at_workers.dismiss();
    }

    /// Accepts jobs again. Returns whether the pool was drained.
    pub(super) fn open(&self) -> bool {
        let drained = self.ring.write().open();
        if drained {
            self.retry_enlisting();
        }
        drained
    }

    pub(super) fn gate(&self) -> Gate {
        self.ring.read().gate
    }

    /// Closes the pool after its end: no message is accepted from now on. Returns its workers.
    pub(super) fn close(&self) -> Vec<Address<M, C>> {
        let workers = self.ring.write().close();
        let leaving = std::mem::take(&mut *self.leaving.lock());
        drop(leaving);
        self.cancel_retry();
        self.clear_line();
        workers.into_iter().map(|worker| worker.address).collect()
    }

    /// The workers in the ring, the next one first.
    pub(super) fn workers(&self) -> Vec<PoolWorker<M, C>> {
        let ring = self.ring.read();
        let turn = ring.routing.as_ref().map_or(0, |routing| routing.turn());
        ring.all().to_vec_from(turn)
    }

    pub(super) fn has(&self, pid: Pid) -> bool {
        self.ring.read().find(pid).is_some()
    }

    /// The worker with this pid, if it is in the ring.
    pub(super) fn worker(&self, pid: Pid) -> Option<Address<M, C>> {
        self.ring.read().find(pid).map(|worker| worker.address.clone())
    }

    /// How many accepted messages wait: at the workers, or stranded in the line.
    pub(super) fn waiting(&self) -> usize {
        let workers = self.ring.read().all().iter().map(|w| w.address.waiting()).sum::<usize>();
        workers + self.line.stranded()
    }

    /// How many places there are.
    pub(super) fn size(&self) -> usize {
        self.ring.read().size()
    }

    pub(super) fn counts(&self) -> Counts {
        // In this order: a message counted as unhandled has already been counted as received.
        let unhandled = self.unhandled.load(Ordering::Acquire);
        let received = self.received.load(Ordering::Acquire);
        Counts { forwarded: received.saturating_sub(unhandled), unhandled }
    }

    /// Whether overflowing messages go to a fallback.
    pub(super) fn diverts(&self) -> bool {
        self.rules().is_some_and(|rules| matches!(rules.overflow, Overflow::Divert(_)))
    }

    fn new_watch(&self) -> Option<Arc<JobWatch<M>>> {
        self.rules()?.records.as_ref().map(|records| Arc::new(JobWatch::new(records)))
    }
}
