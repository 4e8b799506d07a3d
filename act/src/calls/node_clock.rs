//! The clock of a node, for futures that have no context: piped ones, tasks, those of a test.

use crate::calls::deadline::Sleep;
use crate::host::host::Host;
use krarup_gen::Timestamp;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

/// The clock of a node: tells the time and sleeps, in any future and on any thread (rule T15).
///
/// In a simulation it is virtual, as is that of the [`Context`](crate::Context): what a process pipes to itself or
/// gives to a task sleeps without real time, and a test of it is repeatable. Cloning shares the
/// clock. It does not keep the node alive; when the node has stopped, sleeps end at once.
///
/// ```
/// # use krarup_act::{Context, NodeClock};
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// enum Feed { Polled(Option<u32>) }
///
/// # async fn poll_upstream() -> u32 { 7 }
/// /// Asks again after a second, and waits three seconds at most.
/// fn poll_later(ctx: &Context<Feed>) -> Result {
///     let clock = ctx.clock();
///     let polled = async move {
///         clock.sleep(Duration::from_secs(1)).await;
///         clock.timeout(Duration::from_secs(3), poll_upstream()).await
///     };
///     ctx.pipe(polled, Feed::Polled)?;
///     Ok(())
/// }
/// # let _ = poll_later;
/// ```
#[derive(Clone)]
pub struct NodeClock(Arc<dyn Host>);

impl NodeClock {
    /// Makes the clock of a host. For hosts; users have `Context::clock` and `Node::clock`.
    #[must_use]
    pub fn of(host: Arc<dyn Host>) -> Self {
        NodeClock(host)
    }

    /// Returns the node's time (rule T2).
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// Returns the wall time (rule T6): see [`Context::wall_time`](crate::Context::wall_time).
    #[must_use]
    pub fn wall_time(&self) -> SystemTime {
        self.0.wall_time()
    }

    /// Sleeps for this long. A process that awaits it holds no worker meanwhile.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Arc::clone(&self.0), duration)
    }

    /// Sleeps until this time; not at all, if it is over.
    pub fn sleep_until(&self, due: Timestamp) -> Sleep {
        Sleep::until(Arc::clone(&self.0), due)
    }

    /// Returns the output of `future`, or `None` if it is not ready within `limit`; it is dropped
    /// then. A future that is ready in time is not late: it is polled before the clock is asked.
    ///
    /// It bounds what has no timeout of its own: `ctx.clock().timeout(limit, socket.read(&mut bytes))`.
    pub async fn timeout<F: IntoFuture>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let mut future = pin!(future.into_future());
        let mut end = pin!(self.sleep(limit));
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => end.as_mut().poll(cx).map(|()| None),
        })
        .await
    }
}

impl fmt::Debug for NodeClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeClock({}, at {})", self.0.node_name(), self.now())
    }
}
