//! Waiting for the answer of a call that has been sent: its reply, its timeout, and its edge
//! in the wait graph.

use crate::calls::deadline::Deadline;
use crate::calls::reply::Answer;
use crate::calls::slot::SlotReceiver;
use crate::host::host::Host;
use crate::process::awaited::AwaitedProcess;
use crate::process::{current, wait_graph};
use krarup_gen::{CallError, Pid, Reason, UndeliveredCause};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Calls with at least this timeout set their timer late (see [`Host::poke_later`]). The timer
/// may fire a hundredth of the timeout too late, and never too early.
const LONG: Duration = Duration::from_secs(1);

/// The answer of a call in progress. The host is a parameter, not a field, because a call has
/// one at hand. [`PendingReply::abandon`] must be called before it is dropped.
pub(crate) struct PendingReply<T> {
    reply: SlotReceiver<Answer<T>>,
    /// The process that is to answer.
    callee: Pid,
    timeout: Option<Duration>,
    deadline: Option<Deadline>,
}

impl<T: Send + 'static> PendingReply<T> {
    pub(crate) fn new(
        reply: SlotReceiver<Answer<T>>,
        callee: Pid,
        timeout: Option<Duration>,
    ) -> Self {
        PendingReply { reply, callee, timeout, deadline: None }
    }

    /// The span of the call lasts until this is abandoned.
    #[cold]
    pub(crate) fn is_awaited_in_context(&self) {
        current::await_call(self.reply.slot());
    }

    /// Runs in the first poll. The slot has its waiter already, so it need not be checked.
    #[inline]
    pub(crate) fn begin(&mut self, host: &Arc<dyn Host>, cx: &mut Context<'_>) -> Poll<Waited<T>> {
        let Some(timeout) = self.timeout else { return self.pending(cx) };
        if timeout >= LONG && current::want_poke(cx.waker()) {
            return self.pending(cx);
        }
        if timeout.is_zero() {
            return self.poll(host, cx, |_| false);
        }
        let deadline = self.deadline.insert(Deadline::new(host.now() + timeout));
        deadline.arm(&**host, cx);
        self.pending(cx)
    }

    /// Runs in a later poll. `suspicious` returns whether the callee itself seems to wait.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn poll(
        &mut self,
        host: &Arc<dyn Host>,
        cx: &mut Context<'_>,
        suspicious: impl FnOnce(Pid) -> bool,
    ) -> Poll<Waited<T>> {
        if self.deadline.is_some() {
            let suspicious = suspicious(self.callee);
            return self.poll_with_timer(host, cx, suspicious);
        }
        match self.reply.poll_value(cx) {
            Poll::Ready(Some(Ok(value))) => Poll::Ready(Ok(value)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(self.failed(error)),
            Poll::Ready(None) => Poll::Ready(self.no_reply()),
            Poll::Pending => {
                let suspicious = suspicious(self.callee);
                self.wait_on(host, cx, suspicious)
            }
        }
    }

    /// As [`PendingReply::poll`], with a timer set.
    #[inline(never)]
    fn poll_with_timer(
        &mut self,
        host: &Arc<dyn Host>,
        cx: &mut Context<'_>,
        suspicious: bool,
    ) -> Poll<Waited<T>> {
        if let Poll::Ready(answer) = self.reply.poll_value(cx) {
            self.disarm(&**host);
            return Poll::Ready(match answer {
                Some(Ok(value)) => Ok(value),
                Some(Err(error)) => self.failed(error),
                None => self.no_reply(),
            });
        }
        self.wait_on(host, cx, suspicious)
    }

    /// Handles a poll that no answer has caused.
    #[cold]
    fn wait_on(
        &mut self,
        host: &Arc<dyn Host>,
        cx: &mut Context<'_>,
        suspicious: bool,
    ) -> Poll<Waited<T>> {
        if suspicious
            && !self.reply.is_passed_on()
            && let Some(error) = wait_graph::deadlock(&**host, self.callee)
        {
            let error = self.ended(error);
            return Poll::Ready(self.give_up(host).unwrap_or(Err(error)));
        }
        let Some(timeout) = self.timeout else { return self.pending(cx) };
        let deadline = self.deadline.get_or_insert_with(|| Deadline::new(host.now() + timeout));
        if !deadline.is_armed() && current::reads_clock_only(cx.waker()) {
            return self.pending(cx);
        }
        if deadline.poll(&**host, cx).is_pending() {
            return self.pending(cx);
        }
        let to = self.callee;
        let error = if host.has_stopped() {
            CallError::NodeStopped { to }
        } else {
            CallError::Timeout { to, limit: timeout }
        };
        let error = self.ended(error);
        Poll::Ready(self.give_up(host).unwrap_or_else(|| {
            if matches!(error, CallError::Timeout { .. }) {
                host.count_timed_out_call();
            }
            Err(error)
        }))
    }

    /// Records the process that this one waits for (rule C5).
    #[inline]
    fn pending(&self, cx: &Context<'_>) -> Poll<Waited<T>> {
        if self.reply.is_passed_on() {
            current::note_other_wait();
        } else {
            let wait = AwaitedProcess::on(self.callee);
            let timed = self.deadline.as_ref().is_some_and(Deadline::is_armed);
            current::note_wait(self.callee, if timed { wait.timed() } else { wait }, cx.waker());
        }
        Poll::Pending
    }

    fn disarm(&mut self, host: &dyn Host) {
        if let Some(mut deadline) = self.deadline.take() {
            deadline.disarm(host);
        }
    }

    /// The token was dropped without an answer.
    #[cold]
    fn no_reply(&self) -> Waited<T> {
        Err(self.ended(CallError::NoReply { to: self.callee }))
    }

    /// The callee has answered with an error.
    #[cold]
    #[allow(clippy::boxed_local, reason = "the error leaves its box here, on a cold path")]
    fn failed(&self, error: Box<CallError>) -> Waited<T> {
        Err(self.ended(seen_by(self.callee, *error)))
    }

    /// Ends the span of the call by this error.
    #[cold]
    fn ended(&self, error: CallError) -> CallError {
        if current::is_traced() {
            current::end_call(self.reply.slot(), Some(&error));
        }
        error
    }

    /// Stops waiting; returns the answer if it arrived in that moment.
    #[cold]
    fn give_up(&mut self, host: &Arc<dyn Host>) -> Option<Waited<T>> {
        self.disarm(&**host);
        let host = Arc::clone(host);
        let answer = self.reply.close(move || host.count_late_reply())?;
        Some(answer.map_err(|error| seen_by(self.callee, *error)))
    }

    #[cold]
    fn ends_in_context(&self) {
        current::end_call(self.reply.slot(), None);
    }

    /// Stops waiting for an answer that is not needed or has arrived.
    #[inline]
    pub(crate) fn abandon(&mut self, host: &Arc<dyn Host>) {
        if current::is_traced() {
            self.ends_in_context();
        }
        if self.reply.finish() {
            drop(self.give_up(host));
        }
    }
}

/// The error of a call to this process, whose token has failed with `error`. If the process is one of
/// this node, it has passed the token on to another one, and has seen the request, although the
/// message with the token has reached nobody (rule Zcall4).
fn seen_by(callee: Pid, error: CallError) -> CallError {
    match &error {
        CallError::Undelivered { cause, .. } if callee.node() == 0 => {
            let reason = match cause {
                UndeliveredCause::NoConnection => Reason::NoConnection,
                _ => Reason::error(error.to_string()),
            };
            CallError::Terminated { to: callee, reason }
        }
        _ => error,
    }
}

/// The waker of the future that awaits this, for the slot of a call that it is about to make.
pub(super) fn own_waker(cx: &mut Context<'_>) -> Poll<Waker> {
    Poll::Ready(cx.waker().clone())
}

/// The outcome of a call.
pub(crate) type Waited<T> = Result<T, CallError>;
