//! Work in the name of nobody: what a process does on behalf of processes of other nodes.

use super::current;
use krarup_gen::CallError;

/// Runs `work` as if it were called from outside any process. Its messages have no sender, no
/// process pays for them, and calls whose tokens it drops fail at once.
pub fn from_outside<R>(work: impl FnOnce() -> R) -> R {
    let _aside = current::set_aside();
    work()
}

/// Drops a message that was not accepted. The calls in it fail with this error.
pub fn drop_refused<T>(message: T, error: &CallError) {
    current::drop_refused(message, error);
}
