//! Messages that record what becomes of them.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What became of the messages of one run, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct MessageFates {
    by_number: Mutex<BTreeMap<u64, MessageFate>>,
}

/// What became of a message at the node that it was sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageFate {
    /// How often it was read from the wire.
    pub(crate) arrived: usize,
    pub(crate) handled: usize,
    /// How often it was dropped and not handled.
    pub(crate) dropped: usize,
}

/// The runs, so that a message that is read from bytes finds its own.
static RUNS: Mutex<BTreeMap<u64, Arc<MessageFates>>> = Mutex::new(BTreeMap::new());

/// A run of a test. Its messages are forgotten with it.
pub(crate) struct TrackedRun {
    pub(crate) number: u64,
    pub(crate) fates: Arc<MessageFates>,
}

impl TrackedRun {
    pub(crate) fn begin() -> Self {
        let fates = Arc::new(MessageFates::default());
        let mut runs = RUNS.lock().unwrap();
        let number = runs.last_key_value().map_or(1, |(last, _)| last + 1);
        runs.insert(number, Arc::clone(&fates));
        TrackedRun { number, fates }
    }
}

impl Drop for TrackedRun {
    fn drop(&mut self) {
        if let Ok(mut runs) = RUNS.lock() {
            runs.remove(&self.number);
        }
    }
}

impl MessageFates {
    pub(crate) fn of(&self, number: u64) -> MessageFate {
        self.by_number.lock().unwrap().get(&number).copied().unwrap_or_default()
    }

    pub(crate) fn all(&self) -> BTreeMap<u64, MessageFate> {
        self.by_number.lock().unwrap().clone()
    }

    /// A message was handled by a node of another program.
    pub(crate) fn arrived_elsewhere(&self, number: u64) {
        self.note(number, |fate| {
            fate.arrived += 1;
            fate.handled += 1;
        });
    }

    fn note(&self, number: u64, change: impl FnOnce(&mut MessageFate)) {
        change(self.by_number.lock().unwrap().entry(number).or_default());
    }
}

/// A message with a number and ballast. A copy that was read from the wire records that, and that
/// it was handled or dropped.
#[derive(Debug)]
pub(crate) struct TrackedMessage {
    run: u64,
    pub(crate) number: u64,
    /// A text is a binary on the wire.
    ballast: String,
    /// Where to record it, if it was read from the wire.
    arrived: Option<Arc<MessageFates>>,
}

impl TrackedMessage {
    pub(crate) fn new(run: u64, number: u64, ballast: usize) -> Self {
        TrackedMessage { run, number, ballast: "x".repeat(ballast), arrived: None }
    }

    /// The message is handled.
    pub(crate) fn handle(mut self) {
        if let Some(fates) = self.arrived.take() {
            fates.note(self.number, |fate| fate.handled += 1);
        }
    }
}

impl Drop for TrackedMessage {
    fn drop(&mut self) {
        if let Some(fates) = &self.arrived {
            fates.note(self.number, |fate| fate.dropped += 1);
        }
    }
}

impl Serialize for TrackedMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.run, self.number, &self.ballast).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TrackedMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (run, number, ballast) = Deserialize::deserialize(deserializer)?;
        let fates = RUNS.lock().unwrap().get(&run).cloned();
        if let Some(fates) = &fates {
            fates.note(number, |fate| fate.arrived += 1);
        }
        Ok(TrackedMessage { run, number, ballast, arrived: fates })
    }
}
