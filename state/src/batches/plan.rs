//! Which batch goes when: a pure machine (rules U1, U3).
//!
//! Each key has a line of batches. All but the last are full. The first may go when it is full or
//! its time has come, none of its key runs, and fewer batches run than may. Until it goes, one
//! whose time has come continues to fill. Keys whose first batch may go wait in the order in which
//! that became so.

use krarup_act::drop_one_by_one;
use krarup_gen::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::take;
use std::time::Duration;

/// The limits of batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLimits {
    pub(super) size: usize,
    pub(super) after: Duration,
    pub(super) at_once: usize,
}

/// The number of a batch, in the order in which they were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BatchId(u64);

/// The number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineId(u64);

struct OpenBatch<I> {
    id: BatchId,
    items: Vec<I>,
    due: Timestamp,
    /// Its time has come, or it was closed.
    ripe: bool,
}

struct KeyLine<K, I> {
    key: K,
    batches: VecDeque<OpenBatch<I>>,
    running: Option<BatchId>,
    /// It is among the lines that may go.
    queued: bool,
}

/// See the module.
pub(super) struct BatchPlan<K, I> {
    limits: BatchLimits,
    ids: BTreeMap<K, LineId>,
    lines: BTreeMap<LineId, KeyLine<K, I>>,
    /// When the last batch of each line is due, if it is neither full nor ripe.
    due: BTreeSet<(Timestamp, LineId)>,
    ready: VecDeque<LineId>,
    running: BTreeMap<BatchId, LineId>,
    /// All batches that are not done.
    outstanding: BTreeSet<BatchId>,
    next_id: u64,
}

impl<K: Ord + Clone, I> BatchPlan<K, I> {
    pub(super) fn new(limits: BatchLimits) -> Self {
        BatchPlan {
            limits,
            ids: BTreeMap::new(),
            lines: BTreeMap::new(),
            due: BTreeSet::new(),
            ready: VecDeque::new(),
            running: BTreeMap::new(),
            outstanding: BTreeSet::new(),
            next_id: 0,
        }
    }

    fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Adds an item to the batch that is open for its key.
    pub(super) fn push(&mut self, key: K, item: I, now: Timestamp) {
        let id = match self.ids.get(&key) {
            Some(id) => *id,
            None => {
                let id = LineId(self.number());
                let line = KeyLine {
                    key: key.clone(),
                    batches: VecDeque::new(),
                    running: None,
                    queued: false,
                };
                self.ids.insert(key, id);
                self.lines.insert(id, line);
                id
            }
        };
        let (size, batch) = (self.limits.size, BatchId(self.number()));
        let Some(line) = self.lines.get_mut(&id) else { return };
        match line.batches.back_mut().filter(|last| last.items.len() < size) {
            Some(last) => last.items.push(item),
            None => {
                let due = now + self.limits.after;
                line.batches.push_back(OpenBatch {
                    id: batch,
                    items: vec![item],
                    due,
                    ripe: false,
                });
                self.outstanding.insert(batch);
                self.due.insert((due, id));
            }
        }
        if let Some(last) = line.batches.back()
            && last.items.len() == size
        {
            self.due.remove(&(last.due, id));
        }
        self.settle(id);
    }

    /// Closes the batches whose time has come.
    pub(super) fn tick(&mut self, now: Timestamp) {
        while let Some((due, id)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, id));
            if let Some(last) = self.lines.get_mut(&id).and_then(|line| line.batches.back_mut()) {
                last.ripe = true;
            }
            self.settle(id);
        }
    }

    /// When [`BatchPlan::tick`] has something to do.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Closes what is open. Returns the last batch that is not done, or one that has never been.
    pub(super) fn close(&mut self) -> BatchId {
        self.tick(Timestamp::MAX);
        // The numbers of batches begin with 1.
        self.outstanding.last().copied().unwrap_or(BatchId(0))
    }

    /// Whether all batches up to this one are done.
    pub(super) fn is_done(&self, last: BatchId) -> bool {
        self.outstanding.first().is_none_or(|first| *first > last)
    }

    /// The next batch that goes now.
    pub(super) fn start(&mut self) -> Option<(BatchId, Vec<I>)> {
        if self.running.len() >= self.limits.at_once {
            return None;
        }
        let id = self.ready.pop_front()?;
        let line = self.lines.get_mut(&id)?;
        line.queued = false;
        let batch = line.batches.pop_front()?;
        line.running = Some(batch.id);
        self.running.insert(batch.id, id);
        Some((batch.id, batch.items))
    }

    /// A batch is done or has failed.
    pub(super) fn ended(&mut self, batch: BatchId) {
        self.outstanding.remove(&batch);
        let Some(id) = self.running.remove(&batch) else { return };
        if let Some(line) = self.lines.get_mut(&id) {
            line.running = None;
        }
        self.settle(id);
    }

    /// Puts a line among those that may go, if it may, and removes one that has nothing.
    fn settle(&mut self, id: LineId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        if line.running.is_some() || line.queued {
            return;
        }
        match line.batches.front() {
            Some(first) if first.ripe || first.items.len() == self.limits.size => {
                line.queued = true;
                self.ready.push_back(id);
            }
            Some(_) => {}
            None => {
                if let Some(line) = self.lines.remove(&id) {
                    let key = self.ids.remove_entry(&line.key).map(|(key, _)| key);
                    drop_one_by_one(key.into_iter().chain([line.key]));
                }
            }
        }
    }
}

/// What is a user's in a plan.
enum UserValue<K, I> {
    Key(K),
    Item(I),
}

/// Keys and items are dropped one by one (rule D4).
impl<K, I> Drop for BatchPlan<K, I> {
    fn drop(&mut self) {
        let ids = take(&mut self.ids).into_keys().map(UserValue::Key);
        let lines = take(&mut self.lines).into_values().flat_map(|line| {
            let items = line.batches.into_iter().flat_map(|batch| batch.items);
            [UserValue::Key(line.key)].into_iter().chain(items.map(UserValue::Item))
        });
        drop_one_by_one(ids.chain(lines));
    }
}

impl<K, I> BatchPlan<K, I> {
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn keys(&self) -> usize {
        self.lines.len()
    }

    /// Takes out all items that are in no running batch, in the order of their keys' first.
    pub(super) fn take_open(&mut self) -> impl Iterator<Item = I> + use<K, I> {
        let lines = take(&mut self.lines);
        lines.into_values().flat_map(|line| line.batches).flat_map(|batch| batch.items)
    }
}

#[cfg(test)]
mod tests;
