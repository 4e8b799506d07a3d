//! `task`: what a task costs beside a process that is spawned for one message (rule J1).

use super::share;
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::{Measurement, as_f64};
use crate::message::BenchMessage;
use crate::peers::start;
use krarup::{Actor, Context, Node, Reason, Result, Watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often each way is measured; the best counts.
const ROUNDS: usize = 5;
/// How many tasks run at once.
const AT_ONCE: usize = 8;

/// Begins its work at the first message, and signals when it is done.
struct TaskOwner<W> {
    work: W,
    latch: Latch,
}

/// What an [`TaskOwner`] does.
trait OwnersWork: Send + 'static {
    fn run(&mut self, ctx: &mut Context<BenchMessage>) -> impl Future<Output = Result> + Send;
}

impl<W: OwnersWork> Actor for TaskOwner<W> {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        self.work.run(ctx).await?;
        self.latch.count_down();
        Ok(())
    }
}

/// Spawns a process, sends it a message, and waits for its end, again and again.
struct SpawnsAndWatches(u64);

/// Stops on its first message.
struct StopsAtOnce;

impl Actor for StopsAtOnce {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        ctx.stop();
        Ok(())
    }
}

impl OwnersWork for SpawnsAndWatches {
    async fn run(&mut self, ctx: &mut Context<BenchMessage>) -> Result {
        for _ in 0..self.0 {
            let child = ctx.spawn(|| StopsAtOnce).start()?;
            let end: Watch = ctx.watch(child.pid());
            child.send(BenchMessage::Start)?;
            end.await;
        }
        Ok(())
    }
}

/// Awaits a task, again and again.
struct AwaitsTasks(u64);

impl OwnersWork for AwaitsTasks {
    async fn run(&mut self, ctx: &mut Context<BenchMessage>) -> Result {
        for number in 0..self.0 {
            if ctx.task(async move { number + 1 }).await? != number + 1 {
                return Err(Reason::error("a task gave another's value"));
            }
        }
        Ok(())
    }
}

/// Awaits tasks some at once, and counts the processes of the node meanwhile.
struct AwaitsMany {
    tasks: u64,
    most: Arc<AtomicU64>,
}

impl OwnersWork for AwaitsMany {
    async fn run(&mut self, ctx: &mut Context<BenchMessage>) -> Result {
        let (view, most) = (ctx.view(), Arc::clone(&self.most));
        let futures = (0..self.tasks).map(|number| {
            if number % 1024 == 0 {
                let processes = view.stats().map_or(0, |stats| stats.processes as u64);
                most.fetch_max(processes, Ordering::Relaxed);
            }
            async move { number }
        });
        let mut results = ctx.tasks(futures).at_once(AT_ONCE).as_they_come();
        while let Some((_, result)) = results.next().await {
            result?;
        }
        Ok(())
    }
}

fn took<W: OwnersWork>(node: &Node, work: W) -> Result<Duration, WorkloadFailure> {
    let latch = Latch::new(1);
    let owner = TaskOwner { work, latch: latch.clone() };
    let owner = node.spawn(move || owner).start()?;
    let took = latch.time(|| start([&owner]))?;
    owner.stop().wait().map_err(|_| WorkloadFailure::Ended)?;
    Ok(took)
}

/// Measures `size` tasks each way. The figure of `tasks-processes` is the most processes of tasks
/// that were seen.
pub(super) fn run(node: &Node, size: u64) -> Result<Vec<Measurement>, WorkloadFailure> {
    share(size, AT_ONCE)?;
    let (mut spawned, mut awaited) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        spawned = spawned.min(took(node, SpawnsAndWatches(size))?);
        awaited = awaited.min(took(node, AwaitsTasks(size))?);
    }
    let most = Arc::new(AtomicU64::new(0));
    // The owner is a process too.
    let many = took(node, AwaitsMany { tasks: size, most: Arc::clone(&most) })?;
    let most = most.load(Ordering::Relaxed).saturating_sub(1);
    Ok(vec![
        Measurement::of("spawn-watch", size, spawned),
        Measurement::of("task", size, awaited),
        Measurement::of("tasks", size, many),
        Measurement::with_figure("tasks-processes", size, many, as_f64(most)),
    ])
}
