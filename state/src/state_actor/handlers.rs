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
use std::task::{Context, Poll};

/// A handler that has begun.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Result> + Send>>;

struct RunningHandler {
    work: HandlerFuture,
    waker: HandlerWaker,
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
    /// The waker of a handler that has ended, for the next one: most handlers end in their first poll,
    /// and leave their waker nowhere.
    spare: Option<HandlerWaker>,
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
        let spare = self.spare.take();
        self.table.insert_with(|key| {
            let waker = match spare {
                Some(waker) => {
                    waker.belongs_to(key);
                    waker
                }
                None => HandlerWaker::new(wakers, WorkKey::Handler(key)),
            };
            RunningHandler { work, waker, of_messages, yielded: false, trace }
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
        let (work, waker) = (&mut stack.work, stack.waker.waker());
        let poll = || work.as_mut().poll(&mut Context::from_waker(waker));
        let Poll::Ready(outcome) = HeldTrace::within(&mut stack.trace, poll) else {
            stack.yielded = stack.waker.was_woken();
            return None;
        };
        let Some(ended) = self.table.remove(key) else { return Some(outcome) };
        let RunningHandler { work, waker, of_messages, trace, .. } = ended;
        self.of_messages -= usize::from(of_messages);
        if let (Some(trace), Err(reason)) = (trace, &outcome) {
            trace.fail(reason.kind().as_str());
        }
        drop(work);
        self.spare = Some(waker).filter(HandlerWaker::is_alone);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, poll_fn};
    use std::sync::Mutex;
    use std::task::Waker;

    #[test]
    fn o5_a_waker_that_a_handler_has_left_somewhere_wakes_no_later_handler() {
        let (wakers, kept): (Arc<HandlerWakers>, Arc<Mutex<Option<Waker>>>) = Default::default();
        let mut handlers = RunningHandlers::default();
        let mut begin = |work: HandlerFuture| {
            let key = handlers.add(&wakers, work, true, None);
            (key, handlers.resume(key))
        };
        let place = Arc::clone(&kept);
        let leaves = poll_fn(move |cx| {
            *place.lock().unwrap() = Some(cx.waker().clone());
            Poll::Ready(Ok(()))
        });
        let (left, outcome) = begin(Box::pin(leaves));
        assert_eq!(outcome, Some(Ok(())));
        let (_, outcome) = begin(Box::pin(pending()));
        assert_eq!(outcome, None);
        kept.lock().unwrap().take().unwrap().wake();
        assert_eq!(wakers.take(), [WorkKey::Handler(left)]);
    }
}
