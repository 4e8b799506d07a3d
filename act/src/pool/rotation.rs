//! The route of a pool: which worker gets the next message.
//!
//! It runs on the sender's thread. The workers stand in a ring; `next` points at the
//! one whose turn it is. A message goes to that one, or, if it is full or dead, to the
//! first after it that takes it, and the turn passes to the one after the taker (rules
//! P1, P2). The pool process changes the ring under the write lock.
//!
//! **Counting.** `received` is counted before a message is tried, `unhandled` before
//! its refusal is returned; forwarded is the difference. So whoever has seen a message
//! answered or refused finds it counted, and the sum is exact at any time (rule P6).

use crate::address::Address;
use crate::mailbox::permit::{Permit, Reserved};
use crate::process::{current, later};
use crate::route::Route;
use krarup_gen::{Pid, SendError};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(crate) struct Rotation<M, C> {
    ring: RwLock<Ring<M, C>>,
    /// Index of the worker whose turn it is; less than the number of workers, if there
    /// are any.
    next: AtomicUsize,
    received: AtomicU64,
    unhandled: AtomicU64,
}

struct Ring<M, C> {
    workers: Vec<Address<M, C>>,
    /// The pool has ended.
    closed: bool,
}

impl<M: Send + 'static, C: Send + 'static> Rotation<M, C> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Rotation {
            ring: RwLock::new(Ring { workers: Vec::new(), closed: false }),
            next: AtomicUsize::new(0),
            received: AtomicU64::new(0),
            unhandled: AtomicU64::new(0),
        })
    }

    /// Takes the turn: the index of the worker whose turn it was.
    fn take_turn(&self, workers: usize) -> usize {
        let after = |turn: usize| if turn + 1 >= workers { 0 } else { turn + 1 };
        let taken =
            self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turn| Some(after(turn)));
        // The closure always gives a value, so both arms carry the turn before.
        taken.unwrap_or_else(|turn| turn).min(workers - 1)
    }

    /// Puts a worker in as the last whose turn comes.
    pub(crate) fn add(&self, worker: Address<M, C>) {
        let mut ring = self.ring.write();
        self.bring_next_to_front(&mut ring.workers);
        ring.workers.push(worker);
    }

    /// Puts a worker in the place of a dead one.
    pub(crate) fn replace(&self, dead: Pid, worker: Address<M, C>) {
        let mut ring = self.ring.write();
        match ring.workers.iter_mut().find(|worker| worker.pid() == dead) {
            Some(place) => *place = worker,
            // Not reached while only the pool process changes the ring; a worker more is
            // better than one lost.
            None => ring.workers.push(worker),
        }
    }

    /// Takes out up to `count` workers, those first whose turn is next.
    pub(crate) fn take(&self, count: usize) -> Vec<Address<M, C>> {
        let mut ring = self.ring.write();
        self.bring_next_to_front(&mut ring.workers);
        let count = count.min(ring.workers.len());
        ring.workers.drain(..count).collect()
    }

    /// Takes a worker out; whether it was there.
    pub(crate) fn remove(&self, pid: Pid) -> bool {
        let mut ring = self.ring.write();
        self.bring_next_to_front(&mut ring.workers);
        let before = ring.workers.len();
        ring.workers.retain(|worker| worker.pid() != pid);
        ring.workers.len() < before
    }

    fn bring_next_to_front(&self, workers: &mut [Address<M, C>]) {
        let next = self.next.swap(0, Ordering::Relaxed);
        if next < workers.len() {
            workers.rotate_left(next);
        }
    }

    /// The pool has ended: nothing is taken from now on. The workers there were.
    pub(crate) fn close(&self) -> Vec<Address<M, C>> {
        let mut ring = self.ring.write();
        ring.closed = true;
        std::mem::take(&mut ring.workers)
    }

    /// The workers in the ring, the next one first.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        let ring = self.ring.read();
        let next = self.next.load(Ordering::Relaxed).min(ring.workers.len());
        let (later, sooner) = ring.workers.split_at(next);
        sooner.iter().chain(later).map(Address::pid).collect()
    }

    /// Workers in the ring.
    pub(crate) fn size(&self) -> usize {
        self.ring.read().workers.len()
    }

    /// Messages forwarded, and messages refused because nobody took them.
    pub(crate) fn counts(&self) -> (u64, u64) {
        // This order: a message counted as unhandled has been counted as received.
        let unhandled = self.unhandled.load(Ordering::Acquire);
        let received = self.received.load(Ordering::Acquire);
        (received - unhandled, unhandled)
    }
}

