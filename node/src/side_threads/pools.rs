//! The pools of side threads of a node, by name: bulkheads for blocking work.
//!
//! One pool has no name and always exists; the others are those the node was built with. Each
//! pool has its own threads and its own queue, so work that fills one pool delays no other.

use crate::error::NodeError;
use crate::side_threads::blocking::{Blocking, BlockingWork};
use krarup_gen::{BlockError, Name};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most side threads of a pool.
pub(crate) const MOST_BLOCKING_THREADS: usize = 16_384;

pub(crate) struct BlockingPools {
    unnamed: Arc<Blocking>,
    /// Pools are added and never removed.
    named: Mutex<BTreeMap<String, Arc<Blocking>>>,
}

impl BlockingPools {
    pub(crate) fn new(unnamed: Blocking) -> Self {
        BlockingPools { unnamed: Arc::new(unnamed), named: Mutex::default() }
    }

    /// Adds a pool.
    ///
    /// # Errors
    /// [`NodeError::BlockingPoolTwice`]: there is one of this name.
    pub(crate) fn add(&self, name: &str, pool: Blocking) -> Result<(), NodeError> {
        match self.named.lock().entry(name.to_owned()) {
            Entry::Occupied(taken) => Err(NodeError::BlockingPoolTwice(taken.key().clone())),
            Entry::Vacant(place) => {
                place.insert(Arc::new(pool));
                Ok(())
            }
        }
    }

    /// Runs the work in the pool without a name.
    ///
    /// # Errors
    /// [`BlockError`]; the work has been dropped.
    pub(crate) fn submit(&self, work: BlockingWork) -> Result<(), BlockError> {
        self.unnamed.submit(work)
    }

    /// The pool with this name.
    ///
    /// # Errors
    /// [`BlockError::UnknownPool`].
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Blocking>, BlockError> {
        let found = self.named.lock().get(name).cloned();
        found.ok_or_else(|| BlockError::UnknownPool(name.to_owned()))
    }

    fn all(&self) -> Vec<Arc<Blocking>> {
        let named = self.named.lock();
        std::iter::once(&self.unnamed).chain(named.values()).cloned().collect()
    }

    /// The number of live threads, and of work that was accepted and is not done yet.
    pub(crate) fn load(&self) -> (usize, usize) {
        let loads = self.all().into_iter().map(|pool| pool.load());
        loads.fold((0, 0), |(threads, work), load| (threads + load.0, work + load.1))
    }

    /// Drops the work that has not begun, in all pools. Then waits for all threads, at most for
    /// `grace` in total.
    pub(crate) fn stop(&self, grace: Duration) {
        let begun = Instant::now();
        let closed: Vec<_> = self.all().into_iter().map(|pool| (pool.close(), pool)).collect();
        for (handles, pool) in closed {
            pool.wait(handles, grace.saturating_sub(begun.elapsed()));
        }
    }
}

/// Checks the pools of the program, and adds those of a file that it does not have.
///
/// # Errors
/// [`NodeError::BlockingPoolName`], [`NodeError::BlockingPool`].
pub(crate) fn laid_over(
    mut own: Vec<(String, usize)>,
    below: Vec<(String, usize)>,
) -> Result<Vec<(String, usize)>, NodeError> {
    for (pool, threads) in &own {
        check_name(pool)?;
        if !(1..=MOST_BLOCKING_THREADS).contains(threads) {
            return Err(NodeError::BlockingPool { pool: pool.clone(), threads: *threads });
        }
    }
    for (pool, threads) in below {
        if own.iter().all(|(own, _)| *own != pool) {
            own.push((pool, threads));
        }
    }
    Ok(own)
}

/// Checks the name of a pool.
///
/// # Errors
/// [`NodeError::BlockingPoolName`].
pub(crate) fn check_name(name: &str) -> Result<(), NodeError> {
    let refused = |error| NodeError::BlockingPoolName { pool: name.to_owned(), error };
    Name::new(name).map(drop).map_err(refused)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::side_threads::blocking::KEEP_ALIVE;
    use std::sync::mpsc;

    /// With a grace period for each pool it would take 10 s.
    #[test]
    fn x2_all_pools_share_one_grace_period() {
        let blocking = |role: &str| {
            Blocking::new("test", role, 1, KEEP_ALIVE, Arc::new(|work: &mut dyn FnMut()| work()))
        };
        let pools = BlockingPools::new(blocking("block"));
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let (begun, begins) = mpsc::channel();
        for n in 0..50 {
            let name = n.to_string();
            pools.add(&name, blocking(&name)).unwrap();
            let (released, begun) = (Arc::clone(&released), begun.clone());
            let work = move || {
                begun.send(()).unwrap();
                let _ = released.lock().recv();
            };
            pools.named(&name).unwrap().submit(Box::new(work)).unwrap();
            begins.recv().unwrap();
        }
        assert_eq!(pools.load(), (50, 50));
        let begun = Instant::now();
        pools.stop(Duration::from_millis(200));
        assert!((Duration::from_millis(200)..Duration::from_secs(8)).contains(&begun.elapsed()));
        // The threads are not waited for any longer, and end later.
        assert_eq!(pools.load(), (50, 50));
        assert_eq!(pools.submit(Box::new(|| {})), Err(BlockError::NodeStopped));
        drop(release);
        while pools.load() != (0, 0) {
            std::thread::yield_now();
        }
    }
}
