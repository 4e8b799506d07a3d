//! What is undone if user code panics on a sender's thread.

/// Is called if it is dropped without [`OnUnwind::passed`]: user code has panicked.
pub(super) struct OnUnwind<F: FnMut()>(pub(super) F);

impl<F: FnMut()> OnUnwind<F> {
    /// The user code has returned.
    pub(super) fn passed(self) {
        std::mem::forget(self);
    }
}

impl<F: FnMut()> Drop for OnUnwind<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
