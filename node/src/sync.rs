//! The synchronisation primitives of modelled code: the ordinary ones, and loom's in the models.
//!
//! Code that takes these from here is checked unchanged: loom runs it in every order, with every
//! value that a load may see (CONTRIBUTING.md has the command).

#[cfg(not(all(test, loom)))]
pub(crate) use self::ordinary::*;

#[cfg(all(test, loom))]
pub(crate) use self::modelled::*;

#[cfg(not(all(test, loom)))]
mod ordinary {
    pub(crate) use crossbeam_utils::sync::{Parker, Unparker};
    pub(crate) use krarup_act::{Lock, LockGuard};
    pub(crate) use parking_lot::{Condvar, Mutex, RwLock};
    pub(crate) use std::cell::UnsafeCell;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
    pub(crate) use std::thread::yield_now;

    /// For code that relies on the single order of all `SeqCst` accesses, without fences.
    pub(crate) mod in_one_order {
        pub(crate) use std::sync::atomic::AtomicBool;
    }
}

#[cfg(all(test, loom))]
mod modelled {
    pub(crate) use crate::models::checker::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
    use loom::sync::{RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use loom::thread::yield_now;
    use std::ops::{Deref, DerefMut};
    use std::sync::Arc;
    use std::time::Duration;

    /// loom's mutex with the interface of `parking_lot`'s.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            let locked = Some(self.0.lock().expect("nothing panics under a lock"));
            MutexGuard { mutex: &self.0, locked }
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            let locked = Some(self.0.try_lock().ok()?);
            Some(MutexGuard { mutex: &self.0, locked })
        }
    }

    /// Empty only while its thread waits on a [`Condvar`].
    pub(crate) struct MutexGuard<'a, T> {
        mutex: &'a loom::sync::Mutex<T>,
        locked: Option<loom::sync::MutexGuard<'a, T>>,
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.locked.as_ref().expect("not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.locked.as_mut().expect("not waiting")
        }
    }

    /// loom's condition variable with the interface of `parking_lot`'s.
    #[derive(Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Condvar::default()
        }

        pub(crate) fn wait<T>(&self, locked: &mut MutexGuard<'_, T>) {
            let inner = locked.locked.take().expect("not waiting");
            locked.locked = Some(self.0.wait(inner).expect("nothing panics under a lock"));
        }

        /// Times out at once: in a model no time passes.
        pub(crate) fn wait_for<T>(&self, locked: &mut MutexGuard<'_, T>, _: Duration) {
            locked.locked = None;
            loom::thread::yield_now();
            locked.locked = Some(locked.mutex.lock().expect("nothing panics under a lock"));
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    pub(crate) use self::{Mutex as Lock, MutexGuard as LockGuard};

    /// loom's lock with the interface of `parking_lot`'s.
    #[derive(Default)]
    pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().expect("nothing panics under a lock")
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().expect("nothing panics under a lock")
        }
    }

    /// Like crossbeam's: a second token is neither lost nor counted twice.
    pub(crate) struct Parker(Unparker);

    #[derive(Clone)]
    pub(crate) struct Unparker(Arc<ParkToken>);

    struct ParkToken {
        there: Mutex<bool>,
        came: Condvar,
    }

    impl Parker {
        pub(crate) fn new() -> Self {
            Parker(Unparker(Arc::new(ParkToken { there: Mutex::new(false), came: Condvar::new() })))
        }

        pub(crate) fn unparker(&self) -> &Unparker {
            &self.0
        }

        pub(crate) fn park(&self) {
            let token = &self.0.0;
            let mut there = token.there.lock();
            while !*there {
                token.came.wait(&mut there);
            }
            *there = false;
        }

        /// Times out at once: in a model no time passes.
        pub(crate) fn park_timeout(&self, _: Duration) {
            *self.0.0.there.lock() = false;
        }
    }

    impl Unparker {
        pub(crate) fn unpark(&self) {
            *self.0.there.lock() = true;
            self.0.came.notify_one();
        }
    }

    /// loom treats a `SeqCst` access as an acquiring and releasing one, and implements the
    /// single order only for fences. So each such access has fences around it here.
    pub(crate) mod in_one_order {
        use super::{Ordering, fence};

        fn ordered<T>(order: Ordering, access: impl FnOnce() -> T) -> T {
            if order != Ordering::SeqCst {
                return access();
            }
            fence(Ordering::SeqCst);
            let value = access();
            fence(Ordering::SeqCst);
            value
        }

        #[derive(Default)]
        pub(crate) struct AtomicBool(super::AtomicBool);

        impl AtomicBool {
            pub(crate) fn load(&self, order: Ordering) -> bool {
                ordered(order, || self.0.load(order))
            }

            pub(crate) fn swap(&self, value: bool, order: Ordering) -> bool {
                ordered(order, || self.0.swap(value, order))
            }
        }
    }
}
