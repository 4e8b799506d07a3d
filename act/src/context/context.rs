//! The context of a process: its own state and operations.

use super::cold_context::{ColdContext, Holding};
use crate::addressing::address::Address;
use crate::addressing::route::Route;
use crate::cold_box::ColdBox;
use crate::host::host::Host;
use crate::mailbox::entry::{EntryQueue, SenderId};
use crate::mailbox::overflow::Overflow;
use crate::process::cell::Cell;
use crate::process::last_item;
use crate::process::process::Process;
use crate::process::progress::ContextMark;
use krarup_gen::{NoBound, OrderError, OverflowError, Pid, Reason, Ref, Timestamp};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

/// The context of a process: its mailbox, and every operation it can perform as itself.
///
/// The runtime makes one for every process and passes it to
/// [`Behavior::run`](crate::Behavior::run). An actor gets it in every callback. Sends need no
/// context: the runtime knows the sending process. What only authors of behaviours call is in the
/// trait [`BehaviorContext`](crate::BehaviorContext).
///
/// # Functions that take a context
/// An async function that waits takes `&mut Context`, even if it calls only methods that take
/// `&self`:
///
/// ```
/// # use krarup_act::{Actor, Context};
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// # struct Shop;
/// async fn pause(ctx: &mut Context<u32>) {
///     ctx.sleep(Duration::from_secs(1)).await;
/// }
///
/// impl Actor for Shop {
///     type Message = u32;
///
///     async fn handle_message(&mut self, ctx: &mut Context<u32>, _: u32) -> Result {
///         pause(ctx).await;
///         Ok(())
///     }
/// }
/// ```
///
/// With `&Context` the future of the handler is not `Send`, and the compiler names
/// `TakeTheContextByMutableReference`. A context has messages of the process, and these need not
/// be `Sync`, so a reference on it must not move to another thread, as a process does when it
/// waits. A function that does not wait may take `&Context`. What only needs the time takes a
/// [`NodeClock`](crate::NodeClock), what only needs the address an
/// [`Address`](crate::Address).
///
/// ```compile_fail
/// # use krarup_act::{Actor, Context};
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// # struct Shop;
/// async fn pause(ctx: &Context<u32>) {
///     ctx.sleep(Duration::from_secs(1)).await;
/// }
///
/// impl Actor for Shop {
///     type Message = u32;
///
///     async fn handle_message(&mut self, ctx: &mut Context<u32>, _: u32) -> Result {
///         pause(ctx).await; // `pause` holds a `&Context` while it waits
///         Ok(())
///     }
/// }
/// ```
pub struct Context<M, C = M> {
    /// What the compiler names when a context is shared.
    shared: PhantomData<Box<dyn TakeTheContextByMutableReference + Send>>,
    pub(crate) cell: Arc<Cell<M, C>>,
    /// Entries that were taken off Main and are not handled yet.
    pub(crate) main: EntryQueue<M>,
    /// The item in progress: its sender, and its kind if it is no message on Main
    /// ([`last_item`]).
    pub(crate) sender: SenderId,
    /// What it has noted is in the cell: [`ContextMark`].
    pub(crate) cold: Option<ColdBox<ColdContext<M, C>>>,
}

