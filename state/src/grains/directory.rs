//! The directory of grains: which are running, and which messages wait for the others.
//!
//! It runs on the sender's thread, under one lock. Three things happen under this lock: a
//! message is put into the mailbox of a running grain, a grain is told to finish, and an
//! idle grain decides to end. So no accepted message can lie behind that decision (rule K2).
//! A grain is spawned only when none is running and its predecessor has ended, so there is
//! one at a time (rule K1). The pid of the next grain is fixed as soon as a message waits
//! for it. A caller waits for that pid, so cycles of calls are detected (rule C5).
//!
//! The key's `Hash` and `Eq` are the only user code that runs under the lock. Keys are
//! cloned and dropped, and wakers cloned, woken and dropped, without it.

use crate::contained_drop::drop_each;
use crate::grains::after_unlock::AfterUnlock;
use crate::grains::calls::ToGrain;
use crate::grains::entry::{GrainEntry, GrainStage};
use crate::grains::held_messages::QueuedMessage;
use krarup_act::{Address, Delegate, Permit, UnusedPid, drop_one_by_one, holding};
use krarup_gen::{Inspection, Pid, SendError};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Waker;

pub(crate) struct GrainDirectory<K, M, C> {
    pub(crate) entries: HashMap<K, GrainEntry<M, C>>,
    /// The keys of grains to spawn, in the order of their first held messages.
    pub(crate) wanted: Vec<K>,
    /// The waker of the keeper, while it is idle.
    sleeper: Option<Waker>,
    pub(crate) closed: bool,
    /// The most messages that may be held for one grain.
    pub(crate) bound: usize,
    /// How many grains were passivated or released.
    passivated: u64,
    /// How many entries were opened.
    opened: u64,
}

impl<K: Hash + Eq, M: Send + 'static, C: Send + 'static> GrainDirectory<K, M, C> {
    /// Requests a grain that is not running and has held messages.
    fn want(&mut self, key: K, after: &mut AfterUnlock<M>) {
        self.wanted.push(key);
        after.woken.extend(self.sleeper.take());
    }

    /// Opens the entry of a key that had none.
    fn open(&mut self, key: K) -> &mut GrainEntry<M, C> {
        self.opened += 1;
        let number = self.opened;
        self.entries.entry(key).or_insert_with(|| GrainEntry::away(number))
    }

    /// Removes a key without a grain, held messages, permits and waiting senders. The
    /// caller drops the result without the lock.
    #[must_use]
    fn forget(&mut self, key: &K) -> Option<(K, GrainEntry<M, C>)> {
        if !self.entries.get(key)?.is_forgotten() {
            return None;
        }
        self.entries.remove_entry(key)
    }
}

type LockedDirectory<'a, K, M, C> = MutexGuard<'a, GrainDirectory<K, M, C>>;

/// The directory, shared by all senders.
pub(crate) struct SharedDirectory<K, M, C> {
    pub(crate) directory: Mutex<GrainDirectory<K, M, C>>,
    pub(crate) delegate: Delegate,
}

