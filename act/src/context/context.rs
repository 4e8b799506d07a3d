//! A process's own view of the world.

use super::idle::Idle;
use super::stash::Stash;
use super::timers::ProcessTimers;
use crate::addressing::address::Address;
use crate::addressing::route::Route;
use crate::host::host::Host;
use crate::mailbox::entry::{EntryQueue, SenderId};
use crate::mailbox::order::Sorted;
use crate::mailbox::overflow::Overflow;
use crate::observe::trace::Tracer;
use crate::observe::watched_job::InHand;
use crate::process::cell::Cell;
use crate::process::crash::{contain, drop_contained};
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{
    DeadLetterCause, NoBound, OrderError, OverflowError, Pid, Reason, Ref, Timestamp,
};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// What a process holds while it lives: its mailbox, and everything it can do as
/// itself.
///
/// The runtime makes one for every process and hands it to [`crate::Behavior::run`];
/// an actor sees it in every callback. Sends need no context: the runtime knows who
/// sends.
pub struct Context<M, C = M> {
    pub(crate) cell: Arc<Cell<M, C>>,
    /// What was taken off Main and is not handled yet.
    pub(crate) main: EntryQueue<M>,
    /// Who sent the message in hand.
    pub(crate) sender: SenderId,
    pub(crate) rare: Option<Box<ColdContext<M, C>>>,
    pub(crate) started: bool,
    /// What lies on Main is not simply next: Main is a route, stashed messages are
    /// replayed, somebody looks on or watches the job in hand, what is received keeps its room,
    /// messages have an order of their own, or the process is suspended.
    pub(crate) detour: bool,
    /// Set by [`Context::stop`], and by a stop that was received in a handler.
    stop: bool,
}

/// What most processes never have.
pub(crate) struct ColdContext<M, C> {
    pub(crate) timers: ProcessTimers<M>,
    pub(crate) stash: Stash<M>,
    pub(crate) idle: Option<Box<Idle>>,
    pub(crate) tracer: Tracer<M, C>,
    pub(crate) suspended: bool,
    /// The job in hand, if somebody watches it.
    pub(crate) job: Option<InHand<M>>,
    pub(crate) holding: Holding,
    /// What was taken off Main, where that has an order of its own.
    pub(crate) sorted: Option<Box<Sorted<M>>>,
    /// A stop that a handler has received, and that is to be obeyed when it is done.
    stop_reason: Option<Reason>,
}

/// Whether messages keep their room when they are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    Never,
    /// They may, and are not received so now.
    Sometimes,
    /// The one that is received now does.
    Now,
    /// The one that was received does.
    Done,
}

impl<M, C> Default for ColdContext<M, C> {
    fn default() -> Self {
        ColdContext {
            timers: ProcessTimers::new(),
            stash: Stash::default(),
            idle: None,
            tracer: Tracer::off(),
            suspended: false,
            job: None,
            holding: Holding::Never,
            sorted: None,
            stop_reason: None,
        }
    }
}

impl<M, C> ColdContext<M, C> {
    fn is_empty(&self) -> bool {
        self.timers.is_empty()
            && self.stash.is_empty()
            && self.idle.is_none()
            && self.tracer.is_off()
            && !self.suspended
            && self.job.is_none()
            && self.holding == Holding::Never
            && self.sorted.is_none()
            && self.stop_reason.is_none()
    }

    /// Whether anything keeps the process from simply taking the next message.
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.suspended || self.job.is_some() || !self.tracer.is_off() || self.stash.has_replay()
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    pub(crate) fn new(cell: Arc<Cell<M, C>>) -> Self {
        Context {
            cell,
            main: None,
            sender: 0,
            rare: None,
            started: false,
            detour: false,
            stop: false,
        }
    }

