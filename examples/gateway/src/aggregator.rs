//! The aggregator: collects what all workers have counted.

use crate::frequent::Frequent;
use crate::tally::Tally;
use krarup::prelude::*;

/// The messages of the aggregator.
pub(crate) enum Aggregate {
    /// Adds the words of a text.
    Fold(Tally, Reply<()>),
    /// Returns the most frequent words.
    Top(usize, Reply<Top>),
}

/// The most frequent words so far.
pub(crate) struct Top {
    /// Texts counted so far.
    pub(crate) texts: u64,
    /// Words counted so far.
    pub(crate) words: u64,
    /// By how much a count can be too low; see [`Frequent`].
    pub(crate) uncertainty: u64,
    /// The words, the most frequent first.
    pub(crate) most: Vec<(Box<str>, u64)>,
}

/// The process.
#[derive(Default)]
pub(crate) struct Aggregator {
    texts: u64,
    words: u64,
    frequent: Frequent,
}

impl Actor for Aggregator {
    type Message = Aggregate;

    async fn handle_message(&mut self, _: &mut Context<Aggregate>, message: Aggregate) -> Result {
        match message {
            Aggregate::Fold(tally, reply) => {
                self.texts += 1;
                self.words += tally.words();
                for (word, times) in tally.into_counts() {
                    self.frequent.add(word, times);
                }
                reply.send(());
            }
            Aggregate::Top(n, reply) => reply.send(Top {
                texts: self.texts,
                words: self.words,
                uncertainty: self.frequent.uncertainty(),
                most: self.frequent.top(n),
            }),
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new()
            .with("texts", self.texts)
            .with("words", self.words)
            .with("vocabulary", self.frequent.len())
    }
}
