//! Pools: rules P1 to P7.

use crate::support::{Guard, Log, boom, poll_once, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::pool::Resized;
use krarup::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

enum Job {
    /// Says who did it, and for whom.
    Who(Reply<(Pid, Option<Pid>)>),
    /// Notes that it was done.
    Note(u32),
    /// Ends the worker.
    End(Reason),
    /// Waits in the handler.
    Wait(Duration),
    /// Never answered.
    Hold(#[allow(dead_code, reason = "held")] Reply<()>, Duration),
}

struct Worker(Log);

impl Actor for Worker {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        match job {
            Job::Who(reply) => reply.send((ctx.pid(), ctx.sender())),
            Job::Note(number) => self.0.note(format!("{} {number}", ctx.pid())),
            Job::End(reason) => return Err(reason),
            Job::Wait(time) | Job::Hold(_, time) => ctx.sleep(time).await,
        }
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Job>, reason: &Reason) {
        self.0.note(format!("{} terminate {reason}", ctx.pid()));
    }
}

type PoolAddress = Address<Job, PoolCommand>;

fn pool(node: &Node, workers: usize, mailbox: usize, log: &Log) -> PoolAddress {
    let log = log.clone();
    let factory = move || Worker(log.clone());
    node.spawn(move || Pool::new(workers, factory).mailbox(mailbox)).wait().unwrap()
}

fn who(pool: &PoolAddress) -> Pid {
    pool.call(Job::Who).wait().unwrap().0
}

fn number(pool: &PoolAddress, item: &str) -> u64 {
    pool.inspect().wait().unwrap().number(item).unwrap()
}

#[test]
fn p1_work_goes_to_the_workers_in_strict_rotation() {
    for sim in simulations(20) {
        let pool = pool(&sim, 4, 10, &Log::new());
        let workers = pool.workers().wait().unwrap();
        assert_eq!(workers.len(), 4);
        for round in 0..12 {
            assert_eq!(who(&pool), workers[round % 4]);
        }
    }
}

#[test]
fn p1_the_rotation_is_strict_under_concurrent_senders() {
    let node = Node::builder("p1").workers(2).start().unwrap();
    let pool = pool(&node, 3, 1_000, &Log::new());
    let start = Arc::new(Barrier::new(3));
    let senders: Vec<_> = (0..3)
        .map(|_| {
            let (pool, start) = (pool.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                (0..300).map(|_| who(&pool)).collect::<Vec<_>>()
            })
        })
        .collect();
    let did: Vec<_> = senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
    for worker in pool.workers().wait().unwrap() {
        assert_eq!(did.iter().filter(|pid| **pid == worker).count(), 300);
    }
    node.stop().wait().unwrap();
}

#[test]
fn p1_the_worker_sees_the_original_sender_and_answers_directly() {
    for sim in simulations(10) {
        let log = Log::new();
        let inner = log.clone();
        let nested = move || {
            let log = inner.clone();
            Pool::new(2, move || Worker(log.clone())).mailbox(2)
        };
        let flat = pool(&sim, 2, 2, &log);
        let nested = sim.spawn(move || Pool::new(2, nested)).wait().unwrap();
        for pool in [flat, nested] {
            assert_eq!(pool.call(Job::Who).wait().unwrap().1, None);
            let noted = log.clone();
            let asks = behavior_fn(move |ctx: Context<()>| async move {
                for _ in 0..4 {
                    let (worker, sender) = pool.call(Job::Who).await?;
                    noted.note(sender == Some(ctx.pid()) && worker != pool.pid());
                }
                Ok(())
            });
            sim.spawn(move || asks).start().unwrap();
            sim.run_until_idle();
            assert_eq!(log.take(), ["true"; 4]);
        }
    }
}

