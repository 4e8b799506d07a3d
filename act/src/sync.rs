//! The synchronisation primitives of modelled code: the ordinary ones, and loom's in the
//! models.
//!
//! Code that uses these, or the locks of `lock.rs`, is checked unchanged: loom runs it in
//! every order, with every value that a load may return (CONTRIBUTING.md has the command).

#[cfg(not(all(test, loom)))]
pub(crate) use self::ordinary::*;

#[cfg(all(test, loom))]
pub(crate) use self::modelled::*;

#[cfg(not(all(test, loom)))]
mod ordinary {
    pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};
    pub(crate) use std::cell::UnsafeCell;
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use std::thread::{LocalKey, sleep, yield_now};
    pub(crate) use std::thread_local;

    /// `parking_lot`'s condition variable with the interface of loom's.
    #[derive(Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn wait<'a, T>(&self, mut locked: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(&mut locked);
            locked
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }
}

#[cfg(all(test, loom))]
mod modelled {
    pub(crate) use crate::models::checker::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use loom::thread::{LocalKey, yield_now};
    use std::time::Duration;
    /// loom's `thread_local!`, for declarations written for that of the standard library.
    macro_rules! thread_local_of_models {
        ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const $init:block;)*) => {
            loom::thread_local! { $($(#[$meta])* $vis static $name: $type = $init;)* }
        };
    }
    pub(crate) use thread_local_of_models as thread_local;

    /// In a model no time passes.
    pub(crate) fn sleep(_: Duration) {
        yield_now();
    }

    #[derive(Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn wait<'a, T>(&self, locked: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(locked).expect("nothing panics under a lock")
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }

    /// loom's lock with the interface of `parking_lot`'s.
    #[derive(Default)]
    pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            RwLock(loom::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
            self.0.read().expect("nothing panics under a lock")
        }

        pub(crate) fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
            self.0.write().expect("nothing panics under a lock")
        }
    }

    /// loom's mutex with the interface of `parking_lot`'s.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("nothing panics under a lock")
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}
