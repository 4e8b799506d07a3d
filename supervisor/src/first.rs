//! Waiting for one thing and hearing of others.

use crate::command::{SupervisorCommand, SupervisorContext};
use krarup_act::{Received, Sleep};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

/// What a supervisor receives.
pub(crate) type SupervisorMail<T> = Received<Infallible, SupervisorCommand<T>>;

/// What comes first: what is waited for, or something else.
pub(crate) enum First<O, T> {
    Done(O),
    Item(SupervisorMail<T>),
}

/// Looks at the event before it looks at the lane.
pub(crate) async fn first_of<F, T>(
    ctx: &mut SupervisorContext<T>,
    event: &mut F,
) -> First<F::Output, T>
where
    F: Future + Unpin,
    T: Send + 'static,
{
    let mut receive = pin!(ctx.receive_early());
    poll_fn(|cx| match Pin::new(&mut *event).poll(cx) {
        Poll::Ready(output) => Poll::Ready(First::Done(output)),
        Poll::Pending => receive.as_mut().poll(cx).map(First::Item),
    })
    .await
}

/// What is waited for, or `None` if the time is over first.
pub(crate) async fn within<F: Future + Unpin>(
    limit: &mut Option<Sleep>,
    event: &mut F,
) -> Option<F::Output> {
    poll_fn(|cx| match Pin::new(&mut *event).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => match limit {
            Some(sleep) => Pin::new(sleep).poll(cx).map(|()| None),
            None => Poll::Pending,
        },
    })
    .await
}
