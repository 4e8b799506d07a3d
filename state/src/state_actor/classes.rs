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
//! This type is pure: items go in, and it says which comes out next. The order is evaluated anew
//! for each item, so an item that arrived while another was handled takes its place among
//! those that waited already (rule O2). A barrier belongs to one handler, and only the end
//! of that handler removes it (rule O3). Asks and notices may begin if there is no barrier
//! and the limit of handlers in flight is not reached (rule O1).

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

/// The next item to handle: the first of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextItem {
    Reply,
    Exception,
    Ask,
    /// An ask that is a barrier. The caller passes its handler to [`Classes::raise`].
    Barrier,
    /// So many asks that may be handled together.
    Asks(usize),
    Notice,
    Notices(usize),
    Event,
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
    /// The next item, if any may be taken. It stays where it is. Items are large, and each is moved once,
    /// into its handler.
    pub(crate) fn next(&self, sorting: &impl Sorting<A, N>) -> Option<NextItem> {
        if !self.replies.is_empty() {
            return Some(NextItem::Reply);
        }
        if !self.exceptions.is_empty() {
            return Some(NextItem::Exception);
        }
        if self.may_begin() {
            if let Some(ask) = self.asks.front() {
                return Some(self.next_ask(ask, sorting));
            }
            if let Some(notice) = self.notices.front() {
                return Some(self.next_notice(notice, sorting));
            }
        }
        (!self.events.is_empty()).then_some(NextItem::Event)
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

    fn next_ask(&self, ask: &A, sorting: &impl Sorting<A, N>) -> NextItem {
        if sorting.is_barrier(ask) {
            return NextItem::Barrier;
        }
        if !sorting.batches_ask(ask) {
            return NextItem::Ask;
        }
        // A barrier is never batched, whatever the filter returns.
        let wanted = |ask: &A| !sorting.is_barrier(ask) && sorting.batches_ask(ask);
        NextItem::Asks(batch(&self.asks, sorting.most(), wanted))
    }

    fn next_notice(&self, notice: &N, sorting: &impl Sorting<A, N>) -> NextItem {
        if !sorting.batches_notice(notice) {
            return NextItem::Notice;
        }
        let wanted = |notice: &N| sorting.batches_notice(notice);
        NextItem::Notices(batch(&self.notices, sorting.most(), wanted))
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

/// How many items at the front of the queue belong in one batch, with the first one, which does.
fn batch<T>(queue: &VecDeque<T>, most: usize, wanted: impl Fn(&T) -> bool) -> usize {
    let others = queue.iter().skip(1).take(most.saturating_sub(1));
    1 + others.take_while(|item| wanted(item)).count()
}

#[cfg(test)]
mod tests;
