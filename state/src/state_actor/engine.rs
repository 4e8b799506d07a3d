//! The main loop of a state actor: sort incoming items into the classes, handle the next.
//!
//! ```text
//!   mailbox ──┐                         ┌──► begin a handler ──► ended
//!  promises ──┼─ gather ─► classes ─────┤         │ awaits
//!  wakeups  ──┘             (order)     └──► resume a handler ◄── handlers in flight
//!      ▲                                                          │
//!      └────────────────────── wakers ◄───────────────────────────┘
//! ```
//!
//! One step gathers, takes the next item, and runs its handler until it ends or awaits. So an
//! item that arrived during one step is sorted in before the next is taken (rule O2). A handler
//! that yields resumes when no other item is waiting, because it has declared that it can wait.
//!
//! This file holds the loop and the conditions of its end. [`super::intake`] sorts items in.
//! [`state_actor::handling`](crate::state_actor::handling) handles the next one.

use crate::contained_drop::drop_each;
use crate::state_actor::classes::{Classes, NextItem};
use crate::state_actor::handlers::RunningHandlers;
use crate::state_actor::items::{ActorEvent, AskFailure, By, Posted, ReplyItem, unhandled};
use crate::state_actor::kinds::StateContext;
use crate::state_actor::load::Load;
use crate::state_actor::promise::PromiseTable;
use crate::state_actor::scope::{HandlerScope, StateOwner};
use crate::state_actor::state_actor::StateActor;
use crate::state_actor::state_message::StateMessage;
use crate::table::TableKey;
use krarup_act::{BehaviorContext, HeldMessage, contain};
use krarup_gen::{Inspection, Pid, Reason, Result, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Items that one poll handles beyond those it received. A turn counts messages only, so
/// items from other sources must not make it endless.
const STEPS: usize = 64;

/// Why an actor is to end.
pub(crate) enum StateActorEnd {
    /// A callback failed.
    Failed(Reason),
    /// It was told to end, or has stopped itself.
    Told(Reason),
}

type ActorClasses<A> = Classes<
    ReplyItem<<A as StateActor>::Reply>,
    AskFailure,
    Posted<<A as StateActor>::Ask>,
    Posted<<A as StateActor>::Notice>,
    ActorEvent<<A as StateActor>::Event>,
>;

/// What the engine does next.
#[derive(Clone, Copy)]
pub(crate) enum NextStep {
    /// The first item of a class.
    Take(NextItem),
    /// The handler that has yielded first goes on.
    Yielded,
}

pub(crate) struct Engine<A: StateActor> {
    pub(crate) shared: Arc<HandlerScope<A>>,
    pub(crate) handlers: RunningHandlers,
    pub(crate) classes: ActorClasses<A>,
    /// Handlers that have yielded, in order.
    pub(crate) yielded: VecDeque<TableKey>,
    /// Asks and notices that wait in the classes keep their room in the mailbox.
    pub(crate) keeps_room: bool,
    /// The limit of handlers of asks and notices in flight.
    most_in_flight: usize,
    /// The load decides the class in which the process is queued.
    class_varies: bool,
    /// The state and the context, while lifecycle callbacks use them.
    out: Option<StateOwner<A>>,
    /// The reason to end with when no handler is in flight any more.
    told: Option<Reason>,
    /// It ends when nothing waits and no handler is in flight any more.
    pub(crate) finishing: bool,
}

impl<A: StateActor> Engine<A> {
    pub(crate) fn new(actor: A, mut ctx: StateContext<A>, most_in_flight: usize) -> Self {
        let (pid, class_varies) = (ctx.pid(), ctx.class_varies());
        let keeps_room = ctx.hold_room().is_ok();
        ctx.hold_messages();
        let shared = HandlerScope {
            owner: parking_lot::Mutex::new(Some(StateOwner { actor, ctx })),
            table: PromiseTable::new(pid),
            wakers: Arc::default(),
            pid,
        };
        Engine {
            shared: Arc::new(shared),
            handlers: RunningHandlers::default(),
            classes: Classes::default(),
            yielded: VecDeque::new(),
            keeps_room,
            most_in_flight,
            class_varies,
            out: None,
            told: None,
            finishing: false,
        }
    }

    /// Inserts a notice that is handled before all that are sent.
    pub(crate) fn put_first(&mut self, notice: A::Notice) {
        let sender = Some(self.shared.pid);
        self.classes.notices.push_front(Posted {
            sender,
            message: notice,
            keeps_room: false,
            trace: None,
            held: None,
        });
    }

    /// Runs until the actor is to end. A panic anywhere in it is a failure. `shared` is its own scope.
    pub(crate) fn poll(
        &mut self,
        shared: &HandlerScope<A>,
        cx: &mut Context<'_>,
    ) -> Poll<StateActorEnd> {
        shared.wakers.run();
        contain(|| self.run(shared, cx))
            .unwrap_or_else(|panic| Poll::Ready(StateActorEnd::Failed(panic)))
    }

    fn run(&mut self, shared: &HandlerScope<A>, cx: &mut Context<'_>) -> Poll<StateActorEnd> {
        let mut steps = STEPS;
        loop {
            // Update the limit before looking: asks and notices may have stayed in the
            // mailbox because the limit was reached, and no further wake-up comes for them.
            self.classes.set_busy(self.handlers.of_messages() >= self.most_in_flight);
            let (received, next) = match self.next(shared, cx) {
                Ok(next) => next,
                Err(panic) => return Poll::Ready(StateActorEnd::Failed(panic)),
            };
            steps += received;
            if let Some(next) = next {
                if let Err(reason) = self.handle(next) {
                    return Poll::Ready(StateActorEnd::Failed(reason));
                }
            } else if let Some(end) = self.end() {
                return Poll::Ready(end);
            } else if self.is_alone() || shared.wakers.rest(cx.waker()) {
                break;
            }
            steps = steps.saturating_sub(1);
            if steps == 0 {
                cx.waker().wake_by_ref();
                break;
            }
        }
        if self.class_varies {
            self.say_class();
        }
        Poll::Pending
    }

    /// Returns the end if the actor is to end and nothing prevents it.
    fn end(&mut self) -> Option<StateActorEnd> {
        if !self.handlers.is_empty() {
            return None;
        }
        if let Some(reason) = self.told.clone() {
            return Some(StateActorEnd::Told(reason));
        }
        // A suspended actor may have items waiting, in the classes or in the mailbox.
        (self.finishing && self.shared.table.pending() == 0 && !self.is_suspended())
            .then_some(StateActorEnd::Told(Reason::Normal))
    }

    /// Whether nothing of its own can wake it: it has no handler in flight, no promise and no timer.
    fn is_alone(&self) -> bool {
        self.handlers.is_empty() && self.shared.table.is_empty()
    }

    fn is_suspended(&self) -> bool {
        self.shared.owner.lock().as_ref().is_some_and(|owner| owner.ctx.is_suspended())
    }

    /// Begins nothing from now on.
    pub(crate) fn tell(&mut self, reason: Reason) {
        self.told.get_or_insert(reason);
        self.classes.close();
    }

    /// Whether it was told to end. It ends when no handler is in flight any more.
    pub(crate) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// Whether the actor is to end, or has asked for that in what it handled last. A failure then
    /// causes no restart.
    pub(crate) fn is_to_end(&self) -> bool {
        let owner = self.shared.owner.lock();
        self.is_told() || owner.as_ref().is_some_and(|owner| owner.ctx.is_stopping())
    }

    /// Whether the actor is to end by an exit signal that it has sent to itself.
    pub(crate) fn has_own_exit(&self) -> bool {
        self.shared.owner.lock().as_ref().is_some_and(|owner| owner.ctx.has_own_exit())
    }

    /// Says what is next, if anything may be. It is taken by [`Engine::handle`].
    ///
    /// # Errors
    /// A filter of the actor has panicked.
    pub(crate) fn decide(&mut self, owner: &mut StateOwner<A>) -> Result<Option<NextStep>> {
        let StateOwner { actor, ctx } = owner;
        if self.told.is_none() {
            if ctx.is_suspended() {
                return Ok(None);
            }
            if let Some(reason) = ctx.take_stop() {
                // For handlers in flight, which may look.
                ctx.stop();
                self.told = Some(reason);
                self.classes.close();
            }
        }
        let next = contain(|| self.classes.next(&By(actor))).inspect_err(|_| {
            // A filter has panicked: the message whose batch was being formed is lost (rule O4).
            if self.keeps_room {
                ctx.free_room(first_place(&self.classes));
            }
            let ask = self.classes.asks.pop_front();
            let notice = if ask.is_none() { self.classes.notices.pop_front() } else { None };
            drop_each(ask);
            drop_each(notice);
        })?;
        if self.keeps_room
            && let Some(next) = next
        {
            ctx.free_room(places(&self.classes, next));
        }
        let yielded = (!self.yielded.is_empty()).then_some(NextStep::Yielded);
        Ok(next.map(NextStep::Take).or(yielded))
    }

    pub(crate) fn load(&self) -> Load {
        Load {
            replies: self.classes.replies.len(),
            events: self.classes.events.len(),
            pending: self.shared.table.pending(),
        }
    }

    /// Queues the process in the class of its load (rule O8). Events that did not fit into
    /// the turn are still in the mailbox.
    fn say_class(&mut self) {
        self.gather_own();
        let mut load = self.load();
        if let Some(StateOwner { ctx, .. }) = &mut *self.shared.owner.lock() {
            load.events += ctx.controls_waiting();
            ctx.set_class(load.class());
        }
    }

    pub(crate) fn inspect(&self) -> Inspection {
        let owner = self.shared.owner.lock();
        let mut inspection = owner.as_ref().map(|owner| owner.actor.inspect()).unwrap_or_default();
        drop(owner);
        self.load().describe(&mut inspection);
        inspection
            .with("exceptions", self.classes.exceptions.len())
            .with("asks", self.classes.asks.len())
            .with("notices", self.classes.notices.len())
            .with("in_flight", self.handlers.len())
            .with("barrier", self.classes.has_barrier())
    }

    /// Abandons all handlers in flight and all promises and timers. Messages that were
    /// sent and not begun stay.
    pub(crate) fn abandon(&mut self) {
        self.handlers.clear();
        self.yielded.clear();
        self.shared.table.clear();
        self.shared.wakers.take();
        self.classes.lower_any();
        drop_each(self.classes.replies.drain(..));
        drop_each(self.classes.exceptions.drain(..));
        let events = std::mem::take(&mut self.classes.events);
        let (own, sent) = events.into_iter().partition(ActorEvent::is_own);
        self.classes.events = sent;
        drop_each::<VecDeque<_>>(own);
    }

    /// Returns the current time.
    pub(crate) fn now(&mut self) -> Timestamp {
        let now = self.take_out().ctx.now();
        self.put_back();
        now
    }

    /// Takes out the state and the context for the lifecycle callbacks. No handler runs
    /// meanwhile.
    pub(crate) fn take_out(&mut self) -> &mut StateOwner<A> {
        let out = self.shared.owner.lock().take().or_else(|| self.out.take());
        self.out.insert(out.expect("the state is either in the scope or taken out"))
    }

    /// Returns the state and the context to the handlers.
    pub(crate) fn put_back(&mut self) {
        if let Some(owner) = self.out.take() {
            *self.shared.owner.lock() = Some(owner);
        }
    }
}

impl<A: StateActor> Drop for Engine<A> {
    fn drop(&mut self) {
        // An engine that was not closed is dropped by a kill, and the kill is the cause of
        // the end.
        let _ = self.close();
    }
}

impl<A: StateActor> Engine<A> {
    /// Drops the handlers, then the state. Messages that were sent and not begun are counted
    /// as lost. Promises held elsewhere are abandoned, and their holders are notified.
    ///
    /// # Errors
    /// The destructor of the state has panicked.
    pub(crate) fn close(&mut self) -> krarup_gen::Result {
        // Values that a handler leaves behind may access the state in their destructors.
        self.put_back();
        self.abandon();
        let Some(StateOwner { actor, ctx }) = self.shared.owner.lock().take() else {
            return Ok(());
        };
        for Posted { sender, message, trace, held, .. } in self.classes.asks.drain(..) {
            unhandled(trace);
            lose(&ctx, held, StateMessage::Ask(message), sender);
        }
        for Posted { sender, message, trace, held, .. } in self.classes.notices.drain(..) {
            unhandled(trace);
            lose(&ctx, held, StateMessage::Notice(message), sender);
        }
        for event in self.classes.events.drain(..) {
            event.dead_letter(&ctx);
        }
        contain(|| drop(actor))
    }
}

/// Drops a message that was not begun, and counts it as lost.
fn lose<M: Send + 'static, C: Send + 'static>(
    ctx: &krarup_act::Context<M, C>,
    held: Option<HeldMessage>,
    message: M,
    sender: Option<Pid>,
) {
    match held {
        Some(held) => ctx.lose_held(held, message, sender),
        None => ctx.dead_letter(message, sender),
    }
}

/// The place of the ask or notice that begins next, if it keeps one.
fn first_place<R, X, A, N, E>(classes: &Classes<R, X, Posted<A>, Posted<N>, E>) -> usize {
    let notice = || classes.notices.front().is_some_and(|notice| notice.keeps_room);
    usize::from(classes.asks.front().map_or_else(notice, |ask| ask.keeps_room))
}

/// Counts the items of `next` that keep their room.
fn places<R, X, A, N, E>(
    classes: &Classes<R, X, Posted<A>, Posted<N>, E>,
    next: NextItem,
) -> usize {
    let (asks, notices) = (classes.asks.iter(), classes.notices.iter());
    match next {
        NextItem::Ask | NextItem::Barrier => asks.take(1).filter(|ask| ask.keeps_room).count(),
        NextItem::Asks(count) => asks.take(count).filter(|ask| ask.keeps_room).count(),
        NextItem::Notice => notices.take(1).filter(|notice| notice.keeps_room).count(),
        NextItem::Notices(count) => notices.take(count).filter(|notice| notice.keeps_room).count(),
        NextItem::Reply | NextItem::Exception | NextItem::Event => 0,
    }
}
