//! Counts what comes, and looks whether numbers come in their order.

use crate::ok;
use crate::terms::{atom, number, pair, tagged};
use krarup::cluster::TermMessage;
use krarup::cluster::etf::Term;
use krarup::prelude::*;
use std::collections::HashMap;

pub(crate) struct Sink {
    count: i64,
    keys: HashMap<Term, i64>,
    order: Term,
    last: Term,
    waiting: Vec<(i64, Reply<Term>)>,
}

impl Default for Sink {
    fn default() -> Self {
        Sink {
            count: 0,
            keys: HashMap::new(),
            order: ok(),
            last: Term::atom("none"),
            waiting: Vec::new(),
        }
    }
}

impl Sink {
    fn took(&mut self, term: Term) {
        self.count += 1;
        if let Some([key, found]) = tagged(&term, "seq") {
            let before = self.keys.entry(key.clone()).or_default();
            let expected = *before + 1;
            let found = number(found).unwrap_or_default();
            *before = found;
            if found != expected && atom(&self.order) == "ok" {
                let parts = [Term::atom("broken"), key.clone(), expected.into(), found.into()];
                self.order = Term::tuple(parts);
            }
        }
        self.last = match tagged(&term, "big") {
            Some([Term::Binary(bytes)]) => {
                pair("big", Term::Int(i64::try_from(bytes.len()).unwrap_or(i64::MAX)))
            }
            _ => term,
        };
        let count = self.count;
        for (_, reply) in self.waiting.extract_if(.., |(wanted, _)| *wanted <= count) {
            reply.send(count.into());
        }
    }
}

impl Actor for Sink {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        let (term, reply) = match message {
            TermMessage::Call(term, reply) => (term, reply),
            TermMessage::Cast(term) | TermMessage::Info(term) => {
                self.took(term);
                return Ok(());
            }
        };
        match atom(&term) {
            "count" => reply.send(self.count.into()),
            "order" => reply.send(self.order.clone()),
            "last" => reply.send(self.last.clone()),
            "reset" => {
                *self = Sink::default();
                reply.send(ok());
            }
            _ => match tagged(&term, "wait") {
                Some([wanted]) if number(wanted).is_some_and(|wanted| wanted <= self.count) => {
                    reply.send(self.count.into());
                }
                Some([wanted]) => self.waiting.push((number(wanted).unwrap_or_default(), reply)),
                _ => {
                    reply.send(ok());
                    self.took(term);
                }
            },
        }
        Ok(())
    }
}
