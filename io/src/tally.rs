//! The connections of an acceptor, and their number.

use crate::callback::log;
use krarup_act::{Address, contain};
use krarup_gen::one_line;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// An accepted connection, as reported by its acceptor.
#[derive(Debug)]
pub struct Peer<M> {
    /// The address of the peer.
    pub peer: SocketAddr,
    /// The address of the connection's process.
    pub connection: Address<M>,
}

impl<M> Clone for Peer<M> {
    fn clone(&self) -> Self {
        Peer { peer: self.peer, connection: self.connection.clone() }
    }
}

/// Counts the slots of connections. A slot is taken before its connection is accepted, and
/// is freed after its process has ended, in whatever way.
pub(crate) struct ConnectionTally<M>(Mutex<ConnectionCount<M>>);

struct ConnectionCount<M> {
    /// The slots by number; `None` until the process is spawned.
    places: BTreeMap<u64, Option<Peer<M>>>,
    next: u64,
    /// The waker of the acceptor, if it waits for a free slot.
    waker: Option<Waker>,
}

impl<M> ConnectionTally<M> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(ConnectionTally(Mutex::new(ConnectionCount {
            places: BTreeMap::new(),
            next: 0,
            waker: None,
        })))
    }

    pub(crate) fn open(&self) -> usize {
        self.0.lock().places.len()
    }

    /// Takes a slot.
    pub(crate) fn take(self: &Arc<Self>) -> ConnectionSlot<M> {
        let mut open = self.0.lock();
        let number = open.next;
        open.next += 1;
        open.places.insert(number, None);
        ConnectionSlot { tally: Arc::clone(self), number }
    }

    /// Records the connection of a slot, unless the slot is free again.
    pub(crate) fn occupy(&self, number: u64, peer: Peer<M>) {
        if let Some(place) = self.0.lock().places.get_mut(&number) {
            *place = Some(peer);
        }
    }

    /// Returns the connections in the order in which they were accepted.
    pub(crate) fn peers(&self) -> Vec<Peer<M>> {
        self.0.lock().places.values().flatten().cloned().collect()
    }

    /// Ready when fewer than `limit` slots are taken.
    pub(crate) fn poll_below(&self, limit: usize, cx: &Context<'_>) -> Poll<()> {
        if self.open() < limit {
            return Poll::Ready(());
        }
        // Clone and drop wakers without the lock: they may be a user's.
        let mut waker = Some(cx.waker().clone());
        let mut open = self.0.lock();
        if open.places.len() < limit {
            return Poll::Ready(());
        }
        std::mem::swap(&mut open.waker, &mut waker);
        drop(open);
        Poll::Pending
    }
}

/// A slot, which becomes free when it is dropped.
pub(crate) struct ConnectionSlot<M> {
    tally: Arc<ConnectionTally<M>>,
    number: u64,
}

impl<M> ConnectionSlot<M> {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl<M> Drop for ConnectionSlot<M> {
    fn drop(&mut self) {
        let (peer, waker) = {
            let mut open = self.tally.0.lock();
            (open.places.remove(&self.number), open.waker.take())
        };
        // Drop and wake without the lock.
        drop(peer);
        if let Some(waker) = waker
            && let Err(panic) = contain(|| waker.wake())
        {
            log(
                || tracing::error!(target: "krarup", panic = %one_line(&panic), "a waker panicked"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readiness::tests::counting_waker;
    use krarup_act::{Context as Process, behavior_fn};
    use krarup_node::Simulation;
    use std::sync::atomic::Ordering;

    #[test]
    fn i6_an_acceptor_that_waits_for_a_slot_is_woken_by_each_free_slot() {
        let tally = ConnectionTally::<()>::new();
        let mut places: Vec<_> = (0..3).map(|_| tally.take()).collect();
        assert_eq!(tally.open(), 3);
        let (counter, waker) = counting_waker(false);
        let cx = Context::from_waker(&waker);
        assert!(tally.poll_below(4, &cx).is_ready());
        for left in (0..3).rev() {
            assert!(tally.poll_below(left + 1, &cx).is_pending());
            drop(places.remove(0));
            assert_eq!(tally.open(), left);
            assert_eq!(counter.wakes.load(Ordering::Relaxed), u32::try_from(3 - left).unwrap());
            assert!(tally.poll_below(left + 1, &cx).is_ready());
        }
    }

    #[test]
    fn i6_a_panicking_waker_does_not_affect_the_ending_connection() {
        let tally = ConnectionTally::<()>::new();
        let place = tally.take();
        let (counter, waker) = counting_waker(true);
        assert!(tally.poll_below(1, &Context::from_waker(&waker)).is_pending());
        drop(place);
        assert_eq!((tally.open(), counter.wakes.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn i6_a_slot_shows_its_connection_only_while_it_is_taken() {
        let sim = Simulation::new(1);
        let process = sim.spawn(|| behavior_fn(|_: Process<()>| std::future::pending())).start();
        let connection = process.unwrap();
        let peer =
            |port| Peer { peer: ([127, 0, 0, 1], port).into(), connection: connection.clone() };
        let tally = ConnectionTally::new();
        let [first, second, third] = [(); 3].map(|()| tally.take());
        let ports = || tally.peers().iter().map(|open| open.peer.port()).collect::<Vec<_>>();
        // The order is that of accepting, whichever process is spawned first.
        tally.occupy(third.number(), peer(3));
        tally.occupy(first.number(), peer(1));
        assert_eq!(ports(), [1, 3]);
        assert_eq!(tally.open(), 3, "a slot without a process counts as taken");
        let number = second.number();
        drop(second);
        // It was free before its connection was recorded.
        tally.occupy(number, peer(2));
        assert_eq!((ports(), tally.open()), (vec![1, 3], 2));
        let fourth = tally.take();
        tally.occupy(fourth.number(), peer(4));
        assert_eq!(ports(), [1, 3, 4]);
        drop((first, third, fourth));
        assert_eq!((ports(), tally.open()), (vec![], 0));
    }
}
