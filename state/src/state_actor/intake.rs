//! How incoming items get into the classes of a state actor.
//!
//! Items have three sources: handler wakers, the promises in the table, and the mailbox.
//! All three are examined before each step. Messages of a bounded mailbox keep their room
//! there until they begin, so no more wait than the bound allows, wherever they are (rule
//! M5). A barrier does not hold back stops and inspections (rule O7).

use crate::state_actor::engine::{Engine, NextStep};
use crate::state_actor::handler_wakers::WorkKey;
use crate::state_actor::items::{ActorEvent, AskFailure, Posted, ReplyItem};
use crate::state_actor::kinds::{Kinds, StateContext};
use crate::state_actor::promise::{PromiseKind, Settled};
use crate::state_actor::scope::HandlerScope;
use crate::state_actor::state_actor::StateActor;
use crate::state_actor::state_message::StateMessage;
use crate::table::TableKey;
use krarup_act::{BehaviorContext, Received};
use krarup_gen::Result;
use std::pin::pin;
use std::task::{Context, Poll};

type StateMail<A> =
    Received<StateMessage<<A as Kinds>::Notice, <A as Kinds>::Ask>, <A as Kinds>::Event>;

impl<A: StateActor> Engine<A> {
    /// Sorts in all items that have arrived, and says which is next. Returns how many messages were
    /// received, and the next, if any may be taken. The state is locked once for all of that; `shared` is
    /// the scope of this engine, which cannot be borrowed from it while it changes.
    ///
    /// # Errors
    /// A filter of the actor has panicked.
    pub(crate) fn next(
        &mut self,
        shared: &HandlerScope<A>,
        cx: &mut Context<'_>,
    ) -> Result<(usize, Option<NextStep>)> {
        let mut received = 0;
        'again: loop {
            self.gather_own();
            let mut owner = shared.owner.lock();
            let Some(state) = owner.as_mut() else { return Ok((received, None)) };
            while let Some((item, keeps_room)) = self.receive(&mut state.ctx, cx) {
                received += 1;
                if let Err(request) = self.sort(&mut state.ctx, item, keeps_room) {
                    // It may look at the state.
                    drop(owner);
                    self.obey(request);
                    continue 'again;
                }
            }
            if self.classes.is_low() && self.look_again(&mut state.ctx) {
                received += 1;
                continue;
            }
            return Ok((received, self.decide(state)?));
        }
    }

    /// Sorts in the wake-ups of the actor's own handlers and the outcomes of its promises.
    pub(crate) fn gather_own(&mut self) {
        for of in self.shared.wakers.take() {
            match of {
                WorkKey::Promise(key) => self.shared.table.poll(key),
                WorkKey::Handler(key) if self.handlers.has_yielded(key) => {
                    self.yielded.push_back(key);
                }
                WorkKey::Handler(key) => self.classes.replies.push_back(ReplyItem::Woken(key)),
            }
        }
        for (key, settled) in self.shared.table.take_settled() {
            self.sort_settled(key, settled);
        }
    }

    /// Whether asks and notices stay in the mailbox. A mailbox that drops its oldest
    /// message cannot reach those in the classes, so no more are received than can begin.
    fn leaves_messages(&self, ctx: &StateContext<A>) -> bool {
        self.keeps_room
            && ctx.drops_oldest()
            && !(self.classes.may_begin() && self.classes.messages() == 0)
    }

    /// Takes one more message from the mailbox and returns whether there was one. A
    /// process that receives looks into its mailbox once in a poll and makes the turn look
    /// again. Here the order depends on messages that arrived since.
    fn look_again(&mut self, ctx: &mut StateContext<A>) -> bool {
        if self.leaves_messages(ctx) {
            return false;
        }
        let Some((message, keeps_room)) = ctx.take_holding() else { return false };
        let _ = self.sort(ctx, Received::Message(message), keeps_room);
        true
    }

    /// Receives an item; also returns whether it keeps its room.
    #[inline]
    fn receive(
        &self,
        ctx: &mut StateContext<A>,
        cx: &mut Context<'_>,
    ) -> Option<(StateMail<A>, bool)> {
        let stops_itself = ctx.is_stopping();
        let received = if self.leaves_messages(ctx) {
            pin!(ctx.receive_control()).poll(cx).map(|item| (item, false))
        } else {
            ctx.poll_holding()
        };
        let Poll::Ready((item, keeps_room)) = received else { return None };
        // For a handler that receives this it is a stop (rule D9). Received here it is none, and one
        // that a handler has asked for stands.
        if matches!(item, Received::Finish) && !stops_itself {
            ctx.take_stop();
        }
        Some((item, keeps_room))
    }

    fn sort_settled(&mut self, key: TableKey, settled: Settled<A::Reply, A::Event>) {
        let classes = &mut self.classes;
        match settled {
            Settled::Awaited(PromiseKind::Reply) => {
                classes.replies.push_back(ReplyItem::Awaited(key));
            }
            Settled::Awaited(PromiseKind::Exception) => {
                classes.exceptions.push_back(AskFailure::Awaited(key));
            }
            Settled::Awaited(PromiseKind::Timeout) => {
                classes.events.push_back(ActorEvent::Timeout(AskFailure::Awaited(key)));
            }
            Settled::Reply(reply) => classes.replies.push_back(ReplyItem::Told(key, reply)),
            Settled::Exception(exception) => {
                let kind = PromiseKind::of::<()>(&Err(exception.error.clone()));
                let failure = AskFailure::Told(key, exception);
                match kind {
                    PromiseKind::Timeout => classes.events.push_back(ActorEvent::Timeout(failure)),
                    _ => classes.exceptions.push_back(failure),
                }
            }
            Settled::Event(event) => classes.events.push_back(ActorEvent::Timer(key, event)),
        }
    }

    /// Sorts the item that was received last into its class. Returns what has none.
    #[inline]
    fn sort(
        &mut self,
        ctx: &mut StateContext<A>,
        item: StateMail<A>,
        keeps_room: bool,
    ) -> Result<(), StateMail<A>> {
        let classes = &mut self.classes;
        match item {
            Received::Message(StateMessage::Ask(ask)) => {
                classes.asks.push_back(Posted::held(ask, keeps_room, ctx));
            }
            Received::Message(StateMessage::Notice(notice)) => {
                classes.notices.push_back(Posted::held(notice, keeps_room, ctx));
            }
            Received::Command(event) => {
                let posted = Posted::sent(event, keeps_room, ctx);
                classes.events.push_back(ActorEvent::Sent(posted));
            }
            Received::Down(down) => classes.events.push_back(ActorEvent::Down(down)),
            Received::Exit(exit) => classes.events.push_back(ActorEvent::Exit(exit)),
            Received::Timeout => classes.events.push_back(ActorEvent::Silence),
            Received::Other(message) => {
                let posted = Posted::held(message, keeps_room, ctx);
                classes.events.push_back(ActorEvent::Other(posted));
            }
            request => return Err(request),
        }
        Ok(())
    }

    /// Does what a request of the node asks for, now.
    fn obey(&mut self, request: StateMail<A>) {
        match request {
            Received::Inspect(reply) => reply.send(self.inspect()),
            Received::State(reply) => {
                let state = self.shared.owner.lock().as_ref().and_then(|owner| owner.actor.state());
                reply.send(state);
            }
            Received::Stop(reason) => self.tell(reason),
            Received::Finish => self.finishing = true,
            // Variants that are added to `Received` later do not concern a state actor.
            _ => {}
        }
    }
}
