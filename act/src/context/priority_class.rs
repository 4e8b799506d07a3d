//! The class in which a process is queued, if it chooses it itself (rule R6).

use super::context::Context;
use crate::process::progress::ProcessMark;
use krarup_gen::Class;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::class_varies`](crate::BehaviorContext::class_varies).
    pub(crate) fn class_varies(&self) -> bool {
        self.cell.host.class() == Class::Varying
    }

    /// Sets the class in which this process is queued from now on: [`Class::High`], or any
    /// other as Normal. The class is read when the process is queued: at the end of its turn
    /// if it has more to do, otherwise when an item has arrived for it. A process that is in a
    /// queue already stays there (Otavia). Returns false and changes nothing unless
    /// this process has [`Class::Varying`], set at its spawn or inherited.
    pub fn set_class(&mut self, class: Class) -> bool {
        let varies = self.class_varies();
        if varies {
            // Relaxed: whatever queues the process synchronises with this turn, directly or by
            // the mailbox's lock.
            self.cell.progress.change(ProcessMark::IsHigh, class == Class::High);
            self.cell.progress.change(ProcessMark::HasClass, true);
        }
        varies
    }

    /// Whether an entry waits on Main, or was taken off it and not received yet.
    pub(crate) fn has_main(&self) -> bool {
        self.main.as_ref().is_some_and(|main| !main.is_empty()) || self.cell.inbox.lock().has_main()
    }

    /// See [`BehaviorContext::controls_waiting`](crate::BehaviorContext::controls_waiting).
    pub(crate) fn controls_waiting(&self) -> usize {
        self.cell.inbox.lock().controls()
    }
}
