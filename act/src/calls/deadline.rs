//! Deadlines: the latest time until which a future waits.

use crate::host::host::{Alarm, Host, TimerKey};
use crate::process::current;
use krarup_gen::Timestamp;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The default timeout of a call, of an inspection and of a debug request (as OTP's).
pub const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// A due time and its timer. The host is a parameter, not a field, because a call has one at
/// hand. [`Deadline::disarm`] must be called before it is dropped.
pub(crate) struct Deadline {
    due: Timestamp,
    armed: Option<(TimerKey, WakerId)>,
}

/// Identifies the waker of a timer. The timer holds a clone of it, so no other waker can have
/// these addresses meanwhile.
type WakerId = (usize, usize);

fn id(waker: &Waker) -> WakerId {
    (waker.data().addr(), std::ptr::from_ref(waker.vtable()).addr())
}

impl Deadline {
    pub(crate) fn new(due: Timestamp) -> Self {
        Deadline { due, armed: None }
    }

    /// Returns ready if the time has come, or cannot come because the node has stopped.
    /// Otherwise a timer will wake the task.
    pub(crate) fn poll(&mut self, host: &dyn Host, cx: &Context<'_>) -> Poll<()> {
        if host.now() >= self.due || host.has_stopped() {
            self.disarm(host);
            return Poll::Ready(());
        }
        // A future may be polled by another task than before.
        if self.armed.as_ref().is_none_or(|(_, armed)| *armed != id(cx.waker())) {
            self.disarm(host);
            self.arm(host, cx);
        }
        Poll::Pending
    }

    /// Sets the timer.
    pub(crate) fn arm(&mut self, host: &dyn Host, cx: &Context<'_>) {
        let key = host.set_timer(self.due, Alarm::Wake(cx.waker().clone()));
        self.armed = Some((key, id(cx.waker())));
        // The node stopped between the check and the setting of the timer: no timer will wake
        // the task.
        if host.has_stopped() {
            cx.waker().wake_by_ref();
        }
    }

    /// Whether a timer is set.
    #[inline]
    pub(crate) fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    pub(crate) fn disarm(&mut self, host: &dyn Host) {
        if let Some((key, _)) = self.armed.take() {
            host.cancel_timer(key);
        }
    }
}

/// A future that is ready after a duration; made by [`Context::sleep`](crate::Context::sleep).
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    host: Arc<dyn Host>,
    deadline: Deadline,
}

impl Sleep {
    pub(crate) fn new(host: Arc<dyn Host>, duration: Duration) -> Self {
        let due = host.now() + duration;
        Self::until(host, due)
    }

    /// Makes a future that is ready at a time of the host's clock. For hosts.
    pub fn until(host: Arc<dyn Host>, due: Timestamp) -> Self {
        Sleep { host, deadline: Deadline::new(due) }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.get_mut();
        let slept = sleep.deadline.poll(&*sleep.host, cx);
        if slept.is_pending() {
            current::note_other_wait();
        }
        slept
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.deadline.disarm(&*self.host);
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sleep(until {})", self.deadline.due)
    }
}

/// Returns the output of `future`, or `None` if it is not ready within `limit`.
pub async fn within<F: Future + Unpin>(
    host: &Arc<dyn Host>,
    limit: Duration,
    mut future: F,
) -> Option<F::Output> {
    let mut sleep = Sleep::new(Arc::clone(host), limit);
    std::future::poll_fn(move |cx| match Pin::new(&mut future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Pin::new(&mut sleep).poll(cx).map(|()| None),
    })
    .await
}
