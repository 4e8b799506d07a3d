//! Whether a thread drives a runtime: then it must not wait, for what it waits for may need
//! that runtime.
//!
//! Only a tokio runtime on the current thread is noticed, and only with the feature `tokio`: nothing
//! else tells what it does with its thread. A thread of a runtime of several threads may
//! wait, as far as the others go on without it.

/// Whether the tasks of a runtime of one thread are run by this one.
#[cfg(feature = "tokio")]
pub(crate) fn drives_this_thread() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::CurrentThread => {
            // A thread for blocking work, or one that has only entered the handle, looks the same. Tokio
            // tells them apart when they block on something, by a panic.
            krarup_act::contain_quietly(|| handle.block_on(std::future::ready(()))).is_err()
        }
        _ => false,
    }
}

#[cfg(not(feature = "tokio"))]
pub(crate) fn drives_this_thread() -> bool {
    false
}
