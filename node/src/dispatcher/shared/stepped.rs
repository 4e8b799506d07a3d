//! A worker that is stepped by hand, without threads and in virtual time. The tests check turn
//! by turn what it takes and in which order (seeds M12, M13, M35).
//!
//! All code is the real code except the surrounding loop, which here does not search and wait.
//! The test's thread is worker 0 of a dispatcher whose other workers do not run, and work from
//! outside comes from a thread that ends at once.

use super::{
    AT, LOCAL, LOCAL_CAPACITY, Local, Searcher, SharedDispatcher, TakeCount, Worker, with_number,
};
use crate::core::{Core, DispatcherHost};
use crate::dispatcher::any::Dispatcher;
use crate::dispatcher::steal_policy::StealPolicy;
use crate::options::{DEFAULT, DispatcherOptions};
use crate::side_threads::blocking::Blocking;
use crate::sync::Parker;
use crate::timers::clock::Clock;
use krarup_act::{Address, Context, Host, Ready, Spawn, behavior_fn};
use krarup_gen::{Class, Name, Pid, WorkerStats};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

mod flooders;
mod searching;
mod starvation;

/// Runs a test as worker 0. A thread becomes a worker only once.
fn as_worker(options: DispatcherOptions, test: impl FnOnce(&mut SteppedWorker) + Send + 'static) {
    let run = move || {
        let mut stepped = SteppedWorker::new(&options);
        test(&mut stepped);
        stepped.clear();
    };
    if let Err(panic) = thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}

struct SteppedWorker {
    nursery: SpawnQueue,
    shared: Arc<SharedDispatcher>,
    /// The queues of the workers that do not run.
    others: Vec<Worker<Ready>>,
    takes: TakeCount,
    policy: StealPolicy,
}

/// Spawns the processes of a test, on any thread.
struct SpawnQueue {
    core: Arc<Core>,
    host: Arc<DispatcherHost>,
    /// The numbers that processes have logged.
    log: Arc<Mutex<Vec<usize>>>,
}

impl SpawnQueue {
    /// Spawns a process that logs this number for each message, and calls `work`.
    fn spawn_with(
        &self,
        number: usize,
        class: Class,
        work: impl Fn(&Address<()>, &Core) + Send + 'static,
    ) -> Address<()> {
        let (log, core) = (Arc::clone(&self.log), Arc::clone(&self.core));
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            loop {
                ctx.receive().await;
                log.lock().unwrap().push(number);
                work(&ctx.address(), &core);
            }
        });
        let host: Arc<dyn Host> = Arc::clone(&self.host) as Arc<dyn Host>;
        Spawn::outside(host, move || process).class(class).start().unwrap()
    }

    /// Spawns normal processes, each with this many messages.
    fn flood(&self, numbers: Range<usize>, messages: usize) {
        for number in numbers {
            self.flooded(number, Class::Normal, messages);
        }
    }

    /// Spawns a process with this many messages.
    fn flooded(&self, number: usize, class: Class, messages: usize) -> Pid {
        let process = self.spawn_with(number, class, |_, _| {});
        (0..messages).for_each(|_| process.send(()).unwrap());
        process.pid()
    }
}

impl SteppedWorker {
    fn new(options: &DispatcherOptions) -> Self {
        let name = Name::new("stepped").unwrap();
        let core = Core::new(name, 1, Clock::simulated(), Blocking::none());
        let setup =
            options.setup(DEFAULT, &core, &(Arc::new(|work: &mut dyn FnMut()| work()) as _));
        let (shared, mut queues, _) = SharedDispatcher::make(setup);
        let host = core.settle(DEFAULT, DEFAULT, Dispatcher::Shared(Arc::clone(&shared)));
        let queue = queues.remove(0);
        AT.set(Arc::as_ptr(&shared).addr());
        LOCAL.with(|local| local.set(Local { index: 0, queue }).ok().unwrap());
        let nursery = SpawnQueue { core, host, log: Arc::default() };
        let (takes, policy) = (TakeCount::new(), StealPolicy::default());
        SteppedWorker { nursery, shared, others: queues, takes, policy }
    }

