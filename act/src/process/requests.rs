//! What others ask of a process, whatever its messages are: to describe itself, to change, to pause, to be recorded, to
//! end.

use super::current;
use super::exit_source::ExitSource;
use super::progress::ProcessMark;
use super::untyped_cell::UntypedCell;
use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase, MainPush};
use crate::observe::inspect_request::InspectRequest;
use crate::observe::item_log::ItemLog;
use crate::observe::manage_request::ManageRequest;
use crate::observe::trace_ring::TraceRing;
use crate::sync::Ordering;
use krarup_gen::{
    CallError, CrashCauseKind, Pid, Priority, Reason, Recorded, RecordedItem, TraceEnd,
};
use std::any::Any;
use std::sync::Arc;

impl dyn UntypedCell + '_ {
    pub(super) fn kill(&self) {
        let core = self.cell_core();
        let source = ExitSource::new(CrashCauseKind::Kill, current::pid());
        let (ready, unused) =
            self.locked(|inbox| core.set_pending_exit(inbox, Reason::Killed, source));
        core.schedule_if(ready);
        drop(unused);
    }

    pub(super) fn inspect(&self, request: InspectRequest) {
        if let Err(ControlEntry::Inspect(request)) =
            self.push_control(Priority::Max, ControlEntry::Inspect(request))
        {
            request.fail(self.no_process());
        }
    }

    pub(super) fn manage(&self, request: ManageRequest) {
        if let Err(ControlEntry::Manage(request)) =
            self.push_control(Priority::High, ControlEntry::Manage(request))
        {
            request.into_reply().fail(self.no_process());
        }
    }

    pub(super) fn state(&self, reply: Reply<Option<Dynamic>>) {
        if let Err(ControlEntry::State(reply)) =
            self.push_control(Priority::Max, ControlEntry::State(reply))
        {
            reply.fail(self.no_process());
        }
    }

    fn no_process(&self) -> CallError {
        CallError::NoProcess { to: self.cell_core().pid() }
    }

    pub(super) fn suspend(&self, reply: Reply<()>) {
        let core = self.cell_core();
        let put = self.locked(|inbox| {
            if inbox.phase == MailboxPhase::Terminated {
                return Err(reply);
            }
            let suspended = &mut inbox.cold().suspended;
            *suspended = suspended.saturating_add(1);
            Ok(core.put_urgent(inbox, ControlEntry::Here(reply)))
        });
        match put {
            Ok(ready) => core.schedule_if(ready),
            Err(reply) => reply.fail(self.no_process()),
        }
    }

    pub(super) fn resume(&self) -> bool {
        let resumed = self.attracting(|inbox| {
            if !inbox.is_suspended() {
                return None;
            }
            inbox.cold().suspended -= 1;
            Some(())
        });
        resumed.is_some()
    }

    pub(super) fn nudge(&self) {
        let core = self.cell_core();
        let ready = self.locked(|inbox| match inbox.phase {
            MailboxPhase::Waiting => core.wake_waiting(inbox),
            // It was woken meanwhile, and searches again when it parks.
            _ => {
                inbox.marks.note_search();
                None
            }
        });
        core.schedule_if(ready);
    }

    pub(super) fn waits_for(&self) -> Option<Pid> {
        let core = self.cell_core();
        if core.progress.waits_for.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let wait = self.locked(|inbox| core.edge(inbox))?;
        Some(Pid::local(wait.callee(), core.pid().creation()))
    }

    pub(super) fn waits_for_or_mark(&self) -> Option<Pid> {
        let core = self.cell_core();
        let wait = self.locked(|inbox| {
            let edge = core.edge(inbox);
            if edge.is_none() {
                inbox.marks.note_search();
            }
            edge
        })?;
        Some(Pid::local(wait.callee(), core.pid().creation()))
    }

    /// Returns the process that this one waits for, and takes its mark: it has parked, and searches now.
    pub(super) fn begin_search(&self) -> Option<Pid> {
        let core = self.cell_core();
        let wait = self.locked(|inbox| {
            let edge = core.edge(inbox)?;
            inbox.marks.begin_search();
            Some(edge)
        })?;
        Some(Pid::local(wait.callee(), core.pid().creation()))
    }

    pub(super) fn join_simulated_link(&self) {
        self.locked(|inbox| {
            if inbox.way == MainPush::Direct {
                inbox.way = MainPush::SimulatedLink;
            }
        });
    }

    pub(super) fn panic_at_next_message(&self, panics: bool) {
        if panics {
            let _ = self.attracting(|inbox| {
                inbox.cold().panics = true;
                Some(())
            });
        } else {
            self.locked(|inbox| {
                if let Some(cold) = inbox.cold_if_any() {
                    cold.panics = false;
                }
            });
        }
    }

    /// Sets or replaces the tracer: a `Tracer` of the types of the messages.
    pub(super) fn set_tracer(&self, tracer: Box<dyn Any + Send>, traces: bool) {
        let progress = &self.cell_core().progress;
        // A tracer that never ran is dropped outside the lock, because it is user code.
        let before = self.attracting(|inbox| {
            progress.set(ProcessMark::Traced, traces);
            Some(inbox.cold().tracer.replace(tracer))
        });
        drop(before);
    }

    /// The flight recorder and the trace, if one of them was on when the process last looked.
    pub(super) fn item_log(&self) -> Option<Arc<ItemLog>> {
        self.locked(|inbox| inbox.cold_if_any()?.item_log.clone())
    }

    pub(super) fn record(&self, items: usize) -> bool {
        self.change_log(|log| log.record(items)).is_some()
    }

    pub(super) fn recorded(&self) -> Vec<Recorded<RecordedItem>> {
        self.item_log().map(|log| log.recorded()).unwrap_or_default()
    }

    pub(super) fn set_trace(&self, trace: Arc<TraceRing>) -> bool {
        let Some(before) = self.change_log(|log| log.set_trace(trace)) else { return false };
        if let Some(before) = before {
            before.finish(TraceEnd::Untraced);
        }
        true
    }

    pub(super) fn untrace(&self) -> bool {
        self.item_log().is_some_and(|log| log.end_trace(TraceEnd::Untraced))
    }

    /// Changes the flight recorder or the trace, unless the process has ended. It looks at them
    /// before its next item.
    fn change_log<T>(&self, change: impl FnOnce(&ItemLog) -> T) -> Option<T> {
        self.attracting(|inbox| {
            let cold = inbox.cold();
            let changed = change(cold.item_log.get_or_insert_default());
            cold.log_changed = true;
            Some(changed)
        })
    }

    /// Changes the mailbox of a process that has not ended. If `change` returns something, the process looks at it
    /// before its next item.
    fn attracting<T>(&self, change: impl FnOnce(&mut InboxCore) -> Option<T>) -> Option<T> {
        let core = self.cell_core();
        // If it is not called it is dropped outside the lock: a value that it holds may be a user's.
        let mut change = Some(change);
        let changed = self.locked(|inbox| {
            if inbox.phase == MailboxPhase::Terminated {
                return None;
            }
            let changed = change.take()?(inbox)?;
            Some((changed, core.attract(inbox)))
        });
        let (changed, ready) = changed?;
        core.schedule_if(ready);
        Some(changed)
    }
}
