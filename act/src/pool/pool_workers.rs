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
//!
//! | file | part |
//! |---|---|
//! | [`worker_starts`] | starts, replacements, and what becomes of a start |
//! | [`resizing`] | adding and removing workers |
//! | [`exits`] | the ends of workers |
//! | [`ending`] | the end of all of them with the pool |

use super::command::PoolCommand;
use super::delivery::PoolRoute;
use super::elastic::ElasticPlan;
use super::job_watch::{JobRecords, Latencies};
use super::pool_worker::PoolWorker;
use super::rate::Bucket;
use super::resize::PoolState;
use super::ring::Gate;
use super::routing::Routing;
use super::settings::PoolSettings;
use super::shared::{PoolNumbers, Rules, SharedPool};
use super::size_answer::SizeAnswer;
use super::starting::Starts;
use super::stuck_search::StuckSearch;
use super::vacancy::Vacancies;
use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::mailbox::overflow::Overflow;
use crate::observe::watched_job::Mark;
use krarup_gen::{CallError, Exit, Pid, RestartWindow, Timestamp};
use parking_lot::Mutex;
use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

mod ending;
pub(super) mod exits;
mod resizing;
mod worker_starts;

/// A request to add workers. They start one after the other.
struct Adding {
    asked: usize,
    changed: usize,
    /// `None` if the pool itself decided to grow.
    told: Option<SizeAnswer>,
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
    /// How many workers the requests in `adding` still miss, together.
    to_be_added: usize,
    /// Removed workers that have not ended yet.
    pub(super) leaving: BTreeMap<Pid, PoolWorker<B::Message, B::Command>>,
    /// Workers that have ended or were given up. Signals from them may still be in the mailbox.
    former: BTreeMap<Pid, Address<B::Message, B::Command>>,
    /// Former workers that have ended, to be forgotten when no signal from them can be in the
    /// mailbox.
    ended: Vec<Pid>,
    /// Former workers that were killed and do not end. The pool no longer waits for them.
    left_behind: BTreeSet<Pid>,
    /// Former workers that were killed at work and whose exit notice has not been received.
    given_up: BTreeSet<Pid>,
    vacancies: Vacancies,
    window: Option<RestartWindow>,
    pub(super) plan: Option<ElasticPlan>,
    /// The search for stuck workers, if the pool has a limit.
    pub(super) stuck: Option<StuckSearch<B::Message>>,
    pub(super) report: Option<Timestamp>,
}

/// However the pool ends, its route is closed: a send then returns `NoProcess`. A pool that was
/// killed still has workers, which end with it.
impl<B: Behavior, R: Routing<B::Message>> Drop for PoolWorkers<B, R> {
    fn drop(&mut self) {
        self.leave_workers();
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
        let numbers = PoolNumbers {
            worker_behavior: type_name::<B>(),
            size: settings.size,
            mailbox: settings.mailbox,
            restarts: AtomicU64::new(0),
            stuck: AtomicU64::new(0),
        };
        let now = ctx.now();
        PoolWorkers {
            shared: SharedPool::new(ctx.pid(), ctx.host(), routing, rules, bucket, moves, numbers),
            records,
            state: Some(PoolState::Starting),
            starts: Starts::new(settings.init_timeout),
            exits: VecDeque::new(),
            adding: VecDeque::new(),
            to_be_added: 0,
            leaving: BTreeMap::new(),
            former: BTreeMap::new(),
            ended: Vec::new(),
            left_behind: BTreeSet::new(),
            given_up: BTreeSet::new(),
            vacancies: Vacancies::new(settings.back_off),
            window: settings.intensity.map(|(most, period)| RestartWindow::new(most, period)),
            plan: settings.elastic.map(|elastic| ElasticPlan::new(elastic, now)),
            stuck: settings.stuck.map(|limit| StuckSearch::new(limit, now)),
            report: settings.report.map(|period| now + period),
            factory,
            settings,
        }
    }

    /// The route to the workers.
    pub(super) fn entrance(&self) -> PoolRoute<B::Message, B::Command, R> {
        PoolRoute(Arc::clone(&self.shared))
    }

    pub(super) fn pids(&self) -> Vec<Pid> {
        self.shared.workers().iter().map(|worker| worker.address.pid()).collect()
    }

    /// Stops accepting jobs. `told` is answered when all accepted jobs are done.
    pub(super) fn drain(&mut self, told: Option<Reply<()>>) {
        let shared = Arc::downgrade(&self.shared);
        let closed = move || shared.upgrade().is_none_or(|shared| shared.gate() == Gate::Closed);
        let mark: Mark = Arc::new(Drained {
            told: Mutex::new(told),
            pool: self.shared.pid,
            closed: Box::new(closed),
        });
        self.shared.drain(&mark);
    }

    pub(super) fn reopen(&mut self) -> bool {
        self.shared.open()
    }
}

/// The mark of a drain. It is dropped when everything before it is done.
struct Drained {
    told: Mutex<Option<Reply<()>>>,
    pool: Pid,
    closed: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Drop for Drained {
    fn drop(&mut self) {
        match self.told.get_mut().take() {
            Some(told) if (self.closed)() => told.fail(CallError::NoProcess { to: self.pool }),
            Some(told) => told.send(()),
            None => {}
        }
    }
}
