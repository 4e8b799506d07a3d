//! The handlers in flight of a state actor.
//!
//! A stack is a handler that has begun and not ended: its future, which owns its scope, and the
//! bell that is its waker. It is polled when that was rung, in the turn of its process only.

use crate::state_actor::handler_wakers::{HandlerWaker, HandlerWakers, Of};
use crate::table::{Table, TableKey};
use krarup_act::contain;
use krarup_gen::Result;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A handler that has begun.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Result> + Send>>;

struct RunningHandler {
    work: HandlerFuture,
    bell: Arc<HandlerWaker>,
    /// It handles letters.
    of_letters: bool,
    /// It has rung its own bell when it was polled last.
    yielded: bool,
}

#[derive(Default)]
pub(crate) struct RunningHandlers {
    table: Table<RunningHandler>,
    /// How many of them handle letters.
    of_letters: usize,
}

impl RunningHandlers {
    /// Takes a handler in; it has not been polled.
    pub(crate) fn add(
        &mut self,
        belfry: &Arc<HandlerWakers>,
        work: HandlerFuture,
        of_letters: bool,
    ) -> TableKey {
        self.of_letters += usize::from(of_letters);
        self.table.insert_with(|key| RunningHandler {
            work,
            bell: belfry.bell(Of::Stack(key)),
            of_letters,
            yielded: false,
        })
    }

    /// Whether it wants to go on, and lets others go before: it has awaited something that was
    /// ready at once, most likely [`krarup_act::yield_now`].
    pub(crate) fn has_yielded(&mut self, key: TableKey) -> bool {
        self.table.get_mut(key).is_some_and(|stack| stack.yielded)
    }

    /// Goes on with it: what it has ended with, if it has. One that has ended already is left
    /// alone.
    pub(crate) fn resume(&mut self, key: TableKey) -> Option<Result> {
        let stack = self.table.get_mut(key)?;
        stack.bell.still();
        let waker = Waker::from(Arc::clone(&stack.bell));
        let Poll::Ready(outcome) = stack.work.as_mut().poll(&mut Context::from_waker(&waker))
        else {
            stack.yielded = stack.bell.has_rung();
            return None;
        };
        let ended = self.table.remove(key);
        self.of_letters -= usize::from(ended.as_ref().is_some_and(|stack| stack.of_letters));
        drop(ended);
        Some(outcome)
    }

    /// How many handle an ask, a notice, or several of them.
    pub(crate) fn of_letters(&self) -> usize {
        self.of_letters
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Drops them all, one by one: a destructor that panics must not keep the next from
    /// running.
    pub(crate) fn clear(&mut self) {
        self.of_letters = 0;
        for stack in self.table.drain() {
            let _ = contain(|| drop(stack));
        }
    }
}
