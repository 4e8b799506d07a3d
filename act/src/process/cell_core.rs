//! What a process has apart from its messages, and so apart from their types.
//!
//! Whatever works on this alone is compiled once; what works on a [`Cell`](super::cell::Cell) is compiled again for
//! each type of message (docs/decisions.md).

use super::crash::{contain, log_contained};
use super::deferred;
use super::facts::BehaviorFacts;
use super::locked_relations::LockedRelations;
use super::messages_in_hand::MessagesInHand;
use super::progress::{ProcessMark, Progress};
use super::rare_cell::RareCell;
use crate::host::ready::Ready;
use crate::host::shared_host::SharedHost;
use crate::lifecycle::cleaners::CleanerFn;
use crate::mailbox::inbox_core::InboxCore;
use crate::mailbox::push::HearsOfDepth;
use crate::observe::state_label::StateLabel;
use crate::sync::Ordering;
use krarup_gen::{
    DeadLetter, DeadLetterCause, Label, Name, Pid, ProcessKind, RefusalCause, Timestamp,
};
use once_cell::race::OnceBox;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// The last part of a cell. The order of the fields is their order in memory; see there.
#[repr(C)]
pub(crate) struct CellCore {
    pub(super) rare: OnceBox<RareCell>,
    pub(crate) shared: Arc<SharedHost>,
    /// The number of the process.
    pub(super) id: u64,
    pub(crate) progress: Progress,
    /// The number of the process that spawned it; 0 if it was spawned from outside.
    pub(super) parent: u64,
    pub(super) behavior: &'static BehaviorFacts,
    /// As the host last read the clock ([`Host::recent_time`](crate::Host::recent_time)).
    pub(crate) started: Timestamp,
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
        (self.parent != 0).then(|| Pid::local(self.parent, self.shared.creation))
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

    pub(crate) fn locked_relations(&self) -> LockedRelations<'_> {
        LockedRelations::lock(&self.progress.relations, &self.progress.turn, &self.rare)
    }

    /// Adds a function that runs at the end of the process. Gives it back if its cleaners have run.
    pub(crate) fn add_cleaner(&self, cleaner: CleanerFn) -> Result<(), CleanerFn> {
        let mut relations = self.locked_relations();
        if relations.is_cleaned() {
            return Err(cleaner);
        }
        relations.add_cleaner(cleaner);
        // A hint. The end of the process that does not see it yet finds the cleaner later.
        self.progress.set(ProcessMark::HasCleaners, true);
        Ok(())
    }

    pub(crate) fn label(&self) -> Label {
        let given = self.locked_relations().label().cloned();
        // The label of a behaviour is user code. Other threads call it too, also before the
        // first turn.
        let own = || Label::of_type(contain(self.behavior.label).unwrap_or("label panicked"));
        given.map_or_else(own, Label::given)
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

    pub(super) fn rare(&self) -> &RareCell {
        self.rare.get_or_init(Box::default)
    }

    /// The messages that its behaviour holds, if it has ever held any.
    pub(crate) fn in_hand(&self) -> Option<&Arc<MessagesInHand>> {
        self.rare.get().and_then(RareCell::in_hand)
    }

    /// The messages that its behaviour holds, from now on.
    pub(crate) fn begin_to_hold(&self) -> &Arc<MessagesInHand> {
        self.rare().begin_to_hold()
    }

    /// Counts a message of a control lane, or an event of a topic.
    pub(crate) fn count_beside_main(&self) {
        self.rare().count_beside_main();
    }

    /// How many messages were taken that Main does not count.
    pub(super) fn beside_main(&self) -> u64 {
        self.rare.get().map_or(0, RareCell::beside_main)
    }

    /// How many messages are in the stash of the process.
    pub(super) fn stashed(&self) -> usize {
        self.rare.get().map_or(0, RareCell::stashed)
    }

    /// Notes how many messages are in the stash, where others can read it.
    pub(crate) fn set_stashed(&self, messages: usize) {
        self.rare().set_stashed(messages);
    }

    /// How many messages the process has taken, with events of topics.
    pub(crate) fn handled(&self) -> u64 {
        self.progress.taken.load(Ordering::Relaxed) + self.beside_main()
    }

    /// How long workers were seen in the process.
    pub(super) fn running_time(&self) -> Duration {
        self.rare.get().map_or(Duration::ZERO, RareCell::running_time)
    }

    pub(super) fn add_running_time(&self, time: Duration) {
        self.rare().add_running_time(time);
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
