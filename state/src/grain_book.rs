//! Which grains are there, and what waits for those that are not.
//!
//! ```text
//!             a message                 spawned                  idle, released, or it died
//!   nobody ─────────────► Away(queue) ─────────► Present ──────────────────────► Leaving(queue)
//!     ▲                        ▲                     │ it died, and nothing came        │ it is gone
//!     │                        └─────────────────────┼──────────── something waits ◄────┤
//!     └──────────────────────────────────────────────┴───────────────── nothing waits ◄─┘
//! ```
//!
//! It runs on the sender's thread, under one lock. What is sent to a grain that is there is
//! put into its mailbox under that lock, and so is the word that it is to finish, or its own
//! finding that it is idle: so nothing that was accepted lies behind that (rule K2). A grain is
//! made when it is not there, or when its predecessor is gone, and then only: so there is one at
//! a time (rule K1). Its pid is known as soon as a message waits for it: a caller waits for
//! that process, and cycles of calls are found (rule C5).

use crate::grain_calls::ToGrain;
use krarup_act::{Address, Agent, Permit, UnusedPid, holding, note_receiver};
use krarup_gen::{Pid, SendError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Waker;

/// A message that waits for its grain, and the number of its sender.
pub(crate) type Held<M> = (M, u64);

/// What waits for a grain that is not there.
pub(crate) struct Queue<M> {
    /// The pid that it will have, once something is held for it; and the same until it is made.
    pub(crate) next: Option<Pid>,
    pub(crate) unused: Option<UnusedPid>,
    pub(crate) held: Vec<Held<M>>,
    /// Places of senders that have not used them yet.
    pub(crate) kept: usize,
    /// Who waits for a place, by the number of its wait.
    pub(crate) line: Vec<(u64, Waker)>,
}

impl<M> Queue<M> {
    pub(crate) fn with_places(kept: usize) -> Self {
        Queue { next: None, unused: None, held: Vec::new(), kept, line: Vec::new() }
    }

    pub(crate) fn has_room(&self, bound: usize) -> bool {
        self.held.len() + self.kept < bound
    }

    /// Holds a message; whether it is the first.
    pub(crate) fn hold(&mut self, agent: &Agent, letter: Held<M>) -> bool {
        note_receiver(
            *self.next.get_or_insert_with(|| self.unused.insert(agent.unused_pid()).pid()),
        );
        self.held.push(letter);
        self.held.len() == 1
    }

    /// Whether nobody wants anything of the grain.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.held.is_empty() && self.kept == 0 && self.line.is_empty()
    }
}

pub(crate) enum Room<M, C> {
    /// Nobody is there. If anything is held the grain is among those that are wanted.
    Away(Queue<M>),
    Present {
        grain: Address<M, C>,
        /// Something was sent to it since it was last asked whether it is idle.
        touched: bool,
        /// Room in its mailbox that senders have got and not used yet.
        kept: Vec<Permit<M>>,
    },
    /// It has been told to finish, or has died; nobody is made before it is gone.
    Leaving { pid: Pid, queue: Queue<M> },
}

impl<M: Send + 'static, C: Send + 'static> Room<M, C> {
    /// The grain that is there goes, or has gone. The room that was kept at it is handed out, to be
    /// dropped outside the lock; as much is kept from now on for the next one.
    pub(crate) fn leave(&mut self) -> Vec<Permit<M>> {
        let Room::Present { grain, kept, .. } = self else { return Vec::new() };
        let kept = std::mem::take(kept);
        *self = Room::Leaving { pid: grain.pid(), queue: Queue::with_places(kept.len()) };
        kept
    }

    /// Whether it is, or was, the room of this grain.
    pub(crate) fn is_of(&self, pid: Pid) -> bool {
        match self {
            Room::Present { grain, .. } => grain.pid() == pid,
            Room::Leaving { pid: leaving, .. } => *leaving == pid,
            Room::Away(_) => false,
        }
    }

    /// What waits for the next one, and whether nobody has to go before.
    pub(crate) fn queue(&mut self) -> Option<(&mut Queue<M>, bool)> {
        match self {
            Room::Away(queue) => Some((queue, true)),
            Room::Leaving { queue, .. } => Some((queue, false)),
            Room::Present { .. } => None,
        }
    }
}

pub(crate) struct Book<K, M, C> {
    pub(crate) rooms: HashMap<K, Room<M, C>>,
    /// Who is to be made, in the order in which they were wanted.
    pub(crate) wanted: Vec<K>,
    /// The keeper's process, while it rests.
    pub(crate) sleeper: Option<Waker>,
    pub(crate) closed: bool,
    /// How many messages may be held for one grain.
    pub(crate) bound: usize,
    /// How many grains were let go.
    pub(crate) passivated: u64,
    /// How many have waited for a place.
    pub(crate) waits: u64,
}

