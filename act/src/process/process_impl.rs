//! How a cell implements [`Process`]: sends, questions and exit signals from outside.

use super::cell::Cell;
use super::cell_core::CellCore;
use super::current;
use super::exit_source::ExitSource;
use super::process::{Guarded, Process, Put, Via};
use super::progress::ProcessMark;
use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::host::ready::Ready;
use crate::mailbox::entry::{ControlEntry, Notice};
use crate::mailbox::inbox::{MailboxPhase, MainPush};
use crate::mailbox::muted_senders::MutedSender;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::item_log::ItemLog;
use crate::observe::manage_request::ManageRequest;
use crate::observe::trace::Tracer;
use crate::observe::trace_ring::TraceRing;
use crate::sync::Ordering;
use krarup_gen::{
    Alias, CallError, CrashCauseKind, Down, Exit, Label, Pid, Priority, ProcessInfo, Reason,
    Recorded, RecordedItem, Root, Sample, SendError, TraceEnd,
};
use std::any::{Any, TypeId, type_name};
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Process for Cell<M, C> {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn parent(&self) -> Option<Pid> {
        self.parent_pid()
    }

    fn root(&self) -> Root {
        self.host.root()
    }

    fn application_run(&self) -> u64 {
        self.host.application().map_or(0, |(_, run)| run)
    }

    fn behavior(&self) -> Label {
        self.label()
    }

    fn info(&self) -> ProcessInfo {
        self.snapshot()
    }

    fn sample(&self) -> Option<Sample> {
        self.numbers()
    }

    fn handled(&self) -> u64 {
        self.progress.handled()
    }

    fn ran(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let ran = self.progress.ran.load(Ordering::Relaxed).saturating_add(time);
        self.progress.ran.store(ran, Ordering::Relaxed);
    }

    fn put_exit(&self, exit: Exit, via: Via) -> Put {
        let inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Put::unheard(None);
        }
        match self.effect_of_exit(exit, via, inbox.trapping, inbox.orderly) {
            ExitEffect::Nothing(exit) => {
                // The lock is released before the reason is dropped, because it is a user value.
                drop(inbox);
                drop(exit);
                Put::unheard(None)
            }
            ExitEffect::End(reason, source) => {
                Put::unheard(self.set_pending_exit(inbox, reason, source))
            }
            ExitEffect::Stop(reason) => {
                Put::unheard(self.put_urgent(inbox, ControlEntry::Stop(reason)))
            }
            ExitEffect::Notice { exit, link, urgent: true } => {
                Put::notice(self.put_urgent(inbox, ControlEntry::Exit { exit, link }))
            }
            ExitEffect::Notice { exit, link, urgent: false } => {
                Put::notice(self.put_notice(inbox, Notice::Exit { exit, link }))
            }
        }
    }

    fn put_down(&self, down: Down, urgent: bool) -> Option<Ready> {
        if urgent {
            // A process that has ended receives nothing.
            self.put_control(Priority::Max, ControlEntry::Down(down)).ok().flatten()
        } else {
            self.put_notice(self.inbox.lock(), Notice::Down(down))
        }
    }

    fn schedule(&self, ready: Option<Ready>) {
        self.schedule_if(ready);
    }

    fn enter_muted(&self, sender: Arc<dyn MutedSender>) -> bool {
        self.enter_muted_sender(sender)
    }

    fn has_pending_exit(&self) -> bool {
        self.inbox.lock().has_pending_exit()
    }

    fn request_stop(self: Arc<Self>, reason: Reason) {
        let inbox = self.inbox.lock();
        let ready = match inbox.phase {
            MailboxPhase::Terminated => {
                // The lock is released before the reason is dropped, because a reason is a user
                // value.
                drop(inbox);
                None
            }
            // Whether it stops in order is known only after its first poll has returned.
            MailboxPhase::Active if !inbox.initialised => {
                self.put_urgent(inbox, ControlEntry::Stop(reason))
            }
            // A suspended process takes no notices from Main. So a trapping one gets a control
            // entry, which it receives as an exit.
            _ if inbox.orderly || (inbox.trapping && inbox.is_suspended()) => {
                self.put_urgent(inbox, ControlEntry::Stop(reason))
            }
            _ if inbox.trapping => {
                let exit = Exit { pid: self.host.node_pid(), reason };
                self.put_notice(inbox, Notice::Exit { exit, link: None })
            }
            _ => {
                let source = ExitSource::new(CrashCauseKind::Parent, current::pid());
                self.set_pending_exit(inbox, reason, source)
            }
        };
        self.schedule_if(ready);
    }

    fn kill(self: Arc<Self>) {
        let source = ExitSource::new(CrashCauseKind::Kill, current::pid());
        let ready = self.set_pending_exit(self.inbox.lock(), Reason::Killed, source);
        self.schedule_if(ready);
    }

    fn inspect(self: Arc<Self>, request: InspectRequest) {
        if let Err(ControlEntry::Inspect(request)) =
            self.push_control(Priority::Max, ControlEntry::Inspect(request))
        {
            request.fail(CallError::NoProcess { to: self.pid });
        }
    }

    fn manage(self: Arc<Self>, request: ManageRequest) {
        if let Err(ControlEntry::Manage(request)) =
            self.push_control(Priority::High, ControlEntry::Manage(request))
        {
            request.into_reply().fail(CallError::NoProcess { to: self.pid });
        }
    }

    fn send_dynamic(
        self: Arc<Self>,
        message: Dynamic,
        by: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>> {
        let typed = if TypeId::of::<M>() == TypeId::of::<Dynamic>() {
            // A process that takes any type gets the value as it was sent.
            let message: Box<dyn Any> = Box::new(message);
            match message.downcast::<M>() {
                Ok(message) => Ok(*message),
                // Unreachable: the types were compared.
                Err(_) => return Ok(()),
            }
        } else {
            message.downcast::<M>()
        };
        match (typed, by) {
            (Ok(message), by) => {
                let sent = match by {
                    None => self.send_by_call(message),
                    Some(alias) => self.send_by_alias(alias, message),
                };
                sent.map_err(|error| error.map(Dynamic::new))
            }
            (Err(message), by) => self.send_other(message, by),
        }
    }

    fn state(self: Arc<Self>, reply: Reply<Option<Dynamic>>) {
        if let Err(ControlEntry::State(reply)) =
            self.push_control(Priority::Max, ControlEntry::State(reply))
        {
            reply.fail(CallError::NoProcess { to: self.pid });
        }
    }

    fn suspend(self: Arc<Self>, reply: Reply<()>) {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            drop(inbox);
            return reply.fail(CallError::NoProcess { to: self.pid });
        }
        let suspended = &mut inbox.cold().suspended;
        *suspended = suspended.saturating_add(1);
        let ready = self.put_urgent(inbox, ControlEntry::Here(reply));
        self.schedule_if(ready);
    }

    fn resume(self: Arc<Self>) -> bool {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated || !inbox.is_suspended() {
            return false;
        }
        inbox.cold().suspended -= 1;
        let ready = self.attract(inbox);
        self.schedule_if(ready);
        true
    }

    fn nudge(self: Arc<Self>) {
        let inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Waiting {
            self.wake_if_parked(inbox);
        }
    }

    fn trace(self: Arc<Self>, on: bool) {
        self.set_tracer(if on { Tracer::logging() } else { Tracer::off() });
    }

    fn record(&self, items: usize) -> bool {
        self.change_log(|log| log.record(items)).is_some()
    }

    fn recorded(&self) -> Vec<Recorded<RecordedItem>> {
        self.item_log().map(|log| log.recorded()).unwrap_or_default()
    }

    fn set_trace(&self, trace: Arc<TraceRing>) -> bool {
        let Some(before) = self.change_log(|log| log.set_trace(trace)) else { return false };
        if let Some(before) = before {
            before.finish(TraceEnd::Untraced);
        }
        true
    }

    fn untrace(&self) -> bool {
        self.item_log().is_some_and(|log| log.end_trace(TraceEnd::Untraced))
    }

    fn waits_for(&self) -> Option<Pid> {
        if self.progress.waits_for.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let wait = self.edge(&self.inbox.lock())?;
        Some(Pid::local(wait.callee(), self.pid.creation()))
    }

    fn lane_types(&self) -> (&'static str, &'static str) {
        (type_name::<M>(), type_name::<C>())
    }

    fn relations(&self) -> &Guarded {
        &self.relations
    }

    fn join_simulated_link(&self) {
        let way = &mut self.inbox.lock().way;
        if *way == MainPush::Direct {
            *way = MainPush::SimulatedLink;
        }
    }

    fn panic_at_next_message(self: Arc<Self>) {
        let mut inbox = self.inbox.lock();
        if inbox.phase != MailboxPhase::Terminated {
            inbox.cold().panics = true;
            let ready = self.attract(inbox);
            self.schedule_if(ready);
        }
    }

    fn occupy(self: Arc<Self>) -> Option<Box<dyn Send>> {
        self.occupied()
    }

    fn expose(&self) {
        self.progress.set(ProcessMark::Exposed, true);
    }

    fn is_exposed(&self) -> bool {
        self.progress.has(ProcessMark::Exposed)
    }
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// The flight recorder and the trace, if one of them was on when the process last looked.
    pub(crate) fn item_log(&self) -> Option<Arc<ItemLog>> {
        self.inbox.lock().cold_if_any()?.item_log.clone()
    }

    /// Changes the flight recorder or the trace, unless the process has ended. It looks at them
    /// before its next item.
    fn change_log<T>(&self, change: impl FnOnce(&ItemLog) -> T) -> Option<T> {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return None;
        }
        let cold = inbox.cold();
        let changed = change(cold.item_log.get_or_insert_default());
        cold.log_changed = true;
        let ready = self.attract(inbox);
        self.schedule_if(ready);
        Some(changed)
    }

    /// Sets or replaces the tracer. The process uses it from the next time it looks up.
    pub(crate) fn set_tracer(&self, tracer: Tracer<M, C>) {
        let traces = !tracer.is_off();
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return;
        }
        // A tracer that never ran is dropped outside the lock, because it is user code.
        let before = inbox.cold().tracer.replace(tracer);
        self.progress.set(ProcessMark::Traced, traces);
        let ready = self.attract(inbox);
        self.schedule_if(ready);
        drop(before);
    }
}

