//! How a cell implements [`Process`]: sends, questions and exit signals from outside.

use super::cell::Cell;
use super::exits::TakenExit;
use super::locked_relations::LockedRelations;
use super::process::{Process, Put, Via};
use super::progress::{ContextMark, ProcessMark};
use crate::addressing::dynamic::Dynamic;
use crate::calls::reply::Reply;
use crate::host::ready::Ready;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::entry::Notice;
use crate::mailbox::muted_senders::MutedSender;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::manage_request::ManageRequest;
use crate::observe::trace::Tracer;
use crate::observe::trace_ring::TraceRing;
use krarup_gen::{
    Alias, Down, Exit, Label, Pid, Priority, ProcessInfo, Reason, Recorded, RecordedItem, Root,
    Sample, SendError,
};
use std::any::{Any, TypeId, type_name};
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Process for Cell<M, C> {
    fn pid(&self) -> Pid {
        self.core().pid()
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
        self.untyped().label()
    }

    fn info(&self) -> ProcessInfo {
        self.snapshot()
    }

    fn sample(&self) -> Option<Sample> {
        self.numbers()
    }

    fn handled(&self) -> u64 {
        Cell::handled(self)
    }

    fn ran(&self, time: Duration) {
        self.add_running_time(time);
    }

    fn put_exit(&self, exit: Exit, via: Via) -> Put {
        let mut inbox = self.inbox.lock();
        match self.take_exit(&mut inbox, exit, via) {
            TakenExit::Put(put, unused) => {
                // The lock is released before the reason is dropped, because it is a user value.
                drop(inbox);
                drop(unused);
                put
            }
            TakenExit::Notice { exit, link } => {
                Put::notice(self.put_notice(inbox, Notice::Exit { exit, link }))
            }
        }
    }

    fn put_down(&self, down: Down, urgent: bool) -> Option<Ready> {
        if urgent {
            // A process that has ended receives nothing.
            let put = self.untyped().put_control(Priority::Max, ControlEntry::Down(down));
            put.ok().flatten()
        } else {
            self.put_notice(self.inbox.lock(), Notice::Down(down))
        }
    }

    fn schedule(&self, ready: Option<Ready>) {
        self.schedule_if(ready);
    }

    fn enter_muted(&self, sender: Arc<dyn MutedSender>) -> bool {
        self.untyped().enter_muted_sender(sender)
    }

    fn has_pending_exit(&self) -> bool {
        self.inbox.lock().has_pending_exit()
    }

    fn begin_name_wait(&self) -> bool {
        let mut inbox = self.inbox.lock();
        inbox.marks.note_name_wait();
        // Who traps exits and does not stop in order takes the stop as a notice, and may go on.
        let obeys = self.progress.notes(ContextMark::StopsInOrder) || !inbox.marks.is_trapping();
        obeys && inbox.marks.is_asked_to_stop()
    }

    fn request_stop(self: Arc<Self>, reason: Reason) {
        let mut inbox = self.inbox.lock();
        let ready = match self.take_stop(&mut inbox, reason) {
            TakenExit::Put(put, unused) => {
                // The lock is released before the reason is dropped, because it is a user value.
                drop(inbox);
                drop(unused);
                put.ready
            }
            TakenExit::Notice { exit, link } => self.put_notice(inbox, Notice::Exit { exit, link }),
        };
        self.schedule_if(ready);
    }

    fn kill(self: Arc<Self>) {
        self.untyped().kill();
    }

    fn inspect(self: Arc<Self>, request: InspectRequest) {
        self.untyped().inspect(request);
    }

    fn manage(self: Arc<Self>, request: ManageRequest) {
        self.untyped().manage(request);
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
        self.untyped().state(reply);
    }

    fn suspend(self: Arc<Self>, reply: Reply<()>) {
        self.untyped().suspend(reply);
    }

    fn resume(self: Arc<Self>) -> bool {
        self.untyped().resume()
    }

    fn nudge(self: Arc<Self>) {
        self.untyped().nudge();
    }

    fn trace(self: Arc<Self>, on: bool) {
        self.set_tracer(if on { Tracer::logging() } else { Tracer::off() });
    }

    fn record(&self, items: usize) -> bool {
        self.untyped().record(items)
    }

    fn recorded(&self) -> Vec<Recorded<RecordedItem>> {
        self.untyped().recorded()
    }

    fn set_trace(&self, trace: Arc<TraceRing>) -> bool {
        self.untyped().set_trace(trace)
    }

    fn untrace(&self) -> bool {
        self.untyped().untrace()
    }

    fn waits_for(&self) -> Option<Pid> {
        self.untyped().waits_for()
    }

    fn waits_for_or_mark(&self) -> Option<Pid> {
        self.untyped().waits_for_or_mark()
    }

    fn is_awaited_task(&self) -> bool {
        self.untyped().is_task()
    }

    fn lane_types(&self) -> (&'static str, &'static str) {
        (type_name::<M>(), type_name::<C>())
    }

    fn relations(&self) -> LockedRelations<'_> {
        self.locked_relations()
    }

    fn join_simulated_link(&self) {
        self.untyped().join_simulated_link();
    }

    fn panic_at_next_message(self: Arc<Self>, panics: bool) {
        self.untyped().panic_at_next_message(panics);
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
    /// Sets or replaces the tracer. The process uses it from the next time it looks up.
    pub(crate) fn set_tracer(&self, tracer: Tracer<M, C>) {
        let traces = !tracer.is_off();
        self.untyped().set_tracer(Box::new(tracer), traces);
    }
}