impl<K, M, C> Book<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    /// Something is held for a grain that is not there; who is to be woken.
    pub(crate) fn want(&mut self, key: K) -> Option<Waker> {
        self.wanted.push(key);
        self.sleeper.take()
    }

    /// Forgets a key that nobody is there for and nobody wants.
    pub(crate) fn forget(&mut self, key: &K) {
        if let Some(Room::Away(queue)) = self.rooms.get(key)
            && queue.is_forgotten()
        {
            self.rooms.remove(key);
        }
    }

    /// Lets a grain go that is there, telling it to finish; the room that was kept at it.
    pub(crate) fn release(&mut self, key: &K) -> Vec<Permit<M>> {
        let Some(room) = self.rooms.get_mut(key) else { return Vec::new() };
        let Room::Present { grain, .. } = room else { return Vec::new() };
        grain.finish();
        self.passivated += 1;
        room.leave()
    }

    /// A grain is gone: it is made again if it is wanted. The room that was kept at it.
    pub(crate) fn gone(&mut self, key: &K, pid: Pid) -> Vec<Permit<M>> {
        let Some(room) = self.rooms.get_mut(key) else { return Vec::new() };
        if !room.is_of(pid) {
            return Vec::new();
        }
        let kept = room.leave();
        if let Some(Room::Leaving { queue, .. }) = self.rooms.remove(key)
            && !queue.is_forgotten()
        {
            if !queue.held.is_empty() {
                self.wanted.push(key.clone());
            }
            self.rooms.insert(key.clone(), Room::Away(queue));
        }
        kept
    }
}

/// The book, shared by all who send.
pub(crate) struct Shared<K, M, C> {
    pub(crate) book: Mutex<Book<K, M, C>>,
    pub(crate) agent: Agent,
}

impl<K, M, C> Shared<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    pub(crate) fn new(bound: usize, agent: Agent) -> Arc<Self> {
        let book = Mutex::new(Book {
            rooms: HashMap::new(),
            wanted: Vec::new(),
            sleeper: None,
            closed: false,
            bound,
            passivated: 0,
            waits: 0,
        });
        Arc::new(Shared { book, agent })
    }

    /// A grain has been idle: whether it may go. From then on its mail is held.
    pub(crate) fn lets_go(&self, key: &K, pid: Pid) -> bool {
        let mut book = self.book.lock();
        let Some(room) = book.rooms.get_mut(key) else { return false };
        let Room::Present { grain, touched, kept } = room else { return false };
        // What a pool hands on its own process does not see.
        let in_use = std::mem::take(touched) && grain.is_routed();
        if in_use || grain.pid() != pid || !kept.is_empty() || grain.waiting() > 0 {
            return false;
        }
        // Nothing is kept, so nothing is to be dropped.
        drop(room.leave());
        book.passivated += 1;
        true
    }

    /// Sends to a grain, or holds the message until there is one.
    pub(crate) fn send(
        &self,
        key: K,
        message: M,
        sender: u64,
    ) -> Result<(), SendError<ToGrain<K, M>>> {
        holding(|| self.send_locked(key, message, sender))
    }

    fn send_locked(&self, key: K, message: M, sender: u64) -> Result<(), SendError<ToGrain<K, M>>> {
        // Dropped behind the lock.
        let kept;
        let mut message = message;
        let mut book = self.book.lock();
        if book.closed {
            return Err(SendError::NoProcess(ToGrain { key, message }));
        }
        let bound = book.bound;
        let room = match book.rooms.get_mut(&key) {
            Some(room) => room,
            None => {
                let away = Room::Away(Queue::with_places(0));
                book.rooms.entry(key.clone()).or_insert(away)
            }
        };
        if let Room::Present { grain, touched, .. } = room {
            match grain.forward(message, sender) {
                Ok(()) => {
                    *touched = true;
                    note_receiver(grain.pid());
                    return Ok(());
                }
                // It has died, and the keeper has not heard of it yet.
                Err(SendError::NoProcess(back)) => message = back,
                Err(error) => return Err(error.map(|message| ToGrain { key, message })),
            }
        }
        kept = room.leave();
        let Some((queue, away)) = room.queue().filter(|(queue, _)| queue.has_room(bound)) else {
            return Err(SendError::Full(ToGrain { key, message }));
        };
        if queue.hold(&self.agent, (message, sender)) && away {
            let sleeper = book.want(key);
            drop(book);
            sleeper.into_iter().for_each(Waker::wake);
        }
        drop(kept);
        Ok(())
    }
}
