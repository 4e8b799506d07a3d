//! What a pool's own process does beside keeping workers, and what its workers are (rules P3,
//! P5, P7, P14).

use crate::pool_support::{Job, PoolAddress, Worker, done, millis, seconds, workers};
use crate::support::{Does, Log, boom, poll_once, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::Overflow;
use krarup::observe::{DeadLetter, Lifecycle};
use krarup::pool::{PoolBehavior, PoolContext, ResizeError, Resized};
use krarup::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// What the pools here can be told.
#[derive(Debug)]
enum Order {
    Grow(usize, Reply<Result<Resized, ResizeError>>),
    Shrink(usize, Reply<Result<Resized, ResizeError>>),
    Numbers(Reply<(usize, u64)>),
    Ignored(#[allow(dead_code, reason = "dropped")] Reply<()>),
    Watch(Pid),
    Link(Pid),
    Listen,
    Drain(Reply<()>),
    Reopen(Reply<bool>),
    Heard(String),
    Fail(Reason),
    Panic,
    Stop,
    Note(u32),
}

impl From<Lifecycle> for Order {
    fn from(event: Lifecycle) -> Self {
        Order::Heard(format!("{event:?}"))
    }
}

impl From<DeadLetter> for Order {
    fn from(letter: DeadLetter) -> Self {
        Order::Heard(format!("letter: {letter}"))
    }
}

struct Manager {
    log: Log,
    init: Result,
}

type Pooled<'a> = PoolContext<'a, Job, Order>;
type ManagedPool = Address<Job, PoolCommand<Order>>;

impl PoolBehavior for Manager {
    type Job = Job;
    type Command = Order;

    async fn init(&mut self, pool: &mut Pooled<'_>) -> Result {
        let early = pool.add_workers(3).await;
        self.log.note(format!("init {} {}", pool.workers().len(), early.unwrap_err()));
        self.init.clone()
    }

    async fn handle_command(&mut self, pool: &mut Pooled<'_>, order: Order) -> Result {
        match order {
            Order::Grow(count, reply) => reply.send(pool.add_workers(count).await),
            Order::Shrink(count, reply) => reply.send(pool.remove_workers(count)),
            Order::Numbers(reply) => {
                reply.send((pool.workers().len(), pool.statistics().forwarded));
            }
            Order::Ignored(_) => {}
            Order::Watch(pid) => drop(pool.monitor(pid)),
            Order::Link(pid) => pool.link(pid),
            Order::Listen => {
                pool.watch_lifecycle();
                pool.watch_dead_letters();
            }
            Order::Drain(reply) => {
                pool.drain();
                reply.send(());
            }
            Order::Reopen(reply) => reply.send(pool.reopen()),
            Order::Heard(what) => self.log.note(what),
            Order::Fail(reason) => return Err(reason),
            Order::Panic => panic!("as told"),
            Order::Stop => pool.stop(),
            Order::Note(n) => self.log.note(format!("order {n}")),
        }
        Ok(())
    }

    async fn handle_worker_exit(&mut self, _: &mut Pooled<'_>, exit: &Exit) -> Result {
        self.log.note(format!("worker exit {}", exit.reason));
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Pooled<'_>, exit: Exit) -> Result {
        self.log.note(format!("exit {}", exit.reason));
        if exit.reason == Reason::Shutdown { Err(exit.reason) } else { Ok(()) }
    }

    async fn handle_down(&mut self, _: &mut Pooled<'_>, down: Down) -> Result {
        self.log.note(format!("down {}", down.reason));
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("managed", true)
    }

    async fn terminate(&mut self, pool: &mut Pooled<'_>, reason: &Reason) {
        self.log.note(format!("terminate {reason}, {} workers", pool.workers().len()));
    }
}

/// A pool of two whose behaviour notes in the first log; its workers note in the second.
fn managed(sim: &Simulation, log: &Log, jobs: &Log) -> ManagedPool {
    let (log, factory) = (log.clone(), workers(jobs));
    let pool = move || {
        let manager = Manager { log: log.clone(), init: Ok(()) };
        Pool::new(2, factory.clone()).mailbox(5).behavior(manager)
    };
    sim.spawn(pool).wait().unwrap()
}

#[test]
fn p14_commands_and_calls_of_ones_own_reach_the_pool_and_never_its_workers() {
    for sim in simulations(20) {
        let (log, jobs) = (Log::new(), Log::new());
        let pool = managed(&sim, &log, &jobs);
        let early = format!("init 0 pool {} cannot be resized: it is starting", pool.pid());
        assert_eq!(log.take(), [early], "in init there are no workers, nor can they be added");
        pool.send(Job::Note(1)).unwrap();
        pool.command(Order::Note(2)).unwrap();
        pool.send_max(PoolCommand::Own(Order::Note(3))).unwrap();
        sim.run_until_idle();
        assert_eq!(
            (log.take_sorted(), done(&jobs)),
            (vec!["order 2".into(), "order 3".into()], vec![1])
        );
        assert_eq!(pool.ask(Order::Numbers).wait().unwrap(), (2, 1));
        // A call that is not answered fails at once, and no worker sees it.
        assert_eq!(pool.ask(Order::Ignored).wait(), Err(CallError::NoReply { to: pool.pid() }));
        assert_eq!(sim.now().as_nanos(), 0);
        assert_eq!(pool.ask(Order::Numbers).wait().unwrap(), (2, 1));
    }
}

#[test]
fn p14_urgent_commands_come_before_others() {
    for sim in simulations(20) {
        let (log, jobs) = (Log::new(), Log::new());
        let pool = managed(&sim, &log, &jobs);
        log.take();
        (0..3).for_each(|n| pool.command(Order::Note(n)).unwrap());
        pool.send_max(PoolCommand::Own(Order::Note(9))).unwrap();
        (0..5).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        sim.run_until_idle();
        assert_eq!(log.take(), ["order 9", "order 0", "order 1", "order 2"]);
    }
}

#[test]
fn p14_workers_are_added_and_removed_from_within_commands() {
    for sim in simulations(20) {
        let (log, jobs) = (Log::new(), Log::new());
        let pool = managed(&sim, &log, &jobs);
        let grown = pool.ask(|reply| Order::Grow(3, reply)).wait().unwrap().unwrap();
        assert_eq!(grown, Resized { size: 5, changed: 3 });
        let order = pool.workers().wait().unwrap();
        for expected in &order {
            assert_eq!(pool.call(Job::Who).wait().unwrap(), *expected);
        }
        (0..5).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let shrunk = pool.ask(|reply| Order::Shrink(4, reply)).wait().unwrap().unwrap();
        assert_eq!(shrunk, Resized { size: 1, changed: 4 });
        sim.advance(seconds(2));
        assert_eq!(done(&jobs).len(), 5, "their accepted jobs are done");
        assert_eq!(pool.workers().wait().unwrap(), order[4..]);
        pool.ask(Order::Drain).wait().unwrap();
        assert!(matches!(
            pool.send(Job::Note(0)),
            Err(SendError::Draining { to, .. }) if to == pool.pid()
        ));
        assert_eq!(pool.ask(Order::Reopen).wait(), Ok(true));
        assert_eq!(pool.ask(Order::Reopen).wait(), Ok(false));
        assert_eq!(pool.call(Job::Who).wait(), Ok(order[4]));
    }
}

#[test]
fn p14_exits_downs_and_events_reach_the_pool_itself() {
    for sim in simulations(10) {
        let (log, jobs) = (Log::new(), Log::new());
        let pool = managed(&sim, &log, &jobs);
        let other = puppet(&sim, "other", &Log::new());
        let third = puppet(&sim, "third", &Log::new());
        pool.command(Order::Watch(other.pid())).unwrap();
        pool.command(Order::Link(third.pid())).unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        sim.kill(other.pid());
        sim.run_until_idle();
        sim.kill(third.pid());
        sim.run_until_idle();
        assert_eq!(log.take()[1..], ["worker exit boom", "down killed", "exit killed"]);
        pool.command(Order::Listen).unwrap();
        sim.run_until_idle();
        let fourth = puppet(&sim, "fourth", &Log::new());
        sim.kill(fourth.pid());
        sim.run_until_idle();
        assert!(fourth.send(crate::support::Act::nothing()).is_err());
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines.iter().any(|line| line.starts_with("Ended")), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("letter:")), "{lines:?}");
        assert!(done(&jobs).is_empty(), "no worker received any of it");
        assert!(pool.is_alive());
    }
}

