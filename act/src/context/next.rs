//! The futures of what a process receives next.

use super::context::Context;
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::process::cell::Cell;
use crate::process::current::{self, Wants};
use crate::received::{Delivery, Received};
use krarup_gen::Reason;
use std::fmt;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{self, Poll, Waker};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// The next item: Urgent before System before Main, looked at anew each time
    /// (rule M2). Waits while there is none.
    ///
    /// It may be dropped before it is ready, as `select` does with the future that has lost:
    /// nothing is received then, and nothing is lost. It may also be awaited within a collection that
    /// gives its futures wakers of their own (`FuturesUnordered`).
    ///
    /// An actor's handler may use it too, for a selective conversation of its own: what it
    /// receives then is not handled by the actor, except that a stop it takes, or that it is to
    /// finish, is obeyed when the handler is done.
    pub fn receive(&mut self) -> Receive<'_, M, C> {
        Receive { context: self }
    }

    /// What is waited for comes to the process, and to this waker if that is another's.
    #[inline]
    pub(super) fn wait_with(&self, waker: &Waker) {
        if !current::is_own(waker) {
            self.cell.wake_before_poll(waker);
        }
    }

    /// A handler may receive what its behaviour is to obey when it is done.
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
        write!(f, "Receive({})", self.context.cell.pid)
    }
}

impl<M: Send + 'static> Context<M, M> {
    /// The next message, on whatever lane it came; anything else boxed, so that it needs no
    /// room beside the messages. What a loop of handlers awaits, who obeys a stop at once: of
    /// several messages that have come, each costs a fraction of a [`Context::receive`]. Await it
    /// in the process's own future: mail does not wake it within a collection that gives its
    /// futures wakers of their own.
    #[inline]
    pub fn next_message(&mut self) -> NextMessage<'_, M> {
        NextMessage { context: self }
    }

    #[allow(clippy::inline_always, reason = "an item goes from its place to its handler")]
    #[inline(always)]
    fn poll_next(&mut self) -> Poll<Delivery<M>> {
        // The two ways that a message mostly comes, each from its place right to its handler.
        if let Some(main) = self.main.as_mut().filter(|main| !main.is_empty()) {
            if self.started && !self.detour && may_take(&self.cell) {
                match main.pop_front() {
                    Some(MailboxEntry { sender, body: Body::Message(message) }) => {
                        self.sender = sender;
                        self.cell.progress.count_taken();
                        return Poll::Ready(Delivery::Message(message));
                    }
                    Some(notice) => self.put_back(notice),
                    None => {}
                }
            }
        } else if self.started && !self.detour && self.main.is_none() && may_take(&self.cell) {
            let mut inbox = self.cell.inbox.lock();
            if let Some((sender, message)) = inbox.take_first(&mut self.main) {
                drop(inbox);
                current::look();
                self.sender = sender;
                self.cell.progress.count_taken();
                return Poll::Ready(Delivery::Message(ManuallyDrop::into_inner(message)));
            }
            drop(inbox);
            current::refund();
        }
        self.poll_next_item()
    }

    /// Whatever is next. Apart, so that the ways above need no room for it.
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

/// Whether a message may be taken off Main now; if so it is spent.
#[inline]
fn may_take<M, C>(cell: &Cell<M, C>) -> bool {
    !cell.progress.attention.load(Ordering::Relaxed) && current::spend(|| cell.host.now())
}

/// A future of the next message; made by [`Context::next_message`].
#[must_use = "futures do nothing unless polled"]
pub struct NextMessage<'a, M> {
    context: &'a mut Context<M>,
}

impl<M: Send + 'static> Future for NextMessage<'_, M> {
    type Output = Delivery<M>;

    #[allow(clippy::inline_always, reason = "an item goes from its place to its handler")]
    #[inline(always)]
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
        write!(f, "NextMessage({})", self.context.cell.pid)
    }
}
