//! Which grains are there, and what waits for those that are not.
//!
//! It runs on the sender's thread, under one lock. What is sent to a grain that is there is
//! put into its mailbox under that lock, and so is the word that it is to finish, or its own
//! finding that it is idle: so nothing that was accepted lies behind that (rule K2). A grain is
//! made when it is not there, or when its predecessor is gone, and then only: so there is one at
//! a time (rule K1). Its pid is known as soon as a message waits for it: a caller waits for
//! that process, and cycles of calls are found (rule C5).
//!
//! Of a user's code only the key's `Hash` and `Eq` run while it is locked. Keys are cloned and
//! dropped, and wakers cloned, woken and dropped, when it is free.

use crate::contained_drop::drop_each;
use crate::grains::after_unlock::AfterUnlock;
use crate::grains::calls::ToGrain;
use crate::grains::entry::{GrainEntry, GrainStage, QueuedMessage};
use krarup_act::{Address, Delegate, Permit, UnusedPid, holding};
use krarup_gen::{Inspection, Pid, SendError};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Waker;

pub(crate) struct GrainDirectory<K, M, C> {
    pub(crate) entries: HashMap<K, GrainEntry<M, C>>,
    /// The grains that are to be made, in the order in which they were wanted.
    pub(crate) wanted: Vec<K>,
    /// The keeper's process, while it rests.
    sleeper: Option<Waker>,
    pub(crate) closed: bool,
    /// How many messages may be held for one grain.
    pub(crate) bound: usize,
    /// How many grains were let go.
    passivated: u64,
    /// How many entries were opened.
    opened: u64,
}

impl<K: Hash + Eq, M: Send + 'static, C: Send + 'static> GrainDirectory<K, M, C> {
    /// Something is held for a grain that is not there.
    fn want(&mut self, key: K, after: &mut AfterUnlock<M>) {
        self.wanted.push(key);
        after.woken.extend(self.sleeper.take());
    }

    /// The entry of a key that was not there a moment ago.
    fn open(&mut self, key: K) -> &mut GrainEntry<M, C> {
        self.opened += 1;
        let number = self.opened;
        self.entries.entry(key).or_insert_with(|| GrainEntry::away(number))
    }

    /// Forgets a key that nobody is there for and nobody wants; it is dropped when the book is free.
    #[must_use]
    fn forget(&mut self, key: &K) -> Option<(K, GrainEntry<M, C>)> {
        if !self.entries.get(key)?.is_forgotten() {
            return None;
        }
        self.entries.remove_entry(key)
    }
}

type LockedDirectory<'a, K, M, C> = MutexGuard<'a, GrainDirectory<K, M, C>>;

/// The book, shared by all senders.
pub(crate) struct SharedDirectory<K, M, C> {
    pub(crate) book: Mutex<GrainDirectory<K, M, C>>,
    pub(crate) agent: Delegate,
}

