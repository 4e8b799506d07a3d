//! Promises: the outcomes that a state actor waits for, and the table that records them.
//!
//! ```text
//!   asked ──► open ──answer, error, timeout──► settled ──its turn among the five classes──► delivered
//!                └──────── dropped: removed from the table, a late answer is discarded ────────┘
//! ```
//!
//! A promise stays in the table until it is delivered. So at every moment the table
//! counts exactly the asks of the actor that have no delivered outcome (rule O5). A
//! handler does not see an answer before its turn has come. That gives replies, exceptions
//! and timeouts their places in the order (rule O2).

use crate::contained_drop::drop_each;
use crate::state_actor::handler_wakers::{HandlerWaker, HandlerWakers, WorkKey};
use crate::table::{Table, TableKey};
use krarup_act::contain;
use krarup_gen::{CallError, Pid};
use parking_lot::Mutex;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// The outcome of a promise or a timer. `R` and `E` are the replies and events of the actor.
pub(crate) enum Settled<R, E> {
    /// A handler holds the promise, which stores the outcome.
    Awaited(PromiseKind),
    /// The answer goes to a callback.
    Reply(R),
    Exception(Exception),
    /// A timer has fired.
    Event(E),
}

/// The kind of an outcome, which decides its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromiseKind {
    Reply,
    Exception,
    Timeout,
}

impl PromiseKind {
    pub(crate) fn of<T>(outcome: &Result<T, CallError>) -> Self {
        match outcome {
            Ok(_) => PromiseKind::Reply,
            Err(CallError::Timeout { .. }) => PromiseKind::Timeout,
            Err(_) => PromiseKind::Exception,
        }
    }
}

/// The number of an ask made with [`Scope::ask_then`](crate::Scope::ask_then).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub(crate) u64);

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask {}", self.0)
    }
}

/// A failed ask of the actor's own: see
/// [`StateActor::handle_exception`](crate::StateActor::handle_exception).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exception {
    /// The number of the ask.
    pub ask: AskId,
    /// The process that was asked.
    pub from: Pid,
    /// The error. A timeout is delivered as an event, in the order of events.
    pub error: CallError,
}

/// The work behind a promise.
pub(crate) type PromiseWork<R, E> = Pin<Box<dyn Future<Output = Settled<R, E>> + Send>>;

struct PendingPromise<R, E> {
    /// The work and its waker; `None` while it is polled and after it has settled.
    work: Option<(PromiseWork<R, E>, HandlerWaker)>,
    /// Receives the delivery; `None` for a timer or a callback.
    share: Option<Arc<dyn DeliverOutcome>>,
    /// Whether it counts as pending. A timer does not.
    is_ask: bool,
}

struct PromiseTableState<R, E> {
    promises: Table<PendingPromise<R, E>>,
    pending: usize,
    /// Outcomes that have settled, in order, and are not sorted into the classes yet.
    settled: Vec<(TableKey, Settled<R, E>)>,
}

/// All promises and timers of a state actor.
pub(crate) struct PromiseTable<R, E> {
    /// The state actor.
    actor: Pid,
    state: Mutex<PromiseTableState<R, E>>,
    /// How many promises and timers there are. Written under the lock, as the next.
    count: AtomicUsize,
    has_settled: AtomicBool,
}

impl<R, E> PromiseTable<R, E> {
    pub(crate) fn new(actor: Pid) -> Arc<Self> {
        let state =
            PromiseTableState { promises: Table::default(), pending: 0, settled: Vec::new() };
        Arc::new(PromiseTable {
            actor,
            state: Mutex::new(state),
            count: AtomicUsize::new(0),
            has_settled: AtomicBool::new(false),
        })
    }

    /// Records a piece of work and polls it once.
    pub(crate) fn open(
        &self,
        wakers: &Arc<HandlerWakers>,
        share: Option<Arc<dyn DeliverOutcome>>,
        is_ask: bool,
        work: impl FnOnce(TableKey) -> PromiseWork<R, E>,
    ) -> TableKey {
        let key = {
            let mut state = self.state.lock();
            state.pending += usize::from(is_ask);
            let key = state.promises.insert_with(|key| {
                let work = Some((work(key), HandlerWaker::new(wakers, WorkKey::Promise(key))));
                PendingPromise { work, share, is_ask }
            });
            self.count.store(state.promises.len(), Ordering::Release);
            key
        };
        self.poll(key);
        key
    }

    /// Polls the work and records its outcome.
    pub(crate) fn poll(&self, key: TableKey) {
        // The work is a user's and may make requests or run destructors, so the table is
        // not locked.
        let mut state = self.state.lock();
        let Some(mut work) = state.promises.get_mut(key).and_then(|promise| promise.work.take())
        else {
            return;
        };
        drop(state);
        let (future, waker) = (&mut work.0, &work.1);
        waker.still();
        let polled = future.as_mut().poll(&mut Context::from_waker(waker.waker()));
        // The promise may have been withdrawn meanwhile. Then drop the rest of it without
        // the lock.
        let (settled, work) = {
            let mut state = self.state.lock();
            match (polled, state.promises.get_mut(key)) {
                (Poll::Ready(settled), Some(_)) => {
                    state.settled.push((key, settled));
                    self.has_settled.store(true, Ordering::Release);
                    (None, Some(work))
                }
                (Poll::Pending, Some(promise)) => {
                    promise.work = Some(work);
                    (None, None)
                }
                (polled, None) => (Some(polled), Some(work)),
            }
        };
        // This may run inside a handler, which has values of its own to drop.
        let _ = contain(|| drop(settled));
        let _ = contain(|| drop(work));
    }

