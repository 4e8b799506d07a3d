//! What is done with the next thing that a state actor takes from its classes.
//!
//! A letter, an event or an outcome for a callback begins a handler, which goes on until it ends
//! or awaits; an outcome that a handler awaits, and a bell, have that handler go on.

use crate::belfry::Of;
use crate::classes::Next;
use crate::engine::{Engine, Following};
use crate::items::{Event, Failure, Posted, Reply};
use crate::promise::Exception;
use crate::scope::{House, Scope};
use crate::stacks::Work;
use crate::state_actor::StateActor;
use crate::table::Key;
use krarup_gen::Reason;

impl<A: StateActor> Engine<A> {
    /// Handles one thing until it ends or awaits.
    pub(crate) fn handle(&mut self, next: Following<A>) -> Result<(), Reason> {
        let scope = |sender| Scope::new(&self.desk, sender);
        match next {
            Next::Reply(Reply::Awaited(key)) | Next::Exception(Failure::Awaited(key)) => {
                self.deliver(key)
            }
            Next::Reply(Reply::Woken(key)) => self.resume(key),
            Next::Reply(Reply::Told(key, reply)) => {
                let mut scope = scope(None);
                self.begin_settled(key, async move { A::handle_reply(&mut scope, reply).await })
            }
            Next::Exception(Failure::Told(key, exception)) => self.begin_exception(key, exception),
            Next::Ask(Posted { sender, letter, .. }) => {
                let mut scope = scope(sender);
                self.begin_letter(Box::pin(async move { A::handle_ask(&mut scope, letter).await }))
            }
            Next::Barrier(Posted { sender, letter, .. }) => {
                let mut scope = scope(sender);
                let work = Box::pin(async move { A::handle_ask(&mut scope, letter).await });
                let key = self.stacks.add(&self.desk.belfry, work, true);
                self.classes.raise(key);
                self.resume(key)
            }
            Next::Asks(asks) => {
                let mut scope = scope(asks.first().and_then(|ask| ask.sender));
                let asks = asks.into_iter().map(|ask| ask.letter).collect();
                self.begin_letter(Box::pin(async move { A::handle_asks(&mut scope, asks).await }))
            }
            Next::Notice(Posted { sender, letter, .. }) => {
                let mut scope = scope(sender);
                self.begin_letter(Box::pin(
                    async move { A::handle_notice(&mut scope, letter).await },
                ))
            }
            Next::Notices(notices) => {
                let mut scope = scope(notices.first().and_then(|notice| notice.sender));
                let notices = notices.into_iter().map(|notice| notice.letter).collect();
                self.begin_letter(Box::pin(
                    async move { A::handle_notices(&mut scope, notices).await },
                ))
            }
            Next::Event(event) => self.handle_event(event),
        }
    }

    fn handle_event(&mut self, event: Event<A::Event>) -> Result<(), Reason> {
        let event = match event {
            Event::Timeout(Failure::Awaited(key)) => return self.deliver(key),
            Event::Timeout(Failure::Told(key, exception)) => {
                return self.begin_exception(key, exception);
            }
            // It is to end: what is new is not begun.
            event if self.is_told() => {
                if let Some(House { ctx, .. }) = &*self.desk.house.lock() {
                    event.lose(ctx);
                }
                return Ok(());
            }
            event => event,
        };
        let mut scope = Scope::new(&self.desk, event.sender());
        match event {
            Event::Timer(key, event) => {
                self.begin_settled(key, async move { A::handle_event(&mut scope, event).await })
            }
            Event::Sent(Posted { letter, .. }) => {
                self.begin(Box::pin(async move { A::handle_event(&mut scope, letter).await }))
            }
            Event::Down(down) => {
                self.begin(Box::pin(async move { A::handle_down(&mut scope, down).await }))
            }
            Event::Exit(exit) => {
                self.begin(Box::pin(async move { A::handle_exit(&mut scope, exit).await }))
            }
            Event::Silence => {
                self.begin(Box::pin(async move { A::handle_timeout(&mut scope).await }))
            }
            Event::Other(Posted { letter, .. }) => {
                self.begin(Box::pin(async move { A::handle_other(&mut scope, letter).await }))
            }
            Event::Timeout(_) => Ok(()),
        }
    }

    fn begin_exception(&mut self, key: Key, exception: Exception) -> Result<(), Reason> {
        let mut scope = Scope::new(&self.desk, None);
        self.begin_settled(key, async move { A::handle_exception(&mut scope, exception).await })
    }

    /// Begins a handler of what has settled, unless that was withdrawn.
    fn begin_settled(
        &mut self,
        key: Key,
        work: impl Future<Output = Result<(), Reason>> + Send + 'static,
    ) -> Result<(), Reason> {
        if self.desk.ledger.deliver(key) { self.begin(Box::pin(work)) } else { Ok(()) }
    }

    fn begin(&mut self, work: Work) -> Result<(), Reason> {
        let key = self.stacks.add(&self.desk.belfry, work, false);
        self.resume(key)
    }

    /// Begins a handler of an ask, of a notice, or of several: one of those of which not more than
    /// a number may be in flight.
    fn begin_letter(&mut self, work: Work) -> Result<(), Reason> {
        let key = self.stacks.add(&self.desk.belfry, work, true);
        self.resume(key)
    }

    /// Goes on with a handler.
    fn resume(&mut self, key: Key) -> Result<(), Reason> {
        let Some(outcome) = self.stacks.resume(key) else { return Ok(()) };
        self.classes.lower(key);
        outcome
    }

    /// An outcome goes to who holds its promise, and the handler that awaits it goes on at once.
    fn deliver(&mut self, key: Key) -> Result<(), Reason> {
        self.desk.ledger.deliver(key);
        for of in self.desk.belfry.take() {
            match of {
                Of::Stack(stack) => self.resume(stack)?,
                Of::Pledge(key) => self.desk.ledger.poll(key),
            }
        }
        Ok(())
    }
}
