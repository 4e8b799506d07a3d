//! What a context offers to behaviours, and not to the callbacks of actors.
//!
//! Each method is one of the same name of [`Context`], which is not public: it stands in the file
//! of its topic, and within this crate it is called as any other.

use super::context::Context;
use super::held_messages::{ExpiredMessage, HeldMessage};
use super::own_process::OwnProcess;
use crate::addressing::dynamic::Dynamic;
use crate::addressing::route::Route;
use crate::groups::groups::Groups;
use crate::groups::table_topics::GroupMembers;
use crate::groups::table_watch::GroupsWatch;
use crate::host::delegate::Delegate;
use crate::host::host::Host;
use crate::observe::supervision_log::SupervisionLog;
use crate::process::progress::ContextMark;
use crate::received::Received;
use crate::traces::aside::AsideTrace;
use krarup_gen::{GroupChange, NoBound, Pid, Reason, WatchGroupError};
use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// The operations of a [`Context`] that are for authors of behaviours and for parts of a node.
///
/// [`Context`] has what callbacks of actors and loops of bare processes use. What follows is for a
/// [`Behavior`](crate::Behavior) that runs callbacks of others, or has work besides its mailbox.
/// Such a behaviour imports this trait. [`Context`] implements it, and nothing else can.
///
/// | subject | methods |
/// |---|---|
/// | receiving a part of what arrives | [`receive_early`](Self::receive_early), [`receive_control`](Self::receive_control), [`poll_request`](Self::poll_request) |
/// | stops and suspensions while a callback runs | [`is_stopping`](Self::is_stopping), [`take_stop`](Self::take_stop), [`stop_by_signal`](Self::stop_by_signal), [`is_suspended`](Self::is_suspended), [`ends`](Self::ends) |
/// | messages received ahead of their turn | [`hold_room`](Self::hold_room), [`poll_holding`](Self::poll_holding), [`take_holding`](Self::take_holding), [`free_room`](Self::free_room), [`drops_oldest`](Self::drops_oldest) |
/// | messages handled at the same time | [`hold_messages`](Self::hold_messages), [`hold_message`](Self::hold_message), [`begin_held`](Self::begin_held), [`lose_held`](Self::lose_held) |
/// | messages handled again, or never | [`sender_number`](Self::sender_number), [`set_sender`](Self::set_sender), [`keep_trace`](Self::keep_trace), [`resume_trace`](Self::resume_trace), [`dead_letter`](Self::dead_letter), [`dead_letter_other`](Self::dead_letter_other) |
/// | acting for the process elsewhere | [`route_main`](Self::route_main), [`delegate`](Self::delegate), [`own_process`](Self::own_process), [`node_host`](Self::node_host) |
/// | its label and its class | [`show_state`](Self::show_state), [`class_varies`](Self::class_varies), [`controls_waiting`](Self::controls_waiting) |
/// | keeping, supervising and listing other processes | [`passivate_if`](Self::passivate_if), [`unregister_from`](Self::unregister_from), [`supervision_log`](Self::supervision_log), [`watch_own_members`](Self::watch_own_members) |
///
/// A valve takes messages only while it is open. While it is closed they stay in its mailbox and
/// count towards the bound:
///
/// ```
/// # mod krarup { pub use {krarup_act as behavior, krarup_act::*, krarup_gen::*}; }
/// use krarup::behavior::{Behavior, BehaviorContext, Received};
/// use krarup::{Context, Result};
///
/// struct Valve {
///     open: bool,
/// }
///
/// enum Turn {
///     Open,
///     Close,
/// }
///
/// impl Behavior for Valve {
///     type Message = String;
///     type Command = Turn;
///
///     async fn run(mut self, mut ctx: Context<String, Turn>) -> Result {
///         ctx.stop_in_order();
///         ctx.initialised();
///         loop {
///             let received =
///                 if self.open { ctx.receive().await } else { ctx.receive_control().await };
///             match received {
///                 Received::Message(line) => println!("{line}"),
///                 Received::Command(Turn::Open) => self.open = true,
///                 Received::Command(Turn::Close) => self.open = false,
///                 Received::Stop(reason) => return Err(reason),
///                 _ => {}
///             }
///         }
///     }
/// }
/// ```
///
/// Whoever has its address opens it with `address.send_high(Turn::Open)`.
pub trait BehaviorContext<M: Send + 'static, C: Send + 'static>: Sealed {
    /// As [`Context::receive`], but does not report that the process has started. For a
    /// behaviour that receives during its own start, and calls [`Context::initialised`]
    /// itself.
    fn receive_early(&mut self) -> impl Future<Output = Received<M, C>> + Send;

