//! Backpressure: how a process that floods another is muted, and released. The drawing is in
//! [`mailbox::muted_senders`](crate::mailbox::muted_senders).

use super::cell::Cell;
use super::cell_core::CellCore;
use super::crash::{contain, ignore};
use super::untyped_cell::UntypedCell;
use crate::host::ready::Ready;
use crate::host::worker_slot::WorkerSlot;
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase};
use crate::mailbox::muted_senders::MutedSender;
use crate::mailbox::push::CHARGE_STEP;
use crate::sync::Ordering;
use krarup_gen::Pid;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Mutes the process, whose turn is over, until the receiver of its messages has caught up.
    /// Returns the process if it need not wait.
    pub(super) fn mute(
        self: &Arc<Self>,
        receiver: u64,
        slot: &WorkerSlot,
        process: Ready,
    ) -> Option<Ready> {
        let sender = || Arc::clone(self) as Arc<dyn MutedSender>;
        // The poke bounds the wait, whatever the receiver does.
        if self.untyped().enters_line_of(receiver, &sender) && self.list_for_poke() {
            self.untyped().rest_muted(slot, process)
        } else {
            Some(process)
        }
    }
}

impl dyn UntypedCell + '_ {
    /// Has the process enter the line of a receiver. Returns whether it has.
    #[inline(never)]
    fn enters_line_of(&self, receiver: u64, sender: &dyn Fn() -> Arc<dyn MutedSender>) -> bool {
        // Before it enters the line of the receiver, or it would enter it again at each turn.
        if self.locked(|inbox| inbox.has_muted()) {
            return false;
        }
        let core = self.cell_core();
        let receiver = Pid::local(receiver, core.pid().creation());
        // The last handle on the receiver drops its route, which is user code.
        let entered = contain(|| {
            let receiver = core.host.process(receiver);
            receiver.is_some_and(|receiver| receiver.enter_muted(sender()))
        });
        entered.unwrap_or(false)
    }

    /// Parks a process that has entered the line of a receiver. Returns it if it need not wait.
    fn rest_muted(&self, slot: &WorkerSlot, process: Ready) -> Option<Ready> {
        self.locked(|inbox| {
            // The line of its own senders may have filled since the first look.
            if inbox.marks.is_woken() || inbox.wants_attention() || inbox.has_muted() {
                return Some(process);
            }
            slot.note_muted();
            inbox.park(MailboxPhase::Muted, process);
            None
        })
    }

    /// Enters a sender that has overdrawn its turn; returns false if this process has caught up,
    /// or does not handle messages now.
    pub(super) fn enter_muted_sender(&self, sender: Arc<dyn MutedSender>) -> bool {
        let core = self.cell_core();
        // One that need not wait is dropped outside the lock: its last handle drops its route, which is user code.
        let mut sender = Some(sender);
        self.locked(|inbox| {
            let handles = matches!(inbox.phase, MailboxPhase::Active | MailboxPhase::Muted);
            if !handles || inbox.is_suspended() || core.waiting(inbox) < CHARGE_STEP {
                return false;
            }
            let taken = core.progress.taken.load(Ordering::Relaxed);
            sender.take().map(|sender| inbox.enter_muted(sender, taken)).is_some()
        })
    }
}

impl CellCore {
    /// Takes out the senders that have waited long enough, at the end of a turn of this process that
    /// goes on.
    pub(super) fn take_due(&self, inbox: &mut InboxCore) -> Option<Vec<Arc<dyn MutedSender>>> {
        if !inbox.has_muted() {
            return None;
        }
        let has_caught_up = self.waiting(inbox) < CHARGE_STEP;
        let taken = self.progress.taken.load(Ordering::Relaxed);
        inbox.take_muted(if has_caught_up { u64::MAX } else { taken })
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
        self.untyped().unmute();
    }
}

impl dyn UntypedCell + '_ {
    fn unmute(&self) {
        let core = self.cell_core();
        let ready = self.locked(|inbox| {
            let ready = match inbox.phase {
                MailboxPhase::Active | MailboxPhase::Muted => inbox.ready_for_wake(),
                _ => None,
            };
            core.noted(inbox, ready)
        });
        core.schedule_if(ready);
    }
}
