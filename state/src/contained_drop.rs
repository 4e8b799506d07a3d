//! Containment of panics in destructors of user values that are dropped together.
//!
//! A destructor that panics is a failure of the code that drops the value. While that
//! panic unwinds, the neighbouring values are dropped too. A second panic in one of their
//! destructors would abort the whole program.

use krarup_act::contain;
use std::ops::{Deref, DerefMut};

/// A value that may be dropped while a panic unwinds. In that case a panic of its
/// destructor is contained. At other times the panic propagates as usual.
pub(crate) struct ContainedDrop<T>(Option<T>);

/// The value is present until it is dropped or taken out.
const FULL: &str = "the value is present until it is dropped or taken out";

impl<T> ContainedDrop<T> {
    pub(crate) fn new(value: T) -> Self {
        ContainedDrop(Some(value))
    }

    pub(crate) fn into_inner(mut self) -> T {
        self.0.take().expect(FULL)
    }
}

impl<T> Deref for ContainedDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect(FULL)
    }
}

impl<T> DerefMut for ContainedDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(FULL)
    }
}

impl<T> Drop for ContainedDrop<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let value = self.0.take();
            let _ = contain(|| drop(value));
        }
    }
}

/// Drops values that may be a user's, one by one. A destructor that panics does not keep
/// the next one from running.
pub(crate) fn drop_each<I: IntoIterator>(items: I) {
    for item in items {
        let _ = contain(|| drop(item));
    }
}