    /// Receives the next item of the control lanes only: a command, a stop, an inspection, or
    /// the notice of an urgent link or monitor. Messages on Main stay there and count towards
    /// the bound. For a behaviour that has no room for more messages but must still receive a
    /// stop. It must stop in order ([`Context::stop_in_order`]): a process that only traps
    /// exits gets its stop as a notice on Main, which this does not receive.
    fn receive_control(&mut self) -> impl Future<Output = Received<M, C>> + Send;

    /// Polls for what goes before an event of this process's own: a stop, or a request for its
    /// state or an inspection. `None` says that the event may be handled now. Pending while the
    /// process is suspended, or if its turn is over. To be polled with the process's own waker.
    fn poll_request(&mut self) -> Poll<Option<Received<M, C>>>;

    /// Whether [`Context::stop`] was called, or a handler has received a stop. For behaviours
    /// that have handlers.
    #[must_use]
    fn is_stopping(&self) -> bool;

    /// Whether the process is to end by an exit signal that it has sent to itself. It then ends with that reason when it
    /// waits next, and a behaviour runs no callback before (rule L7).
    #[must_use]
    fn has_own_exit(&self) -> bool;

    /// Records that the process runs its `terminate` next: what it waits for with [`Context::receive_where`] from now on
    /// it waits for no longer (rule M14).
    fn ends(&mut self);

    /// Takes the recorded stop, if there is one, and its reason: [`Reason::Normal`] after
    /// [`Context::stop`], or the reason of the first stop request that was received. For behaviours
    /// that run handlers of their own. [`BehaviorContext::is_stopping`] is false from then on.
    fn take_stop(&mut self) -> Option<Reason>;

    /// Reverses [`Context::stop_in_order`]: from now on a requested stop arrives as an exit signal
    /// again, as it does at the start of a bare process (rule D5).
    fn stop_by_signal(&mut self);

    /// From now on the end of the parent to which this process was linked at its spawn overtakes queued messages, as a
    /// requested stop does. For behaviours that supervise others or receive nothing from Main.
    fn hurry_end_of_parent(&mut self);

    /// Whether the process is suspended, as far as it has noticed (rule X5). For behaviours
    /// with their own sources of work, which must pause then too.
    #[must_use]
    fn is_suspended(&self) -> bool;

    /// Returns the number of entries on the control lanes: commands, stops, inspections. For
    /// behaviours that choose their class by their waiting entries.
    #[must_use]
    fn controls_waiting(&self) -> usize;

    /// Has messages keep their room in the mailbox from now on, if they are received with
    /// [`BehaviorContext::poll_holding`] or [`BehaviorContext::take_holding`].
    /// [`BehaviorContext::free_room`] gives the room back (rule M5).
    ///
    /// # Errors
    /// The mailbox has no bound, so there is no room to keep.
    fn hold_room(&mut self) -> Result<(), NoBound>;

    /// Polls as [`Context::receive`] does; also returns whether the message keeps its room. A
    /// message beyond the bound, such as that of a timer, keeps none.
    fn poll_holding(&mut self) -> Poll<(Received<M, C>, bool)>;

    /// As [`Context::take_batch`] of one message; also returns whether it keeps its room.
    fn take_holding(&mut self) -> Option<(M, bool)>;

    /// Frees the room of messages that kept it and have been begun or lost; of all that keep it, if
    /// there are fewer than `messages`.
    fn free_room(&mut self, messages: usize);

    /// Declares that the behaviour holds messages, before it receives the first of them
    /// ([`BehaviorContext::hold_message`]).
    fn hold_messages(&mut self);

    /// Has the message that was received last count as not handled until
    /// [`HeldMessage::done`]. For a behaviour that receives messages ahead of their turn, or handles
    /// several at the same time. [`Address::when_handled`](crate::Address::when_handled) and the
    /// drain of a pool wait for the message (rule M13), and a pool counts it in the load of its worker
    /// (rules P8, P13). Without this, a message counts as handled when the behaviour receives again.
    ///
    /// ```
    /// # mod krarup { pub use {krarup_act as behavior, krarup_act::*, krarup_gen::*}; }
    /// use krarup::behavior::{Behavior, BehaviorContext, Received};
    /// use krarup::{Context, Result};
    ///
    /// /// Prints numbers by threes.
    /// struct Threes;
    ///
    /// impl Behavior for Threes {
    ///     type Message = u32;
    ///     type Command = u32;
    ///
    ///     async fn run(self, mut ctx: Context<u32>) -> Result {
    ///         ctx.hold_messages();
    ///         let mut collected = Vec::new();
    ///         while let Received::Message(number) = ctx.receive().await {
    ///             collected.push((number, ctx.hold_message()));
    ///             if collected.len() < 3 {
    ///                 continue;
    ///             }
    ///             for (number, mut held) in collected.drain(..) {
    ///                 match ctx.begin_held(&mut held) {
    ///                     Ok(()) => println!("{number}"),
    ///                     Err(expired) => expired.discard(number, None),
    ///                 }
    ///                 held.done();
    ///             }
    ///         }
    ///         for (number, held) in collected {
    ///             ctx.lose_held(held, number, None);
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    fn hold_message(&mut self) -> HeldMessage;