/// A trait that exists for its name, which says the cure in the error of a future that holds a
/// `&Context` while it waits. A context is not `Sync`: it has messages, which need not be.
#[allow(dead_code, reason = "named by the compiler, in an error")]
trait TakeTheContextByMutableReference {}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    pub(crate) fn new(cell: Arc<Cell<M, C>>) -> Self {
        Context { cell, main: None, sender: last_item::NOTHING, cold: None, shared: PhantomData }
    }

    /// Returns the pid of this process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid()
    }

    /// Returns the address of this process.
    #[must_use]
    pub fn address(&self) -> Address<M, C> {
        Address::new(Arc::clone(&self.cell))
    }

    /// Returns the process that spawned this one; `None` if it was spawned from outside.
    #[must_use]
    pub fn parent(&self) -> Option<Pid> {
        self.cell.parent_pid()
    }

    /// Returns the sender of the message in progress: the original sender if it was forwarded
    /// (rule P1), `None` if it came from outside any process, or from another node. Who sends from there
    /// says who it is in the message: a field of the type [`Pid`].
    #[must_use]
    pub fn sender(&self) -> Option<Pid> {
        let sender = self.sender_id();
        (sender != 0).then(|| Pid::local(sender, self.cell.pid().creation()))
    }

    /// The number of the sender of the message in progress; 0: none.
    #[inline]
    pub(crate) fn sender_id(&self) -> SenderId {
        last_item::sender(self.sender)
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn node_name(&self) -> &str {
        self.cell.host.node_name()
    }

    /// Returns the bound of this process's Main lane; `None` if it has none.
    #[must_use]
    pub fn mailbox_bound(&self) -> Option<usize> {
        self.cell.inbox.lock().bound()
    }

    /// Returns the node's time (rule T2).
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.cell.host.now()
    }

    /// Returns the wall time: the system's, or the virtual one of a simulation, which begins at
    /// 2000-01-01 00:00 UTC (rule T6). It can be set back or forward at any moment, so it is for
    /// dates; for durations and timers use [`Context::now`].
    #[must_use]
    pub fn wall_time(&self) -> SystemTime {
        self.cell.host.wall_time()
    }

    /// Returns a new unique reference.
    #[must_use]
    pub fn make_ref(&self) -> Ref {
        self.cell.host.next_ref()
    }

    /// Returns a random number. In a simulation it comes from the seed, so that the same seed
    /// gives the same run.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.cell.host.random()
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.cell.host
    }

    /// See [`BehaviorContext::node_host`](crate::BehaviorContext::node_host).
    pub(crate) fn node_host(&self) -> Arc<dyn Host> {
        Arc::clone(&self.cell.host)
    }

    pub(crate) fn process(&self) -> Arc<dyn Process> {
        Arc::clone(&self.cell) as Arc<dyn Process>
    }

    /// Reports that the process has started, which completes its spawn (rule D2). For an actor
    /// the runtime calls it when `init` has returned.
    pub fn initialised(&mut self) {
        if self.is_started() {
            return;
        }
        self.cell.progress.note(ContextMark::NotStarted, false);
        self.take_sampler();
        let starter = if self.cell.progress.notes(ContextMark::HasStarter) {
            self.cell.progress.note(ContextMark::HasStarter, false);
            self.cell.inbox.lock().take_starter()
        } else {
            None
        };
        self.cell.complete_start(starter);
    }

    /// Ends this process after the message in progress, with [`Reason::Normal`] (rule D9). For
    /// actors; a bare process returns from `run` instead.
    pub fn stop(&mut self) {
        self.cell.progress.note(ContextMark::Stops, true);
    }

    /// See [`BehaviorContext::is_stopping`](crate::BehaviorContext::is_stopping).
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.cell.progress.notes(ContextMark::Stops)
    }

    /// Whether the process has requested its own stop, and no handler has received another one.
    pub(crate) fn stops_itself(&self) -> bool {
        self.is_stopping() && self.cold.as_ref().is_none_or(|cold| cold.stop_reason.is_none())
    }

    /// Records a stop that a handler has received; the behaviour obeys it when the handler is
    /// done.
    pub(crate) fn remember_stop(&mut self, reason: Reason) {
        self.stop();
        self.cold().stop_reason.get_or_insert(reason);
    }

    /// See [`BehaviorContext::take_stop`](crate::BehaviorContext::take_stop).
    pub(crate) fn take_stop(&mut self) -> Option<Reason> {
        if !self.is_stopping() {
            return None;
        }
        self.cell.progress.note(ContextMark::Stops, false);
        let reason = self.cold.as_mut().and_then(|cold| cold.stop_reason.take());
        Some(reason.unwrap_or(Reason::Normal))
    }

    /// Discards everything that belongs to the state of this process and not to the process,
    /// because another state replaces it. Timers and idle times are cancelled, and stashed
    /// messages are replayed. Mailbox, name, links and monitors stay, and so does a stop that has
    /// been requested.
    pub(crate) fn renew(&mut self) {
        let kept =
            self.cold.as_mut().and_then(|cold| cold.idle.take_if(|idle| idle.policy.is_some()));
        self.cancel_timers();
        self.renew_idle(kept);
        if let Some(cold) = &mut self.cold {
            cold.stash.replay_all();
        }
        self.update_slow_path();
    }

    /// See [`BehaviorContext::route_main`](crate::BehaviorContext::route_main).
    pub(crate) fn route_main(&mut self, route: impl Route<M>) -> bool {
        self.set_slow_path(true);
        self.cell.set_route(Box::new(route))
    }

    /// Changes what a full mailbox of this process does (rule M6), for processes that do not
    /// know it when they are spawned.
    ///
    /// # Errors
    /// The mailbox has no bound, or it has an order ([`Context::set_order`]) and would have to
    /// drop its oldest message. If the process has ended (a context can be moved out of it)
    /// this changes nothing and returns no error.
    pub fn set_overflow(&mut self, overflow: Overflow<M>) -> Result<(), OverflowError> {
        let drops_oldest = matches!(overflow, Overflow::DropOldest);
        if drops_oldest && self.is_ordered() {
            return Err(OrderError::DropsOldest.into());
        }
        let set = self.cell.inbox.lock().set_overflow(overflow);
        // The overflow that was refused or replaced is dropped here: its destructor is a
        // user's.
        match set {
            Err(_) if self.mailbox_bound().is_none() => return Err(NoBound.into()),
            Err(_) => return Ok(()),
            Ok(_) => {}
        }
        if drops_oldest {
            // Messages already taken off Main still wait, and one of them can be the oldest.
            self.return_looked_at();
        }
        Ok(())
    }

    /// Frees memory that is kept for speed (OTP's `hibernate`; rule D10). For a process that
    /// expects no messages for long. An idle process frees the queue of its mailbox by itself
    /// after some 10 ms. This frees it at once, with the spare memory of timers and of the
    /// stash.
    pub fn hibernate(&mut self) {
        if let Some(main) = &mut self.main {
            main.shrink_to_fit();
        }
        if self.main.as_ref().is_some_and(|main| main.is_empty()) {
            self.main = None;
        }
        if let Some(cold) = &mut self.cold {
            cold.stash.shrink();
        }
        self.release_cold();
        self.cell.inbox.lock().release_memory(false);
    }

    pub(crate) fn cold(&mut self) -> &mut ColdContext<M, C> {
        self.cold.get_or_insert_default()
    }

    /// Frees the rarely used parts if they are empty.
    pub(crate) fn release_cold(&mut self) {
        if self.cold.as_ref().is_some_and(|cold| cold.is_empty()) {
            self.cold = None;
        }
    }

    /// Updates whether messages take the slow path.
    pub(crate) fn update_slow_path(&mut self) {
        self.release_cold();
        self.set_slow_path(
            self.is_ordered()
                || self.has_other_slow_path()
                || self.cold.as_ref().is_some_and(|cold| cold.holding != Holding::Never),
        );
    }

    pub(super) fn set_slow_path(&mut self, is_slow: bool) {
        self.cell.progress.note(ContextMark::SlowPath, is_slow);
    }

    /// Whether there is a reason for the slow path other than an order and messages that keep
    /// their room.
    pub(super) fn has_other_slow_path(&self) -> bool {
        self.cell.is_routed() || self.cold.as_ref().is_some_and(|cold| cold.is_in_the_way())
    }
}

impl<M, C> Context<M, C> {
    /// Whether the process has started.
    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.cell.progress.has_started()
    }

    /// Whether messages take the slow path.
    #[inline]
    pub(crate) fn slow_path(&self) -> bool {
        self.cell.progress.notes(ContextMark::SlowPath)
    }
}

impl<M, C> fmt::Debug for Context<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.cell.pid())
    }
}
