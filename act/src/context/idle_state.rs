//! The idle timeout and passivation of a process (rule D10).

use crate::host::host::TimerKey;
use krarup_gen::Timestamp;
use std::time::Duration;

/// The state of an idle timeout and of passivation.
pub(crate) struct Idle {
    /// Notify the process after this time, repeatedly.
    pub(crate) timeout: Option<Duration>,
    /// End the process after this time.
    pub(crate) passivate: Option<Duration>,
    pub(crate) paused: bool,
    /// Decides whether the process ends; `None` if the process alone decides.
    pub(crate) policy: Option<PassivationPolicy>,
    /// Since when nothing has arrived, as far as is known. `handled` is the number of items that
    /// were handled until then.
    pub(crate) since: Timestamp,
    pub(crate) handled: u64,
    /// When the process was last notified, if nothing has arrived since.
    pub(crate) told: Option<Timestamp>,
    /// When the policy last kept the process alive, if nothing has arrived since.
    pub(crate) stayed: Option<Timestamp>,
    pub(crate) timer: Option<(TimerKey, Timestamp)>,
    /// The number of the valid timer.
    pub(crate) round: u64,
}

/// The policy that decides whether an idle process ends.
pub(crate) struct PassivationPolicy {
    /// The idle time, unless the process chooses another.
    pub(crate) time: Duration,
    pub(crate) may_go: Box<dyn FnMut() -> bool + Send>,
}

impl Idle {
    pub(crate) fn new(now: Timestamp) -> Self {
        Idle {
            timeout: None,
            passivate: None,
            paused: false,
            policy: None,
            since: now,
            handled: 0,
            told: None,
            stayed: None,
            timer: None,
            round: 0,
        }
    }

    pub(crate) fn key(&self) -> Option<TimerKey> {
        self.timer.map(|(key, _)| key)
    }

    pub(crate) fn timeout_due(&self) -> Option<Timestamp> {
        Some(self.told.unwrap_or(self.since) + self.timeout?)
    }

    pub(crate) fn passivation_due(&self) -> Option<Timestamp> {
        if self.paused { None } else { Some(self.stayed.unwrap_or(self.since) + self.passivate?) }
    }

    /// Returns when the next timeout or passivation is due.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        match (self.timeout_due(), self.passivation_due()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}