    /// Takes the outcomes that have settled since the last call.
    pub(crate) fn take_settled(&self) -> Vec<(TableKey, Settled<R, E>)> {
        if !self.has_settled.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut state = self.state.lock();
        self.has_settled.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.settled)
    }

    /// Whether there is no promise and no timer, whose wake-up might be missed.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Removes a settled promise, whose turn has come, and releases the outcome to its
    /// holder. Returns false if the promise was withdrawn.
    pub(crate) fn deliver(&self, key: TableKey) -> bool {
        let Some(promise) = self.remove(key) else { return false };
        if let Some(share) = promise.share {
            share.deliver();
        }
        true
    }

    fn remove(&self, key: TableKey) -> Option<PendingPromise<R, E>> {
        let mut state = self.state.lock();
        let promise = state.promises.remove(key)?;
        self.count.store(state.promises.len(), Ordering::Release);
        state.pending -= usize::from(promise.is_ask);
        Some(promise)
    }

    /// Withdraws a promise or a timer. Returns whether it was open, or settled and not
    /// delivered.
    pub(crate) fn withdraw(&self, key: TableKey) -> bool {
        let Some(promise) = self.remove(key) else { return false };
        let _ = contain(|| drop(promise));
        true
    }

    /// How many asks have been made and not delivered.
    pub(crate) fn pending(&self) -> usize {
        self.state.lock().pending
    }

    /// Abandons all promises and timers. Holders of promises are notified that no outcome
    /// will come.
    pub(crate) fn clear(&self) {
        let (promises, settled) = {
            let mut state = self.state.lock();
            state.pending = 0;
            self.count.store(0, Ordering::Release);
            (state.promises.drain(), std::mem::take(&mut state.settled))
        };
        // Drop one by one: a destructor that panics must not keep the next one from running.
        for promise in promises {
            let _ = contain(|| promise.share.as_ref().map(|share| share.abandon()));
            let _ = contain(|| drop(promise));
        }
        drop_each(settled);
    }
}

/// The table as seen by a promise.
trait Withdraw: Send + Sync {
    fn withdraw(&self, key: TableKey);

    /// The state actor that made the promise.
    fn actor(&self) -> Pid;
}

impl<R: Send, E: Send> Withdraw for PromiseTable<R, E> {
    fn withdraw(&self, key: TableKey) {
        PromiseTable::withdraw(self, key);
    }

    fn actor(&self) -> Pid {
        self.actor
    }
}

/// Stores an outcome until its turn has come.
pub(crate) struct Share<T>(Mutex<PromiseOutcome<T>>);

struct PromiseOutcome<T> {
    value: Option<Result<T, CallError>>,
    delivered: bool,
    waiter: Option<Waker>,
}

impl<T> Share<T> {
    pub(crate) fn new() -> Self {
        Share(Mutex::new(PromiseOutcome { value: None, delivered: false, waiter: None }))
    }

    pub(crate) fn settle(&self, value: Result<T, CallError>) -> PromiseKind {
        let kind = PromiseKind::of(&value);
        self.0.lock().value = Some(value);
        kind
    }
}

/// A stored outcome as seen by the table.
pub(crate) trait DeliverOutcome: Send + Sync {
    /// Releases the outcome: its turn has come.
    fn deliver(&self);
    /// Notifies the holder that no outcome will come.
    fn abandon(&self);
}

impl<T: Send> DeliverOutcome for Share<T> {
    fn deliver(&self) {
        let waiter = {
            let mut outcome = self.0.lock();
            outcome.delivered = true;
            outcome.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    fn abandon(&self) {
        self.deliver();
    }
}

/// A future of an answer, made by [`Scope::call`](crate::Scope::call) and the similar methods.
///
/// Its work has begun when the promise is made. Two promises that are made one after the
/// other, and then awaited, run at the same time. Dropping a promise gives it up: a later
/// answer is dropped and counted (rule C3).
#[must_use = "a promise that is dropped is given up"]
pub struct Promise<T> {
    share: Arc<Share<T>>,
    key: TableKey,
    table: Arc<dyn Withdraw>,
}

impl<T: Send + 'static> Promise<T> {
    /// Records `work` in the table and polls it once.
    pub(crate) fn open<R, E>(
        table: &Arc<PromiseTable<R, E>>,
        wakers: &Arc<HandlerWakers>,
        work: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Self
    where
        R: Send + 'static,
        E: Send + 'static,
    {
        let share = Arc::new(Share::new());
        let place = Arc::clone(&share);
        let told = Arc::clone(&share) as Arc<dyn DeliverOutcome>;
        let key = table.open(wakers, Some(told), true, |_| {
            Box::pin(async move { Settled::Awaited(place.settle(work.await)) })
        });
        Promise { share, key, table: Arc::clone(table) as Arc<dyn Withdraw> }
    }
}

impl<T> Future for Promise<T> {
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A waker may be a user's: clone and drop it while no lock is held.
        let waiter = cx.waker().clone();
        let _before;
        let mut outcome = self.share.0.lock();
        if !outcome.delivered {
            _before = outcome.waiter.replace(waiter);
            return Poll::Pending;
        }
        let gone = || Err(CallError::NoReply { to: self.table.actor() });
        Poll::Ready(outcome.value.take().unwrap_or_else(gone))
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.table.withdraw(self.key);
        // Contained like the drop of the work: the code that drops the promise has values
        // of its own to drop.
        let outcome = self.share.0.lock().value.take();
        let _ = contain(|| drop(outcome));
    }
}

impl<T> fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Promise<{}>({})", std::any::type_name::<T>(), self.key.number())
    }
}

#[cfg(test)]
mod tests;
