//! The checks and their last answers.

use crate::check::{Check, Health};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A check that was run.
#[derive(Clone, Debug)]
pub(crate) struct CheckResult {
    pub(crate) name: String,
    pub(crate) live: bool,
    pub(crate) ready: bool,
    /// `None`: it has not answered yet.
    pub(crate) health: Option<Health>,
    pub(crate) took: Duration,
    /// When the answer came.
    pub(crate) at: Instant,
    /// When it was last asked, if no answer has come since.
    pub(crate) asked: Option<Instant>,
}

/// The checks of the program, and the last answer of all checks.
pub(crate) struct Checks {
    pub(crate) own: Vec<Check>,
    results: Mutex<BTreeMap<String, CheckResult>>,
    /// Counts the answers.
    answers: watch::Sender<u64>,
}

impl Checks {
    pub(crate) fn new(own: Vec<Check>) -> Self {
        Checks { own, results: Mutex::default(), answers: watch::Sender::new(0) }
    }

    /// Begins a check, unless it was run within `fresh` or is under way. Returns whether it began.
    pub(crate) fn begin(&self, name: &str, live: bool, ready: bool, fresh: Duration) -> bool {
        let now = Instant::now();
        let mut results = self.results.lock();
        let result = results.entry(name.to_owned()).or_insert_with(|| CheckResult {
            name: name.to_owned(),
            live,
            ready,
            health: None,
            took: Duration::ZERO,
            at: now,
            asked: None,
        });
        (result.live, result.ready) = (live, ready);
        let young = result.health.is_some() && now.duration_since(result.at) < fresh;
        // One that was begun on a thread that has ended is begun again.
        let under_way = result.asked.is_some_and(|asked| now.duration_since(asked) < LONGEST);
        if young || under_way {
            return false;
        }
        result.asked = Some(now);
        true
    }

    /// The answer of a check.
    pub(crate) fn end(&self, name: &str, health: Health, took: Duration) {
        if let Some(result) = self.results.lock().get_mut(name) {
            result.health = Some(health);
            result.took = took;
            result.at = Instant::now();
            result.asked = None;
        }
        self.answers.send_modify(|count| *count += 1);
    }

    /// Waits until none of these is under way.
    pub(crate) async fn answered(&self, names: &[String]) {
        // The sender lives as long as this does.
        let _ = self.answers.subscribe().wait_for(|_| self.all_answered(names)).await;
    }

    fn all_answered(&self, names: &[String]) -> bool {
        let results = self.results.lock();
        names.iter().all(|name| results.get(name).is_none_or(|result| result.asked.is_none()))
    }

    /// The last answers of these checks.
    pub(crate) fn results(&self, names: &[String]) -> Vec<CheckResult> {
        let results = self.results.lock();
        names.iter().filter_map(|name| results.get(name).cloned()).collect()
    }

    /// Forgets all but these: processes and dispatchers come and go.
    pub(crate) fn keep(&self, names: &[String]) {
        self.results.lock().retain(|name, _| names.contains(name));
    }

    /// The last answers of all checks that have ever run.
    pub(crate) fn all(&self) -> Vec<CheckResult> {
        self.results.lock().values().cloned().collect()
    }
}

/// No check takes longer.
const LONGEST: Duration = Duration::from_secs(11);
