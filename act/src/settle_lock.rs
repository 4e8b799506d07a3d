//! A lock that can be settled: given up for good by the one who holds it.
//!
//! | word | who may touch what it guards | next |
//! |---|---|---|
//! | Open | who turns it into Locked | Locked |
//! | Locked | who has turned it | Open, Settled |
//! | Settled | its owner, without the lock | Open, if the owner opens it again |
//!
//! It guards nothing itself: [`calls::slot_ends`](crate::calls::slot_ends) says what, and who the owner
//! is. As the locks of `lock.rs`, it is held for a few dozen instructions and never while user code
//! runs.

#[cfg(all(test, loom))]
pub(crate) use self::modelled::{SettleGuard, SettleLock};
#[cfg(not(all(test, loom)))]
pub(crate) use self::spinning::{SettleGuard, SettleLock};

/// Also compiled for the models, where one looks at it alone. In all others a waiting thread would try in vain in
/// every order in which it can.
pub(crate) mod spinning {
    use crate::lock::Backoff;
    use crate::sync::{AtomicU8, Ordering};
    use std::mem::ManuallyDrop;

    const OPEN: u8 = 0;
    const LOCKED: u8 = 1;
    const SETTLED: u8 = 2;

    pub(crate) struct SettleLock(AtomicU8);

    /// The lock, held. Its end opens it.
    pub(crate) struct SettleGuard<'a>(&'a AtomicU8);

    impl SettleLock {
        pub(crate) fn new() -> Self {
            SettleLock(AtomicU8::new(OPEN))
        }

        /// Locks it; `None` if it is settled.
        #[inline]
        pub(crate) fn lock(&self) -> Option<SettleGuard<'_>> {
            match self.try_lock() {
                Ok(held) => Some(held),
                Err(SETTLED) => None,
                Err(_) => self.lock_slowly(),
            }
        }

        #[inline]
        fn try_lock(&self) -> Result<SettleGuard<'_>, u8> {
            self.0
                .compare_exchange(OPEN, LOCKED, Ordering::Acquire, Ordering::Acquire)
                .map(|_| SettleGuard(&self.0))
        }

        #[cold]
        #[inline(never)]
        fn lock_slowly(&self) -> Option<SettleGuard<'_>> {
            let mut backoff = Backoff::default();
            loop {
                backoff.wait();
                if self.0.load(Ordering::Relaxed) == LOCKED {
                    continue;
                }
                match self.try_lock() {
                    Ok(held) => return Some(held),
                    Err(SETTLED) => return None,
                    Err(_) => {}
                }
            }
        }

        #[inline]
        pub(crate) fn is_settled(&self) -> bool {
            self.0.load(Ordering::Acquire) == SETTLED
        }

        /// Opens it again. For its owner, before anybody else gets to it.
        #[inline]
        pub(crate) fn reopen(&self) {
            self.0.store(OPEN, Ordering::Relaxed);
        }
    }

    impl SettleGuard<'_> {
        #[inline]
        pub(crate) fn settle(self) {
            // What the lock guards may be freed as soon as it is settled, the lock with it. So nothing moves the
            // reference after that, as a call to forget this value would.
            let held = ManuallyDrop::new(self);
            held.0.store(SETTLED, Ordering::Release);
        }
    }

    impl Drop for SettleGuard<'_> {
        #[inline]
        fn drop(&mut self) {
            self.0.store(OPEN, Ordering::Release);
        }
    }
}

/// The same, where a waiting thread sleeps.
#[cfg(all(test, loom))]
mod modelled {
    use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

    pub(crate) struct SettleLock {
        lock: Mutex<()>,
        settled: AtomicBool,
    }

    pub(crate) struct SettleGuard<'a> {
        settled: &'a AtomicBool,
        _lock: MutexGuard<'a, ()>,
    }

    impl SettleLock {
        pub(crate) fn new() -> Self {
            SettleLock { lock: Mutex::new(()), settled: AtomicBool::new(false) }
        }

        pub(crate) fn lock(&self) -> Option<SettleGuard<'_>> {
            let lock = self.lock.lock();
            let open = !self.settled.load(Ordering::Relaxed);
            open.then_some(SettleGuard { settled: &self.settled, _lock: lock })
        }

        pub(crate) fn is_settled(&self) -> bool {
            self.settled.load(Ordering::Acquire)
        }

        pub(crate) fn reopen(&self) {
            self.settled.store(false, Ordering::Relaxed);
        }
    }

    impl SettleGuard<'_> {
        pub(crate) fn settle(self) {
            self.settled.store(true, Ordering::Release);
        }
    }
}
