//! Batches: rules U1 to U6.

use krarup_act::{Actor, Address, Context, Pool, PoolCommand, Recipient};
use krarup_gen::{CallError, Reason, Result, SendError, SpawnError, Timestamp};
use krarup_node::Simulation;
use krarup_state::{Batcher, BatcherAddress, BatcherCalls, BatcherError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn simulations() -> impl Iterator<Item = Simulation> {
    (0..20).flat_map(|seed| [Simulation::new(seed), Simulation::with_throughput(seed, 1)])
}

/// The batches that were handled, with what was going on.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<SinkState>>);

#[derive(Default)]
struct SinkState {
    batches: Vec<Vec<u32>>,
    running: usize,
    most_running: usize,
}

impl Sink {
    fn take(&self) -> Vec<Vec<u32>> {
        std::mem::take(&mut self.0.lock().unwrap().batches)
    }

    fn most_running(&self) -> usize {
        self.0.lock().unwrap().most_running
    }

    fn begin(&self, items: &[u32]) {
        let mut sink = self.0.lock().unwrap();
        sink.batches.push(items.to_vec());
        sink.running += 1;
        sink.most_running = sink.most_running.max(sink.running);
    }

    fn end(&self) {
        self.0.lock().unwrap().running -= 1;
    }
}

/// A batcher by the tens of its items, whose batches take a time. Item 13 fails, 66 panics.
fn batcher(sim: &Simulation, sink: &Sink, takes: Duration, bound: usize) -> BatcherAddress<u32> {
    let (sink, clock) = (sink.clone(), sim.node().clone());
    let work = move |items: Vec<u32>| {
        let (sink, clock) = (sink.clone(), clock.clone());
        async move {
            sink.begin(&items);
            clock.spawn(move || Sleeper(takes)).start()?.watch_end(&clock).await;
            sink.end();
            assert!(!items.contains(&66), "it is 66");
            if items.contains(&13) { Err(Reason::error("unlucky")) } else { Ok(()) }
        }
    };
    let new = move || Batcher::new(work).size(3).after(SECOND).at_once(2).by(|item| item / 10);
    sim.spawn(new).mailbox(bound).wait().unwrap()
}

/// Ends after a time.
struct Sleeper(Duration);

impl Actor for Sleeper {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        ctx.send_after(self.0, ());
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.stop();
        Ok(())
    }
}

trait WatchEnd {
    fn watch_end(&self, node: &krarup_node::Node) -> impl Future<Output = ()> + Send;
}

impl WatchEnd for Address<()> {
    fn watch_end(&self, node: &krarup_node::Node) -> impl Future<Output = ()> + Send {
        let end = node.watch(self.pid());
        async move { drop(end.await) }
    }
}

fn send(sink: &BatcherAddress<u32>, items: impl IntoIterator<Item = u32>) {
    for item in items {
        sink.send(item.into()).unwrap();
    }
}

#[test]
fn u1_a_batch_goes_at_its_size_or_after_its_time_by_key_and_in_the_order_of_arrival() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, MILLISECOND, 100);
        send(&items, [1, 11, 2, 12, 3, 4]);
        sim.advance(MILLISECOND * 999);
        assert_eq!(sink.take(), [[1, 2, 3]]);
        sim.advance(MILLISECOND);
        let mut both = sink.take();
        both.sort();
        assert_eq!(both, [vec![4], vec![11, 12]]);
        sim.advance(SECOND * 5);
        assert_eq!(sink.take(), Vec::<Vec<u32>>::new());
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn u2_items_in_batches_open_or_under_way_count_towards_the_bound() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 5);
        send(&items, [1, 2, 3, 11]);
        sim.run_until_idle();
        // Three are under way, one is in an open batch.
        assert_eq!((items.waiting(), sink.take()), (4, vec![vec![1, 2, 3]]));
        send(&items, [12]);
        sim.run_until_idle();
        assert!(matches!(items.send(4.into()), Err(SendError::Full { .. })));
        let waits = items.clone();
        let waits = sim.task(async move { waits.send_or_wait(4.into()).await.is_ok() });
        let waits = waits.start().unwrap();
        sim.advance(MILLISECOND * 999);
        assert!(items.send(4.into()).is_err());
        // The first batch is done, and its three places are free: one is the sender's that waits.
        sim.advance(MILLISECOND * 2);
        assert_eq!(waits.wait(), Ok(true));
        assert_eq!(items.waiting(), 3);
    }
}

