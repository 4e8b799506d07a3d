//! The five classes of items that wait inside a state actor, and their order.
//!
//! ```text
//!   1 replies      always          outcomes that handlers in flight wait for
//!   2 exceptions   always          failures of the actor's own asks
//!   3 asks         may begin       requests of others, with an answer
//!   4 notices      may begin       messages of others, without an answer
//!   5 events       always          timers, timeouts, ends of other processes
//! ```
//!
//! This type is pure: items go in, and the next one comes out. The order is evaluated anew
//! for each item, so an item that arrived while another was handled takes its place among
//! those that waited already (rule O2). A barrier belongs to one handler, and only the end
//! of that handler removes it (rule O3). Asks and notices may begin if there is no barrier
//! and the limit of handlers in flight is not reached (rule O1).

use crate::contained_drop::ContainedDrop;
use crate::table::TableKey;
use std::collections::VecDeque;

/// The items that wait. `R` and `X` are replies and exceptions; `A`, `N` and `E` are asks,
/// notices and events.
pub(crate) struct Classes<R, X, A, N, E> {
    pub(crate) replies: VecDeque<R>,
    pub(crate) exceptions: VecDeque<X>,
    pub(crate) asks: VecDeque<A>,
    pub(crate) notices: VecDeque<N>,
    pub(crate) events: VecDeque<E>,
    /// The handler that asks and notices wait for.
    barrier: Option<TableKey>,
    /// The limit of asks and notices in flight is reached.
    busy: bool,
    /// No further ask and no further notice begins.
    closed: bool,
}

/// The next item to handle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextItem<R, X, A, N, E> {
    Reply(R),
    Exception(X),
    Ask(A),
    /// An ask that is a barrier. The caller passes its handler to [`Classes::raise`].
    Barrier(A),
    /// Consecutive asks that may be handled together.
    Asks(Vec<A>),
    Notice(N),
    Notices(Vec<N>),
    Event(E),
}

/// How an actor classifies the asks and notices it is sent.
pub(crate) trait Sorting<A, N> {
    fn is_barrier(&self, ask: &A) -> bool;
    fn batches_ask(&self, ask: &A) -> bool;
    fn batches_notice(&self, notice: &N) -> bool;
    /// The largest size of a batch, at least 1.
    fn most(&self) -> usize;
}

impl<R, X, A, N, E> Default for Classes<R, X, A, N, E> {
    fn default() -> Self {
        Classes {
            replies: VecDeque::new(),
            exceptions: VecDeque::new(),
            asks: VecDeque::new(),
            notices: VecDeque::new(),
            events: VecDeque::new(),
            barrier: None,
            busy: false,
            closed: false,
        }
    }
}

impl<R, X, A, N, E> Classes<R, X, A, N, E> {
    /// Takes the next item, if any may be taken.
    pub(crate) fn next(&mut self, sorting: &impl Sorting<A, N>) -> Option<NextItem<R, X, A, N, E>> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(NextItem::Reply(reply));
        }
        if let Some(exception) = self.exceptions.pop_front() {
            return Some(NextItem::Exception(exception));
        }
        if self.may_begin() {
            if let Some(ask) = self.asks.pop_front() {
                return Some(self.begin_ask(ask, sorting));
            }
            if let Some(notice) = self.notices.pop_front() {
                return Some(self.begin_notice(notice, sorting));
            }
        }
        self.events.pop_front().map(NextItem::Event)
    }

    /// Whether the next item is a notice or an event. A message that arrived meanwhile may
    /// go before it.
    pub(crate) fn is_low(&self) -> bool {
        let may_begin = self.may_begin();
        self.replies.is_empty()
            && self.exceptions.is_empty()
            && (!may_begin || self.asks.is_empty())
            && ((may_begin && !self.notices.is_empty()) || !self.events.is_empty())
    }

    fn begin_ask(&mut self, ask: A, sorting: &impl Sorting<A, N>) -> NextItem<R, X, A, N, E> {
        // The sorting functions are a user's and may panic.
        let ask = ContainedDrop::new(ask);
        if sorting.is_barrier(&ask) {
            return NextItem::Barrier(ask.into_inner());
        }
        if !sorting.batches_ask(&ask) {
            return NextItem::Ask(ask.into_inner());
        }
        // A barrier is never batched, whatever the filter returns.
        let wanted = |ask: &A| !sorting.is_barrier(ask) && sorting.batches_ask(ask);
        NextItem::Asks(batch(ask, &mut self.asks, sorting.most(), wanted))
    }

    fn begin_notice(&mut self, notice: N, sorting: &impl Sorting<A, N>) -> NextItem<R, X, A, N, E> {
        let notice = ContainedDrop::new(notice);
        if !sorting.batches_notice(&notice) {
            return NextItem::Notice(notice.into_inner());
        }
        let wanted = |notice: &N| sorting.batches_notice(notice);
        NextItem::Notices(batch(notice, &mut self.notices, sorting.most(), wanted))
    }

    /// Makes asks and notices wait until this handler has ended.
    pub(crate) fn raise(&mut self, stack: TableKey) {
        self.barrier = Some(stack);
    }

    /// Removes the barrier if it belongs to this handler, which has ended.
    pub(crate) fn lower(&mut self, stack: TableKey) {
        self.barrier.take_if(|barrier| *barrier == stack);
    }

    /// Removes the barrier: all handlers were dropped.
    pub(crate) fn lower_any(&mut self) {
        self.barrier = None;
    }

    pub(crate) fn has_barrier(&self) -> bool {
        self.barrier.is_some()
    }

    /// Whether an ask or a notice may begin.
    pub(crate) fn may_begin(&self) -> bool {
        self.barrier.is_none() && !self.busy && !self.closed
    }

    /// Sets whether the limit of asks and notices in flight is reached.
    pub(crate) fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// Begins no ask and no notice from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// How many asks and notices wait.
    pub(crate) fn messages(&self) -> usize {
        self.asks.len() + self.notices.len()
    }
}

/// Returns `first` and the items at the front of the queue that belong in its batch.
fn batch<T>(
    first: ContainedDrop<T>,
    queue: &mut VecDeque<T>,
    most: usize,
    wanted: impl Fn(&T) -> bool,
) -> Vec<T> {
    let more = queue.iter().take(most.saturating_sub(1)).take_while(|item| wanted(item)).count();
    std::iter::once(first.into_inner()).chain(queue.drain(..more)).collect()
}

#[cfg(test)]
mod tests;