    /// Runs `work` on a thread that is not a worker.
    fn outside<T: Send>(&self, work: impl FnOnce(&SpawnQueue) -> T + Send) -> T {
        let nursery = &self.nursery;
        thread::scope(|scope| scope.spawn(|| work(nursery)).join().unwrap())
    }

    fn steps(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.step();
        }
    }

    /// Runs one round of a worker's loop without searching. Returns the process whose turn it
    /// ran, if that was a normal one.
    fn step(&mut self) -> Option<Pid> {
        LOCAL.with(|local| {
            let (local, shared) = (local.get().unwrap(), &self.shared);
            let counters = &shared.counters[0];
            if shared.priority_queue.calls() && !shared.run_high(counters, &mut false) {
                return None;
            }
            let near = shared.take_near(local, &mut self.takes);
            let ready = near.or_else(|| shared.take_injected(local))?;
            let pid = ready.pid();
            counters.count_turn();
            if let Some(again) = ready.run_at(&shared.setup.limits, counters.slot()) {
                shared.push_again(local, again);
            }
            Some(pid)
        })
    }

    fn run_until_idle(&mut self) {
        while self.step().is_some() || self.shared.priority_queue.calls() {}
    }

    fn taken(&self) -> Vec<usize> {
        std::mem::take(&mut *self.nursery.log.lock().unwrap())
    }

    fn queued(&self) -> (usize, usize, Vec<usize>) {
        let own = LOCAL.with(|local| local.get().unwrap().queue.len());
        (own, self.shared.injector.len(), self.others.iter().map(Worker::len).collect())
    }

    fn worker(&self) -> WorkerStats {
        self.shared.stats().each[0]
    }

    fn clear(&mut self) {
        let core = Arc::clone(&self.nursery.core);
        core.registry.close();
        for process in core.registry.all() {
            process.kill();
        }
        while self.step().is_some() {}
        self.shared.signal_stop();
        self.shared.clear();
        core.timers.stop();
        core.clear_homes();
    }
}

fn options(workers: usize) -> DispatcherOptions {
    DispatcherOptions::new().workers(workers).spare_workers(0)
}

#[test]
fn r1_a_worker_takes_local_work_then_a_batch_of_injected_work_then_half_of_a_siblings() {
    as_worker(options(2), |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        stepped.outside(|from| from.flood(1..41, 1));
        assert_eq!(stepped.queued(), (1, 40, vec![0]));
        stepped.step();
        assert_eq!((stepped.taken(), stepped.queued()), (vec![0], (0, 40, vec![0])));
        // One to run and sixteen for the local queue.
        stepped.step();
        assert_eq!((stepped.taken(), stepped.queued()), (vec![1], (16, 23, vec![0])));
        assert_eq!(stepped.worker().injector_takes, 1);
        // All others go to a sibling, except eight, which this worker keeps.
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), (2..41).collect::<Vec<_>>());
        stepped.outside(|from| from.flood(0..8, 1));
        while let Some(ready) = SharedDispatcher::take_one(|| stepped.shared.injector.steal()) {
            stepped.others[0].push(ready);
        }
        let stolen = LOCAL.with(|local| {
            let queue = &local.get().unwrap().queue;
            let mut rng = SmallRng::seed_from_u64(1);
            let steal = |stealer: &super::Stealer<Ready>| {
                with_number(stealer.steal_batch_and_pop(queue), || 1 + queue.len())
            };
            stepped.shared.steal(0, &mut rng, steal)
        });
        let (first, number, _) = stolen.unwrap();
        assert_eq!((number, stepped.queued()), (4, (3, 0, vec![4])));
        drop(first.run(&stepped.shared.setup.limits));
        stepped.run_until_idle();
        // The oldest four, in order.
        assert_eq!(stepped.taken(), [0, 1, 2, 3]);
        let worker = stepped.worker();
        assert_eq!((worker.steal_attempts, worker.steals, worker.stolen), (1, 1, 4));
    });
}

