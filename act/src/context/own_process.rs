//! A handle of a process on itself.

use super::context::Context;
use crate::addressing::dynamic::Dynamic;
use crate::host::host::{Alarm, TimerKey};
use crate::mailbox::entry::Notice;
use crate::process::cell::Cell;
use crate::process::crash::drop_contained;
use crate::process::outside::drop_refused;
use krarup_gen::{CallError, DeadLetterCause, Pid, Ref, Timestamp};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// A handle of a process on itself; made by
/// [`BehaviorContext::own_process`](crate::BehaviorContext::own_process). For behaviours: for what
/// they must also do while a handler has borrowed the context, and in destructors.
pub struct OwnProcess<M, C = M> {
    cell: Arc<Cell<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::own_process`](crate::BehaviorContext::own_process).
    pub(crate) fn own_process(&self) -> OwnProcess<M, C> {
        OwnProcess { cell: Arc::clone(&self.cell) }
    }
}

impl<M: Send + 'static, C: Send + 'static> OwnProcess<M, C> {
    /// Returns the pid of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid()
    }

    /// Has the process notified at this time, with [`Received::Alarm`](crate::Received::Alarm) on
    /// its Main lane. The behaviour must cancel the alarm when it ends. A notice that was sent
    /// cannot be taken back: the behaviour must know which of its alarms still count. An actor
    /// ignores alarms.
    pub fn set_alarm(&self, due: Timestamp) -> (Ref, TimerKey) {
        let alarm = self.cell.host.next_ref();
        let cell = Arc::downgrade(&self.cell);
        let ring = move || {
            if let Some(cell) = cell.upgrade() {
                cell.push_notice(Notice::Alarm(alarm));
            }
        };
        (alarm, self.cell.host.set_timer(due, Alarm::Run(Box::new(ring))))
    }

    /// Has the process notified now, as by an alarm that is due.
    pub fn ring_alarm(&self) -> Ref {
        let alarm = self.cell.host.next_ref();
        self.cell.push_notice(Notice::Alarm(alarm));
        alarm
    }

    /// Cancels an alarm. It has no effect on one that has fired.
    pub fn cancel_alarm(&self, key: TimerKey) {
        self.cell.host.cancel_timer(key);
    }

    /// Says whether the behaviour holds messages that it has received and not handled. While it does,
    /// the process is not passivated (rule D10).
    #[inline]
    pub fn set_holds_messages(&self, holds: bool) {
        self.cell.set_holds_messages(holds);
    }

    /// Drops a message that a handler has seen and that will not be handled again, and counts it
    /// as a dead letter of this sender. A destructor that panics does no harm.
    pub fn lose(&self, message: M, sender: Option<Pid>) {
        self.lose_named(type_name::<M>(), message, sender);
    }

    /// As [`OwnProcess::lose`], for a message of another type.
    pub fn lose_other(&self, message: Dynamic, sender: Option<Pid>) {
        self.lose_named(message.type_name(), message, sender);
    }

    fn lose_named<T>(&self, type_name: &'static str, message: T, sender: Option<Pid>) {
        self.count_lost(type_name, sender, DeadLetterCause::Unhandled);
        drop_contained(message);
    }

    /// Drops a message for which the behaviour has no room, and counts it as a dead letter of
    /// this sender. A call in it fails with [`CallError::Full`].
    pub fn refuse(&self, message: M, sender: Option<Pid>) {
        self.refuse_named(type_name::<M>(), message, sender);
    }

    /// As [`OwnProcess::refuse`], for a message of another type.
    pub fn refuse_other(&self, message: Dynamic, sender: Option<Pid>) {
        self.refuse_named(message.type_name(), message, sender);
    }

    fn refuse_named<T>(&self, type_name: &'static str, message: T, sender: Option<Pid>) {
        self.count_lost(type_name, sender, DeadLetterCause::Overflow);
        drop_refused(message, &CallError::Full { to: self.cell.pid() });
    }

    fn count_lost(&self, type_name: &'static str, sender: Option<Pid>, cause: DeadLetterCause) {
        self.cell.dead_letter_named(type_name, sender.map_or(0, Pid::id), cause);
    }
}

impl<M, C> fmt::Debug for OwnProcess<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnProcess({})", self.cell.pid())
    }
}
