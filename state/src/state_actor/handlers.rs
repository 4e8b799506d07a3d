//! The handlers in flight of a state actor.
//!
//! A handler in flight has begun and not ended. It consists of its future, which owns its
//! scope, and its waker. It is polled when that waker was woken, only in a turn of its process.

use crate::state_actor::handler_wakers::{HandlerWaker, HandlerWakers, WorkKey};
use crate::table::{Table, TableKey};
use krarup_act::{HeldTrace, contain};
use krarup_gen::{ReasonKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A handler that has begun.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Result> + Send>>;

struct RunningHandler {
    work: HandlerFuture,
    waker: Arc<HandlerWaker>,
    /// It handles asks or notices.
    of_messages: bool,
    /// It woke its own waker during its last poll.
    yielded: bool,
    /// The trace to which what it sends belongs.
    trace: Option<HeldTrace>,
}

#[derive(Default)]
pub(crate) struct RunningHandlers {
    table: Table<RunningHandler>,
    /// How many of them handle asks or notices.
    of_messages: usize,
}

impl RunningHandlers {
    /// Adds a handler without polling it.
    pub(crate) fn add(
        &mut self,
        wakers: &Arc<HandlerWakers>,
        work: HandlerFuture,
        of_messages: bool,
        trace: Option<HeldTrace>,
    ) -> TableKey {
        self.of_messages += usize::from(of_messages);
        self.table.insert_with(|key| RunningHandler {
            work,
            waker: wakers.waker(WorkKey::Handler(key)),
            of_messages,
            yielded: false,
            trace,
        })
    }

    /// Whether the handler yielded: it is ready to run, but lets others go first. It has
    /// awaited something that was ready at once, most likely [`yield_now`](krarup_act::yield_now).
    pub(crate) fn has_yielded(&mut self, key: TableKey) -> bool {
        self.table.get_mut(key).is_some_and(|stack| stack.yielded)
    }

    /// Polls a handler. Returns its result if it has ended. A key whose handler has ended
    /// already is ignored.
    pub(crate) fn resume(&mut self, key: TableKey) -> Option<Result> {
        let stack = self.table.get_mut(key)?;
        stack.waker.still();
        let waker = Waker::from(Arc::clone(&stack.waker));
        let work = &mut stack.work;
        let poll = || work.as_mut().poll(&mut Context::from_waker(&waker));
        let Poll::Ready(outcome) = HeldTrace::within(&mut stack.trace, poll) else {
            stack.yielded = stack.waker.was_woken();
            return None;
        };
        let mut ended = self.table.remove(key);
        self.of_messages -= usize::from(ended.as_ref().is_some_and(|stack| stack.of_messages));
        let trace = ended.as_mut().and_then(|stack| stack.trace.take());
        if let (Some(trace), Err(reason)) = (trace, &outcome) {
            trace.fail(reason.kind().as_str());
        }
        drop(ended);
        Some(outcome)
    }

    /// How many handle an ask, a notice, or a batch of them.
    pub(crate) fn of_messages(&self) -> usize {
        self.of_messages
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Drops all handlers, one by one. A destructor that panics does not keep the next one
    /// from running.
    pub(crate) fn clear(&mut self) {
        self.of_messages = 0;
        for mut stack in self.table.drain() {
            if let Some(trace) = stack.trace.take() {
                trace.fail(ReasonKind::Killed.as_str());
            }
            let _ = contain(|| drop(stack));
        }
    }
}
