//! Several tasks at once: a builder.

use super::outcome::TaskResult;
use super::results::{AllResults, TaskResults};
use super::spawn_task::{TaskPlan, task_options};
use crate::calls::pending::wait;
use crate::context::Context;
use crate::host::host::Host;
use crate::host::shared_host::SharedHost;
use crate::lifecycle::spawn::{Inside, Outside};
use crate::process::crash::drop_one_by_one;
use crate::process::current;
use krarup_gen::{CannotWait, Class, Reason, TaskError};
use std::fmt;
use std::marker::PhantomData;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

/// How many tasks run at once, unless [`SpawnTasks::at_once`] says otherwise.
const AT_ONCE: usize = 8;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Runs a future of each input as a task of this process, some of them at once: Elixir's
    /// `async_stream`. Await the returned builder for all results, in the order of the inputs.
    ///
    /// ```
    /// # use krarup_act::Context;
    /// # use krarup_gen::{Result, TaskError};
    /// # async fn fetch(url: String) -> Vec<u8> { url.into_bytes() }
    /// async fn fetch_all(ctx: &mut Context<()>, urls: Vec<String>) -> Result {
    ///     let pages: Vec<Result<Vec<u8>, TaskError>> =
    ///         ctx.tasks(urls.into_iter().map(fetch)).at_once(8).await;
    ///     # drop(pages);
    ///     Ok(())
    /// }
    /// # let _ = fetch_all;
    /// ```
    pub fn tasks<I>(&self, futures: I) -> SpawnTasks<I::IntoIter>
    where
        I: IntoIterator<Item: Future<Output: Send + 'static> + Send + 'static>,
    {
        SpawnTasks::new(futures.into_iter(), self.task_plan())
    }
}

/// Tasks that have not been started; made by [`Context::tasks`] and `Node::tasks`.
///
/// Each option holds for each task. The iterator is asked for the next future only when there is
/// a place for its task (rule J6).
#[must_use = "tasks do not run until they are awaited"]
pub struct SpawnTasks<I, P = Inside> {
    futures: I,
    plan: TaskPlan,
    at_once: usize,
    keep: usize,
    kind: PhantomData<fn() -> P>,
}

impl<I, P> SpawnTasks<I, P> {
    fn new(futures: I, plan: TaskPlan) -> Self {
        SpawnTasks { futures, plan, at_once: AT_ONCE, keep: usize::MAX, kind: PhantomData }
    }

    /// Sets how many tasks run at once, by default 8; zero is taken as 1. A task holds its place until
    /// its process has ended.
    pub fn at_once(mut self, tasks: usize) -> Self {
        self.at_once = tasks.max(1);
        self
    }

    /// Sets how many results are kept at most that are not in turn yet, because an earlier task
    /// still runs; unbounded by default. No more tasks are begun than can be kept. With zero, one task
    /// runs at a time.
    pub fn keep(mut self, results: usize) -> Self {
        self.keep = results;
        self
    }

    task_options!();
}

impl<I> SpawnTasks<I, Outside> {
    /// Makes tasks whose owner is the node. For hosts; users have `Node::tasks`.
    pub fn outside(host: Arc<dyn Host>, futures: I) -> Self {
        SpawnTasks::new(futures, TaskPlan::new(SharedHost::of(host), None))
    }
}

impl<I> SpawnTasks<I, Inside> {
    /// Links each task to its owner (rule J4), as [`SpawnTask::linked`](crate::SpawnTask::linked)
    /// does.
    pub fn linked(mut self) -> Self {
        self.plan.linked = true;
        self
    }
}

impl<I, P> SpawnTasks<I, P>
where
    I: Iterator<Item: Future<Output: Send + 'static> + Send + 'static>,
{
    /// Returns the results one by one, each with the index of its input, as the tasks are done
    /// (rule J7). What still runs when the returned value is dropped is ended.
    pub fn as_they_come(self) -> TaskResults<I> {
        TaskResults::new(self.futures, self.plan, self.at_once, usize::MAX)
    }

    /// Runs the tasks, and waits for all of them on a plain thread.
    ///
    /// # Errors
    /// Why this thread cannot wait.
    pub fn wait(self) -> Result<ResultsOf<I>, CannotWait>
    where
        I: Send,
    {
        if current::pid().is_some() {
            return Err(CannotWait::InProcess);
        }
        let host = Arc::clone(&self.plan.shared.host);
        wait(&*host, self.into_future())
    }
}

impl<I, P, T, E> SpawnTasks<I, P>
where
    I: Iterator<Item: Future<Output = Result<T, E>> + Send + 'static>,
    T: Send + 'static,
    E: Into<Reason> + Send + 'static,
{
    /// Waits until all futures have returned their values, which come in the order of the
    /// inputs. At the first error, of a task or returned by a future, it ends the tasks that
    /// still run, and waits for their end (rule J7).
    ///
    /// # Errors
    /// The first one; an error that a future has returned is a [`TaskError::Failed`].
    pub async fn all_or_first_error(self) -> Result<Vec<T>, TaskError> {
        let mut results = self.as_they_come();
        let mut values = Values(Vec::new());
        while let Some((index, result)) = results.next().await {
            match result.map(|returned| returned.map_err(Into::into)) {
                Ok(Ok(value)) => values.0.push((index, value)),
                Ok(Err(reason)) => {
                    results.end().await;
                    return Err(TaskError::Failed(reason));
                }
                Err(error) => {
                    results.end().await;
                    return Err(error);
                }
            }
        }
        let mut values = take(&mut values.0);
        values.sort_by_key(|(index, _)| *index);
        Ok(values.into_iter().map(|(_, value)| value).collect())
    }
}

/// The values of tasks that are done, by the index of their inputs; dropped one by one (rule D4).
struct Values<T>(Vec<(usize, T)>);

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        drop_one_by_one(take(&mut self.0));
    }
}

impl<I, P> IntoFuture for SpawnTasks<I, P>
where
    I: Iterator<Item: Future<Output: Send + 'static> + Send + 'static>,
{
    type Output = ResultsOf<I>;
    type IntoFuture = AllResults<I>;

    fn into_future(self) -> AllResults<I> {
        AllResults::new(TaskResults::new(self.futures, self.plan, self.at_once, self.keep))
    }
}

/// The results of the tasks of these futures.
type ResultsOf<I> = Vec<TaskResult<<<I as Iterator>::Item as Future>::Output>>;

impl<I, P> fmt::Debug for SpawnTasks<I, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnTasks")
            .field("plan", &self.plan)
            .field("at_once", &self.at_once)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}