#[test]
fn r1_a_worker_that_has_nothing_looks_everywhere_before_it_would_park() {
    as_worker(options(3), |stepped| {
        let mut searcher = Searcher::new(7);
        assert!(stepped.step().is_none());
        LOCAL.with(|local| {
            let local = local.get().unwrap();
            let parker = Parker::new();
            // Without this token the worker would sleep for ever.
            parker.unparker().unpark();
            let steal = |stealer: &super::Stealer<Ready>| {
                with_number(stealer.steal_batch_and_pop(&local.queue), || 1 + local.queue.len())
            };
            let take = || stepped.shared.take_injected(local);
            assert!(stepped.shared.search(0, &parker, &mut searcher, take, steal).is_none());
        });
        let stats = stepped.shared.stats();
        // Sixteen rounds over two siblings, then one park.
        assert_eq!((stats.steal_attempts, stats.steals, stats.parks), (32, 0, 1));
        assert_eq!((stats.searching, stats.parked), (1, 0));
    });
}

#[test]
fn x4_a_worker_that_sees_work_at_the_last_look_has_not_parked() {
    as_worker(options(1), |stepped| {
        stepped.outside(|from| from.flood(0..1, 1));
        let mut searcher = Searcher::new(7);
        LOCAL.with(|local| {
            let local = local.get().unwrap();
            let parker = Parker::new();
            parker.unparker().unpark();
            let steal = |stealer: &super::Stealer<Ready>| {
                with_number(stealer.steal_batch_and_pop(&local.queue), || 1 + local.queue.len())
            };
            // The process arrived after the worker had looked everywhere.
            let found = stepped.shared.search(0, &parker, &mut searcher, || None, steal);
            assert!(found.is_none());
        });
        let stats = stepped.shared.stats();
        assert_eq!((stats.parks, stats.parked, stats.searching, stats.queued), (0, 0, 1, 1));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0]);
    });
}

#[test]
fn r1_a_process_spills_to_the_injector_when_the_local_queue_is_full() {
    as_worker(options(1), |stepped| {
        const ALL: usize = LOCAL_CAPACITY + 44;
        stepped.nursery.flood(0..ALL, 1);
        assert_eq!(stepped.queued(), (LOCAL_CAPACITY, 44, vec![]));
        let stats = stepped.shared.stats();
        assert_eq!((stats.spills, stats.injected, stats.queued), (44, 44, ALL));
        assert_eq!((stats.longest_queue, stats.turns), (LOCAL_CAPACITY, 0));
        assert_eq!(stats.scheduled, ALL as u64);
        stepped.run_until_idle();
        let stats = stepped.shared.stats();
        assert_eq!((stats.turns, stats.queued), (stats.scheduled, 0));
        assert!(stats.turns >= ALL as u64);
        let mut ran = stepped.taken();
        ran.sort_unstable();
        assert_eq!(ran, (0..ALL).collect::<Vec<_>>());
    });
}

/// From Akka's `ForkJoinPoolStarvationSpec`: processes that keep the workers busy with messages
/// to themselves must not starve work from outside.
#[test]
fn r1_processes_that_send_to_themselves_for_ever_do_not_starve_work_from_outside() {
    for busy in [1, 2, 10, 100] {
        as_worker(options(1).throughput(5), move |stepped| {
            for n in 0..busy {
                let process =
                    stepped.nursery.spawn_with(n, Class::Normal, |own, _| own.send(()).unwrap());
                process.send(()).unwrap();
            }
            stepped.steps(1000);
            let asked = stepped.outside(|from| from.flooded(busy, Class::Normal, 1));
            let waited = (0..1000).take_while(|_| stepped.step() != Some(asked)).count();
            assert!(waited <= 61, "{waited} turns with {busy}");
            assert_eq!(stepped.taken().last(), Some(&busy));
        });
    }
}