#[test]
fn p14_the_inspection_includes_that_of_the_behaviour() {
    let sim = Simulation::new(1);
    let pool = managed(&sim, &Log::new(), &Log::new());
    let inspection = pool.inspect().wait().unwrap();
    let items: Vec<_> = inspection.iter().map(|(item, _)| item.to_owned()).collect();
    let expected = [
        "pool_size",
        "workers",
        "worker_behavior",
        "worker_mailbox_size",
        "worker_restarts",
        "messages_forwarded",
        "messages_unhandled",
        "waiting",
        "managed",
    ];
    assert_eq!(items, expected);
}

#[test]
fn p14_terminate_runs_once_when_the_workers_have_ended_and_not_when_it_is_killed() {
    type End = fn(&Simulation, &ManagedPool);
    let ends: [(End, &str); 7] = [
        (|_, pool| pool.command(Order::Fail(boom())).unwrap(), "terminate boom, 0 workers"),
        (|_, pool| pool.command(Order::Stop).unwrap(), "terminate normal, 0 workers"),
        (|_, pool| pool.command(Order::Panic).unwrap(), "terminate panic"),
        (|_, pool| drop(pool.stop().wait()), "terminate normal, 0 workers"),
        (|_, pool| pool.finish(), "terminate normal, 0 workers"),
        (|sim, pool| sim.exit(pool.pid(), Reason::Shutdown), "terminate shutdown, 0 workers"),
        (|sim, pool| sim.kill(pool.pid()), ""),
    ];
    for (n, (end, expected)) in ends.into_iter().enumerate() {
        for sim in simulations(5) {
            let log = Log::new();
            let pool = managed(&sim, &log, &Log::new());
            pool.send(Job::Slow(1, millis(1))).unwrap();
            end(&sim, &pool);
            sim.advance(seconds(9));
            assert_eq!(sim.stats().processes, 0, "way {n}");
            let lines = log.take();
            let terminated: Vec<_> = lines.iter().filter(|l| l.starts_with("terminate")).collect();
            assert_eq!(terminated.len(), usize::from(!expected.is_empty()), "way {n}: {lines:?}");
            assert!(terminated.iter().all(|line| line.starts_with(expected)), "{lines:?}");
        }
    }
}

