//! The workers of a pool, as its process manages them: started, replaced, removed, ended.
//!
//! Nothing here waits for a worker to start. The pool process polls its starts beside its
//! mailbox ([`super::starting`]), and serves in the meantime.
//!
//! | a worker in | state of the worker | its exit notice |
//! |---|---|---|
//! | `starts` | initialises | is kept until the result of the start is known |
//! | the ring | takes jobs | its place must be filled |
//! | `leaving` | was removed, and finishes | it has left |
//! | `former` | has ended, or was given up | is stale |
//!
//! A notice of a worker that is alive never means its end: it is a signal, which any process
//! can send.

use super::command::PoolCommand;
use super::delivery::PoolRoute;
use super::elastic::ElasticPlan;
use super::job_watch::{JobRecords, Latencies};
use super::rate::Bucket;
use super::resize::{PoolState, ResizeError, Resized};
use super::ring::{Gate, PoolWorker};
use super::routing::Routing;
use super::settings::{MOST_WORKERS, PoolError, PoolSettings};
use super::shared::{Rules, SharedPool};
use super::starting::{Started, Starts, WorkerPurpose};
use super::vacancy::Vacancies;
use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::calls::deadline::within;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::mailbox::overflow::Overflow;
use crate::observe::watch::watch;
use crate::observe::watched_job::Mark;
use krarup_gen::{
    CallError, Exit, Pid, Reason, RestartWindow, Result, SpawnError, Target, Timestamp,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{self, Poll};
use std::time::Duration;

/// How long the workers may take to end with their pool before they are killed, and again
/// before they are left behind.
const SHUTDOWN: Duration = Duration::from_secs(5);
/// The most replacements that start at the same time. All of them are polled whenever one makes
/// progress.
const MOST_AT_ONCE: usize = 16;

/// Receives the answer to a request to add workers.
pub(super) type ToldOfSize = Reply<Result<Resized, ResizeError>>;

/// A request to add workers. They start one after the other.
struct Adding {
    asked: usize,
    changed: usize,
    /// `None` if the pool itself decided to grow.
    told: Option<ToldOfSize>,
}

/// The origin of an exit notice.
pub(super) enum ExitOrigin {
    /// A worker whose end does not matter now.
    Stale,
    /// A worker whose place must be filled, or is being filled since the worker was given up.
    Worker,
    /// A process that is not a worker.
    Other,
}

pub(super) struct PoolWorkers<B: Behavior, R>
where
    R: Routing<B::Message>,
{
    factory: Arc<dyn Fn() -> B + Send + Sync>,
    pub(super) settings: PoolSettings<B::Message>,
    pub(super) shared: Arc<SharedPool<B::Message, B::Command, R>>,
    pub(super) records: Option<Arc<JobRecords<B::Message>>>,
    /// `None` if the pool is at work or drained.
    state: Option<PoolState>,
    starts: Starts<B::Message, B::Command>,
    /// Exit notices that arrived before the start of their workers was known.
    exits: VecDeque<Exit>,
    adding: VecDeque<Adding>,
    /// Removed workers that have not ended yet.
    pub(super) leaving: BTreeMap<Pid, PoolWorker<B::Message, B::Command>>,
    /// Workers that have ended or were given up. Signals from them may still be in the mailbox.
    former: BTreeMap<Pid, Address<B::Message, B::Command>>,
    /// Former workers that were killed and do not end. The pool no longer waits for them.
    left_behind: BTreeSet<Pid>,
    /// Former workers that were killed at work and whose exit notice has not been received.
    given_up: BTreeSet<Pid>,
    vacancies: Vacancies,
    window: Option<RestartWindow>,
    pub(super) plan: Option<ElasticPlan>,
    /// When the workers are next checked for a stuck one.
    pub(super) look: Option<Timestamp>,
    pub(super) report: Option<Timestamp>,
    pub(super) restarts: u64,
    pub(super) stuck: u64,
}

/// However the pool ends, its route is closed: a send then returns `NoProcess`.
impl<B: Behavior, R: Routing<B::Message>> Drop for PoolWorkers<B, R> {
    fn drop(&mut self) {
        drop(self.shared.close());
        self.shared.let_go_of_users_values();
    }
}

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    pub(super) fn new<C: Send + 'static>(
        ctx: &Context<B::Message, PoolCommand<C>>,
        factory: Arc<dyn Fn() -> B + Send + Sync>,
        routing: R,
        mut settings: PoolSettings<B::Message>,
    ) -> Self {
        let records = settings.watches().then(|| {
            Arc::new(JobRecords {
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
            time_to_live: settings.time_to_live.take(),
            records: records.clone(),
        };
        let bucket = settings.rate.map(Bucket::new);
        let moves = settings.elastic.is_some();
        let now = ctx.now();
        PoolWorkers {
            shared: SharedPool::new(ctx.pid(), ctx.host(), routing, rules, bucket, moves),
            records,
            state: Some(PoolState::Starting),
            starts: Starts::new(settings.init_timeout),
            exits: VecDeque::new(),
            adding: VecDeque::new(),
            leaving: BTreeMap::new(),
            former: BTreeMap::new(),
            left_behind: BTreeSet::new(),
            given_up: BTreeSet::new(),
            vacancies: Vacancies::new(settings.back_off),
            window: settings.intensity.map(|(most, period)| RestartWindow::new(most, period)),
            plan: settings.elastic.map(|elastic| ElasticPlan::new(elastic, now)),
            look: settings.stuck.map(|limit| now + limit),
            report: settings.report.map(|period| now + period),
            restarts: 0,
            stuck: 0,
            factory,
            settings,
        }
    }

    /// The route to the workers.
    pub(super) fn entrance(&self) -> PoolRoute<B::Message, B::Command, R> {
        PoolRoute(Arc::clone(&self.shared))
    }

    // ---- Starting workers.

    /// Begins to start a worker.
    pub(super) fn begin<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        purpose: WorkerPurpose,
    ) -> Result<(), SpawnError> {
        let factory = Arc::clone(&self.factory);
        let mut spawn = ctx.spawn(move || factory()).link_urgent();
        if self.settings.elastic.is_some() {
            spawn = spawn.one_by_one();
        }
        if let Some(messages) = self.settings.mailbox {
            spawn = spawn.mailbox(messages);
        }
        let (worker, init) = spawn.begin()?;
        self.starts.begin(purpose, worker, Box::pin(init));
        Ok(())
    }

    /// Polls for the next worker that has started or has failed to.
    pub(super) fn poll_started(
        &mut self,
        cx: &mut task::Context<'_>,
    ) -> Poll<Started<B::Message, B::Command>> {
        self.starts.poll_next(cx)
    }

    /// Handles a worker that has started or has failed to. Returns the error if it was one of
    /// the first.
    pub(super) fn settle<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        started: Started<B::Message, B::Command>,
    ) -> Result<(), SpawnError> {
        let Started { purpose, worker, outcome, exit, left_behind } = started;
        if left_behind {
            self.abandon(ctx, &worker);
        }
        match (outcome, purpose) {
            (Ok(()), purpose) => {
                self.install(purpose, worker);
                self.exits.extend(exit);
            }
            (Err(error), WorkerPurpose::First) => return Err(error),
            (Err(error), WorkerPurpose::Replacement(dead)) => self.put_off(ctx, dead, &error),
            (Err(error), WorkerPurpose::Added) => self.end_adding(ctx.pid(), error),
        }
        Ok(())
    }

    /// Puts a started worker into its place, if the place still exists.
    fn install(&mut self, purpose: WorkerPurpose, worker: Address<B::Message, B::Command>) {
        let wanted = match purpose {
            _ if self.state == Some(PoolState::Stopping) => false,
            WorkerPurpose::First | WorkerPurpose::Added => true,
            WorkerPurpose::Replacement(dead) => self.vacancies.fill(dead),
        };
        if !wanted {
            self.dismiss(PoolWorker { address: worker, place: 0, watch: None });
            return;
        }
        match purpose {
            WorkerPurpose::First => self.shared.add(&worker),
            WorkerPurpose::Replacement(dead) => {
                self.shared.replace(dead, &worker);
                self.restarts += 1;
            }
            WorkerPurpose::Added => {
                self.shared.add(&worker);
                self.note_added();
            }
        }
    }

    /// Delays the next attempt after a replacement has failed to start (rule P4). Its place is
    /// kept.
    fn put_off<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        dead: Pid,
        error: &SpawnError,
    ) {
        if let Some(delay) = self.vacancies.put_off(dead, ctx.now()) {
            tracing::warn!(
                target: "krarup", pool = %ctx.pid(), %error, ?delay,
                "cannot start a replacement worker; retrying after the delay"
            );
        }
    }

    /// Leaves behind a worker that blocks its thread. Nothing can end it, so the pool continues
    /// without it.
    fn abandon<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        worker: &Address<B::Message, B::Command>,
    ) {
        tracing::error!(
            target: "krarup", pool = %ctx.pid(), worker = %worker.pid(),
            "a killed worker blocks its thread and does not end; it is left behind"
        );
        self.left_behind.insert(worker.pid());
        self.retire(ctx, worker.clone());
    }

    /// Starts the workers that are due: replacements for ended workers, each in its place in
    /// the rotation, and workers to be added. Returns the reason with which the pool ends if
    /// there were too many replacements.
    pub(super) fn start_due<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
    ) -> Result {
        if self.state.is_some() {
            return Ok(());
        }
        let now = ctx.now();
        while self.has_room_to_start()
            && let Some(dead) = self.vacancies.begin_due(now)
        {
            if let (Some(window), Some((replacements, period))) =
                (&mut self.window, self.settings.intensity)
                && !window.record(now)
            {
                let error = PoolError::TooManyReplacements { replacements, period };
                tracing::error!(target: "krarup", pool = %ctx.pid(), %error, "pool exceeded its replacement intensity and ends");
                return Err(error.into());
            }
            if let Err(error) = self.begin(ctx, WorkerPurpose::Replacement(dead)) {
                self.put_off(ctx, dead, &error);
            }
        }
        self.start_added(ctx);
        Ok(())
    }

    fn has_room_to_start(&self) -> bool {
        let replacements = self.starts.count(|of| matches!(of, WorkerPurpose::Replacement(_)));
        replacements < MOST_AT_ONCE
    }

    /// When the next replacement is due, if one can be started then.
    pub(super) fn retry_due(&self) -> Option<Timestamp> {
        if self.state.is_none() && self.has_room_to_start() { self.vacancies.due() } else { None }
    }

    // ---- Adding and removing workers.

    /// Notes that all of the first workers have started.
    pub(super) fn open(&mut self) {
        self.state = None;
    }

    /// Removes all workers, so that the pool ends when they have finished. No worker is started
    /// any more.
    pub(super) fn begin_to_stop(&mut self, pool: Pid) {
        self.stop_adding(pool);
        self.let_go(usize::MAX);
    }

    fn stop_adding(&mut self, pool: Pid) {
        self.state = Some(PoolState::Stopping);
        for adding in self.adding.drain(..) {
            if let Some(told) = adding.told {
                told.send(Err(ResizeError::NotRunning { pool, state: PoolState::Stopping }));
            }
        }
    }

    /// Checks that the pool is at work. Only then it can be resized.
    fn check_at_work(&self, pool: Pid) -> Result<(), ResizeError> {
        let state = match (self.state, self.shared.gate()) {
            (Some(state), _) => state,
            (None, Gate::Open) => return Ok(()),
            (None, Gate::Draining) => PoolState::Draining,
            (None, Gate::Closed) => PoolState::Stopping,
        };
        Err(ResizeError::NotRunning { pool, state })
    }

    /// How many workers are to be added and have not started yet.
    pub(super) fn to_be_added(&self) -> usize {
        self.adding.iter().fold(0, |sum, adding| sum.saturating_add(adding.asked - adding.changed))
    }

    /// Adds workers, one after the other. `told` receives the answer when all have started, or
    /// one has failed to.
    pub(super) fn add<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        asked: usize,
        told: Option<ToldOfSize>,
    ) {
        let size = self.shared.size();
        let coming = size.saturating_add(self.to_be_added());
        let checked = self.check_at_work(ctx.pid()).and_then(|()| {
            if asked > MOST_WORKERS.saturating_sub(coming) {
                return Err(ResizeError::TooMany { size, asked, most: MOST_WORKERS });
            }
            Ok(Resized { size, changed: 0 })
        });
        match (checked, told) {
            (Ok(_), told) if asked > 0 => {
                self.adding.push_back(Adding { asked, changed: 0, told });
                self.start_added(ctx);
            }
            (checked, Some(told)) => told.send(checked),
            (_, None) => {}
        }
    }

    /// Starts the next worker to be added.
    fn start_added<C: Send + 'static>(&mut self, ctx: &Context<B::Message, PoolCommand<C>>) {
        while !self.adding.is_empty() && self.starts.count(|of| of == WorkerPurpose::Added) == 0 {
            if let Err(error) = self.begin(ctx, WorkerPurpose::Added) {
                self.end_adding(ctx.pid(), error);
            }
        }
    }

    /// Counts an added worker that has its place.
    fn note_added(&mut self) {
        let size = self.shared.size();
        let Some(adding) = self.adding.front_mut() else { return };
        adding.changed += 1;
        if adding.changed == adding.asked
            && let Some(Adding { changed, told: Some(told), .. }) = self.adding.pop_front()
        {
            told.send(Ok(Resized { size, changed }));
        }
    }

    /// Ends a request to add workers, because one has failed to start.
    fn end_adding(&mut self, pool: Pid, error: SpawnError) {
        let size = self.shared.size();
        let Some(Adding { asked, changed, told }) = self.adding.pop_front() else { return };
        let error = ResizeError::NotStarted { asked, resized: Resized { size, changed }, error };
        match told {
            Some(told) => told.send(Err(error)),
            None => tracing::warn!(target: "krarup", %pool, %error, "pool cannot grow"),
        }
    }

    /// Removes workers, if the pool is at work.
    pub(super) fn remove(&mut self, pool: Pid, count: usize) -> Result<Resized, ResizeError> {
        self.check_at_work(pool)?;
        Ok(self.let_go(count))
    }

    /// Removes workers from the rotation at once; each ends when it has handled the jobs it has
    /// accepted. Places without a worker are removed first.
    pub(super) fn let_go(&mut self, count: usize) -> Resized {
        let vacant = self.vacancies.take(count);
        vacant.iter().for_each(|place| self.shared.remove(*place));
        let leaving = self.shared.take(count - vacant.len());
        let changed = vacant.len() + leaving.len();
        leaving.into_iter().for_each(|worker| self.dismiss(worker));
        Resized { size: self.shared.size(), changed }
    }

    pub(super) fn pids(&self) -> Vec<Pid> {
        self.shared.workers().iter().map(|worker| worker.address.pid()).collect()
    }

    /// Makes a worker end after it has handled the jobs it has accepted.
    fn dismiss(&mut self, worker: PoolWorker<B::Message, B::Command>) {
        worker.address.finish();
        self.leaving.insert(worker.address.pid(), worker);
    }

    /// Whether all removed workers have ended and none is starting.
    pub(super) fn has_left(&self) -> bool {
        self.leaving.is_empty() && self.starts.is_empty()
    }

    // ---- The end of workers.

    /// An exit notice that was kept and can be handled now.
    pub(super) fn next_exit(&mut self) -> Option<Exit> {
        self.exits.pop_front()
    }

    /// Classifies an exit notice, and records the end of the worker if it has ended.
    pub(super) fn note_exit<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        exit: &Exit,
    ) -> ExitOrigin {
        let pid = exit.pid;
        let worker = self.shared.worker(pid);
        if self.starts.has(pid) {
            // The result of its start is handled first. A worker whose start failed needs no
            // further handling.
            if !ctx.is_alive(pid) {
                self.starts.note_exit(exit.clone());
            }
        } else if let Some(worker) = self.leaving.get(&pid) {
            let worker = worker.address.clone();
            if !worker.is_alive() {
                self.leaving.remove(&pid);
                self.shared.note_left(pid);
                self.retire(ctx, worker);
            }
        } else if let Some(worker) = worker {
            // It may have sent signals before it ended: its place is to be filled once.
            if !worker.is_alive() && !self.former.contains_key(&pid) {
                self.retire(ctx, worker);
                self.vacancies.add(pid, ctx.now());
                return ExitOrigin::Worker;
            }
        } else if !self.former.contains_key(&pid) {
            return ExitOrigin::Other;
        } else if !ctx.is_alive(pid) && self.given_up.remove(&pid) {
            return ExitOrigin::Worker;
        }
        tracing::debug!(
            target: "krarup", pool = %ctx.pid(), worker = %pid, reason = %exit.reason,
            "ignored an exit signal of a live or former worker"
        );
        ExitOrigin::Stale
    }

    /// Moves a worker that has ended to the former ones.
    fn retire<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        worker: Address<B::Message, B::Command>,
    ) {
        // The end may have been noticed by a signal that the worker sent. The notice of the
        // link would then still arrive.
        ctx.unlink(worker.pid());
        self.former.insert(worker.pid(), worker);
    }

    /// Forgets former workers that have ended, when Main is empty: everything they sent was in
    /// the mailbox before they ended.
    pub(super) fn forget_former<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        if self.former.is_empty() {
            return;
        }
        let ended = |(pid, worker): (&Pid, &Address<_, _>)| {
            (!worker.is_alive() && !self.given_up.contains(pid)).then_some(*pid)
        };
        let ended: Vec<_> = self.former.iter().filter_map(ended).collect();
        if ended.is_empty() || ctx.has_main() {
            return;
        }
        for pid in ended {
            ctx.unlink(pid);
            self.former.remove(&pid);
            self.left_behind.remove(&pid);
        }
    }

    /// Kills a worker. Its place gets a replacement, unless the worker was removed.
    pub(super) fn give_up(&mut self, worker: &Address<B::Message, B::Command>, now: Timestamp) {
        let pid = worker.pid();
        if self.leaving.remove(&pid).is_none() {
            self.shared.vacate(pid);
            self.vacancies.add(pid, now);
            self.given_up.insert(pid);
        } else {
            self.shared.note_left(pid);
        }
        self.former.insert(pid, worker.clone());
        worker.process().kill();
    }

    // ---- Draining the pool.

    /// Stops accepting jobs. `told` is answered when all accepted jobs are done.
    pub(super) fn drain(&mut self, told: Option<Reply<()>>) {
        let shared = Arc::downgrade(&self.shared);
        let closed = move || shared.upgrade().is_none_or(|shared| shared.gate() == Gate::Closed);
        let mark: Mark = Arc::new(Drained { told: Mutex::new(told), closed: Box::new(closed) });
        self.shared.drain(&mark);
    }

    pub(super) fn reopen(&mut self) -> bool {
        self.shared.open()
    }

    // ---- The end of the pool.

    /// Ends the workers with the pool (rule P7). They are shut down in order, and killed if
    /// they take too long. A worker that is still starting has accepted nothing and is killed
    /// at once.
    pub(super) async fn end_workers<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        self.stop_adding(ctx.pid());
        self.vacancies.take(usize::MAX);
        let starting = self.starts.take_all();
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        let mut workers: BTreeMap<_, _> = leaving.map(|(pid, w)| (pid, w.address)).collect();
        workers.extend(self.shared.close().into_iter().map(|worker| (worker.pid(), worker)));
        let given_up = std::mem::take(&mut self.former).into_iter();
        workers.extend(
            given_up.filter(|(pid, worker)| worker.is_alive() && !self.left_behind.contains(pid)),
        );
        let host = Arc::clone(ctx.host());
        let watched = |pid| (pid, watch(Arc::clone(&host), Target::Pid(pid)));
        let mut ends: Vec<_> = workers.keys().copied().map(watched).collect();
        ends.extend(starting.iter().map(|worker| watched(worker.pid())));
        workers.keys().for_each(|worker| ctx.exit(*worker, Reason::Shutdown));
        starting.iter().for_each(|worker| worker.process().kill());
        for round in [Reason::Kill, Reason::Normal] {
            let until = ctx.now() + SHUTDOWN;
            let mut late = Vec::new();
            for (worker, mut end) in ends {
                if within(&host, until - ctx.now(), &mut end).await.is_none() {
                    late.push((worker, end));
                }
            }
            ends = late;
            match round {
                Reason::Kill => ends.iter().for_each(|(worker, _)| ctx.exit(*worker, Reason::Kill)),
                // A process that is notified of the pool's end finds no workers, unless one
                // blocks its thread: nothing can end that one.
                _ => ends.iter().for_each(|(worker, _)| {
                    ctx.unlink(*worker);
                    tracing::error!(
                        target: "krarup", pool = %ctx.pid(), %worker,
                        "pool ends before a worker that blocks its thread"
                    );
                }),
            }
        }
    }

    /// Adds workers and waits until they have started. For callbacks, during which the pool
    /// handles nothing else.
    pub(super) async fn add_and_wait<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        count: usize,
    ) -> Result<Resized, ResizeError> {
        let (told, mut answer) = Reply::new(None);
        self.add(ctx, count, Some(told));
        loop {
            let next = poll_fn(|cx| match Pin::new(&mut answer).poll(cx) {
                Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                Poll::Pending => self.poll_started(cx).map(Err),
            });
            match next.await {
                Ok(answer) => return answer.unwrap_or(Err(CallError::NoReply))?,
                Err(started) => {
                    // Only a first worker can cause an error, and those have started before any
                    // callback gets here.
                    let _ = self.settle(ctx, started);
                    self.start_added(ctx);
                }
            }
        }
    }
}

/// The mark of a drain. It is dropped when everything before it is done.
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
