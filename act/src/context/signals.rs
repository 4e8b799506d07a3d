//! What a process can do to others, and they to it: exit signals, links, monitors.

use super::context::Context;
use crate::observe::monitor::{Monitor, watch};
use crate::process::bonds;
use crate::process::process::Via;
use krarup_gen::{Alias, Exit, Name, NameError, Pid, Reason, Ref, Target};
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Whether exit signals arrive as items instead of ending this process (rule L3).
    pub fn trap_exits(&mut self, trap: bool) {
        self.cell.inbox.lock().trapping = trap;
    }

    /// Whether a stop asked for by the parent or the node arrives as
    /// [`crate::Received::Stop`] instead of as an exit signal (rules M3, D5). Actors, pools
    /// and supervisors do this.
    pub fn stop_in_order(&mut self, orderly: bool) {
        self.cell.inbox.lock().orderly = orderly;
    }

    /// Links this process to another: two-way, idempotent (rules L1, L4).
    pub fn link(&mut self, pid: Pid) {
        bonds::link(&**self.host(), &self.process(), pid, false);
    }

    /// Links, and has the exit notice take the Urgent lane of this process (rule M3).
    /// A link there already becomes urgent.
    pub fn link_urgent(&mut self, pid: Pid) {
        bonds::link(&**self.host(), &self.process(), pid, true);
    }

    /// Takes the link away; no exit comes by it any more, not even one that lies in
    /// the mailbox (rule L5).
    pub fn unlink(&mut self, pid: Pid) {
        bonds::unlink(&**self.host(), &self.process(), pid);
    }

    /// Monitors a process: one [`krarup_gen::Down`] will come (rules L4 to L6).
    pub fn monitor(&mut self, pid: Pid) -> Ref {
        self.monitor_target(Target::Pid(pid), false)
    }

    /// Monitors, and has the notice take the Urgent lane (rule M3).
    pub fn monitor_urgent(&mut self, pid: Pid) -> Ref {
        self.monitor_target(Target::Pid(pid), true)
    }

    /// Monitors whoever has the name now.
    ///
    /// # Errors
    /// The text cannot be a name.
    pub fn monitor_name(&mut self, name: impl AsRef<str>) -> Result<Ref, NameError> {
        let name = Name::new(name)?;
        let pid = self.host().whereis(name.as_str()).map(|process| process.pid());
        Ok(self.monitor_target(Target::Name(name, pid), false))
    }

    /// Monitors whoever has the alias now.
    pub fn monitor_alias(&mut self, alias: Alias) -> Ref {
        let pid = self.host().by_alias(alias).map(|process| process.pid());
        self.monitor_target(Target::Alias(alias, pid), false)
    }

    fn monitor_target(&mut self, target: Target, urgent: bool) -> Ref {
        let monitor = self.make_ref();
        bonds::monitor(&**self.host(), &self.process(), monitor, target, urgent);
        monitor
    }

    /// Monitors a process past the mailbox: what comes back is awaited, at once if there
    /// is no such process.
    pub fn watch(&self, pid: Pid) -> Monitor {
        watch(Arc::clone(self.host()), Target::Pid(pid))
    }

    /// Takes a monitor away; no notice comes of it any more (rule L5). Whether there
    /// was one whose notice had not been received.
    pub fn demonitor(&mut self, monitor: Ref) -> bool {
        bonds::demonitor(&**self.host(), &self.process(), monitor)
    }

    /// Sends an exit signal (Erlang's `exit/2`; rules L2, L3, L7). To a dead process it
    /// does nothing.
    pub fn exit(&self, pid: Pid, reason: Reason) {
        if let Some(process) = self.host().process(pid) {
            process.exit_signal(Exit { pid: self.pid(), reason }, Via::Signal);
        }
    }
}
