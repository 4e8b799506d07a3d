//! How many processes a peer has requested.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The processes of this node that a peer has requested, and that live.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpawnCount(Arc<AtomicUsize>);

/// The place of one process; given back when it is dropped with the process.
#[derive(Debug)]
pub(crate) struct SpawnPermit(SpawnCount);

impl SpawnCount {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes a place, unless `most` are taken.
    pub(crate) fn take(&self, most: usize) -> Option<SpawnPermit> {
        let more = |count: usize| (count < most).then_some(count + 1);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| SpawnPermit(self.clone()))
    }
}

impl Drop for SpawnPermit {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall9_the_bound_is_exact_and_a_process_that_ends_makes_room() {
        let count = SpawnCount::default();
        let held: Vec<_> = (0..3).map_while(|_| count.take(2)).collect();
        assert_eq!((held.len(), count.get()), (2, 2));
        assert!(count.take(2).is_none() && count.take(0).is_none());
        drop(held);
        assert_eq!(count.get(), 0);
        assert!(count.take(1).is_some());
    }
}
