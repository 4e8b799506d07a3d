//! Events of a process's own, for behaviours that queue them: OTP's `next_event`.
//!
//! Between two such events the process looks at nothing but requests that also a suspended
//! process obeys: a stop, an inspection, a suspension. Messages and notices stay in the mailbox,
//! on their lanes and in their order. Each event costs a message of the budget, so a process
//! whose events never end shares its worker.

use super::context::Context;
use super::receive::LookedUp;
use crate::mailbox::inbox_core::InboxCore;
use crate::process::current;
use crate::process::turn_state::Wants;
use crate::received::Received;
use krarup_gen::Pid;
use std::sync::atomic::Ordering;
use std::task::Poll;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::poll_request`](crate::BehaviorContext::poll_request).
    pub(crate) fn poll_request(&mut self) -> Poll<Option<Received<M, C>>> {
        if self.cell.progress.attention.load(Ordering::Relaxed) {
            match self.look_up(InboxCore::take_request) {
                LookedUp::Item(item) => return Poll::Ready(Some(self.shown(item))),
                LookedUp::Wait(wants) => return self.pending(wants),
                LookedUp::Main => {}
            }
        }
        if self.is_suspended() {
            return self.pending(Wants::Control);
        }
        if current::spend(&self.cell.host) { Poll::Ready(None) } else { self.pending(Wants::Turn) }
    }

    /// See [`BehaviorContext::sender_number`](crate::BehaviorContext::sender_number).
    #[inline]
    pub(crate) fn sender_number(&self) -> u64 {
        self.sender
    }

    /// See [`BehaviorContext::set_sender`](crate::BehaviorContext::set_sender).
    pub(crate) fn set_sender(&mut self, sender: Option<Pid>) {
        self.sender = sender.map_or(0, Pid::id);
    }
}
