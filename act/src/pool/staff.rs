//! The workers of a pool, as its process keeps them: started, replaced, let go, looked after.

use super::behavior::Hands;
use super::command::{PoolCommand, Resized};
use super::desk::{Latencies, Office};
use super::elastic::{Change, Load, Plan};
use super::handing::Entrance;
use super::intake::{Intake, Rules};
use super::rate::Bucket;
use super::ring::Gate;
use super::routing::Routing;
use super::settings::{PoolError, Settings};
use super::statistics::{PoolStatistics, inspected};
use crate::address::Address;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::deadline::within;
use crate::job::Mark;
use crate::mailbox::overflow::Overflow;
use crate::monitor::watch;
use crate::reply::Reply;
use krarup_gen::{
    CallError, Inspection, Pid, Reason, RestartWindow, Result, SpawnError, Target, Timestamp,
};
use parking_lot::Mutex;
use std::any::type_name;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a worker may take to initialise before it is killed and tried again.
const INIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the workers may take to end with their pool before they are killed.
const SHUTDOWN: Duration = Duration::from_secs(5);

pub(super) struct Staff<B: Behavior, R>
where
    R: Routing<B::Message>,
{
    factory: Arc<dyn Fn() -> B + Send + Sync>,
    settings: Settings<B::Message>,
    intake: Arc<Intake<B::Message, B::Command, R>>,
    office: Option<Arc<Office<B::Message>>>,
    /// The first workers have been started.
    open: bool,
    /// Workers that were removed, or given up, and have not ended yet.
    leaving: BTreeMap<Pid, Address<B::Message, B::Command>>,
    /// Workers that died and have not been replaced: their places in the ring.
    missing: Vec<Pid>,
    /// When the missing ones are tried again, and how long it was put off.
    retry: Option<(Timestamp, Duration)>,
    window: Option<RestartWindow>,
    plan: Option<Plan>,
    /// When the workers are next looked at for one that is stuck.
    look: Option<Timestamp>,
    report: Option<Timestamp>,
    restarts: u64,
    stuck: u64,
}

/// However the pool ends, its route ends with it: then a send is `NoProcess`.
impl<B: Behavior, R: Routing<B::Message>> Drop for Staff<B, R> {
    fn drop(&mut self) {
        drop(self.intake.close());
    }
}