#[test]
fn p14_an_init_that_fails_fails_the_spawn_and_leaves_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let manager = Manager { log: log.clone(), init: Err(boom()) };
    let factory = workers(&log);
    let failed = sim.spawn(move || Pool::new(2, factory).behavior(manager)).name("pool").wait();
    assert_eq!(failed.unwrap_err(), SpawnError::Init(boom()));
    assert_eq!((sim.stats().processes, log.take().len()), (0, 1));
    assert!(sim.whereis("pool").is_none());
}

#[test]
fn p14_a_worker_whose_init_fails_fails_the_spawn_of_the_pool_and_ends_the_others() {
    struct Fifth(Log);
    impl Actor for Fifth {
        type Message = Job;
        async fn init(&mut self, _: &mut Context<Job>) -> Result {
            self.0.note("init");
            if self.0.lines().len() == 3 { Err(boom()) } else { Ok(()) }
        }
        async fn handle_message(&mut self, _: &mut Context<Job>, _: Job) -> Result {
            Ok(())
        }
    }
    for sim in simulations(10) {
        let log = Log::new();
        let failed = sim.spawn(move || Pool::new(5, move || Fifth(log.clone()))).wait();
        assert_eq!(failed.unwrap_err(), SpawnError::Init(boom()));
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p1_workers_are_actors_pools_or_bare_behaviours_and_keep_their_arguments() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let greeting = "hello".to_owned();
        let bare = move || {
            let (log, greeting) = (noted.clone(), greeting.clone());
            behavior_fn(move |mut ctx: Context<Job>| async move {
                loop {
                    match ctx.receive().await {
                        Received::Message(Job::End(reason)) => return Err(reason),
                        Received::Message(_) => log.note(format!("{greeting} {}", ctx.pid())),
                        Received::Finish => return Ok(()),
                        _ => {}
                    }
                }
            })
        };
        let pool = sim.spawn(move || Pool::new(2, bare)).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        pool.add_workers(1).wait().unwrap();
        (0..3).for_each(|n| pool.send(Job::Note(n)).unwrap());
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines.iter().all(|line| line.starts_with("hello")));
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), 3);
        let deep = workers(&log);
        let inner = move || Pool::new(2, deep.clone());
        let middle = move || Pool::new(2, inner.clone());
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, middle)).wait().unwrap();
        let leaves: BTreeSet<_> = (0..8).map(|_| pool.call(Job::Who).wait().unwrap()).collect();
        assert_eq!(leaves.len(), 8);
    }
}