    /// The pid of this process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid
    }

    /// The address of this process.
    #[must_use]
    pub fn address(&self) -> Address<M, C> {
        Address::new(Arc::clone(&self.cell))
    }

    /// The process that spawned this one; `None` if it was spawned from outside.
    #[must_use]
    pub fn parent(&self) -> Option<Pid> {
        self.cell.parent_pid()
    }

    /// Who sent the message in hand: the original sender if it was forwarded (rule
    /// P1), `None` if it came from outside any process.
    #[must_use]
    pub fn sender(&self) -> Option<Pid> {
        (self.sender != 0).then(|| Pid::local(self.sender, self.cell.pid.creation()))
    }

    /// The name of the node.
    #[must_use]
    pub fn node_name(&self) -> &str {
        self.cell.host.node_name()
    }

    /// The bound of this process's Main lane.
    #[must_use]
    pub fn mailbox(&self) -> Option<usize> {
        self.cell.inbox.lock().bound()
    }

    /// The node's time (rule T2).
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.cell.host.now()
    }

    /// A new unique reference.
    #[must_use]
    pub fn make_ref(&self) -> Ref {
        self.cell.host.next_ref()
    }

    /// A random number; in a simulation it comes from the seed, so that the same seed gives
    /// the same run.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.cell.host.random()
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.cell.host
    }

    pub(crate) fn process(&self) -> Arc<dyn Process> {
        Arc::clone(&self.cell) as Arc<dyn Process>
    }

    /// Says that the process has started: whoever waits for its spawn goes on (rule
    /// D2). An actor's `init` has returned by then.
    pub fn initialised(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        let starter = self.cell.inbox.lock().initialise();
        self.cell.host.note_initialised(self.cell.pid);
        if let Some(starter) = starter {
            let _ = starter.send(Ok(()));
        }
    }

    /// Ends this process after the message in hand, with [`Reason::Normal`] (rule D9).
    /// For an actor: a bare process returns from `run`.
    pub fn stop(&mut self) {
        self.stop = true;
    }

    /// Whether [`Context::stop`] was called, or a handler has received a stop: for
    /// behaviours that have handlers.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stop
    }

    /// A handler has received a stop that its behaviour is to obey when the handler is done.
    pub(crate) fn remember_stop(&mut self, reason: Reason) {
        self.stop = true;
        self.rare().stop_reason.get_or_insert(reason);
    }

    /// Takes the decision to stop, if there is one, and its reason: [`Reason::Normal`] after
    /// [`Context::stop`], or that of the first stop that was received. For behaviours that have
    /// handlers: [`Context::is_stopping`] is false from then on.
    pub fn take_stop(&mut self) -> Option<Reason> {
        if !std::mem::take(&mut self.stop) {
            return None;
        }
        let reason = self.rare.as_mut().and_then(|rare| rare.stop_reason.take());
        Some(reason.unwrap_or(Reason::Normal))
    }

    /// Gives up what belongs to the state of this process and not to the process: another
    /// state takes its place. Its timers and idle times are cancelled, a stop it asked for is
    /// void, and what it had set aside comes back. Mailbox, name, links and monitors stay.
    pub(crate) fn renew(&mut self) {
        // A stop that was asked for by others stands.
        self.stop = self.rare.as_ref().is_some_and(|rare| rare.stop_reason.is_some());
        let kept =
            self.rare.as_mut().and_then(|rare| rare.idle.take_if(|idle| idle.keeper.is_some()));
        self.cancel_timers();
        self.renew_idle(kept);
        if let Some(rare) = &mut self.rare {
            rare.stash.replay_all();
        }
        self.look_for_detours();
    }

    /// Makes Main a route from now on (see [`Route`]); this process then receives no
    /// messages from it. Those that were accepted before go along the route as well, when
    /// the process next receives. False if it has a route already.
    pub fn route_main(&mut self, route: impl Route<M>) -> bool {
        self.detour = true;
        self.cell.set_route(Box::new(route))
    }

    /// Chooses anew what is done when this process's mailbox is full (rule M6), where it was
    /// not known when it was spawned.
    ///
    /// # Errors
    /// The mailbox has no bound; or it has an order ([`Context::set_order`]), and would have to drop
    /// its oldest message. At a process that has ended (a context can be moved out of it) it is no
    /// error, and changes nothing.
    pub fn set_overflow(&mut self, overflow: Overflow<M>) -> Result<(), OverflowError> {
        let drops_oldest = matches!(overflow, Overflow::DropOldest);
        if drops_oldest && self.is_ordered() {
            return Err(OrderError.into());
        }
        let set = self.cell.inbox.lock().set_overflow(overflow);
        // What is not chosen, or not any more, is dropped here: it is a user's.
        match set {
            Err(_) if self.mailbox().is_none() => return Err(NoBound.into()),
            Err(_) => return Ok(()),
            Ok(_) => {}
        }
        if drops_oldest {
            // What is at hand waits like the rest, and can be the oldest.
            self.return_looked_at();
        }
        Ok(())
    }

    /// Lets go of memory that is kept for speed (OTP's `hibernate`; rule D10): for a process
    /// that expects nothing for long. The queue of its
    /// mailbox an idle process gives back by itself after some 10 ms; this gives up at once what
    /// it keeps spare of that, of timers and of a stash.
    pub fn hibernate(&mut self) {
        if let Some(main) = &mut self.main {
            main.shrink_to_fit();
        }
        if self.main.as_ref().is_some_and(|main| main.is_empty()) {
            self.main = None;
        }
        if let Some(rare) = &mut self.rare {
            rare.stash.shrink();
        }
        self.release_rare();
        self.cell.inbox.lock().release_memory(false);
    }

    pub(crate) fn rare(&mut self) -> &mut ColdContext<M, C> {
        self.rare.get_or_insert_default()
    }

    /// Gives the memory of what is rare back when there is nothing in it.
    pub(crate) fn release_rare(&mut self) {
        if self.rare.as_ref().is_some_and(|rare| rare.is_empty()) {
            self.rare = None;
        }
    }

    /// Finds out anew whether there is any detour.
    pub(crate) fn look_for_detours(&mut self) {
        self.release_rare();
        self.detour = self.is_ordered()
            || self.has_other_detours()
            || self.rare.as_ref().is_some_and(|rare| rare.holding != Holding::Never);
    }

    /// Whether there is a detour beside that of an order, and of messages that keep their room.
    pub(super) fn has_other_detours(&self) -> bool {
        self.cell.is_routed() || self.rare.as_ref().is_some_and(|rare| rare.is_in_the_way())
    }
}