impl<B: Behavior, R: Routing<B::Message>> Staff<B, R> {
    pub(super) fn new<C: Send + 'static>(
        ctx: &Context<B::Message, PoolCommand<C>>,
        factory: Arc<dyn Fn() -> B + Send + Sync>,
        routing: R,
        mut settings: Settings<B::Message>,
    ) -> Self {
        let office = settings.watches().then(|| {
            Arc::new(Office {
                pool: ctx.pid(),
                latencies: settings.measured.then(Latencies::new),
                on_discard: settings.on_discard.take(),
                expired: AtomicU64::new(0),
                lost: AtomicU64::new(0),
                crashed: AtomicU64::new(0),
            })
        });
        let rules = Rules {
            overflow: std::mem::replace(&mut settings.overflow, Overflow::Refuse),
            bucket: settings.rate.map(Bucket::new),
            time_to_live: settings.time_to_live.take(),
            moves: settings.elastic.is_some(),
            office: office.clone(),
        };
        let now = ctx.now();
        Staff {
            intake: Intake::new(ctx.pid(), ctx.host(), routing, rules),
            office,
            open: false,
            leaving: BTreeMap::new(),
            missing: Vec::new(),
            retry: None,
            window: settings.intensity.map(|(most, period)| RestartWindow::new(most, period)),
            plan: settings.elastic.map(|elastic| Plan::new(elastic, now)),
            look: settings.stuck.map(|limit| now + limit),
            report: settings.report.map(|period| now + period),
            restarts: 0,
            stuck: 0,
            factory,
            settings,
        }
    }

    /// The route to the workers.
    pub(super) fn entrance(&self) -> Entrance<B::Message, B::Command, R> {
        Entrance(Arc::clone(&self.intake))
    }

    /// Starts the first workers.
    pub(super) async fn start_all<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) -> Result<(), SpawnError> {
        for _ in 0..self.settings.size {
            let worker = self.start(ctx).await?;
            self.intake.add(&worker);
        }
        self.open = true;
        Ok(())
    }

    async fn start<C: Send + 'static>(
        &self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) -> Result<Address<B::Message, B::Command>, SpawnError> {
        let factory = Arc::clone(&self.factory);
        let mut spawn = ctx.spawn(move || factory()).link_urgent().init_timeout(INIT_TIMEOUT);
        if self.settings.elastic.is_some() {
            spawn = spawn.singly();
        }
        match self.settings.mailbox {
            Some(messages) => spawn.mailbox(messages).await,
            None => spawn.await,
        }
    }

    pub(super) async fn add<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        count: usize,
    ) -> Resized {
        let mut changed = 0;
        while self.open
            && changed < count
            && let Ok(worker) = self.start(ctx).await
        {
            self.intake.add(&worker);
            changed += 1;
        }
        Resized { size: self.intake.size(), changed }
    }

    /// Lets workers go: out of the rotation at once, and each ends when it has handled
    /// what it had accepted. Places whose worker is missing go first.
    pub(super) fn remove(&mut self, count: usize) -> Resized {
        let vacant = count.min(self.missing.len());
        for place in self.missing.split_off(self.missing.len() - vacant) {
            self.intake.remove(place);
        }
        let leaving = self.intake.take(count - vacant);
        let changed = vacant + leaving.len();
        for worker in leaving {
            worker.finish();
            self.leaving.insert(worker.pid(), worker);
        }
        Resized { size: self.intake.size(), changed }
    }

    pub(super) fn pids(&self) -> Vec<Pid> {
        self.intake.workers().iter().map(|worker| worker.address.pid()).collect()
    }

    /// Whether nobody is left to wait for, when all were let go.
    pub(super) fn has_left(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Whether this is one of those that were let go; it is not any more.
    pub(super) fn was_leaving(&mut self, pid: Pid) -> bool {
        self.leaving.remove(&pid).is_some()
    }

    pub(super) fn has(&self, pid: Pid) -> bool {
        self.intake.has(pid)
    }

    /// Takes nothing new; whoever asked is told when what there was is done.
    pub(super) fn drain(&mut self, told: Option<Reply<()>>) {
        let intake = Arc::downgrade(&self.intake);
        let closed = move || intake.upgrade().is_none_or(|intake| intake.gate() == Gate::Closed);
        let mark: Mark = Arc::new(Drained { told: Mutex::new(told), closed: Box::new(closed) });
        self.intake.drain(&mark);
        self.leaving.values().for_each(|worker| worker.mark(&mark));
    }

    pub(super) fn reopen(&mut self) -> bool {
        self.intake.open()
    }

    /// A worker has died: its place is to be filled.
    pub(super) fn miss(&mut self, pid: Pid) {
        self.missing.push(pid);
    }

    /// Starts replacements for the missing workers, each in its place in the rotation. One
    /// that fails is tried again later (rule P4): its place is kept. The reason with which
    /// the pool ends, if there were too many.
    pub(super) async fn replace_missing<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) -> Option<Reason> {
        while let Some(dead) = self.missing.first().copied() {
            if let (Some(window), Some((replacements, period))) =
                (&mut self.window, self.settings.intensity)
                && !window.record(ctx.now())
            {
                let error = PoolError::TooManyReplacements { replacements, period };
                tracing::error!(target: "krarup", pool = %ctx.pid(), %error, "a pool gives up");
                return Some(error.into());
            }
            match self.start(ctx).await {
                Ok(worker) => {
                    self.intake.replace(dead, &worker);
                    self.missing.remove(0);
                    self.restarts += 1;
                    self.retry = None;
                }
                Err(error) => {
                    let (first, most) = self.settings.back_off;
                    let delay = self.retry.map_or(first, |(_, before)| (before * 2).min(most));
                    tracing::warn!(
                        target: "krarup", pool = %ctx.pid(), %error, ?delay,
                        "cannot replace a dead worker; trying again"
                    );
                    self.retry = Some((ctx.now() + delay, delay));
                    return None;
                }
            }
        }
        self.retry = None;
        None
    }

    // ---- What comes with time.

    /// When there is next something to do.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let plan = self.plan.as_ref().map(|plan| plan.due);
        let retry = self.retry.map(|(due, _)| due);
        [retry, plan, self.look, self.report].into_iter().flatten().min()
    }

    /// Does what is due; the reason with which the pool ends, if it does.
    pub(super) async fn do_what_is_due<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) -> Option<Reason> {
        let now = ctx.now();
        let due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if due(self.look) {
            self.give_up_stuck(ctx);
        }
        if due(self.report) {
            self.report = self.settings.report.map(|period| now + period);
            self.tell_numbers(ctx.pid());
        }
        if due(self.plan.as_ref().map(|plan| plan.due)) {
            self.adapt(ctx).await;
        }
        let retries = self.retry.is_none() || due(self.retry.map(|(due, _)| due));
        if retries { self.replace_missing(ctx).await } else { None }
    }

    /// Gives up the workers that have had one job for too long. Looks again when the next one
    /// can be due: so none is given up late.
    fn give_up_stuck<C: Send + 'static>(&mut self, ctx: &Context<B::Message, PoolCommand<C>>) {
        let Some(limit) = self.settings.stuck else { return };
        let now = ctx.now();
        let mut next = now + limit;
        for worker in self.intake.workers() {
            let Some(since) = worker.desk.as_ref().and_then(|desk| desk.busy_since()) else {
                continue;
            };
            if since + limit > now {
                next = next.min(since + limit);
                continue;
            }
            let pid = worker.address.pid();
            tracing::warn!(
                target: "krarup", pool = %ctx.pid(), worker = %pid, ?limit,
                "replacing a worker that is stuck"
            );
            self.stuck += 1;
            self.intake.vacate(pid);
            self.leaving.insert(pid, worker.address.clone());
            self.missing.push(pid);
            worker.address.process().kill();
        }
        self.look = Some(next);
    }

    /// Grows or shrinks, if that is wanted.
    async fn adapt<C: Send + 'static>(&mut self, ctx: &mut Context<B::Message, PoolCommand<C>>) {
        let workers = self.intake.workers();
        let waiting = workers.iter().map(|worker| worker.address.waiting()).sum();
        let load: usize = workers.iter().map(|worker| worker.address.load()).sum();
        let load = Load { size: self.intake.size(), waiting, busy: load.saturating_sub(waiting) };
        let now = ctx.now();
        let change = self.plan.as_mut().map_or(Change::Stay, |plan| plan.decide(load, now));
        let resized = match change {
            Change::Stay => None,
            Change::Grow(count) => Some(self.add(ctx, count).await),
            Change::Shrink(count) => Some(self.remove(count)),
        };
        // Also when it stays: a worker may have become free while others have a queue.
        self.intake.balance();
        let Some(resized) = resized else { return };
        tracing::info!(
            target: "krarup", pool = %ctx.pid(), size = resized.size, waiting, ?change,
            "a pool has changed its size"
        );
    }

    fn tell_numbers(&self, pool: Pid) {
        let numbers = self.statistics();
        let (wait, service) =
            (numbers.wait.unwrap_or_default(), numbers.service.unwrap_or_default());
        tracing::info!(
            target: "krarup", %pool,
            workers = numbers.workers, waiting = numbers.waiting, restarts = numbers.restarts,
            forwarded = numbers.forwarded, unhandled = numbers.unhandled,
            rate_limited = numbers.rate_limited, diverted = numbers.diverted,
            expired = numbers.expired, lost = numbers.lost, crashed = numbers.crashed,
            wait_p50 = ?wait.p50, wait_p99 = ?wait.p99,
            service_p50 = ?service.p50, service_p99 = ?service.p99,
            "a pool"
        );
    }

    // ---- What it says of itself.

    pub(super) fn statistics(&self) -> PoolStatistics {
        let places = self.intake.size();
        let counts = self.intake.counts();
        let office = self.office.as_deref();
        let of_office = |count: fn(&Office<B::Message>) -> &AtomicU64| {
            office.map_or(0, |office| count(office).load(Ordering::Relaxed))
        };
        let latencies = office.and_then(|office| office.latencies.as_ref());
        let workers = self.intake.workers();
        PoolStatistics {
            pool_size: self.settings.size,
            places,
            workers: places - self.missing.len(),
            waiting: workers.iter().map(|worker| worker.address.waiting()).sum(),
            restarts: self.restarts,
            stuck: self.stuck,
            forwarded: counts.forwarded,
            unhandled: counts.unhandled,
            rate_limited: self.intake.rate_limited.load(Ordering::Relaxed),
            diverted: self.intake.diverted.load(Ordering::Relaxed),
            expired: of_office(|office| &office.expired),
            lost: of_office(|office| &office.lost),
            crashed: of_office(|office| &office.crashed),
            draining: self.intake.gate() == Gate::Draining,
            wait: latencies.map(|latencies| latencies.waiting.latency()),
            service: latencies.map(|latencies| latencies.service.latency()),
        }
    }

    /// The items of rule P6, and those of what the pool was told to do beside.
    pub(super) fn inspect(&self) -> Inspection {
        let numbers = self.statistics();
        let mut inspection = Inspection::new()
            .with("pool_size", numbers.pool_size)
            .with("workers", numbers.workers)
            .with("worker_behavior", type_name::<B>());
        match self.settings.mailbox {
            Some(messages) => inspection.set("worker_mailbox_size", messages),
            None => inspection.set("worker_mailbox_size", "unbounded"),
        }
        inspection.set("worker_restarts", numbers.restarts);
        inspection.set("messages_forwarded", numbers.forwarded);
        inspection.set("messages_unhandled", numbers.unhandled);
        if numbers.draining {
            inspection.set("draining", true);
        }
        if self.settings.rate.is_some() {
            inspection.set("messages_rate_limited", numbers.rate_limited);
        }
        if self.intake.diverts() {
            inspection.set("messages_diverted", numbers.diverted);
        }
        if self.office.is_some() {
            inspection.set("jobs_expired", numbers.expired);
            inspection.set("jobs_lost", numbers.lost);
            inspection.set("jobs_crashed", numbers.crashed);
        }
        if self.settings.stuck.is_some() {
            inspection.set("workers_stuck", numbers.stuck);
        }
        if let Some(elastic) = self.settings.elastic {
            inspection.set("workers_min", elastic.min);
            inspection.set("workers_max", elastic.max);
        }
        if let (Some(wait), Some(service)) = (&numbers.wait, &numbers.service) {
            inspection.set("wait", inspected(wait));
            inspection.set("service", inspected(service));
        }
        inspection
    }

    /// Ends the workers with the pool (rule P7): asked in order, and killed if they take
    /// too long.
    pub(super) async fn end_workers<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        let mut workers = std::mem::take(&mut self.leaving);
        workers.extend(self.intake.close().into_iter().map(|worker| (worker.pid(), worker)));
        for worker in workers.keys() {
            ctx.exit(*worker, Reason::Shutdown);
        }
        let host = Arc::clone(ctx.host());
        let until = ctx.now() + SHUTDOWN;
        for worker in workers.into_keys() {
            let left = until - ctx.now();
            let mut end = watch(Arc::clone(&host), Target::Pid(worker));
            if within(&host, left, &mut end).await.is_none() {
                ctx.exit(worker, Reason::Kill);
                // Whoever hears of the pool's end finds no workers, unless one blocks its
                // thread: nothing can end that.
                within(&host, SHUTDOWN, end).await;
            }
        }
    }
}

impl<B, R, C> Hands<B::Message, C> for Staff<B, R>
where
    B: Behavior,
    R: Routing<B::Message>,
    C: Send + 'static,
{
    fn add<'a>(
        &'a mut self,
        ctx: &'a mut Context<B::Message, PoolCommand<C>>,
        count: usize,
    ) -> Pin<Box<dyn Future<Output = Resized> + Send + 'a>> {
        Box::pin(Staff::add(self, ctx, count))
    }

    fn remove(&mut self, count: usize) -> Resized {
        Staff::remove(self, count)
    }

    fn workers(&self) -> Vec<Pid> {
        self.pids()
    }

    fn drain(&mut self) {
        Staff::drain(self, None);
    }

    fn reopen(&mut self) -> bool {
        Staff::reopen(self)
    }

    fn statistics(&self) -> PoolStatistics {
        Staff::statistics(self)
    }
}

/// The mark of a drain: dropped when everything before it is done.
struct Drained {
    told: Mutex<Option<Reply<()>>>,
    closed: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Drop for Drained {
    fn drop(&mut self) {
        match self.told.get_mut().take() {
            Some(told) if (self.closed)() => told.fail(CallError::NoProcess),
            Some(told) => told.send(()),
            None => {}
        }
    }
}
