//! Processes whose state is not `Send`: all their turns are on one thread.
//!
//! ```text
//!   the process (Send)                 its thread
//!   ┌────────────────────┐  take   ┌────────────────────────┐
//!   │ number of a future │────────►│ table: number ► future │   poll, and put back if pending
//!   └────────────────────┘         └────────────────────────┘
//! ```
//!
//! A process is handed between threads as a value, and what it keeps must be `Send`. The future of a local
//! process is not; so it stays in a table of the thread that made it, and the process has its number. On
//! another thread the number is not in the table: there the future is neither polled nor dropped.

use crate::behavior::Behavior;
use crate::context::Context;
use crate::process::crash::drop_contained;
use krarup_gen::{Reason, Result};
use std::any::type_name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{self, Poll};

/// Makes a behaviour from an async function whose future need not be `Send`: one that keeps an `Rc`, the
/// handle of a library that must stay on its thread, or anything else that no other thread may touch (rule
/// R8).
///
/// The function itself and the messages are `Send`, for they come from elsewhere; what the function makes is not asked.
/// It is called in the first turn of the process, on the thread that has all the others too. Such a process
/// is spawned on a dispatcher that keeps a process on one thread: a pinned one, an executor that
/// [says so][one-thread], or that of a simulation, which one thread drives. Anywhere else the spawn fails with
/// [`SpawnError::ManyThreads`](krarup_gen::SpawnError::ManyThreads).
///
/// ```
/// # use krarup_act::{local_behavior_fn, Context, Received};
/// # use std::cell::RefCell;
/// # use std::rc::Rc;
/// let totals = local_behavior_fn(|mut ctx: Context<u32>| async move {
///     let total = Rc::new(RefCell::new(0));
///     while let Received::Message(count) = ctx.receive().await {
///         let shared = Rc::clone(&total);
///         *shared.borrow_mut() += count;
///     }
///     Ok(())
/// });
/// # let _ = totals;
/// ```
///
/// An executor that breaks its word and runs a turn elsewhere ends the process with an error that says so. What the
/// process kept is then dropped when its thread ends, and so it is if the process itself is dropped on another
/// thread: by an executor that is shut down, or by a node whose time to stop is over.
///
/// [one-thread]: https://docs.rs/krarup/latest/krarup/dispatcher/trait.Executor.html
pub fn local_behavior_fn<M, C, F, R>(run: F) -> LocalBehaviorFn<M, C, F>
where
    M: Send + 'static,
    C: Send + 'static,
    F: FnOnce(Context<M, C>) -> R + Send + 'static,
    R: Future<Output = Result> + 'static,
{
    LocalBehaviorFn { run, types: PhantomData }
}

/// A function as a [`Behavior`] whose turns are on one thread; made by [`local_behavior_fn`].
pub struct LocalBehaviorFn<M, C, F> {
    run: F,
    types: PhantomData<fn(M, C)>,
}

impl<M, C, F> fmt::Debug for LocalBehaviorFn<M, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalBehaviorFn")
    }
}

impl<M, C, F, R> Behavior for LocalBehaviorFn<M, C, F>
where
    M: Send + 'static,
    C: Send + 'static,
    F: FnOnce(Context<M, C>) -> R + Send + 'static,
    R: Future<Output = Result> + 'static,
{
    type Message = M;
    type Command = C;

    const ONE_THREAD: bool = true;

    fn run(self, ctx: Context<M, C>) -> impl Future<Output = Result> + Send {
        LocalRun { unmade: Some((self.run, ctx)), kept: None }
    }

    fn label() -> &'static str {
        type_name::<F>()
    }
}

/// The process: what its future is made of, and then the number of that.
struct LocalRun<M: Send + 'static, C: Send + 'static, F> {
    unmade: Option<(F, Context<M, C>)>,
    kept: Option<KeptFuture>,
}

/// It has no part that is pinned.
impl<M: Send + 'static, C: Send + 'static, F> Unpin for LocalRun<M, C, F> {}

impl<M, C, F, R> Future for LocalRun<M, C, F>
where
    M: Send + 'static,
    C: Send + 'static,
    F: FnOnce(Context<M, C>) -> R,
    R: Future<Output = Result> + 'static,
{
    type Output = Result;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Result> {
        // The first turn: the future is made on the thread of the process.
        if let Some((run, ctx)) = self.unmade.take() {
            self.kept = Some(KeptFuture::new(run(ctx)));
        }
        match &mut self.kept {
            Some(kept) => Pin::new(kept).poll(cx),
            // Its making has panicked. It is not polled after that.
            None => Poll::Pending,
        }
    }
}

type LocalFuture = Pin<Box<dyn Future<Output = Result>>>;

/// The futures of the local processes of a thread, by their numbers.
#[derive(Default)]
struct LocalFutures(RefCell<BTreeMap<u64, LocalFuture>>);

/// The thread ends, and drops what was left here. A destructor that panics would abort the program.
impl Drop for LocalFutures {
    fn drop(&mut self) {
        self.0.take().into_values().for_each(drop_contained);
    }
}

thread_local! {
    static FUTURES: LocalFutures = LocalFutures::default();
}

/// The number of the next future of any thread.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A turn of a local process ran on another thread than the first.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a turn of a local process was not on the thread of its first turn")]
struct OtherThread;

/// A future that stays with its thread.
struct KeptFuture(u64);

impl KeptFuture {
    fn new(future: impl Future<Output = Result> + 'static) -> Self {
        let kept = KeptFuture(NEXT.fetch_add(1, Ordering::Relaxed));
        kept.put(Box::pin(future));
        kept
    }

    fn put(&self, future: LocalFuture) {
        // Without the table the thread is ending, and the future is dropped here.
        let _ = FUTURES.try_with(|futures| futures.0.borrow_mut().insert(self.0, future));
    }

    /// Returns the future if this is its thread. The table is not borrowed while user code runs.
    fn take(&self) -> Option<LocalFuture> {
        FUTURES.try_with(|futures| futures.0.borrow_mut().remove(&self.0)).ok().flatten()
    }
}

impl Future for KeptFuture {
    type Output = Result;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Result> {
        let Some(future) = self.take() else {
            return Poll::Ready(Err(Reason::error(OtherThread)));
        };
        // If it panics it is put back, and dropped with the process: contained, and not while the stack unwinds.
        let mut polled = PolledFuture { kept: &self, future: Some(future) };
        let outcome = polled.future.as_mut().map_or(Poll::Pending, |it| it.as_mut().poll(cx));
        if outcome.is_ready() {
            drop(polled.future.take());
        }
        outcome
    }
}

/// A future that is out of the table for a poll.
struct PolledFuture<'a> {
    kept: &'a KeptFuture,
    future: Option<LocalFuture>,
}

impl Drop for PolledFuture<'_> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            self.kept.put(future);
        }
    }
}

/// On another thread the future is left where it is, and dropped when that thread ends.
impl Drop for KeptFuture {
    fn drop(&mut self) {
        drop(self.take());
    }
}