impl<K, M, C> SharedDirectory<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    pub(crate) fn new(bound: usize, agent: Delegate) -> Arc<Self> {
        let book = Mutex::new(GrainDirectory {
            entries: HashMap::new(),
            wanted: Vec::new(),
            sleeper: None,
            closed: false,
            bound,
            passivated: 0,
            opened: 0,
        });
        Arc::new(SharedDirectory { book, agent })
    }

    /// Does something with the entry of a key, which is opened if there is none; gives `given`
    /// back if there are no grains any more. The book stays locked.
    pub(crate) fn with_entry<G, T>(
        &self,
        key: &K,
        given: G,
        act: impl FnOnce(&mut GrainEntry<M, C>, usize, G) -> T,
    ) -> Result<(LockedDirectory<'_, K, M, C>, T), G> {
        let mut spare = None;
        loop {
            let mut book = self.book.lock();
            let bound = book.bound;
            if book.closed {
                drop(book);
                return Err(given);
            }
            if spare.is_none()
                && let Some(entry) = book.entries.get_mut(key)
            {
                let done = act(entry, bound, given);
                return Ok((book, done));
            }
            if !book.entries.contains_key(key)
                && let Some(key) = spare.take()
            {
                let done = act(book.open(key), bound, given);
                return Ok((book, done));
            }
            // To clone and to drop a key is a user's code.
            drop(book);
            spare = if spare.is_none() { Some(key.clone()) } else { None };
        }
    }

    /// Sends to a grain, or holds the message until there is one.
    pub(crate) fn send(
        &self,
        key: K,
        message: M,
        sender: u64,
    ) -> Result<(), SendError<ToGrain<K, M>>> {
        holding(|| {
            let mut after = AfterUnlock::default();
            let put = self.with_entry(&key, message, |entry, bound, message| {
                entry.put(bound, &self.agent, (message, sender), &mut after)
            });
            match put {
                Err(message) => Err(SendError::NoProcess(ToGrain { key, message })),
                Ok((book, Ok(false))) => {
                    drop(book);
                    Ok(())
                }
                Ok((mut book, Ok(true))) => {
                    book.want(key, &mut after);
                    Ok(())
                }
                Ok((book, Err(error))) => {
                    drop(book);
                    Err(error.map(|message| ToGrain { key, message }))
                }
            }
        })
    }

    /// Puts a message where its place is by now.
    pub(crate) fn fill(&self, key: K, message: M, sender: u64) {
        holding(|| {
            let mut after = AfterUnlock::default();
            let mut book = self.book.lock();
            let bound = book.bound;
            let Some(entry) = book.entries.get_mut(&key) else {
                // They have closed.
                drop(book);
                return self.agent.lose(ToGrain { key, message }, sender);
            };
            if entry.fill(bound, &self.agent, (message, sender), &mut after) {
                book.want(key, &mut after);
            } else {
                drop(book);
                drop(key);
            }
        });
    }

    /// Does something with the entry of a key, if there is one, and forgets the key if nothing is
    /// left of it then.
    fn change<T>(
        &self,
        key: &K,
        act: impl FnOnce(&mut GrainEntry<M, C>, usize, &mut AfterUnlock<M>) -> T,
    ) -> Option<T> {
        holding(|| {
            let mut after = AfterUnlock::default();
            let _forgotten;
            let mut book = self.book.lock();
            let bound = book.bound;
            let done = book.entries.get_mut(key).map(|entry| act(entry, bound, &mut after));
            _forgotten = book.forget(key);
            drop(book);
            done
        })
    }

    /// A place was not used.
    pub(crate) fn give_back(&self, key: &K) {
        self.change(key, GrainEntry::give_back);
    }

    /// A sender waits no more.
    pub(crate) fn leave_line(&self, key: &K, ticket: u64) {
        self.change(key, |entry, bound, after| entry.leave_line(ticket, bound, after));
    }

    /// The first of the line keeps room that it has got in the mailbox of a grain; false, and given
    /// back, if that is not there any more.
    pub(crate) fn keep_at(
        &self,
        key: &K,
        pid: Pid,
        permit: Permit<M>,
        ticket: &mut Option<u64>,
    ) -> bool {
        // Given back when the book is free.
        let mut permit = Some(permit);
        let kept = self.change(key, |entry, bound, after| {
            let is_there = matches!(entry.stage, GrainStage::Present { .. }) && entry.is_of(pid);
            if is_there && let Some(permit) = permit.take() {
                entry.keep(ticket, permit, bound, after);
            }
            is_there
        });
        kept.unwrap_or(false)
    }

    /// A grain takes nothing any more, and the keeper has not heard of it yet.
    pub(crate) fn has_left(&self, key: &K, pid: Pid) {
        self.change(key, |entry, bound, after| {
            if entry.is_of(pid) {
                entry.leave(bound, after);
            }
        });
    }

    /// A grain has been idle: whether it may go. From then on its mail is held; if grains are kept no
    /// more, nothing is sent to it any more.
    pub(crate) fn lets_go(&self, key: &K, pid: Pid) -> bool {
        let mut after = AfterUnlock::default();
        let mut book = self.book.lock();
        let bound = book.bound;
        let is_closed = book.closed;
        let Some(entry) = book.entries.get_mut(key) else { return is_closed };
        let goes = entry.is_of(pid) && entry.is_idle();
        if goes {
            entry.leave(bound, &mut after);
            book.passivated += 1;
        }
        goes
    }

    /// Lets a grain go that is there, telling it to finish.
    pub(crate) fn release(&self, key: &K) {
        holding(|| {
            let mut after = AfterUnlock::default();
            let mut book = self.book.lock();
            let bound = book.bound;
            if let Some(entry) = book.entries.get_mut(key)
                && let GrainStage::Present { grain, .. } = &entry.stage
            {
                grain.finish();
                entry.leave(bound, &mut after);
                book.passivated += 1;
            }
        });
    }

    /// A grain is gone: it is made again if it is wanted.
    pub(crate) fn gone(&self, key: K, pid: Pid) {
        let mut after = AfterUnlock::default();
        let _forgotten;
        let mut book = self.book.lock();
        let bound = book.bound;
        let Some(entry) = book.entries.get_mut(&key).filter(|entry| entry.is_of(pid)) else {
            drop(book);
            return drop(key);
        };
        if entry.gone(bound, &mut after) {
            book.want(key, &mut after);
        } else {
            _forgotten = book.forget(&key);
            drop(book);
            drop(key);
        }
    }

    /// The grains that are wanted; if there are none the keeper is woken when there are.
    pub(crate) fn take_wanted(&self, sleeper: Waker) -> Vec<K> {
        let mut after = AfterUnlock::<M>::default();
        let mut book = self.book.lock();
        if book.wanted.is_empty() {
            after.stale.extend(book.sleeper.replace(sleeper));
        } else {
            after.stale.push(sleeper);
        }
        std::mem::take(&mut book.wanted)
    }

    /// The pid that a grain is to have that is about to be made; `None` if it is not to be made.
    pub(crate) fn take_pid(&self, key: &K) -> Option<UnusedPid> {
        let mut book = self.book.lock();
        let entry = book.entries.get_mut(key)?;
        matches!(entry.stage, GrainStage::Away).then(|| entry.take_pid(&self.agent))
    }

    /// A grain has been made; what it has not lived long enough to get.
    pub(crate) fn move_in(&self, key: &K, grain: &Address<M, C>) -> Vec<QueuedMessage<M>> {
        self.change(key, |entry, bound, after| entry.move_in(grain, bound, after))
            .unwrap_or_default()
    }

    /// A grain could not be made; what is lost with it.
    pub(crate) fn give_up(&self, key: &K) -> Vec<QueuedMessage<M>> {
        self.change(key, GrainEntry::give_up).unwrap_or_default()
    }

    /// How many messages wait for all grains together.
    pub(crate) fn waiting(&self) -> usize {
        self.book.lock().entries.values().map(GrainEntry::waiting).sum()
    }

    pub(crate) fn inspect(&self) -> Inspection {
        let book = self.book.lock();
        let count = |wanted: fn(&GrainStage<M, C>) -> bool| {
            book.entries.values().filter(|entry| wanted(&entry.stage)).count()
        };
        Inspection::new()
            .with("present", count(|stage| matches!(stage, GrainStage::Present { .. })))
            .with("coming", count(|stage| matches!(stage, GrainStage::Away)))
            .with("leaving", count(|stage| matches!(stage, GrainStage::Leaving(_))))
            .with("passivated", book.passivated)
    }
}

impl<K, M: Send + 'static, C: Send + 'static> SharedDirectory<K, M, C> {
    /// Nothing is accepted any more; what was held is handed out, in the order in which its
    /// grains were first wanted, and those that wait hear of it in that order.
    pub(crate) fn close(&self) -> Vec<(K, Vec<QueuedMessage<M>>)> {
        let mut after = AfterUnlock::default();
        let (entries, wanted, sleeper) = {
            let mut book = self.book.lock();
            book.closed = true;
            (
                std::mem::take(&mut book.entries),
                std::mem::take(&mut book.wanted),
                book.sleeper.take(),
            )
        };
        drop(sleeper);
        drop_each(wanted);
        let mut entries: Vec<_> = entries.into_iter().collect();
        // A map has another order in each run.
        entries.sort_by_key(|(_, entry)| entry.number);
        entries.into_iter().map(|(key, entry)| (key, entry.close(&mut after))).collect()
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiting;