    /// Begins to handle a held message. If it is a job of a pool, its time to live, its latencies
    /// and the stuck limit count from here.
    ///
    /// # Errors
    /// [`ExpiredMessage`] if its time to live is over (rule P9). Then call
    /// [`ExpiredMessage::discard`].
    fn begin_held(&self, held: &mut HeldMessage) -> Result<(), ExpiredMessage<M, C>>;

    /// Drops a held message that will not be begun, as [`BehaviorContext::dead_letter`] does. If it is
    /// a job of a pool, the pool passes it to its `on_discard`.
    fn lose_held(&self, held: HeldMessage, message: M, sender: Option<Pid>);

    /// Whether the mailbox drops its oldest message when it is full. A message that has been
    /// received cannot be dropped any more, so it should then stay in the mailbox.
    #[must_use]
    fn drops_oldest(&self) -> bool;

    /// The number of the process that sent the message in progress; 0 if it came from outside any
    /// process. Cheaper than [`Context::sender`].
    #[must_use]
    fn sender_number(&self) -> u64;

    /// Sets the sender of the message in progress, for a message that is handled again.
    fn set_sender(&mut self, sender: Option<Pid>);

    /// Returns the trace of the message in progress, for a message that is set aside; `None` if it
    /// has none. The later handling belongs to the trace, below the span of this one.
    fn keep_trace(&self) -> Option<AsideTrace>;