#[test]
fn p7_an_ending_pool_with_a_behaviour_ends_its_workers_and_fails_its_calls() {
    for sim in simulations(10) {
        let (log, jobs) = (Log::new(), Log::new());
        let pool = managed(&sim, &log, &jobs);
        let mut asked = pool.call(|reply| Job::Ask(reply, seconds(3))).into_future();
        assert!(poll_once(&mut asked).is_pending());
        sim.run_until_idle();
        pool.command(Order::Fail(boom())).unwrap();
        sim.advance(seconds(9));
        // The worker is asked in order: it finishes what it has in hand.
        assert!(matches!(poll_once(&mut asked), Poll::Ready(Ok(_) | Err(_))));
        assert_eq!(sim.stats().processes, 0);
        assert!(matches!(
            pool.command(Order::Stop),
            Err(SendError::NoProcess { message: Order::Stop, to, .. }) if to == pool.pid()
        ));
        let _ = Worker(log);
    }
}

/// A worker whose start takes a second.
struct Late(Worker);

impl Actor for Late {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        ctx.sleep(seconds(1)).await;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        self.0.handle_message(ctx, job).await
    }
}

#[test]
fn p4_a_starting_pool_answers_inspections_and_defers_other_requests_in_order() {
    for sim in simulations(10) {
        let (log, jobs) = (Log::new(), Log::new());
        let (noted, factory) = (log.clone(), workers(&jobs));
        let late = move || Late(factory());
        let manager = Manager { log: noted, init: Ok(()) };
        let pool: ManagedPool =
            sim.spawn(move || Pool::new(3, late).behavior(manager)).start().unwrap();
        sim.advance(millis(1_500));
        log.take();
        let begun = sim.now();
        assert_eq!(pool.workers().wait().unwrap().len(), 1);
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.places, numbers.workers, numbers.pool_size), (1, 1, 3));
        let inspection = pool.inspect().wait().unwrap();
        assert_eq!(
            (inspection.number("workers"), inspection.number("pool_size")),
            (Some(1), Some(3))
        );
        let refused = pool.remove_workers(1).wait().unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("pool {} cannot be resized: it is starting", pool.pid())
        );
        assert_eq!(sim.now(), begun, "it has waited for nothing");
        // A signal of a stranger is of no haste, and holds no command up.
        let other = puppet(&sim, "other", &Log::new());
        let to = pool.pid();
        other.tells(move |ctx| ctx.exit(to, boom()));
        sim.run_until_idle();
        assert_eq!(pool.workers().wait().unwrap().len(), 1);
        (0..3).for_each(|n| pool.command(Order::Note(n)).unwrap());
        // What comes behind a command that is held is held as well.
        let mut workers = pool.workers().into_future();
        let mut numbers = pool.statistics().into_future();
        let mut added = pool.add_workers(1).into_future();
        let mut removed = pool.remove_workers(1).into_future();
        assert!(poll_once(&mut workers).is_pending() && poll_once(&mut numbers).is_pending());
        assert!(poll_once(&mut added).is_pending() && poll_once(&mut removed).is_pending());
        let seen = pool.inspect().wait().unwrap();
        assert_eq!((seen.number("workers"), sim.now()), (Some(1), begun), "but for an inspection");
        sim.advance(millis(1_499));
        assert!(poll_once(&mut workers).is_pending() && log.lines().is_empty());
        assert!(poll_once(&mut added).is_pending() && poll_once(&mut removed).is_pending());
        sim.advance(millis(1));
        assert_eq!(log.take(), ["order 0", "order 1", "order 2", "exit boom"]);
        assert!(matches!(poll_once(&mut workers), Poll::Ready(Ok(pids)) if pids.len() == 3));
        assert!(matches!(poll_once(&mut numbers), Poll::Ready(Ok(numbers)) if numbers.places == 3));
        assert_eq!(poll_once(&mut removed), Poll::Ready(Ok(Resized { size: 2, changed: 1 })));
        sim.advance(seconds(1));
        assert_eq!(poll_once(&mut added), Poll::Ready(Ok(Resized { size: 3, changed: 1 })));
    }
}

