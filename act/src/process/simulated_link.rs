//! Sending by the wire of a host: what a simulation puts between a sender and a mailbox.
//!
//! A process that has joined a wire has `Way::Wire` in its mailbox, so that the straight way
//! of a message ends there, in a branch that it has anyway for routes, and goes on here.
//!
//! The wire may put a message before others that have come since: those of other senders, sent
//! by turns that ran while the sender was ready already. On a node of several workers they
//! would have run at the same time, and either could have been first. What one process sends
//! keeps its order (rule M1), and nothing passes a notice (rule M3).

use super::cell::Cell;
use crate::addressing::dynamic::Dynamic;
use crate::host::host::Sending;
use crate::host::ready::Ready;
use crate::lock::LockGuard;
use crate::mailbox::entry::{Body, ControlEntry, MailboxEntry, Notice};
use crate::mailbox::inbox::{Inbox, MailboxPhase, Refused};
use crate::sync::Ordering;
use krarup_gen::{Pid, Priority, SendError};
use std::any::{Any, type_name};

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Sends on Main, which is no route.
    #[cold]
    pub(crate) fn send_by_wire(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        let message = self.carried(message, sender, Priority::Normal);
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Err(SendError::NoProcess(message));
        }
        let taken = || self.progress.taken.load(Ordering::Relaxed);
        let deep = |length| self.is_deep(length);
        let put = inbox.put(message, sender, self.pid.id(), taken, deep);
        match put {
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
                    Refused::Over(message) => self.send_over(message, sender),
                    Refused::Full(message) => Err(SendError::Full(message)),
                    Refused::Dead(message) | Refused::Aside(message) => {
                        Err(SendError::NoProcess(message))
                    }
                }
            }
        }
    }

    /// Puts an entry into room that was kept for it; gives it back if the process has ended.
    #[cold]
    pub(crate) fn fill_by_wire(
        &self,
        entry: MailboxEntry<M>,
    ) -> Result<Option<Ready>, MailboxEntry<M>> {
        let entry = self.carried_entry(entry);
        self.fill_carried(entry)
    }

    /// As [`Cell::carried`], of a whole entry.
    #[cold]
    pub(crate) fn carried_entry(&self, mut entry: MailboxEntry<M>) -> MailboxEntry<M> {
        let sender = entry.sender;
        match &mut entry.body {
            Body::Message(message) => self.carry(message, sender, Priority::Normal),
            Body::Notice(notice) => match &mut **notice {
                Notice::Other(other) => self.carry(other, sender, Priority::Normal),
                Notice::Job(job) => {
                    if let Some(message) = job.message_mut() {
                        self.carry(message, sender, Priority::Normal);
                    }
                }
                // The runtime's own, and what a process sends itself.
                _ => {}
            },
        }
        entry
    }

    /// As [`Cell::fill_by_wire`], of what has come out of the wire: runs nothing of a user's.
    #[cold]
    pub(crate) fn fill_carried(
        &self,
        entry: MailboxEntry<M>,
    ) -> Result<Option<Ready>, MailboxEntry<M>> {
        let sender = entry.sender;
        let mut inbox = self.inbox.lock();
        let ready = inbox.fill(entry, |length| self.is_deep(length))?;
        self.settle(&mut inbox, sender);
        Ok(ready)
    }

    /// As [`Cell::carried`], of what goes by the control lanes.
    #[cold]
    pub(crate) fn carried_control(
        &self,
        entry: ControlEntry<C>,
        priority: Priority,
    ) -> ControlEntry<C> {
        match entry {
            ControlEntry::Message { sender, message } => {
                ControlEntry::Message { sender, message: self.carried(message, sender, priority) }
            }
            other => other,
        }
    }

    /// The message as it comes out of the wire, if there is one.
    fn carried<T: Send + 'static>(&self, mut message: T, sender: u64, priority: Priority) -> T {
        self.carry(&mut message, sender, priority);
        message
    }

    /// What is wrapped in a [`Dynamic`] is carried as what it is.
    fn carry<T: Send + 'static>(&self, message: &mut T, sender: u64, priority: Priority) {
        let Some(wire) = self.host.wire() else { return };
        let from = (sender != 0).then(|| Pid::local(sender, self.pid.creation()));
        let sending = |type_name| Sending { from, to: self.pid, priority, type_name };
        let any: &mut dyn Any = message;
        if let Some(dynamic) = any.downcast_mut::<Dynamic>() {
            wire.carry(&sending(dynamic.type_name()), dynamic.value_mut());
        } else {
            wire.carry(&sending(type_name::<T>()), any);
        }
    }

    fn settle(&self, inbox: &mut Inbox<M, C>, sender: u64) {
        if let Some(wire) = self.host.wire() {
            wire.arrives(self.pid, sender == 0, &mut |places| inbox.overtake(places));
        }
    }

    /// Something that is no message has come to a process that is not scheduled by it.
    #[cold]
    pub(crate) fn note_by_wire(&self, inbox: LockGuard<'_, Inbox<M, C>>) {
        if let Some(wire) = self.host.wire() {
            wire.touches(self.pid);
        }
        drop(inbox);
    }
}
