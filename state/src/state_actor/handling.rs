//! How a state actor handles the next item from its classes.
//!
//! An ask, a notice, an event, or an outcome for a callback begins a handler, which runs until
//! it ends or awaits. An outcome that a handler awaits, or a wake-up, resumes that handler.

use crate::state_actor::classes::NextItem;
use crate::state_actor::engine::{Engine, Following};
use crate::state_actor::handler_wakers::WorkKey;
use crate::state_actor::handlers::HandlerFuture;
use crate::state_actor::items::{ActorEvent, AskFailure, Posted, ReplyItem};
use crate::state_actor::promise::Exception;
use crate::state_actor::scope::{Scope, StateOwner};
use crate::state_actor::state_actor::StateActor;
use crate::state_actor::state_message::StateMessage;
use crate::table::TableKey;
use krarup_act::{BehaviorContext, HeldMessage, HeldTrace};
use krarup_gen::{DeadLetterCause, Reason};

impl<A: StateActor> Engine<A> {
    /// Handles one item until its handler ends or awaits.
    pub(crate) fn handle(&mut self, next: Following<A>) -> Result<(), Reason> {
        let scope = |sender| Scope::new(&self.shared, sender);
        match next {
            NextItem::Reply(ReplyItem::Awaited(key))
            | NextItem::Exception(AskFailure::Awaited(key)) => self.deliver(key),
            NextItem::Reply(ReplyItem::Woken(key)) => self.resume(key),
            NextItem::Reply(ReplyItem::Told(key, reply)) => {
                let mut scope = scope(None);
                self.begin_settled(key, async move { A::handle_reply(&mut scope, reply).await })
            }
            NextItem::Exception(AskFailure::Told(key, exception)) => {
                self.begin_exception(key, exception)
            }
            NextItem::Ask(ask) => {
                let Some(ask) = self.begun(ask, StateMessage::Ask) else { return Ok(()) };
                let Posted { sender, message, trace, held, .. } = ask;
                let mut scope = scope(sender);
                let work = handling(held, async move { A::handle_ask(&mut scope, message).await });
                self.begin_message(work, trace)
            }
            NextItem::Barrier(ask) => {
                let Some(ask) = self.begun(ask, StateMessage::Ask) else { return Ok(()) };
                let Posted { sender, message, trace, held, .. } = ask;
                let mut scope = scope(sender);
                let work = handling(held, async move { A::handle_ask(&mut scope, message).await });
                let key = self.handlers.add(&self.shared.wakers, work, true, trace);
                self.classes.raise(key);
                self.resume(key)
            }
            NextItem::Asks(asks) => {
                let begun = asks.into_iter().filter_map(|ask| self.begun(ask, StateMessage::Ask));
                let asks: Vec<_> = begun.collect();
                if asks.is_empty() {
                    return Ok(());
                }
                let mut scope = scope(asks.first().and_then(|ask| ask.sender));
                let parts = asks.into_iter().map(|ask| (ask.message, ask.held));
                let (asks, held): (Vec<_>, Vec<_>) = parts.unzip();
                let held: Vec<_> = held.into_iter().flatten().collect();
                let work = handling(held, async move { A::handle_asks(&mut scope, asks).await });
                self.begin_message(work, None)
            }
            NextItem::Notice(notice) => {
                let Some(notice) = self.begun(notice, StateMessage::Notice) else { return Ok(()) };
                let Posted { sender, message, trace, held, .. } = notice;
                let mut scope = scope(sender);
                let work =
                    handling(held, async move { A::handle_notice(&mut scope, message).await });
                self.begin_message(work, trace)
            }
            NextItem::Notices(notices) => {
                let begun = notices
                    .into_iter()
                    .filter_map(|notice| self.begun(notice, StateMessage::Notice));
                let notices: Vec<_> = begun.collect();
                if notices.is_empty() {
                    return Ok(());
                }
                let mut scope = scope(notices.first().and_then(|notice| notice.sender));
                let parts = notices.into_iter().map(|notice| (notice.message, notice.held));
                let (notices, held): (Vec<_>, Vec<_>) = parts.unzip();
                let held: Vec<_> = held.into_iter().flatten().collect();
                let work =
                    handling(held, async move { A::handle_notices(&mut scope, notices).await });
                self.begin_message(work, None)
            }
            NextItem::Event(event) => self.handle_event(event),
        }
    }

