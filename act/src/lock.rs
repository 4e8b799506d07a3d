//! The lock of mailboxes, of slots, of links and monitors, and of the tables of processes.
//!
//! The lock is held for a few dozen instructions (by a walk over the processes of a node, for the copy of
//! some hundred handles) and never while user code runs, so a waiting thread spins. A plain store frees a spin lock. A parking lock needs a second atomic
//! read-modify-write, and those are most of the cost of a message (docs/decisions.md). The
//! thread that holds the lock can be preempted, so after a short spin a waiting thread yields
//! its processor.

use crate::sync::{spin_loop, yield_now};

#[cfg(not(all(test, loom)))]
pub use self::spinning::{Lock, LockGuard};

#[cfg(all(test, loom))]
pub(crate) use crate::sync::{Mutex as Lock, MutexGuard as LockGuard};

/// The longest spin between two attempts: about as long as three other threads hold the lock.
const LONGEST_SPIN: u32 = 16;

/// Waits between two attempts to lock: first for growing spins, then with a yield to other threads after each.
pub(crate) struct Backoff {
    spins: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { spins: 1 }
    }
}

impl Backoff {
    pub(crate) fn wait(&mut self) {
        if self.spins > LONGEST_SPIN {
            yield_now();
        }
        let spins = self.spins.min(LONGEST_SPIN);
        (0..spins).for_each(|_| spin_loop());
        self.spins = spins * 2;
    }
}

#[cfg(not(all(test, loom)))]
mod spinning {
    use super::Backoff;
    use spin::mutex::{SpinMutex, SpinMutexGuard};

    /// A lock for what is short and calls no code of users; see the module. For hosts.
    #[derive(Debug)]
    pub struct Lock<T>(SpinMutex<T>);

    /// A held [`Lock`]; dropping it releases the lock.
    pub type LockGuard<'a, T> = SpinMutexGuard<'a, T>;

    impl<T: Default> Default for Lock<T> {
        fn default() -> Self {
            Lock::new(T::default())
        }
    }

    impl<T> Lock<T> {
        /// Makes a lock around a value.
        pub fn new(value: T) -> Self {
            Lock(SpinMutex::new(value))
        }

        /// Locks it, and waits while another thread has it.
        #[inline]
        pub fn lock(&self) -> LockGuard<'_, T> {
            match self.0.try_lock() {
                Some(guard) => guard,
                None => self.lock_slowly(),
            }
        }

        /// Spins for growing intervals, then yields to other threads.
        #[cold]
        #[inline(never)]
        fn lock_slowly(&self) -> LockGuard<'_, T> {
            let mut backoff = Backoff::default();
            loop {
                backoff.wait();
                if !self.0.is_locked()
                    && let Some(guard) = self.0.try_lock()
                {
                    return guard;
                }
            }
        }
    }
}
