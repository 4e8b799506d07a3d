//! A state machine that answers as its table says, and records its callbacks and replies.

use super::table::{Action, Answer, Kind, Outcome, Table, When};
use crate::terms;
use krarup::{Context, Entered, Event, First, Next, Reason, Reply, Result, StateMachine};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A word of a scenario: a state, or the name of a time-out. It prints as it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Word(pub(crate) String);

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) enum Say {
    Cast(String),
    /// The reply is taken out when it is sent or kept.
    Call(String, u32, Option<Reply<String>>),
}

/// What has happened since the last step.
#[derive(Clone, Default)]
pub(crate) struct Happened(Arc<Mutex<Vec<String>>>);

impl Happened {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, line: String) {
        self.lines().push(line);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines())
    }
}

pub(crate) struct Recorded {
    table: Table,
    happened: Happened,
    /// The callers that were kept, the oldest first.
    kept: VecDeque<(u32, Option<Reply<String>>)>,
}

impl Recorded {
    pub(crate) fn new(table: Table, happened: &Happened) -> Self {
        Recorded { table, happened: happened.clone(), kept: VecDeque::new() }
    }

    /// Does what takes effect at once. Returns the actions that the engine is to do.
    fn act(&mut self, actions: Vec<Action>, mut call: Option<Call<'_>>) -> Vec<Action> {
        let mut rest = Vec::new();
        for action in actions {
            match action {
                Action::Reply(value) => {
                    if let Some((number, reply)) = &mut call {
                        self.reply(*number, reply.take(), value);
                    }
                }
                Action::Hold => {
                    if let Some((number, reply)) = &mut call {
                        self.kept.push_back((*number, reply.take()));
                    }
                }
                Action::Answer(value) => {
                    if let Some((number, reply)) = self.kept.pop_front() {
                        self.reply(number, reply, value);
                    }
                }
                action => rest.push(action),
            }
        }
        rest
    }

    fn reply(&self, number: u32, reply: Option<Reply<String>>, value: String) {
        self.happened.note(format!("reply #{number} {value}"));
        if let Some(reply) = reply {
            reply.send(value);
        }
    }
}

/// The call in hand.
type Call<'a> = (u32, &'a mut Option<Reply<String>>);

/// Sets what the time-outs, the insertions and the rest of an answer say.
macro_rules! with_timeouts {
    ($output:expr, $action:expr) => {
        match $action {
            Action::Set(Kind::State, When::After(after), word) => {
                $output.state_timeout(after, word)
            }
            Action::Set(Kind::State, When::At(at), word) => $output.state_timeout_at(at, word),
            Action::Set(Kind::Event, When::After(after), word) => {
                $output.event_timeout(after, word)
            }
            Action::Set(Kind::Event, When::At(at), word) => $output.event_timeout_at(at, word),
            Action::Set(Kind::Named(name), When::After(after), word) => {
                $output.timeout(Word(name), after, word)
            }
            Action::Set(Kind::Named(name), When::At(at), word) => {
                $output.timeout_at(Word(name), at, word)
            }
            Action::Update(Kind::State, word) => $output.update_state_timeout(word),
            Action::Update(Kind::Event, word) => $output.update_event_timeout(word),
            Action::Update(Kind::Named(name), word) => $output.update(Word(name), word),
            Action::Cancel(Kind::State) => $output.cancel_state_timeout(),
            Action::Cancel(Kind::Event) => $output.cancel_event_timeout(),
            Action::Cancel(Kind::Named(name)) => $output.cancel(Word(name)),
            Action::Hibernate => $output.hibernate(),
            other => unreachable!("the parser refuses {other:?} here"),
        }
    };
}

impl StateMachine for Recorded {
    type State = Word;
    type Message = Say;
    type Internal = String;
    type Timer = Word;

    async fn init(&mut self, _: &mut Context<Say>) -> Result<First<Self>> {
        let first = First::state(Word(self.table.first.clone()));
        let actions = std::mem::take(&mut self.table.init);
        Ok(actions.into_iter().fold(first, |first, action| match action {
            Action::InsertInternal(word) => first.insert(word),
            Action::InsertCast(word) => first.insert_message(Say::Cast(word)),
            action => with_timeouts!(first, action),
        }))
    }

    async fn enter(&mut self, _: &mut Context<Say>, from: Word, to: Word) -> Result<Entered<Self>> {
        if !self.table.has_enter_calls {
            return Ok(Entered::new());
        }
        self.happened.note(format!("enter {to:?} {from:?}"));
        let Answer { outcome, actions } = self.table.enter(&to.0);
        if let Outcome::Crash(text) = outcome {
            std::panic::panic_any(text);
        }
        let rest = self.act(actions, None);
        if let Outcome::Stop(reason) = outcome {
            return Err(terms::reason(&reason));
        }
        Ok(rest.into_iter().fold(Entered::new(), |entered, action| with_timeouts!(entered, action)))
    }

    async fn handle_event(
        &mut self,
        _: &mut Context<Say>,
        state: Word,
        mut event: Event<Self>,
    ) -> Result<Next<Self>> {
        let (kind, word, number) = describe(&event);
        let number_text = number.map(|number| format!(" #{number}")).unwrap_or_default();
        self.happened.note(format!("on {state:?} {kind} {word}{number_text}"));
        let Answer { outcome, actions } = self.table.answer(&state.0, &kind, &word);
        if let Outcome::Crash(text) = outcome {
            std::panic::panic_any(text);
        }
        let call = match &mut event {
            Event::Message(Say::Call(_, number, reply)) => Some((*number, reply)),
            _ => None,
        };
        let rest = self.act(actions, call);
        let next = match outcome {
            Outcome::Keep => Next::keep(),
            Outcome::Repeat => Next::repeat(),
            Outcome::Next(state) => Next::state(Word(state)),
            Outcome::Stop(reason) => return Err(terms::reason(&reason)),
            Outcome::Crash(_) => unreachable!("it has crashed"),
        };
        let mut event = Some(event);
        Ok(rest.into_iter().fold(next, |next, action| match action {
            Action::Postpone => match event.take() {
                Some(event) => next.postpone(event),
                None => next,
            },
            Action::InsertInternal(word) => next.insert(word),
            Action::InsertCast(word) => next.insert_message(Say::Cast(word)),
            action => with_timeouts!(next, action),
        }))
    }

    async fn terminate(&mut self, _: &mut Context<Say>, state: Word, reason: &Reason) {
        self.happened.note(format!("term {state:?} {}", terms::word(reason)));
    }
}

/// The kind and the content of an event, and the number of its call.
fn describe(event: &Event<Recorded>) -> (String, String, Option<u32>) {
    let (kind, word, number) = match event {
        Event::Message(Say::Cast(word)) => ("cast", word, None),
        Event::Message(Say::Call(word, number, _)) => ("call", word, Some(*number)),
        Event::Internal(word) => ("internal", word, None),
        Event::StateTimeout(word) => ("state_timeout", word, None),
        Event::EventTimeout(word) => ("event_timeout", word, None),
        Event::Timeout(name, word) => return (format!("timeout:{name:?}"), word.clone(), None),
        other => return (format!("{other:?}"), String::new(), None),
    };
    (kind.to_owned(), word.clone(), number)
}
