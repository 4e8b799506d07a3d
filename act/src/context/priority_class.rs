//! In which class a process is queued, where it says so itself (rule R6).

use super::context::Context;
use crate::process::progress::Said;
use crate::sync::Ordering;
use krarup_gen::Class;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Whether this process was spawned with [`Class::Varying`], as itself or by inheritance: then
    /// [`Context::set_class`] says in which class it is queued.
    #[must_use]
    pub fn class_varies(&self) -> bool {
        self.cell.host.class() == Class::Varying
    }

    /// Has this process queued in this class from now on: [`Class::High`], or any other as
    /// Normal. The class is looked at when it is queued, at the end of its turn if it has more to
    /// do, else when something has come for it; who lies in a queue stays where it is (Otavia).
    /// False, and nothing, unless [`Context::class_varies`].
    pub fn set_class(&mut self, class: Class) -> bool {
        let varies = self.class_varies();
        if varies {
            let said = if class == Class::High { Said::High } else { Said::Normal };
            // Whoever queues it has it from the turn, or by the lock of its mailbox.
            self.cell.progress.said.store(said as u8, Ordering::Relaxed);
        }
        varies
    }

    /// Whether anything lies on Main, or was taken off it and not received yet.
    pub(crate) fn has_main(&self) -> bool {
        self.main.as_ref().is_some_and(|main| !main.is_empty()) || self.cell.inbox.lock().has_main()
    }

    /// How much lies on the control lanes: commands, stops, inspections. For behaviours that
    /// choose their class by what waits for them.
    #[must_use]
    pub fn controls_waiting(&self) -> usize {
        self.cell.inbox.lock().controls()
    }
}
