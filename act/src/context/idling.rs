//! Nothing comes for a while: idle timeouts and passivation (rule D10; OTP's timeout of a
//! `gen_server`, Akka's receive timeout, `GoAkt`'s passivation).
//!
//! A process that wants neither pays nothing. One that does notes, each time it has nothing to
//! do, when that was and how many messages it had handled. Its timer is set once, not once
//! a message: when it rings and messages came meanwhile, it is set anew for what is left
//! since the process was last idle. So it is never early, and late by load only.

use super::context::Context;
use super::idle::{Idle, PassivationPolicy};
use crate::host::host::Alarm;
use crate::mailbox::entry::Notice;
use crate::received::Received;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The shortest idle timeout: one of nothing would come for ever without any time passing.
const SHORTEST: Duration = Duration::from_millis(1);

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has this process told when no message and no notice has come for this long: an actor's
    /// [`crate::Actor::handle_timeout`], [`Received::Timeout`] of a bare process. It stays
    /// in effect, and comes again after each further such time, until `None` takes it
    /// back. An inspection is no message. A time under a millisecond counts as a millisecond.
    pub fn set_idle_timeout(&mut self, timeout: Option<Duration>) {
        self.change_idle(|idle| idle.timeout = timeout.map(|time| time.max(SHORTEST)));
    }

    /// Ends this process normally when no message and no notice has come for this long
    /// (`GoAkt`'s passivation); an actor runs `terminate`. `None` takes it back. Not while it has
    /// messages set aside.
    pub fn passivate_after(&mut self, time: Option<Duration>) {
        self.change_idle(|idle| idle.passivate = time);
    }

    /// As [`Context::passivate_after`], where somebody else is asked first, each time: whoever
    /// keeps this process and must know that it goes. What answers is run in the process's own
    /// turn. It is asked as well if the process then chooses another time for itself, and stays if
    /// the state is replaced in place.
    pub fn passivate_if(&mut self, time: Duration, may_go: impl FnMut() -> bool + Send + 'static) {
        let keeper = PassivationPolicy { time, may_go: Box::new(may_go) };
        self.change_idle(|idle| {
            idle.passivate = Some(time);
            idle.keeper = Some(keeper);
        });
    }

    /// Another state takes the place of the one that has chosen its times: back to its keeper's.
    pub(super) fn renew_idle(&mut self, idle: Option<Box<Idle>>) {
        let Some(mut idle) = idle else { return };
        idle.timeout = None;
        idle.paused = false;
        idle.passivate = idle.keeper.as_ref().map(|keeper| keeper.time);
        self.rare().idle = Some(idle);
        self.change_idle(|_| {});
    }

    /// Does not passivate this process until [`Context::resume_passivation`].
    pub fn pause_passivation(&mut self) {
        self.change_idle(|idle| idle.paused = true);
    }

    /// Passivates this process again when it has been idle; the time begins anew.
    pub fn resume_passivation(&mut self) {
        self.change_idle(|idle| idle.paused = false);
    }

    fn change_idle(&mut self, change: impl FnOnce(&mut Idle)) {
        let now = self.now();
        let handled = self.handled();
        let idle = self.rare().idle.get_or_insert_with(|| Box::new(Idle::new(now)));
        change(idle);
        // The time begins with the change.
        idle.since = now;
        idle.handled = handled;
        idle.told = None;
        idle.stayed = None;
        let nothing = idle.timeout.is_none() && idle.passivate.is_none() && !idle.paused;
        if nothing && idle.keeper.is_none() {
            let key = self.rare().idle.take().and_then(|idle| idle.key());
            if let Some(key) = key {
                self.host().cancel_timer(key);
            }
            self.release_rare();
        }
    }

    fn handled(&self) -> u64 {
        let progress = &self.cell.progress;
        progress.taken.load(Ordering::Relaxed) + progress.controls.load(Ordering::Relaxed)
    }

    /// The process has nothing to do.
    pub(crate) fn note_idle(&mut self) {
        let Some(idle) = self.rare.as_ref().and_then(|rare| rare.idle.as_ref()) else { return };
        let handled = self.handled();
        if idle.handled != handled {
            let now = self.now();
            if let Some(idle) = &mut self.rare().idle {
                idle.since = now;
                idle.handled = handled;
                idle.told = None;
                idle.stayed = None;
            }
        }
        self.set_idle_timer();
    }

    /// Sets the timer, unless one is set that rings early enough.
    fn set_idle_timer(&mut self) {
        let cell = Arc::downgrade(&self.cell);
        let host = Arc::clone(self.host());
        let Some(idle) = self.rare.as_mut().and_then(|rare| rare.idle.as_mut()) else { return };
        let Some(due) = idle.due() else { return };
        if idle.timer.as_ref().is_some_and(|(_, set)| *set <= due) {
            return;
        }
        if let Some((key, _)) = idle.timer.take() {
            host.cancel_timer(key);
        }
        // Unique, for an idle time that was taken back and set anew is another.
        let round = host.next_ref().number();
        idle.round = round;
        let ring = move || {
            if let Some(cell) = cell.upgrade() {
                cell.push_notice(Notice::Idle(round));
            }
        };
        idle.timer = Some((host.set_timer(due, Alarm::Run(Box::new(ring))), due));
    }

    /// What was handled since is no reason to begin anew: nobody sent anything.
    pub(crate) fn forgive_idle(&mut self) {
        if let Some(idle) = self.rare.as_mut().and_then(|rare| rare.idle.as_mut()) {
            idle.handled = idle.handled.saturating_add(1);
        }
    }

    /// A notice has come that is not counted as a message: the silence is over.
    pub(crate) fn break_silence(&mut self) {
        if let Some(idle) = self.rare.as_mut().and_then(|rare| rare.idle.as_mut()) {
            idle.handled = u64::MAX;
        }
    }

    /// Whether anything has come that lies behind what is in hand.
    fn has_mail(&self) -> bool {
        let inbox = self.cell.inbox.lock();
        let sorted = self.rare.as_ref().and_then(|rare| rare.sorted.as_ref());
        self.main.as_ref().is_some_and(|main| !main.is_empty())
            || inbox.has_main()
            || sorted.is_some_and(|sorted| !sorted.is_empty())
    }

    /// The timer has rung.
    pub(crate) fn idle_rings(&mut self, round: u64) -> Option<Received<M, C>> {
        let (now, handled) = (self.now(), self.handled());
        let mail_waits = self.has_mail();
        let rare = self.rare.as_mut()?;
        let idle = rare.idle.as_mut()?;
        if idle.round != round {
            return None;
        }
        idle.timer = None;
        if idle.handled != handled || mail_waits {
            // Something came; the timer is set anew when the process is idle again.
            return None;
        }
        if idle.passivation_due().is_some_and(|due| due <= now) {
            // What is set aside would go with it.
            let goes = rare.stash.is_empty()
                && idle.keeper.as_mut().is_none_or(|keeper| (keeper.may_go)());
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