impl<M, C> Context<M, C> {
    /// Cancels all timers and drops what they would have done, one by one: a destructor
    /// that panics must not keep the next from running.
    fn cancel_timers(&mut self) {
        let Some(rare) = &mut self.rare else { return };
        let timers = std::mem::replace(&mut rare.timers, ProcessTimers::new());
        let (keys, actions) = timers.into_parts();
        let idle = rare.idle.take();
        let idle_key = idle.as_ref().and_then(|idle| idle.key());
        drop_contained(idle);
        for key in keys.into_iter().chain(idle_key) {
            // What it would have sent to others is dropped there.
            let _ = contain(|| self.cell.host.cancel_timer(key));
        }
        for action in actions {
            drop_contained(action);
        }
    }
}

/// Cancels the timers, and drops what was not handled, one by one: a destructor that
/// panics must not keep the next from running, nor meet the panic of another.
impl<M, C> Drop for Context<M, C> {
    fn drop(&mut self) {
        if self.main.is_none() && self.rare.is_none() {
            return;
        }
        self.cancel_timers();
        let lost = |message: &'static str, sender: SenderId| {
            self.cell.lose_named(message, sender, DeadLetterCause::Unhandled);
        };
        let sorted = self.rare.as_mut().and_then(|rare| rare.sorted.take());
        let (sorted, order) = sorted.map(|sorted| sorted.into_parts()).unzip();
        let sorted = sorted.into_iter().flatten();
        let main = self.main.take().into_iter().flat_map(|main| *main);
        for entry in sorted.chain(main) {
            if entry.is_letter() {
                lost(entry.type_name(), entry.sender);
            }
            current::not_begun(|| drop_contained(entry));
        }
        drop_contained(order);
        let Some(rare) = self.rare.take() else { return };
        // Field by field, so that none that is added is dropped unseen.
        let ColdContext {
            timers,
            stash,
            idle,
            tracer,
            suspended: _,
            job,
            stop_reason,
            holding: _,
            // Dropped above.
            sorted: _,
        } = *rare;
        drop_contained(job);
        for (sender, message) in stash.into_messages() {
            lost(type_name::<M>(), sender);
            drop_contained(message);
        }
        drop_contained(tracer);
        drop_contained(stop_reason);
        // Emptied before.
        drop_contained((timers, idle));
    }
}

impl<M, C> fmt::Debug for Context<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.cell.pid)
    }
}
