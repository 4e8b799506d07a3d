//! A process in a picture, and what changed of it since the picture before.

use crate::sampling::identity::ProcessIdentity;
use krarup_gen::{ProcessState, Sample, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// A process in a picture.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) sample: Sample,
    pub(crate) identity: Arc<ProcessIdentity>,
    pub(crate) rates: Option<Rates>,
    /// Boxed, because it is empty for most processes.
    pub(crate) since: Option<Box<Since>>,
}

/// What changed by the second since the picture before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    /// Share of a core.
    pub(crate) cpu: f64,
    pub(crate) received: f64,
    pub(crate) handled: f64,
    pub(crate) growth: f64,
    /// Messages received since the picture before.
    pub(crate) new: u64,
}

/// Since when something has been seen without pause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Since {
    /// The same message is first in line.
    pub(crate) head: Option<Timestamp>,
    /// The mailbox grows.
    pub(crate) grows: Option<Timestamp>,
    /// The mailbox is at its bound.
    pub(crate) full: Option<Timestamp>,
    /// It waits for the same process.
    pub(crate) waits: Option<Timestamp>,
    /// It is suspended.
    pub(crate) suspended: Option<Timestamp>,
}

impl Row {
    /// The row of a process at a moment, with the one before, if there is one in the window.
    pub(crate) fn new(
        sample: Sample,
        identity: Arc<ProcessIdentity>,
        before: Option<(&Row, Timestamp, Duration)>,
        now: Timestamp,
    ) -> Self {
        let rates = before.map(|(row, _, window)| rates(&row.sample, &sample, window));
        let held = |holds: bool, since: fn(&Since) -> Option<Timestamp>| {
            holds.then(|| before.and_then(|(row, _, _)| since(&row.since())).unwrap_or(now))
        };
        let old = before.map(|(row, _, _)| &row.sample);
        let same_head = old.is_none_or(|old| old.taken == sample.taken && old.main > 0);
        let head = match (sample.main > 0, same_head) {
            (false, _) => None,
            (true, true) => held(true, |since| since.head),
            (true, false) => Some(now),
        };
        let same_wait = old.is_some_and(|old| old.waits == sample.waits);
        let waits = match (sample.waits.is_some(), same_wait) {
            (false, _) => None,
            (true, true) => held(true, |since| since.waits),
            (true, false) => Some(now),
        };
        // A mailbox grows from the picture before the first one in which it was seen to.
        let grows = rates.is_some_and(|rates| rates.growth > 0.0).then(|| {
            let began = before.map_or(now, |(_, at, _)| at);
            before.and_then(|(row, _, _)| row.since().grows).unwrap_or(began)
        });
        let full = sample.mailbox.is_some_and(|bound| sample.main >= bound);
        let suspended = sample.suspensions > 0 || sample.state == ProcessState::Suspended;
        let since = Since {
            head,
            grows,
            full: held(full, |since| since.full),
            waits,
            suspended: held(suspended, |since| since.suspended),
        };
        let since = (since != Since::default()).then(|| Box::new(since));
        Row { sample, identity, rates, since }
    }

    /// Since when what has been seen of it.
    pub(crate) fn since(&self) -> Since {
        self.since.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> u64 {
        self.sample.pid.id()
    }

    /// How long the same message has been first in line.
    pub(crate) fn head_wait(&self, now: Timestamp) -> Option<Duration> {
        self.since().head.map(|since| now.since(since))
    }
}

#[allow(clippy::cast_precision_loss, reason = "a rate is a rounded number")]
fn rates(before: &Sample, now: &Sample, window: Duration) -> Rates {
    let seconds = window.as_secs_f64();
    let new = now.messages_in.saturating_sub(before.messages_in);
    let by_second = |more: u64| more as f64 / seconds;
    let ran = now.running_time.saturating_sub(before.running_time);
    Rates {
        cpu: ran.as_secs_f64() / seconds,
        received: by_second(new),
        handled: by_second(now.handled.saturating_sub(before.handled)),
        growth: (now.main as f64 - before.main as f64) / seconds,
        new,
    }
}

pub(crate) use krarup_page::words::PROCESS_STATES as STATES;

/// The place of a state in [`STATES`]. A process that is at its end was seen running.
pub(crate) fn state_place(state: ProcessState) -> usize {
    match state {
        ProcessState::Init => 0,
        ProcessState::Idle => 1,
        ProcessState::Scheduled => 2,
        ProcessState::Waiting => 4,
        ProcessState::Suspended => 5,
        _ => 3,
    }
}

/// The state of a process, as answers print it: one of [`STATES`].
pub(crate) fn state_text(state: ProcessState) -> &'static str {
    STATES[state_place(state)]
}
