//! How incoming items get into the classes of a state actor.
//!
//! Items have three sources: handler wakers, the promises in the table, and the mailbox.
//! All three are examined before each step. Messages of a bounded mailbox keep their room
//! there until they begin, so no more wait than the bound allows, wherever they are (rule
//! M5). A barrier does not hold back stops and inspections (rule O7).

use crate::state_actor::engine::Engine;
use crate::state_actor::handler_wakers::WorkKey;
use crate::state_actor::items::{ActorEvent, AskFailure, Posted, ReplyItem};
use crate::state_actor::kinds::Kinds;
use crate::state_actor::promise::{PromiseKind, Settled};
use crate::state_actor::scope::StateOwner;
use crate::state_actor::state_actor::StateActor;
use crate::state_actor::state_message::StateMessage;
use crate::table::TableKey;
use krarup_act::{BehaviorContext, HeldMessage, HeldTrace, Received};
use krarup_gen::Pid;
use std::pin::pin;
use std::task::{Context, Poll};

type StateMail<A> =
    Received<StateMessage<<A as Kinds>::Notice, <A as Kinds>::Ask>, <A as Kinds>::Event>;

type ReceivedItem<A> = (StateMail<A>, Option<Pid>, bool, Option<HeldMessage>);

impl<A: StateActor> Engine<A> {
    /// Sorts in all items that have arrived. Returns how many messages were received.
    pub(crate) fn gather(&mut self, cx: &mut Context<'_>) -> usize {
        self.gather_own();
        let mut received = 0;
        while let Some((item, sender, keeps_room, held)) = self.receive(cx) {
            received += 1;
            self.sort(item, sender, keeps_room, held);
        }
        received
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

    /// Takes one more message from the mailbox and returns whether there was one. A
    /// process that receives looks into its mailbox once in a poll and makes the turn look
    /// again. Here the order depends on messages that arrived since.
    pub(crate) fn look_again(&mut self) -> bool {
        let taken = {
            let mut owner = self.shared.owner.lock();
            let Some(StateOwner { ctx, .. }) = owner.as_mut() else { return false };
            if self.leaves_messages(ctx) {
                return false;
            }
            ctx.take_holding().map(|(message, keeps_room)| {
                (message, ctx.sender(), keeps_room, ctx.hold_message())
            })
        };
        let Some((message, sender, keeps_room, held)) = taken else { return false };
        self.sort(Received::Message(message), sender, keeps_room, Some(held));
        true
    }

    /// Receives an item, its sender, whether it keeps its room, and what says that it is not
    /// handled yet if it is a message.
    fn receive(&mut self, cx: &mut Context<'_>) -> Option<ReceivedItem<A>> {
        let mut owner = self.shared.owner.lock();
        let ctx = &mut owner.as_mut()?.ctx;
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
        let is_message = matches!(item, Received::Message(_) | Received::Other(_));
        let held = is_message.then(|| ctx.hold_message());
        Some((item, ctx.sender(), keeps_room, held))
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

    fn sort(
        &mut self,
        item: StateMail<A>,
        sender: Option<Pid>,
        keeps_room: bool,
        held: Option<HeldMessage>,
    ) {
        let (classes, trace) = (&mut self.classes, HeldTrace::take());
        match item {
            Received::Message(StateMessage::Ask(message)) => {
                classes.asks.push_back(Posted { sender, message, keeps_room, trace, held });
            }
            Received::Message(StateMessage::Notice(message)) => {
                classes.notices.push_back(Posted { sender, message, keeps_room, trace, held });
            }
            Received::Command(message) => {
                let posted = Posted { sender, message, keeps_room, trace, held };
                classes.events.push_back(ActorEvent::Sent(posted));
            }
            Received::Down(down) => classes.events.push_back(ActorEvent::Down(down)),
            Received::Exit(exit) => classes.events.push_back(ActorEvent::Exit(exit)),
            Received::Timeout => classes.events.push_back(ActorEvent::Silence),
            Received::Other(message) => {
                let posted = Posted { sender, message, keeps_room, trace, held };
                classes.events.push_back(ActorEvent::Other(posted));
            }
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
