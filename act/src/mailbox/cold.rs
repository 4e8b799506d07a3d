//! What the mailboxes of most processes never have.

use super::entry::ControlEntry;
use super::overflow::Overflow;
use super::waiting_senders::WaitingSenders;
use crate::calls::slot::SlotSender;
use crate::observe::trace::Tracer;
use krarup_gen::{Reason, SpawnError};
use std::collections::VecDeque;
use std::task::Waker;

/// What most processes never have.
pub(crate) struct ColdMailbox<M, C> {
    /// The process ends with this reason, without a word.
    pub(crate) doom: Option<Reason>,
    pub(crate) urgent: VecDeque<ControlEntry<C>>,
    pub(crate) system: VecDeque<ControlEntry<C>>,
    /// Told when `init` has returned or failed.
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// What is done with one message more than the bound (rule M6).
    pub(super) overflow: Overflow<M>,
    /// Senders that wait for room, the first first.
    pub(super) waiting: WaitingSenders<M>,
    /// How often the process has been suspended and not resumed (rule X5).
    pub(crate) suspended: u32,
    /// A tracer to be put in the place of the one there is.
    pub(crate) tracer: Option<Tracer<M, C>>,
    /// Of a future that waits for mail within a collection with wakers of its own: woken before
    /// the process is polled.
    pub(crate) receiver: Option<Waker>,
    /// A simulation has it panic when it next looks up.
    pub(crate) panics: bool,
}

impl<M, C> Default for ColdMailbox<M, C> {
    fn default() -> Self {
        ColdMailbox {
            doom: None,
            urgent: VecDeque::new(),
            system: VecDeque::new(),
            starter: None,
            overflow: Overflow::Refuse,
            waiting: WaitingSenders::default(),
            suspended: 0,
            tracer: None,
            receiver: None,
            panics: false,
        }
    }
}

impl<M, C> ColdMailbox<M, C> {
    pub(super) fn is_empty(&self) -> bool {
        self.doom.is_none()
            && self.urgent.is_empty()
            && self.system.is_empty()
            && self.starter.is_none()
            && matches!(self.overflow, Overflow::Refuse)
            && self.waiting.is_empty()
            && self.suspended == 0
            && self.tracer.is_none()
            && self.receiver.is_none()
            && !self.panics
    }
}
