//! Exit signals, links and monitors of a process.

use super::context::Context;
use crate::observe::monitor::{Monitor, watch};
use crate::process::bonds;
use crate::process::process::Via;
use krarup_gen::{Alias, Exit, Name, NameError, Pid, Reason, Ref, Target};
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Sets whether exit signals arrive as items instead of ending this process (rule L3).
    pub fn trap_exits(&mut self, trap: bool) {
        self.cell.inbox.lock().trapping = trap;
    }

    /// Sets whether a stop requested by the parent or the node arrives as
    /// [`crate::Received::Stop`] instead of as an exit signal (rules M3, D5). Actors, pools
    /// and supervisors set this.
    pub fn stop_in_order(&mut self, orderly: bool) {
        self.cell.inbox.lock().orderly = orderly;
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

    /// Monitors a process; one [`krarup_gen::Down`] will arrive (rules L4 to L6).
    pub fn monitor(&mut self, pid: Pid) -> Ref {
        self.monitor_target(Target::Pid(pid), false)
    }

    /// Monitors a process, with the notice on the Urgent lane (rule M3).
    pub fn monitor_urgent(&mut self, pid: Pid) -> Ref {
        self.monitor_target(Target::Pid(pid), true)
    }

    /// Monitors the process that has the name now.
    ///
    /// # Errors
    /// The text is not a valid name.
    pub fn monitor_name(&mut self, name: impl AsRef<str>) -> Result<Ref, NameError> {
        let name = Name::new(name)?;
        let pid = self.host().whereis(name.as_str()).map(|process| process.pid());
        Ok(self.monitor_target(Target::Name(name, pid), false))
    }

    /// Monitors the process that has the alias now.
    pub fn monitor_alias(&mut self, alias: Alias) -> Ref {
        let pid = self.host().by_alias(alias).map(|process| process.pid());
        self.monitor_target(Target::Alias(alias, pid), false)
    }

    fn monitor_target(&mut self, target: Target, urgent: bool) -> Ref {
        let monitor = self.make_ref();
        bonds::monitor(&**self.host(), &self.process(), monitor, target, urgent);
        monitor
    }

    /// Monitors a process without the mailbox: the returned future completes with the notice,
    /// at once if there is no such process.
    pub fn watch(&self, pid: Pid) -> Monitor {
        watch(Arc::clone(self.host()), Target::Pid(pid))
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
