//! The line at a pool for room at any of its workers (rule M6): senders that wait, and stranded
//! messages, whose room was lost with a worker.
//!
//! ```text
//!                      the line, one for the pool
//!   send_or_wait ──►  [ stranded ] [ sender ] [ sender ] ...
//!                           ▲ first: it was accepted already
//!            its stand-in   │ room, the first time any worker has some
//!   worker 1 [stand_in] ────┤
//!   worker 2 [stand_in] ────┘   a worker with room and a stand-in in its own line offers it
//!
//! While the line is not empty, one waiter stands for it in the mailbox of every worker
//! (`stand_in`). A worker gives room to this stand-in as it would to a sender of its own. The
//! stand-in gives the room to the first in the line, and waits again while the line is not
//! empty. A sender joins the line first and then places the stand-ins. So either a worker finds
//! the stand-in, or the stand-in finds room.
//!
//! The line knows whether its stand-ins are `in place` at all workers, so a sender that joins a
//! line places none if another has, and ten thousand senders do not look at ten thousand workers
//! each. They are no longer in place when one of them leaves its worker: it found nobody who waits,
//! or nobody who may have the room there. Both are decided under the lock of the line. So who joins
//! before is found, and who joins after places them again. The line of another pool is asked without
//! that lock, and so once more after it was noted that the stand-ins are not in place.
//!
//! Senders are numbered in the order in which they came, so that one that leaves is found among
//! any number of others. To join, to leave and to be the next take logarithmic time.

use super::job_times::JobTimes;
use super::ticket::DrainEpoch;
use crate::lock::Lock;
use crate::mailbox::permit::{Waiter, WaitsForRoom};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// Whether a waiter in line has taken a token of the pool's rate. A sender of this pool has.
/// The line of another pool, for which this pool is a worker, has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paid {
    Yes,
    No,
}

/// An entry of the line.
pub(super) enum LineEntry<M> {
    /// A waiter, and whether it has a token of the pool's rate, if one is needed.
    Sender(Arc<Waiter<M>>, Paid),
    Stranded(StrandedMessage<M>),
}

/// A message that was accepted into room at a worker that has ended since.
pub(super) struct StrandedMessage<M> {
    pub(super) message: M,
    pub(super) sender: u64,
    /// The hint of the routing for this message.
    pub(super) hint: u64,
    /// The times of the job, if jobs are watched.
    pub(super) times: Option<JobTimes>,
    /// Delays the end of a drain until the message is handled.
    pub(super) epoch: Arc<DrainEpoch>,
}

/// The line of a pool. No user code runs, and no user value is dropped, under its lock.
pub(super) struct PoolLine<M>(Lock<LineEntries<M>>);

struct LineEntries<M> {
    stranded: VecDeque<StrandedMessage<M>>,
    /// The waiters, by their number.
    senders: BTreeMap<u64, (Arc<Waiter<M>>, Paid)>,
    /// The number of each waiter, by its address in memory, which is stable while it is in
    /// line.
    numbers: HashMap<usize, u64>,
    next: u64,
    /// Whether each worker has the stand-in in its line, or is about to get it.
    in_place: bool,
}

/// The address of a waiter in memory.
fn place_in_memory<M>(waiter: &Arc<Waiter<M>>) -> usize {
    Arc::as_ptr(waiter).addr()
}

impl<M> LineEntries<M> {
    fn remove(&mut self, waiter: &Arc<Waiter<M>>) -> Option<Arc<Waiter<M>>> {
        let number = self.numbers.remove(&place_in_memory(waiter))?;
        self.senders.remove(&number).map(|(waiter, _)| waiter)
    }
}

