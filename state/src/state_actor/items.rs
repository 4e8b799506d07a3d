//! The items in the classes of a state actor, and how the actor sorts them.

use crate::state_actor::classes::Sorting;
use crate::state_actor::promise::Exception;
use crate::state_actor::state_actor::StateActor;
use crate::table::TableKey;
use krarup_act::{BehaviorContext, Context, Dynamic, HeldMessage, HeldTrace, contain};
use krarup_gen::{DeadLetterCause, Down, Exit, Pid};

/// A message and its sender.
pub(crate) struct Posted<T> {
    pub(crate) sender: Option<Pid>,
    pub(crate) message: T,
    /// It keeps its room in the mailbox until it begins.
    pub(crate) keeps_room: bool,
    /// The trace context in which it was sent.
    pub(crate) trace: Option<HeldTrace>,
    /// It is not handled yet, if it came from the mailbox (rule M13).
    pub(crate) held: Option<HeldMessage>,
}

impl<T> Posted<T> {
    /// The message that was received last, which is handled when its handler has ended.
    #[inline]
    pub(crate) fn held<M: Send + 'static, C: Send + 'static>(
        message: T,
        keeps_room: bool,
        ctx: &mut Context<M, C>,
    ) -> Self {
        let held = Some(ctx.hold_message());
        Posted { held, ..Posted::sent(message, keeps_room, ctx) }
    }

    /// The message that was received last, for which nobody waits.
    #[inline]
    pub(crate) fn sent<M: Send + 'static, C: Send + 'static>(
        message: T,
        keeps_room: bool,
        ctx: &Context<M, C>,
    ) -> Self {
        let (sender, trace) = (ctx.sender(), HeldTrace::take());
        Posted { sender, message, keeps_room, trace, held: None }
    }

    /// Whether it is a job of a pool, whose watch begins with its handler.
    pub(crate) fn is_to_begin(&self) -> bool {
        self.held.as_ref().is_some_and(HeldMessage::is_to_begin)
    }
}

/// A message in this trace becomes a dead letter.
pub(crate) fn unhandled(trace: Option<HeldTrace>) {
    if let Some(trace) = trace {
        trace.fail(DeadLetterCause::Unhandled.as_str());
    }
}

/// An item of the first class.
pub(crate) enum ReplyItem<R> {
    /// An answer for the holder of a promise.
    Awaited(TableKey),
    /// An answer for the callback.
    Told(TableKey, R),
    /// A handler was woken by something other than a promise.
    Woken(TableKey),
}

/// A failed ask of the actor's own.
pub(crate) enum AskFailure {
    Awaited(TableKey),
    Told(TableKey, Exception),
}

/// An item of the last class.
pub(crate) enum ActorEvent<E> {
    /// An ask was not answered in time.
    Timeout(AskFailure),
    Timer(TableKey, E),
    Sent(Posted<E>),
    Down(Down),
    Exit(Exit),
    Silence,
    Other(Posted<Dynamic>),
}

impl<E: Send + 'static> ActorEvent<E> {
    /// Whether the actor has set or requested this event itself, so that nobody has sent it.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, ActorEvent::Timeout(_) | ActorEvent::Timer(..))
    }

    /// Drops an event that will not be handled. An event that was sent is a dead letter
    /// (rule D7).
    pub(crate) fn dead_letter<M: Send + 'static>(self, ctx: &Context<M, E>) {
        match self {
            ActorEvent::Sent(Posted { sender, message, trace, .. }) => {
                unhandled(trace);
                ctx.dead_letter(message, sender);
            }
            ActorEvent::Other(Posted { sender, message, trace, .. }) => {
                unhandled(trace);
                ctx.dead_letter_other(message, sender);
            }
            told => drop(contain(|| drop(told))),
        }
    }

    /// The sender, if the event was sent.
    pub(crate) fn sender(&self) -> Option<Pid> {
        match self {
            ActorEvent::Sent(Posted { sender, .. }) | ActorEvent::Other(Posted { sender, .. }) => {
                *sender
            }
            _ => None,
        }
    }
}

/// Sorts asks and notices by the actor's own filters.
pub(crate) struct By<'a, A>(pub(crate) &'a A);

impl<A: StateActor> Sorting<Posted<A::Ask>, Posted<A::Notice>> for By<'_, A> {
    fn is_barrier(&self, ask: &Posted<A::Ask>) -> bool {
        self.0.is_barrier(&ask.message)
    }

    fn batches_ask(&self, ask: &Posted<A::Ask>) -> bool {
        self.0.batches_ask(&ask.message)
    }

    fn batches_notice(&self, notice: &Posted<A::Notice>) -> bool {
        self.0.batches_notice(&notice.message)
    }

    fn most(&self) -> usize {
        self.0.most_in_batch().get()
    }
}
