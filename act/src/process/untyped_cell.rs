//! A cell whose types of messages are not known.
//!
//! A process can be asked, stopped, suspended, traced and woken without its messages. All of that is compiled once, for
//! [`UntypedCell`], and not again for each type of message (docs/decisions.md).

use super::cell_core::CellCore;
use super::current;
use crate::mailbox::inbox_core::InboxCore;

/// A cell whose types of messages are not known.
pub(crate) trait UntypedCell {
    /// The part of the cell that knows no type of message.
    fn cell_core(&self) -> &CellCore;

    /// Runs `f` once, with that part of the mailbox, under its lock.
    fn with_inbox(&self, f: &mut dyn FnMut(&mut InboxCore));
}

impl dyn UntypedCell + '_ {
    /// Does the same as [`UntypedCell::with_inbox`], and returns what `f` returns. What `f` has captured by value and does
    /// not return is dropped under the lock, so that must not be a user's.
    pub(super) fn locked<T>(&self, f: impl FnOnce(&mut InboxCore) -> T) -> T {
        let (mut f, mut result) = (Some(f), None);
        self.with_inbox(&mut |inbox| result = f.take().map(|f| f(inbox)));
        match result {
            Some(result) => result,
            None => unreachable!("the function has run"),
        }
    }

    /// Whether the process is a task that its owner may wait for.
    #[cold]
    pub(crate) fn is_task(&self) -> bool {
        self.locked(|inbox| inbox.is_awaited())
    }

    /// Called by a task that waits. If it waits for an answer, it searches for a cycle of waits
    /// when it has parked, although no request lies in its mailbox: its owner may wait for it.
    pub(crate) fn may_be_awaited(&self) {
        if !current::wait().is_none() {
            self.locked(|inbox| inbox.cold().awaited = true);
        }
    }
}