#[test]
fn p7_a_pool_ends_with_the_reason_that_it_was_given() {
    let reasons = [Reason::Normal, Reason::Shutdown, boom()];
    for reason in reasons {
        for sim in simulations(3) {
            let pool = managed(&sim, &Log::new(), &Log::new());
            let end = pool.watch();
            pool.stop().reason(reason.clone()).wait().unwrap();
            assert_eq!(end.wait().unwrap().reason, reason);
            let pool = managed(&sim, &Log::new(), &Log::new());
            let end = pool.watch();
            pool.command(Order::Fail(reason.clone())).unwrap();
            assert_eq!(end.wait().unwrap().reason, reason);
            assert_eq!(sim.stats().processes, 0);
        }
    }
}

/// Receives what comes next itself.
struct Receives(Log);

impl PoolBehavior for Receives {
    type Job = Job;
    type Command = ();

    async fn handle_command(&mut self, pool: &mut PoolContext<'_, Job, ()>, (): ()) -> Result {
        let stop = pool.receive().await;
        self.0.note(matches!(stop, Received::Stop(_)));
        Ok(())
    }
}

#[test]
fn p7_a_pool_whose_callback_receives_a_stop_ends_with_its_reason() {
    for reason in [Reason::Normal, Reason::Shutdown, boom()] {
        for sim in simulations(3) {
            let (log, factory) = (Log::new(), workers(&Log::new()));
            let receives = Receives(log.clone());
            let pool = sim.spawn(move || Pool::new(1, factory).behavior(receives)).wait().unwrap();
            let end = pool.watch();
            pool.command(()).unwrap();
            sim.run_until_idle();
            pool.stop().reason(reason.clone()).wait().unwrap();
            assert_eq!(
                (end.wait().unwrap().reason, log.take()),
                (reason.clone(), vec!["true".into()])
            );
            assert_eq!(sim.stats().processes, 0);
        }
    }
}

