//! What waits inside a state actor, in its five classes, and what is next.
//!
//! ```text
//!   1 replies      always          what handlers in flight wait for, as soon as it is there
//!   2 exceptions   always          asks of its own that failed
//!   3 asks         may be begun    what others want to know or have done, with an answer
//!   4 notices      may be begun    what others tell
//!   5 events       always          timers, timeouts, ends of others
//! ```
//!
//! Pure: things go in, the next comes out. The order is looked at anew for each, so what came
//! while one was handled takes its place among what waited already (rule O2). A barrier is
//! that of one stack, and only the end of that stack takes it away (rule O3). Asks and notices may be
//! begun if there is no barrier and not as many are in flight as may be (rule O1).

use crate::contained_drop::ContainedDrop;
use crate::table::TableKey;
use std::collections::VecDeque;

/// What waits. `R` and `X` are replies and exceptions, `A`, `N` and `E` asks, notices, events.
pub(crate) struct Classes<R, X, A, N, E> {
    pub(crate) replies: VecDeque<R>,
    pub(crate) exceptions: VecDeque<X>,
    pub(crate) asks: VecDeque<A>,
    pub(crate) notices: VecDeque<N>,
    pub(crate) events: VecDeque<E>,
    /// The stack whose end asks and notices wait for.
    barrier: Option<TableKey>,
    /// As many letters are in flight as may be.
    busy: bool,
    /// No ask and no notice is begun any more.
    closed: bool,
}

/// What is next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextItem<R, X, A, N, E> {
    Reply(R),
    Exception(X),
    Ask(A),
    /// An ask that is a barrier: its stack is to be made known to [`Classes::raise`].
    Barrier(A),
    /// Asks that follow each other and may be handled together.
    Asks(Vec<A>),
    Notice(N),
    Notices(Vec<N>),
    Event(E),
}

/// What an actor says of what it is sent.
pub(crate) trait Sorting<A, N> {
    fn is_barrier(&self, ask: &A) -> bool;
    fn batches_ask(&self, ask: &A) -> bool;
    fn batches_notice(&self, notice: &N) -> bool;
    /// How many there may be in a batch, at least 1.
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
    /// Takes what is next, if anything may be.
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

    /// Whether what is next is a notice or an event: what letters may have come meanwhile
    /// goes before it, or may.
    pub(crate) fn is_low(&self) -> bool {
        let may_begin = self.may_begin();
        self.replies.is_empty()
            && self.exceptions.is_empty()
            && (!may_begin || self.asks.is_empty())
            && ((may_begin && !self.notices.is_empty()) || !self.events.is_empty())
    }

    fn begin_ask(&mut self, ask: A, sorting: &impl Sorting<A, N>) -> NextItem<R, X, A, N, E> {
        // What sorts it is a user's, and may panic.
        let ask = ContainedDrop::new(ask);
        if sorting.is_barrier(&ask) {
            return NextItem::Barrier(ask.into_inner());
        }
        if !sorting.batches_ask(&ask) {
            return NextItem::Ask(ask.into_inner());
        }
        // A barrier stands alone, whatever the filter says.
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

    /// Asks and notices wait from now on until this stack has ended.
    pub(crate) fn raise(&mut self, stack: TableKey) {
        self.barrier = Some(stack);
    }

    /// A stack has ended: if the barrier was its own, it is gone.
    pub(crate) fn lower(&mut self, stack: TableKey) {
        self.barrier.take_if(|barrier| *barrier == stack);
    }

    /// All stacks are gone.
    pub(crate) fn lower_any(&mut self) {
        self.barrier = None;
    }

    pub(crate) fn has_barrier(&self) -> bool {
        self.barrier.is_some()
    }

    /// Whether an ask or a notice may be begun.
    pub(crate) fn may_begin(&self) -> bool {
        self.barrier.is_none() && !self.busy && !self.closed
    }

    /// Whether as many letters are in flight as may be.
    pub(crate) fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// No ask and no notice is begun from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// How many asks and notices wait.
    pub(crate) fn letters(&self) -> usize {
        self.asks.len() + self.notices.len()
    }
}

/// `first` and those at the front of the queue that are wanted with it.
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
