//! Sends by the simulated link of a host: the simulated connection between a sender and a mailbox.
//!
//! The mailbox of a process that has joined a simulated link has `MainPush::SimulatedLink`. So the direct path of
//! a message ends in a branch that exists anyway for routes, and continues in this module.
//!
//! The simulated link may put a message before later messages of other senders, if the turns that sent
//! those ran while the first sender was already ready. On a node with several workers these
//! turns would have run at the same time, and either message could have been first. The
//! messages of one sender keep their order (rule M1), and no message passes a notice (rule M3).

use super::cell::Cell;
use super::cell_core::CellCore;
use crate::addressing::dynamic::Dynamic;
use crate::host::host::Sending;
use crate::host::ready::Ready;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::mailbox::inbox::Inbox;
use crate::mailbox::inbox_core::MailboxPhase;
use crate::mailbox::push::Refused;
use krarup_gen::{Pid, Priority, SendError};
use std::any::{Any, type_name};

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Sends on Main of a process that is not a route.
    #[cold]
    pub(crate) fn send_by_simulated_link(
        &self,
        message: M,
        sender: u64,
    ) -> Result<(), SendError<M>> {
        let message = self.carried(message, sender, Priority::Normal);
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Err(SendError::NoProcess { message, to: self.pid() });
        }
        match inbox.put(message, sender, self.pid().id(), &self.progress.taken, self.core()) {
            Ok(ready) => {
                self.settle(&mut inbox, sender);
                drop(inbox);
                if let Some(ready) = ready {
                    self.host.schedule(ready);
                }
                Ok(())
            }
            Err(refused) => {
                drop(inbox);
                match refused {
                    Refused::Overflow(message) => self.send_over(message, sender),
                    Refused::Full(message) => Err(SendError::Full { message, to: self.pid() }),
                    Refused::Dead(message) | Refused::Routed(message) => {
                        Err(SendError::NoProcess { message, to: self.pid() })
                    }
                }
            }
        }
    }

    /// Puts an entry into room that was kept for it. Gives it back if the process has ended.
    #[cold]
    pub(crate) fn fill_by_simulated_link(
        &self,
        entry: MailboxEntry<M>,
    ) -> Result<Option<Ready>, MailboxEntry<M>> {
        let entry = self.carried_entry(entry);
        self.fill_carried(entry)
    }

    /// Does the same as [`Cell::carried`] for a whole entry.
    #[cold]
    pub(crate) fn carried_entry(&self, mut entry: MailboxEntry<M>) -> MailboxEntry<M> {
        let sender = entry.sender;
        match &mut entry.body {
            Body::Message(message) => self.carry(message, sender, Priority::Normal),
            Body::Notice(notice) => match &mut **notice {
                Notice::Other(other, _) => self.carry(other, sender, Priority::Normal),
                Notice::Job(job) => {
                    if let Some(message) = job.message_mut() {
                        self.carry(message, sender, Priority::Normal);
                    }
                }
                // Entries of the runtime, and messages that a process sends to itself.
                _ => {}
            },
            Body::Event(_) => {}
        }
        entry
    }

    /// Does the same as [`Cell::fill_by_simulated_link`] for an entry that the simulated link has already carried.
    /// Runs no user code.
    #[cold]
    pub(crate) fn fill_carried(
        &self,
        entry: MailboxEntry<M>,
    ) -> Result<Option<Ready>, MailboxEntry<M>> {
        let sender = entry.sender;
        let mut inbox = self.inbox.lock();
        let ready = inbox.fill(entry, self.core())?;
        self.settle(&mut inbox, sender);
        Ok(ready)
    }

    /// Returns the message as it comes out of the simulated link, or unchanged if there is none.
    fn carried<T: Send + 'static>(&self, mut message: T, sender: u64, priority: Priority) -> T {
        self.carry(&mut message, sender, priority);
        message
    }

    /// Carries a message.
    fn carry<T: Send + 'static>(&self, message: &mut T, sender: u64, priority: Priority) {
        self.carry_untyped(message, type_name::<T>(), sender, priority);
    }

    fn settle(&self, inbox: &mut Inbox<M>, sender: u64) {
        self.settle_by(sender, &mut |places| inbox.overtake(places));
    }
}

impl CellCore {
    /// Does the same as [`Cell::carried`] for an entry of the control lanes.
    #[cold]
    pub(super) fn carry_control(&self, entry: &mut ControlEntry, priority: Priority) {
        if let ControlEntry::Message { sender, message }
        | ControlEntry::Traced { sender, message, .. } = entry
        {
            let type_name = message.type_name();
            self.carry_untyped(message.value_mut(), type_name, *sender, priority);
        }
    }

    /// Carries a message. The value in a [`Dynamic`] is carried as its own type.
    fn carry_untyped(
        &self,
        message: &mut dyn Any,
        type_name: &'static str,
        sender: u64,
        priority: Priority,
    ) {
        let Some(simulated_link) = self.host.simulated_link() else { return };
        let from = (sender != 0).then(|| Pid::local(sender, self.pid().creation()));
        let sending = |type_name| Sending { from, to: self.pid(), priority, type_name };
        if let Some(dynamic) = message.downcast_mut::<Dynamic>() {
            simulated_link.carry(&sending(dynamic.type_name()), dynamic.value_mut());
        } else {
            simulated_link.carry(&sending(type_name), message);
        }
    }

    fn settle_by(&self, sender: u64, overtake: &mut dyn FnMut(usize) -> usize) {
        if let Some(simulated_link) = self.host.simulated_link() {
            simulated_link.arrives(self.pid(), sender == 0, overtake);
        }
    }

    /// Notes an entry other than a message that has reached a process without scheduling it. Called under the lock of
    /// the mailbox.
    #[cold]
    pub(super) fn touch_simulated_link(&self) {
        if let Some(simulated_link) = self.host.simulated_link() {
            simulated_link.touches(self.pid());
        }
    }
}
