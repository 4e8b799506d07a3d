//! Workers in the order of their turns, each found by its pid (rules P1, P4, P5).
//!
//! ```text
//!   index      0        1        2        3         the order of turns
//!           ┌────────┬────────┬────────┬────────┐
//!   workers │ order 7│ order 8│ order 9│order 12│   ascending, with gaps where some were removed
//!           └────────┴────────┴────────┴────────┘
//!   orders    pid ──► 9                             so a search by halves finds the index
//! ```
//!
//! A pool may have a million workers, and all of them may end at once. So no operation for one
//! worker examines the others:
//!
//! | operation | cost |
//! |---|---|
//! | find, replace | a look-up and a search by halves |
//! | add at the end, take the first | constant |
//! | rotate | one step for each place that the turn has moved since, so for each message at most |
//! | remove several from any position | once through the list, for all of them together |

use super::job_watch::JobWatch;
use super::pool_worker::PoolWorker;
use super::routing::spread;
use crate::addressing::address::Address;
use krarup_gen::Pid;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Index;
use std::sync::Arc;

/// A worker and its number in the order.
struct Ordered<M, C> {
    worker: PoolWorker<M, C>,
    order: i64,
}

/// Workers in the order of their turns.
pub(super) struct WorkerList<M, C> {
    workers: VecDeque<Ordered<M, C>>,
    /// The places of the workers in the same order, each by [`spread`]. A routing that examines all of
    /// them reads these numbers one after the other, and not the workers.
    spread_places: VecDeque<u64>,
    /// The number of each worker in the order. It is never iterated, because its order is random.
    orders: HashMap<Pid, i64>,
}

impl<M, C> Default for WorkerList<M, C> {
    fn default() -> Self {
        WorkerList {
            workers: VecDeque::new(),
            spread_places: VecDeque::new(),
            orders: HashMap::new(),
        }
    }
}

impl<M, C> Index<usize> for WorkerList<M, C> {
    type Output = PoolWorker<M, C>;

    #[inline]
    fn index(&self, index: usize) -> &PoolWorker<M, C> {
        &self.workers[index].worker
    }
}

impl<M: Send + 'static, C: Send + 'static> WorkerList<M, C> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.workers.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    pub(super) fn get(&self, index: usize) -> Option<&PoolWorker<M, C>> {
        self.workers.get(index).map(|ordered| &ordered.worker)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &PoolWorker<M, C>> {
        self.workers.iter().map(|ordered| &ordered.worker)
    }

    /// The places of all workers, each by [`spread`], in two parts.
    pub(super) fn spread_places(&self) -> [&[u64]; 2] {
        let (first, second) = self.spread_places.as_slices();
        [first, second]
    }

    /// Copies of all workers, beginning at this index.
    pub(super) fn to_vec_from(&self, index: usize) -> Vec<PoolWorker<M, C>> {
        let workers = self.iter().cloned();
        let mut workers: Vec<_> = workers.collect();
        workers.rotate_left(index.min(self.len()));
        workers
    }

    fn index_of(&self, pid: Pid) -> Option<usize> {
        let order = self.orders.get(&pid)?;
        self.workers.binary_search_by_key(order, |ordered| ordered.order).ok()
    }

    pub(super) fn find(&self, pid: Pid) -> Option<&PoolWorker<M, C>> {
        self.get(self.index_of(pid)?)
    }

    /// Adds a worker as the last.
    pub(super) fn push(&mut self, worker: PoolWorker<M, C>) {
        let order = self.workers.back().map_or(0, |last| last.order + 1);
        self.orders.insert(worker.address.pid(), order);
        self.spread_places.push_back(spread(worker.place));
        self.workers.push_back(Ordered { worker, order });
    }

    fn push_first(&mut self, worker: PoolWorker<M, C>) {
        let order = self.workers.front().map_or(0, |first| first.order - 1);
        self.orders.insert(worker.address.pid(), order);
        self.spread_places.push_front(spread(worker.place));
        self.workers.push_front(Ordered { worker, order });
    }

    /// Puts a worker in the place of another, in its position. Returns whether that one was there.
    pub(super) fn replace(
        &mut self,
        old: Pid,
        address: &Address<M, C>,
        watch: Option<&Arc<JobWatch<M>>>,
    ) -> bool {
        let Some(index) = self.index_of(old) else { return false };
        let Ordered { worker, order } = &mut self.workers[index];
        worker.address = address.clone();
        worker.watch = watch.cloned();
        self.orders.remove(&old);
        self.orders.insert(address.pid(), *order);
        true
    }

    /// Makes the worker at this index the first. Those before it become the last, in their order.
    /// The shorter of the two parts moves.
    pub(super) fn rotate(&mut self, index: usize) {
        let behind = self.len().saturating_sub(index);
        if index <= behind {
            for _ in 0..index {
                let first = self.workers.pop_front();
                self.spread_places.pop_front();
                first.into_iter().for_each(|first| self.push(first.worker));
            }
        } else {
            for _ in 0..behind {
                let last = self.workers.pop_back();
                self.spread_places.pop_back();
                last.into_iter().for_each(|last| self.push_first(last.worker));
            }
        }
    }

