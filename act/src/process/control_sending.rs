//! Putting entries on the control lanes of a process.

use super::cell::Cell;
use super::cell_core::CellCore;
use super::current;
use super::untyped_cell::UntypedCell;
use crate::host::ready::Ready;
use crate::mailbox::control_entry::{BoxedCommand, ControlEntry};
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase, MainPush};
use crate::sync::Ordering;
use crate::traces::open_span::OpenSpan;
use krarup_gen::{DeadLetterCause, Lane, Priority, SendError};

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Sends on the System or Urgent lane.
    pub(crate) fn send_control(&self, priority: Priority, message: C) -> Result<(), SendError<C>> {
        match self.untyped().send_command(priority, BoxedCommand::new(message)) {
            Ok(()) => Ok(()),
            Err(message) => {
                Err(SendError::NoProcess { message: message.into_message(), to: self.pid() })
            }
        }
    }
}

impl dyn UntypedCell + '_ {
    /// Sends on the System or Urgent lane. The message is given back if the process has ended.
    fn send_command(&self, priority: Priority, message: BoxedCommand) -> Result<(), BoxedCommand> {
        let core = self.cell_core();
        let sender = current::sender(core.pid().creation());
        let lane = if priority == Priority::Max { Lane::Urgent } else { Lane::System };
        let context = current::is_traced().then(|| current::carry(&*core.host, core.pid(), lane));
        let entry = match context.flatten() {
            None => ControlEntry::Message { sender, message },
            Some(context) => ControlEntry::Traced { sender, message, context },
        };
        let (message, context) = match self.push_control(priority, entry) {
            Err(ControlEntry::Message { message, .. }) => (message, None),
            Err(ControlEntry::Traced { message, context, .. }) => (message, Some(context)),
            _ => {
                current::count_sent();
                return Ok(());
            }
        };
        let cause = DeadLetterCause::NoProcess;
        if let Some(context) = context {
            OpenSpan::lost(&context, message.type_name(), cause.as_str());
        }
        core.dead_letter_named(message.type_name(), sender, cause);
        Err(message)
    }

    pub(super) fn push_control(
        &self,
        priority: Priority,
        entry: ControlEntry,
    ) -> Result<(), ControlEntry> {
        let ready = self.put_control(priority, entry)?;
        self.cell_core().schedule_if(ready);
        Ok(())
    }

    /// Does the same as `push_control`, but returns the process for the caller to
    /// schedule.
    pub(super) fn put_control(
        &self,
        priority: Priority,
        entry: ControlEntry,
    ) -> Result<Option<Ready>, ControlEntry> {
        let core = self.cell_core();
        let put = self.locked(|inbox| match inbox.way {
            MainPush::Direct => Ok(core.put_on_lane(inbox, priority, entry)),
            MainPush::SimulatedLink | MainPush::Route => Err(entry),
        });
        put.unwrap_or_else(|mut entry| {
            // A codec of the simulated link is user code, and runs under no lock.
            core.carry_control(&mut entry, priority);
            self.locked(|inbox| core.put_on_lane(inbox, priority, entry))
        })
    }
}

impl CellCore {
    fn put_on_lane(
        &self,
        inbox: &mut InboxCore,
        priority: Priority,
        entry: ControlEntry,
    ) -> Result<Option<Ready>, ControlEntry> {
        if inbox.phase == MailboxPhase::Terminated {
            return Err(entry);
        }
        if priority == Priority::Max {
            return Ok(self.put_urgent(inbox, entry));
        }
        inbox.cold().system.push_back(entry);
        Ok(self.attract(inbox))
    }

    /// Puts an entry on the Urgent lane. Returns the process to be scheduled.
    #[must_use]
    pub(super) fn put_urgent(&self, inbox: &mut InboxCore, entry: ControlEntry) -> Option<Ready> {
        inbox.cold().urgent.push_back(entry);
        self.attract(inbox)
    }

    /// Makes the process look at a control entry that was just put in. Returns it to be
    /// scheduled.
    #[must_use]
    pub(super) fn attract(&self, inbox: &mut InboxCore) -> Option<Ready> {
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_control();
        self.noted(inbox, ready)
    }
}
