//! A process that collects items into batches: its settings.

use super::collecting::Collecting;
use super::item::{BatchItem, BatcherCommand};
use super::plan::BatchLimits;
use krarup_act::{Behavior, Context};
use krarup_gen::{Reason, Result, WorkOutcome};
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The defaults: see the methods.
const SIZE: usize = 100;
const AFTER: Duration = Duration::from_millis(100);
const SHUTDOWN: Duration = Duration::from_secs(5);

/// A process that collects items and handles them together: for sinks that want hundreds at once.
///
/// A batch goes when it has [`size`](Batcher::size) items, or some time
/// [`after`](Batcher::after) its first came (rule U1). It runs as a task of the batcher, some of
/// them [`at_once`](Batcher::at_once), of one key one at a time (U3). Items in batches, open or
/// under way, count towards the bound of the mailbox (U2): with `.mailbox(n)` at the spawn, `n` is
/// the most that a batcher has, and `send_or_wait` slows its senders down. An overflow that drops
/// the oldest message cannot reach items in batches: when all are, the sender has its item back.
///
/// An item is sent, or called to hear what became of it (U4): see [`BatchItem`]. A batch fails if
/// its future returns an error or panics; the calls of its items fail with the reason, and all
/// others go on. [`drain`](crate::BatcherCalls::drain) waits for what was sent before, and so
/// does a stop (U5).
///
/// ```
/// # mod krarup { pub use {krarup_gen::*, krarup_node as testing, krarup_state as batches}; }
/// use krarup::Result;
/// use krarup::batches::{Batcher, BatcherCalls};
/// use krarup::testing::Simulation;
/// use std::time::Duration;
///
/// struct Row { table: &'static str, text: &'static str }
///
/// async fn insert(rows: Vec<Row>) -> Result {
///     println!("{} rows into {}", rows.len(), rows[0].table);
///     # let _ = rows[0].text;
///     Ok(())
/// }
///
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let sink = || Batcher::new(insert).size(500).after(Duration::from_millis(200)).by(|row| row.table);
/// let sink = node.spawn(sink).mailbox(10_000).wait()?;
/// sink.send_or_wait(Row { table: "logs", text: "started" }.into())
///     .wait()
///     .map_err(|error| error.without_message())?;
/// sink.call(|done| (Row { table: "users", text: "Ada" }, done).into()).wait()?;
/// sink.drain().wait()?;
/// # Ok(())
/// # }
/// ```
pub struct Batcher<T, K, F, B> {
    work: F,
    key: B,
    limits: BatchLimits,
    shutdown: Duration,
    types: PhantomData<fn(T) -> K>,
}

/// A batcher cannot work with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatcherError {
    /// A batch would have no items.
    #[error("batches have 0 items: there must be at least 1")]
    ZeroSize,
    /// No batch could run.
    #[error("0 batches run at once: it must be at least 1")]
    ZeroAtOnce,
}

impl<T, F, R> Batcher<T, (), F, fn(&T)>
where
    T: Send + 'static,
    F: Fn(Vec<T>) -> R + Send + Sync + 'static,
    R: Future<Output: WorkOutcome> + Send + 'static,
{
    /// Makes a batcher whose batches are handled by this function. It and its future run in the
    /// task of the batch.
    #[must_use]
    pub fn new(work: F) -> Self {
        let limits = BatchLimits { size: SIZE, after: AFTER, at_once: 1 };
        Batcher { work, key: |_| (), limits, shutdown: SHUTDOWN, types: PhantomData }
    }
}

impl<T, K, F, B> Batcher<T, K, F, B> {
    /// Sets how many items a batch has at most; by default 100. Zero fails the spawn with
    /// [`BatcherError::ZeroSize`].
    #[must_use]
    pub fn size(mut self, items: usize) -> Self {
        self.limits.size = items;
        self
    }

    /// Sets how long after its first item a batch goes that is not full; by default 100 ms.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.limits.after = time;
        self
    }

    /// Sets how many batches run at the same time; by default 1. Zero fails the spawn with
    /// [`BatcherError::ZeroAtOnce`].
    #[must_use]
    pub fn at_once(mut self, batches: usize) -> Self {
        self.limits.at_once = batches;
        self
    }

    /// Sets how long a stop waits for the items that were sent before; by default 5 s. Then the
    /// batches under way are ended, and the other items are dead letters. A supervisor must give
    /// its child at least as long.
    #[must_use]
    pub fn shutdown(mut self, time: Duration) -> Self {
        self.shutdown = time;
        self
    }

    /// Has items of different keys in different batches. The function runs in a turn of the
    /// batcher; a panic in it ends the batcher.
    #[must_use]
    pub fn by<K2, B2>(self, key: B2) -> Batcher<T, K2, F, B2>
    where
        B2: FnMut(&T) -> K2 + Send + 'static,
        K2: Ord + Clone + Send + 'static,
    {
        let Batcher { work, limits, shutdown, .. } = self;
        Batcher { work, key, limits, shutdown, types: PhantomData }
    }
}

impl<T, K, F, R, B> Behavior for Batcher<T, K, F, B>
where
    T: Send + 'static,
    K: Ord + Clone + Send + 'static,
    F: Fn(Vec<T>) -> R + Send + Sync + 'static,
    R: Future<Output: WorkOutcome> + Send + 'static,
    B: FnMut(&T) -> K + Send + 'static,
{
    type Message = BatchItem<T>;
    type Command = BatcherCommand;

    async fn run(self, mut ctx: Context<BatchItem<T>, BatcherCommand>) -> Result {
        let Batcher { work, key, limits, shutdown, .. } = self;
        if limits.size == 0 {
            return Err(BatcherError::ZeroSize.into());
        }
        if limits.at_once == 0 {
            return Err(BatcherError::ZeroAtOnce.into());
        }
        ctx.stop_in_order();
        ctx.initialised();
        let mut collecting = Collecting::new(ctx, Arc::new(work), key, limits, shutdown);
        let reason = poll_fn(|cx| collecting.poll(cx)).await;
        match reason {
            Reason::Normal => Ok(()),
            reason => Err(reason),
        }
    }

    fn label() -> &'static str {
        std::any::type_name::<F>()
    }
}

impl<T, K, F, B> fmt::Debug for Batcher<T, K, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").field("limits", &self.limits).finish_non_exhaustive()
    }
}
