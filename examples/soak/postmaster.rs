//! Counts the node's dead letters, by the kind of message.

use crate::letter::{Brief, Crowd, Job, KINDS, Named, Pooled};
use krarup::observe::{DeadLetter, DeadLetterCause};
use krarup::prelude::*;
use std::any::type_name;

/// Dead letters that were accepted and not handled, of each kind. Messages that were not
/// accepted have gone back to their senders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) dead: [u64; KINDS.len()],
}

pub(crate) enum Post {
    Dead(DeadLetter),
    Tally(Reply<Tally>),
}

impl From<DeadLetter> for Post {
    fn from(letter: DeadLetter) -> Self {
        Post::Dead(letter)
    }
}

pub(crate) struct Postmaster {
    tally: Tally,
    types: [&'static str; KINDS.len()],
}

impl Default for Postmaster {
    fn default() -> Self {
        let types = [
            type_name::<Job<Named>>(),
            type_name::<Job<Pooled>>(),
            type_name::<Job<Crowd>>(),
            type_name::<Job<Brief>>(),
        ];
        Postmaster { tally: Tally::default(), types }
    }
}

impl Actor for Postmaster {
    type Message = Post;

    async fn init(&mut self, ctx: &mut Context<Post>) -> Result {
        // Watchers link to any process, and end.
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Post>, _: Exit) -> Result {
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Post>, post: Post) -> Result {
        match post {
            Post::Tally(reply) => reply.send(self.tally.clone()),
            Post::Dead(letter) => {
                let was_accepted =
                    matches!(letter.cause, DeadLetterCause::Unhandled | DeadLetterCause::Overflow);
                let kind = self.types.iter().position(|name| *name == letter.message);
                if let Some(kind) = kind.filter(|_| was_accepted) {
                    self.tally.dead[kind] += 1;
                }
            }
        }
        Ok(())
    }
}