#[test]
fn u3_so_many_batches_run_at_once_and_of_one_key_one() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 100);
        send(&items, [1, 2, 3, 4, 5, 6]);
        sim.advance(SECOND / 2);
        assert_eq!(sink.take(), [[1, 2, 3]]);
        send(&items, [11, 12, 13, 21, 22, 23]);
        sim.advance(SECOND / 4);
        assert_eq!(sink.take(), [[11, 12, 13]]);
        sim.advance(SECOND * 5);
        assert_eq!(sink.take().len(), 2);
        assert_eq!(sink.most_running(), 2);
    }
}

/// Calls with each item, in the order of the items; returns how the calls have ended.
fn call_all(
    sim: &Simulation,
    sink: &BatcherAddress<u32>,
    items: &[u32],
) -> Vec<Result<(), CallError>> {
    let calls = items.iter().map(|item| {
        let (sink, item) = (sink.clone(), *item);
        async move { sink.call(|done| (item, done).into()).no_timeout().await }
    });
    let calls: Vec<_> = calls.collect();
    let count = calls.len();
    let ends = sim.tasks(calls).at_once(count).wait().unwrap();
    ends.into_iter().map(|end| end.unwrap()).collect()
}

#[test]
fn u3_a_batch_that_fails_fails_the_calls_of_its_items_and_no_others() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 100);
        let ends = call_all(&sim, &items, &[1, 11, 13, 2, 66, 21]);
        let failure = |index: usize| match &ends[index] {
            Err(CallError::Terminated { reason, .. }) => reason.to_string(),
            end => format!("{end:?}"),
        };
        assert_eq!((failure(1), failure(2)), ("unlucky".into(), "unlucky".into()));
        assert!(failure(4).contains("it is 66"), "{}", failure(4));
        assert_eq!((&ends[0], &ends[3], &ends[5]), (&Ok(()), &Ok(()), &Ok(())));
        assert!(items.is_alive());
        assert_eq!(items.waiting(), 0);
    }
}

#[test]
fn u4_a_call_is_answered_when_its_batch_is_done() {
    let sim = Simulation::new(1);
    let sink = Sink::default();
    let items = batcher(&sim, &sink, SECOND * 3, 100);
    assert_eq!(items.call(|done| (1, done).into()).timeout(SECOND * 9).wait(), Ok(()));
    assert_eq!(sim.now(), Timestamp::ZERO + SECOND * 4);
    let plain: Recipient<u32> = items.recipient();
    plain.send(2).unwrap();
    sim.advance(SECOND * 5);
    assert_eq!(sink.take(), [[1], [2]]);
}

#[test]
fn u4_items_of_a_batcher_that_is_killed_are_dead_letters_or_failed() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 100);
        send(&items, [1, 2, 3, 4, 11]);
        let called = items.clone();
        let called = sim.task(async move { called.call(|done| (12, done).into()).await });
        let called = called.start().unwrap();
        sim.run_until_idle();
        send(&items, [5]);
        sim.kill(items.pid());
        sim.advance(SECOND * 5);
        let end = called.wait().unwrap();
        // Its batch was open, so a retry is safe (rule C2).
        assert!(matches!(end, Err(CallError::NotBegun { reason: Reason::Killed, .. })), "{end:?}");
        // Three were under way; two were in open batches, and the call; one was in the mailbox.
        assert_eq!(sim.stats().dead_letters, 4);
        assert_eq!(sim.stats().timers, 0);
        assert_eq!(sim.processes().len(), 0);
    }
}

#[test]
fn u5_a_drain_closes_what_is_open_and_waits_for_what_was_accepted() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND / 4, 100);
        items.drain().wait().unwrap();
        send(&items, [1, 2, 11, 21, 31]);
        let before = sim.now();
        items.drain().wait().unwrap();
        // Four keys, two at once.
        assert_eq!(sim.now().since(before), SECOND / 2);
        assert_eq!(sink.take().len(), 4);
        assert_eq!(items.waiting(), 0);
        send(&items, [1]);
        sim.advance(SECOND * 2);
        assert_eq!(sink.take(), [[1]]);
        sim.kill(items.pid());
        sim.run_until_idle();
        assert!(matches!(items.drain().wait(), Err(CallError::NoProcess { .. })));
    }
}

