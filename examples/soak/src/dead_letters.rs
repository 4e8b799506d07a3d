//! Counts the node's dead letters, by the kind of message.

use crate::message::{Brief, Crowd, Job, KINDS, Named, Pooled};
use krarup::observe::{DeadLetter, DeadLetterCause};
use krarup::prelude::*;
use std::any::type_name;

/// Dead letters that were accepted and not handled, of each kind. Messages that were not
/// accepted have gone back to their senders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeadLetterCounts {
    pub(crate) dead: [u64; KINDS.len()],
}

pub(crate) enum CounterMessage {
    Dead(DeadLetter),
    DeadLetterCounts(Reply<DeadLetterCounts>),
}

impl From<DeadLetter> for CounterMessage {
    fn from(message: DeadLetter) -> Self {
        CounterMessage::Dead(message)
    }
}

pub(crate) struct DeadLetterCounter {
    counted: DeadLetterCounts,
    types: [&'static str; KINDS.len()],
}

impl Default for DeadLetterCounter {
    fn default() -> Self {
        let types = [
            type_name::<Job<Named>>(),
            type_name::<Job<Pooled>>(),
            type_name::<Job<Crowd>>(),
            type_name::<Job<Brief>>(),
        ];
        DeadLetterCounter { counted: DeadLetterCounts::default(), types }
    }
}

impl Actor for DeadLetterCounter {
    type Message = CounterMessage;

    async fn init(&mut self, ctx: &mut Context<CounterMessage>) -> Result {
        // Watchers link to any process, and end.
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<CounterMessage>, _: Exit) -> Result {
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<CounterMessage>,
        message: CounterMessage,
    ) -> Result {
        match message {
            CounterMessage::DeadLetterCounts(reply) => reply.send(self.counted.clone()),
            CounterMessage::Dead(message) => {
                let was_accepted =
                    matches!(message.cause, DeadLetterCause::Unhandled | DeadLetterCause::Overflow);
                let kind = self.types.iter().position(|name| *name == message.message);
                if let Some(kind) = kind.filter(|_| was_accepted) {
                    self.counted.dead[kind] += 1;
                }
            }
        }
        Ok(())
    }
}