#[test]
fn p7_the_last_sender_to_use_user_code_of_a_pool_survives_its_destructor() {
    struct Bomb(Log);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.note("dropped");
            panic!("a destructor of a user's");
        }
    }
    let node = krarup::Node::builder("p7").workers(2).start().unwrap();
    let (log, jobs) = (Log::new(), Log::new());
    let (asked, asks) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let (bomb, may_go, factory) =
        (Bomb(log.clone()), std::sync::Mutex::new(may_go), workers(&jobs));
    let limit = move |_: &Job| {
        let _kept = &bomb;
        asked.send(()).unwrap();
        may_go.lock().unwrap().recv().unwrap();
        None
    };
    let pool: PoolAddress =
        node.spawn(move || Pool::new(1, factory).time_to_live_of(limit)).wait().unwrap();
    let to = pool.clone();
    let sender = std::thread::spawn(move || {
        let sent = to.send(Job::Note(1));
        matches!(sent, Err(SendError::NoProcess { to: pool, .. }) if pool == to.pid())
    });
    asks.recv().unwrap();
    pool.stop().wait().unwrap();
    assert!(log.lines().is_empty(), "it is in use");
    go.send(()).unwrap();
    assert!(sender.join().unwrap(), "the message came back");
    assert_eq!(log.take(), ["dropped"]);
    node.stop().wait().unwrap();
}

#[test]
fn p14_each_worker_end_is_reported_once_and_removed_workers_never() {
    for sim in simulations(10) {
        let (log, jobs) = (Log::new(), Log::new());
        let (manager, factory) = (Manager { log: log.clone(), init: Ok(()) }, workers(&jobs));
        let pool = move || Pool::new(3, factory).stuck_limit(seconds(3)).behavior(manager);
        let pool: ManagedPool = sim.spawn(pool).wait().unwrap();
        log.take();
        // One fails, one is killed, one ends as it is to.
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        pool.send(Job::End(Reason::Normal)).unwrap();
        sim.run_until_idle();
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        assert_eq!(log.take(), ["worker exit boom", "worker exit normal", "worker exit killed"]);
        // Two are stuck: one is removed before it is found out.
        (0..2).for_each(|_| pool.send(Job::Hang).unwrap());
        sim.run_until_idle();
        pool.send(Job::Note(1)).unwrap();
        pool.remove_workers(1).wait().unwrap();
        sim.advance(seconds(3));
        assert_eq!(log.take(), ["worker exit killed"]);
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.stuck, numbers.restarts, numbers.workers), (2, 4, 2));
        pool.remove_workers(1).wait().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), [""; 0]);
        // Nor of those that end with the pool.
        pool.stop().wait().unwrap();
        assert_eq!(log.take(), ["terminate normal, 0 workers"]);
    }
}

#[test]
fn p14_a_pool_does_not_receive_its_own_dead_letters() {
    for sim in simulations(5) {
        let (log, jobs) = (Log::new(), Log::new());
        let (manager, factory) = (Manager { log: log.clone(), init: Ok(()) }, workers(&jobs));
        let pool = move || {
            let pool = Pool::new(1, factory).mailbox(1).overflow(Overflow::DropNewest);
            pool.behavior(manager)
        };
        let pool: ManagedPool = sim.spawn(pool).wait().unwrap();
        pool.ask(Order::Drain).wait().unwrap();
        assert!(pool.reopen().wait().unwrap());
        pool.command(Order::Listen).unwrap();
        sim.run_until_idle();
        log.take();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        (0..4).for_each(|n| pool.send(Job::Note(n)).unwrap());
        sim.run_until_idle();
        assert_eq!((sim.stats().dead_letters, log.take()), (3, vec![]));
        // Those of others it hears once each, until it ends.
        let other = puppet(&sim, "other", &Log::new());
        sim.kill(other.pid());
        sim.run_until_idle();
        log.take();
        (0..2).for_each(|_| assert!(other.send(crate::support::Act::nothing()).is_err()));
        sim.run_until_idle();
        assert_eq!(log.count("letter:"), 2);
        sim.kill(pool.pid());
        sim.run_until_idle();
        log.take();
        assert!(other.send(crate::support::Act::nothing()).is_err());
        sim.run_until_idle();
        assert_eq!((log.take().len(), sim.stats().processes), (0, 0));
    }
}

