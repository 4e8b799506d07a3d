//! A wait that idle workers and a thread share.

use super::poller::{Poller, wake_polled};
use super::turns::{PollEntry, PollTurns, ThreadTurn};
use crate::process::crash::contain;
use crate::sync::{Mutex, yield_now};
use std::fmt;
use std::io;
use std::task::Waker;
use std::time::{Duration, Instant};

/// What can be waited for. One thread at a time does.
pub trait Selection: Send + 'static {
    /// Adds what has become ready, after `limit` at the most. Returns when something has, when the wait was woken, and possibly for
    /// no reason.
    ///
    /// # Errors
    ///
    /// That of the system, if it cannot wait.
    fn select(&mut self, limit: Option<Duration>, woken: &mut Vec<Waker>) -> io::Result<()>;
}

/// The wait for a [`Selection`], by a thread ([`serve`](SharedWait::serve)) and, after [`install_poller`](crate::install_poller), by
/// idle workers (rule I10).
///
/// A wake of a worker must not be given to another thread. So whoever waits first locks the selection, and then asks whether it is
/// still to wait: the thread, whether no worker has come meanwhile; a worker, whether it was told of work meanwhile; both, whether there
/// is something to wait for. A wake after that is theirs, because nobody else can wait; one before it has changed the answer.
///
/// **Many at once.** While a look wakes more than one process, the thread
/// does not sleep: it lets the woken processes run (a yield) and looks again without waiting. So
/// it takes what has arrived meanwhile in one call, and is not put to sleep and woken for every few
/// events, which costs more than the requests themselves (docs/decisions.md). A look that wakes at
/// most one process is the last one of such a row, so a program at rest does not spin, and a
/// single connection pays for no second look.
pub struct SharedWait {
    turns: PollTurns,
    /// Whose turn it is locks it.
    selection: Mutex<Box<dyn Selection>>,
    wakeup: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
}

impl SharedWait {
    /// Makes it. `wakeup` ends a wait that is under way, or the next one.
    pub fn new(
        selection: impl Selection,
        wakeup: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        SharedWait::at(Instant::now, selection, wakeup)
    }

    pub(crate) fn at(
        now: fn() -> Instant,
        selection: impl Selection,
        wakeup: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        SharedWait {
            turns: PollTurns::new(now),
            selection: Mutex::new(Box::new(selection)),
            wakeup: Box::new(wakeup),
        }
    }

    /// Waits, as the one thread that guards the workers, until [`SharedWait::close`], and wakes what is reported.
    ///
    /// # Errors
    ///
    /// That of the system, if it cannot wait.
    pub fn serve(&self) -> io::Result<()> {
        let mut woken = Vec::new();
        let mut looks_again = false;
        while self.turns.thread_turn() == ThreadTurn::Waits {
            let limit = looks_again.then_some(Duration::ZERO);
            self.select_as_thread(limit, &mut woken)?;
            looks_again = looks_again_after(woken.len());
            // A woken process may run at once on a calling-thread dispatcher, so no lock is held.
            wake_polled(woken.drain(..));
            if looks_again {
                yield_now();
            }
        }
        Ok(())
    }

    /// There is nothing to wait for any more: the thread ends, and no worker waits here.
    ///
    /// # Errors
    ///
    /// That of the system, if it cannot wake whoever waits.
    pub fn close(&self) -> io::Result<()> {
        self.turns.close();
        (self.wakeup)()
    }

    /// Whether [`SharedWait::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.turns.is_closed()
    }

    /// The thread takes what there is, unless a worker has come meanwhile.
    fn select_as_thread(&self, limit: Option<Duration>, woken: &mut Vec<Waker>) -> io::Result<()> {
        let mut selection = self.selection.lock();
        if self.turns.is_of_thread() { selection.select(limit, woken) } else { Ok(()) }
    }

    /// A worker that has entered takes what there is.
    fn select_as_worker(
        &self,
        selection: &mut dyn Selection,
        limit: Option<Duration>,
        woken: &mut Vec<Waker>,
    ) {
        // A panic too: the worker has to leave.
        if !matches!(contain(|| selection.select(limit, woken)), Ok(Ok(()))) {
            // The thread fails too, and says why.
            self.turns.give_back();
        }
    }
}

