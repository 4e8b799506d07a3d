//! Which grains are there, and what waits for those that are not: the route to them.
//!
//! ```text
//!             a message                 spawned                  idle, released, or it died
//!   nobody ─────────────► Coming(held) ─────────► Present ───────────────────────► Leaving(held)
//!     ▲                        ▲                     │ it died, and nothing came        │ it is gone
//!     │                        └─────────────────────┼──────────── something is held ◄──┤
//!     └──────────────────────────────────────────────┴──────────────── nothing is held ◄┘
//! ```
//!
//! It runs on the sender's thread, under one lock. What is sent to a grain that is there is
//! put into its mailbox under that lock, and so is the word that it is to finish: so nothing
//! that was accepted lies behind that word (rule K2). A grain is made when it is not there, or
//! when its predecessor is gone, and then only: so there is one at a time (rule K1).

use crate::grain_calls::ToGrain;
use krarup_act::{Address, Permit, Route, hold};
use krarup_gen::{Pid, SendError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Waker;

/// A message that waits for its grain, and the number of its sender.
pub(crate) type Held<M> = (M, u64);

pub(crate) enum Room<M, C> {
    /// The grain is to be made.
    Coming(Vec<Held<M>>),
    Present {
        grain: Address<M, C>,
        /// Something was sent to it since the last look.
        touched: bool,
    },
    /// It has been told to finish, or has died; nobody is made before it is gone.
    Leaving { pid: Pid, held: Vec<Held<M>> },
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
}

impl<K, M, C> Book<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    /// A grain is gone: its room, and whether it is to be made again.
    pub(crate) fn gone(&mut self, key: &K, pid: Pid) {
        let is_of = |room: &Room<M, C>| match room {
            Room::Present { grain, .. } => grain.pid() == pid,
            Room::Leaving { pid: leaving, .. } => *leaving == pid,
            Room::Coming(_) => false,
        };
        if !self.rooms.get(key).is_some_and(is_of) {
            return;
        }
        if let Some(Room::Leaving { held, .. }) = self.rooms.remove(key)
            && !held.is_empty()
        {
            self.rooms.insert(key.clone(), Room::Coming(held));
            self.wanted.push(key.clone());
        }
    }
}

/// The book, shared by all who send.
pub(crate) struct Shared<K, M, C>(pub(crate) Mutex<Book<K, M, C>>);

impl<K, M, C> Shared<K, M, C> {
    pub(crate) fn new(bound: usize) -> Arc<Self> {
        Arc::new(Shared(Mutex::new(Book {
            rooms: HashMap::new(),
            wanted: Vec::new(),
            sleeper: None,
            closed: false,
            bound,
        })))
    }
}

/// The way to the grains.
pub(crate) struct ToGrains<K, M, C>(pub(crate) Arc<Shared<K, M, C>>);

impl<K, M, C> Route<ToGrain<K, M>> for ToGrains<K, M, C>
where
    K: Hash + Eq + Clone + Send + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn send(&self, letter: ToGrain<K, M>, sender: u64) -> Result<(), SendError<ToGrain<K, M>>> {
        let ToGrain { key, message } = letter;
        let _held = hold();
        let mut book = self.0.0.lock();
        if book.closed {
            return Err(SendError::NoProcess(ToGrain { key, message }));
        }
        let bound = book.bound;
        let keep = |held: &mut Vec<Held<M>>, message| {
            if held.len() >= bound {
                return Err(message);
            }
            held.push((message, sender));
            Ok(())
        };
        let kept = match book.rooms.get_mut(&key) {
            None => {
                book.rooms.insert(key.clone(), Room::Coming(vec![(message, sender)]));
                book.wanted.push(key);
                let sleeper = book.sleeper.take();
                drop(book);
                if let Some(sleeper) = sleeper {
                    sleeper.wake();
                }
                return Ok(());
            }
            Some(Room::Coming(held) | Room::Leaving { held, .. }) => keep(held, message),
            Some(room @ Room::Present { .. }) => {
                let Room::Present { grain, touched } = room else { unreachable!("as matched") };
                let sent = grain.forward(message, sender);
                match sent {
                    Ok(()) => {
                        *touched = true;
                        Ok(())
                    }
                    // It has died, and the keeper has not heard of it yet.
                    Err(SendError::NoProcess(message)) => {
                        let pid = grain.pid();
                        *room = Room::Leaving { pid, held: vec![(message, sender)] };
                        Ok(())
                    }
                    Err(error) => {
                        return Err(error.map(|message| ToGrain { key, message }));
                    }
                }
            }
        };
        kept.map_err(|message| SendError::Full(ToGrain { key, message }))
    }

    /// There is no room but that of a certain grain, and the key is in the message.
    fn reserve(&self) -> Result<Permit<ToGrain<K, M>>, SendError<()>> {
        Err(SendError::NoWorkers(()))
    }

    fn waiting(&self) -> usize {
        let book = self.0.0.lock();
        let waiting = book.rooms.values().map(|room| match room {
            Room::Coming(held) | Room::Leaving { held, .. } => held.len(),
            Room::Present { grain, .. } => grain.waiting(),
        });
        waiting.sum()
    }
}
