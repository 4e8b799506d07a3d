//! The futures that wait until a process has a name, by name (rule H1).

use crate::process::crash::ignore;
use crate::sync::{AtomicU64, Mutex, Ordering};
use krarup_gen::Name;
use std::collections::BTreeMap;
use std::fmt;
use std::task::Waker;

/// The futures of a node that wait until a process has a name (rule H1).
///
/// A host has one, calls [`NameWaits::wake`] after it has given a name to a process, and
/// [`NameWaits::wake_all`] after its stop has begun.
#[derive(Default)]
pub struct NameWaits {
    /// How many wait. It is counted before a waiter looks the name up, and read after a name was
    /// given away under the lock of the names, so one of the two sees the other.
    waiting: AtomicU64,
    table: Mutex<WaitTable>,
}

#[derive(Default)]
struct WaitTable {
    /// The number of the last waiter.
    last: u64,
    by_name: BTreeMap<Name, BTreeMap<u64, Waker>>,
    /// The waits of processes: the number of the process and that of the wait.
    by_process: BTreeMap<(u64, u64), Name>,
}

impl WaitTable {
    /// Removes the waker with this number, if it was not woken.
    fn remove(&mut self, name: &Name, number: u64) -> Option<Waker> {
        let waiters = self.by_name.get_mut(name)?;
        let gone = waiters.remove(&number);
        if waiters.is_empty() {
            self.by_name.remove(name);
        }
        gone
    }
}

impl NameWaits {
    /// Wakes the futures that wait for this name. The name must be found already, and no lock may be
    /// held, because wakers are user code.
    pub fn wake(&self, name: &Name) {
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.wake_waiters(name);
        }
    }

    #[cold]
    fn wake_waiters(&self, name: &Name) {
        let woken = self.table.lock().by_name.remove(name);
        if let Some(woken) = woken {
            self.count_out(woken.len());
            wake(woken);
        }
    }

    /// Wakes the futures of the process with this number, which was asked to stop. A future that is polled by another one
    /// that polls only what was woken needs this: the process is polled anyway.
    pub(crate) fn wake_process(&self, process: u64) {
        let mut woken = BTreeMap::new();
        let mut table = self.table.lock();
        let waits = table.by_process.range((process, 0)..=(process, u64::MAX));
        let waits: Vec<_> = waits.map(|(&(_, number), name)| (number, name.clone())).collect();
        for (number, name) in waits {
            woken.extend(table.remove(&name, number).map(|waker| (number, waker)));
        }
        drop(table);
        self.count_out(woken.len());
        wake(woken);
    }

    /// Wakes all futures: names that nobody has now stay without a process.
    pub fn wake_all(&self) {
        // The lock is taken in any case: a waiter that comes after it sees the begun stop.
        let woken = std::mem::take(&mut self.table.lock().by_name);
        for waiters in woken.into_values() {
            self.count_out(waiters.len());
            wake(waiters);
        }
    }

    /// The number of futures that wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Adds a waker, in the place of the one with this number if that still waits. Returns its
    /// number. `process` is the number of the process that waits.
    pub(crate) fn enter(
        &self,
        name: &Name,
        number: Option<u64>,
        process: Option<u64>,
        waker: Waker,
    ) -> u64 {
        let mut table = self.table.lock();
        let number = number.unwrap_or_else(|| {
            table.last += 1;
            table.last
        });
        let before = table.by_name.entry(name.clone()).or_default().insert(number, waker);
        if before.is_none() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(process) = process {
            table.by_process.insert((process, number), name.clone());
        }
        drop(table);
        // A waker is user code: it is dropped outside the lock.
        drop(before);
        number
    }

    /// Removes a wait. Its waker is not woken from now on.
    pub(crate) fn leave(&self, name: &Name, number: u64, process: Option<u64>) {
        let mut table = self.table.lock();
        if let Some(process) = process {
            table.by_process.remove(&(process, number));
        }
        let gone = table.remove(name, number);
        drop(table);
        self.count_out(usize::from(gone.is_some()));
        drop(gone);
    }

    fn count_out(&self, waiters: usize) {
        self.waiting.fetch_sub(waiters as u64, Ordering::Relaxed);
    }
}