#[test]
fn p1_nested_pools_rotate_over_all_leaves_and_share_their_bounds() {
    for sim in simulations(10) {
        let log = Log::new();
        let inner = log.clone();
        let nested = move || {
            let log = inner.clone();
            Pool::new(3, move || Worker(log.clone())).mailbox(2)
        };
        let pool = sim.spawn(move || Pool::new(2, nested)).wait().unwrap();
        let leaves: std::collections::BTreeSet<_> = (0..6).map(|_| who(&pool)).collect();
        assert_eq!(leaves.len(), 6);
        let accepted = (0..20).filter(|n| pool.send(Job::Note(*n)).is_ok()).count();
        assert_eq!(accepted, 12);
        assert_eq!(pool.waiting(), 12);
        sim.run_until_idle();
        assert_eq!(log.take().len(), 12);
        assert_eq!(number(&pool, "messages_forwarded"), 18);
        assert_eq!(number(&pool, "messages_unhandled"), 8);
    }
}

#[test]
fn p2_a_saturated_pool_refuses_at_once_with_the_message() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 3, 4, &log);
        for number in 0..12 {
            pool.send(Job::Note(number)).unwrap();
        }
        assert_eq!(pool.waiting(), 12);
        let refused = pool.send(Job::Note(99)).unwrap_err();
        assert!(refused.is_full());
        assert!(matches!(refused.into_message(), Job::Note(99)));
        let now = sim.now();
        let mut call = pool.call(Job::Who).into_future();
        assert_eq!(poll_once(&mut call), Poll::Ready(Err(CallError::Full { to: pool.pid() })));
        assert_eq!(number(&pool, "messages_unhandled"), 2);
        sim.run_until_idle();
        assert_eq!((log.count(" 99"), log.take().len()), (0, 12));
        assert_eq!(sim.now(), now);
        assert_eq!(number(&pool, "messages_forwarded"), 12);
        assert_eq!(sim.stats().dead_letters, 0, "a refused message is no dead letter");
    }
}

#[test]
fn p2_the_capacity_is_exact_with_all_workers_held() {
    let node = Node::builder("p2").workers(3).start().unwrap();
    let (entered, inside) = mpsc::channel();
    let gate = Arc::new(Mutex::new(()));
    let handled = Arc::new(AtomicUsize::new(0));
    let closed = gate.lock().unwrap();
    let (wait, count) = (Arc::clone(&gate), Arc::clone(&handled));
    let held = move || {
        let (entered, gate, count) = (entered.clone(), Arc::clone(&wait), Arc::clone(&count));
        behavior_fn(move |mut ctx: Context<()>| async move {
            while let Received::Message(()) = ctx.receive().await {
                let _ = entered.send(());
                drop(gate.lock());
                count.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        })
    };
    let pool = node.spawn(move || Pool::new(2, held).mailbox(5)).wait().unwrap();
    (0..2).for_each(|_| pool.send(()).unwrap());
    (0..2).for_each(|_| inside.recv().unwrap());
    let start = Arc::new(Barrier::new(4));
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let (pool, start) = (pool.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                (0..100).filter(|_| pool.send(()).is_ok()).count()
            })
        })
        .collect();
    let accepted: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
    assert_eq!(accepted, 10);
    let inspection = pool.inspect().wait().unwrap();
    assert_eq!(inspection.number("messages_forwarded"), Some(12));
    assert_eq!(inspection.number("messages_unhandled"), Some(390));
    drop(closed);
    (0..10).for_each(|_| inside.recv().unwrap());
    pool.remove_workers(2).wait().unwrap();
    pool.stop().wait().unwrap();
    assert_eq!(handled.load(Ordering::SeqCst), 12);
    node.stop().wait().unwrap();
}

