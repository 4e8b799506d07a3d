//! A state machine that does what a test says, and notes what comes.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use crate::support::{Guard, Log};
use krarup::observe::Inspection;
use krarup::{Context, Entered, Event, First, Machine, Next, Reason, Reply, Result, StateMachine};

pub(crate) type State = &'static str;
pub(crate) type To = Next<Script>;

pub(crate) enum Say {
    Word(&'static str),
    Ask(&'static str, Reply<&'static str>),
}

type Handle = Box<dyn FnMut(&mut Context<Say>, State, Event<Script>) -> Result<To> + Send>;
type Enter = Box<dyn FnMut(&mut Context<Say>, State, State) -> Result<Entered<Script>> + Send>;
type Init = Box<dyn FnMut(&mut Context<Say>) -> Result<First<Script>> + Send>;

/// Notes each event as `state kind word`, each enter call as `enter to from`, and `terminate`.
pub(crate) struct Script {
    log: Log,
    init: Init,
    enter: Enter,
    handle: Handle,
    _dropped: Guard,
}

impl Script {
    /// Begins in the state `a`, and does this with each event.
    pub(crate) fn new(
        log: &Log,
        handle: impl FnMut(&mut Context<Say>, State, Event<Script>) -> Result<To> + Send + 'static,
    ) -> Self {
        Script {
            log: log.clone(),
            init: Box::new(|_| Ok(First::state("a"))),
            enter: Box::new(|_, _, _| Ok(Entered::new())),
            handle: Box::new(handle),
            _dropped: Guard::new(log, "dropped"),
        }
    }

    pub(crate) fn begins(
        mut self,
        init: impl FnMut(&mut Context<Say>) -> Result<First<Script>> + Send + 'static,
    ) -> Self {
        self.init = Box::new(init);
        self
    }

    pub(crate) fn enters(
        mut self,
        enter: impl FnMut(&mut Context<Say>, State, State) -> Result<Entered<Script>> + Send + 'static,
    ) -> Self {
        self.enter = Box::new(enter);
        self
    }

    pub(crate) fn machine(self) -> Machine<Script> {
        Machine::new(self)
    }
}

/// The kind of an event and its content.
pub(crate) fn word(event: &Event<Script>) -> String {
    match event {
        Event::Message(Say::Word(word)) => format!("word {word}"),
        Event::Message(Say::Ask(word, _)) => format!("ask {word}"),
        Event::Internal(word) => format!("internal {word}"),
        Event::StateTimeout(word) => format!("state_timeout {word}"),
        Event::EventTimeout(word) => format!("event_timeout {word}"),
        Event::Timeout(name, word) => format!("timeout {name} {word}"),
        Event::Exit(exit) => format!("exit {}", exit.reason),
        Event::Down(down) => format!("down {}", down.reason),
        Event::Other(other) => format!("other {}", other.type_name()),
    }
}

impl StateMachine for Script {
    type State = State;
    type Message = Say;
    type Internal = &'static str;
    type Timer = &'static str;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result<First<Self>> {
        (self.init)(ctx)
    }

    async fn enter(
        &mut self,
        ctx: &mut Context<Say>,
        from: State,
        to: State,
    ) -> Result<Entered<Self>> {
        self.log.note(format!("enter {to} {from}"));
        (self.enter)(ctx, from, to)
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<Say>,
        state: State,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        self.log.note(format!("{state} {}", word(&event)));
        (self.handle)(ctx, state, event)
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("own", 7_u64)
    }

    async fn terminate(&mut self, _: &mut Context<Say>, state: State, reason: &Reason) {
        self.log.note(format!("terminate {state} {reason}"));
    }
}
