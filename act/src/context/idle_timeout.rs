//! Idle timeouts and passivation: nothing arrives for a while (rule D10; OTP's timeout of a
//! `gen_server`, Akka's receive timeout, `GoAkt`'s passivation).
//!
//! A process that uses neither pays nothing. Another one records, each time it has nothing to
//! do, the time and how many messages it has handled. Its timer is set once, not for each
//! message. If messages have arrived when the timer fires, it is set again for the rest of the
//! time since the process was last idle. So the timeout is never early, and late only under
//! load.

use super::context::Context;
use super::idle_state::{Idle, IdleEnd, NOT_IDLE, PassivationPolicy};
use crate::process::cell::Cell;
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
    /// inspection does not count as a message, and the time in a handler is not idle. A timeout under a millisecond counts as a
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
        let idle = self.cold().idle.get_or_insert_with(|| Box::new(Idle::new(now)));
        change(idle);
        if !idle.changed() {
            let key = self.cold().idle.take().and_then(|idle| idle.key());
            if let Some(key) = key {
                self.host().cancel_timer(key);
            }
            self.release_cold();
        }
    }

    /// Records that the process has nothing to do, and sets the timer.
    pub(crate) fn note_idle(&mut self) {
        let Some(idle) = self.cold.as_mut().and_then(|cold| cold.idle.as_mut()) else { return };
        let cell = &self.cell;
        idle.note(cell.host.now(), cell.handled());
        idle.set_timer(&*cell.host, &|| Arc::<Cell<M, C>>::downgrade(cell));
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
            idle.handled = NOT_IDLE;
        }
    }

    /// Whether an entry waits on Main.
    fn has_mail(&self) -> bool {
        let inbox = self.cell.inbox.lock();
        let sorted = self.cold.as_ref().and_then(|cold| cold.sorted.as_ref());
        self.main.as_ref().is_some_and(|main| !main.is_empty())
            || inbox.has_main()
            || sorted.is_some_and(|sorted| sorted.first().is_some())
    }

    /// Handles the notice of the idle timer.
    pub(crate) fn idle_timer_fired(&mut self, round: u64) -> Option<Received<M, C>> {
        let (now, handled) = (self.now(), self.cell.handled());
        let mail_waits = self.has_mail();
        // What is stashed, or held by the behaviour, would be lost.
        let holds = self.cell.progress.has(ProcessMark::HoldsMessages);
        // Who has room reserved will send.
        let is_expected = self.cell.waiting(&self.cell.inbox.lock()) > 0;
        let cold = &mut **self.cold.as_mut()?;
        let is_empty_handed = cold.stash.is_empty() && !holds && !is_expected;
        let idle = cold.idle.as_mut()?;
        match idle.ring(round, now, idle.handled != handled || mail_waits, is_empty_handed) {
            IdleEnd::None => None,
            IdleEnd::Timeout => Some(Received::Timeout),
            IdleEnd::Passivation => Some(Received::Finish),
        }
    }
}