impl<M: Send + 'static, C: Send + 'static> Route<M> for Arc<Rotation<M, C>> {
    fn send(&self, mut message: M, sender: u64) -> Result<(), SendError<M>> {
        self.received.fetch_add(1, Ordering::Relaxed);
        let _held = later::hold();
        let ring = self.ring.read();
        let workers = &ring.workers;
        if workers.is_empty() {
            self.unhandled.fetch_add(1, Ordering::Release);
            return Err(if ring.closed {
                SendError::NoProcess(message)
            } else {
                SendError::NoWorkers(message)
            });
        }
        let turn = self.take_turn(workers.len());
        let mut any_alive = false;
        for step in 0..workers.len() {
            let index = (turn + step) % workers.len();
            match workers[index].forward(message, sender) {
                Ok(()) => {
                    if step > 0 {
                        self.pass_turn(turn, index, workers.len());
                    }
                    current::note_receiver(workers[index].pid());
                    return Ok(());
                }
                Err(error) => {
                    any_alive |= !matches!(error, SendError::NoProcess(_));
                    message = error.into_message();
                }
            }
        }
        self.unhandled.fetch_add(1, Ordering::Release);
        Err(if any_alive { SendError::Full(message) } else { SendError::NoWorkers(message) })
    }

    fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        self.received.fetch_add(1, Ordering::Relaxed);
        let _held = later::hold();
        let ring = self.ring.read();
        let workers = &ring.workers;
        if !workers.is_empty() {
            let turn = self.take_turn(workers.len());
            let mut error = SendError::NoWorkers(());
            for step in 0..workers.len() {
                let index = (turn + step) % workers.len();
                match workers[index].reserve_quietly() {
                    Ok(permit) => {
                        if step > 0 {
                            self.pass_turn(turn, index, workers.len());
                        }
                        let worker = workers[index].pid();
                        let pool = Arc::clone(self);
                        return Ok(Permit::new(Ticket { permit: Some(permit), worker, pool }));
                    }
                    Err(SendError::Full(())) => error = SendError::Full(()),
                    Err(_) => {}
                }
            }
            self.unhandled.fetch_add(1, Ordering::Release);
            return Err(error);
        }
        self.unhandled.fetch_add(1, Ordering::Release);
        Err(if ring.closed { SendError::NoProcess(()) } else { SendError::NoWorkers(()) })
    }

    fn waiting(&self) -> usize {
        self.ring.read().workers.iter().map(Address::waiting).sum()
    }
}

impl<M: Send + 'static, C: Send + 'static> Rotation<M, C> {
    /// The message of this turn was taken by a later worker: the turn passes to the one
    /// after it, unless others have moved it meanwhile.
    fn pass_turn(&self, turn: usize, taker: usize, workers: usize) {
        let expected = (turn + 1) % workers;
        let after = (taker + 1) % workers;
        let _ = self.next.compare_exchange(expected, after, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Room at a worker that was reserved through its pool. It is counted as a message received
/// from the beginning; no longer if it is given back.
struct Ticket<M: Send + 'static, C: Send + 'static> {
    permit: Option<Permit<M>>,
    worker: Pid,
    pool: Arc<Rotation<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Reserved<M> for Ticket<M, C> {
    fn fill(mut self: Box<Self>, message: M, sender: u64) {
        if let Some(permit) = self.permit.take() {
            permit.send_from(message, sender);
            current::note_receiver(self.worker);
        }
    }

    fn creation(&self) -> u32 {
        self.permit.as_ref().map_or(0, Permit::creation)
    }
}

impl<M: Send + 'static, C: Send + 'static> Drop for Ticket<M, C> {
    fn drop(&mut self) {
        if self.permit.take().is_some() {
            self.pool.received.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
