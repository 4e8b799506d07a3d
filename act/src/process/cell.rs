//! What a process is made of, apart from its future.
//!
//! The cell is what addresses point at. It outlives the process as long as somebody
//! holds an address, but then holds nothing of the user's: the future, and the state
//! in it, live in the [`Ready`] that is parked in the mailbox or running, and go with
//! the process.

use super::current;
use super::process::{Dynamic, Guarded, Process, Via};
use super::progress::Progress;
use super::relations::Relations;
use crate::host::{Host, Ready};
use crate::lock::{Lock, LockGuard};
use crate::mailbox::entry::{Control, Notice};
use crate::mailbox::inbox::{Inbox, Phase, Refused};
use crate::reply::Reply;
use crate::route::Route;
use crate::sync::{MutexGuard, Ordering};
use futures_task::ArcWake;
use krarup_gen::{
    Down, Exit, Inspection, Pid, Priority, ProcessInfo, ProcessState, Reason, SendError, Timestamp,
};
use once_cell::race::OnceBox;
use std::any::{Any, TypeId, type_name};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Cell<M, C> {
    pub(crate) pid: Pid,
    /// Number of the process that spawned it, 0: spawned from outside.
    parent: u64,
    pub(crate) host: Arc<dyn Host>,
    /// The label of the behaviour; half the size of the text.
    behavior: fn() -> &'static str,
    started: Timestamp,
    pub(crate) inbox: Lock<Inbox<M, C>>,
    /// Set instead of a Main lane: what is sent there is handed on (a pool).
    route: OnceBox<Box<dyn Route<M>>>,
    pub(crate) progress: Progress,
    relations: Guarded,
}

/// What a new process is made with.
pub(crate) struct Birth {
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) behavior: fn() -> &'static str,
    pub(crate) bound: u32,
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    pub(crate) fn new(birth: Birth) -> Self {
        Cell {
            pid: birth.pid,
            parent: birth.parent.map_or(0, Pid::id),
            started: birth.host.now(),
            host: birth.host,
            behavior: birth.behavior,
            inbox: Lock::new(Inbox::new(birth.bound)),
            route: OnceBox::new(),
            progress: Progress::new(),
            relations: Guarded::default(),
        }
    }

    /// Sends on Main.
    #[inline]
    pub(crate) fn send(&self, message: M) -> Result<(), SendError<M>> {
        let sent = self.send_from(message, current::sender(self.pid.creation()));
        if matches!(sent, Err(SendError::NoProcess(_))) {
            self.host.count_dead_letters(1);
        }
        sent
    }

    /// Sends on Main in the name of another process: what a route does (rule P1). One
    /// that finds nobody is not counted as a dead letter here, for the route may find
    /// somebody else.
    #[inline]
    pub(crate) fn send_from(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        if let Some(route) = self.route.get() {
            return route.send(message, sender);
        }
        // Relaxed: see `Inbox::push_main`.
        let pushed = self
            .inbox
            .lock()
            .push_main(message, sender, || self.progress.taken.load(Ordering::Relaxed));
        match pushed {
            Ok(None) => Ok(()),
            Ok(Some(ready)) => {
                self.host.schedule(ready);
                Ok(())
            }
            Err(Refused::Full(message)) => Err(SendError::Full(message)),
            Err(Refused::Dead(message)) => Err(SendError::NoProcess(message)),
            Err(Refused::Routed(message)) => match self.route.get() {
                Some(route) => route.send(message, sender),
                // Not reached: the route is set before the mailbox says so.
                None => Err(SendError::NoProcess(message)),
            },
        }
    }

    /// Sends on the System or Urgent lane.
    pub(crate) fn send_control(&self, priority: Priority, message: C) -> Result<(), SendError<C>> {
        let sender = current::sender(self.pid.creation());
        let entry = Control::Message { sender, message };
        if let Err(Control::Message { message, .. }) = self.push_control(priority, entry) {
            self.host.count_dead_letters(1);
            return Err(SendError::NoProcess(message));
        }
        Ok(())
    }

    fn push_control(&self, priority: Priority, entry: Control<C>) -> Result<(), Control<C>> {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Terminated {
            return Err(entry);
        }
        if priority == Priority::Max {
            self.push_urgent(inbox, entry);
        } else {
            inbox.rare().system.push_back(entry);
            self.attract(inbox);
        }
        Ok(())
    }

    fn push_urgent(&self, mut inbox: LockGuard<'_, Inbox<M, C>>, entry: Control<C>) {
        inbox.rare().urgent.push_back(entry);
        self.attract(inbox);
    }

    fn attract(&self, mut inbox: LockGuard<'_, Inbox<M, C>>) {
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_mail();
        self.release(inbox, ready);
    }

    pub(crate) fn push_notice(&self, notice: Notice) {
        let mut inbox = self.inbox.lock();
        if inbox.phase == Phase::Terminated {
            // Before the notice, which may hold a user's reason.
            drop(inbox);
            return;
        }
        let ready = inbox.push_notice(Box::new(notice));
        self.release(inbox, ready);
    }

    /// The process shall end with this reason and without a word. The first doom wins
    /// (rule L9).
    pub(crate) fn doom(&self, mut inbox: LockGuard<'_, Inbox<M, C>>, reason: Reason) {
        if inbox.phase == Phase::Terminated {
            // Before the reason, which is a user's.
            drop(inbox);
            return;
        }
        // A reason that comes too late is dropped outside the lock: it is a user's.
        let doom = &mut inbox.rare().doom;
        let late = if doom.is_some() { Some(reason) } else { doom.replace(reason) };
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_wake();
        self.release(inbox, ready);
        drop(late);
    }

    /// Schedules outside the lock.
    fn release(&self, inbox: LockGuard<'_, Inbox<M, C>>, ready: Option<Ready>) {
        drop(inbox);
        if let Some(ready) = ready {
            self.host.schedule(ready);
        }
    }

    /// Makes Main a route; false if it is one already. From under this lock on no
    /// message is put into the mailbox; those that were are taken out by the process and
    /// go along the route one after the other ([`Cell::pass_on`]).
    pub(crate) fn set_route(&self, route: Box<dyn Route<M>>) -> bool {
        let mut inbox = self.inbox.lock();
        let set = self.route.set(Box::new(route));
        inbox.routed = true;
        drop(inbox);
        // A second route is dropped here, outside the lock.
        set.is_ok()
    }

    /// Sends a message along the route that was accepted before there was one. A call
    /// that the route refuses fails, for its token is dropped.
    pub(crate) fn pass_on(&self, message: M, sender: u64) {
        if self.send_from(message, sender).is_err() {
            self.host.count_dead_letters(1);
        }
    }

    pub(crate) fn is_routed(&self) -> bool {
        self.route.get().is_some()
    }

    /// User messages waiting on Main. `accepted` comes from under the mailbox's lock.
    fn waiting(&self, accepted: u64) -> usize {
        let waiting = accepted.saturating_sub(self.progress.taken.load(Ordering::Relaxed));
        usize::try_from(waiting).unwrap_or(usize::MAX)
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.inbox.lock().phase != Phase::Terminated
    }

    pub(crate) fn main_length(&self) -> usize {
        match self.route.get() {
            Some(route) => route.waiting(),
            None => {
                let inbox = self.inbox.lock();
                if inbox.phase == Phase::Terminated {
                    return 0;
                }
                let accepted = inbox.accepted();
                drop(inbox);
                self.waiting(accepted)
            }
        }
    }

    pub(crate) fn parent_pid(&self) -> Option<Pid> {
        (self.parent != 0).then(|| Pid::local(self.parent, self.pid.creation()))
    }
}