#[test]
fn p3_commands_reach_the_pool_while_its_workers_are_full() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 2, 1, &log);
        (0..2).for_each(|_| pool.send(Job::Wait(Duration::from_secs(9))).unwrap());
        sim.run_until_idle();
        (0..2).for_each(|n| pool.send(Job::Note(n)).unwrap());
        let workers = pool.call_high(PoolCommand::Workers).wait().unwrap();
        let again = pool.call_max(PoolCommand::Workers).wait().unwrap();
        assert_eq!((workers.len(), workers == again), (2, true));
        assert_eq!(number(&pool, "messages_forwarded"), 4, "commands are not forwarded");
        assert_eq!(sim.now().as_nanos(), 0);
    }
}

#[test]
fn p4_an_ended_worker_is_replaced_in_its_place_and_counted_once() {
    for sim in simulations(50) {
        let log = Log::new();
        let pool = pool(&sim, 3, 5, &log);
        let before = pool.workers().wait().unwrap();
        for (n, reason) in [boom(), Reason::Normal, Reason::Kill].into_iter().enumerate() {
            pool.send(Job::End(reason)).unwrap();
            sim.run_until_idle();
            assert_eq!(number(&pool, "worker_restarts"), n as u64 + 1);
        }
        let after = pool.workers().wait().unwrap();
        assert_eq!(after.len(), 3);
        assert!(after.iter().all(|worker| !before.contains(worker)));
        assert_eq!((0..6).map(|_| who(&pool)).collect::<Vec<_>>(), [&after[..], &after].concat());
        assert_eq!(number(&pool, "workers"), 3);
    }
}

#[test]
fn p4_an_ended_worker_is_skipped_and_nothing_is_lost() {
    for sim in simulations(100) {
        let log = Log::new();
        let pool = pool(&sim, 3, 50, &log);
        let workers = pool.workers().wait().unwrap();
        sim.kill(workers[0]);
        while sim.is_alive(workers[0]) {
            sim.step();
        }
        (0..30).for_each(|n| pool.send(Job::Note(n)).unwrap());
        sim.run_until_idle();
        assert_eq!(log.take().len(), 30);
        assert_eq!(number(&pool, "messages_forwarded"), 30);
        assert_eq!(number(&pool, "worker_restarts"), 1);
        assert_eq!(sim.stats().dead_letters, 0, "each was delivered");
    }
}

#[test]
fn p4_a_replacement_that_fails_is_tried_again_and_its_place_is_kept() {
    struct Frail(Log);
    impl Actor for Frail {
        type Message = Job;
        async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
            if (4..9).contains(&self.0.lines().len()) {
                self.0.note("failed");
                return Err(boom());
            }
            self.0.note(format!("init at {}", ctx.now()));
            Ok(())
        }
        async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
            match job {
                Job::End(reason) => Err(reason),
                Job::Who(reply) => {
                    reply.send((ctx.pid(), None));
                    Ok(())
                }
                _ => Ok(()),
            }
        }
    }
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let pool = sim.spawn(move || Pool::new(4, move || Frail(noted.clone()))).wait().unwrap();
        let workers = pool.workers().wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        assert_eq!(number(&pool, "workers"), 3);
        // The others serve meanwhile.
        assert_eq!((0..3).map(|_| who(&pool)).collect::<Vec<_>>(), workers[1..]);
        sim.advance(Duration::from_secs(60));
        assert_eq!((log.count("failed"), log.lines().len()), (5, 10));
        assert_eq!((number(&pool, "workers"), number(&pool, "worker_restarts")), (4, 1));
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn p5_workers_are_added_at_the_end_and_removed_from_the_front() {
    for sim in simulations(20) {
        let pool = pool(&sim, 4, 9, &Log::new());
        let first = pool.workers().wait().unwrap();
        assert_eq!([who(&pool), who(&pool)], first[..2]);
        let grown = pool.add_workers(3).wait().unwrap();
        assert_eq!(grown, Resized { size: 7, changed: 3 });
        let order = pool.workers().wait().unwrap();
        assert_eq!(order[..4], [first[2], first[3], first[0], first[1]]);
        assert_eq!((0..7).map(|_| who(&pool)).collect::<Vec<_>>(), order);
        let shrunk = pool.remove_workers(5).wait().unwrap();
        assert_eq!(shrunk, Resized { size: 2, changed: 5 });
        assert_eq!(pool.workers().wait().unwrap(), order[5..]);
        assert_eq!((0..4).map(|_| who(&pool)).collect::<Vec<_>>()[2..], order[5..]);
        sim.run_until_idle();
        assert_eq!(sim.stats().processes, 3);
        assert_eq!((number(&pool, "pool_size"), number(&pool, "workers")), (4, 2));
    }
}