#[test]
fn u5_a_drain_ends_at_its_timeout_and_the_batches_go_on() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 100);
        // Three keys, two at once: two seconds.
        send(&items, [1, 11, 21]);
        let before = sim.now();
        let late = items.drain().timeout(SECOND * 3 / 2).wait().unwrap_err();
        assert!(
            matches!(late, CallError::Timeout { to, limit } if to == items.pid() && limit == SECOND * 3 / 2),
            "{late}"
        );
        // The last of them has begun.
        assert_eq!(items.drain().timeout(SECOND).wait(), Ok(()));
        assert_eq!((sim.now().since(before), sink.take().len()), (SECOND * 2, 3));
    }
}

#[test]
fn u5_a_stop_drains_within_its_time() {
    for sim in simulations() {
        for (takes, done) in [(SECOND, 3), (SECOND * 9, 2)] {
            let sink = Sink::default();
            let items = batcher(&sim, &sink, takes, 100);
            send(&items, [1, 11, 21]);
            let before = sim.stats().dead_letters;
            let end = items.stop().wait();
            let lost = usize::try_from(sim.stats().dead_letters - before).unwrap();
            assert_eq!((sink.take().len(), lost), (done, 3 - done), "{end:?}");
            assert!(!items.is_alive());
            sim.advance(SECOND * 20);
        }
        // One that is to finish does so, however long it takes.
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 100);
        send(&items, [1, 11, 21]);
        items.finish();
        sim.advance(SECOND * 3);
        assert_eq!((sink.take().len(), items.is_alive()), (3, false));
    }
}

#[test]
fn u5_a_drain_is_not_held_up_by_room_that_was_given_back() {
    for sim in simulations() {
        let items = batcher(&sim, &Sink::default(), SECOND, 100);
        let room = items.reserve().unwrap();
        let drains = items.clone();
        let drains = sim.task(async move { drains.drain().await }).start().unwrap();
        sim.run_until_idle();
        drop(room);
        assert_eq!(drains.wait(), Ok(Ok(())));
    }
}

#[test]
fn u5_a_finish_is_not_held_up_by_room_that_was_given_back() {
    for sim in simulations() {
        let items = batcher(&sim, &Sink::default(), SECOND, 100);
        let room = items.reserve().unwrap();
        items.finish();
        sim.run_until_idle();
        drop(room);
        sim.run_until_idle();
        assert!(!items.is_alive());
    }
}

#[test]
fn u5_an_item_is_accepted_when_it_is_sent_not_when_room_is_reserved_for_it() {
    for sim in simulations() {
        let sink = Sink::default();
        let items = batcher(&sim, &sink, SECOND, 100);
        let (early, late, lost) = (items.reserve(), items.reserve(), items.reserve());
        early.unwrap().send(1.into());
        items.drain().wait().unwrap();
        assert_eq!(sink.take(), [[1]]);
        // After a drain it is in a later batch.
        late.unwrap().send(2.into());
        sim.advance(SECOND * 2);
        assert_eq!(sink.take(), [[2]]);
        // After a `finish` it is a dead letter.
        items.finish();
        sim.run_until_idle();
        let before = sim.stats().dead_letters;
        lost.unwrap().send(3.into());
        assert_eq!((items.is_alive(), sim.stats().dead_letters - before), (false, 1));
    }
}

#[test]
fn u5_a_stop_waits_its_shutdown_time_after_a_finish_too() {
    for sim in simulations() {
        let work = |_: Vec<u32>| std::future::pending::<()>();
        let items = sim.spawn(move || Batcher::new(work).size(1).shutdown(SECOND)).wait().unwrap();
        send(&items, [1]);
        sim.run_until_idle();
        let end = sim.node().watch(items.pid());
        items.finish();
        sim.advance(SECOND * 60);
        assert!(items.is_alive());
        items.process().request_stop(Reason::Shutdown);
        sim.advance(MILLISECOND * 999);
        assert!(items.is_alive());
        sim.advance(MILLISECOND * 2);
        assert!(!items.is_alive());
        assert_eq!(end.wait().map(|down| down.reason), Ok(Reason::Shutdown));
    }
}

