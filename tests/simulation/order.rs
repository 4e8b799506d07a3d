//! Mailboxes with an order of their own: rule M12.

use crate::support::{Act, Does, Log, puppet};
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::{Diverted, Order, OrderError, Overflow, OverflowError};
use krarup::prelude::*;
use krarup::{Recipient, SendError};

/// From this number on a job is to monitor the process of the rest.
const MONITOR: u32 = 1_000_000;

/// A message of some priority.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Job {
    priority: i64,
    number: u32,
}

fn job(priority: i64, number: u32) -> Job {
    Job { priority, number }
}

fn by_priority() -> Order<Job> {
    Order::by_priority(|job: &Job| job.priority)
}

/// Notes the numbers of the jobs that it handles.
struct Worker(Log);

impl Actor for Worker {
    type Message = Job;
    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }
    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        if job.number >= MONITOR {
            ctx.monitor(Pid::local(u64::from(job.number - MONITOR), ctx.pid().creation()));
        }
        self.0.note(job.number);
        Ok(())
    }
    async fn handle_down(&mut self, _: &mut Context<Job>, _: krarup::Down) -> Result {
        self.0.note("down");
        Ok(())
    }
}

fn worker(sim: &Simulation, log: &Log, order: Order<Job>) -> Address<Job> {
    let log = log.clone();
    let worker = sim.spawn(move || Worker(log)).order(order).start().unwrap();
    sim.run_until_idle();
    worker
}

/// A process that sends these to `to`, once it is told to.
fn sender(sim: &Simulation, to: &Address<Job>, jobs: Vec<Job>) -> Address<()> {
    let to = to.clone();
    let sender = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.receive().await;
        for job in jobs {
            to.send(job)?;
        }
        ctx.receive().await;
        Ok(())
    });
    let sender = sim.spawn(move || sender).start().unwrap();
    sim.run_until_idle();
    sender
}

#[test]
fn m12_the_greatest_priority_is_first_and_equal_ones_keep_their_order() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let worker = worker(&sim, &log, by_priority());
    for (priority, number) in [(1, 1), (5, 2), (1, 3), (5, 4), (9, 5), (i64::MIN, 6), (i64::MAX, 7)]
    {
        worker.send(job(priority, number)).unwrap();
    }
    assert_eq!(worker.waiting(), 7);
    sim.run_until_idle();
    assert_eq!(log.take(), ["7", "5", "2", "4", "1", "3", "6"]);
}

/// A number that follows from the one before.
fn next(random: &mut u64) -> u64 {
    *random =
        random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}

#[test]
fn m12_the_order_matches_the_model_for_any_sends_and_receives() {
    for seed in 0..100 {
        let mut random = seed;
        let (sim, log) = (Simulation::with_throughput(seed, 1), Log::new());
        let worker = worker(&sim, &log, by_priority());
        let (mut model, mut expected): (Vec<Job>, Vec<String>) = (Vec::new(), Vec::new());
        for number in 0..200 {
            if next(&mut random).is_multiple_of(2) {
                let job = job(i64::try_from(next(&mut random) % 4).unwrap(), number);
                worker.send(job).unwrap();
                model.push(job);
            } else if sim.step().is_some() {
                // The last of the greatest in the reverse order is the first of them.
                let best = model.iter().rev().max_by_key(|job| job.priority).copied();
                if let Some(best) = best {
                    model.retain(|job| *job != best);
                    expected.push(best.number.to_string());
                }
            }
        }
        assert_eq!(log.take(), expected, "seed {seed}");
        assert_eq!(worker.waiting(), model.len());
    }
}

#[test]
fn m12_senders_take_turns_and_each_keeps_its_order() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let worker = worker(&sim, &log, Order::fair());
    let jobs = |from: u32, count| (from..from + count).map(|number| job(0, number)).collect();
    let senders = [sender(&sim, &worker, jobs(100, 5)), sender(&sim, &worker, jobs(200, 2))];
    let late = sender(&sim, &worker, jobs(300, 1));
    sim.suspend(worker.pid()).wait().unwrap();
    sim.run_until_idle();
    for sender in senders.iter().chain([&late]) {
        sender.send(()).unwrap();
        sim.run_until_idle();
    }
    sim.resume(worker.pid());
    sim.run_until_idle();
    assert_eq!(log.take(), ["100", "200", "300", "101", "201", "102", "103", "104"]);
    // Who has had its turns before has none the less now.
    let again = sender(&sim, &worker, jobs(400, 2));
    again.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["400", "401"]);
}