/// Wakes in the order of the numbers. A waker may be user code and panic; the others are woken.
fn wake(waiters: BTreeMap<u64, Waker>) {
    for waker in waiters.into_values() {
        ignore(|| waker.wake());
    }
}

impl fmt::Debug for NameWaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NameWaits({} waiting)", self.waiting())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    /// Notes the order in which wakers are woken.
    struct WakeOrder(usize, Arc<Mutex<Vec<usize>>>);

    impl Wake for WakeOrder {
        fn wake(self: Arc<Self>) {
            self.1.lock().push(self.0);
            assert!(self.0 != 1, "a waker that panics");
        }
    }

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn h1_the_waiters_of_a_name_are_woken_in_their_order_and_a_panic_keeps_none_back() {
        let (waits, order) = (NameWaits::default(), Arc::default());
        let waker = |number| Waker::from(Arc::new(WakeOrder(number, Arc::clone(&order))));
        let (stock, till) = (name("stock"), name("till"));
        let numbers: Vec<_> =
            (0..5).map(|of| waits.enter(&stock, None, Some(of as u64 % 2), waker(of))).collect();
        let other = waits.enter(&till, None, None, waker(9));
        // A waiter keeps its place, and one that has left is not woken.
        assert_eq!(waits.enter(&stock, Some(numbers[3]), Some(1), waker(7)), numbers[3]);
        waits.leave(&stock, numbers[2], Some(0));
        waits.leave(&stock, numbers[2], Some(0));
        assert_eq!(waits.waiting(), 5);
        waits.wake(&stock);
        assert_eq!(*order.lock(), [0, 1, 7, 4]);
        assert_eq!(waits.waiting(), 1);
        waits.wake(&stock);
        waits.leave(&stock, numbers[0], Some(0));
        assert_eq!((order.lock().len(), waits.waiting()), (4, 1));
        waits.wake_all();
        assert_eq!((order.lock().last().copied(), waits.waiting()), (Some(9), 0));
        waits.leave(&till, other, None);
        assert_eq!(format!("{waits:?}"), "NameWaits(0 waiting)");
    }

    #[test]
    fn h1_a_hundred_thousand_waiters_are_woken_once() {
        struct NameWakes(AtomicUsize);
        impl Wake for NameWakes {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (waits, count) = (NameWaits::default(), Arc::new(NameWakes(AtomicUsize::new(0))));
        for _ in 0..100_000 {
            waits.enter(&name("stock"), None, Some(1), Waker::from(Arc::clone(&count)));
        }
        waits.wake(&name("stock"));
        assert_eq!((count.0.load(Ordering::Relaxed), waits.waiting()), (100_000, 0));
    }

    #[test]
    fn h10_the_waits_of_one_process_are_woken_and_no_others() {
        let (waits, order) = (NameWaits::default(), Arc::default());
        let waker = |number| Waker::from(Arc::new(WakeOrder(number, Arc::clone(&order))));
        let (stock, till) = (name("stock"), name("till"));
        let first = waits.enter(&till, None, Some(7), waker(2));
        let left = waits.enter(&stock, None, Some(7), waker(3));
        waits.enter(&stock, None, Some(7), waker(4));
        waits.enter(&stock, None, Some(6), waker(5));
        waits.enter(&stock, None, None, waker(6));
        waits.leave(&stock, left, Some(7));
        waits.wake_process(8);
        assert!(order.lock().is_empty());
        waits.wake_process(7);
        assert_eq!((order.lock().clone(), waits.waiting()), (vec![2, 4], 2));
        // Woken once, and again if it goes on waiting.
        waits.wake_process(7);
        assert_eq!(waits.enter(&till, Some(first), Some(7), waker(2)), first);
        waits.wake_process(7);
        assert_eq!((order.lock().clone(), waits.waiting()), (vec![2, 4, 2], 2));
        waits.leave(&till, first, Some(7));
        waits.wake_process(6);
        waits.wake(&stock);
        assert_eq!((order.lock().clone(), waits.waiting()), (vec![2, 4, 2, 5, 6], 0));
    }
}
