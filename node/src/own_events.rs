//! What a node publishes about itself (rule E12).

use krarup_act::{NodeTopic, ReportLog, Topic, TopicTable};
use krarup_gen::{DeadLetter, Lifecycle, Ref, Report, Target, Timestamp};
use std::sync::{Arc, OnceLock};

/// The topics of the node about itself. Each is opened when it is first asked for; until then an
/// event costs a look.
#[derive(Default)]
pub(crate) struct OwnEvents {
    dead_letters: OnceLock<NodeTopic<DeadLetter>>,
    lives: OnceLock<NodeTopic<Lifecycle>>,
    reports: OnceLock<Arc<NodeTopic<Report>>>,
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

    /// The topic of reports, opened if need be (rule X8).
    pub(crate) fn reports(
        &self,
        reference: impl FnOnce() -> Ref,
        topics: &TopicTable,
        log: &ReportLog,
    ) -> Topic<Report> {
        let topic = self.reports.get_or_init(|| Arc::new(NodeTopic::open(reference(), topics)));
        log.tell(Arc::clone(topic) as _);
        topic.topic()
    }

    pub(crate) fn dead_letter(&self, letter: &DeadLetter, now: impl FnOnce() -> Timestamp) {
        if let Some(topic) = self.dead_letters.get().filter(|topic| topic.is_heard()) {
            // A process that does not take its events would hear of that, and so on for ever.
            let about = match letter.to {
                Target::Pid(pid) => Some(pid),
                _ => None,
            };
            topic.publish(letter.clone(), about.as_slice(), now);
        }
    }

    /// Whether somebody hears of lives.
    pub(crate) fn hears_of_lives(&self) -> bool {
        self.lives.get().is_some_and(NodeTopic::is_heard)
    }

    pub(crate) fn life(&self, life: &Lifecycle, now: impl FnOnce() -> Timestamp) {
        if let Some(topic) = self.lives.get().filter(|topic| topic.is_heard()) {
            topic.publish(life.clone(), &[life.pid()], now);
        }
    }
}
