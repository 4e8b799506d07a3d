//! A cell whose types of messages are not known.
//!
//! A process can be asked, stopped, suspended, traced and woken without its messages. All of that is compiled once, for
//! [`UntypedCell`], and not again for each type of message (docs/decisions.md).

use super::cell_core::CellCore;
use super::current;
use super::locked_relations::{LockedRelations, RelationsPlace};
use super::progress::ProcessMark;
use crate::lifecycle::cleaners::CleanerFn;
use crate::mailbox::inbox_core::InboxCore;
use krarup_gen::Label;

/// A cell whose types of messages are not known.
pub(crate) trait UntypedCell: RelationsPlace {
    /// The part of the cell that knows no type of message.
    fn cell_core(&self) -> &CellCore;

    /// Runs `f` once, with that part of the mailbox, under its lock.
    fn with_inbox(&self, f: &mut dyn FnMut(&mut InboxCore));
}

impl dyn UntypedCell + '_ {
    pub(crate) fn locked_relations(&self) -> LockedRelations<'_> {
        let progress = &self.cell_core().progress;
        LockedRelations::lock(&progress.relations, &progress.turn, self)
    }

    /// Adds a function that runs at the end of the process. Gives it back if its cleaners have run.
    pub(crate) fn add_cleaner(&self, cleaner: CleanerFn) -> Result<(), CleanerFn> {
        let mut relations = self.locked_relations();
        if relations.is_cleaned() {
            return Err(cleaner);
        }
        relations.add_cleaner(cleaner);
        // A hint. The end of the process that does not see it yet finds the cleaner later.
        self.cell_core().progress.set(ProcessMark::HasCleaners, true);
        Ok(())
    }

    pub(crate) fn label(&self) -> Label {
        let given = self.locked_relations().label().cloned();
        given.map_or_else(|| self.cell_core().type_label(), Label::given)
    }

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
