//! The idle timeout and passivation of a process (rule D10).

use crate::host::host::{Alarm, Host, TimerKey, TimerProcess};
use krarup_gen::Timestamp;
use std::sync::Weak;
use std::time::Duration;

/// A number of handled items that no process reaches: it has had something to do since.
pub(crate) const NOT_IDLE: u64 = u64::MAX;

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
    /// When the process was last notified, if nothing has arrived since; from when it has nothing to do again,
    /// when it has nothing to do since.
    pub(crate) told: Option<Timestamp>,
    /// It handles such a notice.
    pub(crate) handles_notice: bool,
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
            handles_notice: false,
            stayed: None,
            timer: None,
            round: 0,
        }
    }

    /// Records that the process has nothing to do.
    pub(crate) fn note(&mut self, now: Timestamp, handled: u64) {
        let handled_notice = std::mem::take(&mut self.handles_notice);
        if self.handled != handled {
            self.begin(now, handled);
        } else if handled_notice {
            // The time of that handler is none of the other idle times either.
            let took = self.told.map_or(Duration::ZERO, |told| now - told);
            self.told = Some(now);
            self.since = self.since + took;
            self.stayed = self.stayed.map(|stayed| stayed + took);
        }
    }

    /// Has the idle time begin now.
    fn begin(&mut self, now: Timestamp, handled: u64) {
        self.since = now;
        self.handled = handled;
        self.told = None;
        self.stayed = None;
    }

    /// The idle time starts when the process has nothing to do after a change of it: it is made in a handler. Returns
    /// whether it is still used.
    pub(crate) fn changed(&mut self) -> bool {
        self.handled = NOT_IDLE;
        self.timeout.is_some() || self.passivate.is_some() || self.paused || self.policy.is_some()
    }

    /// Sets the timer, unless one is set that fires early enough.
    pub(crate) fn set_timer(
        &mut self,
        host: &dyn Host,
        owner: &dyn Fn() -> Weak<dyn TimerProcess>,
    ) {
        let Some(due) = self.due() else { return };
        if self.timer.as_ref().is_some_and(|(_, set)| *set <= due) {
            return;
        }
        if let Some((key, _)) = self.timer.take() {
            host.cancel_timer(key);
        }
        // Unique, because an idle time that was cancelled and set again is another one.
        let round = host.next_ref().number();
        self.round = round;
        let owner = owner();
        let ring = move || {
            if let Some(owner) = owner.upgrade() {
                owner.idle_time_is_over(round);
            }
        };
        self.timer = Some((host.set_timer(due, Alarm::Run(Box::new(ring))), due));
    }

    /// Handles the notice of a timer. `has_come`: whether something has arrived, as far as the process can see;
    /// `is_empty_handed`: whether it holds no messages that would be lost with it.
    pub(crate) fn ring(
        &mut self,
        round: u64,
        now: Timestamp,
        has_come: bool,
        is_empty_handed: bool,
    ) -> IdleEnd {
        if self.round != round {
            return IdleEnd::None;
        }
        self.timer = None;
        if has_come {
            // The timer is set again when the process is next idle.
            return IdleEnd::None;
        }
        if self.passivation_due().is_some_and(|due| due <= now) {
            if is_empty_handed && self.policy.as_mut().is_none_or(|policy| (policy.may_go)()) {
                return IdleEnd::Passivation;
            }
            self.stayed = Some(now);
        }
        if self.timeout_due().is_some_and(|due| due <= now) {
            self.told = Some(now);
            self.handles_notice = true;
            return IdleEnd::Timeout;
        }
        IdleEnd::None
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

/// What the notice of an idle timer is for the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleEnd {
    None,
    Timeout,
    Passivation,
}
