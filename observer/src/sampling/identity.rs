//! What a process is called: the texts that a sample does not have.

use krarup_gen::{Name, ProcessInfo, ProcessState, Sample, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Up to this many processes, the texts of all that had a turn are read in each walk.
const FEW: usize = 5000;
/// For how long the texts count if there are more.
const KEPT: Duration = Duration::from_secs(5);

/// The most texts that are kept to be shared.
const MOST_TEXTS: usize = 10_000;

/// The texts of a process, and what else costs more than a sample.
#[derive(Debug)]
pub(crate) struct ProcessIdentity {
    pub(crate) name: Option<Name>,
    pub(crate) label: Option<Name>,
    pub(crate) behavior: Arc<str>,
    pub(crate) dispatcher: Arc<str>,
    pub(crate) traced: bool,
    pub(crate) recorded: usize,
    pub(crate) shallow_bytes: usize,
    read: Timestamp,
    /// The process changes its texts in its own turns only, which these tell.
    progress: (u64, u64, ProcessState),
}

impl ProcessIdentity {
    pub(crate) fn of(info: &ProcessInfo, names: &mut SharedTexts, now: Timestamp) -> Self {
        ProcessIdentity {
            name: info.name.clone(),
            label: info.label.clone(),
            behavior: names.shared(&info.behavior.to_string()),
            dispatcher: names.shared(&info.dispatcher),
            traced: info.traced,
            recorded: info.recorded,
            shallow_bytes: info.shallow_bytes,
            read: now,
            progress: (info.handled, info.messages_out, info.state),
        }
    }

    /// Whether the texts are still those of the process, as far as its numbers tell.
    pub(crate) fn holds(&self, sample: &Sample, processes: usize, now: Timestamp) -> bool {
        let progress = (sample.handled, sample.messages_out, sample.state);
        let rests = progress == self.progress && sample.state == ProcessState::Idle;
        rests || (processes > FEW && now.since(self.read) < KEPT)
    }
}

/// Texts that many processes have in common.
#[derive(Debug, Default)]
pub(crate) struct SharedTexts {
    all: BTreeSet<Arc<str>>,
}

impl SharedTexts {
    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.all.get(text) {
            return Arc::clone(known);
        }
        if self.all.len() >= MOST_TEXTS {
            self.all.clear();
        }
        let text: Arc<str> = text.into();
        self.all.insert(Arc::clone(&text));
        text
    }
}
