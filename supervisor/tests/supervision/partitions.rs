//! Partitions (rules G10, G11).

use krarup_act::{Actor, Address, Context, Reply};
use krarup_gen::{Reason, Result};
use krarup_node::{Node, Simulation};
use krarup_supervisor::{
    ChildKind, ChildTemplate, PartitionError, PartitionLookup, Partitions, PartitionsAddress,
    SpecError, Supervisor, SupervisorAddress, SupervisorCalls,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A partition that knows its index.
struct Part {
    index: usize,
    /// Its first `init` takes a second.
    slow: bool,
}

enum Ask {
    Index(Reply<usize>),
    Fail,
}

impl Actor for Part {
    type Message = Ask;

    async fn init(&mut self, ctx: &mut Context<Ask>) -> Result {
        if self.slow {
            ctx.sleep(SECOND).await;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Index(reply) => reply.send(self.index),
            Ask::Fail => return Err(Reason::error("boom")),
        }
        Ok(())
    }
}

fn parts(sim: &Simulation, count: usize) -> PartitionsAddress<Ask> {
    let parts = move || Partitions::new(count, |index| Part { index, slow: false });
    sim.spawn(move || parts().intensity(100, SECOND)).wait().unwrap()
}

fn index(part: &Address<Ask>) -> usize {
    part.call(Ask::Index).wait().unwrap()
}

#[test]
fn g10_each_child_has_its_index_and_a_key_has_the_same_one_in_every_run() {
    for seed in 0..5 {
        let sim = Simulation::new(seed);
        let parts = parts(&sim, 8);
        for place in 0..8 {
            assert_eq!(index(&parts.partition(place).unwrap()), place);
        }
        // Recorded: a change of the hash would move all keys.
        let found = [1_u64, 2, 3, 4711].map(|key| parts.index_of(&key).unwrap());
        assert_eq!(found, [6, 5, 6, 4]);
        assert_eq!(index(&parts.of("alice").unwrap()), parts.index_of("alice").unwrap());
        assert_eq!(parts.index_of("alice"), parts.index_of(&"alice".to_owned()));
        // Keys are spread evenly.
        let mut counts = [0; 8];
        (0..8000_u64).for_each(|key| counts[parts.index_of(&key).unwrap()] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        let none = PartitionError::NoPartition { index: 8, count: 8 };
        assert_eq!(parts.partition(8).unwrap_err(), none);
        assert_eq!(none.to_string(), "there is no partition 8, there are 8");
        let counts = parts.count_children().wait().unwrap();
        assert_eq!((counts.specs, counts.active, counts.workers), (8, 8, 8));
    }
}

#[test]
fn g10_a_partition_that_died_is_another_process_in_the_same_place() {
    for seed in 0..5 {
        let sim = Simulation::new(seed);
        let parts = parts(&sim, 3);
        let before: Vec<_> = (0..3).map(|place| parts.partition(place).unwrap()).collect();
        before[1].send(Ask::Fail).ok().unwrap();
        sim.run_until_idle();
        assert!(!before[1].is_alive());
        let after: Vec<_> = (0..3).map(|place| parts.partition(place).unwrap()).collect();
        assert_eq!((&after[0], &after[2]), (&before[0], &before[2]));
        assert!(after[1] != before[1] && index(&after[1]) == 1);
    }
}

#[test]
fn g10_meanwhile_a_look_up_is_an_error_and_not_another_partition() {
    let sim = Simulation::new(1);
    let parts = parts(&sim, 3);
    let key = (0_u64..100).find(|key| parts.index_of(key) == Ok(1)).unwrap();
    parts.terminate_child("1").wait().unwrap();
    let down = PartitionError::Down { index: 1 };
    assert_eq!(parts.of(&key).unwrap_err(), down);
    assert_eq!(down.to_string(), "partition 1 has no process at this moment");
    assert_eq!(parts.index_of(&key), Ok(1));
    parts.restart_child("1").wait().unwrap();
    assert_eq!(index(&parts.of(&key).unwrap()), 1);
    parts.stop().wait().unwrap();
    assert_eq!(parts.of(&key).unwrap_err(), down);
}

#[test]
fn g10_partitions_that_have_not_begun_are_an_error() {
    let sim = Simulation::new(1);
    let parts: PartitionsAddress<Ask> =
        sim.spawn(|| Partitions::new(2, |index| Part { index, slow: true })).start().unwrap();
    assert_eq!(parts.of(&1).unwrap_err(), PartitionError::NotStarted);
    assert_eq!(parts.index_of(&1), Err(PartitionError::NotStarted));
    assert_eq!(PartitionError::NotStarted.to_string(), "the partitions have not started");
    sim.advance(SECOND / 2);
    // The first has begun; the second has no process.
    assert!(parts.partition(0).is_ok());
    assert_eq!(parts.partition(1).unwrap_err(), PartitionError::Down { index: 1 });
    sim.advance(2 * SECOND);
    assert!(parts.partition(1).is_ok());
}

#[test]
fn g10_no_partitions_are_refused_before_any_start() {
    let sim = Simulation::new(1);
    let none = sim.spawn(|| Partitions::new(0, |index| Part { index, slow: false })).wait();
    let refused = format!("init failed: {}", SpecError::NoPartitions);
    assert_eq!(none.unwrap_err().to_string(), refused);
    let shown = format!("{:?}", Partitions::new(2, |index| Part { index, slow: false }));
    assert_eq!(shown, "Partitions { count: 2, .. }");
}

#[test]
fn g10_more_partitions_than_can_be_are_refused_before_any_start() {
    let sim = Simulation::new(1);
    let most = 1 << 20;
    for partitions in [most + 1, 1 << 36, usize::MAX] {
        let many = move || Partitions::new(partitions, |index| Part { index, slow: false });
        let refused = SpecError::TooManyPartitions { partitions, most };
        let error = sim.spawn(many).wait().unwrap_err();
        assert_eq!(error.to_string(), format!("init failed: {refused}"));
    }
}

/// Notes the customers whose sessions were started.
struct Session(#[allow(dead_code, reason = "its argument")] u64);

impl Actor for Session {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

fn sessions() -> Supervisor<u64> {
    Supervisor::simple_one_for_one(ChildTemplate::worker("session", Session))
}

#[test]
fn g11_a_look_up_sends_no_message_and_supervisors_are_found_with_their_requests() {
    let sim = Simulation::new(1);
    let shards = sim.spawn(|| Partitions::new(4, |_| sessions())).wait().unwrap();
    let handled = |who: krarup_gen::Pid| sim.process_info(who).unwrap().handled;
    let before = handled(shards.pid());
    for customer in 0..40_u64 {
        let shard: SupervisorAddress<u64> = shards.of(&customer).unwrap();
        shard.start_child(customer).wait().unwrap();
    }
    assert_eq!(handled(shards.pid()), before);
    let spec = shards.get_childspec("0").wait().unwrap();
    assert_eq!((spec.kind, spec.id.as_str()), (ChildKind::Supervisor, "0"));
    let started: usize = (0..4)
        .map(|place| {
            let shard = shards.partition(place).unwrap();
            shard.count_children().wait().unwrap().active
        })
        .sum();
    assert_eq!(started, 40);
    // They end with it.
    shards.stop().wait().unwrap();
    assert_eq!(sim.processes(), []);
}

#[test]
fn g11_partitions_finish_and_stop_as_supervisors_do() {
    let sim = Simulation::new(1);
    let parts = parts(&sim, 2);
    parts.finish();
    sim.run_until_idle();
    assert_eq!(sim.processes(), []);
}

#[test]
fn g10_on_threads_a_look_up_finds_the_place_while_its_process_is_replaced() {
    let node = Node::builder("partitions").workers(2).start().unwrap();
    let parts = node
        .spawn(|| Partitions::new(2, |index| Part { index, slow: false }).intensity(1000, SECOND))
        .wait()
        .unwrap();
    let wrong = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..100 {
        let part = loop {
            if let Ok(part) = parts.partition(1) {
                break part;
            }
            std::thread::yield_now();
        };
        // It may have ended meanwhile.
        if let Ok(index) = part.call(Ask::Index).wait()
            && index != 1
        {
            wrong.lock().unwrap().push(index);
        }
        let _ = part.send(Ask::Fail);
    }
    assert_eq!(*wrong.lock().unwrap(), []);
    node.stop().wait().unwrap();
}
