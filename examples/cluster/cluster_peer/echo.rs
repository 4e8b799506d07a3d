//! Small processes: one that answers what it is asked, one that knows names, one that is slow.

use crate::terms::{atom, number, pair, tagged};
use krarup::Name;
use krarup::cluster::etf::Term;
use krarup::cluster::{HasCluster, TermMessage};
use krarup::prelude::*;
use std::time::Duration;

/// Answers what it is asked.
pub(crate) struct Echo;

impl Actor for Echo {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        match message {
            TermMessage::Call(term, reply) => reply.send(term),
            TermMessage::Cast(term) | TermMessage::Info(term) => {
                if let Some([to, term]) = tagged(&term, "echo") {
                    let answer = pair("echo", term.clone());
                    // A receiver that cannot be reached gets nothing.
                    let _ = ctx.cluster()?.send_or_wait(to, &answer).await;
                }
            }
        }
        Ok(())
    }
}

/// Finds processes by their names.
pub(crate) struct Who;

impl Actor for Who {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        if let TermMessage::Call(term, reply) = message
            && let Some([name]) = tagged(&term, "whereis")
        {
            let pid = Name::new(atom(name)).ok().and_then(|name| ctx.whereis(name.as_str()));
            let pid = match pid {
                Some(pid) => ctx.cluster()?.pid_term(pid),
                None => None,
            };
            reply.send(pid.unwrap_or_else(|| Term::atom("undefined")));
        }
        Ok(())
    }
}

/// Answers later, or never, and serves others meanwhile.
#[derive(Default)]
pub(crate) struct Slow {
    kept: Vec<Reply<Term>>,
}

impl Actor for Slow {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        let TermMessage::Call(term, reply) = message else { return Ok(()) };
        match tagged(&term, "sleep") {
            Some([ms, term]) => {
                let time = number(ms).and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default();
                let (sleep, term) = (ctx.sleep(Duration::from_millis(time)), term.clone());
                ctx.pipe(
                    async move {
                        sleep.await;
                        reply.send(term);
                    },
                    |()| TermMessage::Info(Term::nil()),
                )?;
            }
            _ => self.kept.push(reply),
        }
        Ok(())
    }
}
