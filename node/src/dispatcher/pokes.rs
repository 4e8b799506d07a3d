//! What will be poked at the watchdog's next look (see [`krarup_act::Host::poke_later`]).
//!
//! One list per worker, so that workers do not meet; in reach of the watchdog, so that a
//! worker stuck in a handler does not hold up the timeouts of others. A list that has
//! filled up throws out what waits no more and may grow to twice of what is left: calls
//! that are answered at once leave their memory at once, while it is still in the cache.

use krarup_act::Poke;
use parking_lot::Mutex;
use std::sync::Arc;

/// The length at which a list is first looked through, and the most that one holds:
/// beyond that callers set their timers themselves.
const LENGTHS: (usize, usize) = (64, 65_536);

#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Pokes(Mutex<List>);

#[derive(Default)]
struct List {
    waiting: Vec<Arc<dyn Poke>>,
    limit: usize,
}

impl Pokes {
    /// False if too many wait.
    pub(crate) fn add(&self, poke: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        let mut list = self.0.lock();
        if list.waiting.len() >= list.limit {
            list.waiting.retain(|poke| poke.is_waiting());
            list.limit = (list.waiting.len() * 2).clamp(LENGTHS.0, LENGTHS.1);
            if list.waiting.len() >= LENGTHS.1 {
                return false;
            }
        }
        list.waiting.push(poke());
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().waiting.is_empty()
    }

    /// Pokes all and empties the list.
    pub(crate) fn poke(&self) {
        let waiting = std::mem::take(&mut self.0.lock().waiting);
        waiting.iter().for_each(|poke| poke.poke());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[derive(Default)]
    struct Call {
        answered: AtomicBool,
        poked: AtomicUsize,
    }

    impl Poke for Call {
        fn poke(&self) {
            self.poked.fetch_add(1, Ordering::Relaxed);
        }

        fn is_waiting(&self) -> bool {
            !self.answered.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn answered_calls_leave_and_waiting_ones_are_poked_once() {
        let pokes = Pokes::default();
        let waiting: Vec<_> = (0..100).map(|_| Arc::new(Call::default())).collect();
        let answered = Arc::new(Call { answered: true.into(), ..Call::default() });
        for call in &waiting {
            assert!(pokes.add(&|| Arc::clone(call) as Arc<dyn Poke>));
            for _ in 0..50 {
                assert!(pokes.add(&|| Arc::clone(&answered) as Arc<dyn Poke>));
            }
        }
        assert!(Arc::strong_count(&answered) < 300, "{}", Arc::strong_count(&answered));
        pokes.poke();
        assert!(pokes.is_empty());
        assert!(waiting.iter().all(|call| call.poked.load(Ordering::Relaxed) == 1));
    }
}
