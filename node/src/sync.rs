//! The primitives of what is modelled: the ordinary ones, and loom's in the models.
//!
//! Code that takes these from here is checked as it stands: loom runs it in every order,
//! with every value that a load may see (CONTRIBUTING.md has the command).

#[cfg(not(all(test, loom)))]
pub(crate) use self::ordinary::*;

#[cfg(all(test, loom))]
pub(crate) use self::modelled::*;

#[cfg(not(all(test, loom)))]
mod ordinary {
    pub(crate) use crossbeam_utils::sync::{Parker, Unparker};
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

#[cfg(all(test, loom))]
mod modelled {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
    use loom::sync::{Condvar, MutexGuard};
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
            self.0.lock().expect("nothing panics under a lock")
        }
    }

    /// As crossbeam's: a token that is there already is not lost and not doubled.
    pub(crate) struct Parker(Unparker);

    #[derive(Clone)]
    pub(crate) struct Unparker(Arc<Token>);

    struct Token {
        there: loom::sync::Mutex<bool>,
        came: Condvar,
    }

    impl Parker {
        pub(crate) fn new() -> Self {
            let there = loom::sync::Mutex::new(false);
            Parker(Unparker(Arc::new(Token { there, came: Condvar::new() })))
        }

        pub(crate) fn unparker(&self) -> &Unparker {
            &self.0
        }

        pub(crate) fn park(&self) {
            let token = &self.0.0;
            let mut there = token.there.lock().expect("nothing panics under a lock");
            while !*there {
                there = token.came.wait(there).expect("nothing panics under a lock");
            }
            *there = false;
        }

        /// The time is over at once: in a model no time passes.
        pub(crate) fn park_timeout(&self, _: Duration) {
            *self.0.0.there.lock().expect("nothing panics under a lock") = false;
        }
    }

    impl Unparker {
        pub(crate) fn unpark(&self) {
            *self.0.there.lock().expect("nothing panics under a lock") = true;
            self.0.came.notify_one();
        }
    }
}
