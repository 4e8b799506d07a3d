//! Exit signals, links and monitors of a process.

use super::context::Context;
use crate::observe::watch::{Watch, resolved, watch};
use crate::process::bonds;
use crate::process::process::Via;
use crate::process::progress::ContextMark;
use krarup_gen::{Exit, Pid, Reason, Ref, Target};
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Sets whether exit signals arrive as items instead of ending this process (rule L3).
    /// The argument is that of OTP's `process_flag(trap_exit, Flag)`.
    pub fn trap_exits(&mut self, trap: bool) {
        self.cell.inbox.lock().marks.set_trapping(trap);
    }

    /// From now on a stop requested by the parent or the node arrives as
    /// [`Received::Stop`](crate::Received::Stop) instead of as an exit signal (rules M3, D5).
    /// Actors, pools and supervisors do this.
    pub fn stop_in_order(&mut self) {
        self.cell.progress.note(ContextMark::StopsInOrder, true);
    }

    /// See [`BehaviorContext::stop_by_signal`](crate::BehaviorContext::stop_by_signal).
    pub(crate) fn stop_by_signal(&mut self) {
        self.cell.progress.note(ContextMark::StopsInOrder, false);
    }

    /// See [`BehaviorContext::hurry_end_of_parent`](crate::BehaviorContext::hurry_end_of_parent).
    pub(crate) fn hurry_end_of_parent(&mut self) {
        if let Some(parent) = self.cell.parent_pid() {
            bonds::hurry(&mut self.cell.locked_relations(), parent);
        }
    }

    /// Links this process to another; two-way and idempotent (rules L1, L4).
    pub fn link(&mut self, pid: Pid) {
        bonds::link(&**self.host(), &self.process(), pid, false);
    }

    /// Links, with the exit notice on the Urgent lane of this process (rule M3). An existing
    /// link becomes urgent.
    pub fn link_urgent(&mut self, pid: Pid) {
        bonds::link(&**self.host(), &self.process(), pid, true);
    }

    /// Removes a link. Its exit notice is not received any more, even if it is in the mailbox
    /// already (rule L5).
    pub fn unlink(&mut self, pid: Pid) {
        bonds::unlink(&**self.host(), &self.process(), pid);
    }

    /// Monitors a process: one [`Down`](krarup_gen::Down) will arrive in the mailbox (rules L4 to
    /// L6).
    ///
    /// The target is a pid, a [`Name`](krarup_gen::Name) or an [`Alias`](krarup_gen::Alias);
    /// the process that has the name or the alias now is monitored. To await the end instead,
    /// without the mailbox, use [`Context::watch`]. A process's monitor of itself never reports, as
    /// in Erlang.
    pub fn monitor(&mut self, target: impl Into<Target>) -> Ref {
        self.monitor_target(target.into(), false)
    }

    /// Monitors as [`Context::monitor`] does, with the notice on the Urgent lane (rule M3).
    pub fn monitor_urgent(&mut self, target: impl Into<Target>) -> Ref {
        self.monitor_target(target.into(), true)
    }

    fn monitor_target(&mut self, target: Target, urgent: bool) -> Ref {
        let target = resolved(&**self.host(), target);
        let monitor = self.make_ref();
        bonds::monitor(&**self.host(), &self.process(), monitor, target, urgent);
        monitor
    }

    /// Watches a process from now on: the returned future completes with the notice of its
    /// end, at once if there is no such process. Nothing arrives in the mailbox. The target is
    /// as for [`Context::monitor`]. A process that waits for its own end waits until it is killed.
    pub fn watch(&self, target: impl Into<Target>) -> Watch {
        watch(Arc::clone(self.host()), target.into())
    }

    /// Removes a monitor. Its notice is not received any more (rule L5). Returns whether the
    /// monitor existed and its notice had not been received.
    pub fn demonitor(&mut self, monitor: Ref) -> bool {
        bonds::demonitor(&**self.host(), &self.process(), monitor)
    }

    /// Sends an exit signal (Erlang's `exit/2`; rules L2, L3, L7). A signal to a dead process
    /// has no effect.
    pub fn exit(&self, pid: Pid, reason: Reason) {
        if let Some(process) = self.host().process(pid) {
            process.exit_signal(Exit { pid: self.pid(), reason }, Via::Signal);
        }
    }
}
