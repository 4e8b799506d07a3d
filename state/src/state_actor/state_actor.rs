//! What a state actor is.

use crate::contained_drop::ContainedDrop;
use crate::state_actor::kinds::{Kinds, StateContext};
use crate::state_actor::promise::Exception;
use crate::state_actor::scope::Scope;
use krarup_act::{Dynamic, Ended};
use krarup_gen::{Down, Exit, Inspection, Reason, Result};
use std::future::ready;

/// What runs when a state actor is gone: see [`StateActor::cleaner`].
pub type Cleaner = Box<dyn FnOnce(&Ended<'_>) + Send>;

/// A process that serves while its handlers wait: Otavia's `StateActor`.
///
/// An [`krarup_act::Actor`] handles one message to its end before the next. This one goes on:
/// a handler that awaits is set aside (Otavia's stack), and the next thing is begun. The state
/// is lent for moments ([`Scope::with`]), so what Rust accepts has no data race.
///
/// What waits is taken in this order, looked at anew before each (rule O2):
///
/// | class | what | callback |
/// |---|---|---|
/// | replies | an answer to an ask of this actor's own | the handler that awaits it goes on; [`handle_reply`](Self::handle_reply) for [`Scope::ask_then`] |
/// | exceptions | such an ask has failed | the same, with the error; [`handle_exception`](Self::handle_exception) |
/// | asks | somebody wants an answer | [`handle_ask`](Self::handle_ask), [`handle_asks`](Self::handle_asks) |
/// | notices | somebody tells something | [`handle_notice`](Self::handle_notice), [`handle_notices`](Self::handle_notices) |
/// | events | timers, timeouts of own asks, ends of others, silence | [`handle_event`](Self::handle_event), [`handle_down`](Self::handle_down), .. |
///
/// While an ask that [is a barrier](Self::is_barrier) is in flight no ask and no notice is
/// begun (rule O3). Other asks and notices may be in flight together, up to
/// [`crate::Stateful::most_in_flight`] of them (rule O1), and any number of events. A handler that
/// yields (it awaits what wakes it at once) goes on when nothing else is there.
///
/// A callback that returns `Err(reason)`, or panics, ends the process with that reason, or has
/// it [restart](Self::restart) if it was spawned so ([`crate::Stateful::restarts`]). A stop waits
/// for the handlers in flight, as it does for an actor's; what was not begun is a dead letter.
///
/// Spawned with [`krarup_gen::Class::Varying`] it is queued by its load: before others while more
/// waits in it than it should, or while it waits for nobody itself ([`crate::Load`], rule O8).
///
/// It has no sockets and no files to look after: that its handlers can await anything is all
/// there is of input and output (Otavia's `ChannelsActor` is another thing).
pub trait StateActor: Sized + Send + 'static {
    /// What it is told.
    type Notice: Send + 'static;
    /// What it is asked: usually an enum whose variants carry a reply token each.
    type Ask: Send + 'static;
    /// Answers to what it asks with [`Scope::ask_then`]; `()` if it does not.
    type Reply: Send + 'static;
    /// What its timers bring, and what others send past the barrier; `()` if there is nothing.
    type Event: Send + 'static;

    /// The first of its life, when it has an address, a name and a parent. Whoever waits for
    /// its spawn goes on when this has returned (rule D2).
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

    /// Whether nothing but replies and events is handled until this ask is done (rule O3).
    /// Handlers that were in flight before may go on. Whom it asks must not ask this actor in
    /// turn: that waits behind the barrier, and ends by a timeout.
    fn is_barrier(&self, ask: &Self::Ask) -> bool {
        let _ = ask;
        false
    }

    /// Whether this ask may be handled together with its neighbours (rule O4). A barrier never
    /// is.
    fn batches_ask(&self, ask: &Self::Ask) -> bool {
        let _ = ask;
        false
    }

    /// Whether this notice may be handled together with its neighbours (rule O4).
    fn batches_notice(&self, notice: &Self::Notice) -> bool {
        let _ = notice;
        false
    }

    /// The most that are handled together; 0 counts as 1.
    fn most_in_batch(&self) -> usize {
        1024
    }

    /// Handles asks that follow each other and that [may be](Self::batches_ask) handled
    /// together, one at least. The default handles them one by one.
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

    /// Handles notices that follow each other and that [may be](Self::batches_notice) handled
    /// together, one at least. The default handles them one by one.
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

    /// Handles the answer to what was asked with [`Scope::ask_then`]. The default drops it.
    fn handle_reply(
        scope: &mut Scope<Self>,
        reply: Self::Reply,
    ) -> impl Future<Output = Result> + Send {
        let _ = (scope, reply);
        ready(Ok(()))
    }

    /// Handles that what was asked with [`Scope::ask_then`] has failed. The default ends the
    /// actor with the error: let it crash.
    fn handle_exception(
        scope: &mut Scope<Self>,
        exception: Exception,
    ) -> impl Future<Output = Result> + Send {
        let _ = scope;
        ready(Err(exception.error.into()))
    }

    /// Handles an event: one of [`Scope::after`], or one that was sent
    /// ([`crate::Letters::event`]). The default drops it.
    fn handle_event(
        scope: &mut Scope<Self>,
        event: Self::Event,
    ) -> impl Future<Output = Result> + Send {
        let _ = (scope, event);
        ready(Ok(()))
    }

    /// Hears that a monitored process has ended: an event.
    fn handle_down(scope: &mut Scope<Self>, down: Down) -> impl Future<Output = Result> + Send {
        let _ = (scope, down);
        ready(Ok(()))
    }

    /// Hears an exit signal, if it traps them (rule L3): an event. The default ends the actor with
    /// an abnormal reason, as if it did not trap.
    fn handle_exit(scope: &mut Scope<Self>, exit: Exit) -> impl Future<Output = Result> + Send {
        let _ = scope;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Nothing has come for as long as was set with [`krarup_act::Context::set_idle_timeout`] (rule D10): an
    /// event.
    fn handle_timeout(scope: &mut Scope<Self>) -> impl Future<Output = Result> + Send {
        let _ = scope;
        ready(Ok(()))
    }

    /// Handles a message of another type; comes only after [`krarup_act::Context::take_others`]: an event.
    /// The default drops it and logs that.
    fn handle_other(
        scope: &mut Scope<Self>,
        message: Dynamic,
    ) -> impl Future<Output = Result> + Send {
        scope.with_context(|_, ctx| ctx.drop_other(message));
        ready(Ok(()))
    }

    /// Shows the state to a debugger (rule X5). The default shows nothing.
    fn state(&self) -> Option<Dynamic> {
        None
    }

    /// Describes the actor. What waits and what is in flight is added to it.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// The state has failed, by an error or a panic, and [`restart`](Self::restart) comes
    /// next (rule O6). No handler is in flight any more: the asks they had fail with the reason.
    fn before_restart(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, reason);
        ready(())
    }

    /// Puts the state right again after a failure: most often `*self = Self::new()`. An error is
    /// another failure. Comes only to an actor that was spawned with
    /// [`crate::Stateful::restarts`]. The default cannot put it right, and says so with the
    /// reason of the failure.
    fn restart(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        let _ = ctx;
        ready(Err(reason.clone()))
    }

    /// The first after a restart, before anything is handled (rule O6). An error is another
    /// failure.
    fn after_restart(
        &mut self,
        ctx: &mut StateContext<Self>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        let _ = (ctx, reason);
        ready(Ok(()))
    }

    /// What is to run exactly once when the actor is gone, however it ends, before
    /// [`after_mount`](Self::after_mount) included (rule O9; Otavia's `AutoCleanable`). It is a
    /// value of its own that cannot borrow the actor: see [`krarup_act::Context::on_end`].
    fn cleaner(&self) -> Option<Cleaner> {
        None
    }

    /// Cleans up; as [`krarup_act::Actor::terminate`] (rule D5). Handlers in flight do not go on.
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
