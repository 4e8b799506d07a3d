//! A cell as everyone else sees it: what happens to a process that is told something, asked
//! something or ended from outside.

use super::cell::Cell;
use super::current;
use super::process::{Guarded, Process, Via};
use super::room::Held;
use crate::dynamic::Dynamic;
use crate::mailbox::entry::{Body, Control, Entry, Notice};
use crate::mailbox::inbox::{CROWD, Phase, Refused, Way};
use crate::mailbox::permit::NoRoom;
use crate::reply::Reply;
use crate::sync::Ordering;
use crate::trace::Tracer;
use krarup_gen::{
    Alias, CallError, Class, DeadLetterCause, Down, Exit, Inspection, Label, Pid, Priority,
    ProcessInfo, ProcessState, Reason, Root, SendError,
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

    fn behavior(&self) -> Label {
        self.label()
    }

    fn info(&self) -> ProcessInfo {
        let (name, aliases, links, (monitors, monitored_by)) = {
            let relations = self.relations.0.lock();
            let name = relations.name().cloned();
            (name, relations.aliases(), relations.links(), relations.monitors())
        };
        let main = self.main_length();
        let inbox = self.inbox.lock();
        let (urgent, system) = inbox.control_lengths();
        let (trapping, bound) = (inbox.trapping, inbox.bound());
        let accepted = inbox.accepted();
        let state = match inbox.phase {
            Phase::Terminated => ProcessState::Terminated,
            _ if inbox.is_suspended() => ProcessState::Suspended,
            _ if !inbox.initialised => ProcessState::Init,
            Phase::Idle => ProcessState::Idle,
            Phase::Waiting | Phase::Listening => ProcessState::Waiting,
            Phase::Active if self.progress.running.load(Ordering::Relaxed) => ProcessState::Running,
            Phase::Active => ProcessState::Scheduled,
        };
        drop(inbox);
        ProcessInfo::new(self.pid, self.label(), state).with(|info| {
            info.name = name;
            info.aliases = aliases;
            info.parent = self.parent_pid();
            info.trapping = trapping;
            info.links = links;
            info.monitors = monitors;
            info.monitored_by = monitored_by;
            info.urgent = urgent;
            info.system = system;
            info.main = main;
            info.mailbox = bound;
            let controls = self.progress.controls.load(Ordering::Relaxed);
            info.messages_in = accepted + controls + (urgent + system) as u64;
            info.messages_out = self.progress.sent.load(Ordering::Relaxed);
            info.handled = self.handled();
            self.host.dispatcher_name().clone_into(&mut info.dispatcher);
            info.class = match self.host.class() {
                Class::Varying if self.progress.says_high() => Class::High,
                Class::Varying => Class::Normal,
                class => class,
            };
            info.root = self.host.root();
            info.running_time = Duration::from_nanos(self.progress.ran.load(Ordering::Relaxed));
            info.uptime = self.host.now().since(self.started);
        })
    }

    fn handled(&self) -> u64 {
        self.progress.taken.load(Ordering::Relaxed) + self.progress.controls.load(Ordering::Relaxed)
    }

    fn ran(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let ran = self.progress.ran.load(Ordering::Relaxed).saturating_add(time);
        self.progress.ran.store(ran, Ordering::Relaxed);
    }

    /// | the process | from its parent | by | reason | what happens |
    /// |---|---|---|---|---|
    /// | any | - | signal | `Kill` | ends as `Killed` (D3) |
    /// | traps, stops in order | yes | any | any | stop request (L3) |
    /// | traps | - | any | any | notice (L3) |
    /// | does not trap, stops in order | yes | signal | not `Normal` | stop request (D5) |
    /// | does not trap | - | - | `Normal` | nothing, unless it is from itself (L7) |
    /// | does not trap | - | - | other | ends with that reason (L2) |
    ///
    /// Whether it traps is looked at now, when the signal arrives.
    fn exit_signal(self: Arc<Self>, exit: Exit, via: Via) -> bool {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Terminated {
            return false;
        }
        let by_signal = via == Via::Signal;
        if by_signal && exit.reason == Reason::Kill {
            self.doom(inbox, Reason::Killed);
            return false;
        }
        let from_parent = inbox.orderly
            && self.parent_pid().is_some_and(|parent| parent.is_same_process(exit.pid));
        if inbox.trapping {
            if from_parent {
                self.push_urgent(inbox, Control::Stop(exit.reason));
                return false;
            }
            let (link, urgent) = match via {
                Via::Signal => (None, false),
                Via::Link { number, urgent } => (Some(number), urgent),
            };
            if urgent {
                self.push_urgent(inbox, Control::Exit { exit, link });
            } else {
                let ready = inbox.push_notice(Box::new(Notice::Exit { exit, link }), |length| {
                    self.is_deep(length);
                });
                self.release(inbox, ready);
            }
            return true;
        }
        if exit.reason.is_normal() && !(by_signal && exit.pid == self.pid) {
            return false;
        }
        if from_parent && by_signal {
            self.push_urgent(inbox, Control::Stop(exit.reason));
        } else {
            self.doom(inbox, exit.reason);
        }
        false
    }

    fn is_crowded(&self) -> bool {
        let inbox = self.inbox.lock();
        inbox.phase == Phase::Active && self.waiting(inbox.accepted()) >= CROWD
    }

    fn is_doomed(&self) -> bool {
        self.inbox.lock().has_doom()
    }

    fn down(self: Arc<Self>, down: Down, urgent: bool) {
        if urgent {
            let _ = self.push_control(Priority::Max, Control::Down(down));
        } else {
            self.push_notice(Notice::Down(down));
        }
    }

    fn request_stop(self: Arc<Self>, reason: Reason) {
        let mut inbox = self.inbox.lock();
        match inbox.phase {
            Phase::Terminated => {}
            // Whether it stops in order is known when its first poll has returned.
            Phase::Active if !inbox.initialised => {
                self.push_urgent(inbox, Control::Stop(reason));
            }
            // A suspended process attends to no notice; it hears of the stop as an exit.
            _ if inbox.orderly || (inbox.trapping && inbox.is_suspended()) => {
                self.push_urgent(inbox, Control::Stop(reason));
            }
            _ if inbox.trapping => {
                let exit = Exit { pid: self.host.node_pid(), reason };
                let ready =
                    inbox.push_notice(Box::new(Notice::Exit { exit, link: None }), |length| {
                        self.is_deep(length);
                    });
                self.release(inbox, ready);
            }
            _ => self.doom(inbox, reason),
        }
    }

    fn kill(self: Arc<Self>) {
        self.doom(self.inbox.lock(), Reason::Killed);
    }

    fn inspect(self: Arc<Self>, reply: Reply<Inspection>) {
        if let Err(Control::Inspect(reply)) =
            self.push_control(Priority::Max, Control::Inspect(reply))
        {
            reply.fail(CallError::NoProcess);
        }
    }

    fn send_dynamic(
        self: Arc<Self>,
        message: Dynamic,
        by: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>> {
        let typed = if TypeId::of::<M>() == TypeId::of::<Dynamic>() {
            // What takes anything gets it as it came.
            let message: Box<dyn Any> = Box::new(message);
            match message.downcast::<M>() {
                Ok(message) => Ok(*message),
                // Not reached: the type was compared.
                Err(_) => return Ok(()),
            }
        } else {
            message.downcast::<M>()
        };
        match (typed, by) {
            (Ok(message), None) => self.send(message).map_err(|error| error.map(Dynamic::new)),
            (Ok(message), Some(alias)) => {
                self.send_by_alias(alias, message).map_err(|error| error.map(Dynamic::new))
            }
            (Err(message), by) => self.send_other(message, by),
        }
    }

    fn state(self: Arc<Self>, reply: Reply<Option<Dynamic>>) {
        if let Err(Control::State(reply)) = self.push_control(Priority::Max, Control::State(reply))
        {
            reply.fail(CallError::NoProcess);
        }
    }

    fn suspend(self: Arc<Self>, reply: Reply<()>) {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Terminated {
            drop(inbox);
            return reply.fail(CallError::NoProcess);
        }
        let suspended = &mut inbox.rare().suspended;
        *suspended = suspended.saturating_add(1);
        self.push_urgent(inbox, Control::Here(reply));
    }

    fn resume(self: Arc<Self>) -> bool {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Terminated || !inbox.is_suspended() {
            return false;
        }
        inbox.rare().suspended -= 1;
        self.attract(inbox);
        true
    }

    fn nudge(self: Arc<Self>) {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Waiting {
            let ready = inbox.ready_for_wake();
            self.release(inbox, ready);
        }
    }

    fn trace(self: Arc<Self>, on: bool) {
        self.set_tracer(if on { Tracer::logging() } else { Tracer::off() });
    }

    fn waits_for(&self) -> Option<Pid> {
        if self.progress.waits_for.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let inbox = self.inbox.lock();
        if inbox.phase != Phase::Waiting {
            return None;
        }
        let callee = self.progress.waits_for.load(Ordering::Relaxed);
        (callee != 0).then(|| Pid::local(callee, self.pid.creation()))
    }

    fn lane_types(&self) -> (&'static str, &'static str) {
        (type_name::<M>(), type_name::<C>())
    }

    fn relations(&self) -> &Guarded {
        &self.relations
    }

    fn join_wire(&self) {
        let way = &mut self.inbox.lock().way;
        if *way == Way::Straight {
            *way = Way::Wire;
        }
    }

    fn panic_at_next_message(self: Arc<Self>) {
        let mut inbox = self.inbox.lock();
        if inbox.phase != Phase::Terminated {
            inbox.rare().panics = true;
            self.attract(inbox);
        }
    }

    fn occupy(self: Arc<Self>) -> Option<Box<dyn Send>> {
        self.occupied()
    }
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Puts a tracer in the place of the one there is, when the process next looks up.
    pub(crate) fn set_tracer(&self, tracer: Tracer<M, C>) {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Terminated {
            return;
        }
        // The one that never ran is dropped outside the lock: it is a user's.
        let before = inbox.rare().tracer.replace(tracer);
        self.attract(inbox);
        drop(before);
    }

    /// Sends by an alias, unless that has been revoked: when the revocation has returned,
    /// nothing arrives by it (rule N5).
    pub(crate) fn send_by_alias(&self, alias: Alias, message: M) -> Result<(), SendError<M>> {
        let sender = current::sender(self.pid.creation());
        let relations = self.locked_relations();
        if !relations.has_alias(alias) {
            drop(relations);
            self.lose::<M>(sender, DeadLetterCause::Revoked);
            return Err(SendError::NoProcess(message));
        }
        if self.is_routed() {
            drop(relations);
            return self.send(message);
        }
        let taken = || self.progress.taken.load(Ordering::Relaxed);
        let deep = |length| self.is_deep(length);
        let pushed = self.inbox.lock().push_main(message, sender, self.pid.id(), taken, deep);
        drop(relations);
        match pushed {
            Ok(ready) => {
                current::count_sent();
                if let Some(ready) = ready {
                    self.host.schedule(ready);
                }
                Ok(())
            }
            Err(Refused::Full(message)) => Err(SendError::Full(message)),
            Err(Refused::Over(message) | Refused::Dead(message) | Refused::Aside(message)) => {
                self.send(message)
            }
        }
    }

    /// Sends a value that is not of the process's message type, if it takes such.
    fn send_other(&self, message: Dynamic, by: Option<Alias>) -> Result<(), SendError<Dynamic>> {
        let sender = current::sender(self.pid.creation());
        if by.is_some_and(|alias| !self.locked_relations().has_alias(alias)) {
            self.lose_named(message.type_name(), sender, DeadLetterCause::Revoked);
            return Err(SendError::NoProcess(message));
        }
        if !self.inbox.lock().others {
            let (expected, found) = (type_name::<M>(), message.type_name());
            return Err(SendError::WrongType { message, expected, found });
        }
        match self.reserve(None) {
            Ok(Held::Here) => {
                let body = Body::Notice(Box::new(Notice::Other(message)));
                self.fill_here(Entry { sender, body });
                current::count_sent();
                Ok(())
            }
            Ok(Held::Nowhere) => {
                self.lose_named(message.type_name(), sender, DeadLetterCause::Overflow);
                current::apart(|| drop(message));
                current::count_sent();
                Ok(())
            }
            // A fallback takes messages of the process's own type only.
            Ok(Held::Elsewhere(..) | Held::OnRoute(_)) => Err(SendError::Full(message)),
            Err(no_room) => {
                if no_room == NoRoom::Dead {
                    self.lose_named(message.type_name(), sender, DeadLetterCause::NoProcess);
                }
                Err(no_room.with(message))
            }
        }
    }
}