#[test]
fn m12_a_notice_of_an_end_comes_after_earlier_messages_of_the_ended_process() {
    for order in [by_priority(), Order::fair()] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let worker = worker(&sim, &log, order);
        let jobs = (1..=3).map(|number| job(-i64::from(number), number)).collect();
        let dies = sender(&sim, &worker, jobs);
        // The worker monitors whom a job of this number is of.
        worker.send(job(0, u32::try_from(dies.pid().id()).unwrap() + MONITOR)).unwrap();
        sim.run_until_idle();
        log.take();
        sim.suspend(worker.pid()).wait().unwrap();
        sim.run_until_idle();
        dies.send(()).unwrap();
        sim.run_until_idle();
        dies.send(()).unwrap();
        sim.run_until_idle();
        assert!(!dies.is_alive());
        worker.send(job(5, 9)).unwrap();
        sim.resume(worker.pid());
        sim.run_until_idle();
        let handled = log.take();
        let place = |what: &str| handled.iter().position(|line| line == what).unwrap();
        for number in ["1", "2", "3"] {
            assert!(place(number) < place("down"), "{handled:?}");
        }
    }
}

#[test]
fn m12_the_bound_counts_sorted_messages_and_overflow_works() {
    let (sim, log) = (Simulation::with_throughput(1, 1), Log::new());
    let noting = log.clone();
    let worker = sim.spawn(move || Worker(noting)).order(by_priority()).mailbox(3).start().unwrap();
    sim.run_until_idle();
    for number in 1..=3 {
        worker.send(job(i64::from(number), number)).unwrap();
    }
    assert!(
        matches!(worker.send(job(9, 9)), Err(SendError::Full { to, .. }) if to == worker.pid())
    );
    // One is handled, two are sorted and wait: there is room for one.
    sim.step();
    assert_eq!((worker.waiting(), log.take()), (2, vec!["3".to_owned()]));
    worker.send(job(0, 4)).unwrap();
    assert!(
        matches!(worker.send(job(9, 9)), Err(SendError::Full { to, .. }) if to == worker.pid())
    );
    let permit = worker.reserve();
    assert!(permit.is_err(), "there is no room to reserve");
    sim.run_until_idle();
    assert_eq!(log.take(), ["2", "1", "4"]);
    // Room that was reserved is filled in the order as well.
    let permit = worker.reserve().unwrap();
    worker.send(job(1, 5)).unwrap();
    permit.send(job(2, 6));
    sim.run_until_idle();
    assert_eq!(log.take(), ["6", "5"]);
}

struct Fallback(Log);

impl Actor for Fallback {
    type Message = Diverted<Job>;
    async fn handle_message(
        &mut self,
        _: &mut Context<Diverted<Job>>,
        it: Diverted<Job>,
    ) -> Result {
        self.0.note(format!("diverted {}", it.message.number));
        Ok(())
    }
}

#[test]
fn m12_diverted_messages_follow_the_order_of_the_fallback() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let to = log.clone();
    let order = Order::by_priority(|it: &Diverted<Job>| it.message.priority);
    let fallback = sim.spawn(move || Fallback(to)).order(order).start().unwrap();
    sim.run_until_idle();
    let noting = log.clone();
    let full = sim
        .spawn(move || Worker(noting))
        .order(by_priority())
        .mailbox(1)
        .overflow(Overflow::divert(fallback.recipient(), "spare"))
        .start()
        .unwrap();
    sim.run_until_idle();
    for (priority, number) in [(1, 1), (2, 2), (9, 3)] {
        full.send(job(priority, number)).unwrap();
    }
    sim.run_until_idle();
    let mut handled = log.take();
    handled.retain(|line| line.starts_with("diverted"));
    assert_eq!(handled, ["diverted 3", "diverted 2"]);
}

#[test]
fn m12_whichever_way_a_message_comes_it_has_its_place() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let worker = worker(&sim, &log, by_priority());
    let recipient: Recipient<Job> = worker.recipient();
    worker.send(job(1, 1)).unwrap();
    recipient.send(job(2, 2)).unwrap();
    sim.send(worker.pid(), job(3, 3)).unwrap();
    worker.reserve().unwrap().send(job(4, 4));
    sim.run_until_idle();
    assert_eq!(log.take(), ["4", "3", "2", "1"]);
}

/// Sets aside what it gets until it is told to go on, and takes batches then.
struct Batching(Log);

impl Actor for Batching {
    type Message = Job;
    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        ctx.set_order(by_priority())?;
        Ok(())
    }
    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        let batch = ctx.take_batch_while(2, |job| job.priority > 0);
        let numbers: Vec<_> = batch.iter().map(|job| job.number).collect();
        self.0.note(format!("{} {numbers:?}", job.number));
        Ok(())
    }
}