    /// Begins a message, unless its time to live is over (rule P9).
    fn begun<T>(
        &self,
        mut posted: Posted<T>,
        message: fn(T) -> StateMessage<A::Notice, A::Ask>,
    ) -> Option<Posted<T>> {
        if !posted.held.as_ref().is_some_and(HeldMessage::is_to_begin) {
            return Some(posted);
        }
        let begun = match (&mut posted.held, &*self.shared.owner.lock()) {
            (Some(held), Some(owner)) => owner.ctx.begin_held(held),
            _ => Ok(()),
        };
        let Err(expired) = begun else { return Some(posted) };
        if let Some(trace) = posted.trace {
            trace.fail(DeadLetterCause::Expired.as_str());
        }
        expired.discard(message(posted.message), posted.sender);
        None
    }

    fn handle_event(&mut self, event: ActorEvent<A::Event>) -> Result<(), Reason> {
        let event = match event {
            ActorEvent::Timeout(AskFailure::Awaited(key)) => return self.deliver(key),
            ActorEvent::Timeout(AskFailure::Told(key, exception)) => {
                return self.begin_exception(key, exception);
            }
            // The actor is to end: new events do not begin.
            event if self.is_told() => {
                if let Some(StateOwner { ctx, .. }) = &*self.shared.owner.lock() {
                    event.dead_letter(ctx);
                }
                return Ok(());
            }
            event => event,
        };
        let mut scope = Scope::new(&self.shared, event.sender());
        match event {
            ActorEvent::Timer(key, event) => {
                self.begin_settled(key, async move { A::handle_event(&mut scope, event).await })
            }
            ActorEvent::Sent(Posted { message, trace, .. }) => {
                let work = Box::pin(async move { A::handle_event(&mut scope, message).await });
                self.begin(work, trace)
            }
            ActorEvent::Down(down) => {
                self.begin(Box::pin(async move { A::handle_down(&mut scope, down).await }), None)
            }
            ActorEvent::Exit(exit) => {
                self.begin(Box::pin(async move { A::handle_exit(&mut scope, exit).await }), None)
            }
            ActorEvent::Silence => {
                self.begin(Box::pin(async move { A::handle_timeout(&mut scope).await }), None)
            }
            ActorEvent::Other(Posted { message, trace, held, .. }) => {
                let work =
                    handling(held, async move { A::handle_other(&mut scope, message).await });
                self.begin(work, trace)
            }
            ActorEvent::Timeout(_) => Ok(()),
        }
    }

    fn begin_exception(&mut self, key: TableKey, exception: Exception) -> Result<(), Reason> {
        let mut scope = Scope::new(&self.shared, None);
        self.begin_settled(key, async move { A::handle_exception(&mut scope, exception).await })
    }

    /// Begins the handler of a settled promise or timer, unless it was withdrawn.
    fn begin_settled(
        &mut self,
        key: TableKey,
        work: impl Future<Output = Result<(), Reason>> + Send + 'static,
    ) -> Result<(), Reason> {
        if self.shared.table.deliver(key) { self.begin(Box::pin(work), None) } else { Ok(()) }
    }

    fn begin(&mut self, work: HandlerFuture, trace: Option<HeldTrace>) -> Result<(), Reason> {
        let key = self.handlers.add(&self.shared.wakers, work, false, trace);
        self.resume(key)
    }

    /// Begins a handler of an ask, of a notice, or of a batch. It counts towards the limit
    /// of handlers in flight. A batch is handled in no trace.
    fn begin_message(
        &mut self,
        work: HandlerFuture,
        trace: Option<HeldTrace>,
    ) -> Result<(), Reason> {
        let key = self.handlers.add(&self.shared.wakers, work, true, trace);
        self.resume(key)
    }

    /// Polls a handler.
    fn resume(&mut self, key: TableKey) -> Result<(), Reason> {
        let Some(outcome) = self.handlers.resume(key) else { return Ok(()) };
        self.classes.lower(key);
        outcome
    }

    /// Delivers an outcome to the holder of its promise. The handler that awaits it
    /// resumes at once.
    fn deliver(&mut self, key: TableKey) -> Result<(), Reason> {
        self.shared.table.deliver(key);
        for of in self.shared.wakers.take() {
            match of {
                WorkKey::Handler(stack) => self.resume(stack)?,
                WorkKey::Promise(key) => self.shared.table.poll(key),
            }
        }
        Ok(())
    }
}

/// A handler of messages, which are not handled until it has ended (rule M13).
fn handling(
    held: impl IntoIterator<Item = HeldMessage> + Send + 'static,
    work: impl Future<Output = Result<(), Reason>> + Send + 'static,
) -> HandlerFuture {
    Box::pin(async move {
        let outcome = work.await;
        if outcome.is_ok() {
            held.into_iter().for_each(HeldMessage::done);
        }
        outcome
    })
}
