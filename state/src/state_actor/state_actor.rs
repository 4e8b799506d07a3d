//! The [`StateActor`] trait.

use crate::contained_drop::ContainedDrop;
use crate::state_actor::kinds::{Kinds, StateContext};
use crate::state_actor::promise::Exception;
use crate::state_actor::scope::Scope;
use krarup_act::{Dynamic, Ended};
use krarup_gen::{Down, Exit, Inspection, Reason, Result};
use std::future::ready;
use std::num::NonZeroUsize;

/// A function that runs after a state actor has ended: see [`StateActor::cleaner`].
pub type Cleaner = Box<dyn FnOnce(&Ended<'_>) + Send>;

/// A process that serves while its handlers wait: Otavia's `StateActor`.
///
/// An [`Actor`](krarup_act::Actor) handles one message to its end before it takes the next. A
/// state actor does not: when a handler awaits, it is set aside (Otavia's stack) and the
/// next item begins. The state is lent only between awaits ([`Scope::with`]), so code that
/// the compiler accepts has no data race.
///
/// Waiting items are taken in this order, which is evaluated anew before each item (rule O2):
///
/// | class | item | callback |
/// |---|---|---|
/// | replies | an answer to one of the actor's own asks | the handler that awaits it resumes; [`handle_reply`](Self::handle_reply) for [`Scope::ask_then`] |
/// | exceptions | an ask of its own has failed | the same, with the error; [`handle_exception`](Self::handle_exception) |
/// | asks | a request that carries a reply token | [`handle_ask`](Self::handle_ask), [`handle_asks`](Self::handle_asks) |
/// | notices | a message without an answer | [`handle_notice`](Self::handle_notice), [`handle_notices`](Self::handle_notices) |
/// | events | timers, timeouts of its own asks, ends of other processes, the idle timeout | [`handle_event`](Self::handle_event), [`handle_down`](Self::handle_down), .. |
///
/// While an ask that [is a barrier](Self::is_barrier) is in flight, no ask and no notice
/// begins (rule O3). Otherwise up to [`Stateful::most_in_flight`](crate::Stateful::most_in_flight)
/// asks and notices may be in flight together (rule O1), and any number of events. A handler that
/// yields (it awaits something that wakes it at once) resumes when no other item is waiting.
///
/// A callback that returns `Err(reason)` or panics ends the process with that reason. If
/// the actor was spawned with [`Stateful::restarts`](crate::Stateful::restarts), it
/// [restarts](Self::restart) instead. Its handlers, promises and timers of [`Scope::after`] end
/// then, and timers of the context stay (rule O6). A stop waits for the handlers in flight, as for an
/// actor. Asks and notices that were not begun are dead letters.
///
/// If it is spawned with [`Class::Varying`](krarup_gen::Class::Varying), its load decides how it is
/// queued. It is queued before others while more items wait in it than they should, or
/// while it waits for no other process ([`Load`](crate::Load), rule O8).
///
/// A state actor manages no sockets and no files. Its handlers can await anything, and that
/// is its whole support for input and output (Otavia's `ChannelsActor` is something else).
pub trait StateActor: Sized + Send + 'static {
    /// A message without an answer.
    type Notice: Send + 'static;
    /// A request, usually an enum whose variants each carry a reply token.
    type Ask: Send + 'static;
    /// Answers to the requests it makes with [`Scope::ask_then`]; `()` if it makes none.
    type Reply: Send + 'static;
    /// Messages of its timers and messages that bypass a barrier; `()` if there are none.
    type Event: Send + 'static;

    /// Runs first, when the actor has an address, a name and a parent. The spawn completes
    /// when this callback has returned (rule D2).
    fn after_mount(&mut self, ctx: &mut StateContext<Self>) -> impl Future<Output = Result> + Send {
        let _ = ctx;
        ready(Ok(()))
    }

    /// Handles a notice.
    fn handle_notice(
        scope: &mut Scope<Self>,
        notice: Self::Notice,
    ) -> impl Future<Output = Result> + Send;

    /// Handles an ask.
    fn handle_ask(scope: &mut Scope<Self>, ask: Self::Ask) -> impl Future<Output = Result> + Send;

    /// Whether only replies, exceptions and events are handled until this ask is done
    /// (rule O3). Handlers that were already in flight may resume. A process that this
    /// handler asks must not ask this actor in turn: that request waits behind the barrier
    /// and ends by its timeout.
    fn is_barrier(&self, ask: &Self::Ask) -> bool {
        let _ = ask;
        false
    }

    /// Whether this ask may be handled together with its neighbours (rule O4). A barrier
    /// is never batched.
    fn batches_ask(&self, ask: &Self::Ask) -> bool {
        let _ = ask;
        false
    }

    /// Whether this notice may be handled together with its neighbours (rule O4).
    fn batches_notice(&self, notice: &Self::Notice) -> bool {
        let _ = notice;
        false
    }

    /// The largest size of a batch.
    fn most_in_batch(&self) -> NonZeroUsize {
        const { NonZeroUsize::new(1024).expect("1024 is not 0") }
    }

    /// Handles consecutive asks that [may be batched](Self::batches_ask); there is at
    /// least one. The default handles them one by one.
    fn handle_asks(
        scope: &mut Scope<Self>,
        asks: Vec<Self::Ask>,
    ) -> impl Future<Output = Result> + Send {
        async move {
            for ask in asks.into_iter().map(ContainedDrop::new).collect::<Vec<_>>() {
                Self::handle_ask(scope, ask.into_inner()).await?;
            }
            Ok(())
        }
    }

    /// Handles consecutive notices that [may be batched](Self::batches_notice); there is
    /// at least one. The default handles them one by one.
    fn handle_notices(
        scope: &mut Scope<Self>,
        notices: Vec<Self::Notice>,
    ) -> impl Future<Output = Result> + Send {
        async move {
            for notice in notices.into_iter().map(ContainedDrop::new).collect::<Vec<_>>() {
                Self::handle_notice(scope, notice.into_inner()).await?;
            }
            Ok(())
        }
    }

    /// Handles the answer to a request made with [`Scope::ask_then`]. The default drops it.
    fn handle_reply(
        scope: &mut Scope<Self>,
        reply: Self::Reply,
    ) -> impl Future<Output = Result> + Send {
        let _ = (scope, reply);
        ready(Ok(()))
    }

    /// Handles the failure of a request made with [`Scope::ask_then`]. The default ends
    /// the actor with the error: let it crash.
    fn handle_exception(
        scope: &mut Scope<Self>,
        exception: Exception,
    ) -> impl Future<Output = Result> + Send {
        let _ = scope;
        ready(Err(exception.error.into()))
    }

    /// Handles an event that was set with [`Scope::after`] or sent with
    /// [`StateCalls::event`](crate::StateCalls::event). The default drops it.
    fn handle_event(
        scope: &mut Scope<Self>,
        event: Self::Event,
    ) -> impl Future<Output = Result> + Send {
        let _ = (scope, event);
        ready(Ok(()))
    }

    /// Handles the end of a monitored process, as an event.
    fn handle_down(scope: &mut Scope<Self>, down: Down) -> impl Future<Output = Result> + Send {
        let _ = (scope, down);
        ready(Ok(()))
    }

    /// Handles an exit signal, as an event, if the process traps them (rule L3). The default ends
    /// the actor with the reason if that is abnormal. `Normal` and `Shutdown` leave it alive. An
    /// actor that does not trap is ended by `Shutdown` too (rule L2).
    fn handle_exit(scope: &mut Scope<Self>, exit: Exit) -> impl Future<Output = Result> + Send {
        let _ = scope;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Handles the idle timeout, as an event: nothing has come for the time set with
    /// [`Context::set_idle_timeout`](krarup_act::Context::set_idle_timeout) (rule D10).
    fn handle_timeout(scope: &mut Scope<Self>) -> impl Future<Output = Result> + Send {
        let _ = scope;
        ready(Ok(()))
    }

    /// Handles a message of another type, as an event. Such messages arrive only after
    /// [`Context::take_others`](krarup_act::Context::take_others). The default drops the message
    /// and logs that.
    fn handle_other(
        scope: &mut Scope<Self>,
        message: Dynamic,
    ) -> impl Future<Output = Result> + Send {
        scope.with_context(|_, ctx| ctx.drop_other(message));
        ready(Ok(()))
    }

    /// Returns the state for a debugger (rule X5). The default returns nothing.
    fn state(&self) -> Option<Dynamic> {
        None
    }

    /// Describes the actor. The numbers of waiting items and of handlers in flight are
    /// added to it.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Runs after the state has failed by an error or a panic, before
    /// [`restart`](Self::restart) (rule O6). No handler is in flight any more. The asks
    /// that the handlers held fail with the reason.
    fn before_restart(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, reason);
        ready(())
    }

    /// Repairs the state after a failure, most often with `*self = Self::new()`. An error
    /// counts as another failure. It is called only for an actor that was spawned with
    /// [`Stateful::restarts`](crate::Stateful::restarts). The default cannot repair the state and
    /// returns the reason of the failure.
    fn restart(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        let _ = ctx;
        ready(Err(reason.clone()))
    }

    /// Runs first after a restart, before any item is handled (rule O6). An error counts
    /// as another failure.
    fn after_restart(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        let _ = (ctx, reason);
        ready(Ok(()))
    }

    /// Returns a function that runs exactly once after the actor has ended, in whatever
    /// way it ended, even before [`after_mount`](Self::after_mount) (rule O9; Otavia's
    /// `AutoCleanable`). The function is a value of its own and cannot borrow the actor:
    /// see [`Context::on_end`](krarup_act::Context::on_end).
    fn cleaner(&self) -> Option<Cleaner> {
        None
    }

    /// Cleans up, as [`Actor::terminate`](krarup_act::Actor::terminate) does (rule D5). Handlers in
    /// flight do not resume.
    fn terminate(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, reason);
        ready(())
    }
}

impl<A: StateActor> Kinds for A {
    type Notice = A::Notice;
    type Ask = A::Ask;
    type Reply = A::Reply;
    type Event = A::Event;
}