    /// Ends the handling in progress, and begins that of a message that was set aside, of this type:
    /// in its trace, or in none.
    fn resume_trace(&mut self, kept: Option<AsideTrace>, message: &'static str);

    /// Drops a message that will not be handled, and counts it as a dead letter of this
    /// sender. For behaviours that receive messages or commands ahead of their turn. A
    /// destructor that panics does no harm.
    fn dead_letter<T: Send + 'static>(&self, message: T, sender: Option<Pid>);

    /// As [`BehaviorContext::dead_letter`], for a message of another type.
    fn dead_letter_other(&self, message: Dynamic, sender: Option<Pid>);

    /// Makes Main a route from now on (see [`Route`]). The process then receives no messages
    /// from Main. Messages that were accepted before are sent along the route when the process
    /// next receives. Returns false if Main is a route already.
    fn route_main(&mut self, route: impl Route<M>) -> bool;

    /// Returns a handle that a [`Route`] of this process uses on the threads of
    /// senders.
    #[must_use]
    fn delegate(&self) -> Delegate;

    /// Returns a handle on this process for its own behaviour.
    #[must_use]
    fn own_process(&self) -> OwnProcess<M, C>;

    /// Returns the node as this process sees it. For behaviours that are parts of a node.
    #[must_use]
    fn node_host(&self) -> Arc<dyn Host>;

    /// Makes this state the label of the process ([`ProcessInfo::label`](krarup_gen::ProcessInfo);
    /// rule F14), unless the process has given itself another ([`Context::set_label`]). A text of more
    /// than 255 bytes is cut. A state that cannot be printed, because its `Debug` panics or
    /// prints nothing, leaves the label as it is.
    fn show_state(&self, state: &impl fmt::Debug);

    /// Whether this process has [`Class::Varying`](krarup_gen::Class::Varying), set at its spawn or inherited.
    /// [`Context::set_class`] then sets the class in which it is queued.
    #[must_use]
    fn class_varies(&self) -> bool;

    /// As [`Context::passivate_after`], but `may_go` decides each time, for an owner of this
    /// process that must know of its end. `may_go` runs in the process's own turn. It also
    /// decides if the process then chooses another time for itself, and it remains if the
    /// state is replaced in place.
    fn passivate_if(&mut self, time: Duration, may_go: impl FnMut() -> bool + Send + 'static);

    /// Takes a name away from the process `pid` if that has it, and returns whether it had.
    /// For a process that is left behind because it cannot be ended: another may have taken
    /// the name meanwhile.
    fn unregister_from(&mut self, name: &str, pid: Pid) -> bool;

    /// Returns what tells the node the decisions of this process. For behaviours that supervise
    /// others.
    #[must_use]
    fn supervision_log(&self) -> SupervisionLog;

    /// As [`Context::watch_groups`], for the members of this node only. For clusters.
    ///
    /// # Errors
    /// Those of [`Context::watch_groups`].
    fn watch_own_members(
        &mut self,
        groups: &Groups,
    ) -> Result<(GroupMembers, GroupsWatch), WatchGroupError>
    where
        M: From<GroupChange>;
}

/// A trait that nothing outside this crate can name or implement, so that [`BehaviorContext`] can
/// get further methods.
pub trait Sealed {}

impl<M, C> Sealed for Context<M, C> {}

impl<M: Send + 'static, C: Send + 'static> BehaviorContext<M, C> for Context<M, C> {
    fn receive_early(&mut self) -> impl Future<Output = Received<M, C>> + Send {
        Context::receive_early(self)
    }

    fn receive_control(&mut self) -> impl Future<Output = Received<M, C>> + Send {
        Context::receive_control(self)
    }

    #[inline]
    fn poll_request(&mut self) -> Poll<Option<Received<M, C>>> {
        Context::poll_request(self)
    }

    #[inline]
    fn is_stopping(&self) -> bool {
        Context::is_stopping(self)
    }

    #[inline]
    fn has_own_exit(&self) -> bool {
        self.cell.has_own_exit()
    }

    fn ends(&mut self) {
        self.cell.progress.note(ContextMark::Ends, true);
    }

    #[inline]
    fn take_stop(&mut self) -> Option<Reason> {
        Context::take_stop(self)
    }

    fn stop_by_signal(&mut self) {
        Context::stop_by_signal(self);
    }

    fn hurry_end_of_parent(&mut self) {
        Context::hurry_end_of_parent(self);
    }

    #[inline]
    fn is_suspended(&self) -> bool {
        Context::is_suspended(self)
    }

    #[inline]
    fn controls_waiting(&self) -> usize {
        Context::controls_waiting(self)
    }

    fn hold_room(&mut self) -> Result<(), NoBound> {
        Context::hold_room(self)
    }

    #[inline]
    fn poll_holding(&mut self) -> Poll<(Received<M, C>, bool)> {
        Context::poll_holding(self)
    }

    #[inline]
    fn take_holding(&mut self) -> Option<(M, bool)> {
        Context::take_holding(self)
    }

    #[inline]
    fn free_room(&mut self, messages: usize) {
        Context::free_room(self, messages);
    }

    fn hold_messages(&mut self) {
        Context::hold_messages(self);
    }

    fn hold_message(&mut self) -> HeldMessage {
        Context::hold_message(self)
    }

    fn begin_held(&self, held: &mut HeldMessage) -> Result<(), ExpiredMessage<M, C>> {
        Context::begin_held(self, held)
    }

    fn lose_held(&self, held: HeldMessage, message: M, sender: Option<Pid>) {
        Context::lose_held(self, held, message, sender);
    }

    #[inline]
    fn drops_oldest(&self) -> bool {
        Context::drops_oldest(self)
    }

    #[inline]
    fn sender_number(&self) -> u64 {
        Context::sender_number(self)
    }

    #[inline]
    fn set_sender(&mut self, sender: Option<Pid>) {
        Context::set_sender(self, sender);
    }

    #[inline]
    fn keep_trace(&self) -> Option<AsideTrace> {
        Context::keep_trace(self)
    }

    #[inline]
    fn resume_trace(&mut self, kept: Option<AsideTrace>, message: &'static str) {
        Context::resume_trace(self, kept, message);
    }

    fn dead_letter<T: Send + 'static>(&self, message: T, sender: Option<Pid>) {
        Context::dead_letter(self, message, sender);
    }

    fn dead_letter_other(&self, message: Dynamic, sender: Option<Pid>) {
        Context::dead_letter_other(self, message, sender);
    }

    fn route_main(&mut self, route: impl Route<M>) -> bool {
        Context::route_main(self, route)
    }

    fn delegate(&self) -> Delegate {
        Context::delegate(self)
    }

    fn own_process(&self) -> OwnProcess<M, C> {
        Context::own_process(self)
    }

    fn node_host(&self) -> Arc<dyn Host> {
        Context::node_host(self)
    }

    fn show_state(&self, state: &impl fmt::Debug) {
        Context::show_state(self, state);
    }

    fn class_varies(&self) -> bool {
        Context::class_varies(self)
    }

    fn passivate_if(&mut self, time: Duration, may_go: impl FnMut() -> bool + Send + 'static) {
        Context::passivate_if(self, time, may_go);
    }

    fn unregister_from(&mut self, name: &str, pid: Pid) -> bool {
        Context::unregister_from(self, name, pid)
    }

    fn supervision_log(&self) -> SupervisionLog {
        Context::supervision_log(self)
    }

    fn watch_own_members(
        &mut self,
        groups: &Groups,
    ) -> Result<(GroupMembers, GroupsWatch), WatchGroupError>
    where
        M: From<GroupChange>,
    {
        Context::watch_own_members(self, groups)
    }
}
