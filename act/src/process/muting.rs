//! Backpressure: how a process that floods another is muted, and released. The drawing is in
//! [`mailbox::muted_senders`](crate::mailbox::muted_senders).

use super::cell::Cell;
use super::crash::{contain, ignore};
use crate::host::ready::Ready;
use crate::host::worker_slot::WorkerSlot;
use crate::lock::LockGuard;
use crate::mailbox::inbox::{Inbox, MailboxPhase};
use crate::mailbox::muted_senders::MutedSender;
use crate::mailbox::push::CHARGE_STEP;
use crate::sync::Ordering;
use krarup_gen::Pid;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Mutes the process, whose turn is over, until the receiver of its messages has caught up.
    /// Returns the process if it need not wait.
    #[inline(never)]
    pub(super) fn mute(
        self: &Arc<Self>,
        receiver: u64,
        slot: &WorkerSlot,
        process: Ready,
    ) -> Option<Ready> {
        // Before it enters the line of the receiver, or it would enter it again at each turn.
        if self.inbox.lock().has_muted() {
            return Some(process);
        }
        let receiver = Pid::local(receiver, self.pid.creation());
        // The last handle on the receiver drops its route, which is user code.
        let entered = contain(|| {
            let receiver = self.host.process(receiver);
            receiver.is_some_and(|receiver| receiver.enter_muted(Arc::clone(self) as _))
        });
        // The poke bounds the wait, whatever the receiver does.
        if !entered.unwrap_or(false) || !self.list_for_poke() {
            return Some(process);
        }
        let mut inbox = self.inbox.lock();
        // The line of its own senders may have filled since the first look.
        if inbox.notified || inbox.wants_attention() || inbox.has_muted() {
            return Some(process);
        }
        slot.note_muted();
        inbox.park(MailboxPhase::Muted, process);
        None
    }

    /// Enters a sender that has overdrawn its turn; returns false if this process has caught up,
    /// or does not handle messages now.
    pub(super) fn enter_muted_sender(&self, sender: Arc<dyn MutedSender>) -> bool {
        let mut inbox = self.inbox.lock();
        let handles = matches!(inbox.phase, MailboxPhase::Active | MailboxPhase::Muted);
        if !handles || inbox.is_suspended() || self.waiting(inbox.accepted()) < CHARGE_STEP {
            return false;
        }
        inbox.enter_muted(sender);
        true
    }

    /// Releases the senders that have waited long enough, at the end of a turn of this process that
    /// goes on.
    #[inline]
    pub(super) fn release_due(&self, inbox: LockGuard<'_, Inbox<M, C>>) {
        if inbox.has_cold() && inbox.has_muted() {
            self.release_up_to(inbox, self.progress.taken.load(Ordering::Relaxed));
        }
    }

    #[cold]
    fn release_up_to(&self, mut inbox: LockGuard<'_, Inbox<M, C>>, taken: u64) {
        let has_caught_up = self.waiting(inbox.accepted()) < CHARGE_STEP;
        let due = inbox.take_muted(if has_caught_up { u64::MAX } else { taken });
        drop(inbox);
        release(due);
    }
}

/// Releases senders, under no lock. The last handle on a sender drops its route, which is user
/// code: a panic there keeps no other sender muted.
#[cold]
pub(super) fn release(senders: Vec<Arc<dyn MutedSender>>) {
    for sender in senders {
        ignore(move || sender.unmute());
    }
}

impl<M: Send + 'static, C: Send + 'static> MutedSender for Cell<M, C> {
    fn unmute(&self) {
        let mut inbox = self.inbox.lock();
        let ready = match inbox.phase {
            MailboxPhase::Active | MailboxPhase::Muted => inbox.ready_for_wake(),
            _ => None,
        };
        self.release(inbox, ready);
    }
}
