//! What a process has apart from its messages, and so apart from their types.
//!
//! Whatever works on this alone is compiled once; what works on a [`Cell`](super::cell::Cell) is compiled again for
//! each type of message (docs/decisions.md).

use super::crash::{contain, log_contained};
use super::deferred;
use super::facts::BehaviorFacts;
use super::progress::{ProcessMark, Progress};
use super::waker::NotedHandle;
use crate::host::ready::Ready;
use crate::host::shared_host::SharedHost;
use crate::mailbox::inbox_core::InboxCore;
use crate::mailbox::push::HearsOfDepth;
use crate::observe::state_label::StateLabel;
use crate::sync::Ordering;
use krarup_gen::{
    DeadLetter, DeadLetterCause, Label, Name, Pid, ProcessKind, RefusalCause, Timestamp,
};
use std::ops::Deref;
use std::sync::Arc;

/// The last part of a cell. The order of the fields is their order in memory; see there.
#[repr(C)]
pub(crate) struct CellCore {
    pub(crate) shared: Arc<SharedHost>,
    /// The number of the process.
    pub(super) id: u64,
    pub(crate) progress: Progress,
    pub(super) parent: ParentNumber,
    /// The handle that can wake it and is not counted.
    pub(super) noted_handle: NotedHandle,
    pub(super) behavior: &'static BehaviorFacts,
    /// As the host last read the clock ([`Host::recent_time`](crate::Host::recent_time)).
    pub(crate) started: Timestamp,
}

/// The number of the process that spawned another one; 0: it was spawned from outside.
///
/// Numbers are dealt out one after the other, so they have no more than 56 bits, and a byte is left beside this.
pub(super) struct ParentNumber([u8; 7]);

impl ParentNumber {
    pub(super) fn of(parent: Option<Pid>) -> Self {
        let number = parent.map_or(0, Pid::id).to_le_bytes();
        match number.split_first_chunk() {
            Some((low, [0])) => ParentNumber(*low),
            // A number that another node has dealt out: it names nobody here.
            _ => ParentNumber([0; 7]),
        }
    }

    fn get(&self) -> u64 {
        let mut number = [0; 8];
        number[..7].copy_from_slice(&self.0);
        u64::from_le_bytes(number)
    }
}

/// The host is the process's own.
impl Deref for CellCore {
    type Target = SharedHost;

    #[inline]
    fn deref(&self) -> &SharedHost {
        &self.shared
    }
}

impl CellCore {
    #[inline]
    pub(crate) fn pid(&self) -> Pid {
        Pid::local(self.id, self.shared.creation)
    }

    pub(crate) fn parent_pid(&self) -> Option<Pid> {
        let parent = self.parent.get();
        (parent != 0).then(|| Pid::local(parent, self.shared.creation))
    }

    /// Does the same as `Cell::dead_letter` for a message whose type is known by its name.
    #[cold]
    pub(crate) fn dead_letter_named(
        &self,
        message: &'static str,
        sender: u64,
        cause: DeadLetterCause,
    ) {
        let from = (sender != 0).then(|| Pid::local(sender, self.pid().creation()));
        let letter = DeadLetter::new(self.pid(), from, message, cause);
        let host = Arc::clone(&self.host);
        // A subscriber converts the dead letter or logs it. That is user code, and must not
        // affect the sender.
        deferred::when_free(move || log_contained(|| host.dead_letter(letter)));
    }

    /// Sets whether its behaviour holds messages. Most calls change nothing.
    #[inline]
    pub(crate) fn set_holds_messages(&self, holds: bool) {
        self.progress.change(ProcessMark::HoldsMessages, holds);
    }

    /// What is known of its label from the type of its behaviour. That is user code. Other threads call it too, also before
    /// the first turn.
    pub(super) fn type_label(&self) -> Label {
        Label::of_type(contain(self.behavior.label).unwrap_or("label panicked"))
    }

    /// The text of a state that the process shows as its label, if that has a number.
    pub(super) fn text_of(&self, shown: StateLabel) -> Option<Name> {
        self.host.state_labels().name(shown.number()?)
    }

    /// What is known of the type of its behaviour.
    pub(crate) fn facts(&self) -> &'static BehaviorFacts {
        self.behavior
    }

    /// The kind of its behaviour. That is user code, as the label is.
    pub(crate) fn kind(&self) -> ProcessKind {
        contain(self.behavior.kind).unwrap_or_default()
    }

    /// The number of user messages that wait on Main. Called under the mailbox's lock.
    pub(crate) fn waiting(&self, inbox: &InboxCore) -> usize {
        inbox.waiting(self.progress.taken.load(Ordering::Relaxed)) as usize
    }

    /// Whether the mailbox holds anything that the process has not begun to handle.
    pub(crate) fn has_unhandled(&self, inbox: &InboxCore) -> bool {
        self.waiting(inbox) != 0 || inbox.is_asked()
    }

    /// Schedules the process, if there is one. No lock may be held, because the executor may be
    /// a user's.
    pub(crate) fn schedule_if(&self, ready: Option<Ready>) {
        if let Some(ready) = ready {
            self.host.schedule(ready);
        }
    }

    /// This part, of a cell.
    #[inline]
    pub(crate) fn core(&self) -> &CellCore {
        self
    }

    /// Counts a message that is given back to its sender, as a dead letter if the process has
    /// ended.
    #[cold]
    pub(crate) fn note_refusal(
        &self,
        refusal: Option<RefusalCause>,
        message: &'static str,
        sender: u64,
    ) {
        match refusal {
            Some(RefusalCause::NoProcess) => {
                self.dead_letter_named(message, sender, DeadLetterCause::NoProcess);
            }
            Some(cause) => self.host.count_refusal(cause),
            None => {}
        }
    }
}

impl HearsOfDepth for CellCore {
    /// Informs the host, which only records this and reports it later.
    #[cold]
    fn is_deep(&self, length: usize) {
        self.host.mailbox_is_deep(self.pid(), length);
    }
}