/// A pool's behaviour that does nothing of its own but to note what it may do, and when.
struct Tries(Log);

impl PoolBehavior for Tries {
    type Job = Job;
    type Command = bool;

    async fn init(&mut self, pool: &mut PoolContext<'_, Job, bool>) -> Result {
        self.tries(pool).await;
        Ok(())
    }

    async fn handle_command(
        &mut self,
        pool: &mut PoolContext<'_, Job, bool>,
        tries: bool,
    ) -> Result {
        if tries {
            self.tries(pool).await;
        } else {
            self.0.note(format!("reopened {}", pool.reopen()));
        }
        Ok(())
    }

    async fn terminate(&mut self, pool: &mut PoolContext<'_, Job, bool>, _: &Reason) {
        self.tries(pool).await;
    }
}

impl Tries {
    async fn tries(&self, pool: &mut PoolContext<'_, Job, bool>) {
        let pid = pool.pid().to_string();
        let said = |done: Result<Resized, ResizeError>| match done {
            Ok(resized) => format!("{} of {}", resized.changed, resized.size),
            Err(error) => error.to_string().replace(&pid, "it"),
        };
        let none = said(pool.add_workers(0).await);
        let added = said(pool.add_workers(1).await);
        let removed = said(pool.remove_workers(1));
        self.0.note(format!("{none}; {added}; {removed}; {}", pool.workers().len()));
    }
}

#[test]
fn p14_worker_operations_of_a_behaviour_depend_on_the_state_of_the_pool() {
    for sim in simulations(5) {
        let log = Log::new();
        let (tries, fails) = (Tries(log.clone()), Arc::new(AtomicBool::new(false)));
        let (failing, factory) = (Arc::clone(&fails), workers(&Log::new()));
        let factory = move || {
            assert!(!failing.load(Ordering::Relaxed), "the factory fails");
            factory()
        };
        let pool = move || Pool::new(2, factory).behavior(tries);
        let pool: Address<Job, PoolCommand<bool>> = sim.spawn(pool).wait().unwrap();
        let at = |state: &str, size: usize| {
            let error = format!("pool it cannot be resized: it is {state}");
            format!("{error}; {error}; {error}; {size}")
        };
        assert_eq!(log.take(), [at("starting", 0)]);
        pool.command(true).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["0 of 2; 1 of 3; 1 of 2; 2"]);
        fails.store(true, Ordering::Relaxed);
        pool.command(true).unwrap();
        sim.run_until_idle();
        let line = log.take().concat();
        assert!(line.starts_with("0 of 2; 0 of 1 workers added, and the next failed"), "{line}");
        assert!(line.ends_with("; 1 of 1; 1"), "{line}");
        pool.drain().wait().unwrap();
        pool.command(true).unwrap();
        (0..2).for_each(|_| pool.command(false).unwrap());
        sim.run_until_idle();
        assert_eq!(log.take(), [at("drained", 1), "reopened true".into(), "reopened false".into()]);
        // An exit signal of a stranger that is no failure is nothing to a pool that does not care.
        sim.exit(pool.pid(), Reason::Normal);
        sim.run_until_idle();
        assert!(pool.is_alive());
        let end = pool.watch();
        sim.exit(pool.pid(), boom());
        assert_eq!(end.wait().unwrap().reason, boom());
        assert_eq!(log.take(), [at("stopping", 0)]);
    }
}

/// The behaviour of a pool that panics in `terminate`, or when it is dropped.
struct Brittle {
    in_terminate: bool,
    in_drop: bool,
}

impl PoolBehavior for Brittle {
    type Job = Job;
    type Command = Reason;

    async fn handle_command(
        &mut self,
        _: &mut PoolContext<'_, Job, Reason>,
        reason: Reason,
    ) -> Result {
        Err(reason)
    }

