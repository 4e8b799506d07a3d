//! What a pool's process knows of workers that end before they are known to have started, and
//! what a pool lets go of when it is over: on the host of the models, one step at a time.

use super::command::PoolCommand;
use super::pool_workers::PoolWorkers;
use super::pool_workers::exits::ExitOrigin;
use super::routing::{Choice, RoundRobin, Routing, Workers};
use super::settings::PoolSettings;
use super::shared::{PoolNumbers, Rules, SharedPool};
use super::starting::{Started, Starts, WorkerPurpose};
use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::host::host::Host;
use crate::host::shared_host::SharedHost;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::mailbox::overflow::Overflow;
use crate::models::model_host::ModelHost;
use crate::process::cell::{Cell, NewProcess};
use crate::process::facts::BehaviorFacts;
use crate::process::process::Process;
use crate::received::Received;
use krarup_gen::{Exit, Pid, ProcessKind, Reason, SpawnError};
use std::convert::Infallible;
use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{self, Poll, Waker};
use std::time::Duration;

type OwnContext = Context<u32, PoolCommand<Infallible>>;

/// A host that is never closed.
fn host() -> Arc<ModelHost> {
    ModelHost::until(u64::MAX)
}

/// The context of a pool's process that nobody runs.
fn context(host: &Arc<ModelHost>) -> OwnContext {
    let host: Arc<dyn Host> = host.host();
    let cell = Arc::new(Cell::new(NewProcess {
        pid: host.next_pid(),
        parent: None,
        shared: SharedHost::of(Arc::clone(&host)),
        behavior: &BehaviorFacts {
            label: || "pool",
            kind: ProcessKind::default,
            show_message: |_| None,
            show_command: |_| None,
            routes_main: || false,
            one_thread: false,
            future: 0,
        },
        bound: UNBOUNDED,
        overflow: Overflow::Refuse,
    }));
    host.admit(Arc::clone(&cell) as Arc<dyn Process>, None).unwrap();
    let mut ctx = Context::new(cell);
    ctx.trap_exits(true);
    ctx
}

fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut task::Context::from_waker(Waker::noop()))
}

/// What a worker does.
#[derive(Clone, Copy)]
enum TestWorker {
    /// Ends as soon as it has initialised.
    Short,
    /// Fails to initialise.
    Failing,
    /// Handles what comes, and ends when it is to finish.
    Long,
}

impl Behavior for TestWorker {
    type Message = u32;
    type Command = u32;

    async fn run(self, mut ctx: Context<u32, u32>) -> Result<(), Reason> {
        if matches!(self, TestWorker::Failing) {
            return Err(Reason::error("failed"));
        }
        ctx.initialised();
        if matches!(self, TestWorker::Short) {
            return Err(Reason::error("boom"));
        }
        while !matches!(ctx.receive().await, Received::Finish | Received::Stop(_)) {}
        Ok(())
    }
}

type Staff = PoolWorkers<TestWorker, RoundRobin>;

/// The workers of a pool that makes these, one after the other.
fn pool_workers(ctx: &OwnContext, lives: &'static [TestWorker]) -> Staff {
    let made = AtomicUsize::new(0);
    let factory = Arc::new(move || lives[made.fetch_add(1, Ordering::Relaxed)]);
    PoolWorkers::new(ctx, factory, RoundRobin::new(), PoolSettings::new(lives.len()))
}

fn next_started(pool_workers: &mut Staff) -> Started<u32, u32> {
    let mut cx = task::Context::from_waker(Waker::noop());
    match pool_workers.poll_started(&mut cx) {
        Poll::Ready(started) => started,
        Poll::Pending => panic!("it has started"),
    }
}

/// The exit notices that the pool has got.
fn exits(ctx: &mut OwnContext) -> Vec<Exit> {
    let mut exits = Vec::new();
    while let Poll::Ready(Received::Exit(exit)) = poll(pin!(ctx.receive_control())) {
        exits.push(exit);
    }
    exits
}

/// Starts so many workers, which have their places then.
fn install(host: &ModelHost, pool_workers: &mut Staff, ctx: &mut OwnContext, count: usize) {
    for _ in 0..count {
        pool_workers.begin(ctx, WorkerPurpose::First).unwrap();
        host.settle();
        let started = next_started(pool_workers);
        pool_workers.settle(ctx, started).unwrap();
    }
    pool_workers.open();
}