#[test]
fn p5_a_removed_worker_finishes_its_accepted_jobs_and_ends_normally() {
    for sim in simulations(20) {
        let log = Log::new();
        let pool = pool(&sim, 2, 20, &log);
        let workers = pool.workers().wait().unwrap();
        (0..2).for_each(|_| pool.send(Job::Wait(Duration::from_secs(1))).unwrap());
        (0..10).for_each(|n| pool.send(Job::Note(n)).unwrap());
        let removed = pool.remove_workers(1).wait().unwrap();
        assert_eq!(removed, Resized { size: 1, changed: 1 });
        // Out of the rotation at once, though it still works.
        assert!(sim.is_alive(workers[0]));
        (0..5).for_each(|n| pool.send(Job::Note(10 + n)).unwrap());
        sim.advance(Duration::from_secs(5));
        let lines = log.take();
        let first: Vec<_> =
            lines.iter().filter(|line| line.starts_with(&workers[0].to_string())).collect();
        let numbers = ["0", "2", "4", "6", "8", "terminate normal"];
        assert!(first.iter().zip(numbers).all(|(line, end)| line.ends_with(end)), "{first:?}");
        assert_eq!((first.len(), lines.len()), (6, 16));
        assert!(!sim.is_alive(workers[0]));
        assert_eq!(number(&pool, "worker_restarts"), 0);
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn p5_an_empty_pool_refuses_and_can_grow_again() {
    for sim in simulations(10) {
        let pool = pool(&sim, 2, 9, &Log::new());
        let all = pool.remove_workers(5).wait().unwrap();
        assert_eq!(all, Resized { size: 0, changed: 2 });
        assert!(matches!(
            pool.send(Job::Note(1)),
            Err(SendError::NoWorkers { message: Job::Note(1), to, .. }) if to == pool.pid()
        ));
        assert_eq!(pool.call(Job::Who).wait(), Err(CallError::NoWorkers { to: pool.pid() }));
        assert_eq!(pool.remove_workers(1).wait().unwrap(), Resized { size: 0, changed: 0 });
        assert_eq!(pool.add_workers(0).wait().unwrap(), Resized { size: 0, changed: 0 });
        assert_eq!(number(&pool, "messages_unhandled"), 2);
        assert_eq!(pool.add_workers(1).wait().unwrap(), Resized { size: 1, changed: 1 });
        assert!(pool.call(Job::Who).wait().is_ok());
    }
}

#[test]
fn p5_a_worker_that_dies_while_it_leaves_is_not_replaced() {
    for sim in simulations(20) {
        let pool = pool(&sim, 2, 9, &Log::new());
        pool.send(Job::End(boom())).unwrap();
        pool.send(Job::End(boom())).unwrap();
        pool.remove_workers(2).wait().unwrap();
        sim.run_until_idle();
        assert_eq!(pool.workers().wait().unwrap(), []);
        assert_eq!(sim.stats().processes, 1);
    }
}

#[test]
fn p6_the_counters_are_exact_under_load() {
    let node = Node::builder("p6").workers(2).start().unwrap();
    let log = Log::new();
    let pool = pool(&node, 3, 2, &log);
    let senders: Vec<_> = (0..3)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || (0..2_000).filter(|n| pool.send(Job::Note(*n)).is_ok()).count())
        })
        .collect();
    let seen = loop {
        let inspection = pool.inspect().wait().unwrap();
        let both = ["messages_forwarded", "messages_unhandled"].map(|i| inspection.number(i));
        let sum = both[0].unwrap() + both[1].unwrap();
        assert!(sum <= 6_000);
        if senders.iter().all(thread::JoinHandle::is_finished) {
            break sum;
        }
    };
    let accepted: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
    assert!(seen <= 6_000);
    assert_eq!(number(&pool, "messages_forwarded"), accepted as u64);
    assert_eq!(number(&pool, "messages_unhandled"), 6_000 - accepted as u64);
    pool.remove_workers(3).wait().unwrap();
    pool.stop().wait().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn p6_inspect_shows_every_item() {
    let sim = Simulation::new(1);
    let pool = pool(&sim, 2, 7, &Log::new());
    let inspection = pool.inspect().wait().unwrap();
    let items: Vec<_> = inspection.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let expected = [
        "pool_size=2",
        "workers=2",
        "worker_behavior=Worker",
        "worker_mailbox_size=7",
        "worker_restarts=0",
        "messages_forwarded=0",
        "messages_unhandled=0",
        "waiting=0",
    ];
    assert_eq!(items, expected);
    let free = sim.spawn(|| Pool::new(1, || Worker(Log::new()))).wait().unwrap();
    let inspection = free.inspect().wait().unwrap();
    assert_eq!(inspection.text("worker_mailbox_size"), Some("unbounded"));
}

