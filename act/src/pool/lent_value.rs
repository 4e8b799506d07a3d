//! A user's values, lent to senders.
//!
//! The pool takes them out of what it shares when it ends. A sender that uses them at that moment
//! is the last to have them: then they are dropped here, without a lock, and a destructor that
//! panics is no business of the sender.

use crate::process::current;
use std::ops::Deref;
use std::sync::Arc;

/// Values in use.
pub(super) struct LentValue<T>(Option<Arc<T>>);

impl<T> LentValue<T> {
    pub(super) fn new(values: &Arc<T>) -> Self {
        LentValue(Some(Arc::clone(values)))
    }

    /// Gives values up that nobody is to use any more.
    pub(super) fn end(values: Option<Arc<T>>) {
        drop(LentValue(values));
    }
}

impl<T> Deref for LentValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("values are lent until this is dropped")
    }
}

impl<T> Drop for LentValue<T> {
    fn drop(&mut self) {
        if let Some(last) = self.0.take().and_then(Arc::into_inner) {
            current::apart(|| drop(last));
        }
    }
}
