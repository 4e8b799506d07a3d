//! The workers of a pool, as its process keeps them: started, replaced, let go, ended.
//!
//! Nothing here waits for a worker to start: the pool's process polls its starts beside its mailbox
//! ([`super::starting`]), and serves meanwhile.
//!
//! | a worker is in | it | an exit notice of it |
//! |---|---|---|
//! | `starts` | initialises | is kept until it is known what came of the start |
//! | the ring | takes jobs | its place is to be filled |
//! | `leaving` | was removed, and finishes | it has left |
//! | `former` | has ended, or was given up | is stale |
//!
//! A notice of a worker that is alive is no end in any of these: a signal, which anybody can send.

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
use crate::observe::monitor::watch;
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

/// How long the workers may take to end with their pool before they are killed, and then before
/// they are left behind.
const SHUTDOWN: Duration = Duration::from_secs(5);
/// Replacements that start at the same time, at most: each is polled whenever one of them moves.
const MOST_AT_ONCE: usize = 16;

/// Where the answer to a request to add workers goes.
pub(super) type ToldOfSize = Reply<Result<Resized, ResizeError>>;

/// A request to add workers. They start one after the other.
struct Adding {
    asked: usize,
    changed: usize,
    /// `None`: the pool itself grows.
    told: Option<ToldOfSize>,
}

/// Whose exit notice it is.
pub(super) enum ExitOrigin {
    /// Of nobody whose end matters now.
    Nobodys,
    /// Of a worker whose place is to be filled, or is being filled since it was given up.
    Workers,
    /// Of a process that is no worker.
    Strangers,
}

pub(super) struct PoolWorkers<B: Behavior, R>
where
    R: Routing<B::Message>,
{
    factory: Arc<dyn Fn() -> B + Send + Sync>,
    pub(super) settings: PoolSettings<B::Message>,
    pub(super) intake: Arc<SharedPool<B::Message, B::Command, R>>,
    pub(super) office: Option<Arc<JobRecords<B::Message>>>,
    /// `None`: it is at work, or drained.
    state: Option<PoolState>,
    starts: Starts<B::Message, B::Command>,
    /// Exit notices that came before it was known that their workers had started.
    exits: VecDeque<Exit>,
    adding: VecDeque<Adding>,
    /// Workers that were removed and have not ended yet.
    pub(super) leaving: BTreeMap<Pid, PoolWorker<B::Message, B::Command>>,
    /// Workers that have ended, or were given up: signals of theirs may still lie in the mailbox.
    former: BTreeMap<Pid, Address<B::Message, B::Command>>,
    /// Those of the former that do not end, though they were killed: nobody waits for them again.
    left_behind: BTreeSet<Pid>,
    /// Those of the former that were killed at work, and whose end is still to be heard.
    given_up: BTreeSet<Pid>,
    vacancies: Vacancies,
    window: Option<RestartWindow>,
    pub(super) plan: Option<ElasticPlan>,
    /// When the workers are next looked at for one that is stuck.
    pub(super) look: Option<Timestamp>,
    pub(super) report: Option<Timestamp>,
    pub(super) restarts: u64,
    pub(super) stuck: u64,
}

