//! A box for what is seldom there.
//!
//! What drops a value is compiled into each place that drops its owner, in a release build again for each part of the
//! program that is compiled by itself: of the code of an actor it was more than a quarter. The value of a [`ColdBox`] is
//! dropped by one function, which is called (docs/decisions.md).

#![allow(
    unsafe_code,
    reason = "without it the place that holds the box would have code that drops its value too"
)]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A box whose value is dropped by a function of its own.
pub(crate) struct ColdBox<T>(
    /// Taken by [`ColdBox::into_inner`] and by the drop, which each use the box up.
    ManuallyDrop<Box<T>>,
);

impl<T> ColdBox<T> {
    pub(crate) fn new(value: T) -> Self {
        ColdBox(ManuallyDrop::new(Box::new(value)))
    }

    /// Takes the value out.
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used after this, and not dropped.
        *unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T: Default> Default for ColdBox<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for ColdBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for ColdBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for ColdBox<T> {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the box is dropped once, and `into_inner` forgets the one whose value it has taken.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_value_is_dropped_once_and_not_by_the_box_that_it_was_taken_from() {
        let value = Arc::new(());
        let (kept, taken) = (ColdBox::new(Arc::clone(&value)), ColdBox::new(Arc::clone(&value)));
        let taken = taken.into_inner();
        assert_eq!(Arc::strong_count(&value), 3);
        drop(kept);
        assert_eq!(Arc::strong_count(&value), 2);
        drop(taken);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn a_box_that_may_be_missing_is_a_pointer() {
        assert_eq!(size_of::<Option<ColdBox<[u64; 9]>>>(), size_of::<usize>());
    }
}
