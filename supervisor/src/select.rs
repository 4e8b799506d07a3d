//! Waits for one event and receives items meanwhile.

use crate::command::{SupervisorCommand, SupervisorContext};
use krarup_act::{BehaviorContext, Received, Sleep};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

/// An item that a supervisor receives.
pub(crate) type SupervisorMail<T> = Received<Infallible, SupervisorCommand<T>>;

/// What happens first: the event, or the arrival of an item.
pub(crate) enum Selected<O, T> {
    Done(O),
    Item(SupervisorMail<T>),
}

/// Polls the event before the lane.
pub(crate) async fn select<F, T>(
    ctx: &mut SupervisorContext<T>,
    event: &mut F,
) -> Selected<F::Output, T>
where
    F: Future + Unpin,
    T: Send + 'static,
{
    let mut receive = pin!(ctx.receive_early());
    poll_fn(|cx| match Pin::new(&mut *event).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Selected::Done(output)),
        Poll::Pending => receive.as_mut().poll(cx).map(Selected::Item),
    })
    .await
}

/// The output of the event, or `None` if the time limit passes first.
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