/// However the pool ends, its route ends with it: then a send is `NoProcess`.
impl<B: Behavior, R: Routing<B::Message>> Drop for PoolWorkers<B, R> {
    fn drop(&mut self) {
        drop(self.intake.close());
        self.intake.let_go_of_users_values();
    }
}

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    pub(super) fn new<C: Send + 'static>(
        ctx: &Context<B::Message, PoolCommand<C>>,
        factory: Arc<dyn Fn() -> B + Send + Sync>,
        routing: R,
        mut settings: PoolSettings<B::Message>,
    ) -> Self {
        let office = settings.watches().then(|| {
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
            office: office.clone(),
        };
        let bucket = settings.rate.map(Bucket::new);
        let moves = settings.elastic.is_some();
        let now = ctx.now();
        PoolWorkers {
            intake: SharedPool::new(ctx.pid(), ctx.host(), routing, rules, bucket, moves),
            office,
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
        PoolRoute(Arc::clone(&self.intake))
    }

    // ---- Workers start.

    /// Begins to start a worker.
    pub(super) fn begin<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        purpose: WorkerPurpose,
    ) -> Result<(), SpawnError> {
        let factory = Arc::clone(&self.factory);
        let mut spawn = ctx.spawn(move || factory()).link_urgent();
        if self.settings.elastic.is_some() {
            spawn = spawn.singly();
        }
        if let Some(messages) = self.settings.mailbox {
            spawn = spawn.mailbox(messages);
        }
        let (worker, init) = spawn.begin()?;
        self.starts.begin(purpose, worker, Box::pin(init));
        Ok(())
    }

    /// The next worker that has started, or has failed to.
    pub(super) fn poll_started(
        &mut self,
        cx: &mut task::Context<'_>,
    ) -> Poll<Started<B::Message, B::Command>> {
        self.starts.poll_next(cx)
    }

    /// A worker has started, or has failed to; the error, if it was one of the first.
    pub(super) fn settle<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        started: Started<B::Message, B::Command>,
    ) -> Result<(), SpawnError> {
        let Started { purpose, worker, outcome, exit, left_behind } = started;
        if left_behind {
            self.leave_behind(ctx, &worker);
        }
        match (outcome, purpose) {
            (Ok(()), purpose) => {
                self.employ(purpose, worker);
                self.exits.extend(exit);
            }
            (Err(error), WorkerPurpose::First) => return Err(error),
            (Err(error), WorkerPurpose::Replacement(dead)) => self.put_off(ctx, dead, &error),
            (Err(error), WorkerPurpose::Added) => self.end_adding(ctx.pid(), error),
        }
        Ok(())
    }

    /// Gives a worker that has started its place, if there still is one for it.
    fn employ(&mut self, purpose: WorkerPurpose, worker: Address<B::Message, B::Command>) {
        let wanted = match purpose {
            _ if self.state == Some(PoolState::Stopping) => false,
            WorkerPurpose::First | WorkerPurpose::Added => true,
            WorkerPurpose::Replacement(dead) => self.vacancies.fill(dead),
        };
        if !wanted {
            self.send_away(PoolWorker { address: worker, place: 0, desk: None });
            return;
        }
        match purpose {
            WorkerPurpose::First => self.intake.add(&worker),
            WorkerPurpose::Replacement(dead) => {
                self.intake.replace(dead, &worker);
                self.restarts += 1;
            }
            WorkerPurpose::Added => {
                self.intake.add(&worker);
                self.note_added();
            }
        }
    }

    /// A replacement has not started: it is tried again later (rule P4), and its place is kept.
    fn put_off<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        dead: Pid,
        error: &SpawnError,
    ) {
        if let Some(delay) = self.vacancies.put_off(dead, ctx.now()) {
            tracing::warn!(
                target: "krarup", pool = %ctx.pid(), %error, ?delay,
                "cannot replace a dead worker; trying again"
            );
        }
    }

    /// Nothing can end a worker that blocks its thread: the pool goes on without it.
    fn leave_behind<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        worker: &Address<B::Message, B::Command>,
    ) {
        tracing::error!(
            target: "krarup", pool = %ctx.pid(), worker = %worker.pid(),
            "a worker was killed and does not end, for it blocks its thread; it is left behind"
        );
        self.left_behind.insert(worker.pid());
        self.retire(ctx, worker.clone());
    }

    /// Starts what is to be started now: replacements for workers that have ended, each in its
    /// place in the rotation, and workers that are to be added. The reason with which the pool
    /// ends, if there were too many replacements.
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
                tracing::error!(target: "krarup", pool = %ctx.pid(), %error, "a pool gives up");
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

    /// When a replacement is to be started that can be.
    pub(super) fn retry_due(&self) -> Option<Timestamp> {
        if self.state.is_none() && self.has_room_to_start() { self.vacancies.due() } else { None }
    }

    // ---- Workers are added and removed.

    /// The pool starts no more of the first workers.
    pub(super) fn open(&mut self) {
        self.state = None;
    }

    /// Lets all workers go, to end when they have; nothing is started any more.
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

    /// Whether the pool is at work: only then it is resized.
    fn check_at_work(&self, pool: Pid) -> Result<(), ResizeError> {
        let state = match (self.state, self.intake.gate()) {
            (Some(state), _) => state,
            (None, Gate::Open) => return Ok(()),
            (None, Gate::Draining) => PoolState::Draining,
            (None, Gate::Closed) => PoolState::Stopping,
        };
        Err(ResizeError::NotRunning { pool, state })
    }

    /// Workers that are to be added and have not started yet.
    pub(super) fn to_be_added(&self) -> usize {
        self.adding.iter().fold(0, |sum, adding| sum.saturating_add(adding.asked - adding.changed))
    }

    /// Adds workers, one after the other; whoever asked is told when all have started, or one has
    /// failed to.
    pub(super) fn add<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        asked: usize,
        told: Option<ToldOfSize>,
    ) {
        let size = self.intake.size();
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

    /// Starts the next worker that is to be added.
    fn start_added<C: Send + 'static>(&mut self, ctx: &Context<B::Message, PoolCommand<C>>) {
        while !self.adding.is_empty() && self.starts.count(|of| of == WorkerPurpose::Added) == 0 {
            if let Err(error) = self.begin(ctx, WorkerPurpose::Added) {
                self.end_adding(ctx.pid(), error);
            }
        }
    }

    /// One that was to be added has its place.
    fn note_added(&mut self) {
        let size = self.intake.size();
        let Some(adding) = self.adding.front_mut() else { return };
        adding.changed += 1;
        if adding.changed == adding.asked
            && let Some(Adding { changed, told: Some(told), .. }) = self.adding.pop_front()
        {
            told.send(Ok(Resized { size, changed }));
        }
    }

    /// One that was to be added has not started.
    fn end_adding(&mut self, pool: Pid, error: SpawnError) {
        let size = self.intake.size();
        let Some(Adding { asked, changed, told }) = self.adding.pop_front() else { return };
        let error = ResizeError::NotStarted { asked, resized: Resized { size, changed }, error };
        match told {
            Some(told) => told.send(Err(error)),
            None => tracing::warn!(target: "krarup", %pool, %error, "a pool cannot grow"),
        }
    }

    /// Removes workers, if the pool is at work.
    pub(super) fn remove(&mut self, pool: Pid, count: usize) -> Result<Resized, ResizeError> {
        self.check_at_work(pool)?;
        Ok(self.let_go(count))
    }

    /// Lets workers go: out of the rotation at once, and each ends when it has handled
    /// what it had accepted. Places whose worker is missing go first.
    pub(super) fn let_go(&mut self, count: usize) -> Resized {
        let vacant = self.vacancies.take(count);
        vacant.iter().for_each(|place| self.intake.remove(*place));
        let leaving = self.intake.take(count - vacant.len());
        let changed = vacant.len() + leaving.len();
        leaving.into_iter().for_each(|worker| self.send_away(worker));
        Resized { size: self.intake.size(), changed }
    }

    pub(super) fn pids(&self) -> Vec<Pid> {
        self.intake.workers().iter().map(|worker| worker.address.pid()).collect()
    }

    /// A worker handles what it has accepted, and ends.
    fn send_away(&mut self, worker: PoolWorker<B::Message, B::Command>) {
        worker.address.finish();
        self.leaving.insert(worker.address.pid(), worker);
    }

    /// Whether nobody is left to wait for, when all were let go.
    pub(super) fn has_left(&self) -> bool {
        self.leaving.is_empty() && self.starts.is_empty()
    }

    // ---- Workers end.

    /// An exit notice that was put aside, and can be heard now.
    pub(super) fn next_exit(&mut self) -> Option<Exit> {
        self.exits.pop_front()
    }

    /// Whose exit notice this is, and whether that process has ended.
    pub(super) fn hear<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        exit: &Exit,
    ) -> ExitOrigin {
        let pid = exit.pid;
        let worker = self.intake.worker(pid);
        if self.starts.has(pid) {
            // What came of its start comes first. If that has failed, nothing more is to come.
            if !ctx.is_alive(pid) {
                self.starts.note_exit(exit.clone());
            }
        } else if let Some(worker) = self.leaving.get(&pid) {
            let worker = worker.address.clone();
            if !worker.is_alive() {
                self.leaving.remove(&pid);
                self.intake.note_left(pid);
                self.retire(ctx, worker);
            }
        } else if let Some(worker) = worker {
            // It may have sent signals before it ended: its place is to be filled once.
            if !worker.is_alive() && !self.former.contains_key(&pid) {
                self.retire(ctx, worker);
                self.vacancies.add(pid, ctx.now());
                return ExitOrigin::Workers;
            }
        } else if !self.former.contains_key(&pid) {
            return ExitOrigin::Strangers;
        } else if !ctx.is_alive(pid) && self.given_up.remove(&pid) {
            return ExitOrigin::Workers;
        }
        tracing::debug!(
            target: "krarup", pool = %ctx.pid(), worker = %pid, reason = %exit.reason,
            "an exit signal of a worker that is at work, or is none any more"
        );
        ExitOrigin::Nobodys
    }

    /// A worker has ended, or was given up: nothing is heard of it any more.
    fn retire<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        worker: Address<B::Message, B::Command>,
    ) {
        // Its end may have been heard of by a signal of its own: then the notice is still to come.
        ctx.unlink(worker.pid());
        self.former.insert(worker.pid(), worker);
    }

    /// Forgets those former workers of which nothing can come any more: all that they have sent
    /// lay in the mailbox before they ended, and that is empty.
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

    /// Kills a worker and gives its place to another, if it has not been removed.
    pub(super) fn give_up(&mut self, worker: &Address<B::Message, B::Command>, now: Timestamp) {
        let pid = worker.pid();
        if self.leaving.remove(&pid).is_none() {
            self.intake.vacate(pid);
            self.vacancies.add(pid, now);
            self.given_up.insert(pid);
        } else {
            self.intake.note_left(pid);
        }
        self.former.insert(pid, worker.clone());
        worker.process().kill();
    }

    // ---- The pool is drained.

    /// Takes nothing new; whoever asked is told when what there was is done.
    pub(super) fn drain(&mut self, told: Option<Reply<()>>) {
        let intake = Arc::downgrade(&self.intake);
        let closed = move || intake.upgrade().is_none_or(|intake| intake.gate() == Gate::Closed);
        let mark: Mark = Arc::new(Drained { told: Mutex::new(told), closed: Box::new(closed) });
        self.intake.drain(&mark);
    }

    pub(super) fn reopen(&mut self) -> bool {
        self.intake.open()
    }

    // ---- The pool ends.

    /// Ends the workers with the pool (rule P7): asked in order, and killed if they take
    /// too long. One that is still starting has accepted nothing and is killed at once.
    pub(super) async fn end_workers<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        self.stop_adding(ctx.pid());
        self.vacancies.take(usize::MAX);
        let starting = self.starts.take_all();
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        let mut workers: BTreeMap<_, _> = leaving.map(|(pid, w)| (pid, w.address)).collect();
        workers.extend(self.intake.close().into_iter().map(|worker| (worker.pid(), worker)));
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
                // Whoever hears of the pool's end finds no workers, unless one blocks its
                // thread: nothing can end that.
                _ => ends.iter().for_each(|(worker, _)| {
                    ctx.unlink(*worker);
                    tracing::error!(
                        target: "krarup", pool = %ctx.pid(), %worker,
                        "a pool ends before its worker, which blocks its thread"
                    );
                }),
            }
        }
    }

    /// Adds workers and waits until they have started: for a callback, in which the pool serves
    /// nothing else.
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
                    // One of the first fails only before there are callbacks that get here.
                    let _ = self.settle(ctx, started);
                    self.start_added(ctx);
                }
            }
        }
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