impl<M: Send + 'static, C: Send + 'static> Process for Cell<M, C> {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn parent(&self) -> Option<Pid> {
        self.parent_pid()
    }

    fn info(&self) -> ProcessInfo {
        let (name, links, (monitors, monitored_by)) = {
            let relations = self.relations.0.lock();
            (relations.name().cloned(), relations.links(), relations.monitors())
        };
        let main = self.main_length();
        let inbox = self.inbox.lock();
        let (urgent, system) = inbox.control_lengths();
        let (trapping, bound) = (inbox.trapping, inbox.bound());
        let state = match inbox.phase {
            Phase::Terminated => ProcessState::Terminated,
            _ if !inbox.initialised => ProcessState::Init,
            Phase::Idle => ProcessState::Idle,
            Phase::Waiting => ProcessState::Waiting,
            Phase::Active if self.progress.running.load(Ordering::Relaxed) => ProcessState::Running,
            Phase::Active => ProcessState::Scheduled,
        };
        drop(inbox);
        ProcessInfo::new(self.pid, (self.behavior)(), state).with(|info| {
            info.name = name;
            info.parent = self.parent_pid();
            info.trapping = trapping;
            info.links = links;
            info.monitors = monitors;
            info.monitored_by = monitored_by;
            info.urgent = urgent;
            info.system = system;
            info.main = main;
            info.mailbox = bound;
            info.handled = self.handled();
            self.host.dispatcher_name().clone_into(&mut info.dispatcher);
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
                let ready = inbox.push_notice(Box::new(Notice::Exit { exit, link }));
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
            _ if inbox.orderly => {
                self.push_urgent(inbox, Control::Stop(reason));
            }
            _ if inbox.trapping => {
                let exit = Exit { pid: self.host.node_pid(), reason };
                let ready = inbox.push_notice(Box::new(Notice::Exit { exit, link: None }));
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
            reply.fail(krarup_gen::CallError::NoProcess);
        }
    }

    fn send_dynamic(self: Arc<Self>, message: Dynamic) -> Result<(), SendError<Dynamic>> {
        if TypeId::of::<M>() == TypeId::of::<Dynamic>() {
            let message: Box<dyn Any> = Box::new(message);
            return match message.downcast::<M>() {
                Ok(message) => self.send(*message).map_err(|error| error.map(Dynamic::new)),
                // Not reached: the type was compared.
                Err(_) => Ok(()),
            };
        }
        match message.downcast::<M>() {
            Ok(message) => self.send(message).map_err(|error| error.map(Dynamic::new)),
            Err(message) => {
                let (expected, found) = (type_name::<M>(), message.type_name());
                Err(SendError::WrongType { message, expected, found })
            }
        }
    }

    fn lane_types(&self) -> (&'static str, &'static str) {
        (type_name::<M>(), type_name::<C>())
    }

    fn relations(&self) -> &Guarded {
        &self.relations
    }
}

/// Waking schedules the process, wherever it waits.
impl<M: Send + 'static, C: Send + 'static> ArcWake for Cell<M, C> {
    fn wake_by_ref(cell: &Arc<Self>) {
        let mut inbox = cell.inbox.lock();
        let ready = inbox.ready_for_wake();
        cell.release(inbox, ready);
    }
}

impl<M, C> Cell<M, C> {
    pub(crate) fn locked_relations(&self) -> MutexGuard<'_, Relations> {
        self.relations.0.lock()
    }

    pub(crate) fn behavior(&self) -> &'static str {
        (self.behavior)()
    }

    /// The reason with which the process must end now, if there is one.
    #[cold]
    pub(crate) fn take_doom(&self) -> Option<Reason> {
        self.inbox.lock().rare_if_any().and_then(|rare| rare.doom.take())
    }
}
