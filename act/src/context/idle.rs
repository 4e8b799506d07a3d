//! What a process keeps that wants to know when nothing comes (rule D10).

use crate::host::host::TimerKey;
use krarup_gen::Timestamp;
use std::time::Duration;

/// What a process wants to be done when nothing comes.
pub(crate) struct Idle {
    /// Tell it after this long; again and again.
    pub(crate) timeout: Option<Duration>,
    /// End it after this long.
    pub(crate) passivate: Option<Duration>,
    pub(crate) paused: bool,
    /// Who decides whether it ends.
    pub(crate) keeper: Option<PassivationPolicy>,
    /// Since when nothing has come, as far as is known; what was handled until then.
    pub(crate) since: Timestamp,
    pub(crate) handled: u64,
    /// When the process was last told, if nothing has come since.
    pub(crate) told: Option<Timestamp>,
    /// When it was last found that it stays, if nothing has come since.
    pub(crate) stayed: Option<Timestamp>,
    pub(crate) timer: Option<(TimerKey, Timestamp)>,
    /// Which timer is the valid one.
    pub(crate) round: u64,
}

/// Who lets a process go that is idle.
pub(crate) struct PassivationPolicy {
    /// After this time, unless the process chooses another.
    pub(crate) time: Duration,
    pub(crate) may_go: Box<dyn FnMut() -> bool + Send>,
}

impl Idle {
    pub(crate) fn new(now: Timestamp) -> Self {
        Idle {
            timeout: None,
            passivate: None,
            paused: false,
            keeper: None,
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

    /// When something is to be done next.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        match (self.timeout_due(), self.passivation_due()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}
