//! The connections of an acceptor: how many there are, and which.

use crate::callback::log;
use krarup_act::{Address, contain};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// An accepted connection, as its acceptor tells of it.
#[derive(Debug)]
pub struct Peer<M> {
    /// The address of the peer.
    pub peer: SocketAddr,
    /// What reaches the connection.
    pub connection: Address<M>,
}

impl<M> Clone for Peer<M> {
    fn clone(&self) -> Self {
        Peer { peer: self.peer, connection: self.connection.clone() }
    }
}

/// Counts places, each from before its connection is accepted until its process is gone,
/// however it ends.
pub(crate) struct Tally<M>(Mutex<Open<M>>);

struct Open<M> {
    /// By number of the place; `None` until the process is there.
    places: BTreeMap<u64, Option<Peer<M>>>,
    next: u64,
    /// The acceptor, if it waits for a place to become free.
    waker: Option<Waker>,
}

impl<M> Tally<M> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Tally(Mutex::new(Open { places: BTreeMap::new(), next: 0, waker: None })))
    }

    pub(crate) fn open(&self) -> usize {
        self.0.lock().places.len()
    }

    /// Takes a place.
    pub(crate) fn take(self: &Arc<Self>) -> Place<M> {
        let mut open = self.0.lock();
        let number = open.next;
        open.next += 1;
        open.places.insert(number, None);
        Place { tally: Arc::clone(self), number }
    }

    /// Notes who is in a place, unless it is free again.
    pub(crate) fn occupy(&self, number: u64, peer: Peer<M>) {
        if let Some(place) = self.0.lock().places.get_mut(&number) {
            *place = Some(peer);
        }
    }

    /// Those that are there, in the order in which they were accepted.
    pub(crate) fn peers(&self) -> Vec<Peer<M>> {
        self.0.lock().places.values().flatten().cloned().collect()
    }

    /// Ready when there are fewer than `limit`.
    pub(crate) fn poll_below(&self, limit: usize, cx: &Context<'_>) -> Poll<()> {
        if self.open() < limit {
            return Poll::Ready(());
        }
        // To copy a waker and to drop one is not done under the lock: it may be a user's.
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

/// One place; free again when it is dropped.
pub(crate) struct Place<M> {
    tally: Arc<Tally<M>>,
    number: u64,
}

impl<M> Place<M> {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl<M> Drop for Place<M> {
    fn drop(&mut self) {
        let (peer, waker) = {
            let mut open = self.tally.0.lock();
            (open.places.remove(&self.number), open.waker.take())
        };
        // Neither belongs under the lock.
        drop(peer);
        if let Some(waker) = waker
            && let Err(panic) = contain(|| waker.wake())
        {
            log(|| tracing::error!(target: "krarup", %panic, "a waker panicked"));
        }
    }
}
