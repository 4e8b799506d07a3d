//! The parts of a mailbox that most processes never use.

use super::control_entry::ControlEntry;
use super::muted_senders::MutedSenders;
use super::waiting_senders::WaitingSenders;
use crate::calls::slot::SlotSender;
use crate::cold_box::ColdBox;
use crate::observe::item_log::ItemLog;
use crate::process::current::CurrentContext;
use crate::process::exit_source::ExitSource;
use krarup_gen::{Reason, SpawnError};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// The parts of a mailbox that most processes never use. They know no type of message.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ColdMailbox {
    /// A pending exit: the process ends with this reason and without `terminate`.
    pub(crate) pending_exit: Option<Reason>,
    /// Where the pending exit came from. It stays when the exit is taken.
    pub(crate) exit_source: Option<ExitSource>,
    pub(crate) urgent: VecDeque<ControlEntry>,
    pub(crate) system: VecDeque<ControlEntry>,
    /// The slot of the spawner, filled when `init` has returned or failed.
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// What happens to a message that exceeds the bound (rule M6): an `Overflow` of the type of the messages. `None`: it
    /// is refused.
    pub(super) overflow: Option<Box<dyn Any + Send>>,
    /// The messages that were dropped as the oldest of a full mailbox. Each was accepted, and its place in
    /// `InboxCore::accepted` went to the message that it made room for.
    pub(super) dropped: u64,
    /// The senders that wait for room, in order of arrival.
    pub(super) waiting: WaitingSenders,
    /// The number of suspensions that have not been resumed (rule X5).
    pub(crate) suspended: u32,
    /// A tracer that is to replace the current one: a `Tracer` of the types of the messages.
    pub(crate) tracer: Option<Box<dyn Any + Send>>,
    /// The flight recorder and the trace, if one of them is on.
    pub(crate) item_log: Option<Arc<ItemLog>>,
    /// Whether the process has not seen the last change of `item_log`.
    pub(crate) log_changed: bool,
    /// The waker of a receive future in a collection that has wakers of its own. It is woken
    /// before the process is polled.
    pub(crate) receiver: Option<Waker>,
    /// Fault injection of a simulation: the process panics when it next checks `attention`.
    pub(crate) panics: bool,
    /// The context was dropped before the process had started. It counts as started when its next poll begins, unless it
    /// has ended by then.
    pub(crate) without_context: bool,
    /// The process waits inside a task, and its owner may wait for the task, with no request in
    /// this mailbox.
    pub(crate) awaited: bool,
    /// The trace context of the message in hand, while the process waits in its handler.
    pub(crate) context: Option<Box<CurrentContext>>,
    /// The senders that wait until the process has caught up (rule R1).
    pub(super) muted: MutedSenders,
}

impl ColdMailbox {
    #[cold]
    #[inline(never)]
    pub(super) fn with_overflow(overflow: Box<dyn Any + Send>) -> ColdBox<Self> {
        ColdBox::new(ColdMailbox { overflow: Some(overflow), ..ColdMailbox::default() })
    }

    /// Its bytes, with those of the control lanes.
    pub(super) fn bytes(&self) -> usize {
        let entries = self.urgent.capacity() + self.system.capacity();
        let commands: usize =
            self.urgent.iter().chain(&self.system).map(ControlEntry::boxed_bytes).sum();
        size_of_val(self) + entries * size_of::<ControlEntry>() + commands
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending_exit.is_none()
            && self.exit_source.is_none()
            && self.urgent.is_empty()
            && self.system.is_empty()
            && self.starter.is_none()
            && self.overflow.is_none()
            && self.dropped == 0
            && self.waiting.is_empty()
            && self.suspended == 0
            && self.tracer.is_none()
            && self.item_log.is_none()
            && !self.log_changed
            && self.receiver.is_none()
            && !self.panics
            && !self.without_context
            && !self.awaited
            && self.context.is_none()
            && self.muted.is_empty()
    }
}