/// What an exit signal does to a process.
enum ExitEffect {
    /// The signal is dropped.
    Nothing(Exit),
    /// It ends with this reason.
    End(Reason, ExitSource),
    /// It is asked to stop.
    Stop(Reason),
    Notice {
        exit: Exit,
        link: Option<u64>,
        urgent: bool,
    },
}

impl CellCore {
    /// | the process | from its parent | by | reason | what happens |
    /// |---|---|---|---|---|
    /// | any | - | signal | `Kill` | ends as `Killed` (D3) |
    /// | traps, stops in order | yes | any | any | stop request (L3) |
    /// | traps | - | any | any | notice (L3) |
    /// | does not trap, stops in order | yes | signal | not `Normal` | stop request (D5) |
    /// | does not trap | - | - | `Normal` | nothing, unless it is from itself (L7) |
    /// | does not trap | - | - | other | ends with that reason (L2) |
    ///
    /// Whether the process traps is decided now, when the signal arrives.
    fn effect_of_exit(&self, exit: Exit, via: Via, trapping: bool, orderly: bool) -> ExitEffect {
        let by_signal = via == Via::Signal;
        if by_signal && matches!(exit.reason, Reason::Kill) {
            let source = ExitSource::new(CrashCauseKind::Kill, Some(exit.pid));
            return ExitEffect::End(Reason::Killed, source);
        }
        let from_parent =
            orderly && self.parent_pid().is_some_and(|parent| parent.is_same_process(exit.pid));
        if trapping {
            if from_parent {
                return ExitEffect::Stop(exit.reason);
            }
            let (link, urgent) = match via {
                Via::Signal => (None, false),
                Via::Link { number, urgent } => (Some(number), urgent),
            };
            return ExitEffect::Notice { exit, link, urgent };
        }
        if exit.reason.is_normal() && !(by_signal && exit.pid == self.pid) {
            return ExitEffect::Nothing(exit);
        }
        if from_parent && by_signal {
            return ExitEffect::Stop(exit.reason);
        }
        let kind = if by_signal { CrashCauseKind::Signal } else { CrashCauseKind::Link };
        ExitEffect::End(exit.reason, ExitSource::new(kind, Some(exit.pid)))
    }
}