#[test]
fn m12_batches_come_in_the_order_and_an_order_can_be_set_in_init() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noting = log.clone();
    let worker = sim.spawn(move || Batching(noting)).start().unwrap();
    sim.run_until_idle();
    for (priority, number) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)] {
        worker.send(job(priority, number)).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(log.take(), ["5 [4, 3]", "2 []", "1 []"]);
}

#[test]
fn m12_workers_of_a_pool_have_their_orders() {
    // What is measured is watched on its way.
    for measured in [false, true] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let noting = log.clone();
        let pool = Pool::new(1, move || Batching(noting.clone()));
        let pool = if measured { pool.measured() } else { pool };
        let pool = sim.spawn(move || pool).start().unwrap();
        sim.run_until_idle();
        for (priority, number) in [(0, 1), (0, 2), (7, 3)] {
            pool.send(job(priority, number)).unwrap();
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["3 []", "1 []", "2 []"]);
    }
}

#[test]
fn m12_the_priority_function_runs_once_for_each_message() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let asked = log.clone();
    let order = Order::by_priority(move |job: &Job| {
        asked.note(format!("? {}", job.number));
        job.priority
    });
    let worker = worker(&sim, &log, order);
    worker.send(job(1, 1)).unwrap();
    worker.notify(job(2, 2));
    worker.send(job(3, 3)).unwrap();
    sim.run_until_idle();
    worker.send(job(4, 4)).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["? 1", "? 2", "? 3", "3", "2", "1", "? 4", "4"]);
}

#[test]
fn m12_sorted_unhandled_messages_are_dead_letters_and_a_panic_ends_its_process() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let order = Order::by_priority(|job: &Job| {
        assert!(job.priority < 100, "no such priority");
        job.priority
    });
    let worker = worker(&sim, &log, order);
    let end = worker.watch();
    for (priority, number) in [(1, 1), (2, 2), (100, 3), (4, 4)] {
        worker.send(job(priority, number)).unwrap();
    }
    let before = sim.stats().dead_letters;
    sim.run_until_idle();
    let reason = end.wait().unwrap().reason;
    assert!(reason.to_string().contains("no such priority"), "{reason}");
    assert!(log.take().is_empty());
    assert_eq!(sim.stats().dead_letters - before, 4);
}

#[test]
fn m12_a_stop_and_an_inspection_go_before_any_priority() {
    let (sim, log) = (Simulation::with_throughput(1, 1), Log::new());
    let worker = worker(&sim, &log, by_priority());
    for number in 0..1000 {
        worker.send(job(i64::MAX, number)).unwrap();
    }
    sim.step();
    sim.node().exit(worker.pid(), Reason::Kill);
    sim.run_until_idle();
    assert!(log.take().len() <= 2);
}

#[test]
fn m12_an_order_of_a_mailbox_that_drops_its_oldest_is_a_typed_error() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let spawned = sim
        .spawn(move || Worker(log))
        .order(by_priority())
        .mailbox(1)
        .overflow(Overflow::DropOldest)
        .start();
    assert!(matches!(spawned, Err(SpawnError::Order(OrderError::DropsOldest))));
    assert!(sim.processes().is_empty());
    let late = behavior_fn(|mut ctx: Context<u32>| async move {
        assert_eq!(ctx.set_order(Order::fair()), Err(OrderError::DropsOldest));
        while let Received::Message(_) = ctx.receive().await {}
        Ok(())
    });
    let late = sim.spawn(move || late).mailbox(1).overflow(Overflow::DropOldest).start().unwrap();
    sim.run_until_idle();
    assert!(late.is_alive());
}

#[test]
fn m12_what_hands_its_messages_on_has_no_order() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let pool = sim.spawn(move || Pool::new(1, move || Worker(log.clone()))).order(by_priority());
    assert!(matches!(pool.start(), Err(SpawnError::Order(OrderError::HandsOn))));
    assert!(sim.processes().is_empty());
}

#[test]
fn m12_a_mailbox_with_an_order_is_not_made_to_drop_its_oldest() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let late = behavior_fn(move |mut ctx: Context<Job>| async move {
        assert_eq!(
            ctx.set_overflow(Overflow::DropOldest),
            Err(OverflowError::Order(OrderError::DropsOldest))
        );
        assert_eq!(ctx.set_overflow(Overflow::DropNewest), Ok(()));
        ctx.sleep(std::time::Duration::from_secs(1)).await;
        while let Received::Message(job) = ctx.receive().await {
            noted.note(job.number);
        }
        Ok(())
    });
    let late = sim.spawn(move || late).mailbox(3).order(by_priority()).start().unwrap();
    sim.run_until_idle();
    for (priority, number) in [(1, 1), (2, 2), (3, 3), (4, 4)] {
        late.send(job(priority, number)).unwrap();
    }
    sim.advance(std::time::Duration::from_secs(2));
    assert_eq!(log.take(), ["3", "2", "1"]);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