#[test]
fn the_end_of_a_worker_that_is_not_known_to_have_started_is_heard_when_it_has_its_place() {
    let host = host();
    let mut ctx = context(&host);
    let mut pool_workers = pool_workers(&ctx, &[TestWorker::Short, TestWorker::Short]);
    for _ in 0..2 {
        pool_workers.begin(&ctx, WorkerPurpose::First).unwrap();
    }
    host.settle();
    let exits = exits(&mut ctx);
    assert_eq!(exits.len(), 2);
    // The end of the second alone has been heard of so far.
    assert!(matches!(pool_workers.note_exit(&mut ctx, &exits[1]), ExitOrigin::Stale));
    let stranger = Exit { pid: host.host().next_pid(), reason: Reason::Normal };
    assert!(matches!(pool_workers.note_exit(&mut ctx, &stranger), ExitOrigin::Other));
    for exit in &exits {
        assert!(pool_workers.next_exit().is_none(), "its start comes first");
        let started = next_started(&mut pool_workers);
        assert_eq!(started.worker.pid(), exit.pid);
        pool_workers.settle(&mut ctx, started).unwrap();
    }
    pool_workers.open();
    assert_eq!(pool_workers.next_exit(), Some(exits[1].clone()));
    assert!(pool_workers.next_exit().is_none(), "the notice of the first is still to come");
    assert!(pool_workers.retry_due().is_none(), "nobody is missing yet");
    for exit in exits.iter().rev() {
        assert!(matches!(pool_workers.note_exit(&mut ctx, exit), ExitOrigin::Worker));
        assert!(pool_workers.retry_due().is_some(), "its place is to be filled");
        assert!(matches!(pool_workers.note_exit(&mut ctx, exit), ExitOrigin::Stale), "it is stale");
    }
    host.clear();
}

#[test]
fn of_a_worker_that_has_not_started_no_end_is_heard() {
    let host = host();
    let mut ctx = context(&host);
    let mut pool_workers = pool_workers(&ctx, &[TestWorker::Failing, TestWorker::Long]);
    let gone = host.host().next_pid();
    pool_workers.begin(&ctx, WorkerPurpose::Replacement(gone)).unwrap();
    host.settle();
    for exit in exits(&mut ctx) {
        assert!(matches!(pool_workers.note_exit(&mut ctx, &exit), ExitOrigin::Stale));
    }
    let started = next_started(&mut pool_workers);
    assert!(matches!(started.outcome, Err(SpawnError::Init(_))));
    pool_workers.settle(&mut ctx, started).unwrap();
    assert!(pool_workers.next_exit().is_none());
    host.clear();
}

#[test]
fn an_end_is_that_of_the_start_that_it_is_of() {
    let host = host();
    let mut starts = Starts::new(Duration::from_secs(1));
    let workers: Vec<_> = (0..3).map(|_| Address::new(host.admit_new(UNBOUNDED))).collect();
    assert!(starts.is_empty());
    for worker in &workers {
        assert!(!starts.has(worker.pid()));
        let init = Box::pin(async { Ok(()) });
        starts.begin(WorkerPurpose::Added, worker.clone(), init);
        assert!(starts.has(worker.pid()));
    }
    let exit = Exit { pid: workers[1].pid(), reason: Reason::Kill };
    starts.note_exit(exit.clone());
    starts.note_exit(Exit { pid: host.host().next_pid(), reason: Reason::Normal });
    let mut cx = task::Context::from_waker(Waker::noop());
    for (worker, exit) in workers.iter().zip([None, Some(exit), None]) {
        let Poll::Ready(started) = starts.poll_next(&mut cx) else { panic!("it has started") };
        assert_eq!((started.worker.pid(), started.exit), (worker.pid(), exit));
        assert!(!starts.has(worker.pid()) && !started.left_behind);
    }
    assert!(starts.is_empty());
    host.clear();
}

#[test]
fn one_that_does_not_end_when_it_is_killed_is_left_behind() {
    let host = host();
    let limit = Duration::from_secs(1);
    let mut starts = Starts::new(limit);
    let worker = Address::new(host.admit_new(UNBOUNDED));
    starts.begin(WorkerPurpose::First, worker.clone(), Box::pin(pending()));
    let mut cx = task::Context::from_waker(Waker::noop());
    assert!(starts.poll_next(&mut cx).is_pending());
    // Its time is over, and so is the time that it has to end.
    host.time_passes();
    let Poll::Ready(started) = starts.poll_next(&mut cx) else { panic!("nobody waits for it") };
    assert_eq!((started.outcome, started.left_behind), (Err(SpawnError::Timeout(limit)), true));
    assert!(starts.is_empty());
    host.clear();
}