impl<K, M, C> SharedDirectory<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    pub(crate) fn new(bound: usize, delegate: Delegate) -> Arc<Self> {
        let directory = Mutex::new(GrainDirectory {
            entries: HashMap::new(),
            wanted: Vec::new(),
            sleeper: None,
            closed: false,
            bound,
            passivated: 0,
            opened: 0,
        });
        Arc::new(SharedDirectory { directory, delegate })
    }

    /// Calls `act` with the entry of a key, which is opened if there is none. The
    /// directory stays locked. Returns `given` if the directory is closed.
    pub(crate) fn with_entry<G, T>(
        &self,
        key: &K,
        given: G,
        act: impl FnOnce(&mut GrainEntry<M, C>, usize, G) -> T,
    ) -> Result<(LockedDirectory<'_, K, M, C>, T), G> {
        let mut spare = None;
        loop {
            let mut directory = self.directory.lock();
            let bound = directory.bound;
            if directory.closed {
                drop(directory);
                return Err(given);
            }
            if spare.is_none()
                && let Some(entry) = directory.entries.get_mut(key)
            {
                let done = act(entry, bound, given);
                return Ok((directory, done));
            }
            if !directory.entries.contains_key(key)
                && let Some(key) = spare.take()
            {
                let done = act(directory.open(key), bound, given);
                return Ok((directory, done));
            }
            // Cloning and dropping a key is user code, so unlock first.
            drop(directory);
            spare = if spare.is_none() { Some(key.clone()) } else { None };
        }
    }

    /// Sends to a grain, or holds the message until it is running.
    pub(crate) fn send(
        &self,
        key: K,
        message: M,
        sender: u64,
    ) -> Result<(), SendError<ToGrain<K, M>>> {
        holding(|| {
            let mut after = AfterUnlock::default();
            let put = self.with_entry(&key, message, |entry, bound, message| {
                entry.put(bound, &self.delegate, (message, sender), &mut after)
            });
            match put {
                Err(message) => {
                    let to = self.delegate.process();
                    Err(SendError::NoProcess { message: ToGrain { key, message }, to })
                }
                Ok((directory, Ok(false))) => {
                    drop(directory);
                    Ok(())
                }
                Ok((mut directory, Ok(true))) => {
                    directory.want(key, &mut after);
                    Ok(())
                }
                Ok((directory, Err(error))) => {
                    drop(directory);
                    Err(error.map(|message| ToGrain { key, message }))
                }
            }
        })
    }

    /// Sends a message with a permit, wherever the room is by now.
    pub(crate) fn fill(&self, key: K, message: M, sender: u64) {
        holding(|| {
            let mut after = AfterUnlock::default();
            let mut directory = self.directory.lock();
            let bound = directory.bound;
            let Some(entry) = directory.entries.get_mut(&key) else {
                // The directory was closed.
                drop(directory);
                return self.delegate.dead_letter(ToGrain { key, message }, sender);
            };
            if entry.fill(bound, &self.delegate, (message, sender), &mut after) {
                directory.want(key, &mut after);
            } else {
                drop(directory);
                drop(key);
            }
        });
    }

    /// Calls `act` with the entry of a key, if there is one, and removes an entry that is
    /// empty afterwards.
    fn change<T>(
        &self,
        key: &K,
        act: impl FnOnce(&mut GrainEntry<M, C>, usize, &mut AfterUnlock<M>) -> T,
    ) -> Option<T> {
        holding(|| {
            let mut after = AfterUnlock::default();
            let _forgotten;
            let mut directory = self.directory.lock();
            let bound = directory.bound;
            let done = directory.entries.get_mut(key).map(|entry| act(entry, bound, &mut after));
            _forgotten = directory.forget(key);
            drop(directory);
            done
        })
    }

    /// Returns an unused permit.
    pub(crate) fn give_back(&self, key: &K) {
        self.change(key, GrainEntry::give_back);
    }

    /// Removes a sender from the waiting line.
    pub(crate) fn leave_line(&self, key: &K, ticket: u64) {
        self.change(key, |entry, bound, after| entry.leave_line(ticket, bound, after));
    }

    /// Stores a permit that the first of the line got from a grain's mailbox. If that
    /// grain is no longer running, the permit is given back and the result is false.
    pub(crate) fn keep_at(
        &self,
        key: &K,
        pid: Pid,
        permit: Permit<M>,
        ticket: &mut Option<u64>,
    ) -> bool {
        // Dropped without the lock.
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

    /// Marks a grain as leaving: it accepts nothing any more, and its `Down` has not
    /// reached the keeper.
    pub(crate) fn has_left(&self, key: &K, pid: Pid) {
        self.change(key, |entry, bound, after| {
            if entry.is_of(pid) {
                entry.leave(bound, after);
            }
        });
    }

    /// Decides whether an idle grain may end. If so, messages to it are held from now on, or refused
    /// if the grains have ended.
    pub(crate) fn lets_go(&self, key: &K, pid: Pid) -> bool {
        let mut after = AfterUnlock::default();
        let mut directory = self.directory.lock();
        let bound = directory.bound;
        let is_closed = directory.closed;
        let Some(entry) = directory.entries.get_mut(key) else { return is_closed };
        let goes = entry.is_of(pid) && entry.is_idle();
        if goes {
            entry.leave(bound, &mut after);
            directory.passivated += 1;
        }
        goes
    }

    /// Ends a grain behind the messages that it has accepted, also one that is not spawned yet.
    pub(crate) fn release(&self, key: &K) {
        holding(|| {
            let mut after = AfterUnlock::default();
            let mut directory = self.directory.lock();
            let bound = directory.bound;
            let entry = directory.entries.get_mut(key);
            if entry.is_some_and(|entry| entry.release(bound, &mut after)) {
                directory.passivated += 1;
            }
        });
    }

    /// Records the end of a grain, and requests the next one if messages are held for it.
    pub(crate) fn gone(&self, key: K, pid: Pid) {
        let mut after = AfterUnlock::default();
        let mut directory = self.directory.lock();
        let bound = directory.bound;
        let Some(entry) = directory.entries.get_mut(&key).filter(|entry| entry.is_of(pid)) else {
            drop(directory);
            return drop(key);
        };
        if entry.gone(bound, &mut after) {
            directory.want(key, &mut after);
        } else {
            let forgotten = directory.forget(&key);
            drop(directory);
            // Two values of a user (rule D4).
            drop_one_by_one([key].into_iter().chain(forgotten.map(|(key, _)| key)));
        }
    }

    /// Takes the keys of grains to spawn. If there are none, stores the waker, which is
    /// woken by the next request.
    pub(crate) fn take_wanted(&self, sleeper: Waker) -> Vec<K> {
        let mut after = AfterUnlock::<M>::default();
        let mut directory = self.directory.lock();
        if directory.wanted.is_empty() {
            after.stale.extend(directory.sleeper.replace(sleeper));
        } else {
            after.stale.push(sleeper);
        }
        std::mem::take(&mut directory.wanted)
    }

    /// Returns the pid for a grain that is about to be spawned, or `None` if it is not to
    /// be spawned.
    pub(crate) fn take_pid(&self, key: &K) -> Option<UnusedPid> {
        let mut directory = self.directory.lock();
        let entry = directory.entries.get_mut(key)?;
        matches!(entry.stage, GrainStage::Away).then(|| entry.take_pid(&self.delegate))
    }

    /// Records a spawned grain and gives it the held messages. Returns those that it did
    /// not live long enough to get.
    pub(crate) fn move_in(&self, key: &K, grain: &Address<M, C>) -> Vec<QueuedMessage<M>> {
        self.change(key, |entry, bound, after| entry.move_in(grain, bound, after))
            .unwrap_or_default()
    }

    /// Records that a grain could not be spawned. Returns the held messages.
    pub(crate) fn give_up(&self, key: &K) -> Vec<QueuedMessage<M>> {
        self.change(key, GrainEntry::give_up).unwrap_or_default()
    }

    /// How many messages wait for all grains together.
    pub(crate) fn waiting(&self) -> usize {
        self.directory.lock().entries.values().map(GrainEntry::waiting).sum()
    }

    pub(crate) fn inspect(&self) -> Inspection {
        let directory = self.directory.lock();
        let count = |wanted: fn(&GrainStage<M, C>) -> bool| {
            directory.entries.values().filter(|entry| wanted(&entry.stage)).count()
        };
        Inspection::new()
            .with("present", count(|stage| matches!(stage, GrainStage::Present { .. })))
            .with("coming", count(|stage| matches!(stage, GrainStage::Away)))
            .with("leaving", count(|stage| matches!(stage, GrainStage::Leaving(_))))
            .with("passivated", directory.passivated)
    }
}

impl<K, M: Send + 'static, C: Send + 'static> SharedDirectory<K, M, C> {
    /// Closes the directory. Returns the held messages, in the order in which the entries
    /// were opened, and wakes the waiting senders in the same order.
    pub(crate) fn close(&self) -> Vec<(K, Vec<QueuedMessage<M>>)> {
        let mut after = AfterUnlock::default();
        let (entries, wanted, sleeper) = {
            let mut directory = self.directory.lock();
            directory.closed = true;
            (
                std::mem::take(&mut directory.entries),
                std::mem::take(&mut directory.wanted),
                directory.sleeper.take(),
            )
        };
        drop(sleeper);
        drop_each(wanted);
        let mut entries: Vec<_> = entries.into_iter().collect();
        // The order of a hash map differs in each run.
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