#[test]
fn p7_a_pool_that_ends_ends_its_workers() {
    let ends: [fn(&Simulation, &PoolAddress); 4] = [
        |_, pool| pool.stop().wait().unwrap(),
        |_, pool| pool.stop().reason(boom()).wait().unwrap(),
        |sim, pool| sim.kill(pool.pid()),
        |sim, pool| sim.exit(pool.pid(), boom()),
    ];
    for (n, end) in ends.into_iter().enumerate() {
        for sim in simulations(20) {
            let log = Log::new();
            let pool = pool(&sim, 3, 9, &log);
            let hold = |reply| Job::Hold(reply, Duration::from_secs(1));
            let mut held = pool.call(hold).into_future();
            assert!(poll_once(&mut held).is_pending());
            end(&sim, &pool);
            sim.advance(Duration::from_secs(30));
            assert_eq!(sim.stats().processes, 0, "way {n}");
            assert!(matches!(
                pool.send(Job::Note(0)),
                Err(SendError::NoProcess { to, .. }) if to == pool.pid()
            ));
            assert!(matches!(poll_once(&mut held), Poll::Ready(Err(_))));
            assert_eq!(sim.stats().timers, 0);
        }
    }
}

#[test]
fn p7_workers_that_do_not_end_in_time_are_killed() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let stubborn = move || {
        let guard = Guard::new(&noted, "dropped");
        behavior_fn(move |mut ctx: Context<Job>| async move {
            let _guard = guard;
            ctx.trap_exits(true);
            loop {
                ctx.receive().await;
            }
        })
    };
    let pool = sim.spawn(move || Pool::new(2, stubborn)).wait().unwrap();
    pool.stop().wait().unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["dropped", "dropped"]);
}

#[test]
fn p1_messages_sent_before_the_pool_has_started_are_not_lost() {
    for sim in simulations(50) {
        let log = Log::new();
        let noted = log.clone();
        let factory = move || Worker(noted.clone());
        let pool = sim.spawn(move || Pool::new(2, factory).mailbox(10)).start().unwrap();
        let accepted = (0..10).filter(|n| pool.send(Job::Note(*n)).is_ok()).count();
        let mut call = pool.call(Job::Who).into_future();
        let early = poll_once(&mut call);
        sim.run_until_idle();
        assert_eq!(log.take().len(), accepted);
        assert!(early.is_ready() || matches!(poll_once(&mut call), Poll::Ready(Ok(_))));
        assert_eq!(sim.stats().dead_letters, 0);
    }
}
