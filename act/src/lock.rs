//! The lock of mailboxes and of values on their way.
//!
//! Held for a few dozen instructions and never while user code runs, so a waiter spins. A
//! spin lock is freed by a plain store where a parking one needs a second atomic
//! read-modify-write, and those are most of what a message costs (docs/decisions.md).
//! The holder can lose its processor: after a short spin the waiter gives up its own.

#[cfg(not(all(test, loom)))]
pub(crate) use self::spinning::{Lock, LockGuard};

#[cfg(all(test, loom))]
pub(crate) use crate::sync::{Mutex as Lock, MutexGuard as LockGuard};

#[cfg(not(all(test, loom)))]
mod spinning {
    use spin::mutex::{SpinMutex, SpinMutexGuard};

    pub(crate) struct Lock<T>(SpinMutex<T>);
    pub(crate) type LockGuard<'a, T> = SpinMutexGuard<'a, T>;

    impl<T: Default> Default for Lock<T> {
        fn default() -> Self {
            Lock::new(T::default())
        }
    }

    /// The longest spin between two tries: about as long as three others have the lock.
    const LONGEST_SPIN: u32 = 16;

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Self {
            Lock(SpinMutex::new(value))
        }

        #[inline]
        pub(crate) fn lock(&self) -> LockGuard<'_, T> {
            match self.0.try_lock() {
                Some(guard) => guard,
                None => self.lock_slowly(),
            }
        }

        /// Spins longer and longer, and then lets others run.
        #[cold]
        #[inline(never)]
        fn lock_slowly(&self) -> LockGuard<'_, T> {
            let mut spins = 1;
            loop {
                (0..spins).for_each(|_| std::hint::spin_loop());
                if !self.0.is_locked()
                    && let Some(guard) = self.0.try_lock()
                {
                    return guard;
                }
                if spins < LONGEST_SPIN {
                    spins *= 2;
                } else {
                    std::thread::yield_now();
                }
            }
        }
    }
}
