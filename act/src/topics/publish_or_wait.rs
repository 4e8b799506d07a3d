//! Publishing when all subscribers have room (rule E9).

use super::publisher::{Published, Publisher};
use super::publishing::WaitingTry;
use super::waiting_publishers::PublisherPlace;
use crate::calls::deadline::Sleep;
use crate::calls::pending::wait;
use crate::process::current;
use krarup_gen::{CannotWait, Pid, PublishError};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

impl<T: Clone + Send + Sync + 'static> Publisher<T> {
    /// Publishes an event when all subscribers that chose
    /// [`WhenFull::Wait`](crate::WhenFull::Wait) have room (rule E9). Use `.await`, or `.wait()` on a
    /// plain thread. A subscriber that ends or leaves meanwhile is not waited for. Waiting
    /// publishers of one topic publish in the order in which they began to wait.
    pub fn publish_or_wait(&self, event: T) -> PublishOrWait<T> {
        PublishOrWait { publisher: self.clone(), event, timeout: None }
    }
}

/// A publication that waits for room; made by
/// [`Publisher::publish_or_wait`](crate::Publisher::publish_or_wait).
#[must_use = "nothing is published until it is awaited or waited for"]
pub struct PublishOrWait<T> {
    publisher: Publisher<T>,
    event: T,
    timeout: Option<Duration>,
}

impl<T: Clone + Send + Sync + 'static> PublishOrWait<T> {
    /// Sets the longest time to wait for room. Without it the publication waits until all have
    /// room, or the topic ends.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Publishes, and waits for room on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`PublishError::CannotWait`].
    pub fn wait(self) -> Result<Published, PublishError<T>> {
        if current::pid().is_some() {
            let cause = CannotWait::InProcess;
            return Err(PublishError::CannotWait { event: self.event, cause });
        }
        let host = Arc::clone(self.publisher.host());
        let mut publication = self.into_future();
        match wait(&*host, &mut publication) {
            Ok(published) => published,
            // It has not been published, or the wait would have succeeded.
            Err(cause) => match publication.event.take() {
                Some(event) => Err(PublishError::CannotWait { event, cause }),
                None => Ok(Published::default()),
            },
        }
    }
}

impl<T: Clone + Send + Sync + 'static> IntoFuture for PublishOrWait<T> {
    type Output = Result<Published, PublishError<T>>;
    type IntoFuture = Publishing<T>;

    /// # Errors
    /// [`PublishError::Ended`], also if the topic ends meanwhile, and [`PublishError::Timeout`] with
    /// the subscribers that had no room. Both hold the event.
    fn into_future(self) -> Publishing<T> {
        let PublishOrWait { publisher, event, timeout } = self;
        let limit = timeout.map(|limit| (limit, Sleep::new(Arc::clone(publisher.host()), limit)));
        let place = PublisherPlace::default();
        Publishing { publisher, event: Some(event), place, full: Vec::new(), limit }
    }
}

impl<T: Clone + Send + Sync + 'static> fmt::Debug for PublishOrWait<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishOrWait")
            .field("publisher", &self.publisher)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The future of a [`PublishOrWait`]. Nothing is published if it is dropped before it is ready.
#[must_use = "futures do nothing unless polled"]
pub struct Publishing<T: Clone + Send + Sync + 'static> {
    publisher: Publisher<T>,
    /// Until it is published or given back.
    event: Option<T>,
    place: PublisherPlace,
    /// The subscribers that were full at the last look.
    full: Vec<Pid>,
    limit: Option<(Duration, Sleep)>,
}

// Nothing in it is pinned.
impl<T: Clone + Send + Sync + 'static> Unpin for Publishing<T> {}

impl<T: Clone + Send + Sync + 'static> Future for Publishing<T> {
    type Output = Result<Published, PublishError<T>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let event = this.event.take().expect("a publication is not polled after it was ready");
        let core = this.publisher.core();
        match core.publish_with_room(event, &mut this.place, cx.waker(), current::pid()) {
            WaitingTry::Published { heard, missed } => {
                this.publisher.note_missed(missed);
                Poll::Ready(Ok(Published::new(heard, missed)))
            }
            WaitingTry::Ended(event) => {
                Poll::Ready(Err(PublishError::Ended { event, topic: core.id().clone() }))
            }
            WaitingTry::Full(event, full) => {
                if let Some(full) = full {
                    this.full = full;
                }
                if let Some((limit, sleep)) = &mut this.limit
                    && Pin::new(sleep).poll(cx).is_ready()
                {
                    let full = std::mem::take(&mut this.full);
                    // It may be kept for long after this.
                    core.leave_line(&mut this.place);
                    return Poll::Ready(Err(PublishError::Timeout { event, full, limit: *limit }));
                }
                this.event = Some(event);
                current::note_other_wait();
                Poll::Pending
            }
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Drop for Publishing<T> {
    fn drop(&mut self) {
        self.publisher.core().leave_line(&mut self.place);
    }
}

impl<T: Clone + Send + Sync + 'static> fmt::Debug for Publishing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publishing")
            .field("publisher", &self.publisher)
            .field("full", &self.full)
            .finish_non_exhaustive()
    }
}
