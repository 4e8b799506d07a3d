//! Detects whether a thread drives an async runtime. Such a thread must not wait, because what
//! it waits for may need that runtime.
//!
//! Only a tokio runtime on the current thread is detected, and only with the feature `tokio`: no
//! other runtime tells what it does with its thread. A thread of a multi-threaded runtime may
//! wait, as far as the other threads progress without it.

/// Whether this thread runs the tasks of a current-thread runtime.
#[cfg(feature = "tokio")]
pub(crate) fn drives_this_thread() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::CurrentThread => {
            // A thread for blocking work, or one that has only entered the handle, looks the
            // same. Only a thread that drives the runtime panics in `block_on`.
            krarup_act::contain_quietly(|| handle.block_on(std::future::ready(()))).is_err()
        }
        _ => false,
    }
}

#[cfg(not(feature = "tokio"))]
pub(crate) fn drives_this_thread() -> bool {
    false
}
