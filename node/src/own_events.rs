//! What a node publishes about itself (rule E12).

use krarup_act::{NodeTopic, Topic, TopicTable};
use krarup_gen::{DeadLetter, Lifecycle, Ref, Target, Timestamp};
use std::sync::OnceLock;

/// The topics of the node about itself. Each is opened when it is first asked for; until then an
/// event costs a look.
#[derive(Default)]
pub(crate) struct OwnEvents {
    dead_letters: OnceLock<NodeTopic<DeadLetter>>,
    lives: OnceLock<NodeTopic<Lifecycle>>,
}

impl OwnEvents {
    /// The topic of dead letters, opened if need be.
    pub(crate) fn dead_letters(
        &self,
        reference: impl FnOnce() -> Ref,
        topics: &TopicTable,
    ) -> Topic<DeadLetter> {
        self.dead_letters.get_or_init(|| NodeTopic::open(reference(), topics)).topic()
    }

    /// The topic of lives, opened if need be.
    pub(crate) fn lives(
        &self,
        reference: impl FnOnce() -> Ref,
        topics: &TopicTable,
    ) -> Topic<Lifecycle> {
        self.lives.get_or_init(|| NodeTopic::open(reference(), topics)).topic()
    }

    pub(crate) fn dead_letter(&self, letter: &DeadLetter, now: impl FnOnce() -> Timestamp) {
        if let Some(topic) = self.dead_letters.get().filter(|topic| topic.is_heard()) {
            // A process that does not take its events would hear of that, and so on for ever.
            let about = match letter.to {
                Target::Pid(pid) => Some(pid),
                _ => None,
            };
            topic.publish(letter.clone(), about, now);
        }
    }

    /// Whether somebody hears of lives.
    pub(crate) fn hears_of_lives(&self) -> bool {
        self.lives.get().is_some_and(NodeTopic::is_heard)
    }

    pub(crate) fn life(&self, life: &Lifecycle, now: impl FnOnce() -> Timestamp) {
        if let Some(topic) = self.lives.get().filter(|topic| topic.is_heard()) {
            topic.publish(life.clone(), Some(life.pid()), now);
        }
    }
}