    async fn terminate(&mut self, _: &mut PoolContext<'_, Job, Reason>, _: &Reason) {
        assert!(!self.in_terminate, "in terminate");
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        assert!(!self.in_drop, "in drop");
    }
}

#[test]
fn p14_a_pool_ends_with_the_first_failure_on_its_way_out() {
    for (in_terminate, in_drop) in [(true, false), (false, true), (true, true)] {
        for (reason, first) in [
            (boom(), "boom"),
            (Reason::Normal, if in_terminate { "in terminate" } else { "in drop" }),
        ] {
            let sim = Simulation::new(1);
            let factory = workers(&Log::new());
            let pool = move || Pool::new(1, factory).behavior(Brittle { in_terminate, in_drop });
            let pool = sim.spawn(pool).wait().unwrap();
            let end = pool.watch();
            pool.command(reason).unwrap();
            let ended = end.wait().unwrap().reason.to_string();
            assert!(ended.contains(first), "{ended}, not {first}");
            assert_eq!(sim.stats().processes, 0);
        }
    }
}

/// What a pool is to be told of the life of others, and cannot be of their ends.
struct Untold(Lifecycle);

impl From<Lifecycle> for Untold {
    fn from(event: Lifecycle) -> Self {
        assert!(!matches!(event, Lifecycle::Ended { .. }), "of a conversion");
        Untold(event)
    }
}

/// Notes of whom it hears.
struct Listens(Log);

impl PoolBehavior for Listens {
    type Job = Job;
    type Command = Untold;

    async fn init(&mut self, pool: &mut PoolContext<'_, Job, Untold>) -> Result {
        pool.watch_lifecycle();
        Ok(())
    }

    async fn handle_command(
        &mut self,
        _: &mut PoolContext<'_, Job, Untold>,
        Untold(event): Untold,
    ) -> Result {
        self.0.note(event.pid());
        Ok(())
    }

    fn handle_inspect(&self, _: &krarup::observe::InspectRequest) -> Inspection {
        Inspection::new().with("asked", 7_u64)
    }
}

#[test]
fn p14_an_event_that_cannot_be_converted_has_no_effect() {
    for sim in simulations(5) {
        let (log, factory) = (Log::new(), workers(&Log::new()));
        let heard = Log::new();
        let listens = Listens(heard.clone());
        let pool = sim.spawn(move || Pool::new(2, factory).behavior(listens)).wait().unwrap();
        let other = puppet(&sim, "other", &log);
        sim.kill(other.pid());
        sim.run_until_idle();
        assert!(!other.is_alive() && pool.is_alive());
        heard.take();
        // What comes after it can be told.
        let next = puppet(&sim, "next", &log).pid().to_string();
        sim.run_until_idle();
        assert_eq!(heard.take(), [next.clone(), next]);
        assert_eq!(pool.statistics().wait().unwrap().workers, 2);
        // It says of itself what is asked for.
        assert_eq!(pool.inspect().wait().unwrap().number("asked"), Some(7));
    }
}

/// A worker that never starts.
struct NeverStarts;

impl Actor for NeverStarts {
    type Message = u8;

    async fn init(&mut self, _: &mut Context<u8>) -> Result {
        std::future::pending().await
    }

    async fn handle_message(&mut self, _: &mut Context<u8>, _: u8) -> Result {
        Ok(())
    }
}

#[test]
fn m3_a_pool_ends_with_its_parent_though_a_worker_never_starts() {
    for sim in simulations(5) {
        let parent = sim.spawn(|| {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.spawn(|| Pool::new(2, || NeverStarts)).link().start()?;
                ctx.receive().await;
                Ok(())
            })
        });
        let parent = parent.start().unwrap();
        sim.run_until_idle();
        assert!(sim.processes().len() > 2);
        parent.send(()).unwrap();
        sim.advance(seconds(1));
        assert_eq!(sim.processes(), []);
    }
}
