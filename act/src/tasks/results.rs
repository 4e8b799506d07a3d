//! The results of several tasks, one by one.
//!
//! ```text
//!   inputs ──► running, at most n ──► done: (index, result) ──► next(), or kept until in turn
//! ```
//!
//! Each task puts its result into one queue and wakes its owner, so a result costs the same
//! whatever the number of tasks.

use super::outcome::{TaskResult, WhyEnded};
use super::spawn_task::TaskPlan;
use super::task::task_error;
use crate::calls::reply::Reply;
use crate::host::delegate::UnusedPid;
use crate::host::host::Host;
use crate::process::asked_to_end::ask_to_end;
use crate::process::crash::drop_one_by_one;
use crate::process::current;
use crate::sync::Mutex;
use krarup_gen::{CallError, Pid};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The results of tasks, each as its task is done; made by
/// [`SpawnTasks::as_they_come`](crate::SpawnTasks::as_they_come). Tasks that still run when it is
/// dropped are ended.
#[must_use = "no task is begun until the next result is awaited"]
pub struct TaskResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static>>,
{
    /// `None` when it has no more futures.
    futures: Option<I>,
    plan: TaskPlan,
    at_once: usize,
    keep: usize,
    /// The index of the next future.
    next: usize,
    running: RunningTasks,
    done: Arc<DoneQueue<<I::Item as Future>::Output>>,
}

// Nothing in it is pinned: a future goes to its task when it comes from the iterator.
impl<I> Unpin for TaskResults<I> where I: Iterator<Item: Future<Output: Send + 'static>> {}

type IndexedResult<T> = (usize, TaskResult<T>);

impl<I> TaskResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static> + Send + 'static>,
{
    pub(super) fn new(futures: I, plan: TaskPlan, at_once: usize, keep: usize) -> Self {
        let owner = plan.owner().unwrap_or_else(|| plan.shared.host.node_pid());
        let running =
            RunningTasks { host: Arc::clone(&plan.shared.host), owner, tasks: BTreeMap::new() };
        let done =
            Arc::new(DoneQueue(Mutex::new(DoneResults { results: VecDeque::new(), waker: None })));
        TaskResults { futures: Some(futures), plan, at_once, keep, next: 0, running, done }
    }

    /// Waits for the next task that is done. Returns the index of its input, and its result;
    /// `None` after the last one.
    pub async fn next(&mut self) -> Option<IndexedResult<<I::Item as Future>::Output>> {
        poll_fn(|cx| self.poll_next(cx, 0)).await
    }

    /// Ends the tasks that run, begins no more, and waits for their end.
    pub async fn end(mut self) {
        self.futures = None;
        self.running.ask_to_end();
        while self.next().await.is_some() {}
    }

    /// Polls for the next result, while this many wait for their turn.
    fn poll_next(
        &mut self,
        cx: &Context<'_>,
        kept: usize,
    ) -> Poll<Option<IndexedResult<<I::Item as Future>::Output>>> {
        loop {
            if let Some(failed) = self.fill(kept) {
                return Poll::Ready(Some(failed));
            }
            if self.running.tasks.is_empty() {
                return Poll::Ready(None);
            }
            match self.done.poll(cx) {
                Poll::Ready((index, result)) => {
                    // The answer of a task that could not be started was given before.
                    if self.running.tasks.remove(&index).is_some() {
                        return Poll::Ready(Some((index, result)));
                    }
                }
                Poll::Pending => {
                    current::note_other_wait();
                    return Poll::Pending;
                }
            }
        }
    }

    /// Begins tasks while there are places. Returns the result of a task that cannot be started.
    fn fill(&mut self, kept: usize) -> Option<IndexedResult<<I::Item as Future>::Output>> {
        let places = |running: usize| running < self.at_once && running + kept <= self.keep;
        while places(self.running.tasks.len()) {
            let Some(future) = self.futures.as_mut()?.next() else {
                self.futures = None;
                return None;
            };
            let index = self.next;
            self.next += 1;
            let unused = UnusedPid::new(&*self.plan.shared.host);
            let done = Arc::clone(&self.done);
            let reply = Reply::to(unused.pid(), move |answer| done.put(index, answer));
            match self.plan.clone().launch(unused, future, reply) {
                Ok(task) => drop(self.running.tasks.insert(index, task)),
                Err(error) => return Some((index, Err(error.into()))),
            }
        }
        None
    }
}

