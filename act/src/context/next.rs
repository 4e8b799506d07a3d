//! The futures of the next item and of the next message.

use super::context::Context;
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::mailbox::take::TakenFirst;
use crate::process::cell::Cell;
use crate::process::current;
use crate::process::turn_state::Wants;
use crate::received::{Delivery, Received};
use krarup_gen::{Reason, Ref};
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{self, Poll, Waker};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Receives the next item: Urgent before System before Main, checked again each time (rule
    /// M2). Waits while there is none.
    ///
    /// The future may be dropped before it is ready, as `select` does with the future that
    /// loses. It has then received nothing, and nothing is lost. It may also be awaited in a
    /// collection that gives its futures wakers of their own (`FuturesUnordered`).
    ///
    /// The handler of an actor may use it too, to receive selectively. The actor does not
    /// handle the items received in this way. One exception: a stop or a [`Received::Finish`]
    /// that the handler receives is obeyed when the handler is done.
    pub fn receive(&mut self) -> Receive<'_, M, C> {
        Receive { context: self }
    }

    /// Has a new item wake this waker too, if it is not the process's own.
    #[inline]
    pub(super) fn wait_with(&self, waker: &Waker) {
        if !current::is_own(waker) {
            self.cell.untyped().wake_before_poll(waker);
        }
    }

    /// Records a stop that a handler receives and that its behaviour obeys when the handler is
    /// done.
    #[inline]
    pub(super) fn remember(&mut self, item: &Received<M, C>) {
        match item {
            Received::Stop(reason) => self.remember_stop(reason.clone()),
            Received::Finish => self.remember_stop(Reason::Normal),
            _ => {}
        }
    }
}

/// A future of the next item; made by [`Context::receive`].
#[must_use = "futures do nothing unless polled"]
pub struct Receive<'a, M, C = M> {
    context: &'a mut Context<M, C>,
}

impl<M: Send + 'static, C: Send + 'static> Future for Receive<'_, M, C> {
    type Output = Received<M, C>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Received<M, C>> {
        let context = &mut *self.get_mut().context;
        let item = context.poll_receive();
        match &item {
            Poll::Ready(item) => context.remember(item),
            Poll::Pending => context.wait_with(cx.waker()),
        }
        item
    }
}

impl<M, C> fmt::Debug for Receive<'_, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receive({})", self.context.cell.pid())
    }
}

impl<M: Send + 'static> Context<M, M> {
    /// Receives the next message from any lane. Any other item is boxed, so that it takes no
    /// space beside the messages. For loops of handlers that obey a stop at once. If several
    /// messages have arrived, each costs a fraction of a [`Context::receive`]. It must be
    /// awaited in the process's own future: in a collection that gives its futures wakers of
    /// their own, messages do not wake it.
    #[inline]
    pub fn next_message(&mut self) -> NextMessage<'_, M> {
        NextMessage { context: self }
    }

    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn poll_next(&mut self) -> Poll<Delivery<M>> {
        // The two usual cases; in both the message is moved directly to its handler.
        if let Some(main) = self.main.as_mut().filter(|main| !main.is_empty()) {
            if self.cell.progress.takes_directly() && may_take(&self.cell) {
                match main.pop_front() {
                    Some(MailboxEntry { sender, body: Body::Message(message) }) => {
                        self.sender = sender;
                        self.cell.progress.count_taken();
                        return Poll::Ready(Delivery::Message(message));
                    }
                    Some(MailboxEntry { sender, body: Body::Event(message) }) => {
                        if self.takes_event(Ref::new(sender)) {
                            self.sender = 0;
                            return Poll::Ready(Delivery::Message(message));
                        }
                        self.refuse_event(message, Ref::new(sender));
                    }
                    Some(notice) => self.put_back(notice),
                    None => {}
                }
            }
        } else if self.cell.progress.takes_directly() && self.main.is_none() && may_take(&self.cell)
        {
            let mut inbox = self.cell.inbox.lock();
            match inbox.take_first(&mut self.main) {
                TakenFirst::Message(sender, message) => {
                    drop(inbox);
                    current::look();
                    self.sender = sender;
                    self.cell.progress.count_taken();
                    return Poll::Ready(Delivery::Message(message.arrive()));
                }
                TakenFirst::Event(subscription, message) => {
                    drop(inbox);
                    current::look();
                    if self.takes_event(Ref::new(subscription)) {
                        self.sender = 0;
                        return Poll::Ready(Delivery::Message(message.arrive()));
                    }
                    self.refuse_event(message.arrive(), Ref::new(subscription));
                    return self.poll_next_item();
                }
                TakenFirst::None => {}
            }
            drop(inbox);
            current::refund();
        }
        self.poll_next_item()
    }

    /// Returns the next item of any kind. A function apart, so that the usual cases above need
    /// no space for it.
    #[inline(never)]
    fn poll_next_item(&mut self) -> Poll<Delivery<M>> {
        match self.poll_receive() {
            Poll::Ready(Received::Message(message) | Received::Command(message)) => {
                Poll::Ready(Delivery::Message(message))
            }
            Poll::Ready(other) => Poll::Ready(Delivery::Other(Box::new(other))),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Whether a message may be taken off Main now; if so it is charged to the budget.
#[inline]
fn may_take<M, C>(cell: &Cell<M, C>) -> bool {
    !cell.progress.attention.load(Ordering::Relaxed) && current::spend(&cell.host)
}

/// A future of the next message; made by [`Context::next_message`].
#[must_use = "futures do nothing unless polled"]
pub struct NextMessage<'a, M> {
    context: &'a mut Context<M>,
}

impl<M: Send + 'static> Future for NextMessage<'_, M> {
    type Output = Delivery<M>;

    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        let context = &mut *self.get_mut().context;
        if context.is_drained() {
            return context.pending(Wants::Message);
        }
        context.poll_next()
    }
}

impl<M> fmt::Debug for NextMessage<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NextMessage({})", self.context.cell.pid())
    }
}
