//! How a state actor handles the next item from its classes.
//!
//! An ask, a notice, an event, or an outcome for a callback begins a handler, which runs until
//! it ends or awaits. An outcome that a handler awaits, or a wake-up, resumes that handler.

use crate::state_actor::classes::NextItem;
use crate::state_actor::engine::{Engine, NextStep};
use crate::state_actor::handler_wakers::WorkKey;
use crate::state_actor::handlers::HandlerFuture;
use crate::state_actor::items::{ActorEvent, AskFailure, Posted, ReplyItem};
use crate::state_actor::promise::Exception;
use crate::state_actor::scope::{Scope, StateOwner};
use crate::state_actor::state_actor::StateActor;
use crate::state_actor::state_message::StateMessage;
use crate::table::TableKey;
use krarup_act::{BehaviorContext, HeldMessage, HeldTrace};
use krarup_gen::{DeadLetterCause, Pid, Reason};

impl<A: StateActor> Engine<A> {
    /// Takes what is next and handles it until its handler ends or awaits.
    pub(crate) fn handle(&mut self, next: NextStep) -> Result<(), Reason> {
        let next = match next {
            NextStep::Take(next) => next,
            NextStep::Yielded => {
                return self.yielded.pop_front().map_or(Ok(()), |key| self.resume(key));
            }
        };
        match next {
            NextItem::Reply => match self.classes.replies.pop_front() {
                Some(ReplyItem::Awaited(key)) => self.deliver(key),
                Some(ReplyItem::Woken(key)) => self.resume(key),
                Some(ReplyItem::Told(key, reply)) => {
                    let mut scope = self.scope(None);
                    self.begin_settled(key, async move { A::handle_reply(&mut scope, reply).await })
                }
                None => Ok(()),
            },
            NextItem::Exception => match self.classes.exceptions.pop_front() {
                Some(AskFailure::Awaited(key)) => self.deliver(key),
                Some(AskFailure::Told(key, exception)) => self.begin_exception(key, exception),
                None => Ok(()),
            },
            NextItem::Ask | NextItem::Barrier => {
                let Some(mut ask) = self.classes.asks.pop_front() else { return Ok(()) };
                if ask.is_to_begin() {
                    let Some(begun) = self.begin_job(ask, StateMessage::Ask) else { return Ok(()) };
                    ask = begun;
                }
                let Posted { sender, message, trace, held, .. } = ask;
                let mut scope = self.scope(sender);
                let work = Box::pin(async move {
                    let outcome = A::handle_ask(&mut scope, message).await;
                    handled(held, outcome)
                });
                let key = self.handlers.add(&self.shared.wakers, work, true, trace);
                if next == NextItem::Barrier {
                    self.classes.raise(key);
                }
                self.resume(key)
            }
            NextItem::Asks(count) => {
                let asks = self.classes.asks.drain(..count).collect::<Vec<_>>().into_iter();
                let begun = asks.filter_map(|ask| self.begin_job(ask, StateMessage::Ask));
                let asks: Vec<_> = begun.collect();
                if asks.is_empty() {
                    return Ok(());
                }
                let mut scope = self.scope(asks.first().and_then(|ask| ask.sender));
                let parts = asks.into_iter().map(|ask| (ask.message, ask.held));
                let (asks, held): (Vec<_>, Vec<_>) = parts.unzip();
                let work = Box::pin(async move {
                    let outcome = A::handle_asks(&mut scope, asks).await;
                    handled(held.into_iter().flatten(), outcome)
                });
                self.begin_message(work, None)
            }
            NextItem::Notice => {
                let Some(mut notice) = self.classes.notices.pop_front() else { return Ok(()) };
                if notice.is_to_begin() {
                    let begun = self.begin_job(notice, StateMessage::Notice);
                    let Some(begun) = begun else { return Ok(()) };
                    notice = begun;
                }
                let Posted { sender, message, trace, held, .. } = notice;
                let mut scope = self.scope(sender);
                let work = Box::pin(async move {
                    let outcome = A::handle_notice(&mut scope, message).await;
                    handled(held, outcome)
                });
                self.begin_message(work, trace)
            }
            NextItem::Notices(count) => {
                let notices = self.classes.notices.drain(..count).collect::<Vec<_>>().into_iter();
                let begun = notices.filter_map(|one| self.begin_job(one, StateMessage::Notice));
                let notices: Vec<_> = begun.collect();
                if notices.is_empty() {
                    return Ok(());
                }
                let mut scope = self.scope(notices.first().and_then(|notice| notice.sender));
                let parts = notices.into_iter().map(|notice| (notice.message, notice.held));
                let (notices, held): (Vec<_>, Vec<_>) = parts.unzip();
                let work = Box::pin(async move {
                    let outcome = A::handle_notices(&mut scope, notices).await;
                    handled(held.into_iter().flatten(), outcome)
                });
                self.begin_message(work, None)
            }
            NextItem::Event => match self.classes.events.pop_front() {
                Some(event) => self.handle_event(event),
                None => Ok(()),
            },
        }
    }

    fn scope(&self, sender: Option<Pid>) -> Scope<A> {
        Scope::new(&self.shared, sender)
    }

    /// Begins a message that may be a job of a pool, unless its time to live is over (rule P9).
    fn begin_job<T>(
        &self,
        mut posted: Posted<T>,
        message: fn(T) -> StateMessage<A::Notice, A::Ask>,
    ) -> Option<Posted<T>> {
        if !posted.is_to_begin() {
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
                let work = Box::pin(async move {
                    let outcome = A::handle_other(&mut scope, message).await;
                    handled(held, outcome)
                });
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

/// Reports that the messages of a handler are handled, if it has ended well (rule M13).
fn handled(
    held: impl IntoIterator<Item = HeldMessage>,
    outcome: Result<(), Reason>,
) -> Result<(), Reason> {
    if outcome.is_ok() {
        held.into_iter().for_each(HeldMessage::done);
    }
    outcome
}