impl<I> fmt::Debug for TaskResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskResults")
            .field("begun", &self.next)
            .field("running", &self.running.tasks.len())
            .finish_non_exhaustive()
    }
}

/// All results of several tasks, in the order of their inputs; awaiting
/// [`SpawnTasks`](crate::SpawnTasks) makes it.
#[must_use = "futures do nothing unless polled"]
pub struct AllResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static>>,
{
    tasks: TaskResults<I>,
    in_order: Vec<TaskResult<<I::Item as Future>::Output>>,
    /// Results that are not in turn yet, by their index.
    kept: BTreeMap<usize, TaskResult<<I::Item as Future>::Output>>,
}

/// The results of users are dropped one by one (rule D4).
impl<I> Drop for AllResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static>>,
{
    fn drop(&mut self) {
        let kept = take(&mut self.kept).into_values();
        drop_one_by_one(take(&mut self.in_order).into_iter().chain(kept));
    }
}

impl<I> Unpin for AllResults<I> where I: Iterator<Item: Future<Output: Send + 'static>> {}

impl<I> AllResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static>>,
{
    pub(super) fn new(tasks: TaskResults<I>) -> Self {
        AllResults { tasks, in_order: Vec::new(), kept: BTreeMap::new() }
    }
}

impl<I> Future for AllResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static> + Send + 'static>,
{
    type Output = Vec<TaskResult<<I::Item as Future>::Output>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            match this.tasks.poll_next(cx, this.kept.len()) {
                Poll::Ready(Some((index, result))) => {
                    this.kept.insert(index, result);
                    while let Some(result) = this.kept.remove(&this.in_order.len()) {
                        this.in_order.push(result);
                    }
                }
                Poll::Ready(None) => return Poll::Ready(take(&mut this.in_order)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<I> fmt::Debug for AllResults<I>
where
    I: Iterator<Item: Future<Output: Send + 'static>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllResults")
            .field("done", &self.in_order.len())
            .field("kept", &self.kept.len())
            .finish_non_exhaustive()
    }
}

/// The tasks that run, by the index of their inputs. They are ended when it is dropped.
struct RunningTasks {
    host: Arc<dyn Host>,
    owner: Pid,
    tasks: BTreeMap<usize, (Pid, Option<Arc<WhyEnded>>)>,
}

impl RunningTasks {
    fn ask_to_end(&self) {
        for (task, why) in self.tasks.values() {
            if let Some(why) = why {
                why.by_owner();
            }
            ask_to_end(&*self.host, self.owner, *task);
        }
    }
}

impl Drop for RunningTasks {
    fn drop(&mut self) {
        self.ask_to_end();
    }
}

/// The results that their owner has not taken, and its waker.
struct DoneQueue<T>(Mutex<DoneResults<T>>);

struct DoneResults<T> {
    results: VecDeque<IndexedResult<T>>,
    waker: Option<Waker>,
}

impl<T> Drop for DoneQueue<T> {
    fn drop(&mut self) {
        let results = take(&mut self.0.lock().results);
        drop_one_by_one(results);
    }
}

impl<T> DoneQueue<T> {
    /// Puts a result. Runs in the last turn of its task.
    fn put(&self, index: usize, answer: Result<TaskResult<T>, CallError>) {
        let result = answer.unwrap_or_else(|error| Err(task_error(error)));
        let waker = {
            let mut done = self.0.lock();
            done.results.push_back((index, result));
            done.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<IndexedResult<T>> {
        let first = self.0.lock().results.pop_front();
        if let Some(result) = first {
            return Poll::Ready(result);
        }
        // A waker may be user code: it is cloned and dropped outside the lock.
        let waker = cx.waker().clone();
        let mut done = self.0.lock();
        let first = done.results.pop_front();
        let before = if first.is_none() { done.waker.replace(waker) } else { None };
        drop(done);
        drop(before);
        first.map_or(Poll::Pending, Poll::Ready)
    }
}
