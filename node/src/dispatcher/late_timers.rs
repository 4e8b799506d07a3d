//! The processes that the watchdog pokes at its next look (see
//! [`Host::poke_later`](krarup_act::Host::poke_later)). In a simulation they are poked when no
//! process is ready, before time advances.
//!
//! There is one list per worker, so that workers do not contend. The watchdog can reach every
//! list, so that a worker stuck in a handler does not delay the timeouts of other processes. A
//! process is on at most one list, however many calls it makes meanwhile.

use krarup_act::Poke;
use parking_lot::Mutex;
use std::sync::Arc;

/// The most entries of a list. If it is full, callers set their timers themselves.
const MOST: usize = 65_536;

#[derive(Default)]
#[repr(align(128))]
pub(crate) struct LateTimers(Mutex<Vec<Arc<dyn Poke>>>);

impl LateTimers {
    /// Returns false if the list is full.
    pub(crate) fn add(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        let mut waiting = self.0.lock();
        let room = waiting.len() < MOST;
        if room {
            waiting.push(process());
        }
        room
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Pokes all processes and empties the list. Returns whether there were any.
    pub(crate) fn poke(&self) -> bool {
        let waiting = std::mem::take(&mut *self.0.lock());
        let any = !waiting.is_empty();
        waiting.into_iter().for_each(Poke::poke);
        any
    }

    /// Empties the list without poking anything.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut *self.0.lock());
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct PokeCounter {
        poked: AtomicUsize,
    }

    impl Poke for PokeCounter {
        fn poke(self: Arc<Self>) {
            self.poked.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_listed_process_is_poked_once_and_a_full_list_takes_no_more() {
        let pokes = LateTimers::default();
        let process = Arc::new(PokeCounter::default());
        for _ in 0..MOST {
            assert!(pokes.add(&|| Arc::clone(&process) as Arc<dyn Poke>));
        }
        assert!(!pokes.add(&|| Arc::clone(&process) as Arc<dyn Poke>));
        assert!(pokes.poke());
        assert!(pokes.is_empty());
        assert!(!pokes.poke());
        assert_eq!(process.poked.load(Ordering::Relaxed), MOST);
        assert_eq!(Arc::strong_count(&process), 1);
    }
}