impl Poller for SharedWait {
    fn poll(&self, woken: &mut Vec<Waker>) {
        if self.turns.enter_to_poll() {
            // The thread may be about to leave.
            if let Some(mut selection) = self.selection.try_lock() {
                self.select_as_worker(&mut **selection, Some(Duration::ZERO), woken);
            }
            self.turns.leave(!woken.is_empty());
        }
    }

    fn wait(&self, woken: &mut Vec<Waker>, still: &dyn Fn() -> bool, elsewhere: &Waker) -> bool {
        match self.turns.enter_to_wait(elsewhere) {
            PollEntry::Enters => {
                let mut selection = self.selection.lock();
                // From here on no other thread takes a wake of this worker.
                if still() && !self.turns.is_closed() {
                    self.select_as_worker(&mut **selection, None, woken);
                }
                drop(selection);
                self.turns.leave(!woken.is_empty());
                true
            }
            PollEntry::WakesThread => {
                self.wake();
                true
            }
            PollEntry::Closed => true,
            PollEntry::Occupied => false,
        }
    }

    fn is_back(&self, elsewhere: &Waker) {
        self.turns.is_back(elsewhere);
    }

    fn wake(&self) {
        if let Err(error) = (self.wakeup)() {
            // The log subscriber is user code.
            let _ = contain(
                || tracing::error!(target: "krarup", %error, "a worker that waits for sockets cannot be woken"),
            );
        }
    }
}

impl fmt::Debug for SharedWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedWait(..)")
    }
}

/// Whether the thread looks again without a wait, after a look that has woken so many processes.
fn looks_again_after(woken: usize) -> bool {
    woken > 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts the waits, none of which lasts.
    struct Counting(Arc<AtomicUsize>);

    impl Selection for Counting {
        fn select(&mut self, _: Option<Duration>, _: &mut Vec<Waker>) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn i10_a_worker_that_comes_sends_the_thread_away_wherever_that_is() {
        let [waits, wakes] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let woken = Arc::clone(&wakes);
        let wakeup = move || {
            woken.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let wait = SharedWait::new(Counting(Arc::clone(&waits)), wakeup);
        let mut ready = Vec::new();
        let mut counted = |wait: &SharedWait| {
            wait.select_as_thread(None, &mut ready).unwrap();
            (waits.load(Ordering::Relaxed), wakes.load(Ordering::Relaxed))
        };
        assert_eq!(wait.turns.thread_turn(), ThreadTurn::Waits);
        assert_eq!(counted(&wait), (1, 0));
        // It was about to wait again.
        assert_eq!(wait.turns.thread_turn(), ThreadTurn::Waits);
        let mut polled = Vec::new();
        assert!(wait.wait(&mut polled, &|| true, Waker::noop()));
        assert_eq!(counted(&wait), (1, 1));
        // Nobody needs to be woken for the next worker.
        assert!(wait.wait(&mut polled, &|| true, Waker::noop()));
        assert_eq!(counted(&wait), (2, 1));
    }

    /// Fails, or panics at every second wait.
    struct FailingWait(bool);

    impl Selection for FailingWait {
        fn select(&mut self, _: Option<Duration>, _: &mut Vec<Waker>) -> io::Result<()> {
            self.0 = !self.0;
            assert!(self.0, "a wait that panics on purpose");
            Err(io::Error::other("a wait that fails on purpose"))
        }
    }

    #[test]
    fn i10_a_worker_that_cannot_wait_leaves_it_to_the_thread() {
        let wait = SharedWait::new(FailingWait(false), || Ok(()));
        for _ in 0..2 {
            // The worker sends the thread away, and waits.
            assert!(wait.wait(&mut Vec::new(), &|| true, Waker::noop()));
            assert!(!wait.turns.is_of_thread());
            assert!(wait.wait(&mut Vec::new(), &|| true, Waker::noop()));
            assert!(wait.turns.is_of_thread());
        }
        assert_eq!(wait.turns.thread_turn(), ThreadTurn::Waits);
        wait.serve().unwrap_err();
    }

    #[test]
    fn i2_the_thread_looks_again_without_sleep_only_after_it_has_woken_several() {
        assert_eq!([0, 1, 2, 1024].map(looks_again_after), [false, false, true, true]);
    }
}