struct PanickingItem {
    number: u32,
    _bomb: Option<Bomb>,
}

fn panicking_order() -> Order<PanickingItem> {
    let bomb = Bomb;
    Order::by_priority(move |item: &PanickingItem| {
        let _ = &bomb;
        i64::from(item.number)
    })
}

#[test]
fn d4_an_order_that_panics_when_it_is_dropped_loses_no_count_and_no_message() {
    let sim = Simulation::new(1);
    let ends = behavior_fn(|mut ctx: Context<PanickingItem>| async move {
        ctx.receive().await;
        Ok(())
    });
    let ends = sim.spawn(move || ends).order(panicking_order()).start().unwrap();
    let down = ends.watch();
    for number in 1..=3 {
        ends.send(PanickingItem { number, _bomb: (number < 3).then(|| Bomb) }).unwrap();
    }
    sim.run_until_idle();
    // As what else its mailbox holds: that is nothing to the process.
    assert_eq!(down.wait().unwrap().reason, Reason::Normal);
    assert_eq!(sim.stats().dead_letters, 2);

    // Another order takes the place of one that panics: what is sorted already stays.
    let log = Log::new();
    let noted = log.clone();
    let reorders = behavior_fn(move |mut ctx: Context<PanickingItem>| async move {
        ctx.receive().await;
        noted.note(ctx.set_order(Order::fair()).is_ok());
        while let Received::Message(item) = ctx.receive().await {
            noted.note(item.number);
        }
        Ok(())
    });
    let reorders = sim.spawn(move || reorders).order(panicking_order()).start().unwrap();
    for number in 1..=3 {
        reorders.send(PanickingItem { number, _bomb: None }).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(log.take(), ["true", "2", "1"]);
}

/// Notes what it handles, a second for each.
fn slow(sim: &Simulation, log: &Log) -> Address<u32> {
    let log = log.clone();
    let run = behavior_fn(move |mut ctx: Context<u32>| async move {
        while let Received::Message(number) = ctx.receive().await {
            log.note(number);
            ctx.sleep(std::time::Duration::from_secs(1)).await;
        }
        Ok(())
    });
    let slow = sim.spawn(move || run).order(Order::fair()).start().unwrap();
    sim.run_until_idle();
    slow
}

/// Has a puppet send these.
fn sends(sim: &Simulation, from: &Address<Act>, to: &Address<u32>, numbers: &'static [u32]) {
    let to = to.clone();
    assert!(from.tells(move |_| numbers.iter().for_each(|number| to.send(*number).unwrap())));
    sim.run_until_idle();
}

#[test]
fn m12_a_sender_that_has_had_its_turn_in_a_round_has_its_next_in_the_next() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let slow = slow(&sim, &log);
    let senders = ["s", "t", "u", "v", "w"].map(|name| puppet(&sim, name, &Log::new()));
    for sender in &senders {
        sends(&sim, sender, &slow, &[0]);
    }
    let [s, t, ..] = &senders;
    sim.advance(std::time::Duration::from_secs(9));
    assert_eq!(log.take().len(), 5);
    slow.suspend().wait().unwrap();
    sends(&sim, s, &slow, &[1]);
    sends(&sim, t, &slow, &[2, 3]);
    slow.resume();
    sim.run_until_idle();
    assert_eq!(log.lines(), ["1"]);
    sends(&sim, s, &slow, &[4]);
    sim.advance(std::time::Duration::from_secs(9));
    assert_eq!(log.take(), ["1", "2", "3", "4"]);
}

#[test]
fn m12_a_finishing_process_handles_all_earlier_messages_first() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let slow = slow(&sim, &log);
    let [s, t] = ["s", "t"].map(|name| puppet(&sim, name, &Log::new()));
    slow.suspend().wait().unwrap();
    sends(&sim, &t, &slow, &[1, 2, 3]);
    sends(&sim, &s, &slow, &[4]);
    slow.finish();
    slow.resume();
    sim.advance(std::time::Duration::from_secs(9));
    assert_eq!(log.take(), ["1", "4", "2", "3"]);
    assert!(!slow.is_alive());
}
