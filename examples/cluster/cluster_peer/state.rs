//! A process with a state that debuggers can see, and that ends as it is told.

use crate::terms::{atom, tagged};
use krarup::addressing::Dynamic;
use krarup::cluster::etf::{Map, Term};
use krarup::cluster::{HasCluster, TermMessage, reason_from_term};
use krarup::prelude::*;

#[derive(Default)]
pub(crate) struct Counting {
    count: i64,
}

impl Actor for Counting {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        match message {
            TermMessage::Call(term, reply) if atom(&term) == "self" => {
                let pid = ctx.cluster()?.pid_term(ctx.pid());
                reply.send(pid.unwrap_or_else(Term::nil));
            }
            TermMessage::Call(_, reply) => {
                self.count += 1;
                reply.send(self.count.into());
            }
            TermMessage::Cast(term) => {
                if let Some([reason]) = tagged(&term, "die") {
                    match reason_from_term(reason) {
                        Reason::Normal => ctx.stop(),
                        reason => return Err(reason),
                    }
                }
            }
            TermMessage::Info(_) => {}
        }
        Ok(())
    }

    fn state(&self) -> Option<Dynamic> {
        let count = Map::new([(Term::atom("count"), self.count.into())]);
        count.ok().map(|count| Dynamic::new(Term::from(count)))
    }
}
