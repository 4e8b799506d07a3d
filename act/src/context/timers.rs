//! Timers of a process: messages and signals after a delay (rule T1).

use super::context::Context;
use super::timer_table::{MadeMessage, ProcessTimer, TimerAction};
use crate::addressing::recipient::Recipient;
use crate::calls::deadline::Sleep;
use crate::calls::node_clock::NodeClock;
use crate::host::host::{Alarm, Host, TimerProcess};
use crate::mailbox::entry::Notice;
use crate::process::cell::Cell;
use crate::process::crash::{contain, log_contained};
use crate::process::current;
use crate::process::process::Via;
use krarup_gen::{Exit, Pid, Reason, Ref, Timestamp, one_line};
use std::any::type_name;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Suspends this process for this long (rule T1). It holds no worker meanwhile.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Arc::clone(self.host()), duration)
    }

    /// Returns the clock of the node, for futures that outlive this callback: those of
    /// [`Context::pipe`] and [`Context::task`], which sleep with it and tell the time (rule T15).
    #[must_use]
    pub fn clock(&self) -> NodeClock {
        NodeClock::of(Arc::clone(self.host()))
    }

    /// Sends a message to this process after a delay, on its Main lane and regardless of its
    /// bound. The timer is cancelled when the process ends (rule T1). Timers have ticks of a
    /// millisecond: a delay of zero is over at the next.
    pub fn send_after(&mut self, delay: Duration, message: M) -> Ref {
        let timer = self.make_ref();
        self.arm(timer, self.now() + delay, TimerAction::Once(message));
        timer
    }

    /// Sends a message to this process when the wall time is `at`, as [`Context::send_after`] of
    /// the time until then: at once, if `at` has passed. If the wall time is set afterwards, the
    /// timer stays as it is (rule T6). What must follow the wall clock is a job of a cron.
    ///
    /// ```
    /// # use krarup_act::Context;
    /// # use std::time::SystemTime;
    /// enum Say { Expired }
    ///
    /// fn issue(ctx: &mut Context<Say>, expires: SystemTime) {
    ///     ctx.send_at(expires, Say::Expired);
    /// }
    /// # let _ = issue;
    /// ```
    pub fn send_at(&mut self, at: SystemTime, message: M) -> Ref {
        let delay = at.duration_since(self.wall_time()).unwrap_or_default();
        self.send_after(delay, message)
    }

    /// Sends a message to this process repeatedly until the timer is cancelled (rule T1). Each
    /// message is due one `period` after the one before was due. The timer is set again when
    /// its last message is received, so messages do not pile up. A period under a millisecond
    /// counts as a millisecond.
    pub fn send_interval<F>(&mut self, period: Duration, message: F) -> Ref
    where
        F: FnMut() -> M + Send + 'static,
    {
        let period = period.max(Duration::from_millis(1));
        let timer = self.make_ref();
        let action = TimerAction::Again { period, message: Box::new(message) };
        self.arm(timer, self.now() + period, action);
        timer
    }

    /// Sends a message to another process after a delay (Erlang's `send_after/3`). The timer
    /// is cancelled when this process ends. A message that the receiver does not accept is a
    /// dead letter.
    pub fn send_after_to<T>(&mut self, delay: Duration, to: &Recipient<T>, message: T) -> Ref
    where
        T: Send + 'static,
    {
        let to = to.clone();
        self.act_after(delay, move |_| drop(to.send(message)))
    }

    /// Sends an exit signal after a delay, on behalf of this process (Erlang's `exit_after`;
    /// rule T1). The timer is cancelled when this process ends. A signal to the process itself
    /// ends it, unless it traps exits.
    pub fn exit_after(&mut self, delay: Duration, pid: Pid, reason: Reason) -> Ref {
        let exit = Exit { pid: self.pid(), reason };
        self.act_after(delay, move |host| {
            if let Some(process) = host.process(pid) {
                process.exit_signal(exit, Via::Signal);
            }
        })
    }

    fn act_after(&mut self, delay: Duration, act: impl FnOnce(&dyn Host) + Send + 'static) -> Ref {
        let timer = self.make_ref();
        let cell = Arc::downgrade(&self.cell);
        let act = move || {
            if let Some(cell) = cell.upgrade().filter(|cell| cell.is_alive()) {
                // A conversion in it may panic; the entry is removed in any case.
                let done = contain(|| act(&*cell.host));
                cell.push_notice(Notice::Timer(timer));
                if let Err(panic) = done {
                    let pid = cell.pid();
                    log_contained(
                        || tracing::error!(target: "krarup", %pid, panic = %one_line(&panic), "a timer panicked"),
                    );
                }
            }
        };
        let due = self.now() + delay;
        let key = self.host().set_timer(due, Alarm::Run(Box::new(act)));
        self.cold().timers.insert(timer, ProcessTimer { key, due, action: TimerAction::Elsewhere });
        timer
    }

    /// Cancels a timer of this process. Returns the time that was left, or `None` if its
    /// message has been received or there is no such timer. If its message is in the mailbox
    /// it is discarded and the time left is zero. A timer for another process cannot be
    /// cancelled once it was due: the result is `None`.
    ///
    /// Who does not ask for the time takes [`Context::disarm`], which reads no clock.
    pub fn cancel(&mut self, timer: Ref) -> Option<Duration> {
        match self.take_out(timer)? {
            (due, true) => Some(due - self.now()),
            (_, false) => Some(Duration::ZERO),
        }
    }

    /// Cancels a timer of this process (`cancel_timer(Timer, [{info, false}])` of Erlang). Returns whether
    /// there was one, as [`Context::cancel`]. It reads no clock, which is a quarter of what a timer costs
    /// that is set and cancelled.
    pub fn disarm(&mut self, timer: Ref) -> bool {
        self.take_out(timer).is_some()
    }

    /// Takes a timer out. Returns when it was due and whether that is still to come, unless it has
    /// acted or there is no such timer.
    fn take_out(&mut self, timer: Ref) -> Option<(Timestamp, bool)> {
        let ProcessTimer { key, due, action } = self.cold.as_mut()?.timers.remove(timer)?;
        self.release_cold();
        let in_time = self.host().cancel_timer(key);
        match action {
            TimerAction::Elsewhere if !in_time => None,
            _ => Some((due, in_time)),
        }
    }

    /// Returns the time left until the timer is due, or `None` as for [`Context::cancel`].
    #[must_use]
    pub fn remaining(&self, timer: Ref) -> Option<Duration> {
        self.cold.as_ref()?.timers.get(timer).map(|timer| timer.due - self.now())
    }

    fn arm(&mut self, timer: Ref, due: Timestamp, mut action: TimerAction<M>) {
        if current::is_traced()
            && let Some(context) = current::context()
        {
            action = TimerAction::Linked(Box::new((action, context)));
        }
        let owner: Weak<dyn TimerProcess> = Arc::<Cell<M, C>>::downgrade(&self.cell);
        let key = self.host().set_timer(due, Alarm::Tell(owner, timer));
        self.cold().timers.insert(timer, ProcessTimer { key, due, action });
    }

    /// Handles the notice of a timer; returns its message, unless the timer was cancelled.
    pub(crate) fn ring(&mut self, timer: Ref) -> Option<M> {
        let ProcessTimer { due, action, .. } = self.cold.as_mut()?.timers.remove(timer)?;
        self.release_cold();
        let action = match action {
            TimerAction::Linked(linked) => {
                let (action, context) = *linked;
                self.begin_linked(context, type_name::<M>());
                action
            }
            action => action,
        };
        let (next, period, message) = match action {
            TimerAction::Once(message) => return Some(message),
            // A linked action is not linked once more.
            TimerAction::Elsewhere | TimerAction::Linked(_) => return None,
            TimerAction::Again { period, mut message } => (Some(message()), period, message),
            TimerAction::Made(made) => {
                let MadeMessage { next, period, message } = *made;
                (next.take(), period, message)
            }
        };
        self.arm(timer, due + period, TimerAction::Again { period, message });
        next
    }
}

impl<M: Send + 'static, C: Send + 'static> TimerProcess for Cell<M, C> {
    fn timer_is_due(&self, timer: Ref) {
        self.push_notice(Notice::Timer(timer));
    }

    fn idle_time_is_over(&self, round: u64) {
        self.push_notice(Notice::Idle(round));
    }
}
