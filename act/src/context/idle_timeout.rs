//! Idle timeouts and passivation: nothing arrives for a while (rule D10; OTP's timeout of a
//! `gen_server`, Akka's receive timeout, `GoAkt`'s passivation).
//!
//! A process that uses neither pays nothing. Another one records, each time it has nothing to
//! do, the time and how many messages it has handled. Its timer is set once, not for each
//! message. If messages have arrived when the timer fires, it is set again for the rest of the
//! time since the process was last idle. So the timeout is never early, and late only under
//! load.

use super::context::Context;
use super::idle_state::{Idle, PassivationPolicy};
use crate::host::host::Alarm;
use crate::mailbox::entry::Notice;
use crate::process::progress::ProcessMark;
use crate::received::Received;
use std::sync::Arc;
use std::time::Duration;

/// The shortest idle timeout. A timeout of zero would repeat for ever without any time
/// passing.
const SHORTEST: Duration = Duration::from_millis(1);

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has this process notified when no message and no notice has arrived for this long. An
    /// actor gets [`Actor::handle_timeout`](crate::Actor::handle_timeout), a bare process
    /// [`Received::Timeout`]. It repeats after each further such time, until `None` cancels it. An
    /// inspection does not count as a message. A timeout under a millisecond counts as a
    /// millisecond.
    pub fn set_idle_timeout(&mut self, timeout: Option<Duration>) {
        self.change_idle(|idle| idle.timeout = timeout.map(|time| time.max(SHORTEST)));
    }

    /// Ends this process normally when no message and no notice has arrived for this long
    /// (`GoAkt`'s passivation). An actor runs `terminate`. `None` cancels it. A process with
    /// stashed messages is not passivated, nor is a state machine that has postponed something. A
    /// time of zero is over at the next tick of a millisecond.
    pub fn passivate_after(&mut self, time: Option<Duration>) {
        self.change_idle(|idle| idle.passivate = time);
    }

    /// See [`BehaviorContext::passivate_if`](crate::BehaviorContext::passivate_if).
    pub(crate) fn passivate_if(
        &mut self,
        time: Duration,
        may_go: impl FnMut() -> bool + Send + 'static,
    ) {
        let policy = PassivationPolicy { time, may_go: Box::new(may_go) };
        self.change_idle(|idle| {
            idle.passivate = Some(time);
            idle.policy = Some(policy);
        });
    }

    /// Resets the times that the replaced state has chosen to those of the policy.
    pub(super) fn renew_idle(&mut self, idle: Option<Box<Idle>>) {
        let Some(mut idle) = idle else { return };
        idle.timeout = None;
        idle.paused = false;
        idle.passivate = idle.policy.as_ref().map(|policy| policy.time);
        self.cold().idle = Some(idle);
        self.change_idle(|_| {});
    }

    /// Suspends passivation of this process until [`Context::resume_passivation`].
    pub fn pause_passivation(&mut self) {
        self.change_idle(|idle| idle.paused = true);
    }

    /// Resumes passivation of this process; the idle time starts again.
    pub fn resume_passivation(&mut self) {
        self.change_idle(|idle| idle.paused = false);
    }

    fn change_idle(&mut self, change: impl FnOnce(&mut Idle)) {
        let now = self.now();
        let handled = self.handled();
        let idle = self.cold().idle.get_or_insert_with(|| Box::new(Idle::new(now)));
        change(idle);
        // The idle time starts with the change.
        idle.since = now;
        idle.handled = handled;
        idle.told = None;
        idle.stayed = None;
        let nothing = idle.timeout.is_none() && idle.passivate.is_none() && !idle.paused;
        if nothing && idle.policy.is_none() {
            let key = self.cold().idle.take().and_then(|idle| idle.key());
            if let Some(key) = key {
                self.host().cancel_timer(key);
            }
            self.release_cold();
        }
    }

    fn handled(&self) -> u64 {
        self.cell.progress.handled()
    }

    /// Records that the process has nothing to do.
    pub(crate) fn note_idle(&mut self) {
        let Some(idle) = self.cold.as_ref().and_then(|cold| cold.idle.as_ref()) else { return };
        let handled = self.handled();
        if idle.handled != handled {
            let now = self.now();
            if let Some(idle) = &mut self.cold().idle {
                idle.since = now;
                idle.handled = handled;
                idle.told = None;
                idle.stayed = None;
            }
        }
        self.set_idle_timer();
    }

    /// Sets the timer, unless one is set that fires early enough.
    fn set_idle_timer(&mut self) {
        let cell = Arc::downgrade(&self.cell);
        let host = Arc::clone(self.host());
        let Some(idle) = self.cold.as_mut().and_then(|cold| cold.idle.as_mut()) else { return };
        let Some(due) = idle.due() else { return };
        if idle.timer.as_ref().is_some_and(|(_, set)| *set <= due) {
            return;
        }
        if let Some((key, _)) = idle.timer.take() {
            host.cancel_timer(key);
        }
        // Unique, because an idle time that was cancelled and set again is another one.
        let round = host.next_ref().number();
        idle.round = round;
        let ring = move || {
            if let Some(cell) = cell.upgrade() {
                cell.push_notice(Notice::Idle(round));
            }
        };
        idle.timer = Some((host.set_timer(due, Alarm::Run(Box::new(ring))), due));
    }

    /// Counts an item that does not end the idle time, such as an inspection.
    pub(crate) fn reset_idle_time(&mut self) {
        if let Some(idle) = self.cold.as_mut().and_then(|cold| cold.idle.as_mut()) {
            idle.handled = idle.handled.saturating_add(1);
        }
    }

    /// Ends the idle time because of a notice that is not counted as a message.
    pub(crate) fn end_idle_time(&mut self) {
        if let Some(idle) = self.cold.as_mut().and_then(|cold| cold.idle.as_mut()) {
            idle.handled = u64::MAX;
        }
    }

    /// Whether an entry waits on Main.
    fn has_mail(&self) -> bool {
        let inbox = self.cell.inbox.lock();
        let sorted = self.cold.as_ref().and_then(|cold| cold.sorted.as_ref());
        self.main.as_ref().is_some_and(|main| !main.is_empty())
            || inbox.has_main()
            || sorted.is_some_and(|sorted| !sorted.is_empty())
    }

    /// Handles the notice of the idle timer.
    pub(crate) fn idle_timer_fired(&mut self, round: u64) -> Option<Received<M, C>> {
        let (now, handled) = (self.now(), self.handled());
        let mail_waits = self.has_mail();
        let cold = &mut **self.cold.as_mut()?;
        let idle = cold.idle.as_mut()?;
        if idle.round != round {
            return None;
        }
        idle.timer = None;
        if idle.handled != handled || mail_waits {
            // Something has arrived; the timer is set again when the process is next idle.
            return None;
        }
        if idle.passivation_due().is_some_and(|due| due <= now) {
            // What is stashed, or held by the behaviour, would be lost.
            let goes = cold.stash.is_empty()
                && !self.cell.progress.has(ProcessMark::HoldsMessages)
                && idle.policy.as_mut().is_none_or(|policy| (policy.may_go)());
            if goes {
                return Some(Received::Finish);
            }
            idle.stayed = Some(now);
        }
        if idle.timeout_due().is_some_and(|due| due <= now) {
            idle.told = Some(now);
            return Some(Received::Timeout);
        }
        None
    }
}