/// A worker, known for as long as anybody has it.
fn known(ctx: &OwnContext, pid: Pid) -> Weak<dyn Process> {
    Arc::downgrade(&ctx.host().process(pid).expect("it lives"))
}

#[test]
fn a_pool_lets_go_of_each_worker_that_has_ended_however_it_did() {
    type Ending = fn(&mut Staff, &mut OwnContext);
    let endings: [Ending; 4] = [
        |pool_workers, _| pool_workers.shared.workers()[0].address.process().kill(),
        |pool_workers, _| assert_eq!(pool_workers.let_go(1).changed, 1),
        |pool_workers, ctx| {
            let worker = pool_workers.shared.workers()[0].address.clone();
            pool_workers.give_up(vec![worker], ctx.now());
        },
        |pool_workers, ctx| {
            let worker = pool_workers.shared.workers()[0].address.clone();
            pool_workers.let_go(1);
            pool_workers.give_up(vec![worker], ctx.now());
        },
    ];
    for (number, end) in endings.into_iter().enumerate() {
        let host = host();
        let mut ctx = context(&host);
        let mut pool_workers = pool_workers(&ctx, &[TestWorker::Long]);
        install(&host, &mut pool_workers, &mut ctx, 1);
        let pid = pool_workers.pids()[0];
        let worker = known(&ctx, pid);
        end(&mut pool_workers, &mut ctx);
        pool_workers.forget_former(&mut ctx);
        assert!(worker.upgrade().is_some(), "{number}: it has not ended");
        host.settle();
        let exits = exits(&mut ctx);
        assert_eq!(exits.iter().map(|exit| exit.pid).collect::<Vec<_>>(), [pid], "{number}");
        let replaced = matches!(pool_workers.note_exit(&mut ctx, &exits[0]), ExitOrigin::Worker);
        assert_eq!(replaced, [true, false, true, false][number]);
        pool_workers.forget_former(&mut ctx);
        // Its place knows the worker that is missing until there is another.
        pool_workers.let_go(1);
        assert!(worker.upgrade().is_none(), "{number}: somebody still has it");
        host.clear();
    }
}

/// To the first, and to nobody else.
struct FirstOnly;

impl Routing<u32> for FirstOnly {
    fn choose(&self, _: u64, _: &Workers<'_>) -> Choice<u32> {
        Choice::Only(0)
    }
}

type TestPool<R> = Arc<SharedPool<u32, u32, R>>;

/// A pool with one worker that has no room, and that worker.
fn full<R: Routing<u32>>(model: &Arc<ModelHost>, routing: R) -> (TestPool<R>, Address<u32, u32>) {
    let host = model.host();
    let rules = Rules { overflow: Overflow::Refuse, time_to_live: None, records: None };
    let numbers = PoolNumbers {
        worker_behavior: "worker",
        size: 1,
        mailbox: Some(1),
        restarts: AtomicU64::new(0),
        stuck: AtomicU64::new(0),
    };
    let shared = SharedPool::new(host.next_pid(), &host, routing, rules, None, false, numbers);
    let worker = Address::new(model.admit_new(1));
    shared.add(&worker);
    worker.forward(1, 0).unwrap();
    (shared, worker)
}

#[test]
fn who_gives_up_waiting_leaves_nothing_in_any_line() {
    let host = host();
    let (shared, _) = full(&host, RoundRobin::new());
    let mut wait = Box::pin(Arc::clone(&shared).wait_for_room(0));
    assert!(poll(wait.as_mut()).is_pending());
    drop(wait);
    assert!(shared.line.next(true, |_| true).is_none());
    let (shared, worker) = full(&host, FirstOnly);
    let mut wait = Box::pin(Arc::clone(&shared).wait_for_room(0));
    assert!(poll(wait.as_mut()).is_pending() && worker.has_line());
    drop(wait);
    assert!(!worker.has_line() && shared.at_workers.next(true, |_| true).is_none());
    host.clear();
}