#[test]
fn x4_every_976th_turn_is_measured() {
    as_worker(options(1).throughput(8), |stepped| {
        stepped.nursery.flood(0..2, 8 * 3000);
        stepped.run_until_idle();
        let measured = stepped.worker().messages_per_turn;
        // Turns of 8 to 15 messages.
        assert_eq!((measured.0[4], measured.count()), (6, 6));
        assert_eq!(stepped.taken().len(), 2 * 8 * 3000);
        // With no local process there is nothing to measure.
        stepped.steps(2000);
        assert_eq!(stepped.worker().messages_per_turn.count(), 6);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    /// Of P flooded processes each has every P-th turn, and each turn handles its budget.
    #[test]
    fn r1_flooded_processes_take_turns_in_strict_rotation(
        budget in 1..40_usize,
        mails in prop::collection::vec(1..150_usize, 1..12),
    ) {
        as_worker(options(1).throughput(u32::try_from(budget).unwrap()), move |stepped| {
            for (n, mail) in mails.iter().enumerate() {
                stepped.nursery.flooded(n, Class::Normal, *mail);
            }
            stepped.run_until_idle();
            let mut left: Vec<_> = mails.into_iter().enumerate().collect();
            let mut expected = Vec::new();
            while !left.is_empty() {
                for (n, mail) in &mut left {
                    let now = budget.min(*mail);
                    expected.extend(std::iter::repeat_n(*n, now));
                    *mail -= now;
                }
                left.retain(|(_, mail)| *mail > 0);
            }
            assert_eq!(stepped.taken(), expected);
        });
    }

    /// The bound holds however many processes are busy, and whenever others come from outside. A
    /// process in the queue of a worker has its turn within a round. A process in the injector
    /// has it within 61 turns for each take of a batch before it, plus a round.
    #[test]
    fn r1_no_process_waits_longer_than_the_turns_of_the_others(
        busy in 1..20_usize,
        arrivals in prop::collection::vec((0..400_usize, 1..30_usize), 0..5),
    ) {
        as_worker(options(1).throughput(1), move |stepped| {
            const MAIL: usize = 2_000;
            let mut next = busy;
            let all = busy + arrivals.iter().map(|(_, count)| count).sum::<usize>();
            // For each process: the turn since which it waits, and how many turns more than one
            // round it may wait.
            let mut since: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
            for n in 0..busy {
                stepped.nursery.flooded(n, Class::Normal, MAIL);
                since.insert(n, (0, 0));
            }
            let mut turn = 0;
            for round in 0..1_000 {
                for (_, count) in arrivals.iter().filter(|(at, _)| *at == round) {
                    let before = stepped.shared.injector.len();
                    let come = next..next + count;
                    next = come.end;
                    for (n, number) in come.clone().enumerate() {
                        // A take gets only half of a short injector, and it ends early at the
                        // end of one of the injector's blocks.
                        let batches = (before + n) / 17 + (before + n) / 63 + 6;
                        since.insert(number, (turn, 61 * batches));
                    }
                    stepped.outside(|from| {
                        from.flood(come, MAIL);
                    });
                }
                stepped.step().unwrap();
                for ran in stepped.taken() {
                    turn += 1;
                    let (when, extra) = since.insert(ran, (turn, 0)).unwrap();
                    assert!(turn - when <= all + extra, "{ran} waited {} turns", turn - when);
                }
            }
            for (number, (when, extra)) in since {
                assert!(turn - when <= all + extra, "{number} waits");
            }
        });
    }

    /// A turn ends with its budget, or after the message during which its deadline passes. It
    /// always handles one message.
    #[test]
    fn r1_a_turn_keeps_its_budget_and_its_deadline_to_one_message(
        budget in 1..30_u32,
        deadline in 1..100_u64,
        works in prop::collection::vec(0..40_u64, 1..60),
    ) {
        let limited = options(1).throughput(budget);
        let limited = limited.throughput_deadline(Duration::from_micros(deadline));
        as_worker(limited, move |stepped| {
            let times = Arc::new(Mutex::new(works.clone().into_iter()));
            let process = stepped.nursery.spawn_with(0, Class::Normal, move |_, core| {
                let worked = Duration::from_micros(times.lock().unwrap().next().unwrap());
                core.clock.advance_to(core.clock.now() + worked);
            });
            works.iter().for_each(|_| process.send(()).unwrap());
            let mut left = works.iter();
            while left.len() > 0 {
                let mut over = 0;
                let mut expected = 0;
                while expected < budget && (expected == 0 || over < deadline) {
                    let Some(work) = left.next() else { break };
                    over += work;
                    expected += 1;
                }
                assert_eq!(stepped.step(), Some(process.pid()));
                assert_eq!(stepped.taken().len(), expected as usize);
            }
        });
    }

    /// A process of class Varying is queued in the class it sets, from the end of that turn on.
    /// Process `normal` is of high class for 20 turns.
    #[test]
    fn r6_a_process_that_sets_its_class_is_queued_in_it_next(normal in 1..5_usize) {
        as_worker(options(1).throughput(1), move |stepped| {
            let again = |own: &Address<()>, _: &Core| own.send(()).unwrap();
            (0..normal).for_each(|n| {
                stepped.nursery.spawn_with(n, Class::Normal, again).send(()).unwrap();
            });
            let log = Arc::clone(&stepped.nursery.log);
            let process = behavior_fn(move |mut ctx: Context<()>| async move {
                for turn in 1.. {
                    ctx.address().send(())?;
                    ctx.receive().await;
                    log.lock().unwrap().push(normal);
                    let class = if turn <= 20 { Class::High } else { Class::Normal };
                    assert!(ctx.set_class(class));
                }
                Ok(())
            });
            let host: Arc<dyn Host> = Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
            Spawn::outside(host, move || process).class(Class::Varying).start().unwrap();
            stepped.steps(50);
            let mut normals = (0..normal).cycle();
            // Its first turn, as a normal process; then 16 as a high one, and four more.
            let mut expected: Vec<_> = normals.by_ref().take(normal).collect();
            expected.extend([normal; 17]);
            expected.extend(normals.next());
            expected.extend([normal; 4]);
            // After that it is the last in the queue of normal processes.
            while expected.len() < 60 {
                expected.extend(normals.by_ref().take(normal));
                expected.push(normal);
            }
            let taken = stepped.taken();
            assert_eq!(taken[..60], expected[..60]);
            assert_eq!(stepped.shared.stats().high_turns, 20);
        });
    }

    /// High processes go first, for sixteen turns; then one normal process has a turn. Each
    /// class has its own rotation.
    #[test]
    fn r6_high_processes_run_first_and_after_16_turns_a_normal_one(
        high in 0..40_usize,
        normal in 0..40_usize,
    ) {
        as_worker(options(1).throughput(1), move |stepped| {
            let busy = |number, class| {
                let again = |own: &Address<()>, _: &Core| own.send(()).unwrap();
                stepped.nursery.spawn_with(number, class, again).send(()).unwrap();
            };
            (0..normal).for_each(|n| busy(n, Class::Normal));
            (normal..normal + high).for_each(|n| busy(n, Class::High));
            stepped.steps(50);
            let mut highs = (normal..normal + high).cycle();
            let mut normals = (0..normal).cycle();
            let mut expected = Vec::new();
            for _ in 0..50 {
                expected.extend(highs.by_ref().take(16));
                expected.extend(normals.next());
            }
            assert_eq!(stepped.taken(), expected);
            let stats = stepped.shared.stats();
            let turns = if high > 0 { 50 * 16 } else { 0 };
            assert_eq!((stats.high_turns, stats.turns), (turns, expected.len() as u64));
        });
    }
}
