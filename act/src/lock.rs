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
    use spin::relax::RelaxStrategy;

    pub(crate) type Lock<T> = spin::mutex::SpinMutex<T, Patience>;
    pub(crate) type LockGuard<'a, T> = spin::mutex::SpinMutexGuard<'a, T, Patience>;

    /// Spins about as long as the lock is usually held, then lets others run.
    pub(crate) struct Patience;

    impl RelaxStrategy for Patience {
        fn relax() {
            for _ in 0..32 {
                std::hint::spin_loop();
            }
            std::thread::yield_now();
        }
    }
}
