//! Users' values that senders borrow.
//!
//! The pool removes them from its shared state when it ends. A sender that still uses a value
//! then holds the last handle. The value is dropped here, without a lock, and a destructor that
//! panics does not affect the sender.

use crate::process::current;
use std::ops::Deref;
use std::sync::Arc;

/// A value in use.
pub(super) struct LentValue<T>(Option<Arc<T>>);

impl<T> LentValue<T> {
    pub(super) fn new(values: &Arc<T>) -> Self {
        LentValue(Some(Arc::clone(values)))
    }

    /// Releases a value that is not to be used any more.
    pub(super) fn end(values: Option<Arc<T>>) {
        drop(LentValue(values));
    }
}

impl<T> Deref for LentValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("the value is held until drop")
    }
}

impl<T> Drop for LentValue<T> {
    fn drop(&mut self) {
        if let Some(last) = self.0.take().and_then(Arc::into_inner) {
            current::apart(|| drop(last));
        }
    }
}