#[test]
fn u1_batches_of_nothing_and_no_batch_at_once_are_typed_errors() {
    let sim = Simulation::new(1);
    let work = |_: Vec<u32>| async {};
    for (new, error, said) in [
        (
            Batcher::new(work).size(0),
            BatcherError::ZeroSize,
            "batches have 0 items: there must be at least 1",
        ),
        (
            Batcher::new(work).at_once(0),
            BatcherError::ZeroAtOnce,
            "0 batches run at once: it must be at least 1",
        ),
    ] {
        let Err(SpawnError::Init(reason)) = sim.spawn(move || new).wait() else {
            panic!("it works")
        };
        assert_eq!(reason.downcast_ref(), Some(&error));
        assert_eq!(error.to_string(), said);
    }
}

/// Where an item goes next.
#[derive(Clone)]
enum Onward {
    Pool(Address<u32, PoolCommand>),
    Batcher(BatcherAddress<u32>),
}

impl Onward {
    async fn pass(&self, item: u32) -> Result {
        let sent = match self {
            Onward::Pool(pool) => pool.send_or_wait(item).await.map_err(SendError::without_message),
            Onward::Batcher(batcher) => {
                let sent = batcher.send_or_wait(item.into()).await;
                sent.map_err(SendError::without_message)
            }
        };
        sent.map_err(Reason::error)
    }
}

/// Passes what it gets on, and waits while there is no room.
struct Stage(Onward);

impl Actor for Stage {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, item: u32) -> Result {
        self.0.pass(item).await
    }
}

#[test]
fn u6_a_chain_of_three_pools_and_a_batcher_goes_at_the_pace_of_the_sink_and_loses_nothing() {
    const ITEMS: u32 = 3000;
    for seed in 0..5 {
        let sim = Simulation::new(seed);
        let sink = Sink::default();
        // Ten items in 10 ms; the source could send them all at once.
        let (of_sink, clock) = (sink.clone(), sim.node().clone());
        let work = move |items: Vec<u32>| {
            let (sink, clock) = (of_sink.clone(), clock.clone());
            async move {
                sink.begin(&items);
                clock.spawn(|| Sleeper(MILLISECOND * 10)).start()?.watch_end(&clock).await;
                sink.end();
                Result::<(), Reason>::Ok(())
            }
        };
        let batcher =
            sim.spawn(|| Batcher::new(work).size(10).after(SECOND)).mailbox(20).wait().unwrap();
        let mut next = Onward::Batcher(batcher.clone());
        let mut pools = Vec::new();
        for _ in 0..3 {
            let to = next.clone();
            let pool = sim.spawn(move || Pool::new(4, move || Stage(to.clone())).mailbox(5));
            let pool = pool.wait().unwrap();
            next = Onward::Pool(pool.clone());
            pools.push(pool);
        }
        let source = sim.task(async move {
            for item in 0..ITEMS {
                next.pass(item).await.unwrap();
            }
        });
        let source = source.start().unwrap();
        let (mut most, mut at_end) = (0, 0);
        while !sink
            .0
            .lock()
            .unwrap()
            .batches
            .iter()
            .map(Vec::len)
            .sum::<usize>()
            .eq(&(ITEMS as usize))
        {
            sim.advance(MILLISECOND * 10);
            let waiting: usize = pools.iter().map(Address::waiting).sum();
            most = most.max(waiting + batcher.waiting());
            at_end += usize::from(waiting == 0);
            assert!(sim.now() < Timestamp::ZERO + SECOND * 60);
        }
        // Three pools of four workers with five places each, and the batcher with twenty.
        assert!(most <= 3 * 4 * 6 + 20, "{most}");
        assert!(at_end < 30, "{at_end}");
        source.wait().unwrap();
        batcher.drain().wait().unwrap();
        // 300 batches in 3 s: the pace of the sink.
        let took = sim.now().since(Timestamp::ZERO);
        assert!((SECOND * 3..SECOND * 9 / 2).contains(&took), "{took:?}");
        let mut seen = BTreeMap::new();
        sink.take().into_iter().flatten().for_each(|item| *seen.entry(item).or_insert(0) += 1);
        assert!(seen.len() == ITEMS as usize && seen.values().all(|times| *times == 1));
        assert_eq!(sim.stats().dead_letters, 0);
    }
}