impl<M: Send + 'static> PoolLine<M> {
    pub(super) fn new() -> Self {
        let (stranded, senders, numbers) = (VecDeque::new(), BTreeMap::new(), HashMap::new());
        PoolLine(Lock::new(LineEntries { stranded, senders, numbers, next: 0, in_place: false }))
    }

    /// Begins to place the stand-ins at the workers. Returns false if they are in place already, or
    /// another places them.
    pub(super) fn begin_to_place(&self) -> bool {
        !std::mem::replace(&mut self.0.lock().in_place, true)
    }

    /// A stand-in has left its worker, or was not placed.
    pub(super) fn note_displaced(&self) {
        self.0.lock().in_place = false;
    }

    /// Whether a new worker needs the stand-in.
    pub(super) fn is_placed_or_waiting(&self) -> bool {
        let in_place = self.0.lock().in_place;
        in_place || self.is_waiting()
    }

    /// Joins as the last. A waiter that is already in line stays where it is.
    pub(super) fn join(&self, waiter: &Arc<Waiter<M>>, paid: Paid) {
        let mut line = self.0.lock();
        let number = line.next;
        if let std::collections::hash_map::Entry::Vacant(place) =
            line.numbers.entry(place_in_memory(waiter))
        {
            place.insert(number);
            line.senders.insert(number, (Arc::clone(waiter), paid));
            line.next += 1;
        }
    }

    pub(super) fn leave(&self, waiter: &Arc<Waiter<M>>) {
        // Dropped without the lock.
        let left = self.0.lock().remove(waiter);
        drop(left);
    }

    /// Adds a stranded message, before all waiters.
    pub(super) fn push_stranded(&self, stranded_message: StrandedMessage<M>) {
        self.0.lock().stranded.push_back(stranded_message);
    }

    /// Puts a stranded message back as the first.
    pub(super) fn put_back(&self, stranded_message: StrandedMessage<M>) {
        self.0.lock().stranded.push_front(stranded_message);
    }

    /// Takes the next entry; with `senders_too` false, only a stranded message. A stranded
    /// message is taken only if `may_go` accepts its hint, that is, if it may go where the room
    /// is. If there is none, the stand-in that asks leaves its worker.
    pub(super) fn next(
        &self,
        senders_too: bool,
        may_go: impl Fn(u64) -> bool,
    ) -> Option<LineEntry<M>> {
        let mut line = self.0.lock();
        let first = line.stranded.iter().position(|stranded_message| may_go(stranded_message.hint));
        if let Some(stranded_message) = first.and_then(|index| line.stranded.remove(index)) {
            return Some(LineEntry::Stranded(stranded_message));
        }
        let first = if senders_too { line.senders.pop_first() } else { None };
        let Some((_, (waiter, paid))) = first else {
            line.in_place = false;
            return None;
        };
        line.numbers.remove(&place_in_memory(&waiter));
        Some(LineEntry::Sender(waiter, paid))
    }

    /// Whether any entry still waits. If not, the stand-in that asks leaves its worker. A waiter that
    /// gives up leaves at once, so the first one examined usually waits.
    pub(super) fn is_waiting(&self) -> bool {
        let (mut from, mut is_last_look) = (0, false);
        loop {
            let first = {
                let mut line = self.0.lock();
                if !line.stranded.is_empty() {
                    return true;
                }
                let first = line.senders.range(from..).next();
                let first = first.map(|(number, (waiter, _))| (*number, Arc::clone(waiter)));
                if first.is_none() {
                    line.in_place = false;
                    if is_last_look || line.senders.is_empty() {
                        return false;
                    }
                }
                first
            };
            match first {
                // A line of another pool that was found empty stays here, and may have got a sender
                // since. That sender has not placed the stand-ins if they were in place then. From
                // now on they are not, so what comes after this look places them.
                None => (from, is_last_look) = (0, true),
                Some((_, waiter)) if waiter.is_waiting() => return true,
                // It stays in line, because a line of another pool may wait again.
                Some((number, _)) => from = number + 1,
            }
        }
    }

    /// The number of waiters in line.
    pub(super) fn waiters(&self) -> usize {
        self.0.lock().senders.len()
    }

    /// The number of stranded messages.
    pub(super) fn stranded(&self) -> usize {
        self.0.lock().stranded.len()
    }

    /// Whether a stranded message with this hint is in line.
    pub(super) fn has_hint(&self, hint: u64) -> bool {
        self.0.lock().stranded.iter().any(|stranded_message| stranded_message.hint == hint)
    }

    /// The distinct hints of the stranded messages, in order. A routing is asked about each.
    pub(super) fn hints(&self) -> BTreeSet<u64> {
        self.0.lock().stranded.iter().map(|stranded_message| stranded_message.hint).collect()
    }

    /// Takes out the stranded messages with this hint.
    pub(super) fn take_hint(&self, hint: u64) -> Vec<StrandedMessage<M>> {
        let stranded = &mut self.0.lock().stranded;
        let all = std::mem::take(stranded).into_iter();
        let (taken, left): (Vec<_>, _) = all.partition(|message| message.hint == hint);
        *stranded = left.into();
        taken
    }

    /// Sends waiting senders away. A line of another pool stays: its senders wait at other
    /// workers too, and here again when there is room.
    pub(super) fn dismiss(&self) {
        let dismissed = {
            let mut line = self.0.lock();
            let LineEntries { senders, numbers, .. } = &mut *line;
            let all = std::mem::take(senders).into_iter();
            let (lines, dismissed): (_, BTreeMap<_, _>) =
                all.partition(|(_, (waiter, _))| waiter.is_line());
            *senders = lines;
            for (waiter, _) in dismissed.values() {
                numbers.remove(&place_in_memory(waiter));
            }
            dismissed
        };
        dismissed.into_iter().for_each(|(_, (waiter, _))| waiter.refuse());
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
