//! A typed actor: its message type says everything that a peer can ask for.

use krarup::prelude::*;
use serde::{Deserialize, Serialize};
use std::result;

#[derive(Serialize, Deserialize)]
pub(crate) enum Calc {
    Add(i64, i64, Reply<i64>),
    Divide(i64, i64, Reply<result::Result<i64, String>>),
    Describe(Thing, Reply<Description>),
    Note(i64),
    Clear,
    Total(Reply<i64>),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Thing {
    name: String,
    tags: Vec<Tag>,
    price: f64,
    at: Option<i64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Tag {
    Red,
    Green,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Description {
    name: String,
    count: usize,
    at: Option<i64>,
    first: Option<Tag>,
    pair: (f64, String),
}

#[derive(Default)]
pub(crate) struct CalcServer {
    total: i64,
}

impl Actor for CalcServer {
    type Message = Calc;

    async fn handle_message(&mut self, _: &mut Context<Calc>, message: Calc) -> Result {
        match message {
            Calc::Add(a, b, reply) => reply.send(a + b),
            Calc::Divide(_, 0, reply) => reply.send(Err("division by zero".to_owned())),
            Calc::Divide(a, b, reply) => reply.send(Ok(a / b)),
            Calc::Describe(Thing { name, tags, price, at }, reply) => {
                let (count, first, pair) =
                    (tags.len(), tags.first().copied(), (price, name.clone()));
                reply.send(Description { name, count, at, first, pair });
            }
            Calc::Note(number) => self.total += number,
            Calc::Clear => self.total = 0,
            Calc::Total(reply) => reply.send(self.total),
        }
        Ok(())
    }
}
