//! A user's values that are dropped beside each other.
//!
//! A destructor that panics is a failure of whoever drops the value. While that panic unwinds, the
//! values beside it are dropped too, and another destructor that panics then would abort the whole
//! program.

use krarup_act::contain;
use std::ops::{Deref, DerefMut};

/// A value that may be dropped while a panic unwinds: its own panic is contained then. At other
/// times it is a panic as any.
pub(crate) struct ContainedDrop<T>(Option<T>);

/// It is full until it is dropped or taken apart.
const FULL: &str = "the value goes with what it lies in";

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

/// Drops what may be a user's, one by one: a destructor that panics must not keep the next from
/// running.
pub(crate) fn drop_each<I: IntoIterator>(items: I) {
    for item in items {
        let _ = contain(|| drop(item));
    }
}