    /// Removes up to `count` workers from the front.
    pub(super) fn take_first(&mut self, count: usize) -> Vec<PoolWorker<M, C>> {
        let count = count.min(self.workers.len());
        self.spread_places.drain(..count);
        let first = self.workers.drain(..count);
        let taken: Vec<_> = first.map(|ordered| ordered.worker).collect();
        for worker in &taken {
            self.orders.remove(&worker.address.pid());
        }
        taken
    }

    /// Removes those of these workers that are in the list. Returns them in their order.
    pub(super) fn remove(&mut self, pids: &[Pid]) -> Vec<PoolWorker<M, C>> {
        if let [pid] = pids {
            let Some(index) = self.index_of(*pid) else { return Vec::new() };
            self.orders.remove(pid);
            self.spread_places.remove(index);
            let removed = self.workers.remove(index);
            return removed.into_iter().map(|ordered| ordered.worker).collect();
        }
        let removed: HashSet<i64> = pids.iter().filter_map(|pid| self.orders.remove(pid)).collect();
        if removed.is_empty() {
            return Vec::new();
        }
        let (removed, kept): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.workers)
            .into_iter()
            .partition(|ordered| removed.contains(&ordered.order));
        self.spread_places = kept.iter().map(|ordered| spread(ordered.worker.place)).collect();
        self.workers = kept;
        removed.into_iter().map(|ordered| ordered.worker).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::mailbox::inbox_core::UNBOUNDED;
    use crate::models::model_host::ModelHost;

    /// Numbers that follow from a seed, the same in each run.
    fn next(seed: &mut u64, below: usize) -> usize {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*seed >> 33).unwrap() % below
    }

    #[test]
    fn p1_a_list_of_workers_keeps_their_order_and_finds_each() {
        let host = ModelHost::until(u64::MAX);
        let (mut list, mut model) = (WorkerList::<u32, u32>::default(), Vec::new());
        let (mut seed, mut place) = (1, 0);
        let mut ended = Vec::new();
        for _ in 0..4_000 {
            let address = Address::<u32, u32>::new(host.admit_new(UNBOUNDED));
            let size = model.len();
            match next(&mut seed, 8) {
                0..3 => {
                    place += 1;
                    model.push((address.pid(), place));
                    list.push(PoolWorker { address, place, watch: None });
                }
                3 if size > 0 => {
                    let index = next(&mut seed, size);
                    assert!(list.replace(model[index].0, &address, None));
                    ended.push(model[index].0);
                    model[index].0 = address.pid();
                }
                4 | 5 if size > 0 => {
                    let index = next(&mut seed, size + 1);
                    list.rotate(index);
                    model.rotate_left(index);
                }
                6 => {
                    let count = next(&mut seed, 3);
                    let taken = list.take_first(count);
                    let first = model.drain(..count.min(size));
                    let first: Vec<_> = first.map(|(pid, _)| pid).collect();
                    assert!(
                        taken.iter().map(|worker| worker.address.pid()).eq(first.iter().copied())
                    );
                    ended.extend(first);
                }
                _ => {
                    let some = (0..next(&mut seed, 3)).filter(|_| size > 0);
                    let pids: Vec<Pid> = some.map(|_| model[next(&mut seed, size)].0).collect();
                    let removed = list.remove(&pids);
                    let (gone, kept) = model.into_iter().partition(|(pid, _)| pids.contains(pid));
                    let gone: Vec<(Pid, u64)> = gone;
                    model = kept;
                    assert!(
                        removed.iter().map(|w| (w.address.pid(), w.place)).eq(gone.iter().copied())
                    );
                    ended.extend(pids);
                }
            }
            assert!(list.iter().map(|w| (w.address.pid(), w.place)).eq(model.iter().copied()));
            assert!(model.iter().all(|(pid, of)| list.find(*pid).is_some_and(|w| w.place == *of)));
            let places = list.spread_places().concat();
            assert!(places.into_iter().eq(model.iter().map(|(_, of)| spread(*of))));
            assert_eq!((list.orders.len(), list.is_empty()), (model.len(), model.is_empty()));
        }
        assert!(ended.len() > 500 && ended.iter().all(|pid| list.find(*pid).is_none()));
        host.clear();
    }

    #[test]
    fn p1_a_turn_that_moves_on_by_one_renumbers_one_worker() {
        let host = ModelHost::until(u64::MAX);
        let mut list = WorkerList::<u32, u32>::default();
        for place in 0..100 {
            let address = Address::new(host.admit_new(UNBOUNDED));
            list.push(PoolWorker { address, place, watch: None });
        }
        let moved = |list: &mut WorkerList<u32, u32>, index| {
            let before = list.orders.clone();
            list.rotate(index);
            list.orders.iter().filter(|(pid, order)| before[pid] != **order).count()
        };
        assert_eq!(
            [0, 1, 30, 50, 70, 99].map(|index| moved(&mut list, index)),
            [0, 1, 30, 50, 30, 1]
        );
        host.clear();
    }
}
